//! Programs that outlive the run that started them.
//!
//! The kernel ends the direct children of a run that was killed, and removes its devices and namespaces with their last
//! holder. The programs that those children started may stay. All of them have a mark in their environment, by which
//! they are found: at the end of an orderly run, or at the next start.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::proc::{Stat, command_line, environment, pids, same_numbers};

/// The variable that names the [`Owner`].
pub(super) const OWNER: &str = "CELLWAY_OWNER";
/// The variable that numbers the namespaces of an owner.
pub(super) const NAMESPACE: &str = "CELLWAY_NAMESPACE";

/// The time to wait for the kernel to remove a process after SIGKILL.
const PATIENCE: Duration = Duration::from_secs(2);

/// A process that starts programs: its number and its start, as numbers are reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    pid: i32,
    start: u64,
}

impl Owner {
    /// Returns this process; `None` if `/proc` is not mounted or shows another set of processes.
    #[must_use]
    pub fn this() -> Option<Self> {
        let stat = Stat::this()?;
        (stat.pid.unsigned_abs() == std::process::id()).then_some(Self { pid: stat.pid, start: stat.start })
    }

    /// Returns the number of its process.
    #[must_use]
    pub fn pid(self) -> i32 {
        self.pid
    }

    /// Returns true if it still runs.
    #[must_use]
    pub fn exists(self) -> bool {
        Stat::of(self.pid).is_some_and(|stat| stat.start == self.start && stat.alive())
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.pid, self.start)
    }
}

impl FromStr for Owner {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (pid, start) = text.split_once('-').unwrap_or((text, ""));
        Ok(Self { pid: pid.parse()?, start: start.parse()? })
    }
}

/// A program that was found without its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Its process.
    pub pid: i32,
    /// Its command line.
    pub command: String,
    /// The process that started it, directly or not.
    pub owner: Owner,
}

/// The mark on a process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub(super) owner: Owner,
    pub(super) namespace: Option<u64>,
}

impl Mark {
    /// Returns the mark of process `pid`, if it has one and is readable.
    fn of(pid: i32) -> Option<Self> {
        let [owner, namespace] = environment(pid, [OWNER, NAMESPACE])?;
        Some(Self { owner: owner?.parse().ok()?, namespace: namespace.and_then(|number| number.parse().ok()) })
    }
}

/// Ends the programs of owners that no longer exist, and returns them. To be called before a run; programs of owners
/// that still run are left alone, as are this process and its ancestors.
#[must_use]
pub fn clear_leftovers() -> Vec<Leftover> {
    hunt(Duration::from_millis(500), |mark, _| !mark.owner.exists())
}

/// Ends all marked processes for which `wanted` returns true: SIGTERM, and SIGKILL to those that exist after `grace`.
/// Repeats the search until it finds none, so that processes that they start meanwhile do not escape.
pub(super) fn hunt(grace: Duration, wanted: impl Fn(Mark, &BTreeSet<i32>) -> bool) -> Vec<Leftover> {
    if Owner::this().is_none() {
        return Vec::new();
    }
    let spared = ourselves();
    let start = Instant::now();
    let mut found: BTreeMap<i32, Leftover> = BTreeMap::new();
    let mut asked = BTreeSet::new();
    loop {
        let mut left = false;
        for pid in pids() {
            if spared.contains(&pid) || !same_numbers(pid) {
                continue;
            }
            // The descriptor first: the mark then is that of the process that will get the signal.
            let Some(process) = Pid::from_raw(pid) else { continue };
            let Ok(process) = pidfd_open(process, PidfdFlags::empty()) else { continue };
            let Some(mark) = Mark::of(pid).filter(|&mark| wanted(mark, &asked)) else { continue };
            if !Stat::of(pid).is_some_and(|stat| stat.alive()) {
                continue;
            }
            left = true;
            found.entry(pid).or_insert_with(|| Leftover { pid, command: command_line(pid), owner: mark.owner });
            // It may have ended since, which is the intention.
            if start.elapsed() >= grace {
                let _ = pidfd_send_signal(&process, Signal::KILL);
            } else if asked.insert(pid) {
                let _ = pidfd_send_signal(&process, Signal::TERM);
                let _ = pidfd_send_signal(&process, Signal::CONT);
            }
        }
        if !left || start.elapsed() > grace + PATIENCE {
            return found.into_values().collect();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns this process and its ancestors.
fn ourselves() -> BTreeSet<i32> {
    let mut line = BTreeSet::new();
    let mut next = Stat::this();
    while let Some(stat) = next {
        if !line.insert(stat.pid) {
            break;
        }
        next = Stat::of(stat.parent);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_a_process_and_its_start() {
        let this = Owner::this().unwrap();
        assert_eq!(this.to_string().parse::<Owner>(), Ok(this));
        assert!(this.exists());
        assert!(!Owner { start: this.start + 1, ..this }.exists(), "the number was used again");
        for text in ["", "1", "1-", "-1", "a-1", "1-b", "1-2-3"] {
            assert!(text.parse::<Owner>().is_err(), "{text}");
        }
    }

    #[test]
    fn we_are_among_ourselves() {
        let line = ourselves();
        assert!(line.contains(&Stat::this().unwrap().pid));
        assert!(line.len() > 1);
    }
}
