//! Running the replications of a plan on all cores, in an order that does not show.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use cellway_apps::GroupWorkload;
use cellway_record as record;
use cellway_record::{RunKey, RunRecord};
use cellway_scenario::{AxisValue, Plan, Point};
use cellway_sim::{Control, RESULT_VERSION};
use cellway_store::{Digest, Key, Outcome, Store};

use crate::digest::digest;
use crate::error::Error;
use crate::load::TableFolders;
use crate::replications::{Repeats, Replications};
use crate::simulate::Own;
use crate::traces::TraceFolder;

/// The version of Cellway, as in manifests.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The most replications of a point, which is also the limit of the key `run.seeds`.
pub const MAX_SEEDS: u64 = 100_000;

/// The longest interval between calls of the caller's `stop`.
pub(crate) const PATIENCE: Duration = Duration::from_millis(50);

/// The progress of a study.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The name of the study.
    pub label: &'a str,
    /// Runs finished.
    pub done: u64,
    /// Runs in all.
    pub total: u64,
    /// Finished runs of `label`, and their total. The two are equal once, when the last run finishes.
    pub study: [u64; 2],
}

impl Progress<'_> {
    /// Returns whether all runs of `label` are finished.
    pub fn has_ended(&self) -> bool {
        self.study[0] == self.study[1]
    }
}

/// The settings of a run, which never change the results.
pub struct Settings<'a> {
    /// Threads; all cores if absent.
    pub threads: Option<usize>,
    /// Called on the calling thread whenever a run is done.
    pub progress: &'a mut dyn FnMut(Progress<'_>),
    /// Called on the calling thread, several times a second; `true` stops everything.
    pub stop: &'a mut dyn FnMut() -> bool,
    /// Finished simulations: those that are there are not run again, others are added.
    pub store: Option<&'a Store>,
}

/// A plan made ready: its points, each with its workloads.
pub(crate) struct Prepared {
    points: Vec<(Point, Vec<GroupWorkload>)>,
    seed: u64,
    /// The replications of each point.
    replications: Replications,
    /// Keys and axes of the plan without effect, each with its location.
    pub(crate) warnings: Vec<String>,
    /// The parts of others that take the place of built-in ones.
    own: Own,
    /// Of each point; made when they are first wanted.
    digests: OnceLock<Vec<Digest>>,
}

impl Prepared {
    /// Prepares a plan; `seeds` replaces the number of replications of the plan.
    pub(crate) fn new(plan: &Plan, folder: &Path, seeds: Option<u64>) -> Result<Prepared, Error> {
        let prepared = Prepared::to_emulate(plan, folder, seeds)?;
        if prepared.points().any(|point| point.scenario.traffic.is_empty()) {
            return Err(cellway_sim::Error::NoTraffic.into());
        }
        Ok(prepared)
    }

    /// As [`Prepared::new`], for an emulation: programs do for traffic.
    pub(crate) fn to_emulate(plan: &Plan, folder: &Path, seeds: Option<u64>) -> Result<Prepared, Error> {
        let (mut tables, mut traces) = (TableFolders::new(folder), TraceFolder::new(folder));
        let mut points = plan.points()?;
        let mut workloads = Vec::with_capacity(points.len());
        for point in &mut points {
            workloads.push(tables.workloads(plan, point)?);
            traces.fill(plan, point)?;
        }
        // Only the files say which groups send datagrams, and so which keys have no effect.
        let warnings = plan.warnings(&points).iter().map(ToString::to_string).collect();
        let points: Vec<_> = points.into_iter().zip(workloads).collect();
        let run = &plan.base().run;
        let seeds = seeds.unwrap_or(run.seeds);
        if !(1..=MAX_SEEDS).contains(&seeds) {
            return Err(Error::Option(format!(
                "the number of seeds is {seeds}; accepted: 1 to {MAX_SEEDS}, such as 20"
            )));
        }
        let runs = seeds * points.len() as u64;
        if runs > u64::from(u32::MAX) {
            return Err(Error::Option(format!(
                "{seeds} seeds of {} points make {runs} runs; accepted: up to {} runs",
                points.len(),
                u32::MAX
            )));
        }
        let replications = Replications::of(&vec![seeds; points.len()]);
        Ok(Prepared { points, seed: run.seed, replications, warnings, own: Own::default(), digests: OnceLock::new() })
    }

    /// Gives each point its own number of replications.
    pub(crate) fn with_replications(self, of_points: &[u64]) -> Prepared {
        let mut prepared = self;
        prepared.replicate(of_points);
        prepared
    }

    /// As [`Prepared::with_replications`], in place.
    pub(crate) fn replicate(&mut self, of_points: &[u64]) {
        assert_eq!(of_points.len(), self.points.len(), "each point has a number of replications");
        self.replications = Replications::of(of_points);
    }

    /// Lets parts of others take the place of built-in ones.
    pub(crate) fn with_own(self, own: &Own) -> Prepared {
        Prepared { own: own.clone(), ..self }
    }

    /// Returns the point of run `index`, and its workloads.
    pub(crate) fn of_run(&self, index: u64) -> &(Point, Vec<GroupWorkload>) {
        &self.points[self.replications.find(index).0]
    }

    pub(crate) fn runs(&self) -> u64 {
        self.replications.runs()
    }

    /// Returns the most replications of a point.
    pub(crate) fn seeds(&self) -> u64 {
        self.replications.most()
    }

    /// Returns the numbers of the runs of a point.
    pub(crate) fn runs_of(&self, point: usize) -> Range<u64> {
        self.replications.runs_of(point)
    }

    pub(crate) fn points(&self) -> impl ExactSizeIterator<Item = &Point> + Clone {
        self.points.iter().map(|(point, _)| point)
    }

    pub(crate) fn first(&self) -> &(Point, Vec<GroupWorkload>) {
        &self.points[0]
    }

    /// Returns the key of run `index`: the replications of a point follow each other.
    pub(crate) fn key(&self, index: u64) -> RunKey {
        let (place, replication) = self.replications.find(index);
        let point = &self.points[place].0;
        let axes = point.axes.iter().map(|(name, value)| (name.clone(), axis_value(value))).collect();
        RunKey { run: index as u32, point: point.index as u32, seed: self.seed + replication, axes }
    }

    /// Returns the digests of all points.
    pub(crate) fn digests(&self) -> &[Digest] {
        self.digests.get_or_init(|| self.points.iter().map(|(point, workloads)| digest(point, workloads)).collect())
    }

    /// Returns the key of run `index` in a store.
    pub(crate) fn stored(&self, index: u64) -> Key {
        let (point, replication) = self.replications.find(index);
        Key::new(self.digests()[point], self.seed + replication, RESULT_VERSION)
    }

    /// Returns the runs whose keys are those of earlier ones.
    pub(crate) fn repeats(&self) -> Repeats<'_> {
        self.replications.repeats(self.digests().iter())
    }

    /// Returns the store, unless parts of others take part, of which it knows nothing.
    fn usable<'a>(&self, store: Option<&'a Store>) -> Option<&'a Store> {
        store.filter(|_| self.own.is_empty())
    }

    /// Returns the record of run `index` from the store, or runs it and adds it there.
    fn run_once(&self, index: u64, stop: &AtomicBool, store: Option<&Store>) -> Result<RunRecord, Error> {
        let Some(store) = self.usable(store) else { return self.run(index, stop) };
        let key = self.stored(index);
        if let Some(Outcome::Finished(record)) = store.get(key)? {
            return Ok(record);
        }
        let outcome = Outcome::Finished(self.run(index, stop)?);
        store.put(key, &outcome)?;
        let Outcome::Finished(record) = outcome else { unreachable!("it was made so") };
        Ok(record)
    }

    pub(crate) fn run(&self, index: u64, stop: &AtomicBool) -> Result<RunRecord, Error> {
        let (place, replication) = self.replications.find(index);
        let (point, workloads) = &self.points[place];
        let seed = self.seed + replication;
        let (stop, Own { stacks, controllers }) = (|| stop.load(Ordering::Relaxed), &self.own);
        let control = Control { stacks: Some(stacks), controllers: Some(controllers), ..Control::new(&stop) };
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

    /// Returns the study of run `index`, and its number there.
    fn find(&self, mut index: u64) -> (usize, u64) {
        for (study, (_, prepared)) in self.studies.iter().enumerate() {
            if index < prepared.runs() {
                return (study, index);
            }
            index -= prepared.runs();
        }
        unreachable!("a run is one of some study")
    }

    fn run_one(&self, index: u64, stop: &AtomicBool, store: Option<&Store>) -> Result<RunRecord, Error> {
        let (study, index) = self.find(index);
        self.studies[study].1.run_once(index, stop, store)
    }

    /// Returns the runs that are the same as an earlier one, and so in the store when their turn comes.
    fn repeated(&self, store: Option<&Store>) -> BTreeSet<u64> {
        let mut seen = BTreeSet::new();
        let mut is_repeated = |index: &u64| {
            let (study, index) = self.find(*index);
            let prepared = self.studies[study].1;
            prepared.usable(store).is_some() && !seen.insert(prepared.stored(index))
        };
        let all = if store.is_some() { 0..self.runs() } else { 0..0 };
        all.filter(|index| is_repeated(index)).collect()
    }

    /// Runs everything; hands the records to `take` with the place of their study, in the order of studies and
    /// runs, whatever the number of threads.
    pub(crate) fn run_all(
        &self,
        settings: &mut Settings<'_>,
        take: impl FnMut(usize, RunKey, RunRecord) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.run(settings, take)?.map_or(Ok(()), |_| Err(Error::Stopped))
    }

    /// As [`Batch::run_all`], but a stop is no error: `take` gets each run that has finished, still in order.
    fn run_until_stopped(
        &self,
        settings: &mut Settings<'_>,
        mut take: impl FnMut(usize, RunKey, RunRecord) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (index, record) in self.run(settings, &mut take)?.unwrap_or_default() {
            let (study, index) = self.find(index);
            take(study, self.studies[study].1.key(index), record)?;
        }
        Ok(())
    }

    /// Runs everything. Returns `None` at the end; if it was stopped, the runs that had finished before an earlier one.
    fn run(
        &self,
        settings: &mut Settings<'_>,
        mut take: impl FnMut(usize, RunKey, RunRecord) -> Result<(), Error>,
    ) -> Result<Option<BTreeMap<u64, RunRecord>>, Error> {
        let total = self.runs();
        let threads = settings.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let (started, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        let (store, repeated) = (settings.store, self.repeated(settings.store));
        let (send, receive) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..threads.min(total as usize) {
                let (started, stop, repeated, send) = (&started, &stop, &repeated, send.clone());
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let index = started.fetch_add(1, Ordering::Relaxed);
                        if index >= total {
                            break;
                        }
                        // The receiver is dropped only when the study is stopped.
                        if !repeated.contains(&index) && send.send((index, self.run_one(index, stop, store))).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(send);
            let outcome = self.collect(&receive, &repeated, settings, &mut take);
            stop.store(true, Ordering::Relaxed);
            outcome
        })
    }

    /// Takes finished runs as they come and passes them on in run order; returns as [`Batch::run`].
    fn collect(
        &self,
        finished: &mpsc::Receiver<(u64, Result<RunRecord, Error>)>,
        repeated: &BTreeSet<u64>,
        settings: &mut Settings<'_>,
        take: &mut impl FnMut(usize, RunKey, RunRecord) -> Result<(), Error>,
    ) -> Result<Option<BTreeMap<u64, RunRecord>>, Error> {
        let total = self.runs();
        // Runs that finished before an earlier one.
        let mut early = BTreeMap::new();
        let (mut next, mut done) = (0, 0);
        if total > 0 {
            let (label, first) = self.studies[self.find(0).0];
            (settings.progress)(Progress { label, done, total, study: [0, first.runs()] });
        }
        while next < total {
            match finished.recv_timeout(PATIENCE) {
                Ok((index, record)) => {
                    early.insert(index, record?);
                    done += 1;
                    let mut reported = false;
                    loop {
                        if repeated.contains(&next) {
                            // The run that it repeats has been passed on, so the store has it.
                            early.insert(next, self.run_one(next, &AtomicBool::new(false), settings.store)?);
                            done += 1;
                        }
                        let Some(record) = early.remove(&next) else { break };
                        let (study, index) = self.find(next);
                        let (label, prepared) = self.studies[study];
                        take(study, prepared.key(index), record)?;
                        next += 1;
                        if index + 1 == prepared.runs() {
                            let study = [prepared.runs(); 2];
                            (settings.progress)(Progress { label, done, total, study });
                            reported = true;
                        }
                    }
                    if !reported {
                        let (study, index) = self.find(next);
                        let (label, prepared) = self.studies[study];
                        // Runs that finished out of order are counted.
                        let ahead = (early.len() as u64).min(prepared.runs() - index - 1);
                        let study = [index + ahead, prepared.runs()];
                        (settings.progress)(Progress { label, done, total, study });
                    }
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                // A thread has panicked; the scope propagates that.
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            if next < total && (settings.stop)() {
                // None of them was stopped: the caller stops the threads.
                for (index, record) in finished.try_iter() {
                    early.insert(index, record?);
                }
                return Ok(Some(early));
            }
        }
        Ok(None)
    }
}

/// Runs a single study as [`Batch::run_all`] does.
pub(crate) fn run_all(
    prepared: &Prepared,
    label: &str,
    settings: &mut Settings<'_>,
    mut take: impl FnMut(RunKey, RunRecord) -> Result<(), Error>,
) -> Result<(), Error> {
    Batch::new([(label, prepared)]).run_all(settings, |_, key, record| take(key, record))
}

/// Runs a single study as [`Batch::run_until_stopped`] does.
pub(crate) fn run_until_stopped(
    prepared: &Prepared,
    label: &str,
    settings: &mut Settings<'_>,
    mut take: impl FnMut(RunKey, RunRecord) -> Result<(), Error>,
) -> Result<(), Error> {
    Batch::new([(label, prepared)]).run_until_stopped(settings, |_, key, record| take(key, record))
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    pub(crate) const SMALL: &str = r#"
version = 1
name = "small"
run = { duration = "200 ms" }
buffer = { size = "64 KiB", per = "port", count = "packet" }
tcp = { profile = "linux-6", mss = "1460 B" }
node = [{ name = "a", kind = "host" }, { name = "b", kind = "router" }]
link = [{ between = ["a", "b"], rate = "1 Mbit/s", delay = "5 ms", framing = "packet" }]
traffic = [{ name = "t", app = "bulk", from = "a", to = "b", access = { rate = "1 Gbit/s", delay = "0 s" } }]
"#;

    /// The end of each study is reported once, in order, whichever thread finishes first, and never with more runs than
    /// it has.
    #[test]
    fn each_study_ends_once() {
        let plan = Plan::parse_with(SMALL, "small.toml", &[], None).unwrap();
        let prepared = |seeds| Prepared::new(&plan, Path::new("."), Some(seeds)).unwrap();
        let (one, three, two) = (prepared(1), prepared(3), prepared(2));
        for threads in [1, 4] {
            let mut ended = Vec::new();
            let mut progress = |p: Progress<'_>| {
                assert!(p.study[0] <= p.study[1] && p.done <= p.total && p.total == 6, "{p:?}");
                if p.has_ended() {
                    ended.push((p.label.to_owned(), p.study[1]));
                }
            };
            let mut settings =
                Settings { threads: Some(threads), progress: &mut progress, stop: &mut || false, store: None };
            let batch = Batch::new([("one", &one), ("three", &three), ("two", &two)]);
            batch.run_all(&mut settings, |_, _, _| Ok(())).unwrap();
            assert_eq!(ended, [("one".to_owned(), 1), ("three".to_owned(), 3), ("two".to_owned(), 2)]);
        }
    }

    /// A stop after some runs keeps each that has finished, once, in order.
    #[test]
    fn a_stop_keeps_finished_runs_in_order() {
        let plan = Plan::parse_with(SMALL, "small.toml", &[], None).unwrap();
        let prepared = Prepared::new(&plan, Path::new("."), Some(2000)).unwrap();
        for threads in [1, 3] {
            let done = std::cell::Cell::new(0);
            let (mut progress, mut stop) = (|p: Progress<'_>| done.set(p.done), || done.get() >= 5);
            let mut settings =
                Settings { threads: Some(threads), progress: &mut progress, stop: &mut stop, store: None };
            let mut kept = Vec::new();
            run_until_stopped(&prepared, "t", &mut settings, |key, _| {
                kept.push(key.run);
                Ok(())
            })
            .unwrap();
            assert!((5..2000).contains(&kept.len()), "{} runs", kept.len());
            assert!(kept.is_sorted() && kept.windows(2).all(|pair| pair[0] != pair[1]), "{kept:?}");
            let mut settings =
                Settings { threads: Some(threads), progress: &mut progress, stop: &mut stop, store: None };
            let stopped = run_all(&prepared, "t", &mut settings, |_, _| Ok(()));
            assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
        }
    }

    /// Collects the given runs, and those that a stop finds with them. Returns the runs that were passed on, and those
    /// that had finished before an earlier one.
    fn collected(runs: Vec<(u64, Result<RunRecord, Error>)>) -> Result<(Vec<u32>, Vec<u64>), Error> {
        let plan = Plan::parse_with(SMALL, "small.toml", &[], None).unwrap();
        let prepared = Prepared::new(&plan, Path::new("."), Some(5)).unwrap();
        let (send, receive) = mpsc::channel();
        runs.into_iter().for_each(|run| send.send(run).unwrap());
        let mut settings = Settings { threads: None, progress: &mut |_| {}, stop: &mut || true, store: None };
        let mut passed = Vec::new();
        let early =
            Batch::new([("t", &prepared)]).collect(&receive, &BTreeSet::new(), &mut settings, &mut |_, key, _| {
                passed.push(key.run);
                Ok(())
            });
        // The sender lives until here: a thread that is still at work.
        drop(send);
        Ok((passed, early?.expect("it was stopped").into_keys().collect()))
    }

    fn finished() -> Result<RunRecord, Error> {
        let plan = Plan::parse_with(SMALL, "small.toml", &[], None).unwrap();
        Prepared::new(&plan, Path::new("."), Some(1)).unwrap().run(0, &AtomicBool::new(false))
    }

    #[test]
    fn a_stop_before_the_first_run_has_finished_keeps_none() {
        assert_eq!(collected(Vec::new()).unwrap(), (vec![], vec![]));
        assert_eq!(collected(vec![(0, finished()), (4, finished()), (2, finished())]).unwrap(), (vec![0], vec![2, 4]));
        assert_eq!(collected(vec![(2, finished()), (0, finished())]).unwrap(), (vec![], vec![0, 2]));
    }

    /// It was dropped, and the stopped study looked like one without a failure.
    #[test]
    fn a_run_that_fails_as_the_study_is_stopped_is_an_error() {
        let failed = Err(Error::Option("wrong".to_owned()));
        let collected = collected(vec![(0, finished()), (1, failed), (2, finished())]);
        assert!(matches!(&collected, Err(Error::Option(why)) if why == "wrong"), "{collected:?}");
    }
}
