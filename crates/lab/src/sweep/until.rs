//! Replications until confidence intervals are as narrow as wanted.

use std::time::{Duration, Instant};

use cellway_record::stats::{Bounds, interval95};
use cellway_store::{Outcome, Store};
use serde::{Deserialize, Serialize};

use super::criterion::{Criterion, Difference};
use super::fill::{Filled, Shard, fill};
use super::{StopReason, Sweep};
use crate::error::Error;
use crate::study::{MAX_SEEDS, Prepared, Settings};

/// The fewest replications from which an interval says anything.
const LEAST: u64 = 4;

/// The limits of the search.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most replications of a point.
    pub max_seeds: u64,
    /// The time after which no replications are added.
    pub budget: Option<Duration>,
}

/// The end of the search at a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointEnd {
    /// The replications that count.
    pub replications: u64,
    /// The reason why there are no more.
    pub reason: StopReason,
    /// Half the width of the interval of each criterion, as the criterion has it; absent if there is no interval.
    pub halves: Vec<Option<f64>>,
}

/// The values of the criteria at each point, in the order of seeds.
struct Values<'a> {
    criteria: &'a [Criterion],
    /// By point, criterion and replication. A run that failed has none.
    all: Vec<Vec<Vec<Option<f64>>>>,
    /// The point whose values are taken off, by point and criterion.
    baselines: Vec<Vec<Option<usize>>>,
}

impl<'a> Values<'a> {
    fn new(criteria: &'a [Criterion], prepared: &Prepared) -> Result<Values<'a>, Error> {
        let axes: Vec<Vec<(String, String)>> = prepared
            .points()
            .map(|point| point.axes.iter().map(|(name, value)| (name.clone(), value.to_string())).collect())
            .collect();
        let baseline = |point: &Vec<(String, String)>, criterion: &Criterion| {
            let Difference::Against { axis, value } = &criterion.difference else { return Ok(None) };
            let other: Vec<(String, String)> = point
                .iter()
                .map(|(name, own)| (name.clone(), if name == axis { value.clone() } else { own.clone() }))
                .collect();
            let found = axes.iter().position(|known| *known == other && point.iter().any(|(name, _)| name == axis));
            found.map(Some).ok_or_else(|| {
                let values = axes.iter().flatten().filter(|(name, _)| name == axis).map(|(_, value)| &value[..]);
                let mut values: Vec<&str> = values.collect();
                values.dedup();
                let known = if values.is_empty() {
                    let names: Vec<&str> = point.iter().map(|(name, _)| &name[..]).collect();
                    format!("an axis of the sweep: {}", names.join(", "))
                } else {
                    format!("{axis} = one of {}", values.join(", "))
                };
                Error::Option(format!("--until: no point has {axis} = {value}; accepted: {known}"))
            })
        };
        let of_point =
            |point| criteria.iter().map(|criterion| baseline(point, criterion)).collect::<Result<Vec<_>, _>>();
        let baselines = axes.iter().map(of_point).collect::<Result<Vec<_>, Error>>()?;
        Ok(Values { criteria, all: vec![vec![Vec::new(); criteria.len()]; axes.len()], baselines })
    }

    /// Reads the replications of a point that have come since the last time, up to the first that is missing.
    fn read(&mut self, prepared: &Prepared, point: usize, store: &Store) -> Result<(), Error> {
        let runs = prepared.runs_of(point);
        let mut last = None;
        for run in runs.start + self.replications(point)..runs.end {
            let record = match store.get(prepared.stored(run))? {
                None => break,
                Some(Outcome::Finished(record)) => Some(record),
                Some(Outcome::Failed(_)) => None,
            };
            for (criterion, values) in self.criteria.iter().zip(&mut self.all[point]) {
                values.push(record.as_ref().and_then(|record| match &criterion.difference {
                    Difference::To(other) => Some(criterion.of.of(record)? - other.of(record)?),
                    _ => criterion.of.of(record),
                }));
            }
            last = record.or(last);
        }
        // A run can lack a figure, such as that of transfers of which none ended; that none has it is a mistake.
        let Some(record) = last else { return Ok(()) };
        for (criterion, values) in self.criteria.iter().zip(&self.all[point]) {
            if values.iter().all(Option::is_none) {
                let figures = match &criterion.difference {
                    Difference::To(other) => vec![&criterion.of, other],
                    _ => vec![&criterion.of],
                };
                if let Some(lacking) = figures.into_iter().find(|figure| figure.of(&record).is_none()) {
                    return Err(lacking.missing(&record));
                }
            }
        }
        Ok(())
    }

    /// Returns the replications of a point that were read.
    fn replications(&self, point: usize) -> u64 {
        self.all[point].first().map_or(0, Vec::len) as u64
    }

    /// Returns half the width of the interval of a criterion at a point, as the criterion has it.
    fn half(&self, point: usize, criterion: usize) -> Option<f64> {
        let own = &self.all[point][criterion];
        let sample: Vec<f64> = match self.baselines[point][criterion] {
            Some(other) if other != point => {
                let pairs = own.iter().zip(&self.all[other][criterion]);
                pairs.filter_map(|(own, other)| Some((*own)? - (*other)?)).collect()
            }
            Some(_) => return Some(0.0),
            None => own.iter().copied().flatten().collect(),
        };
        if (sample.len() as u64) < LEAST {
            return None;
        }
        let interval = interval95(&sample, Bounds::NONE)?;
        let half = (interval.high - interval.low) / 2.0;
        Some(if self.criteria[criterion].is_share && half > 0.0 { half / interval.mean.abs() } else { half })
    }

    fn halves(&self, point: usize) -> Vec<Option<f64>> {
        (0..self.criteria.len()).map(|criterion| self.half(point, criterion)).collect()
    }

    /// Returns the widest interval of all, in words, beside the wanted one; `None` if no point has intervals.
    fn reached(&self) -> Option<String> {
        let halves = (0..self.all.len()).flat_map(|point| self.halves(point).into_iter().zip(self.criteria));
        let halves = halves.filter_map(|(half, criterion)| Some((half?, criterion)));
        let widest = halves.max_by(|(a, of_a), (b, of_b)| (a / of_a.half).total_cmp(&(b / of_b.half)));
        widest.map(|(half, criterion)| {
            let [reached, wanted] = [half, criterion.half].map(|half| criterion.number(half));
            format!("half width up to {reached} of {wanted} {}", criterion.unit()).trim_end().to_owned()
        })
    }

    fn is_met(&self, point: usize) -> bool {
        let is_met = |(half, criterion): (Option<f64>, &Criterion)| half.is_some_and(|half| half <= criterion.half);
        self.halves(point).into_iter().zip(self.criteria).all(is_met)
    }
}

impl Sweep {
    /// Adds replications to each point until all criteria hold there, or a limit is reached; see [`Sweep::ends`]. The
    /// store has a plan of the replications of now meanwhile, which names the criteria ([`Sweep::search`]). The choice
    /// depends on nothing but the results, so it is the same on any machine, unless the budget ends it.
    ///
    /// # Errors
    /// As [`Sweep::fill`], or if no run has a figure of a criterion.
    pub fn fill_until(
        &mut self,
        store: &Store,
        criteria: &[Criterion],
        limits: Limits,
        fail_fast: bool,
        settings: &mut Settings<'_>,
    ) -> Result<Filled, Error> {
        if !(LEAST..=MAX_SEEDS).contains(&limits.max_seeds) {
            let message = format!("--max-seeds is {}; accepted: {LEAST} to {MAX_SEEDS}", limits.max_seeds);
            return Err(Error::Option(message));
        }
        let begun = Instant::now();
        let is_over = || limits.budget.is_some_and(|budget| begun.elapsed() >= budget);
        let name = self.plan.base().name.clone();
        let mut label = name.clone();
        let mut values = Values::new(criteria, &self.prepared)?;
        let first = self.prepared.seeds().clamp(LEAST, limits.max_seeds);
        let mut counts = vec![first; self.prepared.points().len()];
        let mut all = Filled::default();
        loop {
            self.prepared.replicate(&counts);
            // Whoever reads the store meanwhile, or after a break, finds the work of now.
            self.file.searching(criteria, &counts);
            self.file.write(store.folder())?;
            let filled = {
                let Settings { threads, progress, stop, .. } = &mut *settings;
                let mut stop = || stop() || is_over();
                let mut settings =
                    Settings { threads: *threads, progress: &mut **progress, stop: &mut stop, store: None };
                // Those that are there are read below.
                fill(&self.prepared, &label, store, (Shard::ALL, false), fail_fast, &mut settings)?
            };
            let in_round = filled.found + filled.finished + filled.failed;
            all.finished += filled.finished;
            all.failed += filled.failed;
            // A run of an earlier round is in the store, too.
            all.found = in_round.saturating_sub(all.finished + all.failed);
            if filled.stopped && !is_over() {
                all.stopped = true;
                return Ok(all);
            }
            let damage = store.damage().len();
            (0..counts.len()).try_for_each(|point| values.read(&self.prepared, point, store))?;
            if store.damage().len() > damage && !is_over() {
                // Runs that do not read back are run again before anything is chosen.
                continue;
            }
            let mut grown = counts.clone();
            for point in (0..counts.len()).filter(|point| !values.is_met(*point)) {
                // The point that is taken off needs as many.
                let others = values.baselines[point].iter().flatten().copied();
                for wanted in others.chain([point]) {
                    grown[wanted] = (counts[wanted] + counts[wanted].div_ceil(2)).min(limits.max_seeds);
                }
            }
            if grown == counts || is_over() {
                let end = |point: usize| PointEnd {
                    replications: values.replications(point),
                    reason: match values.is_met(point) {
                        true => StopReason::Met,
                        false if values.replications(point) == limits.max_seeds => StopReason::MaxSeeds,
                        false => StopReason::Budget,
                    },
                    halves: values.halves(point),
                };
                let ends: Vec<PointEnd> = (0..counts.len()).map(end).collect();
                let counts: Vec<u64> = ends.iter().map(|end| end.replications).collect();
                if counts.iter().all(|count| *count == 0) {
                    return Err(Error::Option(
                        "--budget: it was over before the first replication of any point had finished; accepted: a longer \
                         time, and the runs that have finished stay"
                            .to_owned(),
                    ));
                }
                self.prepared.replicate(&counts);
                self.file.chosen(ends);
                return Ok(all);
            }
            label = values.reached().map_or_else(|| name.clone(), |reached| format!("{name}, {reached}"));
            let (all, most) = (grown.iter().sum::<u64>(), u64::from(u32::MAX));
            if all > most {
                let message = format!("--until: the next replications make {all} runs; accepted: up to {most} runs");
                return Err(Error::Option(message));
            }
            counts = grown;
        }
    }

    /// Returns the criteria of a search by [`Sweep::fill_until`] that is at work or was broken off; otherwise none.
    pub fn search(&self) -> &[String] {
        self.file.search()
    }

    /// Returns the ends of the points after [`Sweep::fill_until`].
    pub fn ends(&self) -> &[PointEnd] {
        self.file.ends()
    }
}
