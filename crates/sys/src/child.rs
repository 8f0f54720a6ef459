//! A program that runs in a namespace.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, kill_process, kill_process_group, pidfd_open, waitid,
};

use super::proc::{Stat, pids};
use super::raw;
use super::terminal::Terminal;

/// The time that a program has to exit when it is dropped.
const GRACE: Duration = Duration::from_millis(500);

/// The process group of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// One of its own: it and its children can be ended together, and the terminal's signals do not reach it.
    Own,
    /// That of this process: for a shell or another interactive program. The terminal's signals reach both processes,
    /// and job control works.
    Foreground,
}

/// A running program. Readable (as a descriptor) once it has exited. Dropping it ends it.
#[derive(Debug)]
pub struct Child {
    process: std::process::Child,
    pid: Pid,
    watch: OwnedFd,
    group: Group,
    terminal: Option<Terminal>,
    status: Option<ExitStatus>,
}

impl Child {
    /// Starts it on the calling thread, to which it is tied.
    pub(super) fn start(mut command: Command, group: Group) -> io::Result<Self> {
        let terminal = match group {
            Group::Own => {
                command.process_group(0);
                None
            }
            Group::Foreground => Terminal::ours(),
        };
        raw::tie_to_parent(&mut command, Some(getpid()));
        let mut process = command.spawn()?;
        let pid = Pid::from_child(&process);
        let watch = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(watch) => watch,
            Err(e) => {
                let _ = process.kill();
                let _ = process.wait();
                return Err(e.into());
            }
        };
        Ok(Self { process, pid, watch, group, terminal, status: None })
    }

    /// Returns its process number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns its input, once, if the command has a pipe for it.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.process.stdin.take()
    }

    /// Returns its output, once, if the command has a pipe for it.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.process.stdout.take()
    }

    /// Returns its error output, once, if the command has a pipe for it.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.process.stderr.take()
    }

    /// Returns its status if it has exited.
    ///
    /// # Errors
    /// It cannot be waited for, as another part of this process has done so.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = self.process.try_wait()?;
            self.give_back_terminal();
        }
        Ok(self.status)
    }

    /// Waits until it exits.
    ///
    /// # Errors
    /// As [`Child::try_wait`].
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        let status = self.process.wait()?;
        self.status = Some(status);
        self.give_back_terminal();
        Ok(status)
    }

    /// Sends a signal to it, and to its group if that is its own. It has no effect after the exit.
    ///
    /// # Errors
    /// Not permitted: it changed its user.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        if self.status.is_some() {
            // Its number may belong to another process by now.
            return Ok(());
        }
        match self.group {
            Group::Own => kill_process_group(self.pid, signal)?,
            Group::Foreground => kill_process(self.pid, signal)?,
        }
        Ok(())
    }

    /// Ends it and the rest of its group: SIGTERM, and SIGKILL to processes that exist after `grace`. Processes that
    /// left the group, or outlived a program that was waited for, end with the namespace. Returns its status.
    ///
    /// # Errors
    /// As [`Child::try_wait`].
    pub fn end(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        // The status is fetched last: until then its number, which is that of the group, is not reused.
        let _ = self.signal(Signal::TERM);
        if self.group == Group::Foreground {
            // An interactive shell ignores SIGTERM.
            let _ = self.signal(Signal::HUP);
        }
        let _ = self.signal(Signal::CONT);
        let start = Instant::now();
        while start.elapsed() < grace && !(self.has_ended() && self.group_is_empty()) {
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = self.signal(Signal::KILL);
        self.wait()
    }

    fn has_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(self.pid), look), Ok(None))
    }

    fn group_is_empty(&self) -> bool {
        let group = self.pid.as_raw_nonzero().get();
        let member = |pid: i32| Stat::of(pid).is_some_and(|stat| stat.group == group && stat.alive());
        self.group == Group::Foreground || !pids().into_iter().any(member)
    }

    fn give_back_terminal(&mut self) {
        if self.status.is_some() {
            self.terminal = None;
        }
    }
}

impl AsFd for Child {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // There is no caller left to report an error to.
        let _ = self.end(GRACE);
    }
}
