//! The time of a run in real time: picoseconds since its epoch, read from the monotonic clock.

use cellway_units::{Span, Time};
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::sys::now_ns;

const NS_PER_SEC: u64 = 1_000_000_000;
const PS_PER_NS: u64 = 1_000;

/// Returns the processor time of the present thread.
pub(crate) fn thread_time() -> Span {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    Span::from_secs(used.tv_sec.unsigned_abs()) + Span::from_ns(used.tv_nsec.unsigned_abs())
}

/// The clock of an emulation's loop.
pub(crate) trait TimeSource {
    /// Returns the present time; `None` before time zero.
    fn now(&self) -> Option<Time>;

    /// Returns `at` in nanoseconds of `CLOCK_MONOTONIC`, rounded up so that a wait never ends before `at`.
    fn deadline_ns(&self, at: Time) -> u64;
}

impl TimeSource for Clock {
    fn now(&self) -> Option<Time> {
        self.now()
    }

    fn deadline_ns(&self, at: Time) -> u64 {
        self.epoch.saturating_add(at.as_ps().div_ceil(PS_PER_NS))
    }
}

/// The clock of one run. Copies agree: whoever drives the network and whoever plays the applications
/// hold the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Nanoseconds of `CLOCK_MONOTONIC` at time zero.
    epoch: u64,
}

impl Clock {
    /// Creates a clock whose time zero is the present instant.
    pub fn start() -> Clock {
        Clock { epoch: now_ns() }
    }

    /// Creates a clock whose time zero is at `ns` nanoseconds of `CLOCK_MONOTONIC`; it may be in the future.
    pub const fn with_epoch(ns: u64) -> Clock {
        Clock { epoch: ns }
    }

    /// Creates a clock whose time zero is `ahead` after the present instant.
    pub fn starting_in(ahead: Span) -> Clock {
        Clock { epoch: now_ns() + ahead.as_ps() / PS_PER_NS }
    }

    /// Returns the present time; `None` before time zero.
    pub fn now(&self) -> Option<Time> {
        now_ns().checked_sub(self.epoch).map(|ns| Time::from_ps(ns.saturating_mul(PS_PER_NS)))
    }

    /// Returns `at` in seconds and nanoseconds of `CLOCK_MONOTONIC`, rounded up.
    pub(crate) fn deadline(&self, at: Time) -> Timespec {
        let ns = self.deadline_ns(at);
        Timespec { tv_sec: (ns / NS_PER_SEC) as i64, tv_nsec: (ns % NS_PER_SEC) as _ }
    }
}

#[cfg(test)]
mod tests {
    use cellway_units::Span;

    use super::*;

    #[test]
    fn deadlines_round_up_to_nanoseconds() {
        let clock = Clock::with_epoch(2_999_999_999);
        let at = |ps| clock.deadline(Time::from_ps(ps));
        assert_eq!((at(0).tv_sec, at(0).tv_nsec), (2, 999_999_999));
        assert_eq!((at(1).tv_sec, at(1).tv_nsec), (3, 0));
        assert_eq!((at(1_000).tv_sec, at(1_000).tv_nsec), (3, 0));
        assert_eq!((at(1_001).tv_sec, at(1_001).tv_nsec), (3, 1));
    }

    #[test]
    fn an_epoch_may_lie_ahead() {
        assert_eq!(Clock::with_epoch(now_ns() + 60 * NS_PER_SEC).now(), None);
        let clock = Clock::start();
        let first = clock.now().unwrap();
        assert!(clock.now().unwrap() >= first && first.since(Time::ZERO) < Span::from_secs(60));
    }
}
