//! A timer of the kernel that wakes a poll.

use std::os::fd::{AsRawFd, OwnedFd};

use cellway_units::Time;
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use super::error::PlayerError;
use crate::clock::Clock;

/// A timer, and the time that it is set for.
#[derive(Debug)]
pub(super) struct Alarm {
    timer: OwnedFd,
    set_for: Option<Time>,
}

impl Alarm {
    /// Creates a timer that is not set; its events have `token`.
    pub(super) fn new(registry: &Registry, token: Token) -> Result<Alarm, PlayerError> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)
            .map_err(|e| PlayerError::system("make a timer")(e.into()))?;
        let register = PlayerError::system("wait for a timer");
        registry.register(&mut SourceFd(&timer.as_raw_fd()), token, Interest::READABLE).map_err(register)?;
        Ok(Alarm { timer, set_for: None })
    }

    /// Sets the timer for `at`.
    pub(super) fn set(&mut self, clock: &Clock, at: Time) -> Result<(), PlayerError> {
        if self.set_for == Some(at) {
            return Ok(());
        }
        self.set_for = Some(at);
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        let at = Itimerspec { it_interval: none, it_value: clock.deadline(at) };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &at)
            .map_err(|e| PlayerError::system("set a timer")(e.into()))?;
        Ok(())
    }
}
