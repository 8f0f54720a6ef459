//! The pace of the loop: passes follow at once under light load, and at a minimum interval under heavy load.

use cellway_units::{Span, Time};

use crate::sys::Demand;

/// The bounds of the interval between passes under heavy load.
const SHORTEST: Span = Span::from_us(20);
const LONGEST: Span = Span::from_us(100);
/// The most passes that may follow each other at once after an idle time.
const BURST: u64 = 16;
/// The bounds of the time before a deadline that is spent spinning.
const MOST_MARGIN: Span = Span::from_us(60);
const LEAST_MARGIN: Span = Span::from_us(5);
/// The loop spins for at most this fraction (1 / `SPIN_PARTS`) of a processor, and at most this long in a row.
const SPIN_PARTS: u64 = 40;
const SPIN_BURST: Span = Span::from_ms(2);

/// The pace of a loop.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// The interval between passes under heavy load.
    interval: Span,
    /// Unused time of earlier passes, at most [`BURST`] intervals.
    credit: Span,
    /// The time that may still be spent spinning.
    spin: Span,
    /// Smoothed time by which waits return after their deadlines.
    margin: Span,
    last: Time,
}

impl Pace {
    /// The interval is a tenth of the lateness limit, at most 100 µs.
    pub(super) fn new(limit: Span) -> Pace {
        let interval = (limit / 10).min(LONGEST).max(SHORTEST);
        Pace { interval, credit: interval * BURST, spin: SPIN_BURST, margin: MOST_MARGIN, last: Time::ZERO }
    }

    /// Returns the part of a processor that this pace may need. A pass takes some 20 µs with its waits and the packets
    /// that it writes, so passes that are closer together than the longest interval may fill a processor.
    pub(super) fn demand(&self) -> Demand {
        if self.interval < LONGEST { Demand::Whole } else { Demand::Part }
    }

    /// Records a pass that ended at `now`; returns the instant before which the next must not begin.
    pub(super) fn passed(&mut self, now: Time) -> Time {
        let elapsed = now.since(self.last);
        self.credit = (self.credit + elapsed).min(self.interval * BURST);
        let missing = self.interval.saturating_sub(self.credit);
        self.credit = self.credit.saturating_sub(self.interval);
        self.spin = (self.spin + (elapsed + missing) / SPIN_PARTS).min(SPIN_BURST);
        // The missing time is made up by the sleep, and so is used up when the sleep ends.
        self.last = self.last.max(now + missing);
        now + missing
    }

    /// Returns how long before a deadline a wait should end, with the rest spent spinning; zero if the spinning budget
    /// is used up.
    pub(super) fn margin(&self) -> Span {
        if self.spin >= self.margin { self.margin } else { Span::ZERO }
    }

    /// Records that a wait returned `by` after its deadline.
    pub(super) fn overslept(&mut self, by: Span) {
        let by = by.min(MOST_MARGIN);
        self.margin =
            if by > self.margin { self.margin + (by - self.margin) / 4 } else { self.margin - (self.margin - by) / 16 };
        self.margin = self.margin.max(LEAST_MARGIN);
    }

    /// Records that `span` was spent spinning.
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
        // Ten packets a millisecond are a light load.
        for _ in 0..100 {
            now += Span::from_us(150);
            assert_eq!(pace.passed(now), now);
        }
    }

    #[test]
    fn the_interval_follows_the_lateness_limit() {
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
