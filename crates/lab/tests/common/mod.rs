//! Small plans, and helpers to run them.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellway_lab::{Error, Override, Plan, Settings, Simulated};

/// The network of `cellsim`, short: two policies times two numbers of FTP, two seeds.
pub(crate) const SWEEP: &str = r#"version = 1
name = "small"
node = [{ name = "r1", kind = "router" }, { name = "s1", kind = "switch" }, { name = "r2", kind = "router" }]

[run]
duration = "300 rtt"
warmup = "100 rtt"
seed = 5
seeds = 2

[buffer]
size = "60 cell"

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
name = "telnet"
app = "telnet"
from = "r1"
to = "r2"
access = { rate = "1.5 Mbit/s", delay = "0 s" }

[[traffic]]
name = "ftp"
app = "ftp"
count = 3
from = "r1"
to = "r2"
access = { rate = "1.5 Mbit/s", delay = "0 s" }

[observe]
interval = "20 rtt"
fairness-window = "20 rtt"

[sweep]
axes = { "multiplexing.channel" = ["per-conversation", "per-destination"], "traffic.ftp.count" = [2, 4] }
"#;

/// Returns `SWEEP` without its sweep.
pub(crate) fn single() -> &'static str {
    SWEEP.split_once("[sweep]").expect("it has one").0
}

pub(crate) fn plan(text: &str, set: &[(&str, &str)]) -> Plan {
    let set: Vec<Override> = set.iter().map(|(key, value)| Override::new(*key, *value)).collect();
    cellway_lab::plan_from_text(text, "t.toml", &set).unwrap_or_else(|e| panic!("{e}"))
}

pub(crate) fn simulate(plan: &Plan, threads: usize) -> Result<Simulated, Error> {
    simulate_in(plan, Path::new("."), threads)
}

pub(crate) fn simulate_in(plan: &Plan, folder: &Path, threads: usize) -> Result<Simulated, Error> {
    let mut settings = Settings { threads: Some(threads), progress: &mut |_| {}, stop: &mut || false, store: None };
    cellway_lab::simulate(plan, folder, None, &mut settings)
}

/// Returns the names in a folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

pub(crate) fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Returns the reference data next to the repository, if they exist.
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("CELLWAY_SHARED").map_or_else(|| repository("../shared"), PathBuf::from).join(path);
    if !folder.is_dir() {
        skip(&format!("{} is not there", folder.display()));
        return None;
    }
    Some(folder)
}

/// Prints the reason of a skipped test on the terminal. Not through the print macros, whose output the test harness
/// captures.
pub(crate) fn skip(why: &str) {
    std::io::stderr().write_all(format!("skipped: {why}\n").as_bytes()).expect("standard error is open");
}

/// Runs a program of Wireshark and returns its output; prints that it is missing and returns `None` without it.
pub(crate) fn program(name: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(name).args(arguments).output() {
        Ok(output) => {
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Err(_) => {
            skip(&format!("{name} is not installed"));
            None
        }
    }
}

/// Returns the given fields of each packet of a file, as tshark has them with these options.
pub(crate) fn tshark_fields(file: &Path, options: &[&str], names: &[&str]) -> Option<Vec<Vec<String>>> {
    let file = file.to_string_lossy();
    let mut arguments = [options, &["-r", &file, "-T", "fields"]].concat();
    names.iter().for_each(|name| arguments.extend(["-e", name]));
    let text = program("tshark", &arguments)?;
    Some(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}
