//! Processes of a test: started, measured, waited for.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Starts a command with the default action for the signals that end a program. A child inherits ignored ones, and these
/// tests may have been started by `nohup` or in the background of a shell, which ignore them.
pub(crate) fn piped(command: &Command) -> Child {
    let mut with = Command::new("env");
    with.arg("--default-signal=INT,TERM,HUP").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => with.env(name, value),
            None => with.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        with.current_dir(folder);
    }
    with.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Returns the emulator itself: the process that was started, or the one inside a user namespace.
fn emulator(pid: u32) -> u32 {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let same =
        |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == "cellway");
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).find(same).unwrap_or(pid)
}

/// Returns the resident memory in KiB.
pub(crate) fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", emulator(pid))).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Returns the processor time in seconds.
pub(crate) fn processor(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", emulator(pid))).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    // Fields 14 and 15 of proc(5), in hundredths of a second.
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

pub(crate) fn wait_for(what: &str, mut there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !there() {
        assert!(start.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
