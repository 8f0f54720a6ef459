//! Sweeps over a store, as Python gives them to threads or to a cluster.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cellway_lab::Store;
use cellway_lab::sweep::{self, Criterion, Filled, Limits, Shard, StopReason};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::raise;
use crate::run;
use crate::source::{Changes, Source};

/// A sweep whose plan is in a store.
#[pyclass(frozen)]
pub(crate) struct Sweep {
    store: PathBuf,
    sweep: Mutex<sweep::Sweep>,
}

impl Sweep {
    fn sweep(&self) -> MutexGuard<'_, sweep::Sweep> {
        self.sweep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self) -> Result<Store, cellway_lab::Error> {
        Ok(Store::read(&self.store)?)
    }

    /// Opens the store for all runs; with `retry` those that failed count as missing.
    fn opened_whole(&self, retry: bool) -> Result<Store, cellway_lab::Error> {
        let store = Shard::ALL.open(&self.store)?;
        if retry {
            store.forget_failures();
        }
        Ok(store)
    }
}

#[pymethods]
impl Sweep {
    /// Writes the plan of a scenario into a store.
    #[staticmethod]
    fn plan(source: Source, set: Changes, seeds: Option<u64>, store: PathBuf) -> PyResult<Sweep> {
        let (plan, folder) = source.plan(set).map_err(raise)?;
        let sweep = sweep::Sweep::new(plan, &folder, seeds).map_err(raise)?;
        sweep.save(&store).map_err(raise)?;
        Ok(Sweep { store, sweep: Mutex::new(sweep) })
    }

    /// Reads the plan of a store.
    #[staticmethod]
    fn open(store: PathBuf) -> PyResult<Sweep> {
        let sweep = sweep::Sweep::open(&store).map_err(raise)?;
        Ok(Sweep { store, sweep: Mutex::new(sweep) })
    }

    /// The number of runs.
    #[getter]
    fn runs(&self) -> u64 {
        self.sweep().runs()
    }

    /// The warnings about the scenario.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.sweep().warnings().to_vec()
    }

    /// Returns the numbers of the runs that the store does not have whole; of those that are the same, one. With `retry`
    /// also those that failed.
    #[pyo3(signature = (retry = false))]
    fn missing(&self, py: Python<'_>, retry: bool) -> PyResult<Vec<u64>> {
        let missing = || {
            let store = self.opened()?;
            if retry {
                store.forget_failures();
            }
            self.sweep().missing(&store)
        };
        py.detach(missing).map_err(raise)
    }

    /// Returns the failed runs: number, seed and message.
    fn failures(&self, py: Python<'_>) -> PyResult<Vec<(u64, u64, String)>> {
        py.detach(|| self.sweep().failures(&self.opened()?)).map_err(raise)
    }

    /// Runs what the store does not have, or the runs of these numbers, into the file `part`. Returns the numbers of runs
    /// that were there, that finished and that failed.
    #[pyo3(signature = (runs, part, threads, fail_fast, progress))]
    fn run(
        &self,
        py: Python<'_>,
        runs: Option<Vec<u64>>,
        part: Option<String>,
        threads: Option<usize>,
        fail_fast: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(u64, u64, u64)> {
        run(py, threads, progress, |settings| {
            let part = part.unwrap_or_else(|| Shard::ALL.part());
            let filled = match runs {
                None => self.sweep().fill(&Shard::ALL.open(&self.store)?, Shard::ALL, fail_fast, settings),
                Some(runs) => {
                    self.sweep().run(&Store::open_part_alone(&self.store, &part)?, &runs, fail_fast, settings)
                }
            };
            counted(filled?)
        })
    }

    /// Runs what the store does not have, with `retry` also what had failed, and writes the tables into a folder, which is
    /// replaced. Returns the numbers of runs that were there, that finished and that failed.
    #[pyo3(signature = (out, threads, fail_fast, retry, progress))]
    fn complete(
        &self,
        py: Python<'_>,
        out: PathBuf,
        threads: Option<usize>,
        fail_fast: bool,
        retry: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(u64, u64, u64)> {
        run(py, threads, progress, |settings| {
            let store = self.opened_whole(retry)?;
            let done = self.sweep().complete(&store, (&out, true), fail_fast, settings);
            done.merged?;
            counted(done.filled)
        })
    }

    /// Adds replications until all criteria hold at each point, and writes the plan again. Returns the replications and
    /// the reason for their end of each point.
    #[pyo3(signature = (criteria, max_seeds, budget, threads, fail_fast, retry, progress))]
    #[allow(clippy::too_many_arguments, reason = "the Python side calls it by one wrapper only")]
    fn until(
        &self,
        py: Python<'_>,
        criteria: Vec<String>,
        max_seeds: u64,
        budget: Option<f64>,
        threads: Option<usize>,
        fail_fast: bool,
        retry: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<(u64, &'static str)>> {
        let criteria = criteria.iter().map(|text| text.parse()).collect::<Result<Vec<Criterion>, String>>();
        let criteria = criteria.map_err(PyValueError::new_err)?;
        let budget = budget.map(Duration::try_from_secs_f64).transpose();
        let budget = budget.map_err(|error| PyValueError::new_err(format!("budget: {error}")))?;
        run(py, threads, progress, |settings| {
            let store = self.opened_whole(retry)?;
            let mut sweep = self.sweep();
            let limits = Limits { max_seeds, budget };
            counted(sweep.fill_until(&store, &criteria, limits, fail_fast, settings)?)?;
            sweep.save(&self.store)?;
            let word = |reason| match reason {
                StopReason::Met => "met",
                StopReason::MaxSeeds => "max-seeds",
                StopReason::Budget => "budget",
            };
            Ok(sweep.ends().iter().map(|end| (end.replications, word(end.reason))).collect())
        })
    }

    /// Writes the tables of the store into a folder, which is replaced. Returns the warnings about them.
    fn merge(&self, py: Python<'_>, out: PathBuf, partial: bool) -> PyResult<Vec<String>> {
        run(py, None, None, |settings| {
            let (merged, _) = self.sweep().merge_into(&self.opened()?, (&out, true), partial, settings)?;
            Ok(merged.warnings)
        })
    }
}

/// Returns the numbers of a sweep that came to its end.
fn counted(filled: Filled) -> Result<(u64, u64, u64), cellway_lab::Error> {
    let Filled { found, finished, failed, stopped } = filled;
    if stopped { Err(cellway_lab::Error::Stopped) } else { Ok((found, finished, failed)) }
}
