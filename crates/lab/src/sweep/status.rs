//! The state of a sweep: the runs of each point, failures by their message, and damage.

use cellway_store::{Outcome, Store};

use super::{StopReason, Sweep};
use crate::error::Error;

/// The runs of a point of the sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PointStatus {
    /// The axes of the point, as "name = value".
    pub axes: Vec<String>,
    /// Planned runs.
    pub planned: u64,
    /// Runs that finished.
    pub finished: u64,
    /// Runs that failed.
    pub failed: u64,
    /// The reason why the point has no more replications, if they were chosen by `--until`.
    pub reason: Option<StopReason>,
}

/// The failed runs that have one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureKind {
    /// The message.
    pub message: String,
    /// The number of runs.
    pub runs: u64,
    /// The first of them.
    pub run: u64,
    /// Its seed.
    pub seed: u64,
}

impl FailureKind {
    /// Counts failed runs, given by number, seed and message, by their messages: the most frequent first.
    pub fn of(failures: &[(u64, u64, String)]) -> Vec<FailureKind> {
        let mut kinds: Vec<FailureKind> = Vec::new();
        let mut known = std::collections::BTreeMap::new();
        for (run, seed, message) in failures {
            let place = *known.entry(message).or_insert_with(|| {
                kinds.push(FailureKind { message: message.clone(), runs: 0, run: *run, seed: *seed });
                kinds.len() - 1
            });
            kinds[place].runs += 1;
        }
        kinds.sort_by_key(|kind| (std::cmp::Reverse(kind.runs), kind.run));
        kinds
    }
}

impl Sweep {
    /// Reads all stored runs of the plan, and compares each with its checksum: those that do not read back count as
    /// missing from then on, and [`Store::damage`] has them. This finds any octet that has changed since it was written;
    /// [`Sweep::verify`] also finds runs that were written with other figures than the simulator has.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn check(&self, store: &Store, threads: Option<usize>) -> Result<(), Error> {
        store.have_whole(self.prepared.all_stored(), super::or_all(threads))?;
        Ok(())
    }

    /// Returns the runs of each point, by their state in a store.
    pub fn status(&self, store: &Store) -> Vec<PointStatus> {
        let (reasons, keys) = (self.file.reasons(), self.prepared.all_stored());
        let status = |(number, point): (usize, &cellway_scenario::Point)| {
            let runs = self.prepared.runs_of(number);
            let mut status = PointStatus {
                axes: point.axes.iter().map(|(name, value)| format!("{name} = {value}")).collect(),
                planned: runs.end - runs.start,
                reason: reasons.get(number).copied(),
                ..PointStatus::default()
            };
            for key in &keys[runs.start as usize..runs.end as usize] {
                match store.finished(*key) {
                    Some(true) => status.finished += 1,
                    Some(false) => status.failed += 1,
                    None => {}
                }
            }
            status
        };
        self.prepared.points().enumerate().map(status).collect()
    }

    /// Returns the failed runs: their number, seed and message.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn failures(&self, store: &Store) -> Result<Vec<(u64, u64, String)>, Error> {
        let mut failures = Vec::new();
        for (run, key) in (0..).zip(self.prepared.all_stored()) {
            if store.finished(*key) == Some(false)
                && let Some(Outcome::Failed(message)) = store.get(*key)?
            {
                failures.push((run, self.prepared.key(run).seed, message));
            }
        }
        Ok(failures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_by_message_the_most_frequent_first() {
        let failures = [(3, 4, "no route"), (5, 6, "no memory"), (8, 1, "no memory")];
        let failures = failures.map(|(run, seed, message)| (run, seed, message.to_owned()));
        let kind = |message: &str, runs, run, seed| FailureKind { message: message.to_owned(), runs, run, seed };
        assert_eq!(FailureKind::of(&failures), [kind("no memory", 2, 5, 6), kind("no route", 1, 3, 4)]);
    }
}
