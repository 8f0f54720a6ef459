//! The work of a sweep: the runs that the store does not have, each into the store as it ends.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use cellway_store::{ALL_RUNS, Key, Outcome, Store};

use super::Sweep;
use super::each::each;
use crate::error::Error;
use crate::study::{PATIENCE, Prepared, Progress, Settings, Turn};

/// A part of the runs of a sweep: every `of`-th, from number `number` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    number: u64,
    of: u64,
}

impl Shard {
    /// All runs.
    pub const ALL: Shard = Shard { number: 1, of: 1 };

    fn has(self, run: u64) -> bool {
        run % self.of == self.number - 1
    }

    /// Opens the shard's part of a store.
    ///
    /// # Errors
    /// [`cellway_store::Error::InUse`] if another process writes to it, or to a part of another division: they would run
    /// the same runs.
    pub fn open(self, folder: &Path) -> Result<Store, Error> {
        let store = Store::open_part(folder, &self.part())?;
        let of = |part: &str| {
            let shard = part.strip_prefix("shard-")?.replacen("-of-", "/", 1).parse::<Shard>();
            shard.ok().map(|shard| shard.of)
        };
        let is_other = |part: &str| {
            let of = if part == ALL_RUNS { Some(1) } else { of(part) };
            of.is_some_and(|of| of != self.of)
        };
        match store.part_in_use(is_other)? {
            Some(path) => Err(cellway_store::Error::InUse { path }.into()),
            None => Ok(store),
        }
    }

    /// Returns the name of the shard's part of a store.
    pub fn part(self) -> String {
        if self == Shard::ALL { ALL_RUNS.to_owned() } else { format!("shard-{}-of-{}", self.number, self.of) }
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parsed = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parsed {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Shard { number, of }),
            _ => Err(format!("{text:?} is no shard; accepted: I/N, such as 3/8, with I from 1 to N")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// The work of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// Runs that the store had, finished or failed, or that another process has done meanwhile.
    pub found: u64,
    /// Runs that finished now.
    pub finished: u64,
    /// Runs that failed now.
    pub failed: u64,
    /// True if the caller stopped it.
    pub stopped: bool,
}

impl Sweep {
    /// Runs what a store does not have of a shard, or has damaged. A run that fails is kept with its message, and is not
    /// run again before [`Store::forget_failures`]; with `fail_fast` it ends the work with its error.
    ///
    /// The whole sweep claims its runs, and so runs none that a simulation with the same store is running. Shards do not:
    /// those of one division share no run, and those of another are refused.
    ///
    /// # Errors
    /// If the store cannot be written; the runs that have ended stay.
    pub fn fill(
        &self,
        store: &Store,
        shard: Shard,
        fail_fast: bool,
        settings: &mut Settings<'_>,
    ) -> Result<Filled, Error> {
        let label = &self.plan.base().name;
        fill(&self.prepared, label, store, (shard, true), fail_fast, settings)
    }

    /// Returns the runs that a store does not have, or has damaged, by number; of those that are the same, one.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn missing(&self, store: &Store) -> Result<Vec<u64>, Error> {
        Ok(missing(&self.prepared, store, (Shard::ALL, true), None)?.0)
    }

    /// Runs the runs of these numbers, whatever the store has, and adds them to it; otherwise as [`Sweep::fill`].
    ///
    /// # Errors
    /// As [`Sweep::fill`], or if there is no run of a number.
    pub fn run(
        &self,
        store: &Store,
        runs: &[u64],
        fail_fast: bool,
        settings: &mut Settings<'_>,
    ) -> Result<Filled, Error> {
        let total = self.prepared.runs();
        if let Some(run) = runs.iter().find(|run| **run >= total) {
            return Err(Error::Option(format!("there is no run {run}; accepted: 0 to {}", total - 1)));
        }
        run(&self.prepared, &self.plan.base().name, store, (runs, false), fail_fast, settings)
    }
}

/// As [`Sweep::fill`]; the stored runs are read and checked if `checked`.
pub(super) fn fill(
    prepared: &Prepared,
    label: &str,
    store: &Store,
    (shard, checked): (Shard, bool),
    fail_fast: bool,
    settings: &mut Settings<'_>,
) -> Result<Filled, Error> {
    let (missing, all) = missing(prepared, store, (shard, checked), settings.threads)?;
    let filled = run(prepared, label, store, (&missing, shard == Shard::ALL), fail_fast, settings)?;
    Ok(Filled { found: filled.found + all - missing.len() as u64, ..filled })
}

/// Returns the runs of a shard that the store does not have, or, if `checked`, does not have whole, those that are the
/// same as an earlier one of any shard left out, and the number of all runs of the shard.
fn missing(
    prepared: &Prepared,
    store: &Store,
    (shard, checked): (Shard, bool),
    threads: Option<usize>,
) -> Result<(Vec<u64>, u64), Error> {
    if shard == Shard::ALL {
        // A shard takes few of them.
        prepared.all_stored();
    }
    let (repeats, mut all) = (prepared.repeats(), 0);
    let mut runs = Vec::new();
    for run in (0..prepared.runs()).filter(|run| shard.has(*run)) {
        all += 1;
        if !repeats.has(run) {
            runs.push(run);
        }
    }
    if checked {
        let keys: Vec<Key> = runs.iter().map(|run| prepared.stored(*run)).collect();
        let whole = store.have_whole(&keys, super::or_all(threads))?;
        let mut whole = whole.into_iter();
        runs.retain(|_| whole.next() == Some(false));
    } else {
        runs.retain(|run| !store.contains(prepared.stored(*run)));
    }
    Ok((runs, all))
}

/// The end of the work at one run.
enum Ended {
    /// It finished.
    Finished,
    /// It failed, with this message.
    Failed(String),
    /// Another process has done it.
    Elsewhere,
    /// Another process is doing it.
    Taken,
}

/// Runs some, and adds them to the store; each under a claim if `claimed`.
fn run(
    prepared: &Prepared,
    label: &str,
    store: &Store,
    (missing, claimed): (&[u64], bool),
    fail_fast: bool,
    settings: &mut Settings<'_>,
) -> Result<Filled, Error> {
    let mut filled = Filled::default();
    let total = missing.len() as u64;
    if missing.is_empty() {
        return Ok(filled);
    }
    let Settings { threads, progress, stop, .. } = settings;
    progress(Progress { label, done: 0, total, study: [0, total] });
    let work = |run: u64, stopped: &AtomicBool| {
        let _claim = match claimed.then(|| prepared.turn(run, store)).transpose()? {
            None => None,
            Some(Turn::Own(claim)) => Some(claim),
            Some(Turn::Done) => return Ok(Ended::Elsewhere),
            Some(Turn::Taken) => return Ok(Ended::Taken),
        };
        let outcome = outcome(prepared, run, stopped)?;
        store.put(prepared.stored(run), &outcome)?;
        Ok(match outcome {
            Outcome::Finished(_) => Ended::Finished,
            Outcome::Failed(message) => Ended::Failed(message),
        })
    };
    let mut taken = missing.to_vec();
    let ended = loop {
        let runs = std::mem::take(&mut taken);
        let ended = each(&runs, *threads, &mut **stop, work, |run, ended: Result<Ended, Error>| {
            match ended {
                Err(Error::Stopped) => {
                    filled.stopped = true;
                    return Ok(());
                }
                Err(error) => return Err(error),
                Ok(Ended::Finished) => filled.finished += 1,
                Ok(Ended::Failed(message)) if fail_fast => {
                    let seed = prepared.key(run).seed;
                    return Err(Error::RunFailed { run, seed, message });
                }
                Ok(Ended::Failed(_)) => filled.failed += 1,
                Ok(Ended::Elsewhere) => filled.found += 1,
                Ok(Ended::Taken) => taken.push(run),
            }
            let done = filled.found + filled.finished + filled.failed;
            progress(Progress { label, done, total, study: [done, total] });
            Ok(())
        });
        // The last runs are those of other processes: wait for their ends.
        if taken.is_empty() || !matches!(ended, Ok(true)) || filled.stopped {
            break ended;
        }
        if stop() {
            break Ok(false);
        }
        std::thread::sleep(PATIENCE);
    };
    // Also after an error: the runs that have ended are worth as much.
    let synced = store.sync();
    filled.stopped |= !ended?;
    synced?;
    Ok(filled)
}

/// Runs one; a panic is a failure of that run.
fn outcome(prepared: &Prepared, run: u64, stopped: &AtomicBool) -> Result<Outcome, Error> {
    match catch_unwind(AssertUnwindSafe(|| prepared.run(run, stopped))) {
        Ok(Ok(record)) => Ok(Outcome::Finished(record)),
        Ok(Err(Error::Run(cellway_sim::Error::Stopped { .. }))) => Err(Error::Stopped),
        Ok(Err(error)) => Ok(Outcome::Failed(error.to_string())),
        Err(panic) => Ok(Outcome::Failed(format!("the simulator failed: {}", message(&*panic)))),
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_have_each_run_once() {
        let shards: Vec<Shard> = (1..=3).map(|number| format!("{number}/3").parse().unwrap()).collect();
        for run in 0..20 {
            assert_eq!(shards.iter().filter(|shard| shard.has(run)).count(), 1, "{run}");
        }
        assert!((0..20).all(|run| Shard::ALL.has(run)));
        assert_eq!([shards[1].part(), Shard::ALL.part()], ["shard-2-of-3", "sweep"]);
        for wrong in ["", "3", "0/3", "4/3", "a/b", "1/0", "-1/3", "1/3/5"] {
            let refused = wrong.parse::<Shard>().unwrap_err();
            assert!(refused.contains("accepted: I/N"), "{refused}");
        }
    }
}
