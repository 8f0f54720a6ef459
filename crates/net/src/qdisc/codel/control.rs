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

/// The parameters of the control.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameters {
    pub(crate) target: Span,
    pub(crate) interval: Span,
    /// A queue with at most one of the largest packets is never too long.
    pub(crate) largest: Bytes,
}

/// The state of the control.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Control {
    /// The time at which packets will have waited too long for an interval; `None` if one has waited less.
    too_long_from: Option<Time>,
    /// True while packets are dropped.
    dropping: bool,
    /// The time of the next drop; after dropping has ended, the time at which the next was due.
    next_drop: Time,
    /// The number from which the distance of drops follows: one more at each drop.
    count: u32,
    /// `count` at the first drop since dropping began: 1, or more if it was resumed.
    first_count: u32,
}

impl Control {
    /// Returns the packet that leaves the queue `now`. Those that are dropped before it are added to `drops`.
    pub(crate) fn next(
        &mut self,
        parameters: &Parameters,
        now: Time,
        head: &mut impl Head,
        drops: &mut Drops,
    ) -> Option<Queued> {
        let (mut packet, mut is_late) = self.take(parameters, now, head)?;
        if !self.dropping {
            if !is_late {
                return Some(packet);
            }
            // The first drop. The count goes on if dropping ended recently.
            let recent = self.count - self.first_count;
            let is_recent = now < self.next_drop + parameters.interval.saturating_mul(REMEMBERED);
            self.count = if recent > 1 && is_recent { recent } else { 1 };
            self.first_count = self.count;
            self.next_drop = parameters.next_drop(now, self.count);
            if !head.mark(&mut packet) {
                head.drop(packet, drops);
                (packet, is_late) = self.take(parameters, now, head)?;
            }
            self.dropping = is_late;
            return Some(packet);
        }
        self.dropping = is_late;
        while self.dropping && now >= self.next_drop {
            self.count = self.count.saturating_add(1);
            if head.mark(&mut packet) {
                self.next_drop = parameters.next_drop(self.next_drop, self.count);
                return Some(packet);
            }
            head.drop(packet, drops);
            (packet, is_late) = self.take(parameters, now, head)?;
            self.dropping = is_late;
            if is_late {
                self.next_drop = parameters.next_drop(self.next_drop, self.count);
            }
        }
        Some(packet)
    }

    /// An empty queue resets the interval and stops dropping.
    pub(crate) fn emptied(&mut self) {
        self.too_long_from = None;
        self.dropping = false;
    }

    /// Takes the packet at the head; returns true with it if packets have waited too long for an interval. An empty queue
    /// resets the interval and stops dropping.
    fn take(&mut self, parameters: &Parameters, now: Time, head: &mut impl Head) -> Option<(Queued, bool)> {
        let Some(packet) = head.take() else {
            self.emptied();
            return None;
        };
        if now - packet.since < parameters.target || head.octets() <= parameters.largest.0 {
            self.too_long_from = None;
            return Some((packet, false));
        }
        let from = *self.too_long_from.get_or_insert(now + parameters.interval);
        Some((packet, now >= from))
    }
}

impl Parameters {
    /// Returns the time of the drop after one at `time`: the interval over the square root of the count later, rounded
    /// down to a picosecond. RFC 8289 section 4.2.
    fn next_drop(&self, time: Time, count: u32) -> Time {
        let interval = u128::from(self.interval.as_ps());
        let distance = (interval * interval / u128::from(count)).isqrt();
        time + Span::from_ps(u64::try_from(distance).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests;
