//! The tables of a study, for any reader of Arrow.

use cellway_lab::Table;
use pyo3::prelude::*;
use pyo3_arrow::PyTable;

/// What a simulation has brought. Each table exports the Arrow C stream interface.
#[pyclass(frozen, module = "cellway._native")]
pub(crate) struct Results {
    results: cellway_lab::Results,
    /// The manifest, as JSON.
    #[pyo3(get)]
    manifest: String,
    /// What to check before trusting the numbers.
    #[pyo3(get)]
    warnings: Vec<String>,
}

impl Results {
    pub(crate) fn new(results: cellway_lab::Results, manifest: String, warnings: Vec<String>) -> Results {
        Results { results, manifest, warnings }
    }
}

/// Shares the columns; nothing is copied.
fn table(table: &Table) -> PyResult<PyTable> {
    PyTable::try_new(table.batches.clone(), table.schema.clone())
}

#[pymethods]
impl Results {
    /// One row for each run: its point, seed and axes.
    #[getter]
    fn runs(&self) -> PyResult<PyTable> {
        table(&self.results.runs)
    }

    /// One row for each run, subject and metric.
    #[getter]
    fn summary(&self) -> PyResult<PyTable> {
        table(&self.results.summary)
    }

    /// Rows over time.
    #[getter]
    fn series(&self) -> PyResult<PyTable> {
        table(&self.results.series)
    }
}
