//! Processes in `/proc` (`proc_pid_stat(5)`).

use std::fs;

/// Fields of `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) pid: i32,
    /// `Z` for a process that has exited and was not waited for.
    pub(super) state: u8,
    pub(super) parent: i32,
    pub(super) group: i32,
    /// In clock ticks since the machine started.
    pub(super) start: u64,
}

impl Stat {
    /// Reads those of process `pid`; `None` if there is none.
    pub(super) fn of(pid: i32) -> Option<Self> {
        Self::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Reads those of this process, by the numbers of `/proc`.
    pub(super) fn this() -> Option<Self> {
        Self::parse(&fs::read("/proc/self/stat").ok()?)
    }

    fn parse(line: &[u8]) -> Option<Self> {
        // The second field is the name in parentheses, and may contain any character, also parentheses.
        let end = line.iter().rposition(|&octet| octet == b')')?;
        let pid = std::str::from_utf8(line.split(|&octet| octet == b' ').next()?).ok()?.parse().ok()?;
        let rest = std::str::from_utf8(line.get(end + 1..)?).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        Some(Self {
            pid,
            state: *fields.first()?.as_bytes().first()?,
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            start: fields.get(19)?.parse().ok()?,
        })
    }

    /// Returns true if it runs, or could.
    pub(super) fn alive(&self) -> bool {
        !matches!(self.state, b'Z' | b'X')
    }
}

/// Returns all visible processes.
pub(super) fn pids() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the values of some variables in the environment with which `pid` was started.
pub(super) fn environment<const N: usize>(pid: i32, names: [&str; N]) -> Option<[Option<String>; N]> {
    let octets = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut values = [const { None }; N];
    for entry in octets.split(|&octet| octet == 0) {
        for (name, value) in names.iter().zip(&mut values) {
            if let Some(rest) = entry.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"=")) {
                *value = std::str::from_utf8(rest).ok().map(str::to_owned);
            }
        }
    }
    Some(values)
}

/// Returns its command line, with spaces.
pub(super) fn command_line(pid: i32) -> String {
    let octets = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = octets.split(|&octet| octet == 0).filter(|word| !word.is_empty()).collect();
    words.iter().map(|word| String::from_utf8_lossy(word)).collect::<Vec<_>>().join(" ")
}

/// Returns true if `pid` has the same process numbers as this process: one in a container has its own.
pub(super) fn same_numbers(pid: i32) -> bool {
    let ours = fs::read_link("/proc/self/ns/pid").ok();
    ours.is_some() && fs::read_link(format!("/proc/{pid}/ns/pid")).ok() == ours
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let line = b"17 (a) Z 3 (b) S 5 17 17 0 -1 1 2 3 4 5 6 7 8 9 20 0 1 0 4711 1 1";
        assert_eq!(Stat::parse(line), Some(Stat { pid: 17, state: b'S', parent: 5, group: 17, start: 4711 }));
        assert_eq!(Stat::parse(b"17 (a) S 5"), None);
        assert_eq!(Stat::parse(b""), None);
    }

    #[test]
    fn this_process_is_there() {
        let this = Stat::this().unwrap();
        assert_eq!(this.pid.unsigned_abs(), std::process::id());
        assert!(this.alive() && same_numbers(this.pid));
        assert!(pids().contains(&this.pid));
        assert!(!command_line(this.pid).is_empty());
        let path = environment(this.pid, ["PATH", "SURELY_NOT_SET"]).unwrap();
        assert_eq!(path, [std::env::var("PATH").ok(), None]);
        assert_eq!(Stat::of(i32::MAX), None);
    }
}
