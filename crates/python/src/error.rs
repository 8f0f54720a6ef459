//! One Python exception for each kind of failure.

use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

create_exception!(cellway, Error, PyException, "Anything that Cellway refuses or that fails while it runs.");

create_exception!(
    cellway,
    EmulationError,
    Error,
    "An emulation that this machine cannot run, or that was aborted: the message has the reason."
);

/// Made at import, because it has two bases.
static SCENARIO_ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Returns `cellway.ScenarioError`: an [`Error`] that is also a `ValueError`.
pub(crate) fn scenario_error(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    let made = SCENARIO_ERROR.get_or_try_init(py, || {
        let bases = (py.get_type::<Error>(), py.get_type::<PyValueError>());
        let doc = "A scenario that does not make sense: the message names file, line, key and what is accepted.";
        let namespace = pyo3::types::PyDict::new(py);
        namespace.set_item("__doc__", doc)?;
        namespace.set_item("__module__", "cellway")?;
        let made = py.get_type::<PyType>().call1(("ScenarioError", bases, namespace))?;
        Ok::<_, PyErr>(made.cast_into::<PyType>()?.unbind())
    })?;
    Ok(made.bind(py))
}

/// Returns the exception for a failure: `ScenarioError` for a wrong scenario, `EmulationError` for an emulation that
/// cannot run, `Error` for everything else.
pub(crate) fn raise(error: cellway_lab::Error) -> PyErr {
    let message = error.to_string();
    // Ctrl-C during an emulation does not come to the interpreter.
    if matches!(error, cellway_lab::Error::Stopped) {
        return PyKeyboardInterrupt::new_err(message);
    }
    if error.is_emulation() {
        return EmulationError::new_err(message);
    }
    if !error.is_scenario() {
        return Error::new_err(message);
    }
    Python::attach(|py| match scenario_error(py) {
        Ok(class) => PyErr::from_type(class.clone(), message),
        Err(failed) => failed,
    })
}
