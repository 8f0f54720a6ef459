//! Equally spaced instants: those of cells at a rate, whose time is rarely a whole number of picoseconds.

use cellway_units::{CELL_BITS, Rate, Span, Time};

/// The time of a cell in picoseconds by the rate in bit/s: the same at each rate, in parts of 1 / rate of a picosecond.
const EACH: u64 = CELL_BITS.0 * 1_000_000_000_000;

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

    /// Returns the pulse one cell time before another.
    #[inline]
    pub(crate) fn before(self, pulse: Pulse) -> Pulse {
        debug_assert!(pulse.carry < self.rate.as_bps(), "a pulse is one of the pace");
        let (span, carry) = match pulse.carry.checked_sub(self.remainder) {
            Some(carry) => (self.span, carry),
            None => (self.span + Span::from_ps(1), pulse.carry + self.rate.as_bps() - self.remainder),
        };
        Pulse { at: Time::ZERO + pulse.at.since(Time::ZERO + span), carry }
    }

    /// Returns the pulse `cells` cell times after another.
    #[inline]
    pub(crate) fn after_many(self, pulse: Pulse, cells: u32) -> Pulse {
        debug_assert!(pulse.carry < self.rate.as_bps(), "a pulse is one of the pace");
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

    /// Returns the sum of the times from `first` to each of the `count` pulses that begin with it, in picoseconds; `None` for
    /// rates of many Tbit/s.
    pub(crate) fn sum_since(self, first: Pulse, count: u32) -> Option<u128> {
        /// No more are added one by one, which is faster than the divisions of a closed form.
        const FEW: u32 = 12;
        if count <= FEW {
            let (mut pulse, mut sum) = (first, 0);
            for _ in 1..count {
                pulse = self.after(pulse);
                sum += (pulse.at - first.at).as_ps();
            }
            return Some(sum.into());
        }
        let (rate, count) = (self.rate.as_bps(), u64::from(count));
        let steps = u128::from(count) * u128::from(count.saturating_sub(1)) / 2;
        let parts = (rate < 1 << 32).then(|| floor_sum(count, rate, self.remainder, first.carry))?;
        Some(steps * u128::from(self.span.as_ps()) + u128::from(parts))
    }

    /// Returns how many steps from two pulses of one instant, the carries of which are given, lead to pulses of one instant
    /// again, before the first that does not; at most `u64::MAX`, and 0 for rates of many Gbit/s, where it is not computed.
    pub(crate) fn steps_together(self, [a, b]: [u64; 2]) -> u64 {
        let (rate, low, apart) = (self.rate.as_bps(), a.min(b), a.abs_diff(b));
        if apart == 0 {
            return u64::MAX;
        }
        if rate >= 1 << 32 {
            return 0;
        }
        // Both are in one instant until the smaller fraction is so near to 1 that the larger has passed it.
        let (next, limit) = ((low + self.remainder) % rate, rate - apart);
        if next >= limit {
            return 0;
        }
        first_within(self.remainder, rate, limit - next, rate - 1 - next).unwrap_or(u64::MAX)
    }

    /// Returns how many of the pulses from `first` on, at most `most`, come before `until`.
    #[inline]
    pub(crate) fn count_before(self, first: Pulse, most: u32, until: Time) -> u32 {
        if first.at >= until {
            return 0;
        }
        // The k-th comes before if carry + k EACH is less than the time between in parts of 1 / rate.
        let (rate, between) = (self.rate.as_bps(), (until - first.at).as_ps());
        let count = match between.checked_mul(rate) {
            Some(parts) => (parts - first.carry).div_ceil(EACH),
            None => {
                let parts = u128::from(between) * u128::from(rate) - u128::from(first.carry);
                u64::try_from(parts.div_ceil(u128::from(EACH))).unwrap_or(u64::MAX)
            }
        };
        count.min(most.into()) as u32
    }
}

/// Returns the sum of floor((a i + b) / m) for i from 0 to `count` - 1, by the algorithm of Euclid. All are below 2^32, but for
/// `b`, which is at most m `count`.
fn floor_sum(count: u64, m: u64, a: u64, b: u64) -> u64 {
    let (mut count, mut m, mut a, mut b, mut sum) = (count, m, a, b, 0);
    loop {
        sum += count * count.saturating_sub(1) / 2 * (a / m) + count * (b / m);
        (a, b) = (a % m, b % m);
        let last = a * count + b;
        if last < m {
            return sum;
        }
        (count, b) = (last / m, last % m);
        (m, a) = (a, m);
    }
}

/// Returns the least x for which a x modulo m is from `low` to `high`, by the algorithm of Euclid; `None` if there is none. All
/// are below 2^32, 0 < low <= high < m.
fn first_within(a: u64, m: u64, low: u64, high: u64) -> Option<u64> {
    if a == 0 {
        return None;
    }
    let x = low.div_ceil(a);
    if a * x <= high {
        return Some(x);
    }
    // a x - m y is to be in the range, which no multiple of a is: then m y modulo a has to be in that of its negatives.
    let negative = |value: u64| (a - value % a) % a;
    let y = first_within(m % a, a, negative(high), negative(low))?;
    Some((low + m * y).div_ceil(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_steps_in_one_instant_are_those_of_single_steps() {
        for bps in [7, 1_000, 1_500_000, 7_000_003, 40_704_000, 149_760_000, 424_000_000, 599_040_000, 2_396_160_000] {
            let pace = Pace::new(Rate::from_bps(bps));
            for (a, b) in [(0, 0), (0, 1), (1, 0), (bps / 3, 0), (0, bps - 1), (bps / 2, bps / 3), (bps - 1, bps - 2)] {
                let pulses = [a, b].map(|carry| Pulse { at: Time::from_ps(5), carry });
                let [mut one, mut other] = pulses;
                let together = pace.steps_together([a, b]);
                let mut sum = 0;
                for step in 0..3000u32 {
                    assert_eq!(pace.sum_since(pulses[0], step), Some(sum), "{step} at {bps} bit/s from {a}");
                    sum += u128::from((one.at - pulses[0].at).as_ps());
                    if u64::from(step) <= together {
                        assert_eq!(one.at, other.at, "{step} at {bps} bit/s, {a} and {b}");
                    } else if u64::from(step) == together + 1 {
                        assert_ne!(one.at, other.at, "{step} at {bps} bit/s, {a} and {b}");
                    }
                    (one, other) = (pace.after(one), pace.after(other));
                }
            }
        }
    }

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
