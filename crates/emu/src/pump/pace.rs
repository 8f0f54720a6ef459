//! When the loop runs its next pass: at once while there is little to do, collecting what comes while there is much.

use cellway_units::{Span, Time};

use crate::sys::Demand;

/// The bounds of the time between passes while there is much to do.
const SHORTEST: Span = Span::from_us(20);
const LONGEST: Span = Span::from_us(100);
/// Passes that may follow each other at once after a quiet time.
const BURST: u64 = 16;
/// The most that a wait for a deadline is spun away, and the least margin.
const MOST_MARGIN: Span = Span::from_us(60);
const LEAST_MARGIN: Span = Span::from_us(5);
/// One in so many parts of a processor may be spun away, and so much in a row.
const SPIN_PARTS: u64 = 40;
const SPIN_BURST: Span = Span::from_ms(2);

/// The pace of a loop.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// The time between passes while there is much to do.
    interval: Span,
    /// Time that passes have not used yet, at most [`BURST`] intervals.
    credit: Span,
    /// Time that may be spun.
    spin: Span,
    /// By how much waits have come back after their deadlines, smoothed.
    margin: Span,
    last: Time,
}

impl Pace {
    /// A pass each tenth of what a packet may be late, at most 100 µs.
    pub(super) fn new(limit: Span) -> Pace {
        let interval = (limit / 10).min(LONGEST).max(SHORTEST);
        Pace { interval, credit: interval * BURST, spin: SPIN_BURST, margin: MOST_MARGIN, last: Time::ZERO }
    }

    /// The part of a processor that this pace comes to. A pass takes some 20 µs with its waits and the packets that it
    /// hands over, so passes that follow each other faster than the longest interval may leave nothing of one.
    pub(super) fn demand(&self) -> Demand {
        if self.interval < LONGEST { Demand::Whole } else { Demand::Part }
    }

    /// A pass has ended at `now`; returns the instant before which the next should not begin.
    pub(super) fn passed(&mut self, now: Time) -> Time {
        let elapsed = now.since(self.last);
        self.credit = (self.credit + elapsed).min(self.interval * BURST);
        let missing = self.interval.saturating_sub(self.credit);
        self.credit = self.credit.saturating_sub(self.interval);
        self.spin = (self.spin + (elapsed + missing) / SPIN_PARTS).min(SPIN_BURST);
        // What is missing is paid by the sleep, which is so used up.
        self.last = self.last.max(now + missing);
        now + missing
    }

    /// How long before a deadline a wait for it should end, so that the rest is spun; zero if enough was spun of late.
    pub(super) fn margin(&self) -> Span {
        if self.spin >= self.margin { self.margin } else { Span::ZERO }
    }

    /// A wait came back so long after its deadline.
    pub(super) fn overslept(&mut self, by: Span) {
        let by = by.min(MOST_MARGIN);
        self.margin =
            if by > self.margin { self.margin + (by - self.margin) / 4 } else { self.margin - (self.margin - by) / 16 };
        self.margin = self.margin.max(LEAST_MARGIN);
    }

    /// So long was spun.
    pub(super) fn spun(&mut self, span: Span) {
        self.spin = self.spin.saturating_sub(span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_loop_acts_at_once_and_a_busy_one_collects() {
        let mut pace = Pace::new(Span::from_ms(1));
        assert_eq!((pace.interval, pace.demand()), (Span::from_us(100), Demand::Part));
        assert_eq!(Pace::new(Span::from_us(200)).demand(), Demand::Whole);
        let mut now = Time::ZERO + Span::from_secs(1);
        let mut passes = 0;
        let end = now + Span::from_ms(100);
        while now < end {
            // A pass of 2 us, and more to do at once.
            now = pace.passed(now + Span::from_us(2));
            passes += 1;
        }
        assert!((1000..=1000 + BURST as usize).contains(&passes), "{passes}");
        // Ten packets a millisecond are no hurry.
        for _ in 0..100 {
            now += Span::from_us(150);
            assert_eq!(pace.passed(now), now);
        }
    }

    #[test]
    fn the_interval_follows_what_may_be_late() {
        assert_eq!(Pace::new(Span::from_us(200)).interval, Span::from_us(20));
        assert_eq!(Pace::new(Span::from_us(500)).interval, Span::from_us(50));
        assert_eq!(Pace::new(Span::from_secs(10)).interval, Span::from_us(100));
    }

    #[test]
    fn no_more_is_spun_than_a_fortieth() {
        let mut pace = Pace::new(Span::from_ms(1));
        (0..100).for_each(|_| pace.overslept(Span::from_us(30)));
        assert!(pace.margin() < Span::from_us(31));
        let (mut spun, mut now) = (Span::ZERO, Time::ZERO);
        for _ in 0..10_000 {
            now += Span::from_us(100);
            pace.passed(now);
            let margin = pace.margin();
            pace.spun(margin);
            spun += margin;
        }
        assert!(spun <= SPIN_BURST + Span::from_secs(1) / SPIN_PARTS, "{spun:?}");
        assert!(spun >= Span::from_secs(1) / (SPIN_PARTS + 1), "{spun:?}");
    }
}
