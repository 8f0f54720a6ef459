//! A check of a store: some of its runs once more, compared to the bit.

use cellway_store::Store;

use super::Sweep;
use super::each::each;
use crate::error::Error;
use crate::study::{Progress, Settings};

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Finished runs of the plan in the store.
    pub finished: u64,
    /// Those that were run again.
    pub checked: u64,
    /// The numbers of those that came out otherwise.
    pub differing: Vec<u64>,
    /// True if the caller stopped it.
    pub stopped: bool,
}

impl Sweep {
    /// Runs a share of the finished runs again, at least one, chosen by their keys, so that each call chooses the same.
    ///
    /// # Errors
    /// If the store cannot be read, or a run fails that had finished.
    pub fn verify(&self, store: &Store, share: f64, settings: &mut Settings<'_>) -> Result<Verified, Error> {
        self.prepared.all_stored();
        let finished = |run: &u64| store.finished(self.prepared.stored(*run)) == Some(true);
        let mut runs: Vec<u64> = (0..self.prepared.runs()).filter(finished).collect();
        let mut verified = Verified { finished: runs.len() as u64, ..Verified::default() };
        runs.sort_by_key(|run| self.prepared.stored(*run));
        runs.truncate((share * runs.len() as f64).ceil() as usize);
        runs.sort();
        let total = runs.len() as u64;
        let label = &self.plan.base().name;
        let Settings { threads, progress, stop, .. } = settings;
        let work = |run, stopped: &_| {
            let record = self.prepared.run(run, stopped)?;
            Ok(store.has_same(self.prepared.stored(run), &record)?)
        };
        let ended = each(&runs, *threads, &mut **stop, work, |run, same: Result<bool, Error>| {
            let is_same = match same {
                Err(Error::Run(cellway_sim::Error::Stopped { .. })) => {
                    verified.stopped = true;
                    return Ok(());
                }
                same => same?,
            };
            verified.checked += 1;
            if !is_same {
                verified.differing.push(run);
            }
            progress(Progress { label, done: verified.checked, total, study: [verified.checked, total] });
            Ok(())
        })?;
        verified.differing.sort();
        verified.stopped |= !ended;
        Ok(verified)
    }
}
