//! Simulated time as the instants that libraries take.

use std::time::{Duration, Instant};

use cellway_units::Time;

/// A fixed mapping from simulated time to [`Instant`], and back. The clock of the system is read once, because there is
/// no other way to an `Instant`; only differences to this one are ever seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        Clock { origin: Instant::now() }
    }

    /// Returns the instant of a simulated time, in whole nanoseconds.
    pub(crate) fn instant(self, time: Time) -> Instant {
        self.origin + Duration::from_nanos(time.as_ps() / 1000)
    }

    /// Returns the simulated time of an instant; the end of time if it is too late to be represented.
    pub(crate) fn time(self, instant: Instant) -> Time {
        let ps = instant.duration_since(self.origin).as_nanos().saturating_mul(1000);
        u64::try_from(ps).map_or(Time::MAX, Time::from_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_go_there_and_back_in_nanoseconds() {
        let clock = Clock::new();
        for ps in [0, 1000, 1_234_567_000, 3_600_000_000_000_000] {
            assert_eq!(clock.time(clock.instant(Time::from_ps(ps))), Time::from_ps(ps));
        }
        assert_eq!(clock.time(clock.instant(Time::from_ps(1999))), Time::from_ps(1000));
        assert_eq!(clock.time(clock.origin + Duration::from_secs(1 << 40)), Time::MAX);
    }
}
