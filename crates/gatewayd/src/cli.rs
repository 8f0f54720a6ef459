//! The command line.

mod args;
mod check;
mod credentials;
mod drain;
mod findings;
pub(crate) mod keygen;
mod manual;
mod output;
mod rules;
mod run;
mod status;
mod upgrade;

use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::config::{self, Config};
use crate::error::Error;
use args::{Args, Command};

/// The command has succeeded.
const DONE: u8 = 0;
/// The command has failed.
const FAILED: u8 = 1;
/// The input is wrong: arguments, a configuration, keys.
const WRONG_INPUT: u8 = 2;

/// The reason for which a command failed, and its exit code.
#[derive(Debug)]
struct Failure {
    /// Empty if the problems were printed already.
    message: String,
    code: u8,
}

impl Failure {
    fn failed(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), code: FAILED }
    }
    fn input(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), code: WRONG_INPUT }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::failed(error.to_string())
    }
}

/// Runs the program.
pub fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(refused) => {
            // Help and version go to standard output and are no error.
            let code = if refused.use_stderr() { WRONG_INPUT } else { DONE };
            output::printed(refused.print());
            return written(code);
        }
    };
    let done = match args.command {
        Command::Run(options) => run::run(&options),
        Command::Check(options) => check::run(&options),
        Command::Keygen(options) => keygen::run(&options),
        Command::Rules { command } => rules::run(&command),
        Command::Status(options) => status::run(&options),
        Command::Drain(options) => drain::run(&options),
        Command::Upgrade(options) => upgrade::run(&options),
        Command::HandoverVersion => {
            output::line(&crate::control::versions());
            Ok(())
        }
        Command::Schema => {
            output::text(&config::schema());
            Ok(())
        }
        Command::Completions { shell } => {
            output::text(&completions(shell));
            Ok(())
        }
        Command::Manual(options) => manual::run(&options),
        Command::Reference => {
            output::text(&config::reference());
            Ok(())
        }
    };
    written(match done {
        Ok(()) => DONE,
        Err(failure) => {
            if !failure.message.is_empty() {
                output::error(&failure.message);
            }
            failure.code
        }
    })
}

/// Returns the completion script for a shell.
fn completions(shell: clap_complete::Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "cellway-gateway", &mut script);
    // For bash, clap_complete 4.6.11 gives the commands of a program with a hyphen two names, so that none is completed
    // behind the first.
    String::from_utf8_lossy(&script).replace("cellway__subcmd__gateway", "cellway__gateway")
}

/// Flushes standard output; returns `code`, or the code of a failure if part of the output could not be written.
fn written(code: u8) -> ExitCode {
    ExitCode::from(match output::finish() {
        Err(error) => {
            output::error(&format!("cannot write to standard output: {error}"));
            if code == DONE { FAILED } else { code }
        }
        Ok(()) => code,
    })
}

/// Reads the configuration in a file.
fn read(file: &Path) -> Result<Config, Failure> {
    Config::read(file).map_err(|errors| Failure::input(errors.to_string()))
}
