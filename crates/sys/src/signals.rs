//! Signals that request a run to stop.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::event::{EventfdFlags, eventfd};
use rustix::process::Signal;

use super::SysError;
use super::raw;

/// A request to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// The signal.
    pub signal: Signal,
    /// True if it came from the terminal (control-C), so that programs in the foreground received it too, and not from
    /// a process.
    pub from_terminal: bool,
}

/// The signals that request a stop. SIGQUIT is only forwarded.
const STOPPING: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

/// Sets whether SIGINT, SIGTERM and SIGHUP are blocked in the calling thread, and in threads and programs that it
/// starts from here on (`pthread_sigmask(3)`). While all threads block a signal it is pending, also if another program
/// replaces this one, and is delivered to the first thread that unblocks it.
pub fn block_stop_signals(blocked: bool) {
    raw::set_blocked(&STOPPING, blocked);
}

/// The signals that arrived and were not taken: bit 2n for signal n of a process, 2n + 1 of the terminal. The signals
/// caught here have numbers below 16.
static CAME: AtomicU32 = AtomicU32::new(0);
/// The event descriptor, made once and never closed: a handler that has begun on another thread may still write to it
/// after the guard is dropped, and must not write to another file.
static DESCRIPTOR: OnceLock<OwnedFd> = OnceLock::new();
/// Its number, -1 before it is made.
static EVENT: AtomicI32 = AtomicI32::new(-1);
/// The process that set the handlers: a child before its exec has them too, and must not report.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// True if there is a guard.
static TAKEN: Mutex<bool> = Mutex::new(false);

/// Catches the signals that request a stop, until dropped, which restores the earlier handlers for a host such as a
/// Python interpreter. Readable (as a descriptor) when one has arrived. Signals that were ignored, as SIGHUP under
/// `nohup`, stay ignored.
#[derive(Debug)]
pub struct StopSignals {
    event: &'static OwnedFd,
    before: Vec<(Signal, raw::Action)>,
}

impl StopSignals {
    /// Catches SIGINT, SIGTERM and SIGHUP.
    ///
    /// # Errors
    /// They are caught already: one run at a time can be stopped by signals.
    pub fn catch() -> Result<Self, SysError> {
        Self::catch_these(&STOPPING)
    }

    pub(super) fn catch_these(signals: &[Signal]) -> Result<Self, SysError> {
        let failed = |source| SysError::Watch { what: "catch signals", source };
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        if *taken {
            return Err(failed(io::Error::new(io::ErrorKind::ResourceBusy, "another run catches them")));
        }
        let event = match DESCRIPTOR.get() {
            Some(event) => event,
            None => {
                let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(|e| failed(e.into()))?;
                DESCRIPTOR.get_or_init(|| event)
            }
        };
        // Clears a count that the last guard has left.
        let _ = rustix::io::read(event, &mut [0_u8; 8]);
        CAME.store(0, Ordering::SeqCst);
        PROCESS.store(std::process::id(), Ordering::SeqCst);
        EVENT.store(event.as_raw_fd(), Ordering::SeqCst);
        *taken = true;
        drop(taken);
        // From here on dropping it restores the changes.
        let mut this = Self { event, before: Vec::new() };
        for &signal in signals {
            // SAFETY: `note` makes only calls that signal-safety(7) allows, and nothing in it unwinds.
            if let Some(before) = unsafe { raw::install(signal, note) }.map_err(failed)? {
                this.before.push((signal, before));
            }
        }
        Ok(this)
    }

    /// Returns one request that arrived and was not taken yet.
    #[must_use]
    pub fn take(&self) -> Option<Stop> {
        // The descriptor first: a signal in between is returned now or wakes again.
        let _ = rustix::io::read(self.event, &mut [0_u8; 8]);
        let came = CAME.load(Ordering::SeqCst);
        let all = || self.before.iter().flat_map(|&(signal, _)| [(signal, false), (signal, true)]);
        let (signal, from_terminal) = all().find(|&(s, terminal)| came & bit(s.as_raw(), terminal) != 0)?;
        let left = CAME.fetch_and(!bit(signal.as_raw(), from_terminal), Ordering::SeqCst);
        if left & !bit(signal.as_raw(), from_terminal) != 0 {
            let _ = rustix::io::write(self.event, &1_u64.to_ne_bytes());
        }
        Some(Stop { signal, from_terminal })
    }
}

impl AsFd for StopSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

impl Drop for StopSignals {
    fn drop(&mut self) {
        for (signal, before) in &self.before {
            // SAFETY: `install` has returned it for this signal.
            unsafe { raw::restore(*signal, before) };
        }
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = false;
    }
}

fn bit(signal: i32, from_terminal: bool) -> u32 {
    1_u32.checked_shl(2 * signal.unsigned_abs() + u32::from(from_terminal)).unwrap_or(0)
}

/// Notes a signal: only atomics and write(2), which `signal-safety(7)` allows.
extern "C" fn note(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    if std::process::id() != PROCESS.load(Ordering::SeqCst) {
        return;
    }
    // SAFETY: this is a handler with SA_SIGINFO, and `info` is its argument.
    let from_terminal = unsafe { raw::from_kernel(info) };
    CAME.fetch_or(bit(signal, from_terminal), Ordering::SeqCst);
    let event = EVENT.load(Ordering::SeqCst);
    if event >= 0 {
        // SAFETY: the number is that of `DESCRIPTOR`, which is never closed.
        unsafe { raw::wake(event) };
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use rustix::process::{getpid, kill_process};

    use super::*;
    use crate::{Interest, Readiness, now_ns};

    #[test]
    fn a_signal_waits_while_it_is_blocked_and_another_program_starts_with_it() {
        std::thread::spawn(|| {
            block_stop_signals(true);
            let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
            let pid = rustix::process::Pid::from_child(&child);
            let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
            let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap().trim();
            let blocked = u64::from_str_radix(mask, 16).unwrap();
            for signal in STOPPING {
                assert!(blocked & 1 << (signal.as_raw() - 1) != 0, "{mask}");
                kill_process(pid, signal).unwrap();
            }
            assert!(child.try_wait().unwrap().is_none());
            kill_process(pid, Signal::KILL).unwrap();
            child.wait().unwrap();
            block_stop_signals(false);
            let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
            kill_process(rustix::process::Pid::from_child(&child), Signal::TERM).unwrap();
            assert_eq!(child.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_signal_is_reported_once_and_handlers_are_restored() {
        // In the background of a shell, where SIGINT is ignored, it would stay ignored.
        for signal in [Signal::TERM, Signal::INT] {
            // SAFETY: the default disposition runs no code of this process.
            unsafe { libc::signal(signal.as_raw(), libc::SIG_DFL) };
        }
        let signals = StopSignals::catch_these(&[Signal::TERM, Signal::INT]).unwrap();
        assert!(StopSignals::catch().is_err(), "one at a time");
        let mut set = Readiness::new().unwrap();
        set.add(&signals, 1, Interest::Read).unwrap();
        assert_eq!(signals.take(), None);
        kill_process(getpid(), Signal::TERM).unwrap();
        kill_process(getpid(), Signal::INT).unwrap();
        let mut ready = Vec::new();
        let mut told = Vec::new();
        let deadline = now_ns() + 20_000_000_000;
        while told.len() < 2 && now_ns() < deadline {
            set.wait(Some(deadline), &mut ready).unwrap();
            told.extend(signals.take());
        }
        told.sort_by_key(|stop| stop.signal.as_raw());
        let by_process = |signal| Stop { signal, from_terminal: false };
        assert_eq!(told, [by_process(Signal::INT), by_process(Signal::TERM)]);
        set.wait(Some(0), &mut ready).unwrap();
        assert!(ready.is_empty() && signals.take().is_none());
        drop(signals);
        // A handler that began before may still write: the descriptor is open, and the next guard uses the same.
        assert!(rustix::io::fcntl_getfd(DESCRIPTOR.get().unwrap()).is_ok());
        rustix::io::write(DESCRIPTOR.get().unwrap(), &1_u64.to_ne_bytes()).unwrap();
        // If our handler were still set, it would not be the default that this one replaces.
        let again = StopSignals::catch_these(&[Signal::TERM]).unwrap();
        assert!(again.take().is_none(), "what the last one has left is not taken for a signal");
        assert!(again.before.iter().all(|(_, before)| before.sa_sigaction == libc::SIG_DFL));
    }
}
