//! Sweeps over a store of runs: whatever ends one, the same command goes on where it was, no run is done twice, and the
//! tables are those of a simulation in one go.

mod criterion;
mod each;
mod file;
mod fill;
mod until;
mod verify;

use std::path::Path;

use cellway_scenario::Plan;
use cellway_store::{Key, Outcome, Store};
use cellway_tables::{Manifest, Provenance};

pub use criterion::Criterion;
pub use file::{StopReason, SweepFile};
pub use fill::{Filled, Shard};
pub use until::{Limits, PointEnd};
pub use verify::Verified;

use crate::error::Error;
use crate::simulate::{Own, Simulated, simulated};
use crate::study::{Prepared, Settings};

/// The name of the tables in the folder of a store.
pub const RESULTS: &str = "results";

/// A sweep with its store: the plan says which runs there are, the store which of them have ended.
pub struct Sweep {
    plan: Plan,
    prepared: Prepared,
    file: SweepFile,
}

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

impl Sweep {
    /// Returns the sweep of a scenario; `folder` is the base of relative paths in it, `seeds` replaces the number of
    /// replications of the file.
    ///
    /// # Errors
    /// If the scenario cannot be simulated.
    pub fn new(plan: Plan, folder: &Path, seeds: Option<u64>) -> Result<Sweep, Error> {
        let prepared = Prepared::new(&plan, folder, seeds)?;
        let file = SweepFile::new(&plan, folder, &prepared);
        Ok(Sweep { plan, prepared, file })
    }

    /// Returns the sweep that a store was made for.
    ///
    /// # Errors
    /// If the folder has no plan, or the files that the plan names have changed since.
    pub fn open(store: &Path) -> Result<Sweep, Error> {
        let file = SweepFile::read(store)?;
        let (plan, prepared) = file.prepare(store)?;
        Ok(Sweep { plan, prepared, file })
    }

    /// Writes the plan into the folder of a store. An earlier plan there is replaced, its runs stay.
    ///
    /// # Errors
    /// If it cannot be written, or the file there is no plan.
    pub fn save(&self, store: &Path) -> Result<(), Error> {
        Store::create(store)?;
        self.file.write(store)
    }

    /// Returns the plan of the scenario.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the warnings about the scenario.
    pub fn warnings(&self) -> &[String] {
        &self.prepared.warnings
    }

    /// Returns the number of points.
    pub fn points(&self) -> u64 {
        self.prepared.points().len() as u64
    }

    /// Returns the number of runs.
    pub fn runs(&self) -> u64 {
        self.prepared.runs()
    }

    /// Returns the key of a run in a store.
    ///
    /// # Panics
    /// If there is no run of this number.
    pub fn stored(&self, run: u64) -> Key {
        self.prepared.stored(run)
    }

    /// Returns the runs of each point, by their state in a store.
    pub fn status(&self, store: &Store) -> Vec<PointStatus> {
        let reasons = self.file.reasons();
        let status = |(number, point): (usize, &cellway_scenario::Point)| {
            let runs = self.prepared.runs_of(number);
            let mut status = PointStatus {
                axes: point.axes.iter().map(|(name, value)| format!("{name} = {value}")).collect(),
                planned: runs.end - runs.start,
                reason: reasons.get(number).copied(),
                ..PointStatus::default()
            };
            for run in runs {
                match store.finished(self.prepared.stored(run)) {
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
        for run in 0..self.prepared.runs() {
            let key = self.prepared.stored(run);
            if store.finished(key) == Some(false)
                && let Some(Outcome::Failed(message)) = store.get(key)?
            {
                failures.push((run, self.prepared.key(run).seed, message));
            }
        }
        Ok(failures)
    }

    /// Returns the tables of the runs in the store, the same as those of a simulation of the plan.
    ///
    /// # Errors
    /// [`Error::Incomplete`] if runs have not ended, unless `partial`, or none has; [`Error::RunFailed`] if all that
    /// have ended failed; [`Error::Stopped`] if the caller stopped it.
    pub fn merge(&self, store: &Store, partial: bool, settings: &mut Settings<'_>) -> Result<Simulated, Error> {
        let total = self.prepared.runs();
        let missing = (0..total).filter(|run| store.finished(self.prepared.stored(*run)).is_none()).count() as u64;
        let incomplete = |missing| Error::Incomplete { store: store.folder().to_owned(), missing, total };
        if missing > 0 && (!partial || missing == total) {
            return Err(incomplete(missing));
        }
        let (mut finished, mut failed, mut first) = (0_u64, 0_u64, None);
        let merged =
            simulated(&self.plan, &self.prepared, &Own::default(), settings, |prepared, label, settings, take| {
                for run in 0..total {
                    let progress = crate::study::Progress { label, done: run, total, study: [run, total] };
                    (settings.progress)(progress);
                    if (settings.stop)() {
                        return Err(Error::Stopped);
                    }
                    match store.get(prepared.stored(run))? {
                        Some(Outcome::Finished(record)) => {
                            finished += 1;
                            take(prepared.key(run), record)?;
                        }
                        Some(Outcome::Failed(message)) => {
                            failed += 1;
                            first.get_or_insert((run, message));
                        }
                        // Damaged: found now, as its octets were read.
                        None if !partial => return Err(incomplete(1)),
                        None => {}
                    }
                }
                match first.take() {
                    Some((run, message)) if finished == 0 => {
                        Err(Error::RunFailed { run, seed: prepared.key(run).seed, message })
                    }
                    None if finished == 0 => Err(incomplete(total)),
                    _ => Ok(()),
                }
            })?;
        let warning = (failed > 0).then(|| format!("{failed} of {total} runs failed and have no rows"));
        let warnings = warning.into_iter().chain(merged.warnings).collect();
        let about = Provenance { from_store: true, ..merged.about };
        Ok(Simulated { warnings, about, ..merged })
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

    /// Removes from a store all runs that are not of this plan. Returns the octets that became free.
    ///
    /// # Errors
    /// If another process writes to the store, or it cannot be written.
    pub fn remove_others(&self, store: &Path) -> Result<u64, Error> {
        let wanted: std::collections::BTreeSet<_> =
            (0..self.prepared.runs()).map(|run| self.prepared.stored(run)).collect();
        Ok(Store::compact(store, |key| wanted.contains(&key))?)
    }
}
