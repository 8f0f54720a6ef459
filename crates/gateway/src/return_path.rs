//! The queueing delay of acknowledgements on the return path.
//!
//! A round trip includes the queue of the other direction, and an acknowledgement that waits in it makes its packet seem
//! to arrive later. Each acknowledgement carries the time at which the peer sent it. The difference to its arrival by our
//! clock is the one-way delay plus an unknown clock offset. Its excess over the recent minimum does not depend on the
//! offset (RFC 6817, appendix A).

use cellway_units::{Span, Time};
use serde::{Deserialize, Serialize};

/// The minimum is that of the last one to two of these periods. Clocks that differ by 100 parts per million drift apart by
/// 1 ms in two.
const PERIOD: Span = Span::from_secs(5);

/// The minima of a period: the one-way delay with the clock offset (ps), and the round trip.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Minima {
    one_way: i128,
    round_trip: Span,
}

impl Minima {
    fn and(self, other: Option<Minima>) -> Minima {
        other.map_or(self, |other| Minima {
            one_way: self.one_way.min(other.one_way),
            round_trip: self.round_trip.min(other.round_trip),
        })
    }
}

/// The recent minima of the return path.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ReturnPath {
    /// The start of this period, its minima and those of the last one.
    since: Time,
    current: Option<Minima>,
    last: Option<Minima>,
}

impl ReturnPath {
    /// Returns the queueing delay of an acknowledgement that arrives `now`. The peer sent it at `sent` by its own clock,
    /// and the packet that it acknowledges had a `round_trip`.
    ///
    /// The delay never reduces a round trip below the recent minimum of round trips. An excess of more than the round
    /// trip is a change of a clock, which resets the minima.
    pub(crate) fn delay(&mut self, now: Time, sent: Time, round_trip: Span) -> Span {
        let age = now.since(self.since);
        if age >= PERIOD {
            self.last = self.current.take().filter(|_| age < PERIOD * 2);
            self.since = now;
        }
        let one_way = i128::from(now.as_ps()) - i128::from(sent.as_ps());
        let sample = Minima { one_way, round_trip };
        let least = sample.and(self.current).and(self.last);
        let excess = one_way - least.one_way;
        if excess > i128::from(round_trip.as_ps()) {
            (self.current, self.last) = (Some(sample), None);
            return Span::ZERO;
        }
        self.current = Some(sample.and(self.current));
        let excess = u64::try_from(excess).map_or(Span::ZERO, Span::from_ps);
        excess.min(round_trip.saturating_sub(least.round_trip))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Span {
        Span::from_ms(ms)
    }
    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn only_the_queue_of_the_return_path_counts() {
        // The clock of the peer is ahead by a day, or behind.
        for (ours, theirs) in [(1_000, 86_401_000), (86_401_000, 1_000)] {
            let mut path = ReturnPath::default();
            // 50 ms each way.
            assert_eq!(path.delay(at(ours + 100), at(theirs + 50), ms(100)), ms(0));
            assert_eq!(path.delay(at(ours + 230), at(theirs + 150), ms(130)), ms(30));
            assert_eq!(path.delay(at(ours + 330), at(theirs + 280), ms(130)), ms(0));
            assert_eq!(path.delay(at(ours + 460), at(theirs + 380), ms(160)), ms(30));
        }
    }

    #[test]
    fn the_minimum_is_recent() {
        let mut path = ReturnPath::default();
        path.delay(at(100), at(50), ms(100));
        // The return path is longer for good.
        assert_eq!(path.delay(at(5_150), at(5_050), ms(150)), ms(50));
        assert_eq!(path.delay(at(10_149), at(10_049), ms(150)), ms(50));
        assert_eq!(path.delay(at(10_150), at(10_050), ms(150)), ms(0));
        // After two periods without samples their minima do not count.
        assert_eq!(path.delay(at(30_250), at(30_050), ms(250)), ms(0));
    }

    #[test]
    fn a_queue_in_the_forward_direction_stays_visible_when_a_clock_changes() {
        for (before, after) in [(10_000, 0), (0, 10_000)] {
            let mut path = ReturnPath::default();
            path.delay(at(20_100), at(before + 50), ms(100));
            assert_eq!(path.delay(at(20_200), at(after + 150), ms(100)), ms(0));
            assert_eq!(path.delay(at(20_340), at(after + 290), ms(140)), ms(0));
            assert_eq!(path.delay(at(20_440), at(after + 350), ms(140)), ms(40));
        }
        // A clock that has stopped, and the largest time.
        let mut path = ReturnPath::default();
        for n in 1..100 {
            assert_eq!(path.delay(at(100 * n), Time::ZERO, ms(99)), ms(0));
        }
        assert_eq!(path.delay(at(10_000), Time::from_ps(u64::MAX), ms(200)), ms(0));
    }

    #[test]
    fn clocks_that_drift_apart_add_a_millisecond_at_most() {
        for ppm in [-100, 100] {
            let mut path = ReturnPath::default();
            // An hour with a queue of 20 ms in either direction for 0.1 s in each second.
            for n in 0..36_000u64 {
                let (forward, back) = (20 * u64::from(n % 10 == 3), 20 * u64::from(n % 10 == 6));
                let sent =
                    Span::from_ms(n * 100 + 50 + forward).as_ps() / 1_000_000 * 1_000_000u64.strict_add_signed(ppm);
                let round_trip = 100 + forward + back;
                let delay = path.delay(at(n * 100 + round_trip), Time::from_ps(sent), ms(round_trip));
                assert!(delay.abs_diff(ms(back)) <= ms(1).min(ms(forward + back)), "{n}: {delay}");
            }
        }
    }
}
