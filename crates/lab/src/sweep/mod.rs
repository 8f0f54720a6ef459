//! Sweeps over a store of runs: whatever ends one, the same command goes on where it was, no run is done twice, and the
//! tables are those of a simulation in one go.

mod criterion;
mod each;
mod file;
mod fill;
mod in_order;
mod merge;
mod status;
mod until;
mod verify;

use std::path::Path;

use cellway_scenario::Plan;
use cellway_store::{Key, Store};

pub use criterion::Criterion;
pub use file::{StopReason, SweepFile};
pub use fill::{Filled, Shard};
pub use merge::Completed;
pub use status::{FailureKind, PointStatus};
pub use until::{Limits, PointEnd};
pub use verify::Verified;

use crate::error::Error;
use crate::study::Prepared;

/// The name of the tables in the folder of a store.
pub const RESULTS: &str = "results";

/// A sweep with its store: the plan says which runs there are, the store which of them have ended.
pub struct Sweep {
    plan: Plan,
    prepared: Prepared,
    file: SweepFile,
}

/// Returns a number of threads: all cores if it is absent.
fn or_all(threads: Option<usize>) -> usize {
    threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
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

    /// Removes from a store all runs that are not of this plan. Returns the octets that became free.
    ///
    /// # Errors
    /// If another process writes to the store, or it cannot be written.
    pub fn remove_others(&self, store: &Path) -> Result<u64, Error> {
        let wanted: std::collections::BTreeSet<_> = self.prepared.all_stored().iter().copied().collect();
        Ok(Store::compact(store, |key| wanted.contains(&key))?)
    }
}
