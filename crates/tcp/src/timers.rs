//! The timers of an endpoint and the clock they go by.

use cellway_units::{Span, Time};

/// The purpose of a deadline. Of several at one instant the first in this order is due first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimerKind {
    /// The reordering timer of RACK, or the tail loss probe. RFC 8985 §6.2, §7.2. The retransmission timer is not due
    /// before it.
    LossDetection,
    /// Something sent is not acknowledged. RFC 6298.
    Retransmit,
    /// The peer's window keeps data waiting. RFC 9293 §3.8.6.1.
    Persist,
    /// A delayed acknowledgement is due. RFC 9293 §3.8.6.3.
    DelayedAck,
    /// Lingering in TIME-WAIT ends. RFC 9293 §3.6.1.
    TimeWait,
    /// Pacing permits the next segment.
    Pace,
}

impl TimerKind {
    const ALL: [TimerKind; 6] = [
        TimerKind::LossDetection,
        TimerKind::Retransmit,
        TimerKind::Persist,
        TimerKind::DelayedAck,
        TimerKind::TimeWait,
        TimerKind::Pace,
    ];
}

/// The deadline of each timer, indexed by its kind.
#[derive(Clone, Debug)]
pub(crate) struct Timers([Time; 6]);

/// The deadline of a timer that is not set.
const NEVER: Time = Time::from_ps(u64::MAX);

impl Default for Timers {
    fn default() -> Timers {
        Timers([NEVER; 6])
    }
}

impl Timers {
    pub(crate) fn set(&mut self, kind: TimerKind, at: Time) {
        self.0[kind as usize] = at;
    }
    pub(crate) fn cancel(&mut self, kind: TimerKind) {
        self.0[kind as usize] = NEVER;
    }
    pub(crate) fn cancel_all(&mut self) {
        self.0 = [NEVER; 6];
    }
    pub(crate) fn is_set(&self, kind: TimerKind) -> bool {
        self.0[kind as usize] != NEVER
    }
    /// Returns the deadline of a timer, if it is set.
    pub(crate) fn at(&self, kind: TimerKind) -> Option<Time> {
        Some(self.0[kind as usize]).filter(|&at| at != NEVER)
    }
    /// Returns the earliest deadline; at the same instant, the first in the order of [`TimerKind`].
    #[inline]
    pub(crate) fn earliest(&self) -> Option<(Time, TimerKind)> {
        // The deadlines are compared without the kind, which most callers do not use.
        let (mut least, mut first) = (self.0[0], 0);
        for (kind, &at) in self.0.iter().enumerate().skip(1) {
            if at < least {
                (least, first) = (at, kind);
            }
        }
        (least != NEVER).then(|| (least, TimerKind::ALL[first]))
    }
    /// Removes the earliest timer that is due at `now` and returns it.
    pub(crate) fn take_due(&mut self, now: Time) -> Option<TimerKind> {
        let (at, kind) = self.earliest()?;
        (at <= now).then(|| {
            self.cancel(kind);
            kind
        })
    }
}

/// A clock that ticks at multiples of `tick` since time zero; continuous if that is zero.
///
/// The timers of 4.3BSD are counters that a routine run every 500 ms counts down, and its round-trip
/// times are counters that the same routine counts up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TickClock {
    pub(crate) tick: Span,
}

impl TickClock {
    /// Returns the whole ticks since time zero.
    pub(crate) fn ticks(self, at: Time) -> u64 {
        at.as_ps() / self.tick.as_ps()
    }
    /// Returns the expiry of a timer of `span`, rounded up to whole ticks, if it is set at `now`.
    pub(crate) fn after(self, now: Time, span: Span) -> Time {
        if self.tick.is_zero() {
            return now + span;
        }
        let count = span.as_ps().div_ceil(self.tick.as_ps()).max(1);
        Time::ZERO + self.tick.saturating_mul(self.ticks(now).saturating_add(count))
    }
    /// Returns the time between two instants on this clock: the ticks between them.
    pub(crate) fn elapsed(self, from: Time, to: Time) -> Span {
        if self.tick.is_zero() {
            return to.since(from);
        }
        self.tick.saturating_mul(self.ticks(to).saturating_sub(self.ticks(from)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_ms(n)
    }

    #[test]
    fn a_timer_fires_on_the_nth_tick() {
        let clock = TickClock { tick: Span::from_ms(500) };
        assert_eq!(clock.after(ms(0), Span::from_ms(1000)), ms(1000));
        assert_eq!(clock.after(ms(499), Span::from_ms(1000)), ms(1000));
        assert_eq!(clock.after(ms(500), Span::from_ms(1000)), ms(1500));
        assert_eq!(clock.after(ms(700), Span::from_ms(1001)), ms(2000));
        assert_eq!(TickClock { tick: Span::ZERO }.after(ms(3), Span::from_ms(4)), ms(7));
    }

    #[test]
    fn elapsed_counts_ticks() {
        let clock = TickClock { tick: Span::from_ms(500) };
        assert_eq!(clock.elapsed(ms(1), ms(499)), Span::ZERO);
        assert_eq!(clock.elapsed(ms(499), ms(500)), Span::from_ms(500));
        assert_eq!(TickClock { tick: Span::ZERO }.elapsed(ms(3), ms(7)), Span::from_ms(4));
    }

    #[test]
    fn the_earliest_is_taken_first_and_never_before_its_time() {
        let mut timers = Timers::default();
        timers.set(TimerKind::TimeWait, ms(5));
        timers.set(TimerKind::DelayedAck, ms(3));
        assert_eq!(timers.take_due(ms(2)), None);
        assert_eq!(timers.take_due(ms(9)), Some(TimerKind::DelayedAck));
        assert_eq!(timers.take_due(ms(9)), Some(TimerKind::TimeWait));
        assert_eq!(timers.earliest(), None);
    }
}
