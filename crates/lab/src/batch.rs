//! Running the replications of several plans on all cores, in an order that does not show.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};

use cellway_record::{RunKey, RunRecord};
use cellway_store::Store;

use crate::error::Error;
use crate::study::{PATIENCE, Prepared, Progress, Settings};

/// The runs of a batch that are the same as an earlier one: the same network, seed and engine.
#[derive(Default)]
struct SameRuns {
    /// The first of its kind, for each of them.
    first_of: BTreeMap<u64, u64>,
    /// The last of its kind, for each first.
    last_of: BTreeMap<u64, u64>,
}

/// Several prepared studies as one row of runs, so that one pool of threads works through them without a pause
/// between two.
pub(crate) struct Batch<'a> {
    /// Each with its label.
    studies: Vec<(&'a str, &'a Prepared)>,
    /// Made when they are first wanted.
    same: OnceLock<SameRuns>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(studies: impl IntoIterator<Item = (&'a str, &'a Prepared)>) -> Batch<'a> {
        Batch { studies: studies.into_iter().collect(), same: OnceLock::new() }
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

    /// As [`Prepared::run_once`].
    fn run_one(&self, index: u64, stop: &AtomicBool, store: Option<&Store>) -> Result<Option<RunRecord>, Error> {
        let (study, index) = self.find(index);
        self.studies[study].1.run_once(index, stop, store)
    }

    /// As [`Batch::run_one`], but waits for another process that is running it.
    fn run_now(&self, index: u64, settings: &mut Settings<'_>) -> Result<RunRecord, Error> {
        loop {
            match self.run_one(index, &AtomicBool::new(false), settings.store)? {
                Some(record) => return Ok(record),
                None if (settings.stop)() => return Err(Error::Stopped),
                None => std::thread::sleep(PATIENCE),
            }
        }
    }

    /// Returns true if the record of a run is in a store once it has ended.
    fn has_store(&self, index: u64, store: Option<&Store>) -> bool {
        self.studies[self.find(index).0].1.usable(store).is_some()
    }

    fn same_runs(&self) -> &SameRuns {
        self.same.get_or_init(|| {
            let (mut same, mut seen) = (SameRuns::default(), BTreeMap::new());
            for index in 0..self.runs() {
                let (study, number) = self.find(index);
                let prepared = self.studies[study].1;
                if !prepared.has_complete_key() {
                    continue;
                }
                // A store has one result for both engines; here one may be compared with the other.
                let first = *seen.entry((prepared.stored(number), prepared.engine(number))).or_insert(index);
                if first < index {
                    same.first_of.insert(index, first);
                    same.last_of.insert(first, index);
                }
            }
            same
        })
    }

    /// Returns the places of the studies of which a run is the same as an earlier one, so that it is not run.
    pub(crate) fn with_repeats(&self) -> BTreeSet<usize> {
        self.same_runs().first_of.keys().map(|index| self.find(*index).0).collect()
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
        let (store, same) = (settings.store, self.same_runs());
        let (send, receive) = mpsc::channel();
        // Runs that other processes were running when their turn came.
        let taken = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..threads.min(total as usize) {
                let (started, stop, send) = (&started, &stop, send.clone());
                let taken = &taken;
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let next = started.fetch_add(1, Ordering::Relaxed);
                        let index = if next < total {
                            next
                        } else {
                            // Other processes are running the rest.
                            let Some(index) = taken.lock().unwrap_or_else(PoisonError::into_inner).pop() else { break };
                            std::thread::sleep(PATIENCE);
                            index
                        };
                        if same.first_of.contains_key(&index) {
                            continue;
                        }
                        let record = match self.run_one(index, stop, store) {
                            Ok(None) => {
                                taken.lock().unwrap_or_else(PoisonError::into_inner).push(index);
                                continue;
                            }
                            Ok(Some(record)) => Ok(record),
                            Err(error) => Err(error),
                        };
                        // The receiver is dropped only when the study is stopped.
                        if send.send((index, record)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(send);
            let outcome = self.collect(&receive, same, settings, &mut take);
            stop.store(true, Ordering::Relaxed);
            outcome
        })
    }

    /// Takes finished runs as they come and passes them on in run order; returns as [`Batch::run`].
    fn collect(
        &self,
        finished: &mpsc::Receiver<(u64, Result<RunRecord, Error>)>,
        same: &SameRuns,
        settings: &mut Settings<'_>,
        take: &mut impl FnMut(usize, RunKey, RunRecord) -> Result<(), Error>,
    ) -> Result<Option<BTreeMap<u64, RunRecord>>, Error> {
        let total = self.runs();
        // Runs that finished before an earlier one.
        let mut early = BTreeMap::new();
        // Those that later ones repeat, up to the last of these, if no store has them.
        let mut kept: BTreeMap<u64, RunRecord> = BTreeMap::new();
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
                        if let Some(first) = same.first_of.get(&next) {
                            // The first has been passed on.
                            let record = match kept.get(first) {
                                Some(record) => record.clone(),
                                None => self.run_now(next, settings)?,
                            };
                            if same.last_of.get(first) == Some(&next) {
                                kept.remove(first);
                            }
                            early.insert(next, record);
                            done += 1;
                        }
                        let Some(record) = early.remove(&next) else { break };
                        if same.last_of.contains_key(&next) && !self.has_store(next, settings.store) {
                            kept.insert(next, record.clone());
                        }
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
                for (&index, first) in same.first_of.range(next..) {
                    let known = kept.get(first).or_else(|| early.get(first)).cloned();
                    early.extend(known.map(|record| (index, record)));
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
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use std::path::Path;

    use cellway_scenario::{Override, Plan};

    use super::*;
    use crate::study::tests::SMALL;

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

    /// A run of the same network and seed as an earlier one is not run again: it has the record of that, in its place.
    #[test]
    fn runs_that_are_the_same_are_run_once() {
        let plan = Plan::parse_with(SMALL, "small.toml", &[], None).unwrap();
        let prepared = |seeds| Prepared::new(&plan, Path::new("."), Some(seeds)).unwrap();
        let (two, three) = (prepared(2), prepared(3));
        let batch = Batch::new([("two", &two), ("three", &three), ("two again", &two)]);
        let same = batch.same_runs();
        assert_eq!(same.first_of, BTreeMap::from([(2, 0), (3, 1), (5, 0), (6, 1)]));
        assert_eq!(same.last_of, BTreeMap::from([(0, 5), (1, 6)]));
        assert_eq!(batch.with_repeats(), BTreeSet::from([1, 2]));
        let mut taken = Vec::new();
        let mut settings = Settings { threads: Some(2), progress: &mut |_| {}, stop: &mut || false, store: None };
        batch
            .run_all(&mut settings, |study, key, record| {
                taken.push((study, key.run));
                assert_eq!(record, three.run(u64::from(key.run), &AtomicBool::new(false)).unwrap());
                Ok(())
            })
            .unwrap();
        assert_eq!(taken, [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1)]);
    }

    /// A study that runs a network with both engines compares them.
    #[test]
    fn runs_with_another_engine_are_not_the_same() {
        let plan = |engine: &str| {
            let set = [Override::new("run.engine", format!("{engine:?}"))];
            Plan::parse_with(SMALL, "small.toml", &set, None).unwrap()
        };
        let [cells, windows] = ["cells", "windows"].map(|engine| Prepared::new(&plan(engine), Path::new("."), Some(1)));
        let (cells, windows) = (cells.unwrap(), windows.unwrap());
        assert_eq!(cells.stored(0), windows.stored(0));
        let repeats = |first, second| Batch::new([("one", first), ("two", second)]).with_repeats().len();
        assert_eq!([repeats(&cells, &windows), repeats(&windows, &cells), repeats(&cells, &cells)], [0, 0, 1]);
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
            Batch::new([("t", &prepared)]).collect(&receive, &SameRuns::default(), &mut settings, &mut |_, key, _| {
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

    /// Runs that are the same as one that has finished have finished, too.
    #[test]
    fn a_stop_keeps_runs_that_are_the_same_as_finished_ones() {
        let plan = Plan::parse_with(SMALL, "small.toml", &[], None).unwrap();
        let prepared = Prepared::new(&plan, Path::new("."), Some(2)).unwrap();
        let batch = Batch::new([("one", &prepared), ("two", &prepared)]);
        let (send, receive) = mpsc::channel();
        send.send((0, finished())).unwrap();
        let mut settings = Settings { threads: None, progress: &mut |_| {}, stop: &mut || true, store: None };
        let early = batch.collect(&receive, batch.same_runs(), &mut settings, &mut |_, _, _| Ok(())).unwrap();
        drop(send);
        assert_eq!(early.unwrap().into_keys().collect::<Vec<_>>(), [2]);
    }

    /// A failure that was dropped made the stopped study look like one without any.
    #[test]
    fn a_run_that_fails_as_the_study_is_stopped_is_an_error() {
        let failed = Err(Error::Option("wrong".to_owned()));
        let collected = collected(vec![(0, finished()), (1, failed), (2, finished())]);
        assert!(matches!(&collected, Err(Error::Option(why)) if why == "wrong"), "{collected:?}");
    }
}
