//! Waits for descriptors, up to a deadline.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::{fmt, io};

use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;

use super::SysError;
use super::clock::now_ns;
use super::raw;

/// The events to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Data can be read, or the other end has closed.
    Read,
    /// New data can be read; reported once, when it arrives (edge-triggered). A caller that reads until no data are
    /// left misses none, and unread data do not end a wait.
    Arrival,
    /// Data can be written.
    Write,
    /// Data can be read or written.
    Both,
    /// All events of a stream, each reported once when it happens (edge-triggered).
    Stream,
}

/// The events of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The token that was passed to [`Readiness::add`].
    pub token: u64,
    /// Data can be read.
    pub read: bool,
    /// Data can be written.
    pub write: bool,
    /// The other end has closed its direction.
    pub ended: bool,
    /// There is an error.
    pub failed: bool,
}

impl Interest {
    fn flags(self) -> epoll::EventFlags {
        match self {
            Self::Read => epoll::EventFlags::IN,
            Self::Arrival => epoll::EventFlags::IN | epoll::EventFlags::ET,
            Self::Write => epoll::EventFlags::OUT,
            Self::Both => epoll::EventFlags::IN | epoll::EventFlags::OUT,
            Self::Stream => {
                epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP | epoll::EventFlags::ET
            }
        }
    }
}

/// A set of descriptors to wait for, level-triggered unless stated otherwise. It owns none of them: closing a
/// descriptor removes it.
pub struct Readiness {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
    /// True while the kernel is assumed to have `epoll_pwait2`.
    one_call: bool,
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readiness").field("epoll", &self.epoll).finish_non_exhaustive()
    }
}

/// The set is readable when one of its descriptors is ready: sets can be nested.
impl AsFd for Readiness {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl Readiness {
    /// Creates an empty set.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub fn new() -> Result<Self, SysError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|e| watch("make an epoll set", e))?;
        Ok(Self { epoll, events: Vec::with_capacity(64), one_call: true })
    }

    /// Adds `fd`, with the token that [`Readiness::wait`] returns.
    ///
    /// # Errors
    /// It is in the set already, or of a kind that cannot be polled (a file).
    pub fn add(&self, fd: impl AsFd, token: u64, interest: Interest) -> Result<(), SysError> {
        epoll::add(&self.epoll, fd.as_fd(), epoll::EventData::new_u64(token), interest.flags())
            .map_err(|e| watch("watch a descriptor", e))
    }

    /// Changes the interest of `fd`.
    ///
    /// # Errors
    /// It is not in the set.
    pub fn change(&self, fd: impl AsFd, token: u64, interest: Interest) -> Result<(), SysError> {
        epoll::modify(&self.epoll, fd.as_fd(), epoll::EventData::new_u64(token), interest.flags())
            .map_err(|e| watch("watch a descriptor", e))
    }

    /// Removes `fd`.
    ///
    /// # Errors
    /// It is not in the set.
    pub fn remove(&self, fd: impl AsFd) -> Result<(), SysError> {
        epoll::delete(&self.epoll, fd.as_fd()).map_err(|e| watch("stop watching a descriptor", e))
    }

    /// Waits until one is ready or until `deadline` (of [`now_ns`]); for ever without one. A deadline in the past polls
    /// without a wait. `ready` then has the tokens; it is empty after the deadline or a signal.
    ///
    /// # Errors
    /// The kernel has no memory left.
    pub fn wait(&mut self, deadline: Option<u64>, ready: &mut Vec<u64>) -> Result<(), SysError> {
        ready.clear();
        self.collect(deadline)?;
        ready.extend(self.events.iter().map(|event| event.data.u64()));
        Ok(())
    }

    /// As [`Readiness::wait`], with the events of each descriptor.
    ///
    /// # Errors
    /// The kernel has no memory left.
    pub fn wait_for(&mut self, deadline: Option<u64>, ready: &mut Vec<Ready>) -> Result<(), SysError> {
        ready.clear();
        self.collect(deadline)?;
        ready.extend(self.events.iter().map(|event| {
            let (token, flags) = (event.data.u64(), event.flags);
            Ready {
                token,
                read: flags.contains(epoll::EventFlags::IN),
                write: flags.contains(epoll::EventFlags::OUT),
                ended: flags.intersects(epoll::EventFlags::RDHUP | epoll::EventFlags::HUP),
                failed: flags.contains(epoll::EventFlags::ERR),
            }
        }));
        Ok(())
    }

    fn collect(&mut self, deadline: Option<u64>) -> Result<(), SysError> {
        self.events.clear();
        let left = deadline.map(|deadline| deadline.saturating_sub(now_ns()));
        if self.one_call {
            let timeout = left.map(|ns| libc::timespec {
                tv_sec: libc::time_t::try_from(ns / 1_000_000_000).unwrap_or(libc::time_t::MAX),
                tv_nsec: libc::c_long::try_from(ns % 1_000_000_000).unwrap_or(0),
            });
            match raw::epoll_wait(self.epoll.as_fd(), &mut self.events, timeout.as_ref()) {
                // A kernel before Linux 5.11, or a system call filter that forbids the call.
                Err(e) if matches!(e.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => self.one_call = false,
                Err(e) if e.kind() != io::ErrorKind::Interrupted => {
                    return Err(SysError::Watch { what: "wait for descriptors", source: e });
                }
                _ => return Ok(()),
            }
        }
        if left != Some(0) {
            // epoll_wait counts in milliseconds; ppoll counts in nanoseconds and can wait for an epoll set.
            let timeout = left.map(|ns| Timespec {
                tv_sec: i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX),
                tv_nsec: i64::try_from(ns % 1_000_000_000).unwrap_or(0),
            });
            let mut set = [PollFd::new(&self.epoll, PollFlags::IN)];
            match poll(&mut set, timeout.as_ref()) {
                Ok(0) | Err(Errno::INTR) => return Ok(()),
                Ok(_) => {}
                Err(e) => return Err(watch("wait for descriptors", e)),
            }
        }
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), Some(&none)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(watch("wait for descriptors", e)),
        }
        Ok(())
    }
}

fn watch(what: &'static str, errno: Errno) -> SysError {
    SysError::Watch { what, source: io::Error::from(errno) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn the_deadline_passes_or_a_descriptor_is_ready() {
        let (mut a, b) = UnixStream::pair().unwrap();
        let mut set = Readiness::new().unwrap();
        let mut ready = vec![99];
        set.add(&b, 7, Interest::Read).unwrap();
        assert!(set.add(&b, 8, Interest::Read).is_err());
        let deadline = now_ns() + 300_000;
        set.wait(Some(deadline), &mut ready).unwrap();
        assert!(ready.is_empty());
        assert!(now_ns() >= deadline, "it must not come back early");
        a.write_all(b"x").unwrap();
        set.wait(None, &mut ready).unwrap();
        assert_eq!(ready, [7]);
        set.wait(Some(0), &mut ready).unwrap();
        assert_eq!(ready, [7], "level-triggered, and a past deadline looks");
        set.change(&b, 9, Interest::Both).unwrap();
        set.wait(None, &mut ready).unwrap();
        assert_eq!(ready, [9]);
        set.remove(&b).unwrap();
        set.wait(Some(0), &mut ready).unwrap();
        assert!(ready.is_empty());
    }

    #[test]
    fn kernels_without_the_one_call_wait_as_exactly() {
        let (mut a, b) = UnixStream::pair().unwrap();
        let mut set = Readiness { one_call: false, ..Readiness::new().unwrap() };
        let mut ready = Vec::new();
        set.add(&b, 7, Interest::Read).unwrap();
        let deadline = now_ns() + 300_000;
        set.wait(Some(deadline), &mut ready).unwrap();
        assert!(ready.is_empty() && now_ns() >= deadline);
        a.write_all(b"x").unwrap();
        set.wait(None, &mut ready).unwrap();
        assert_eq!(ready, [7]);
    }

    #[test]
    fn an_arrival_is_reported_once() {
        let (mut a, b) = UnixStream::pair().unwrap();
        let mut set = Readiness::new().unwrap();
        let mut ready = Vec::new();
        set.add(&b, 7, Interest::Arrival).unwrap();
        for _ in 0..2 {
            a.write_all(b"x").unwrap();
            set.wait(None, &mut ready).unwrap();
            assert_eq!(ready, [7]);
            set.wait(Some(now_ns() + 100_000), &mut ready).unwrap();
            assert!(ready.is_empty(), "nothing was read, and nothing new came");
        }
    }
}
