//! The tables of a sweep, from the runs in its store.

use std::path::Path;

use cellway_store::{Outcome, Store};
use cellway_tables::{Manifest, Provenance};

use super::Sweep;
use super::fill::{Filled, Shard, fill};
use super::in_order::in_order;
use crate::error::Error;
use crate::simulate::{Own, Simulated, simulated};
use crate::study::{Progress, Settings};

/// The end of [`Sweep::complete`].
pub struct Completed {
    /// The work that it took.
    pub filled: Filled,
    /// The tables; absent if the caller stopped it before they were begun.
    pub merged: Result<Option<(Simulated, Manifest)>, Error>,
}

impl Sweep {
    /// Runs what a store does not have, and merges all into `out`, a result folder; an earlier one is replaced with
    /// `force`. Each stored run is read once, for the tables: one that does not read back then is run again.
    pub fn complete(
        &self,
        store: &Store,
        out: (&Path, bool),
        fail_fast: bool,
        settings: &mut Settings<'_>,
    ) -> Completed {
        let label = &self.plan.base().name;
        let mut filled = Filled::default();
        let mut merge = || loop {
            let work = fill(&self.prepared, label, store, (Shard::ALL, false), fail_fast, settings)?;
            filled = Filled { finished: filled.finished + work.finished, failed: filled.failed + work.failed, ..work };
            if filled.stopped {
                return Ok(None);
            }
            let damage = store.damage().len();
            match self.merge_into(store, out, false, settings) {
                Err(Error::Incomplete { .. }) if store.damage().len() > damage => {}
                merged => return merged.map(Some),
            }
        };
        let merged = merge();
        // A run that was there and did not read back was done now.
        filled.found = self.prepared.runs().saturating_sub(filled.finished + filled.failed).min(filled.found);
        Completed { filled, merged }
    }

    /// Returns the tables of the runs in the store, the same as those of a simulation of the plan. Runs are read on the
    /// threads of the settings.
    ///
    /// # Errors
    /// [`Error::Incomplete`] if runs have not ended, unless `partial`, or none has; [`Error::RunFailed`] if all that
    /// have ended failed; [`Error::Stopped`] if the caller stopped it.
    pub fn merge(&self, store: &Store, partial: bool, settings: &mut Settings<'_>) -> Result<Simulated, Error> {
        let (keys, total) = (self.prepared.all_stored(), self.prepared.runs());
        let missing = keys.iter().filter(|key| !store.contains(**key)).count() as u64;
        let incomplete = |missing| Error::Incomplete { store: store.folder().to_owned(), missing, total };
        if missing > 0 && (!partial || missing == total) {
            return Err(incomplete(missing));
        }
        let merged =
            simulated(&self.plan, &self.prepared, &Own::default(), settings, |prepared, label, settings, take| {
                let (mut finished, mut missing, mut first, mut failed) = (0_u64, 0_u64, None, 0_u64);
                let read = |run: u64| store.get(keys[run as usize]);
                in_order(total, settings.threads, read, |run, outcome| {
                    (settings.progress)(Progress { label, done: run, total, study: [run, total] });
                    if (settings.stop)() {
                        return Err(Error::Stopped);
                    }
                    match outcome? {
                        Some(Outcome::Finished(record)) => {
                            finished += 1;
                            take(prepared.key(run), record)?;
                        }
                        Some(Outcome::Failed(message)) => {
                            failed += 1;
                            first.get_or_insert((run, message));
                        }
                        // Also those that are damaged, which is found as their octets are read.
                        None => missing += 1,
                    }
                    Ok(())
                })?;
                match first {
                    _ if missing > 0 && !partial => return Err(incomplete(missing)),
                    Some((run, message)) if finished == 0 => {
                        return Err(Error::RunFailed { run, seed: prepared.key(run).seed, message });
                    }
                    None if finished == 0 => return Err(incomplete(total)),
                    _ => {}
                }
                let lacking = [
                    (
                        failed,
                        "failed and have no rows: points have fewer replications, or none; --retry runs them again",
                    ),
                    (missing, "are missing: points have fewer replications, or none"),
                ];
                let lacking = lacking.into_iter().filter(|(number, _)| *number > 0);
                Ok(lacking.map(|(number, how)| format!("{number} of {total} runs {how}")).collect())
            })?;
        let about = Provenance { reuses_runs: true, ..merged.about };
        Ok(Simulated { about, ..merged })
    }

    /// Merges into `out`, a result folder; an earlier one is replaced with `force`.
    ///
    /// # Errors
    /// As [`Sweep::merge`], or if it cannot be written.
    pub fn merge_into(
        &self,
        store: &Store,
        (out, force): (&Path, bool),
        partial: bool,
        settings: &mut Settings<'_>,
    ) -> Result<(Simulated, Manifest), Error> {
        let merged = self.merge(store, partial, settings)?;
        let manifest = merged.write(out, force)?;
        Ok((merged, manifest))
    }
}
