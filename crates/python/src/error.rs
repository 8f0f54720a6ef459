//! One Python exception for each kind of failure.

use std::error::Error as _;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyFileNotFoundError, PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use pyo3::{PyErr, PyTypeInfo};

create_exception!(cellway, Error, PyException, "Anything that Cellway refuses or that fails while it runs.");

create_exception!(
    cellway,
    EmulationError,
    Error,
    "An emulation that this machine cannot run, or that was aborted: the message has the reason."
);

/// Made at import, because it has two bases.
static SCENARIO_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Likewise.
static MISSING_FILE_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Returns `cellway.ScenarioError`: an [`Error`] that is also a `ValueError`.
pub(crate) fn scenario_error(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    let doc = "A scenario that does not make sense: the message names file, line, key and what is accepted.";
    let made = SCENARIO_ERROR.get_or_try_init(py, || derived::<PyValueError>(py, "ScenarioError", doc))?;
    Ok(made.bind(py))
}

/// Returns `cellway.MissingFileError`: an [`Error`] that is also a `FileNotFoundError`.
pub(crate) fn missing_file_error(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    let doc = "A file or folder that does not exist: the message names it.";
    let made =
        MISSING_FILE_ERROR.get_or_try_init(py, || derived::<PyFileNotFoundError>(py, "MissingFileError", doc))?;
    Ok(made.bind(py))
}

/// Makes an exception that is an [`Error`] and one of Python's own.
fn derived<B: PyTypeInfo>(py: Python<'_>, name: &str, doc: &str) -> PyResult<Py<PyType>> {
    let bases = (py.get_type::<Error>(), py.get_type::<B>());
    let namespace = pyo3::types::PyDict::new(py);
    namespace.set_item("__doc__", doc)?;
    namespace.set_item("__module__", "cellway")?;
    let made = py.get_type::<PyType>().call1((name, bases, namespace))?;
    Ok(made.cast_into::<PyType>()?.unbind())
}

/// Returns true if a file did not exist.
fn is_missing_file(error: &cellway_lab::Error) -> bool {
    let mut cause = error.source();
    while let Some(found) = cause {
        if found.downcast_ref::<std::io::Error>().is_some_and(|io| io.kind() == std::io::ErrorKind::NotFound) {
            return true;
        }
        cause = found.source();
    }
    false
}

/// Returns the exception for a failure: `ScenarioError` for a wrong scenario, `EmulationError` for an emulation that
/// cannot run, `MissingFileError` for a file that does not exist, `Error` for everything else.
pub(crate) fn raise(error: cellway_lab::Error) -> PyErr {
    let message = error.to_string();
    // Ctrl-C during an emulation does not come to the interpreter.
    if matches!(error, cellway_lab::Error::Stopped) {
        return PyKeyboardInterrupt::new_err(message);
    }
    if error.is_emulation() {
        return EmulationError::new_err(message);
    }
    let class = match (error.is_scenario(), is_missing_file(&error)) {
        (true, _) => scenario_error,
        (false, true) => missing_file_error,
        (false, false) => return Error::new_err(message),
    };
    Python::attach(|py| match class(py) {
        Ok(class) => PyErr::from_type(class.clone(), message),
        Err(failed) => failed,
    })
}
