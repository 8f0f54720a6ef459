//! Running the replications of a plan on all cores, in an order that does not show.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use cellway_apps::Workload;
use cellway_record as record;
use cellway_record::{RunKey, RunRecord};
use cellway_scenario::{AxisValue, Plan, Point};
use cellway_sim::Control;

use crate::error::Error;
use crate::load::TableFolders;

/// The version of Cellway, as it stands in manifests.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How long the caller's `stop` may go unasked.
const PATIENCE: Duration = Duration::from_millis(50);

/// How far a study has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// What is being run.
    pub label: &'a str,
    /// Runs finished.
    pub done: u64,
    /// Runs in all.
    pub total: u64,
}

/// How to run, which never changes what comes out.
pub struct Settings<'a> {
    /// Threads; all cores if absent.
    pub threads: Option<usize>,
    /// Called on the calling thread whenever a run is done.
    pub progress: &'a mut dyn FnMut(Progress<'_>),
    /// Asked on the calling thread, several times a second; `true` stops everything.
    pub stop: &'a mut dyn FnMut() -> bool,
}

/// A plan made ready: its points, each with its workloads.
pub(crate) struct Prepared {
    points: Vec<(Point, Vec<Workload>)>,
    seed: u64,
    seeds: u64,
    /// Keys and axes of the plan without effect, each with its place.
    pub(crate) warnings: Vec<String>,
}

impl Prepared {
    /// `seeds` replaces the number of replications of the plan.
    pub(crate) fn new(plan: &Plan, folder: &Path, seeds: Option<u64>) -> Result<Prepared, Error> {
        let prepared = Prepared::to_emulate(plan, folder, seeds)?;
        if prepared.points().any(|point| point.scenario.traffic.is_empty()) {
            return Err(cellway_sim::Error::NoTraffic.into());
        }
        Ok(prepared)
    }

    /// As [`Prepared::new`], for an emulation: programs do for traffic.
    pub(crate) fn to_emulate(plan: &Plan, folder: &Path, seeds: Option<u64>) -> Result<Prepared, Error> {
        let mut tables = TableFolders::new(folder);
        let points = plan.points()?;
        let warnings = plan.warnings(&points).iter().map(ToString::to_string).collect();
        let points = points.into_iter().map(|point| {
            let workloads = tables.workloads(plan, &point)?;
            Ok((point, workloads))
        });
        let points = points.collect::<Result<Vec<_>, Error>>()?;
        let run = &plan.base().run;
        let seeds = seeds.unwrap_or(run.seeds);
        let runs = seeds.saturating_mul(points.len() as u64);
        if seeds == 0 || runs > u64::from(u32::MAX) {
            return Err(Error::Option(format!(
                "{seeds} seeds of {} points make {runs} runs; there must be 1 to {}",
                points.len(),
                u32::MAX
            )));
        }
        Ok(Prepared { points, seed: run.seed, seeds, warnings })
    }

    /// The point of run `index`, and its workloads.
    pub(crate) fn of_run(&self, index: u64) -> &(Point, Vec<Workload>) {
        &self.points[(index / self.seeds) as usize]
    }

    pub(crate) fn runs(&self) -> u64 {
        self.seeds * self.points.len() as u64
    }

    pub(crate) fn seeds(&self) -> u64 {
        self.seeds
    }

    pub(crate) fn points(&self) -> impl ExactSizeIterator<Item = &Point> {
        self.points.iter().map(|(point, _)| point)
    }

    pub(crate) fn first(&self) -> &(Point, Vec<Workload>) {
        &self.points[0]
    }

    /// What run `index` is: the replications of a point follow each other.
    pub(crate) fn key(&self, index: u64) -> RunKey {
        let point = &self.points[(index / self.seeds) as usize].0;
        let axes = point.axes.iter().map(|(name, value)| (name.clone(), axis_value(value))).collect();
        RunKey { run: index as u32, point: point.index as u32, seed: self.seed + index % self.seeds, axes }
    }

    fn run(&self, index: u64, stop: &AtomicBool) -> Result<RunRecord, Error> {
        let (point, workloads) = &self.points[(index / self.seeds) as usize];
        let seed = self.seed + index % self.seeds;
        let control = Control { stop: &|| stop.load(Ordering::Relaxed), capture: None };
        Ok(cellway_sim::run(&point.scenario, workloads, seed, control)?)
    }
}

pub(crate) fn axis_value(value: &AxisValue) -> record::AxisValue {
    match value {
        AxisValue::Text(text) => record::AxisValue::Text(text.clone()),
        AxisValue::Number(number) => record::AxisValue::Number(*number),
    }
}

/// Several prepared studies as one row of runs, so that one pool of threads works through them without a pause
/// between two.
pub(crate) struct Batch<'a> {
    /// Each with its label.
    studies: Vec<(&'a str, &'a Prepared)>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(studies: impl IntoIterator<Item = (&'a str, &'a Prepared)>) -> Batch<'a> {
        Batch { studies: studies.into_iter().collect() }
    }

    fn runs(&self) -> u64 {
        self.studies.iter().map(|(_, study)| study.runs()).sum()
    }

    /// The study of run `index`, and its number there.
    fn find(&self, mut index: u64) -> (usize, u64) {
        for (study, (_, prepared)) in self.studies.iter().enumerate() {
            if index < prepared.runs() {
                return (study, index);
            }
            index -= prepared.runs();
        }
        unreachable!("a run is one of some study")
    }

    fn run(&self, index: u64, stop: &AtomicBool) -> Result<RunRecord, Error> {
        let (study, index) = self.find(index);
        self.studies[study].1.run(index, stop)
    }

    /// Runs everything; hands the records to `take` with the place of their study, in the order of studies and
    /// runs, whatever the number of threads.
    pub(crate) fn run_all(
        &self,
        settings: &mut Settings<'_>,
        mut take: impl FnMut(usize, RunKey, RunRecord) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let total = self.runs();
        let threads = settings.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let (started, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        let (send, receive) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..threads.min(total as usize) {
                let (started, stop, send) = (&started, &stop, send.clone());
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let index = started.fetch_add(1, Ordering::Relaxed);
                        // The receiver is gone only when the study is given up.
                        if index >= total || send.send((index, self.run(index, stop))).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(send);
            let outcome = self.collect(&receive, settings, &mut take);
            stop.store(true, Ordering::Relaxed);
            outcome
        })
    }

    /// Takes finished runs as they come and passes them on in run order.
    fn collect(
        &self,
        finished: &mpsc::Receiver<(u64, Result<RunRecord, Error>)>,
        settings: &mut Settings<'_>,
        take: &mut impl FnMut(usize, RunKey, RunRecord) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let total = self.runs();
        // Runs that finished before an earlier one.
        let mut early = BTreeMap::new();
        let (mut next, mut done) = (0, 0);
        let tell = |settings: &mut Settings<'_>, done, next: u64| {
            if let Some(last) = total.checked_sub(1) {
                let label = self.studies[self.find(next.min(last)).0].0;
                (settings.progress)(Progress { label, done, total });
            }
        };
        tell(settings, done, next);
        while next < total {
            match finished.recv_timeout(PATIENCE) {
                Ok((index, record)) => {
                    early.insert(index, record?);
                    done += 1;
                    tell(settings, done, next);
                    while let Some(record) = early.remove(&next) {
                        let (study, index) = self.find(next);
                        take(study, self.studies[study].1.key(index), record)?;
                        next += 1;
                    }
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                // A thread has panicked; the scope will say so.
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            if (settings.stop)() {
                return Err(Error::Stopped);
            }
        }
        Ok(())
    }
}

/// [`Batch::run_all`] of a single study.
pub(crate) fn run_all(
    prepared: &Prepared,
    label: &str,
    settings: &mut Settings<'_>,
    mut take: impl FnMut(RunKey, RunRecord) -> Result<(), Error>,
) -> Result<(), Error> {
    Batch::new([(label, prepared)]).run_all(settings, |_, key, record| take(key, record))
}
