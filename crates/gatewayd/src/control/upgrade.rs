//! The program that takes over at an upgrade.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::config::Config;
use crate::daemon::handover;
use crate::peering::hello;

/// The command with which a program prints its [`versions`].
pub(crate) const VERSIONS_COMMAND: &str = "handover-version";

/// The next program, and the file with its configuration.
#[derive(Clone, Debug)]
pub(crate) struct Next {
    pub(crate) file: PathBuf,
    pub(crate) program: PathBuf,
}

impl Next {
    /// Checks that the program can take over, and returns the configuration that it will read. Blocks while the program
    /// starts.
    ///
    /// # Errors
    /// The reason for which it cannot; nothing has changed then.
    pub(super) fn check(&self) -> Result<Config, String> {
        let program = self.program.display();
        let (answer, done) = self.run(&[VERSIONS_COMMAND.as_ref()])?;
        if !done || answer.split_whitespace().count() != 2 {
            return Err(format!("{program} cannot take over from another program: a restart is needed"));
        }
        let (theirs, ours) = (answer.trim(), versions());
        if theirs != ours {
            return Err(format!(
                "{program} has other versions of the state and of the protocol between gateways ({theirs}) than this one \
                 ({ours}): a restart is needed"
            ));
        }
        // The next program reads the file and the keys.
        let (problems, done) =
            self.run(&["check".as_ref(), "--file-only".as_ref(), "--config".as_ref(), self.file.as_ref()])?;
        if !done {
            return Err(format!("the configuration cannot be used: {}", problems.trim()));
        }
        Config::read(&self.file).map_err(|errors| {
            let problems: Vec<String> = errors.problems.iter().map(ToString::to_string).collect();
            format!("the configuration cannot be used: {}", problems.join("\n"))
        })
    }

    /// Runs the program; returns everything that it prints, and true if it succeeds.
    fn run(&self, arguments: &[&OsStr]) -> Result<(String, bool), String> {
        let output = Command::new(&self.program).args(arguments).stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("{}: {error}", self.program.display()))?;
        let text = [output.stdout, output.stderr].map(|octets| String::from_utf8_lossy(&octets).into_owned());
        Ok((text.concat(), output.status.success()))
    }
}

/// Returns the versions of the state that a program takes over, and of the protocol between gateways.
pub(crate) fn versions() -> String {
    format!("{} {}", handover::VERSION, hello::VERSION)
}
