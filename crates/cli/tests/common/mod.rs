//! The built program, run as a user runs it.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A scenario that takes no time.
pub(crate) const SMALL: &str = r#"version = 1
name = "small"
node = [{ name = "r1", kind = "router" }, { name = "s1", kind = "switch" }, { name = "r2", kind = "router" }]

[run]
duration = "200 rtt"
warmup = "20 rtt"
seeds = 2

[buffer]
size = "1 bdp"

[tcp]
profile = "classic"
variant = "tahoe"
mss = "512 B"
window = "8 KiB"

[[link]]
between = ["r1", "s1"]
rate = "1.5 Mbit/s"
delay = "22.5 ms"

[[link]]
between = ["s1", "r2"]
rate = "1.5 Mbit/s"
delay = "0 s"

[[traffic]]
name = "ftp"
app = "ftp"
count = 2
from = "r1"
to = "r2"
access = { rate = "1.5 Mbit/s", delay = "0 s" }

[observe]
interval = "20 rtt"
fairness-window = "20 rtt"
"#;

/// A folder with the scenario `study.toml` to run in.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
}

impl Place {
    pub(crate) fn new(text: &str) -> Place {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("study.toml"), text).unwrap();
        Place { folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cellway"));
        // Tables are whole unless a test sets a width.
        command.args(args).current_dir(self.path()).env_remove("COLUMNS");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran(self.command(args).output().unwrap())
    }

    /// Runs as on a terminal of a width.
    pub(crate) fn run_at(&self, width: usize, args: &[&str]) -> Ran {
        Ran(self.command(args).env("COLUMNS", width.to_string()).output().unwrap())
    }

    /// Returns the names in the folder.
    pub(crate) fn names(&self) -> Vec<String> {
        names(self.path())
    }
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The result of a run of the program.
pub(crate) struct Ran(pub(crate) Output);

impl Ran {
    pub(crate) fn code(&self) -> i32 {
        self.0.status.code().expect("it ended by itself")
    }
    pub(crate) fn out(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }
    pub(crate) fn err(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }
    /// Asserts that it went well.
    pub(crate) fn done(self) -> Ran {
        assert_eq!(self.code(), 0, "{}", self.err());
        self
    }
    /// Asserts that the input was refused, and returns the message.
    pub(crate) fn refused(self) -> String {
        assert_eq!(self.code(), 2, "{}{}", self.out(), self.err());
        self.err()
    }
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out()).unwrap_or_else(|e| panic!("{e}: {}", self.out()))
    }
}

pub(crate) fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
