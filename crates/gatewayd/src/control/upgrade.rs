//! The program that takes over at an upgrade.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::config::Config;
use crate::daemon::handover::VERSION;

/// The command with which a program prints the version of what it can take over.
pub(crate) const QUESTION: &str = "handover-version";

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
        let asked = Command::new(&self.program).arg(QUESTION).stdin(Stdio::null()).output();
        let asked = asked.map_err(|error| format!("{program}: {error}"))?;
        let version = String::from_utf8_lossy(&asked.stdout).trim().parse::<u32>().ok();
        match version.filter(|_| asked.status.success()) {
            Some(VERSION) => {}
            Some(other) => {
                return Err(format!(
                    "{program} takes over version {other} of a gateway's state, and this one has version {VERSION}: a restart \
                     is needed"
                ));
            }
            None => return Err(format!("{program} cannot take over from another program: a restart is needed")),
        }
        Config::read(&self.file).map_err(|errors| {
            let problems: Vec<String> = errors.problems.iter().map(ToString::to_string).collect();
            format!("the configuration cannot be used: {}", problems.join("\n"))
        })
    }
}
