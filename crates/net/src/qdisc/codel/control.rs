//! The control of CoDel: when packets at the head of a queue are dropped. RFC 8289, sections 4.4 and 5.

use cellway_units::{Bytes, Span, Time};

use crate::qdisc::{Drops, Queued};

/// After a pause shorter than this many intervals, the count begins with the drops of the time before. RFC 8289 section
/// 5.5.
const REMEMBERED: u64 = 16;

/// A queue whose head is controlled.
pub(crate) trait Head {
    /// Takes the packet at the head; `None` if the queue is empty.
    fn take(&mut self) -> Option<Queued>;
    /// Returns the IP octets that wait.
    fn octets(&self) -> u64;
    /// Marks a packet that was taken, in place of dropping it; returns false if it cannot be marked.
    fn mark(&mut self, packet: &mut Queued) -> bool;
    /// Drops a packet that was taken.
    fn drop(&mut self, packet: Queued, drops: &mut Drops);
}

/// The state of the control.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    target: Span,
    interval: Span,
    /// A queue with at most one of the largest packets is never too long.
    largest: Bytes,
    /// The time at which packets will have waited too long for an interval; `None` if one has waited less.
    too_long_from: Option<Time>,
    /// True while packets are dropped.
    dropping: bool,
    /// The time of the next drop; after dropping has ended, the time at which the next was due.
    next_drop: Time,
    /// The number from which the distance of drops follows: one more at each drop.
    count: u64,
    /// `count` at the first drop since dropping began: 1, or more if it was resumed.
    first_count: u64,
}

impl Control {
    pub(crate) fn new(target: Span, interval: Span, largest: Bytes) -> Control {
        Control {
            target,
            interval,
            largest,
            too_long_from: None,
            dropping: false,
            next_drop: Time::ZERO,
            count: 0,
            first_count: 0,
        }
    }

    /// Returns the packet that leaves the queue `now`. Those that are dropped before it are added to `drops`.
    pub(crate) fn next(&mut self, now: Time, head: &mut impl Head, drops: &mut Drops) -> Option<Queued> {
        let (mut packet, mut is_late) = self.take(now, head)?;
        if !self.dropping {
            if !is_late {
                return Some(packet);
            }
            // The first drop. The count goes on if dropping ended recently.
            let recent = self.count - self.first_count;
            let is_recent = now < self.next_drop + self.interval.saturating_mul(REMEMBERED);
            self.count = if recent > 1 && is_recent { recent } else { 1 };
            self.first_count = self.count;
            self.next_drop = self.after(now);
            if !head.mark(&mut packet) {
                head.drop(packet, drops);
                (packet, is_late) = self.take(now, head)?;
            }
            self.dropping = is_late;
            return Some(packet);
        }
        self.dropping = is_late;
        while self.dropping && now >= self.next_drop {
            self.count += 1;
            if head.mark(&mut packet) {
                self.next_drop = self.after(self.next_drop);
                return Some(packet);
            }
            head.drop(packet, drops);
            (packet, is_late) = self.take(now, head)?;
            self.dropping = is_late;
            if is_late {
                self.next_drop = self.after(self.next_drop);
            }
        }
        Some(packet)
    }

    /// Takes the packet at the head; returns true with it if packets have waited too long for an interval. An empty queue
    /// resets the interval and stops dropping.
    fn take(&mut self, now: Time, head: &mut impl Head) -> Option<(Queued, bool)> {
        let Some(packet) = head.take() else {
            self.too_long_from = None;
            self.dropping = false;
            return None;
        };
        if now - packet.since < self.target || head.octets() <= self.largest.0 {
            self.too_long_from = None;
            return Some((packet, false));
        }
        let from = *self.too_long_from.get_or_insert(now + self.interval);
        Some((packet, now >= from))
    }

    /// Returns the time of the drop after one at `time`: the interval over the square root of the count later, rounded
    /// down to a picosecond. RFC 8289 section 4.2.
    fn after(&self, time: Time) -> Time {
        let interval = u128::from(self.interval.as_ps());
        let distance = (interval * interval / u128::from(self.count)).isqrt();
        time + Span::from_ps(u64::try_from(distance).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests;
