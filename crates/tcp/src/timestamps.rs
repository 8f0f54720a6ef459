//! The timestamps option. RFC 7323 §3 to §5.

use cellway_units::{Span, Time};

use crate::timers::TickClock;
use crate::{Position, Segment, Timestamps};

/// The least tick of the clock: RFC 7323 §5.4 has it tick at most once a millisecond.
const LEAST_TICK: Span = Span::from_ms(1);
/// A timestamp older than this is not used: the clock may have wrapped. RFC 7323 §5.5.
const OUTDATED: Span = Span::from_secs(24 * 24 * 3600);

/// The state of the option at one end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimestampClock {
    clock: TickClock,
    /// The value of the clock at time zero: RFC 7323 §7.1 suggests an offset for each connection.
    offset: u32,
    /// True if both SYNs carried the option. RFC 7323 §3.2.
    pub(crate) agreed: bool,
    /// RFC 7323 §4.3, TS.Recent: the timestamp to echo.
    recent: u32,
    /// When it was taken.
    recent_at: Time,
    /// RFC 7323 §4.3, Last.ACK.sent.
    last_ack_sent: Position,
}

impl TimestampClock {
    pub(crate) fn new(granularity: Span, offset: u32) -> TimestampClock {
        let clock = TickClock { tick: granularity.max(LEAST_TICK) };
        TimestampClock { clock, offset, agreed: false, recent: 0, recent_at: Time::ZERO, last_ack_sent: 0 }
    }

    /// Returns the option of a segment sent at `now`. RFC 7323 §3.2.
    pub(crate) fn stamp(&self, now: Time) -> Timestamps {
        Timestamps { value: self.value(now), echo: self.recent }
    }
    /// Returns the clock at `now`; it wraps after 2^32 ticks.
    fn value(&self, now: Time) -> u32 {
        self.offset.wrapping_add(self.clock.ticks(now) as u32)
    }
    /// Processes the option `offered` in the peer's SYN; `wanted` is true if this end offers the option, too.
    pub(crate) fn negotiate(&mut self, offered: Option<Timestamps>, wanted: bool, now: Time) {
        let Some(theirs) = offered.filter(|_| wanted) else { return };
        self.agreed = true;
        (self.recent, self.recent_at) = (theirs.value, now);
    }
    /// Returns true if `theirs` shows that the segment is older than an accepted one. RFC 7323 §5.3, R1.
    pub(crate) fn is_old(&self, theirs: Timestamps, now: Time) -> bool {
        before(theirs.value, self.recent) && now.since(self.recent_at) < OUTDATED
    }
    /// Records the timestamp to echo, from a segment at `seq`. RFC 7323 §4.3 (2), §5.3, R3. One beyond the last
    /// acknowledgement waits: the echo of the oldest covers the delay of the acknowledgement.
    pub(crate) fn take(&mut self, theirs: Timestamps, seq: Position, now: Time) {
        if seq <= self.last_ack_sent && !self.is_old(theirs, now) {
            (self.recent, self.recent_at) = (theirs.value, now);
        }
    }
    /// Records that an acknowledgement of everything below `nxt` is sent. RFC 7323 §4.3 (3).
    pub(crate) fn acknowledged(&mut self, nxt: Position) {
        self.last_ack_sent = nxt;
    }
    /// Returns the instant at which the clock left the value echoed by `segment`: what carried that was sent before it.
    pub(crate) fn echo_until(&self, segment: &Segment, now: Time) -> Option<Time> {
        let echo = segment.options.timestamps.filter(|_| self.agreed)?.echo;
        let ticks = self.clock.ticks(now).checked_sub(u64::from(self.value(now).wrapping_sub(echo)))?;
        Some(Time::ZERO + self.clock.tick.saturating_mul(ticks + 1))
    }
    /// Returns the round trip that the echo of `segment` measures at `now`. RFC 7323 §4.1.
    pub(crate) fn round_trip(&self, segment: &Segment, now: Time) -> Option<Span> {
        let echo = segment.options.timestamps?.echo;
        let ticks = self.value(now).wrapping_sub(echo);
        // An echo of a timestamp that was not sent yet is ignored.
        (ticks < 1 << 31).then(|| self.clock.tick.saturating_mul(u64::from(ticks)))
    }
}

/// Returns true if `a` is before `b`, modulo 2^32. RFC 7323 §5.2.
fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_echo_outlives_a_wrap_but_not_24_days() {
        let second = |n: u64| Time::ZERO + Span::from_secs(n);
        let mut clock = TimestampClock::new(Span::ZERO, u32::MAX - 500);
        let stamp = |value| Timestamps { value, echo: 0 };
        clock.negotiate(Some(stamp(u32::MAX - 5)), true, second(0));
        clock.acknowledged(1);
        assert!(clock.is_old(stamp(u32::MAX - 6), second(1)));
        assert!(!clock.is_old(stamp(3), second(1)), "3 comes after the wrap");
        clock.take(stamp(3), 1, second(1));
        assert_eq!(clock.stamp(second(1)), Timestamps { value: 499, echo: 3 });
        let days = 24 * 3600;
        assert!(clock.is_old(stamp(2), second(24 * days)));
        assert!(!clock.is_old(stamp(2), second(1 + 24 * days)));
    }

    #[test]
    fn round_trips_are_counted_across_the_wrap() {
        let ms = |n: u64| Time::ZERO + Span::from_ms(n);
        let clock = TimestampClock::new(Span::from_us(1), u32::MAX - 10);
        let echo = |value| {
            let options =
                crate::Options { timestamps: Some(Timestamps { value: 0, echo: value }), ..Default::default() };
            Segment { options, ..Segment::default() }
        };
        assert_eq!(clock.round_trip(&echo(u32::MAX - 10), ms(175)), Some(Span::from_ms(175)));
        assert_eq!(clock.round_trip(&echo(200), ms(175)), None, "from the future");
        assert_eq!(clock.round_trip(&Segment::default(), ms(1)), None);
    }
}
