//! The errors of this crate, sorted by their cause.

use std::path::PathBuf;

/// The reasons for which nothing, or not everything, was done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] cellway_scenario::Error),
    /// An input file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A file besides the results cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A traffic table is wrong.
    #[error(transparent)]
    Table(#[from] cellway_apps::TableError),
    /// No model of the wanted accuracy could be fitted.
    #[error("{path}: {message}")]
    Fit {
        /// The table.
        path: PathBuf,
        /// The reason.
        message: String,
    },
    /// A capture, or a file of rules for it, cannot be used.
    #[error(transparent)]
    Captured(cellway_capture::Error),
    /// An option makes no sense.
    #[error("{0}")]
    Option(String),
    /// There is no such paper.
    #[error("no paper is called {name:?}; accepted: {known}, or the path of a folder with study.toml")]
    NoSuchPaper {
        /// The requested name.
        name: String,
        /// The existing names.
        known: String,
    },
    /// A folder of experiments cannot be used.
    #[error("{}: {message}", path.display())]
    Experiments {
        /// The file.
        path: std::path::PathBuf,
        /// The fault.
        message: String,
    },
    /// Theory has no answer.
    #[error(transparent)]
    Theory(#[from] cellway_theory::Error),
    /// A scenario that was found right cannot be run.
    #[error(transparent)]
    Run(#[from] cellway_sim::Error),
    /// An emulation cannot be done.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Emulation(cellway_emu::Error),
    /// A program at the far end of a path has failed.
    #[error("--serve {command:?} {why}: {said}")]
    Serve {
        /// The shell command.
        command: String,
        /// A description of the failure.
        why: String,
        /// The last line that it printed.
        said: String,
    },
    /// The measurement failed.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Measure(cellway_measure::Error),
    /// Results cannot be written or read.
    #[error(transparent)]
    Results(#[from] cellway_tables::Error),
    /// The store of runs cannot be read or written.
    #[error(transparent)]
    Store(#[from] cellway_store::Error),
    /// A sweep has runs that have not ended.
    #[error("{}: {missing} of {total} runs are missing; accepted: a sweep whose runs have all ended. `cellway sweep run {}` runs them, --partial merges the others", store.display(), store.display())]
    Incomplete {
        /// The store.
        store: PathBuf,
        /// Missing runs.
        missing: u64,
        /// All runs of the plan.
        total: u64,
    },
    /// A run of a sweep has failed.
    #[error("run {run}, seed {seed}: {message}")]
    RunFailed {
        /// Its number.
        run: u64,
        /// Its seed.
        seed: u64,
        /// The error.
        message: String,
    },
    /// A running emulation was asked for something after its end.
    #[error("the emulation is over: {0}")]
    Over(String),
    /// The user stopped it.
    #[error("stopped; nothing was written")]
    Stopped,
}

impl From<cellway_capture::Error> for Error {
    fn from(error: cellway_capture::Error) -> Error {
        if matches!(error, cellway_capture::Error::Stopped) { Error::Stopped } else { Error::Captured(error) }
    }
}

#[cfg(target_os = "linux")]
impl From<cellway_measure::Error> for Error {
    fn from(error: cellway_measure::Error) -> Error {
        if matches!(error, cellway_measure::Error::Stopped) { Error::Stopped } else { Error::Measure(error) }
    }
}

#[cfg(target_os = "linux")]
impl From<cellway_emu::Error> for Error {
    fn from(error: cellway_emu::Error) -> Error {
        match error {
            cellway_emu::Error::Stopped { .. } => Error::Stopped,
            error => Error::Emulation(error),
        }
    }
}

impl Error {
    /// Returns true if the fault is in the scenario, or in a table that it names.
    pub fn is_scenario(&self) -> bool {
        use cellway_sim::{BuildError, Error as S};
        let in_run = |e: &S| {
            matches!(e, S::NoTraffic)
                || matches!(e, S::Build(e) if !matches!(e, BuildError::Gateway { .. } | BuildError::NoSuchNode { .. } | BuildError::Capture(_)))
        };
        matches!(self, Error::Scenario(_) | Error::Table(_)) || matches!(self, Error::Run(e) if in_run(e))
    }

    /// Returns true if a capture could not be written.
    pub fn is_capture(&self) -> bool {
        use cellway_sim::{BuildError, Error as S};
        #[cfg(target_os = "linux")]
        if let Error::Emulation(cellway_emu::Error::Build(BuildError::Capture(_))) = self {
            return true;
        }
        matches!(self, Error::Run(S::Build(BuildError::Capture(_))))
    }

    /// Returns true if an emulation could not run, or was aborted.
    pub fn is_emulation(&self) -> bool {
        #[cfg(target_os = "linux")]
        if let Error::Emulation(_) = self {
            return !self.is_input();
        }
        matches!(self, Error::Over(_))
    }

    /// Returns why a program could not be executed: `NotFound` if it does not exist, else another kind; `None` for
    /// other errors.
    pub fn not_executed(&self) -> Option<std::io::ErrorKind> {
        #[cfg(target_os = "linux")]
        if let Error::Emulation(cellway_emu::Error::NotStarted { source, .. }) = self
            && let cellway_emu::sys::SysError::Program { source, .. } = source
        {
            return Some(source.kind());
        }
        None
    }

    /// Returns true if the fault is in the input (exit code 2) rather than in the run (exit code 1).
    pub fn is_input(&self) -> bool {
        use cellway_sim::{BuildError, Error as S};
        use cellway_tables::Error as T;
        match self {
            Error::Scenario(_)
            | Error::Read { .. }
            | Error::Table(_)
            | Error::Captured(_)
            | Error::Option(_)
            | Error::Incomplete { .. }
            | Error::Theory(_)
            | Error::NoSuchPaper { .. }
            | Error::Experiments { .. } => true,
            Error::Run(e) => !matches!(
                e,
                S::Build(BuildError::Capture(_))
                    | S::Stopped { .. }
                    | S::Stack { .. }
                    | S::NoEnds { .. }
                    | S::ControllerFailed { .. }
                    | S::QlogNotWritten(_)
            ),
            #[cfg(target_os = "linux")]
            Error::Measure(e) => e.is_input(),
            Error::Results(e) => {
                matches!(e, T::Exists { .. } | T::NotReplaceable { .. } | T::BadName { .. } | T::NoManifest { .. })
            }
            #[cfg(target_os = "linux")]
            Error::Emulation(e) => {
                use cellway_emu::Error as E;
                matches!(e, E::Build(build) if !matches!(build, BuildError::Capture(_)))
                    || matches!(
                        e,
                        E::TooManyHosts { .. } | E::NoBlock { .. } | E::NoSuchHost { .. } | E::NoSuchLink { .. }
                    )
            }
            Error::Store(e) => {
                use cellway_store::Error as S;
                matches!(e, S::NoStore { .. } | S::Format { .. })
            }
            Error::Fit { .. }
            | Error::Write { .. }
            | Error::Serve { .. }
            | Error::Over(_)
            | Error::RunFailed { .. }
            | Error::Stopped => false,
        }
    }
}
