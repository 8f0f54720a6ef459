//! Equally spaced instants: those of cells at a rate, whose time is rarely a whole number of picoseconds.

use cellway_units::{CELL_BITS, Rate, Span, Time};

/// An instant of a pace, such as that at which the last bit of a cell passes the end of a line or of the link behind it, to a
/// fraction of a picosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pulse {
    pub(crate) at: Time,
    /// The fraction of a picosecond that `at` leaves out, in units of 1 / rate.
    pub(crate) carry: u64,
}

impl Pulse {
    /// Returns the instant, without the fraction.
    #[inline]
    pub(crate) fn at(self) -> Time {
        self.at
    }

    /// Returns the pulse `span` later.
    #[inline]
    pub(crate) fn later(self, span: Span) -> Pulse {
        Pulse { at: self.at + span, ..self }
    }
}

/// The time of one cell at a rate: whole picoseconds, and a remainder in parts of 1/rate of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    rate: Rate,
    span: Span,
    remainder: u64,
}

impl Pace {
    /// The pace of cells at `rate` (bit/s), above zero.
    pub(crate) fn new(rate: Rate) -> Pace {
        assert!(rate.as_bps() > 0, "a cell rate of zero has no cell time");
        let (span, remainder) = rate.time_for(CELL_BITS, 0);
        Pace { rate, span, remainder }
    }

    /// Returns the rate (bit/s).
    #[inline]
    pub(crate) fn rate(self) -> Rate {
        self.rate
    }

    /// Returns the time of a cell, without the fraction of a picosecond.
    #[inline]
    pub(crate) fn span(self) -> Span {
        self.span
    }

    /// Returns the fraction of a picosecond that the span leaves out, in units of 1 / rate.
    #[inline]
    pub(crate) fn remainder(self) -> u64 {
        self.remainder
    }

    /// Returns the pulse one cell time after another.
    #[inline]
    pub(crate) fn after(self, pulse: Pulse) -> Pulse {
        let mut next = Pulse { at: pulse.at + self.span, carry: pulse.carry + self.remainder };
        if next.carry >= self.rate.as_bps() {
            next.carry -= self.rate.as_bps();
            next.at += Span::from_ps(1);
        }
        next
    }

    /// Returns the pulse `cells` cell times after another.
    #[inline]
    pub(crate) fn after_many(self, pulse: Pulse, cells: u32) -> Pulse {
        let (rate, cells) = (self.rate.as_bps(), u64::from(cells));
        let small = cells.checked_mul(self.remainder).and_then(|parts| parts.checked_add(pulse.carry));
        let (ps, carry) = match small {
            Some(parts) => (parts / rate, parts % rate),
            None => {
                let parts = u128::from(cells) * u128::from(self.remainder) + u128::from(pulse.carry);
                ((parts / u128::from(rate)) as u64, (parts % u128::from(rate)) as u64)
            }
        };
        Pulse { at: pulse.at + self.span.saturating_mul(cells) + Span::from_ps(ps), carry }
    }

    /// Returns how many of the pulses from `first` on, at most `most`, come before `until`.
    #[inline]
    pub(crate) fn count_before(self, first: Pulse, most: u32, until: Time) -> u32 {
        if most == 0 || first.at >= until {
            return 0;
        }
        if self.after_many(first, most - 1).at < until {
            return most;
        }
        // No two are closer than the whole picoseconds, so this is never too few.
        let between = (until - first.at).as_ps() - 1;
        let mut count = (between / self.span.as_ps().max(1) + 1).min(u64::from(most)) as u32;
        while self.after_many(first, count - 1).at >= until {
            count -= 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_steps_are_as_many_single_ones() {
        for bps in [1_500_000, 7_000_003, 40_704_000, 149_760_000, 424_000_000, 599_040_000, u64::MAX / 3] {
            let pace = Pace::new(Rate::from_bps(bps));
            let first = Pulse { at: Time::from_ps(17), carry: bps / 2 };
            let mut pulse = first;
            for step in 0..2000 {
                assert_eq!(pace.after_many(first, step), pulse, "{step} at {bps} bit/s");
                let before = pace.count_before(first, 2000, pulse.at);
                let same = pace.count_before(first, 2000, pulse.at + Span::from_ps(1));
                assert!(before <= step && same > step, "{before} and {same} at {step}");
                assert!(pace.span().is_zero() || (before, same) == (step, step + 1), "{step} at {bps} bit/s");
                pulse = pace.after(pulse);
            }
        }
    }
}
