//! Waiting for descriptors until an instant.

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
    /// Something can be read, or the other end is gone.
    Read,
    /// Something new can be read; reported once, when it arrives (edge-triggered). A caller that reads until nothing is
    /// left misses nothing, and data that is left unread does not end a wait.
    Arrival,
    /// Something can be written.
    Write,
    /// Either.
    Both,
    /// Everything about a stream, each told once when it happens (edge-triggered).
    Stream,
}

/// What happened at a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// What [`Readiness::add`] was told to call it.
    pub token: u64,
    /// Something can be read.
    pub read: bool,
    /// Something can be written.
    pub write: bool,
    /// The other end sends no more.
    pub ended: bool,
    /// An error waits.
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

/// A set of descriptors to wait for, level-triggered unless said otherwise. It holds none of them: a closed one is gone.
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

/// The set is readable when one of its descriptors is ready: sets can be watched by others.
impl AsFd for Readiness {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl Readiness {
    /// An empty set.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub fn new() -> Result<Self, SysError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|e| watch("make an epoll set", e))?;
        Ok(Self { epoll, events: Vec::with_capacity(64), one_call: true })
    }

    /// Watches `fd`; [`Readiness::wait`] will call it `token`.
    ///
    /// # Errors
    /// It is watched already, or of a kind that cannot be watched (a file).
    pub fn add(&self, fd: impl AsFd, token: u64, interest: Interest) -> Result<(), SysError> {
        epoll::add(&self.epoll, fd.as_fd(), epoll::EventData::new_u64(token), interest.flags())
            .map_err(|e| watch("watch a descriptor", e))
    }

    /// Watches `fd` for something else.
    ///
    /// # Errors
    /// It is not watched.
    pub fn change(&self, fd: impl AsFd, token: u64, interest: Interest) -> Result<(), SysError> {
        epoll::modify(&self.epoll, fd.as_fd(), epoll::EventData::new_u64(token), interest.flags())
            .map_err(|e| watch("watch a descriptor", e))
    }

    /// Watches `fd` no more.
    ///
    /// # Errors
    /// It is not watched.
    pub fn remove(&self, fd: impl AsFd) -> Result<(), SysError> {
        epoll::delete(&self.epoll, fd.as_fd()).map_err(|e| watch("stop watching a descriptor", e))
    }

    /// Waits until one is ready or `deadline` (of [`now_ns`]) has come; for ever without one. A
    /// deadline in the past looks without waiting. `ready` then holds the tokens, empty after the
    /// deadline or a signal.
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
                // A kernel before Linux 5.11, or a system call filter that does not allow the call.
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
    fn an_arrival_is_told_once() {
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
