//! Rates of a line over time, and the exact transmission of a packet across changes of rate.

use cellway_units::{Bits, Rate, Span, Time};

use crate::schedule::{Place, Schedule, Scheduled};

/// The longest time for which a line without a rate delays the unit on it; after a longer one the unit is never sent. It
/// bounds the search for a rate in a schedule that has none.
const NEVER: Span = Span::from_secs(24 * 3600);

/// The rates that a line will have, and its outages. A packet that is on the line at a change is sent in parts, each at the
/// rate of its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateSchedule {
    rates: Schedule<Rate>,
    /// True from the start of each outage, false from its end.
    outages: Schedule<bool>,
}

impl RateSchedule {
    /// A schedule of these rates, once or periodic; a line whose rate is zero sends nothing. During outages, which have
    /// true at their start and false at their end, the rate is zero whatever `rates` says.
    pub fn new(rates: Schedule<Rate>, outages: Schedule<bool>) -> RateSchedule {
        RateSchedule { rates, outages }
    }

    /// Returns true if it has no changes.
    pub fn is_empty(&self) -> bool {
        self.rates.is_empty() && self.outages.is_empty()
    }
}

/// The instant at which a transmission ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// [`Time::MAX`] if it never ends.
    pub(crate) at: Time,
    /// What the line sends after `at` of the last bit, in units of 10^-12 bit: less than it sends in a picosecond.
    pub(crate) carry: u64,
    /// The rate at `at`.
    pub(crate) rate: Rate,
}

/// A schedule, and the changes of it that have been made.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    rates: Scheduled<Rate>,
    outages: Scheduled<bool>,
    /// The last unit, of which a change by a caller may send the rest at another rate.
    last: Begun,
}

/// The start of a transmission.
#[derive(Clone, Copy, Debug)]
struct Begun {
    at: Time,
    /// All that it sends, in units of 10^-12 bit.
    units: u128,
    /// The changes that had been made then.
    rates: Place<Rate>,
    outages: Place<bool>,
}

impl Timeline {
    /// A timeline whose rate is `first` until the first change.
    pub(crate) fn new(first: Rate, schedule: RateSchedule) -> Timeline {
        let RateSchedule { rates, outages } = schedule;
        let (rates, outages) = (Scheduled::new(first, rates), Scheduled::new(false, outages));
        let last = Begun { at: Time::ZERO, units: 0, rates: rates.place(), outages: outages.place() };
        Timeline { rates, outages, last }
    }

    fn rate(&self) -> Rate {
        if self.outages.value() { Rate::from_bps(0) } else { self.rates.value() }
    }

    fn next_change(&self) -> Time {
        self.rates.next_change().min(self.outages.next_change())
    }

    /// Makes the changes at `at`, which is [`Timeline::next_change`].
    fn change(&mut self, at: Time) {
        if self.rates.next_change() == at {
            self.rates.change();
        }
        if self.outages.next_change() == at {
            self.outages.change();
        }
    }

    /// Sends `bits`, and `carry` of the bits before them, from `at` on.
    pub(crate) fn send(&mut self, at: Time, bits: Bits, carry: u64) -> Ended {
        // In units of 10^-12 bit, of which a line of r bit/s sends r in a picosecond.
        self.send_units(at, u128::from(bits.0) * 1_000_000_000_000 + u128::from(carry))
    }

    /// Changes the rate at `at`, until the next change of the schedule; outages stay as they are. If the last unit is on the
    /// line then, the rest of it is sent as if the schedule had had the change; returns its end.
    pub(crate) fn set_rate(&mut self, at: Time, rate: Rate, is_busy: bool) -> Option<Ended> {
        // The end of the unit may be after changes that are still to come.
        self.return_to_last();
        let rest = is_busy.then(|| self.last.units - self.sendable(self.last.at, at));
        self.rates.advance(at);
        self.outages.advance(at);
        self.rates.set(rate);
        rest.map(|rest| self.send_units(at, rest))
    }

    fn send_units(&mut self, mut at: Time, mut left: u128) -> Ended {
        self.rates.advance(at);
        self.outages.advance(at);
        self.last = Begun { at, units: left, rates: self.rates.place(), outages: self.outages.place() };
        let mut never = at + NEVER;
        loop {
            if self.outages.value() {
                // No change of the rate matters before the end of the outage.
                at = self.outages.next_change();
                if at == Time::MAX || at > never {
                    return Ended { at: Time::MAX, carry: 0, rate: Rate::from_bps(0) };
                }
                self.outages.change();
                self.rates.advance(at);
                continue;
            }
            let (change, rate) = (self.next_change(), self.rate());
            let sent = u128::from((change - at).as_ps()) * u128::from(rate.as_bps());
            if left < sent {
                let per_ps = u128::from(rate.as_bps());
                let span = Span::from_ps((left / per_ps) as u64);
                return Ended { at: at + span, carry: (left % per_ps) as u64, rate };
            }
            if rate.as_bps() > 0 {
                never = change + NEVER;
            }
            if change == Time::MAX || change > never {
                return Ended { at: Time::MAX, carry: 0, rate };
            }
            left -= sent;
            at = change;
            self.change(change);
            if left == 0 {
                return Ended { at, carry: 0, rate: self.rate() };
            }
        }
    }

    /// Returns the rate at `now`. If the line is busy, changes after `now` may have been made.
    pub(crate) fn rate_at(&self, now: Time, is_busy: bool) -> Rate {
        let mut then = self.clone();
        if is_busy {
            then.return_to_last();
        }
        then.rates.advance(now);
        then.outages.advance(now);
        then.rate()
    }

    /// Returns the bits of the unit on the line that are still to be sent at `now`.
    pub(crate) fn left(&self, now: Time) -> f64 {
        let mut then = self.clone();
        then.return_to_last();
        let sent = if now > self.last.at { then.sendable(self.last.at, now) } else { 0 };
        self.last.units.saturating_sub(sent) as f64 / 1e12
    }

    /// Takes back the changes since the start of the last unit.
    fn return_to_last(&mut self) {
        self.rates.return_to(self.last.rates);
        self.outages.return_to(self.last.outages);
    }

    /// Returns true during an outage.
    pub(crate) fn is_out(&mut self, now: Time) -> bool {
        self.outages.at(now)
    }

    /// Returns the units of 10^-12 bit that the line sends from `from` to `to`.
    pub(crate) fn sendable(&self, mut from: Time, to: Time) -> u128 {
        let mut ahead = self.clone();
        ahead.rates.advance(from);
        ahead.outages.advance(from);
        let mut sendable = 0;
        loop {
            let change = ahead.next_change();
            sendable += u128::from((change.min(to) - from).as_ps()) * u128::from(ahead.rate().as_bps());
            if change >= to {
                return sendable;
            }
            from = change;
            ahead.change(change);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::line::Line;

    const OUT: u64 = 0;

    fn ps(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    /// The rate at each picosecond, and what leaves then.
    struct Oracle {
        first: u64,
        changes: Vec<(u64, u64)>,
        period: Option<u64>,
        outages: Vec<(u64, u64)>,
    }

    impl Oracle {
        fn rate(&self, t: u64) -> u64 {
            if self.outages.iter().any(|&(start, end)| (start..end).contains(&t)) {
                return OUT;
            }
            let last = |until: u64| self.changes.iter().rev().find(|&&(at, _)| at <= until).map(|&(_, rate)| rate);
            match self.period {
                Some(period) if t >= period => last(t % period).or(last(period)),
                _ => last(t),
            }
            .unwrap_or(self.first)
        }

        /// Sends picosecond by picosecond; returns the end and what is left then.
        fn send(&self, at: u64, bits: u64, carry: u64) -> (u64, u64) {
            let (mut t, mut left) = (at, bits * 1_000_000_000_000 + carry);
            while left > 0 && left >= self.rate(t) {
                left -= self.rate(t);
                t += 1;
            }
            (t, left)
        }
    }

    fn rates(changes: &[(u64, u64)]) -> Vec<(Time, Rate)> {
        changes.iter().map(|&(at, bps)| (ps(at), Rate::from_bps(bps))).collect()
    }

    fn schedule(changes: &[(u64, u64)]) -> RateSchedule {
        RateSchedule::new(Schedule::once(rates(changes)), Schedule::once(Vec::new()))
    }

    proptest! {
        /// Packets of up to 60 bits on lines around 10^12 bit/s take some 60 ps, with a change every few picoseconds, a
        /// cost of processing, back to back or with gaps; once or periodic, with outages.
        #[test]
        fn packets_leave_as_if_sent_picosecond_by_picosecond(
            first in 100_000_000_000u64..10_000_000_000_000,
            changes in prop::collection::vec((0u64..300, prop_oneof![Just(0), 100_000_000_000u64..10_000_000_000_000]), 0..20),
            beyond in prop::option::of(1u64..20),
            gaps in prop::collection::vec((1u64..60, 1u64..60), 0..6),
            packets in prop::collection::vec((1u64..60, 0u64..40, 0u64..3), 1..20),
        ) {
            let mut sorted: Vec<(u64, u64)> =
                changes.iter().copied().collect::<std::collections::BTreeMap<_, _>>().into_iter().collect();
            // The line has a rate in the end.
            sorted.push((300, first));
            let period = beyond.map(|beyond| 300 + beyond);
            let mut outages = Vec::new();
            let mut end = 0;
            for (gap, length) in gaps {
                outages.push((end + gap, end + gap + length));
                end += gap + length;
            }
            let listed = match period {
                Some(period) => Schedule::repeating(rates(&sorted), Span::from_ps(period)),
                None => Schedule::once(rates(&sorted)),
            };
            let out = outages.iter().flat_map(|&(start, end)| [(ps(start), true), (ps(end), false)]).collect();
            let schedule = RateSchedule::new(listed, Schedule::once(out));
            let mut line = Line::with_schedule(Rate::from_bps(first), schedule);
            let oracle = Oracle { first, changes: sorted, period, outages };
            let (mut free_at, mut carry) = (0, 0);
            for (bits, gap, cost) in packets {
                // Every other packet follows the one before it at once.
                let gap = if gap % 2 == 0 { 0 } else { gap };
                if gap > 0 {
                    carry = 0;
                }
                let now = free_at + gap;
                (free_at, carry) = oracle.send(now + cost, bits, carry);
                let leaves = line.send(Time::ZERO + Span::from_ps(now), Bits(bits), Span::from_ps(cost));
                prop_assert_eq!(leaves, Time::ZERO + Span::from_ps(free_at));
            }
        }

        /// Changes by a caller are as good as the same changes in the schedule, on a line with a schedule and without one,
        /// and leave the other changes and the outages as they are.
        #[test]
        fn a_change_by_a_caller_is_one_of_the_schedule(
            first in 100_000_000_000u64..10_000_000_000_000,
            scheduled in prop::collection::btree_map(0u64..300, 100_000_000_000u64..10_000_000_000_000, 0..5),
            live in prop::collection::btree_map(1u64..300, 100_000_000_000u64..10_000_000_000_000, 1..5),
            gaps in prop::collection::vec((1u64..60, 1u64..60), 0..4),
            packets in prop::collection::vec((1u64..60, 0u64..40), 1..20),
        ) {
            let mut all = scheduled.clone();
            all.extend(&live);
            let mut end = 0;
            let out: Vec<_> = gaps.iter().flat_map(|&(gap, length)| {
                end += gap + length;
                [(ps(end - length), true), (ps(end), false)]
            }).collect();
            let line = |changes: &std::collections::BTreeMap<u64, u64>| {
                let changes: Vec<_> = changes.iter().map(|(&at, &bps)| (at, bps)).collect();
                let rates = Schedule::once(rates(&changes));
                Line::with_schedule(Rate::from_bps(first), RateSchedule::new(rates, Schedule::once(out.clone())))
            };
            let (mut by_caller, mut by_schedule) = (line(&scheduled), line(&all));
            let mut live = live.into_iter().peekable();
            for (bits, gap) in packets {
                let now = by_schedule.free_at() + Span::from_ps(if gap % 2 == 0 { 0 } else { gap });
                // A change at the instant at which a packet starts is made before.
                while let Some((at, bps)) = live.next_if(|&(at, _)| ps(at) <= now) {
                    by_caller.set_rate(ps(at), Rate::from_bps(bps));
                }
                by_schedule.send(now, Bits(bits), Span::ZERO);
                by_caller.send(now, Bits(bits), Span::ZERO);
                while let Some((at, bps)) = live.next_if(|&(at, _)| ps(at) < by_caller.free_at()) {
                    by_caller.set_rate(ps(at), Rate::from_bps(bps));
                }
                // At the end of a packet a schedule still slows the part of the last bit that takes less than a picosecond.
                prop_assume!(live.peek().is_none_or(|&(at, _)| ps(at) != by_caller.free_at()));
                prop_assert_eq!(by_caller.free_at(), by_schedule.free_at());
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
            let schedule = schedule(&[(ms(500).as_ps(), bps)]);
            let mut line = Line::with_schedule(Rate::from_bps(1_000_000), schedule);
            assert_eq!(line.send(Time::ZERO, Bits(1000), Span::ZERO), ms(leaves));
            assert_eq!(line.rate(), Rate::from_bps(bps));
        }
    }

    /// A packet of 12,000 bits that would take 12,000 s at 1 bit/s, and one that would never leave, go at the rate that a
    /// caller sets after 5 s.
    #[test]
    fn a_caller_frees_a_line_that_is_too_slow() {
        let s = |ms| Time::ZERO + Span::from_ms(ms);
        for schedule in [schedule(&[]), schedule(&[(s(0).as_ps(), 1)]), schedule(&[(s(0).as_ps(), 0)])] {
            let mut line = Line::with_schedule(Rate::from_bps(1), schedule);
            let sent = if line.send(s(0), Bits(12_000), Span::ZERO) == Time::MAX { 0 } else { 5 };
            line.set_rate(s(5_000), Rate::from_bps(12_000_000));
            let rest = Rate::from_bps(12_000_000).time_for(Bits(12_000 - sent), 0).0;
            assert_eq!(line.free_at(), s(5_000) + rest);
        }
    }

    /// A line ends its outage of 1 s in each 10 s whatever a caller sets.
    #[test]
    fn outages_outlive_a_change() {
        let s = |s| Time::ZERO + Span::from_secs(s);
        let outages = Schedule::repeating(vec![(s(0), true), (s(1), false)], Span::from_secs(10));
        let outages = outages.starting_at(Span::from_secs(5));
        let mut line =
            Line::with_schedule(Rate::from_bps(1000), RateSchedule::new(Schedule::once(Vec::new()), outages));
        line.set_rate(s(1), Rate::from_bps(500));
        assert_eq!(line.send(s(4), Bits(1000), Span::ZERO), s(7), "1 s before the outage and 1 s after it");
        line.set_rate(s(15), Rate::from_bps(2000));
        assert_eq!([s(15), s(16)].map(|at| line.is_out(at)), [true, false]);
    }

    /// A line that ends its schedule without a rate never sends what is left, nor does one whose schedule has none.
    #[test]
    fn a_line_without_a_rate_never_sends() {
        let send =
            |schedule| Line::with_schedule(Rate::from_bps(1000), schedule).send(Time::ZERO, Bits(1000), Span::ZERO);
        assert_eq!(send(schedule(&[(1, 0)])), Time::MAX);
        let second = Span::from_secs(1);
        let none = Schedule::repeating(vec![(Time::ZERO, Rate::from_bps(0))], second);
        assert_eq!(send(RateSchedule::new(none, Schedule::once(Vec::new()))), Time::MAX);
        // The last bit leaves in the instant in which the line loses its rate.
        assert_eq!(send(schedule(&[(second.as_ps(), 0)])), Time::ZERO + second);
    }

    /// Days without a change are passed in one step, and the rate is that of the period.
    #[test]
    fn an_idle_line_passes_its_periods_at_once() {
        let ms = |ms| Time::ZERO + Span::from_ms(ms);
        let rates = vec![(ms(0), Rate::from_bps(1000)), (ms(1), Rate::from_bps(2_000_000))];
        let schedule = RateSchedule::new(Schedule::repeating(rates, Span::from_ms(2)), Schedule::once(Vec::new()));
        let mut line = Line::with_schedule(Rate::from_bps(5), schedule);
        let start = Time::ZERO + Span::from_secs(100 * 24 * 3600);
        // 1 bit in the slow half, 999 bits in half a millisecond.
        assert_eq!(line.send(start, Bits(1000), Span::ZERO), start + Span::from_ns(1_499_500));
    }

    /// From 2 to 12 ps: 3 ps at 10, 5 ps at 100 and 2 ps at 1 unit each.
    #[test]
    fn the_bits_of_an_idle_time_are_those_of_its_rates() {
        let timeline = Timeline::new(Rate::from_bps(10), schedule(&[(5, 100), (10, 1)]));
        let at = |ps| Time::ZERO + Span::from_ps(ps);
        assert_eq!(timeline.sendable(at(2), at(12)), 30 + 500 + 2);
        assert_eq!(timeline.sendable(at(2), at(5)), 30);
    }
}
