//! Rates of a line over time, and the exact transmission of a packet across changes of rate.

use cellway_units::{Bits, Rate, Span, Time};

/// The changes of rate that a line will have. A packet that is on the line at a change is sent in parts, each at the rate of
/// its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateSchedule {
    /// In ascending order, one for each instant.
    changes: Vec<(Time, Rate)>,
}

impl RateSchedule {
    /// A schedule of these changes: from each instant on the line has the rate beside it. Of several changes at one instant
    /// the last applies. No rate is zero.
    pub fn new(mut changes: Vec<(Time, Rate)>) -> RateSchedule {
        assert!(changes.iter().all(|&(_, rate)| rate.as_bps() > 0), "a line has a rate above 0");
        changes.sort_by_key(|&(at, _)| at);
        // `dedup_by` keeps the first of equals, so the last has to move there.
        changes.dedup_by(|later, earlier| {
            let is_same = later.0 == earlier.0;
            if is_same {
                earlier.1 = later.1;
            }
            is_same
        });
        RateSchedule { changes }
    }

    /// Returns true if it has no changes.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

/// The instant at which a transmission ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) at: Time,
    /// What the line sends after `at` of the last bit, in units of 10^-12 bit: less than it sends in a picosecond.
    pub(crate) carry: u64,
    /// The rate at `at`.
    pub(crate) rate: Rate,
}

/// A schedule, and the changes of it that have been applied.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    schedule: RateSchedule,
    applied: usize,
}

impl Timeline {
    pub(crate) fn new(schedule: RateSchedule) -> Timeline {
        Timeline { schedule, applied: 0 }
    }

    /// Sends `bits`, and `carry` of the bits before them, from `at` on, at `rate` until the next change.
    pub(crate) fn send(&mut self, mut at: Time, bits: Bits, carry: u64, mut rate: Rate) -> Ended {
        // In units of 10^-12 bit, of which a line of r bit/s sends r in a picosecond.
        let mut left = u128::from(bits.0) * 1_000_000_000_000 + u128::from(carry);
        while let Some(&(change, next)) = self.schedule.changes.get(self.applied) {
            let sent = u128::from((change.max(at) - at).as_ps()) * u128::from(rate.as_bps());
            if left < sent {
                break;
            }
            left -= sent;
            (at, rate) = (at.max(change), next);
            self.applied += 1;
        }
        let per_ps = u128::from(rate.as_bps());
        let span = Span::from_ps((left / per_ps) as u64);
        Ended { at: at + span, carry: (left % per_ps) as u64, rate }
    }

    /// Returns the units of 10^-12 bit that the line sends from `from` to `to`, at `rate` until the next change.
    pub(crate) fn sendable(&self, mut from: Time, to: Time, mut rate: Rate) -> u128 {
        let mut sendable = 0;
        let ahead = &self.schedule.changes[self.applied..];
        for &(change, next) in ahead.iter().take_while(|&&(change, _)| change < to) {
            sendable += u128::from((change.max(from) - from).as_ps()) * u128::from(rate.as_bps());
            (from, rate) = (from.max(change), next);
        }
        sendable + u128::from((to.max(from) - from).as_ps()) * u128::from(rate.as_bps())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::line::Line;

    /// Sends picosecond by picosecond; returns the end and what is left then.
    fn oracle(changes: &[(u64, u64)], first: u64, at: u64, bits: u64, carry: u64) -> (u64, u64) {
        let rate = |t: u64| changes.iter().rev().find(|&&(change, _)| change <= t).map_or(first, |&(_, rate)| rate);
        let (mut t, mut left) = (at, bits * 1_000_000_000_000 + carry);
        while left >= rate(t) {
            left -= rate(t);
            t += 1;
        }
        (t, left)
    }

    fn schedule(changes: &[(u64, u64)]) -> RateSchedule {
        RateSchedule::new(
            changes.iter().map(|&(at, bps)| (Time::ZERO + Span::from_ps(at), Rate::from_bps(bps))).collect(),
        )
    }

    proptest! {
        /// Packets of up to 60 bits on lines around 10^12 bit/s take some 60 ps, with a change every few picoseconds, a
        /// cost of processing, back to back or with gaps.
        #[test]
        fn packets_leave_as_if_sent_picosecond_by_picosecond(
            first in 100_000_000_000u64..10_000_000_000_000,
            changes in prop::collection::vec((0u64..300, 100_000_000_000u64..10_000_000_000_000), 0..20),
            packets in prop::collection::vec((1u64..60, 0u64..40, 0u64..3), 1..20),
        ) {
            let mut line = Line::with_schedule(Rate::from_bps(first), schedule(&changes));
            let mut sorted = changes.clone();
            sorted.sort_by_key(|&(at, _)| at);
            let (mut free_at, mut carry) = (0, 0);
            for (bits, gap, cost) in packets {
                // Every other packet follows the one before it at once.
                let gap = if gap % 2 == 0 { 0 } else { gap };
                if gap > 0 {
                    carry = 0;
                }
                let now = free_at + gap;
                (free_at, carry) = oracle(&sorted, first, now + cost, bits, carry);
                let leaves = line.send(Time::ZERO + Span::from_ps(now), Bits(bits), Span::from_ps(cost));
                prop_assert_eq!(leaves, Time::ZERO + Span::from_ps(free_at));
            }
        }

        /// A line whose schedule keeps its rate is one without a schedule.
        #[test]
        fn changes_to_the_same_rate_change_nothing(
            bps in 1_000u64..10_000_000_000,
            changes in prop::collection::vec(0u64..1_000_000_000, 0..10),
            packets in prop::collection::vec((1u64..20_000, 0u64..1000, 0u64..1000), 1..30),
        ) {
            let rate = Rate::from_bps(bps);
            let same: Vec<(u64, u64)> = changes.iter().map(|&at| (at, bps)).collect();
            let (mut fixed, mut scheduled) = (Line::new(rate), Line::with_schedule(rate, schedule(&same)));
            let mut now = Time::ZERO;
            for (bits, gap, cost) in packets {
                let leaves = fixed.send(now, Bits(bits), Span::from_ps(cost));
                prop_assert_eq!(scheduled.send(now, Bits(bits), Span::from_ps(cost)), leaves);
                now = leaves + Span::from_ps(if gap % 2 == 0 { 0 } else { gap });
            }
        }
    }

    /// 1000 bits at 1 Mbit/s take 1 ms. With 4 Mbit/s from 0.5 ms on the other 500 bits take 0.125 ms; with 250 kbit/s 2 ms.
    #[test]
    fn a_packet_on_the_line_at_a_change_is_sent_in_two_parts() {
        let ms = |us| Time::ZERO + Span::from_us(us);
        for (bps, leaves) in [(4_000_000, 625), (250_000, 2500)] {
            let schedule = RateSchedule::new(vec![(ms(500), Rate::from_bps(bps))]);
            let mut line = Line::with_schedule(Rate::from_bps(1_000_000), schedule);
            assert_eq!(line.send(Time::ZERO, Bits(1000), Span::ZERO), ms(leaves));
            assert_eq!(line.rate(), Rate::from_bps(bps));
        }
    }

    /// Of two changes at one instant the last applies, in whatever order the instants come.
    #[test]
    fn changes_are_sorted_and_the_last_of_an_instant_applies() {
        assert_eq!(schedule(&[(7, 1), (3, 2), (7, 3), (3, 4)]), schedule(&[(3, 4), (7, 3)]));
        assert!(schedule(&[]).is_empty());
    }

    /// From 2 to 12 ps: 3 ps at 10, 5 ps at 100 and 2 ps at 1 unit each.
    #[test]
    fn the_bits_of_an_idle_time_are_those_of_its_rates() {
        let timeline = Timeline::new(schedule(&[(5, 100), (10, 1)]));
        let at = |ps| Time::ZERO + Span::from_ps(ps);
        assert_eq!(timeline.sendable(at(2), at(12), Rate::from_bps(10)), 30 + 500 + 2);
        assert_eq!(timeline.sendable(at(2), at(5), Rate::from_bps(10)), 30);
    }
}
