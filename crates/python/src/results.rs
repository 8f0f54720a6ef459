//! The tables of a study, for any reader of Arrow.

use std::ffi::CStr;

use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The name that the Arrow PyCapsule interface gives to a capsule with a stream.
const STREAM: &CStr = c"arrow_array_stream";

/// A table for any reader of the Arrow PyCapsule interface.
#[pyclass(frozen, module = "cellway._native")]
pub(crate) struct Table(cellway_lab::Table);

#[pymethods]
impl Table {
    /// Returns the Arrow C stream, which shares the columns. The interface lets a producer ignore the requested schema.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        PyCapsule::new_with_value(py, self.0.arrow_stream(), STREAM)
    }
}

/// The results of a simulation. Each table exports the Arrow C stream interface.
#[pyclass(frozen, module = "cellway._native")]
pub(crate) struct Results {
    results: cellway_lab::Results,
    /// The manifest, as JSON.
    #[pyo3(get)]
    manifest: String,
    /// The warnings to check before trusting the numbers.
    #[pyo3(get)]
    warnings: Vec<String>,
}

impl Results {
    pub(crate) fn new(results: cellway_lab::Results, manifest: String, warnings: Vec<String>) -> Results {
        Results { results, manifest, warnings }
    }
}

#[pymethods]
impl Results {
    /// Returns one row for each run: its point, seed and axes.
    #[getter]
    fn runs(&self) -> Table {
        Table(self.results.runs.clone())
    }

    /// Returns one row for each run, subject and metric.
    #[getter]
    fn summary(&self) -> Table {
        Table(self.results.summary.clone())
    }

    /// Rows over time.
    #[getter]
    fn series(&self) -> Table {
        Table(self.results.series.clone())
    }
}
