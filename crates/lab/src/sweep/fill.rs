//! The work of a sweep: the runs that the store does not have, each into the store as it ends.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use cellway_store::{Outcome, Store};

use super::Sweep;
use super::each::each;
use crate::error::Error;
use crate::study::{Prepared, Progress, Settings};

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

    /// Returns the name of the shard's part of a store.
    pub fn part(self) -> String {
        if self == Shard::ALL { "sweep".to_owned() } else { format!("shard-{}-of-{}", self.number, self.of) }
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
    /// Runs that the store had, finished or failed.
    pub found: u64,
    /// Runs that finished now.
    pub finished: u64,
    /// Runs that failed now.
    pub failed: u64,
    /// True if the caller stopped it.
    pub stopped: bool,
}

impl Sweep {
    /// Runs what a store does not have of a shard. A run that fails is kept with its message, and is not run again;
    /// with `fail_fast` it ends the work with its error.
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
        fill(&self.prepared, label, store, shard, fail_fast, settings)
    }

    /// Returns the runs that a store does not have, or has damaged, by number; of those that are the same, one.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn missing(&self, store: &Store) -> Result<Vec<u64>, Error> {
        Ok(missing(&self.prepared, store, Shard::ALL)?.0)
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
        run(&self.prepared, &self.plan.base().name, store, runs, fail_fast, settings)
    }
}

/// As [`Sweep::fill`].
pub(super) fn fill(
    prepared: &Prepared,
    label: &str,
    store: &Store,
    shard: Shard,
    fail_fast: bool,
    settings: &mut Settings<'_>,
) -> Result<Filled, Error> {
    let (missing, all) = missing(prepared, store, shard)?;
    let filled = run(prepared, label, store, &missing, fail_fast, settings)?;
    Ok(Filled { found: all - missing.len() as u64, ..filled })
}

/// Returns the runs of a shard that the store does not have whole, those that are the same as an earlier one of any
/// shard left out, and the number of all runs of the shard.
fn missing(prepared: &Prepared, store: &Store, shard: Shard) -> Result<(Vec<u64>, u64), Error> {
    let repeats = prepared.repeats();
    let (mut missing, mut all) = (Vec::new(), 0);
    for run in (0..prepared.runs()).filter(|run| shard.has(*run)) {
        all += 1;
        if !repeats.has(run) && !store.has_whole(prepared.stored(run))? {
            missing.push(run);
        }
    }
    Ok((missing, all))
}

/// Runs some, and adds them to the store.
pub(super) fn run(
    prepared: &Prepared,
    label: &str,
    store: &Store,
    missing: &[u64],
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
        let outcome = outcome(prepared, run, stopped)?;
        let failure = match &outcome {
            Outcome::Finished(_) => None,
            Outcome::Failed(message) => Some(message.clone()),
        };
        store.put(prepared.stored(run), &outcome)?;
        Ok(failure)
    };
    let ended = each(missing, *threads, &mut **stop, work, |run, outcome: Result<Option<String>, Error>| {
        match outcome {
            Err(Error::Stopped) => {
                filled.stopped = true;
                return Ok(());
            }
            Err(error) => return Err(error),
            Ok(None) => filled.finished += 1,
            Ok(Some(message)) if fail_fast => {
                let seed = prepared.key(run).seed;
                return Err(Error::RunFailed { run, seed, message });
            }
            Ok(Some(_)) => filled.failed += 1,
        }
        let done = filled.finished + filled.failed;
        progress(Progress { label, done, total, study: [done, total] });
        Ok(())
    });
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
