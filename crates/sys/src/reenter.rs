//! Runs this program again in a user namespace if it lacks privileges.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::{env, fs, io};

use rustix::process::{Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open};

use super::raw::{self, Step};
use super::{Interest, Readiness, StopSignals, Support, SysError, clear_leftovers, support};

/// The variable that names the process that executed this one again.
pub(super) const INSIDE: &str = "CELLWAY_REENTERED_BY";

/// The result of [`reenter`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reentry {
    /// The privileges are sufficient: continue.
    Here,
    /// The program has run inside to its end, and this is its exit status, 128 + n after signal n. Exit with it.
    Ended(u8),
}

/// Ensures that namespaces and TUN devices are available: if they are only available in a user namespace, runs this
/// program there with the same arguments, waits for it, and forwards signals. To be called before any work is done, and
/// after [`clear_leftovers`] if the caller needs its result.
///
/// # Errors
/// [`SysError::Unsupported`] with all that is missing.
pub fn reenter() -> Result<Reentry, SysError> {
    match support() {
        Support::Direct => Ok(Reentry::Here),
        Support::Missing(missing) => Err(SysError::Unsupported(missing)),
        Support::UserNamespace if is_reentered() => {
            let source = io::Error::from(io::ErrorKind::PermissionDenied);
            Err(SysError::Reenter { step: "use the namespace that was entered", source })
        }
        Support::UserNamespace => {
            // Leftovers of a run in another user namespace are invisible from inside this one.
            let _ = clear_leftovers();
            run_inside().map(Reentry::Ended)
        }
    }
}

/// Returns true if [`reenter`] started this process directly, inside a user namespace.
pub fn is_reentered() -> bool {
    let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    env::var(INSIDE).is_ok_and(|by| by == parent.to_string())
}

fn run_inside() -> Result<u8, SysError> {
    let failed = |step: &'static str| move |source: io::Error| SysError::Reenter { step, source };
    let mut arguments = arguments(&fs::read("/proc/self/cmdline").map_err(failed("read /proc/self/cmdline"))?);
    // The link refers to the program even if its file was replaced since.
    let mut command = Command::new("/proc/self/exe");
    if !arguments.is_empty() {
        command.arg0(arguments.remove(0));
    }
    command.args(arguments).env(INSIDE, std::process::id().to_string());
    raw::enter_and_exec(&mut command, Some(getpid()));
    // Before the start, so that no signal is lost; the program begins with the default handlers.
    let signals = StopSignals::catch_these(&[Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT])?;
    let mut child = command.spawn().map_err(|e| match Step::of(&e) {
        Some((step, source)) => SysError::Reenter { step: step.name(), source },
        None => SysError::Reenter { step: "run the program again", source: e },
    })?;
    let status = wait(&mut child, &signals);
    if status.is_err() {
        // It is tied to this process, but not to this error.
        let _ = child.kill();
        let _ = child.wait();
    }
    Ok(code(status?))
}

fn wait(child: &mut std::process::Child, signals: &StopSignals) -> Result<ExitStatus, SysError> {
    let pid = Pid::from_child(child);
    let failed = |source| SysError::Reenter { step: "wait for the program", source };
    let ended = pidfd_open(pid, PidfdFlags::empty()).map_err(|e| failed(e.into()))?;
    let mut set = Readiness::new()?;
    set.add(&ended, 0, Interest::Read)?;
    set.add(signals, 1, Interest::Read)?;
    let mut ready = Vec::new();
    loop {
        set.wait(None, &mut ready)?;
        if ready.contains(&0) {
            return child.wait().map_err(failed);
        }
        while let Some(stop) = signals.take() {
            // Signals of the terminal also reach the child. It may have ended meanwhile.
            if !stop.from_terminal {
                let _ = kill_process(pid, stop.signal);
            }
        }
    }
}

/// Returns the arguments in `/proc/PID/cmdline`, each ended by a zero.
fn arguments(line: &[u8]) -> Vec<OsString> {
    let line = line.strip_suffix(&[0]).unwrap_or(line);
    if line.is_empty() {
        return Vec::new();
    }
    line.split(|&octet| octet == 0).map(|word| OsString::from_vec(word.to_vec())).collect()
}

/// Returns the exit code as a shell does.
fn code(status: ExitStatus) -> u8 {
    let number = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(number).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_kept_as_they_are() {
        assert_eq!(arguments(b"a\0\0b c\0"), ["a", "", "b c"]);
        assert_eq!(arguments(b"a\0\0"), ["a", ""]);
        assert!(arguments(b"").is_empty());
        let this = arguments(&fs::read("/proc/self/cmdline").unwrap());
        assert_eq!(this, env::args_os().collect::<Vec<_>>());
    }

    #[test]
    fn the_status_is_that_of_a_shell() {
        assert_eq!(code(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(code(ExitStatus::from_raw(15)), 143);
        assert_eq!(code(ExitStatus::from_raw(0)), 0);
    }
}
