//! One scenario file in real time: all its points and seeds, one after the other.

mod live;
mod shell;
mod shell_line;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cellway_emu::{Control, Emulated, Snapshot};
use cellway_record::Source;
use cellway_scenario::Plan;
use cellway_tables::{Provenance, ResultsBuilder};

pub use cellway_emu::sys::Child;
use cellway_emu::sys::Reentry;
pub use cellway_emu::{
    ConversationView, Delays, Lateness, Lines, PortView, ProgramEnd, Snapshot as EmulationView, View,
};
pub use live::Live;
pub use shell::{Far, ShellOptions, ShellPath, ShellReport, shell};
pub use shell_line::ShellLine;

use crate::error::Error;
use crate::left_out::LeftOut;
use crate::simulate::{Simulated, Stopwatch, asked_for};
use crate::study::{Prepared, Progress, Settings};

/// Makes sure that namespaces and devices can be had. If that takes a user namespace, runs this very program there
/// and returns its exit status when it has ended: exit with it.
pub fn enter() -> Result<Option<u8>, Error> {
    match cellway_emu::sys::reenter().map_err(cellway_emu::Error::from)? {
        Reentry::Here => Ok(None),
        Reentry::Ended(status) => Ok(Some(status)),
    }
}

/// Returns true if [`enter`] would enter a user namespace, from which the network of this host cannot be reached.
pub fn is_isolated() -> bool {
    cellway_emu::sys::support() == cellway_emu::sys::Support::UserNamespace
}

/// Returns the reason why emulations cannot run on this host; `None` if they can.
pub fn missing() -> Option<String> {
    use cellway_emu::sys::{Support, SysError, support};
    match support() {
        Support::Direct | Support::UserNamespace => None,
        Support::Missing(obstacles) => Some(SysError::Unsupported(obstacles).to_string()),
    }
}

/// Returns true if emulations can run in this process; if not, but [`missing`] returns `None`, they can in a user
/// namespace, as that of [`enter`].
///
/// # Errors
///
/// All prerequisites that this host lacks.
pub fn possible_here() -> Result<bool, Error> {
    use cellway_emu::sys::{Support, SysError, support};
    match support() {
        Support::Direct => Ok(true),
        Support::UserNamespace => Ok(false),
        Support::Missing(obstacles) => Err(cellway_emu::Error::from(SysError::Unsupported(obstacles)).into()),
    }
}

/// Returns the reason why this process cannot emulate; `None` if it can.
pub(crate) fn missing_here() -> Option<String> {
    match possible_here() {
        Ok(true) => None,
        Ok(false) => Some(
            "this process may not make network namespaces; the commands of cellway get that right by themselves"
                .to_owned(),
        ),
        Err(error) => Some(error.to_string()),
    }
}

/// Writes each line that programs print to `out`, after the name of its program. A closed pipe does not stop the run.
pub fn lines_to(out: impl Write + Send + 'static) -> Lines {
    let out = Mutex::new(out);
    Lines::new(move |name, text| {
        // A single write for each line, so that lines of two programs do not mix.
        let line = [name.as_bytes(), b": ", text, b"\n"].concat();
        let _ = out.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line);
    })
}

/// A file with each line that programs print.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    to: Arc<Mutex<LogFile>>,
}

#[derive(Debug)]
struct LogFile {
    file: File,
    /// The first error; no line is written after it.
    error: Option<std::io::Error>,
}

impl Log {
    /// Creates the file.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(path: &Path) -> Result<Log, Error> {
        let file =
            File::create(path).map_err(|e| Error::Option(format!("cannot create the log {}: {e}", path.display())))?;
        Ok(Log { path: path.to_owned(), to: Arc::new(Mutex::new(LogFile { file, error: None })) })
    }

    /// Returns the writer of lines to it.
    pub fn lines(&self) -> Lines {
        let to = self.to.clone();
        lines_to(Written(to))
    }

    /// Ends the log.
    ///
    /// # Errors
    ///
    /// A line was not written.
    pub fn finish(self) -> Result<(), Error> {
        let error = self.to.lock().unwrap_or_else(PoisonError::into_inner).error.take();
        error.map_or(Ok(()), |source| Err(Error::Write { path: self.path, source }))
    }
}

/// Writes to a log until the first error.
struct Written(Arc<Mutex<LogFile>>);

impl Write for Written {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if log.error.is_none()
            && let Err(error) = log.file.write_all(octets)
        {
            log.error = Some(error);
        }
        Ok(octets.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The options of a caller besides the tables.
#[derive(Default)]
pub struct EmulateOptions<'a> {
    /// Replications, instead of those of the file.
    pub seeds: Option<u64>,
    /// The interval of snapshots of the running network, and their receiver.
    pub view: View<'a>,
    /// A node, and the file to capture in the first run.
    pub capture: Option<(&'a str, &'a Path)>,
    /// True if the file may be replaced.
    pub force: bool,
    /// Receives each line that the programs of the scenario print.
    pub lines: Option<Lines>,
}

/// The result of an emulation.
pub struct EmulatedStudy {
    /// Tables and warnings, with `source` "emulate".
    pub results: Simulated,
    /// True if the lateness of all runs was within the limit.
    pub valid: bool,
    /// True if a program of the scenario failed.
    pub failed: bool,
    /// Records of the capture.
    pub captured: Option<u64>,
}

/// Emulates a plan, run by run. The warnings report programs that failed, packets that were refused, and runs that were
/// late.
pub fn emulate(
    plan: &Plan,
    folder: &Path,
    options: EmulateOptions<'_>,
    settings: &mut Settings<'_>,
) -> Result<EmulatedStudy, Error> {
    let EmulateOptions { seeds, mut view, capture, force, lines } = options;
    let prepared = Prepared::to_emulate(plan, folder, seeds)?;
    let mut builder = ResultsBuilder::new(Source::Emulate);
    let clock = Stopwatch::start();
    let mut left_out = LeftOut::default();
    let (mut warnings, mut scheduling) = (Vec::new(), Vec::new());
    let (mut valid, mut failed, mut captured) = (true, false, None);
    let label = plan.base().name.clone();
    for index in 0..prepared.runs() {
        let total = prepared.runs();
        (settings.progress)(Progress { label: &label, done: index, total, study: [index, total] });
        let key = prepared.key(index);
        let capture = capture.filter(|_| index == 0);
        let (emulated, records) = run(&prepared, index, &mut view, capture, force, lines.as_ref(), settings)?;
        captured = captured.or(records);
        valid &= emulated.is_valid();
        failed |= emulated.programs.iter().any(|program| program.failed);
        let at = if prepared.runs() > 1 { format!("run {}: ", key.run) } else { String::new() };
        warnings.extend(warnings_of(&emulated).into_iter().map(|warning| format!("{at}{warning}")));
        left_out.add(&emulated.record);
        scheduling.push(emulated.treatment.to_string());
        builder.push(key, &emulated.record)?;
    }
    warnings.extend(left_out.warning());
    let total = prepared.runs();
    (settings.progress)(Progress { label: &label, done: total, total, study: [total; 2] });
    let results = tables(plan, &clock, prepared, builder, scheduling, warnings)?;
    Ok(EmulatedStudy { results, valid, failed, captured })
}

/// Returns the tables of the runs of a plan, with what is to be known about them.
fn tables(
    plan: &Plan,
    clock: &Stopwatch,
    prepared: Prepared,
    builder: ResultsBuilder,
    scheduling: Vec<String>,
    mut warnings: Vec<String>,
) -> Result<Simulated, Error> {
    let results = builder.finish()?;
    let (run, points) = (Some(&plan.base().run), prepared.points().len());
    let about = clock.provenance(&asked_for(plan), run, prepared.seeds(), points, Some(1));
    warnings.extend(prepared.warnings);
    Ok(Simulated { results, about: Provenance { scheduling, ..about }, warnings })
}

/// Runs once, and returns the number of captured records.
pub(crate) fn run(
    prepared: &Prepared,
    index: u64,
    view: &mut View<'_>,
    capture: Option<(&str, &Path)>,
    force: bool,
    lines: Option<&Lines>,
    settings: &mut Settings<'_>,
) -> Result<(Emulated, Option<u64>), Error> {
    let (point, workloads) = prepared.of_run(index);
    let seed = prepared.key(index).seed;
    let mut records = 0;
    let mut file = match capture {
        Some((_, path)) => Some(std::io::BufWriter::new(crate::simulate::create(path, force)?)),
        None => None,
    };
    let mut stop = || (settings.stop)();
    let every = view.as_ref().map(|(every, _)| *every);
    let mut show = |snapshot: &Snapshot| {
        if let Some((_, show)) = view {
            show(snapshot);
        }
    };
    let mut control = Control { stop: Some(&mut stop), lines: lines.cloned(), ..Control::default() };
    if let Some(every) = every {
        control.view = Some((every, &mut show));
    }
    if let (Some((node, _)), Some(file)) = (capture, &mut file) {
        control.capture = Some(cellway_emu::Capture::new(node, file, &mut records));
    }
    let emulated = cellway_emu::emulate(&point.scenario, workloads, seed, control);
    if let (Err(_), Some((_, path))) = (&emulated, capture) {
        // Best effort: the first error is the one to report.
        let _ = std::fs::remove_file(path);
    }
    match emulated {
        Err(cellway_emu::Error::Stopped { .. }) => Err(Error::Stopped),
        emulated => Ok((emulated?, capture.map(|_| records))),
    }
}

/// Returns the messages for the reader about a run.
pub(crate) fn warnings_of(emulated: &Emulated) -> Vec<String> {
    let mut warnings = emulated.notes.clone();
    if let Some(why) = emulated.invalid() {
        warnings.insert(0, format!("INVALID: {why}; the numbers are not those of the network"));
    }
    warnings
}
