//! Checks that the warm-up was long enough. Cáceres 1993, section 2.3, plotted output over time for that.

use cellway_record::metric::slot::THROUGHPUT;
use cellway_record::stats::{Moments, mser};
use cellway_record::{RunKey, RunRecord};
use cellway_scenario::Point;

/// The relative change of the mean by a leftover of the transient that causes no warning. MSER alone also cuts at small
/// variations, of a series that is nearly constant or of one that is noise throughout.
const TOLERATED: f64 = 0.01;

/// Returns true if the mean of `left` differs from that of `settled` by more than noise explains: three standard
/// errors, both parts taken to vary as the settled one does.
fn differs_by_more_than_noise(left: &[f64], settled: &[f64]) -> bool {
    let mut noise = Moments::new();
    settled.iter().for_each(|&bin| noise.push(bin));
    let bins = 1.0 / left.len() as f64 + 1.0 / settled.len() as f64;
    (mean(left) - mean(settled)).abs() > 3.0 * (noise.variance().unwrap_or(0.0) * bins).sqrt()
}

/// Replications from which on the check is meaningful: the mean of fewer follows single long transfers.
pub(crate) const ENOUGH_SEEDS: u64 = 4;

/// Bins from which on the rule has a choice of cuts.
const ENOUGH_BINS: usize = 8;

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Per point, the total throughput of all conversations in each bin, summed over the replications:
/// averaging over seeds takes out the noise of single runs and leaves the transient.
#[derive(Default)]
pub(crate) struct TransientCheck {
    bins: Vec<Vec<f64>>,
}

impl TransientCheck {
    pub(crate) fn add(&mut self, key: &RunKey, record: &RunRecord) {
        let point = key.point as usize;
        if self.bins.len() <= point {
            self.bins.resize(point + 1, Vec::new());
        }
        let bins = &mut self.bins[point];
        let rows = record.series.iter().filter(|row| row.metric == THROUGHPUT);
        let mut bin = None::<(f64, usize)>;
        for row in rows {
            let t = row.t.unwrap_or_default();
            let index = match bin {
                None => 0,
                Some((last, index)) if last == t => index,
                Some((_, index)) => index + 1,
            };
            bin = Some((t, index));
            if bins.len() <= index {
                bins.resize(index + 1, 0.0);
            }
            bins[index] += row.value;
        }
    }

    /// Returns a warning about the warm-up of a study, unless it was checked and found long enough. A study without a
    /// warm-up relies on none, so a check that was not possible is no matter there.
    pub(crate) fn warning<'a>(
        &self,
        points: impl ExactSizeIterator<Item = &'a Point> + Clone,
        seeds: u64,
    ) -> Option<String> {
        let bins = self.bins.iter().map(Vec::len).min().unwrap_or_default();
        let missing = match () {
            () if seeds < ENOUGH_SEEDS => Some(format!("{ENOUGH_SEEDS} seeds")),
            () if bins < ENOUGH_BINS => Some(format!("{ENOUGH_BINS} recorded bins")),
            () => None,
        };
        if let Some(missing) = missing {
            let has_warmup = points.clone().any(|point| point.scenario.run.warmup.as_ps() > 0);
            return has_warmup.then(|| format!("warm-up not checked: that takes {missing}"));
        }
        let all = points.len();
        let doubtful: Vec<String> =
            points.zip(&self.bins).filter(|(point, bins)| outlasts_warmup(point, bins)).map(|(p, _)| name(p)).collect();
        (!doubtful.is_empty()).then(|| {
            let (n, shown) = (doubtful.len(), shortened(&doubtful));
            format!("the warm-up may be too short at {n} of {all} points (MSER rule on the mean throughput over time): {shown}")
        })
    }
}

/// Returns true if the transient outlasts the warm-up: the MSER rule cuts after it, and the part between the warm-up
/// and the cut changes the mean by more than [`TOLERATED`] and is not noise.
fn outlasts_warmup(point: &Point, bins: &[f64]) -> bool {
    let warmup = point.scenario.run.warmup.as_ps() / point.scenario.bin().as_ps();
    lasts_past(bins, (warmup as usize).min(bins.len()))
}

fn lasts_past(bins: &[f64], warmup: usize) -> bool {
    mser(bins, 1).is_some_and(|cut| {
        !cut.suffices(warmup) && cut.cut > warmup && {
            let (left, settled) = (&bins[warmup..cut.cut], &bins[cut.cut..]);
            let moved = (mean(&bins[warmup..]) - mean(settled)).abs();
            moved > TOLERATED * mean(settled).abs() && differs_by_more_than_noise(left, settled)
        }
    })
}

fn name(point: &Point) -> String {
    let axes: Vec<String> = point.axes.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    if axes.is_empty() { "the only point".to_owned() } else { axes.join(", ") }
}

/// Returns at most three names, and the number of the others.
fn shortened(names: &[String]) -> String {
    let more = names.len().saturating_sub(3);
    let shown = names[..names.len() - more].join("; ");
    if more == 0 { shown } else { format!("{shown}; and {more} more") }
}

#[cfg(test)]
mod tests {
    use cellway_scenario::{Override, Plan};

    use super::*;
    use crate::study::tests::SMALL;

    /// Returns a fixed pattern of mean zero in place of noise.
    fn ripple(i: usize) -> f64 {
        ((i * 7919 + 13) % 101) as f64 / 101.0 - 0.5
    }

    #[test]
    fn a_step_after_the_warm_up_is_found_and_one_before_it_is_not() {
        let step = |at: usize| (0..40).map(|i| if i < at { 0.2 } else { 0.8 } + 0.02 * ripple(i)).collect::<Vec<f64>>();
        assert!(lasts_past(&step(15), 10));
        assert!(!lasts_past(&step(8), 10));
        assert!(lasts_past(&step(8), 0));
    }

    #[test]
    fn noise_and_small_changes_cause_no_warning() {
        let noise: Vec<f64> = (0..40).map(|i| 0.8 + 0.3 * ripple(i)).collect();
        let small: Vec<f64> = (0..40).map(|i| if i < 15 { 0.799 } else { 0.8 }).collect();
        assert!((0..40).all(|warmup| !lasts_past(&noise, warmup)));
        assert!(!lasts_past(&small, 10));
    }

    #[test]
    fn an_omitted_check_is_reported() {
        let points = |warmup: &str| {
            let set = [Override::new("run.warmup".to_owned(), format!("{warmup:?}"))];
            Plan::parse_with(SMALL, "small.toml", &set, None).unwrap().points().unwrap()
        };
        let check = TransientCheck { bins: vec![vec![1.0; 3]] };
        let (with, without) = (points("50 ms"), points("0 s"));
        assert_eq!(check.warning(with.iter(), 3).unwrap(), "warm-up not checked: that takes 4 seeds");
        assert_eq!(check.warning(with.iter(), 4).unwrap(), "warm-up not checked: that takes 8 recorded bins");
        assert!(TransientCheck::default().warning(with.iter(), 20).unwrap().contains("8 recorded bins"));
        assert_eq!([3, 4].map(|seeds| check.warning(without.iter(), seeds)), [None, None]);
        assert_eq!(TransientCheck { bins: vec![vec![1.0; 8]] }.warning(without.iter(), 4), None);
    }
}
