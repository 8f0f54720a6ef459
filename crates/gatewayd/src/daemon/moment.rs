//! The clock of the data thread.

use std::ops::{Add, AddAssign};

use cellway_sys::now_ns;
use cellway_units::Span;
use serde::{Deserialize, Serialize};

/// Picoseconds in a nanosecond.
const PS_PER_NS: u64 = 1_000;

/// An instant of the kernel's monotonic clock (`CLOCK_MONOTONIC`, clock_gettime(2)). It counts nanoseconds, and so for
/// longer than a state machine, which counts picoseconds from the beginning of its connection to the peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Moment(u64);

impl Moment {
    /// Reads the clock.
    pub(crate) fn now() -> Moment {
        Moment(now_ns())
    }
    /// Returns the time since `earlier`; 0 if that is later.
    pub(crate) fn since(self, earlier: Moment) -> Span {
        Span::from_ps(self.0.saturating_sub(earlier.0).saturating_mul(PS_PER_NS))
    }
    /// Returns the value of the kernel's clock (ns).
    pub(crate) fn as_ns(self) -> u64 {
        self.0
    }
}

impl Add<Span> for Moment {
    type Output = Moment;

    /// Rounds up to a nanosecond.
    fn add(self, span: Span) -> Moment {
        Moment(self.0.saturating_add(span.as_ps().div_ceil(PS_PER_NS)))
    }
}

impl AddAssign<Span> for Moment {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

/// Converts a time for the standard library.
pub(crate) fn duration(span: Span) -> std::time::Duration {
    std::time::Duration::from_nanos(span.as_ps() / PS_PER_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_early() {
        let begin = Moment(7);
        let later = begin + Span::from_ps(1_001);
        assert_eq!((later, later.since(begin)), (Moment(9), Span::from_ns(2)));
        assert_eq!(begin.since(later), Span::ZERO);
        assert_eq!(Moment(u64::MAX).since(Moment(0)), Span::from_ps(u64::MAX));
        assert_eq!(Moment(u64::MAX - 1) + Span::from_secs(1), Moment(u64::MAX));
    }
}
