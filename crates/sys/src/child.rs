//! A program that was started in a namespace.

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

/// How long a program has to end when it is dropped.
const GRACE: Duration = Duration::from_millis(500);

/// The process group of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// One of its own: it and what it starts can be ended together, and the terminal's signals do
    /// not reach it.
    Own,
    /// Ours: for a shell or another program that the user talks to. The terminal's signals go to it
    /// and to us, and job control works.
    Foreground,
}

/// A running program. Readable (as a descriptor) once it ended. Dropping it ends it.
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
    /// Starts it on the present thread, to which it is tied.
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

    /// Its process number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Its input, if the command asked for a pipe; once.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.process.stdin.take()
    }

    /// Its output, if the command asked for a pipe; once.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.process.stdout.take()
    }

    /// Its error output, if the command asked for a pipe; once.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.process.stderr.take()
    }

    /// Its status if it has ended.
    ///
    /// # Errors
    /// It cannot be waited for: something else in this process did.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = self.process.try_wait()?;
            self.give_back_terminal();
        }
        Ok(self.status)
    }

    /// Waits until it ends.
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

    /// Sends a signal to it, and to its group if that is its own. Nothing if it has ended.
    ///
    /// # Errors
    /// Not permitted: it changed its user.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        if self.status.is_some() {
            // Its number may be another's by now.
            return Ok(());
        }
        match self.group {
            Group::Own => kill_process_group(self.pid, signal)?,
            Group::Foreground => kill_process(self.pid, signal)?,
        }
        Ok(())
    }

    /// Ends it and what is left of its group: SIGTERM, and SIGKILL to those that are there after
    /// `grace`. What left the group, or outlived a program that was waited for, is ended with the
    /// namespace. Returns its status.
    ///
    /// # Errors
    /// As [`Child::try_wait`].
    pub fn end(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        // The status is fetched last: until then its number, which is that of the group, is its own.
        let _ = self.signal(Signal::TERM);
        if self.group == Group::Foreground {
            // A shell that talks to a user ignores SIGTERM.
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
        // Nobody is left to tell.
        let _ = self.end(GRACE);
    }
}
