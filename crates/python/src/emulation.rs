//! An emulation that runs while Python works in its hosts. `cellway.emulation` wraps it. Its locks are waited for without
//! the interpreter: a thread that ends the run or a program holds one for seconds.

use std::fs::{File, OpenOptions};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cellway_lab::emulate::{Child, Live, Log};
use pyo3::prelude::*;

use crate::error::raise;
use crate::interrupted;
use crate::results::Results;
use crate::source::{Changes, Source};

/// The time that a program has to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// A running emulation.
#[pyclass(frozen, module = "cellway._native")]
pub(crate) struct Emulation {
    live: Mutex<Live>,
    log: Mutex<Option<Log>>,
}

/// A program in a host of an emulation.
#[pyclass(frozen, module = "cellway._native")]
pub(crate) struct Program(Mutex<Child>);

#[pymethods]
impl Emulation {
    /// Starts the emulation; returns once its network runs.
    #[new]
    #[pyo3(signature = (source, set, log))]
    fn new(py: Python<'_>, source: Source, set: Changes, log: Option<PathBuf>) -> PyResult<Emulation> {
        let (plan, folder) = source.plan(set).map_err(raise)?;
        let mut raised = None;
        let started = py.detach(|| {
            let log = log.as_deref().map(Log::create).transpose()?;
            let lines = log.as_ref().map(Log::lines);
            let live = Live::start(plan, &folder, lines, &mut || interrupted(&mut raised))?;
            Ok(Emulation { live: Mutex::new(live), log: Mutex::new(log) })
        });
        match raised {
            Some(signal) => Err(signal),
            None => started.map_err(raise),
        }
    }

    /// Names and IPv4 addresses of the hosts and gateways.
    fn hosts(&self, py: Python<'_>) -> Vec<(String, String)> {
        py.detach(|| self.live().hosts().iter().map(|(name, address)| (name.clone(), address.to_string())).collect())
    }

    /// Names of the links.
    fn links(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.live().links().to_vec())
    }

    /// The reason for which the run is over; None while it is not.
    fn over(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| self.live().over().map(|error| error.to_string()))
    }

    /// Starts a program in a host. `files` are that of its input, which is empty without one, and those of its output
    /// and error output.
    fn spawn(
        &self,
        py: Python<'_>,
        host: &str,
        run: Vec<PathBuf>,
        environment: Vec<(String, String)>,
        files: (Option<PathBuf>, PathBuf, PathBuf),
    ) -> PyResult<Program> {
        let (input, output, errors) = files;
        let Some((program, arguments)) = run.split_first() else {
            return Err(pyo3::exceptions::PyValueError::new_err("there is no program to run"));
        };
        let append = |path: PathBuf| OpenOptions::new().append(true).open(path);
        let mut command = Command::new(program);
        command.args(arguments).envs(environment).stdout(append(output)?).stderr(append(errors)?);
        match input {
            Some(path) => command.stdin(File::open(path)?),
            None => command.stdin(Stdio::null()),
        };
        let started = py.detach(|| self.live().spawn(host, command)).map_err(raise)?;
        Ok(Program(Mutex::new(started)))
    }

    /// True if a process in a host listens on a port.
    fn is_listening(&self, py: Python<'_>, host: &str, port: u16) -> PyResult<bool> {
        py.detach(|| self.live().is_listening(host, port)).map_err(raise)
    }

    /// Changes the rate of a link, in one direction or both.
    #[pyo3(signature = (link, direction, rate))]
    fn set_rate(&self, py: Python<'_>, link: &str, direction: Option<&str>, rate: &str) -> PyResult<()> {
        py.detach(|| self.live().set_rate(link, direction, rate)).map_err(raise)
    }

    /// Changes the delay of a link, in one direction or both.
    #[pyo3(signature = (link, direction, delay))]
    fn set_delay(&self, py: Python<'_>, link: &str, direction: Option<&str>, delay: &str) -> PyResult<()> {
        py.detach(|| self.live().set_delay(link, direction, delay)).map_err(raise)
    }

    /// Changes the loss of a link, in one direction or both.
    #[pyo3(signature = (link, direction, loss))]
    fn set_loss(&self, py: Python<'_>, link: &str, direction: Option<&str>, loss: &str) -> PyResult<()> {
        py.detach(|| self.live().set_loss(link, direction, loss)).map_err(raise)
    }

    /// Ends the run, and returns its results.
    fn end(&self, py: Python<'_>) -> PyResult<Results> {
        let ended = py.detach(|| {
            let emulated = self.live().end();
            let log = self.log.lock().unwrap_or_else(PoisonError::into_inner).take();
            log.map_or(Ok(()), Log::finish)?;
            emulated
        });
        let emulated = ended.map_err(raise)?.results;
        let manifest = emulated.manifest();
        Ok(Results::new(emulated.results, manifest.to_json(), emulated.warnings))
    }
}

impl Emulation {
    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Program {
    /// Its process number.
    fn id(&self, py: Python<'_>) -> u32 {
        py.detach(|| self.child().id())
    }

    /// Its exit status, if it has ended: minus the number of the signal that ended it, if one did.
    fn poll(&self, py: Python<'_>) -> PyResult<Option<i32>> {
        Ok(py.detach(|| self.child().try_wait())?.map(code))
    }

    /// Ends it and its children, and returns its exit status.
    fn end(&self, py: Python<'_>) -> PyResult<i32> {
        Ok(py.detach(|| self.child().end(GRACE)).map(code)?)
    }
}

impl Program {
    fn child(&self) -> MutexGuard<'_, Child> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As Python's `subprocess` counts.
fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| -signal)).unwrap_or(1)
}
