//! The time that acknowledgements wait on their way back: in the queue of the other direction.
//!
//! A round trip includes that queue, and an acknowledgement that waits in it makes the packet seem to arrive later. The
//! peer tells when it sent each acknowledgement. The time since then by our clock is the time of the way back and an
//! unknown difference of two clocks; how much it exceeds its recent minimum does not depend on that difference.

use cellway_units::{Span, Time};

/// The minimum is that of the last one to two of these periods. Clocks that differ by 100 parts per million drift apart by
/// 1 ms in two.
const PERIOD: Span = Span::from_secs(5);

/// The minima of a period: the way back with the difference of the clocks (ps), and the round trip.
#[derive(Clone, Copy, Debug)]
struct Least {
    way: i128,
    round_trip: Span,
}

impl Least {
    fn and(self, other: Option<Least>) -> Least {
        other.map_or(self, |other| Least {
            way: self.way.min(other.way),
            round_trip: self.round_trip.min(other.round_trip),
        })
    }
}

/// The recent minima of the way back.
#[derive(Clone, Debug, Default)]
pub(crate) struct WayBack {
    /// The start of this period, its minima and those of the last one.
    since: Time,
    least: Option<Least>,
    last: Option<Least>,
}

impl WayBack {
    /// Returns how long an acknowledgement has waited on its way. It came `now`, the peer sent it at `sent` by its own
    /// clock, and the packet that it acknowledges had a `round_trip`. Without that time, no round trip is shorter than the
    /// recent ones, so that a clock that is set has little effect.
    pub(crate) fn waited(&mut self, now: Time, sent: Time, round_trip: Span) -> Span {
        let age = now.since(self.since);
        if age >= PERIOD {
            self.last = self.least.take().filter(|_| age < PERIOD * 2);
            self.since = now;
        }
        let way = i128::from(now.as_ps()) - i128::from(sent.as_ps());
        let this = Least { way, round_trip }.and(self.least);
        self.least = Some(this);
        let least = this.and(self.last);
        let excess = u64::try_from(way - least.way).map_or(Span::ZERO, Span::from_ps);
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
    fn a_queue_on_the_way_back_is_seen_and_one_on_the_way_out_is_not() {
        // The clock of the peer is ahead by a day, or behind.
        for (ours, theirs) in [(1_000, 86_401_000), (86_401_000, 1_000)] {
            let mut path = WayBack::default();
            // 50 ms each way.
            assert_eq!(path.waited(at(ours + 100), at(theirs + 50), ms(100)), ms(0));
            assert_eq!(path.waited(at(ours + 230), at(theirs + 150), ms(130)), ms(30));
            assert_eq!(path.waited(at(ours + 330), at(theirs + 280), ms(130)), ms(0));
            assert_eq!(path.waited(at(ours + 460), at(theirs + 380), ms(160)), ms(30));
        }
    }

    #[test]
    fn the_minimum_is_recent() {
        let mut path = WayBack::default();
        path.waited(at(100), at(50), ms(100));
        // The way back is longer for good.
        assert_eq!(path.waited(at(5_150), at(5_050), ms(150)), ms(50));
        assert_eq!(path.waited(at(10_149), at(10_049), ms(150)), ms(50));
        assert_eq!(path.waited(at(10_150), at(10_050), ms(150)), ms(0));
        // After two periods without samples nothing of them counts.
        assert_eq!(path.waited(at(30_250), at(30_050), ms(250)), ms(0));
    }

    #[test]
    fn a_clock_that_is_set_leaves_what_round_trips_show() {
        let mut path = WayBack::default();
        path.waited(at(100), at(10_050), ms(100));
        // Set back by 10 s, and later ahead again.
        assert_eq!(path.waited(at(200), at(150), ms(100)), ms(0));
        assert_eq!(path.waited(at(340), at(250), ms(140)), ms(40));
        assert_eq!(path.waited(at(440), at(10_390), ms(140)), ms(0));
        assert_eq!(path.waited(at(540), at(u64::MAX / 1_000_000_000), ms(140)), ms(0));
    }
}
