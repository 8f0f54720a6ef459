//! The cellway command line, over `lab`. Called by the Rust binary and by the Python wheel, so that
//! both give the same command.

mod args;
mod check;
mod compare;
mod draw;
#[cfg(target_os = "linux")]
mod emulate;
mod export;
mod figures;
mod fit;
mod from_pcap;
mod help;
mod install;
mod interruption;
#[cfg(target_os = "linux")]
mod measure;
mod metrics;
mod output;
mod pages;
mod path;
mod predict;
mod progress;
mod reading;
mod record;
mod reproduce;
#[cfg(target_os = "linux")]
mod shell;
mod simulate;
mod store;
mod sweep;
mod table;
#[cfg(target_os = "linux")]
mod top;
mod workload;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Parser;
use clap::error::{ContextKind, ErrorKind};

use args::{Args, Command, PathCommand, WorkloadCommand};
use output::Verbosity;

/// Everything went well.
pub const DONE: u8 = 0;
/// The run failed.
pub const FAILED: u8 = 1;
/// The input is wrong.
pub const WRONG_INPUT: u8 = 2;
/// The user stopped it: 128 + SIGINT, as shells count.
pub const INTERRUPTED: u8 = 130;

/// Draws the report of a result folder, with the series of a seed; returns its path, or the reason why there is none.
pub type DrawReport<'a> = &'a mut dyn FnMut(&Path, Option<u64>) -> Result<PathBuf, String>;

/// The figure that is to be drawn.
pub struct DrawnFigure<'a> {
    /// A result folder.
    pub folder: &'a Path,
    /// The metric.
    pub metric: &'a str,
    /// The form of the figure, `sweep`, `time` or `cdf`, if it was given.
    pub form: Option<&'a str>,
    /// Subjects; empty for the default ones of the metric.
    pub at: &'a [String],
    /// The axis of the scale, if it was given.
    pub x: Option<&'a str>,
    /// The axis of the lines, if it was given.
    pub by: Option<&'a str>,
    /// Axes and the values at which they are fixed.
    pub chosen: &'a [(String, String)],
    /// The seed of a series; absent for the lowest.
    pub seed: Option<u64>,
    /// The title and the labels of both axes, where they are not those of the tables.
    pub words: [Option<&'a str>; 3],
    /// The width in inches, if it was given.
    pub width: Option<f64>,
    /// The file to write, whose ending is the format; absent for one in the folder.
    pub out: Option<&'a Path>,
}

/// The reason why a figure was not drawn.
pub enum NotDrawn {
    /// The results have no such figure.
    WrongInput(String),
    /// It cannot be written.
    Failed(String),
}

/// Draws a figure; returns its path.
pub type DrawFigure<'a> = &'a mut dyn FnMut(&DrawnFigure<'_>) -> Result<PathBuf, NotDrawn>;

/// Returns the rows of what can be drawn of a result folder: metric, form, unit and subjects.
pub type ListFigures<'a> = &'a mut dyn FnMut(&Path) -> Result<Vec<[String; 4]>, String>;

/// Opens a page with the browser of the desktop; returns false if there is none.
pub type OpenPage<'a> = &'a mut dyn FnMut(&Path) -> bool;

/// The data files of flent that are requested.
pub struct FlentFiles<'a> {
    /// A result folder.
    pub folder: &'a Path,
    /// The folder, or for one run the file, that is written.
    pub path: &'a Path,
    /// The run; absent for all.
    pub run: Option<u32>,
    /// The node at which flent would have run, if it was given.
    pub node: Option<&'a str>,
    /// True if existing files may be replaced.
    pub force: bool,
}

/// Writes data files of flent; returns their paths, or the reason why there are none.
pub type WriteFlent<'a> = &'a mut dyn FnMut(&FlentFiles<'_>) -> Result<Vec<PathBuf>, String>;

/// The copy of the lab that is requested.
pub struct LabPages<'a> {
    /// The text of a scenario for the address; absent for the lab as it begins.
    pub scenario: Option<&'a str>,
    /// The file of that text, for messages.
    pub name: Option<&'a Path>,
    /// A folder to copy the pages to; absent for those of the package themselves.
    pub out: Option<&'a Path>,
    /// True if an earlier copy may be replaced.
    pub force: bool,
}

/// Pages of the lab.
pub struct FoundLab {
    /// The address of the lab, with the scenario.
    pub address: String,
    /// A page that shows it: programs that open files drop the part of an address after `#`.
    pub page: PathBuf,
}

/// Finds or copies the pages of the lab.
pub type FindLab<'a> = &'a mut dyn FnMut(&LabPages<'_>) -> Result<FoundLab, NotDrawn>;

/// The sweep that a cluster is to work on.
pub struct OnCluster<'a> {
    /// The store, which has the plan.
    pub store: &'a Path,
    /// The scheduler: an address, or a kind of cluster and the number of its workers.
    pub scheduler: &'a str,
    /// True if the first run that fails ends the work.
    pub fail_fast: bool,
    /// True if runs that have failed before are run again.
    pub retry: bool,
}

/// Runs what a store does not have on a cluster; returns the reason why it could not.
pub type RunOnCluster<'a> = &'a mut dyn FnMut(&OnCluster<'_>) -> Result<(), String>;
/// The classes of a workload file that are drawn, and the file of the figure.
pub struct DrawnWorkload<'a> {
    /// The classes, as `workload show --json` prints them.
    pub classes: &'a str,
    /// The file to write, whose ending is the format.
    pub out: &'a Path,
}

/// Draws the distributions of a workload file; returns the path of the figure.
pub type DrawWorkload<'a> = &'a mut dyn FnMut(&DrawnWorkload<'_>) -> Result<PathBuf, NotDrawn>;

/// The functions that the caller provides to the command line.
pub struct Face<'a> {
    /// Draws reports; absent outside the Python package, which draws them.
    pub report: Option<DrawReport<'a>>,
    /// Draws figures; absent likewise.
    pub figure: Option<DrawFigure<'a>>,
    /// Draws distributions of workload files; absent likewise.
    pub workload: Option<DrawWorkload<'a>>,
    /// Lists what can be drawn; absent likewise.
    pub figures: Option<ListFigures<'a>>,
    /// Opens pages; absent likewise.
    pub open: Option<OpenPage<'a>>,
    /// Writes data files of flent; absent likewise.
    pub flent: Option<WriteFlent<'a>>,
    /// Finds the pages of the lab; absent likewise.
    pub lab: Option<FindLab<'a>>,
    /// Runs sweeps on clusters; absent likewise.
    pub cluster: Option<RunOnCluster<'a>>,
    /// Polled several times a second; true if the user has requested to stop.
    pub interrupted: Box<dyn FnMut() -> bool + 'a>,
}

impl Face<'_> {
    /// Creates the face of the program alone: no reports, no files of flent, and Ctrl-C ends the process, except where a
    /// command catches it. Incomplete results keep a name that no reader takes for a result.
    pub fn alone() -> Face<'static> {
        Face {
            report: None,
            figure: None,
            workload: None,
            figures: None,
            open: None,
            flent: None,
            lab: None,
            cluster: None,
            interrupted: Box::new(|| false),
        }
    }
}

/// Runs one command; `args` starts with the program's name. Returns the exit code.
pub fn main(args: impl IntoIterator<Item = OsString>, face: &mut Face<'_>) -> u8 {
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(mut refused) => {
            // The tip to pass an unknown option as a value is no help: hosts, files and papers do not begin with dashes.
            if refused.kind() == ErrorKind::UnknownArgument {
                refused.remove(ContextKind::Suggested);
            }
            // Help and version go to standard output and are no error.
            let code = if refused.use_stderr() { WRONG_INPUT } else { DONE };
            output::keep(refused.print());
            return written(code);
        }
    };
    output::set_verbosity(match (args.quiet, args.verbose) {
        (true, _) => Verbosity::Quiet,
        (false, true) => Verbosity::Verbose,
        (false, false) => Verbosity::Normal,
    });
    let (os, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    output::detail(&format!("cellway {} on {os} {processor}", cellway_lab::VERSION));
    let done: Result<(), Failure> = match args.command {
        Command::Simulate(options) => simulate::run(&options, face),
        Command::Sweep(options) => sweep::run(&options, face),
        #[cfg(target_os = "linux")]
        Command::Emulate(options) => emulate::run(&options, face),
        #[cfg(target_os = "linux")]
        Command::Shell(options) => shell::run(&options),
        #[cfg(not(target_os = "linux"))]
        Command::Emulate(_) | Command::Shell(_) => Err(Failure {
            message: "emulation needs Linux: network namespaces and TUN devices".to_owned(),
            code: FAILED,
        }),
        Command::Check(options) => check::run(&options),
        Command::Predict(options) => predict::run(&options),
        Command::Compare(options) => compare::run(&options, face),
        Command::Reproduce(options) => reproduce::run(&options, face),
        #[cfg(target_os = "linux")]
        Command::Measure(options) => measure::run(&options, face),
        Command::Report(options) => draw::report(&options, face),
        Command::Plot(options) => draw::plot(&options, face),
        Command::Export(options) => export::run(&options, face),
        Command::Lab(options) => pages::run(&options, face),
        Command::Metrics(options) => metrics::run(&options),
        Command::Schema => {
            output::line(cellway_lab::schema().trim_end());
            Ok(())
        }
        Command::Completions { shell } => install::completions(shell),
        Command::Man { folder } => install::man(&folder),
        Command::Workload(WorkloadCommand::Fit(options)) => fit::run(&options),
        Command::Workload(WorkloadCommand::FromPcap(options)) => from_pcap::run(&options, face),
        Command::Path(PathCommand::FromPcap(options)) => path::run(&options, face),
        Command::Workload(WorkloadCommand::Show(options)) => workload::show(&options, face),
        Command::Workload(WorkloadCommand::Compare(options)) => workload::compare(&options),
    };
    written(match done {
        Ok(()) => DONE,
        Err(failure) => {
            if !failure.message.is_empty() {
                output::complain(&failure.message);
            }
            failure.code
        }
    })
}

/// Flushes standard output; returns `code`, or the code of a failure if part of the output could not be written.
fn written(code: u8) -> u8 {
    match output::finish() {
        Err(error) => {
            output::complain(&format!("cannot write to standard output: {error}"));
            if code == DONE { FAILED } else { code }
        }
        Ok(()) => code,
    }
}

/// The reason why a command failed.
#[derive(Debug)]
struct Failure {
    /// Empty if everything has been printed: the exit code is that of a program.
    message: String,
    code: u8,
}

impl Failure {
    /// Returns the failure of a run, if any, after reporting that of its files; else that of its files. Both are
    /// printed: an invalid run matters no less where its report is missing.
    fn of_both(files: Result<(), Failure>, run: Result<(), Failure>) -> Result<(), Failure> {
        match (files, run) {
            (Err(files), Err(run)) => {
                output::complain(&files.message);
                Err(run)
            }
            (files, run) => files.and(run),
        }
    }
}

impl From<cellway_lab::Error> for Failure {
    fn from(error: cellway_lab::Error) -> Failure {
        let code = match &error {
            cellway_lab::Error::Stopped => INTERRUPTED,
            e if e.is_input() => WRONG_INPUT,
            _ => FAILED,
        };
        Failure { message: error.to_string(), code }
    }
}
