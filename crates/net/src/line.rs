//! An output line: how long bits take to leave, exactly.

use cellway_units::{Bits, CELL_BITS, Rate, Span, Time};

use crate::pace::{Pace, Pulse};
use crate::rate_schedule::{Ended, RateSchedule, Timeline};

/// A line that clocks out one unit after another.
///
/// The time of one cell is rarely a whole number of picoseconds. The line carries the remainder
/// from unit to unit as long as it stays busy, so its long-run rate is exact. The rate is fixed, or follows a
/// [`RateSchedule`].
#[derive(Clone, Debug)]
pub struct Line {
    /// The present rate.
    rate: Rate,
    /// That of cells, for which a line has one rate.
    pace: Pace,
    /// The remainder of the last unit, in units of 10^-12 bit.
    carry: u64,
    free_at: Time,
    last: Last,
    /// The changes of the rate, if it is not fixed.
    timeline: Option<Box<Timeline>>,
}

/// The last result of a division, which is mostly the next one, too. A line sends either packets or cells.
#[derive(Clone, Copy, Debug)]
enum Last {
    /// The time of a packet of so many bits, and the remainder: most packets of a line have one length.
    Packet(Bits, Span, u64),
    /// How many cells of a train that come from here on leave as the next of it come; see [`Line::in_step`].
    Step(InStep),
}

/// A pulse of a train that comes to a line in the instant in which that is free, with the carry of both, and the number of cells
/// from there on of which each leaves as the next one comes.
#[derive(Clone, Copy, Debug)]
struct InStep {
    came: Pulse,
    carry: u64,
    cells: u64,
}

impl Line {
    /// An idle line of `rate` (bit/s).
    pub fn new(rate: Rate) -> Line {
        let pace = Pace::new(rate);
        let last = Last::Packet(CELL_BITS, pace.span(), pace.remainder());
        Line { rate, pace, carry: 0, free_at: Time::ZERO, last, timeline: None }
    }

    /// An idle line whose rate is `first` until the first change of `schedule`. It sends packets only: the times of cells are
    /// derived from one rate.
    pub fn with_schedule(first: Rate, schedule: RateSchedule) -> Line {
        let timeline = (!schedule.is_empty()).then(|| Box::new(Timeline::new(first, schedule)));
        Line { timeline, ..Line::new(first) }
    }

    /// The rate (bit/s) at the end of the last unit.
    #[inline]
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// The pace of cells that follow each other without a gap.
    #[inline]
    pub(crate) fn pace(&self) -> Pace {
        self.pace
    }

    /// The instant at which the last bit of the last unit leaves.
    #[inline]
    pub(crate) fn free_at(&self) -> Time {
        self.free_at
    }

    /// Changes the rate of a line of cells from the next one on. The remainder of the last one is dropped.
    pub(crate) fn set_cell_rate(&mut self, rate: Rate) {
        debug_assert!(self.timeline.is_none(), "a line with a schedule sends packets");
        *self = Line { free_at: self.free_at, ..Line::new(rate) };
    }

    /// Changes the rate of a line of packets at `at`, until the next change of its schedule. Outages stay as they are, and
    /// the rest of a packet that is on the line goes at the new rate.
    #[cold]
    pub(crate) fn set_rate(&mut self, at: Time, rate: Rate) {
        let is_busy = at < self.free_at;
        let mut changed = Line { carry: self.carry, free_at: self.free_at, ..Line::new(rate) };
        changed.timeline = self.timeline.take();
        if let Some(timeline) = &mut changed.timeline {
            if let Some(Ended { at, carry, rate }) = timeline.set_rate(at, rate, is_busy) {
                (changed.rate, changed.carry, changed.free_at) = (rate, carry, at);
            }
        } else if is_busy {
            let (old, new) = (u128::from(self.rate.as_bps()), u128::from(rate.as_bps()));
            let rest = u128::from((self.free_at - at).as_ps()) * old + u128::from(self.carry);
            (changed.free_at, changed.carry) = (at + Span::from_ps((rest / new) as u64), (rest % new) as u64);
        }
        *self = changed;
    }

    /// Starts to send one cell at `now`, when the line is free; returns the instant its last bit
    /// leaves. Division-free: the quotient and remainder of a cell time are kept.
    #[inline]
    pub fn send_cell(&mut self, now: Time) -> Time {
        debug_assert!(self.timeline.is_none(), "a line with a schedule sends packets");
        self.begin(now);
        let Pulse { at, carry } = self.pace.after(self.pulse_at(now));
        self.carry = carry;
        self.free_at = at;
        at
    }

    /// Returns the pulse of a service that begins at `now`, when the line is free.
    #[inline]
    pub(crate) fn starts(&self, now: Time) -> Pulse {
        Pulse { at: now, carry: if now > self.free_at { 0 } else { self.carry } }
    }

    /// Returns how many cells the line can serve without a gap from `now` on, when it is free: at most `most`, each served
    /// before `until` and gone before `before`.
    #[inline]
    pub(crate) fn can_send(&self, now: Time, most: u32, [until, before]: [Time; 2]) -> u32 {
        let start = self.starts(now);
        let served = self.pace.count_before(start, most, until);
        // The last is gone less than a picosecond after a cell time from `until`.
        if until + self.pace.span() < before {
            return served;
        }
        self.pace.count_before(self.pace.after(start), served, before)
    }

    /// Sends `cells` cells without a gap from `now` on, when the line is free; returns the pulse at which the last leaves.
    #[inline]
    pub(crate) fn send_cells(&mut self, now: Time, cells: u32) -> Pulse {
        let end = self.pace.after_many(self.starts(now), cells);
        (self.carry, self.free_at) = (end.carry, end.at);
        end
    }

    /// Returns how many cells of a train of the pace of this line, the next of which comes at `came` when the line is free, each
    /// leave in the instant in which the next one comes.
    #[inline]
    pub(crate) fn in_step(&mut self, came: Pulse) -> u64 {
        let carry = self.starts(came.at).carry;
        if let Last::Step(step) = self.last
            && step.came == came
            && step.carry == carry
        {
            return step.cells;
        }
        let cells = self.pace.steps_together([came.carry, carry]);
        self.last = Last::Step(InStep { came, carry, cells });
        cells
    }

    /// Sends `cells` cells that come from `came` on and of which each leaves as the next one comes: at most those of
    /// [`Line::in_step`]. Returns the pulse at which the next one would come: the last leaves in its instant.
    #[inline]
    pub(crate) fn send_in_step(&mut self, came: Pulse, cells: u32) -> Pulse {
        let next = self.pace.after_many(came, cells);
        // In one instant with the arrivals at both ends, the services keep their distance of fractions of a picosecond.
        self.carry = (self.starts(came.at).carry + next.carry) - came.carry;
        self.free_at = next.at;
        if let Last::Step(step) = &mut self.last {
            let left = step.cells.saturating_sub(u64::from(cells));
            *step = InStep { came: next, carry: self.carry, cells: left };
        }
        next
    }

    /// Returns the state that a cell changes.
    #[inline(always)]
    pub(crate) fn clone_state(&self) -> (u64, Time) {
        (self.carry, self.free_at)
    }

    /// Takes a cell back: returns to the state before it was sent.
    #[inline(always)]
    pub(crate) fn return_to(&mut self, (carry, free_at): (u64, Time)) {
        (self.carry, self.free_at) = (carry, free_at);
    }

    /// Returns whether a cell takes less than a picosecond, so that it may leave in the instant in which it starts.
    #[inline]
    pub(crate) fn is_immediate(&self) -> bool {
        self.pace.span().is_zero()
    }

    /// Returns a lower bound of the time of a unit: that of one octet, on a line without a schedule.
    pub(crate) fn least_span(&self) -> Span {
        if self.timeline.is_some() { Span::ZERO } else { self.rate.time_for(Bits(8), 0).0 }
    }

    /// Returns the end of the last unit, given that it is at `at`.
    #[inline]
    pub(crate) fn pulse_at(&self, at: Time) -> Pulse {
        Pulse { at, carry: self.carry }
    }

    /// Starts to send `bits` at `now`, when the line is free, with `cost` of processing on top; returns
    /// the instant the last bit leaves.
    #[inline]
    pub fn send(&mut self, now: Time, bits: Bits, cost: Span) -> Time {
        self.begin(now);
        if self.timeline.is_some() {
            return self.send_scheduled(now + cost, bits);
        }
        let (mut span, remainder) = match self.last {
            Last::Packet(same, span, remainder) if same == bits => (span, remainder),
            _ => {
                let (span, remainder) = self.rate.time_for(bits, 0);
                self.last = Last::Packet(bits, span, remainder);
                (span, remainder)
            }
        };
        // Division-free, as for cells.
        let (carry, is_over) = self.carry.overflowing_add(remainder);
        self.carry = carry;
        if is_over || carry >= self.rate.as_bps() {
            self.carry = carry.wrapping_sub(self.rate.as_bps());
            span += Span::from_ps(1);
        }
        self.free_at = now + span + cost;
        self.free_at
    }

    #[cold]
    fn send_scheduled(&mut self, at: Time, bits: Bits) -> Time {
        let Some(timeline) = &mut self.timeline else { unreachable!("the line has a schedule") };
        let Ended { at, carry, rate } = timeline.send(at, bits, self.carry);
        (self.rate, self.carry, self.free_at) = (rate, carry, at);
        at
    }

    /// Returns true during an outage of the schedule at `now`, which is not before the end of the last unit.
    pub(crate) fn is_out(&mut self, now: Time) -> bool {
        self.timeline.as_mut().is_some_and(|timeline| timeline.is_out(now))
    }

    /// Returns the rate at `now`; zero in an outage.
    pub(crate) fn rate_at(&self, now: Time) -> Rate {
        self.timeline.as_ref().map_or(self.rate, |timeline| timeline.rate_at(now, self.free_at > now))
    }

    /// Returns the part, from 0 to 1, of the packet of `bits` on the line that has been sent at `now`.
    pub(crate) fn part_sent(&self, now: Time, bits: Bits) -> f64 {
        let left = match &self.timeline {
            Some(timeline) => timeline.left(now),
            None => self.free_at.since(now).as_secs_f64() * self.rate.as_bps() as f64,
        };
        (1.0 - left / bits.0 as f64).clamp(0.0, 1.0)
    }

    /// Returns the time from the end of a cell to that of the `cells`-th after it without a gap.
    pub(crate) fn span_of(&self, cells: u16) -> f64 {
        f64::from(cells) * self.rate.time_for(CELL_BITS, 0).0.as_secs_f64()
    }

    /// Returns the whole bits that the line, which is idle since `since` or longer, could have sent from then to `now`.
    pub(crate) fn idle_bits(&self, since: Time, now: Time) -> u128 {
        let units = match &self.timeline {
            Some(timeline) => timeline.sendable(since, now),
            None => u128::from((now - since).as_ps()) * u128::from(self.rate.as_bps()),
        };
        units / 1_000_000_000_000
    }

    /// A line that has been idle forgets the fraction of a picosecond it was owed.
    #[inline]
    fn begin(&mut self, now: Time) {
        debug_assert!(now >= self.free_at, "the line is busy until {}", self.free_at);
        if now > self.free_at {
            self.carry = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellway_units::Cells;

    #[test]
    fn a_hundred_thousand_cells_on_each_rate_are_exactly_on_time() {
        for bps in [1_500_000, 1_536_000, 34_368_000, 40_704_000, 149_760_000, 599_040_000, 2_396_160_000] {
            let mut line = Line::new(Rate::from_bps(bps));
            let mut now = Time::ZERO;
            for _ in 0..100_000 {
                now = line.send_cell(now);
            }
            let (exact, _) = line.rate().time_for(Cells(100_000).bits(), 0);
            assert_eq!(now, Time::ZERO + exact, "at {bps} bit/s");
        }
    }

    #[test]
    fn a_cell_and_its_bits_take_the_same_time() {
        let mut by_cell = Line::new(Rate::from_bps(7_000_003));
        let mut by_bits = by_cell.clone();
        let mut now = Time::ZERO;
        for i in 0..1000 {
            let left = by_cell.send_cell(now);
            assert_eq!(left, by_bits.send(now, CELL_BITS, Span::ZERO));
            now = left + Span::from_ns(u64::from(i % 7 == 0));
        }
    }
}
