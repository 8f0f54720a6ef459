//! Python bindings: `lab` and the command line as `cellway._native`.
//!
//! This crate makes no decisions. Runs release the interpreter and poll it for signals several times a second, so that
//! Ctrl-C stops them; tables are exported as Arrow, without a copy.

mod controller;
#[cfg(target_os = "linux")]
mod emulation;
mod error;
mod results;
mod source;
mod sweep;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cellway_cli::{DrawnFigure, DrawnWorkload, Face, FlentFiles, FoundLab, LabPages, NotDrawn, OnCluster};
use cellway_lab::compare::{CompareOptions, Published};
use cellway_lab::reproduce::{Live, Paper, ReproduceOptions};
use cellway_lab::{Own, Progress, Settings, Span, Store};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyValueError};
use pyo3::prelude::*;

use controller::Ack;
use error::{EmulationError, Error, raise};
use results::Results;
use source::{Changes, Source};

/// The extension module `cellway._native`.
#[pymodule]
mod _native {
    use super::PyModuleMethods;

    #[pymodule_export]
    use super::{
        Ack, EmulationError, Error, Results, check, cli_main, compare, confidence_interval, emulate, emulates_here,
        equations, evaluate, metrics, picoseconds, predict, predict_path, reproduce, schema, signs_of_use, simulate,
        time_text,
    };

    #[pymodule_export]
    use super::sweep::Sweep;

    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::emulation::{Emulation, Program};

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        module.add("ScenarioError", super::error::scenario_error(module.py())?)?;
        module.add("MissingFileError", super::error::missing_file_error(module.py())?)?;
        module.add("result_version", cellway_lab::RESULT_VERSION)?;
        module.add("version", cellway_lab::VERSION)
    }
}

/// Returns true if the interpreter has a pending signal, with the exception that it raises.
fn interrupted(raised: &mut Option<PyErr>) -> bool {
    if raised.is_none() {
        *raised = Python::attach(|py| py.check_signals().err());
    }
    raised.is_some()
}

/// Runs `work` without the interpreter, with its signals and its progress callback.
fn run<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&mut Settings<'_>) -> Result<T, cellway_lab::Error> + Send,
) -> PyResult<T> {
    run_with(py, threads, progress, None, work)
}

/// As [`run`], with the store of finished runs in a folder.
fn run_with<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
    cache: Option<PathBuf>,
    work: impl FnOnce(&mut Settings<'_>) -> Result<T, cellway_lab::Error> + Send,
) -> PyResult<T> {
    let store = cache.map(|folder| Store::open(&folder)).transpose();
    let store = store.map_err(|error| raise(error.into()))?;
    let store = store.as_ref();
    let mut raised = None;
    let done = py.detach(|| {
        // A callback that raises stops the run, as a signal does.
        let failed = RefCell::new(None);
        let mut tell = |p: Progress<'_>| {
            let well = failed.borrow().is_none();
            if let (Some(progress), true) = (&progress, well) {
                let told = Python::attach(|py| progress.call1(py, (p.done, p.total)));
                *failed.borrow_mut() = told.err();
            }
        };
        let mut stop = || failed.borrow().is_some() || interrupted(&mut raised);
        let outcome = work(&mut Settings { threads, progress: &mut tell, stop: &mut stop, store });
        (outcome, failed.into_inner())
    });
    match (raised, done) {
        (Some(signal), _) => Err(signal),
        (None, (_, Some(failed))) => Err(failed),
        (None, (outcome, None)) => outcome.map_err(raise),
    }
}

/// Simulates every point of a scenario with every seed. `controllers` has a factory of congestion controllers for each
/// traffic group that has its own.
#[pyfunction]
#[pyo3(signature = (source, set, seeds, threads, controllers, out, force, cache, progress))]
#[allow(clippy::too_many_arguments, reason = "the Python side calls it by one wrapper only")]
fn simulate(
    py: Python<'_>,
    source: Source,
    set: Changes,
    seeds: Option<u64>,
    threads: Option<usize>,
    controllers: Vec<(String, Py<PyAny>)>,
    out: Option<PathBuf>,
    force: bool,
    cache: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Results> {
    let (plan, folder) = source.plan(set).map_err(raise)?;
    if let Some(out) = &out {
        cellway_lab::check_target(out, force).map_err(cellway_lab::Error::from).map_err(raise)?;
    }
    let own = Own { controllers: controller::controllers(controllers), ..Own::default() };
    run_with(py, threads, progress, cache, |settings| {
        let simulated = cellway_lab::simulate_with(&plan, &folder, seeds, &own, settings)?;
        let manifest = match &out {
            Some(out) => simulated.write(out, force)?,
            None => simulated.manifest(),
        };
        Ok(Results::new(simulated.results, manifest.to_json(), simulated.warnings))
    })
}

/// Returns true if this process can emulate itself; if not, a child in a user namespace can. Raises if neither can.
#[pyfunction]
fn emulates_here(py: Python<'_>) -> PyResult<bool> {
    #[cfg(target_os = "linux")]
    return py.detach(cellway_lab::emulate::possible_here).map_err(raise);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = py;
        Err(not_linux())
    }
}

#[cfg(not(target_os = "linux"))]
fn not_linux() -> PyErr {
    EmulationError::new_err("emulation needs Linux: network namespaces and TUN devices")
}

/// Emulates every point of a scenario with every seed, one after the other.
#[pyfunction]
#[pyo3(signature = (source, set, seeds, out, force, log, progress))]
#[allow(clippy::too_many_arguments, reason = "the Python side calls it by one wrapper only")]
fn emulate(
    py: Python<'_>,
    source: Source,
    set: Changes,
    seeds: Option<u64>,
    out: Option<PathBuf>,
    force: bool,
    log: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Results> {
    let (plan, folder) = source.plan(set).map_err(raise)?;
    if let Some(out) = &out {
        cellway_lab::check_target(out, force).map_err(cellway_lab::Error::from).map_err(raise)?;
    }
    #[cfg(target_os = "linux")]
    return run(py, Some(1), progress, |settings| {
        use cellway_lab::emulate::{EmulateOptions, Log, emulate};
        let log = log.as_deref().map(Log::create).transpose()?;
        let lines = log.as_ref().map(Log::lines);
        let options = EmulateOptions { seeds, lines, ..EmulateOptions::default() };
        let emulated = emulate(&plan, &folder, options, settings)?.results;
        if let Some(log) = log {
            log.finish()?;
        }
        let manifest = match &out {
            Some(out) => emulated.write(out, force)?,
            None => emulated.manifest(),
        };
        Ok(Results::new(emulated.results, manifest.to_json(), emulated.warnings))
    });
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (py, plan, folder, seeds, log, progress);
        Err(not_linux())
    }
}

/// Predicts, simulates and, unless `no_emulate`, emulates a scenario; returns the tables and the rows as JSON.
#[pyfunction]
#[pyo3(signature = (source, set, seeds, repeat, no_emulate, published, threads, out, force, cache, progress))]
#[allow(clippy::too_many_arguments, reason = "the Python side calls it by one wrapper only")]
fn compare(
    py: Python<'_>,
    source: Source,
    set: Changes,
    seeds: Option<u64>,
    repeat: Option<u64>,
    no_emulate: bool,
    published: Option<PathBuf>,
    threads: Option<usize>,
    out: Option<PathBuf>,
    force: bool,
    cache: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Results, String)> {
    let (plan, folder) = source.plan(set).map_err(raise)?;
    if let Some(out) = &out {
        cellway_lab::check_target(out, force).map_err(cellway_lab::Error::from).map_err(raise)?;
    }
    let published = published.as_deref().map(Published::read).transpose().map_err(raise)?;
    run_with(py, threads, progress, cache, |settings| {
        let published = published.as_ref();
        let options = CompareOptions { seeds, repeats: repeat, no_emulation: no_emulate, published };
        let compared = cellway_lab::compare::compare(&plan, &folder, &options, settings)?;
        let manifest = match &out {
            Some(out) => compared.write(out, force)?,
            None => compared.tables.manifest(),
        };
        let rows = compared.to_json().to_string();
        Ok((Results::new(compared.tables.results, manifest.to_json(), compared.tables.warnings), rows))
    })
}

/// Returns the ends of the confidence interval for the mean of a sample of `metric`, within the bounds that the metric
/// has; `None` for fewer than two values.
#[pyfunction]
fn confidence_interval(sample: Vec<f64>, level: f64, metric: Option<&str>) -> Option<(f64, f64)> {
    cellway_lab::confidence_interval(&sample, level, metric)
}

/// Returns a time with a unit in picoseconds, and the error of a text that is none.
#[pyfunction]
fn picoseconds(text: &str) -> PyResult<u64> {
    let span: Result<Span, _> = text.parse();
    span.map(Span::as_ps).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Returns picoseconds as a time with a unit.
#[pyfunction]
fn time_text(picoseconds: u64) -> String {
    Span::from_ps(picoseconds).to_string()
}

/// Returns the least utilisation of a line that is not idle, and the metrics that show its use otherwise.
#[pyfunction]
fn signs_of_use() -> (f64, Vec<&'static str>) {
    let (busy, events) = cellway_lab::signs_of_use();
    (busy, events.collect())
}

/// Checks a scenario; returns a description of its runs, as JSON.
#[pyfunction]
fn check(source: Source, set: Changes) -> PyResult<String> {
    let (plan, folder) = source.plan(set).map_err(raise)?;
    let checked = cellway_lab::check(&plan, &folder).map_err(raise)?;
    Ok(plan.description(checked.points, &checked.warnings).to_string())
}

/// Predicts the traffic groups of a scenario, as JSON.
#[pyfunction]
fn predict(source: Source, set: Changes) -> PyResult<String> {
    let (plan, folder) = source.plan(set).map_err(raise)?;
    let points = cellway_lab::predict::scenario(&plan, &folder).map_err(raise)?;
    Ok(cellway_lab::predict::scenario_json(&plan.base().name, &points).to_string())
}

/// Predicts a path, whose numbers are strings with units; as JSON.
#[pyfunction]
fn predict_path(path: BTreeMap<String, String>) -> PyResult<String> {
    let prediction = cellway_lab::predict::path(&path).map_err(raise)?;
    Ok(cellway_lab::predict::path_json(&prediction).to_string())
}

/// Evaluates one equation, whose arguments are strings with units; as JSON.
#[pyfunction]
fn evaluate(equation: &str, arguments: BTreeMap<String, String>) -> PyResult<String> {
    let predicted = cellway_lab::predict::evaluate(equation, &arguments).map_err(raise)?;
    Ok(cellway_lab::predict::predicted_json(&predicted).to_string())
}

/// Returns all equations, as JSON.
#[pyfunction]
fn equations() -> String {
    cellway_lab::predict::equations_json().to_string()
}

/// Returns all metrics of the tables, as JSON.
#[pyfunction]
fn metrics() -> PyResult<String> {
    let all = cellway_lab::metrics::metrics(None).map_err(raise)?;
    Ok(cellway_lab::metrics::metrics_json(&all).to_string())
}

/// Runs the studies of papers, all papers if none is named, and judges their claims; returns the rows as JSON. `only`
/// are the names of the requested claims, all if empty. `emulate` selects whether emulated studies run; if None they do
/// unless it is a quick run.
#[pyfunction]
#[pyo3(signature = (papers, only, quick, emulate, out, force, threads, cache, progress))]
#[allow(clippy::too_many_arguments, reason = "the Python side calls it by one wrapper only")]
fn reproduce(
    py: Python<'_>,
    papers: Vec<String>,
    only: Vec<String>,
    quick: bool,
    emulate: Option<bool>,
    out: Option<PathBuf>,
    force: bool,
    threads: Option<usize>,
    cache: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let papers = Paper::find_all(&papers).map_err(raise)?;
    run_with(py, threads, progress, cache, |settings| {
        let live = match emulate {
            None => Live::Unless,
            Some(true) => Live::Always,
            Some(false) => Live::Never,
        };
        let options = ReproduceOptions { only: &only, quick, live, out: out.as_deref(), force };
        Ok(cellway_lab::reproduce::reproduce(&papers, &options, settings)?.claims_json())
    })
}

/// Returns the JSON schema of scenario files.
#[pyfunction]
fn schema() -> String {
    cellway_lab::schema()
}

/// Returns the text of an error. That of the package's own error, or of the system, needs no name of a class before it.
fn message(py: Python<'_>, error: &PyErr) -> String {
    match error.is_instance_of::<Error>(py) || error.is_instance_of::<PyOSError>(py) {
        true => error.value(py).to_string(),
        false => error.to_string(),
    }
}

/// Returns true if a figure was not drawn for a reason outside of the results: the system refused it, or the user
/// stopped it.
fn is_failure(py: Python<'_>, error: &PyErr) -> bool {
    // A file of the results that is missing is an error of the package, too.
    let of_system = error.is_instance_of::<PyOSError>(py) && !error.is_instance_of::<Error>(py);
    error.is_instance_of::<PyKeyboardInterrupt>(py) || of_system
}

/// Runs the command line. `face` has the functions that are written in Python, as attributes: `report` draws the report
/// of a folder, `figure` one figure from the fields of `DrawnFigure`, `workload` the distributions of a workload file from
/// those of `DrawnWorkload`, and each returns its path; `figures` lists what can be drawn; `open` opens a page; `flent` writes data files of flent, from the fields of `FlentFiles`, and returns their
/// paths; `lab` finds the pages of the lab, from the fields of `LabPages`, and returns their address and a page to open.
#[pyfunction]
fn cli_main(py: Python<'_>, argv: Vec<std::ffi::OsString>, face: Py<PyAny>) -> PyResult<u8> {
    let (code, raised) = py.detach(|| {
        let raised = RefCell::new(None);
        // The exception of a function of the face, in words; Ctrl-C is raised again at the end.
        let in_words = |py: Python<'_>, error: PyErr| match error.is_instance_of::<PyKeyboardInterrupt>(py) {
            true => {
                *raised.borrow_mut() = Some(error);
                "stopped".to_owned()
            }
            false => message(py, &error),
        };
        let mut draw = |folder: &Path, seed: Option<u64>| {
            Python::attach(|py| {
                let drawn =
                    face.call_method1(py, "report", (folder, seed)).and_then(|path| path.extract::<PathBuf>(py));
                drawn.map_err(|e| in_words(py, e))
            })
        };
        let mut figure = |of: &DrawnFigure<'_>| {
            let given =
                (of.folder, of.metric, of.form, of.at, of.x, of.by, of.chosen, of.seed, of.words, of.width, of.out);
            Python::attach(|py| {
                let drawn = face.call_method1(py, "figure", given).and_then(|path| path.extract::<PathBuf>(py));
                drawn.map_err(|e| match is_failure(py, &e) {
                    true => NotDrawn::Failed(in_words(py, e)),
                    false => NotDrawn::WrongInput(in_words(py, e)),
                })
            })
        };
        let mut workload = |of: &DrawnWorkload<'_>| {
            Python::attach(|py| {
                let drawn = face.call_method1(py, "workload", (of.classes, of.out));
                drawn.and_then(|path| path.extract::<PathBuf>(py)).map_err(|e| match is_failure(py, &e) {
                    true => NotDrawn::Failed(in_words(py, e)),
                    false => NotDrawn::WrongInput(in_words(py, e)),
                })
            })
        };
        let mut list = |folder: &Path| {
            Python::attach(|py| {
                let rows = face.call_method1(py, "figures", (folder,));
                let rows = rows.and_then(|rows| rows.extract::<Vec<[String; 4]>>(py));
                rows.map_err(|e| in_words(py, e))
            })
        };
        let mut open = |page: &Path| {
            Python::attach(|py| {
                let opened = face.call_method1(py, "open", (page,)).and_then(|opened| opened.extract::<bool>(py));
                opened.unwrap_or(false)
            })
        };
        let mut write = |files: &FlentFiles<'_>| {
            let given = (files.folder, files.path, files.run, files.node, files.force);
            Python::attach(|py| {
                let written = face.call_method1(py, "flent", given).and_then(|paths| paths.extract::<Vec<PathBuf>>(py));
                written.map_err(|e| in_words(py, e))
            })
        };
        let mut lab = |of: &LabPages<'_>| {
            Python::attach(|py| {
                let found = face.call_method1(py, "lab", (of.scenario, of.name, of.out, of.force));
                let found = found.and_then(|found| found.extract::<(String, PathBuf)>(py));
                found.map(|(address, page)| FoundLab { address, page }).map_err(|e| match is_failure(py, &e) {
                    true => NotDrawn::Failed(in_words(py, e)),
                    false => NotDrawn::WrongInput(in_words(py, e)),
                })
            })
        };
        let mut cluster = |of: &OnCluster<'_>| {
            Python::attach(|py| {
                let done = face.call_method1(py, "cluster", (of.store, of.scheduler, of.fail_fast, of.retry));
                done.map(drop).map_err(|e| in_words(py, e))
            })
        };
        let stop = Box::new(|| interrupted(&mut raised.borrow_mut()));
        let mut face = Face {
            report: Some(&mut draw),
            figure: Some(&mut figure),
            workload: Some(&mut workload),
            figures: Some(&mut list),
            open: Some(&mut open),
            flent: Some(&mut write),
            lab: Some(&mut lab),
            cluster: Some(&mut cluster),
            interrupted: stop,
        };
        let args = std::iter::once("cellway".into()).chain(argv);
        let code = cellway_cli::main(args, &mut face);
        drop(face);
        (code, raised.into_inner())
    });
    raised.map_or(Ok(code), Err)
}
