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

/// The delay of the packets at the head, as the control has seen it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Delay {
    /// The last packet waited less than the target, or was among the last octets of the queue.
    #[default]
    Low,
    /// Packets wait longer; those that leave from `late_from` on have done so for an interval.
    High { late_from: Time },
    /// They have done so for an interval, and packets are dropped.
    Dropping,
}

/// The state of the control.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Control {
    delay: Delay,
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
        let mut packet = self.take(parameters, now, head)?;
        if !self.is_late(now) {
            return Some(packet);
        }
        if self.delay != Delay::Dropping {
            // The first drop. The count goes on if dropping ended recently.
            let recent = self.count - self.first_count;
            let is_recent = now < self.next_drop + parameters.interval.saturating_mul(REMEMBERED);
            self.count = if recent > 1 && is_recent { recent } else { 1 };
            self.first_count = self.count;
            self.next_drop = parameters.next_drop(now, self.count);
            if !head.mark(&mut packet) {
                head.drop(packet, drops);
                packet = self.take(parameters, now, head)?;
            }
            if self.is_late(now) {
                self.delay = Delay::Dropping;
            }
            return Some(packet);
        }
        while self.is_late(now) && now >= self.next_drop {
            self.count = self.count.saturating_add(1);
            if head.mark(&mut packet) {
                self.next_drop = parameters.next_drop(self.next_drop, self.count);
                return Some(packet);
            }
            head.drop(packet, drops);
            packet = self.take(parameters, now, head)?;
            if self.is_late(now) {
                self.next_drop = parameters.next_drop(self.next_drop, self.count);
            }
        }
        Some(packet)
    }

    /// An empty queue resets the interval and stops dropping.
    pub(crate) fn emptied(&mut self) {
        self.delay = Delay::Low;
    }

    /// Takes the packet at the head, and records its delay. An empty queue resets the interval and stops dropping.
    #[inline(always)]
    fn take(&mut self, parameters: &Parameters, now: Time, head: &mut impl Head) -> Option<Queued> {
        let Some(packet) = head.take() else {
            self.emptied();
            return None;
        };
        if now - packet.since < parameters.target || head.octets() <= parameters.largest.0 {
            self.delay = Delay::Low;
        } else if self.delay == Delay::Low {
            self.delay = Delay::High { late_from: now + parameters.interval };
        }
        Some(packet)
    }

    /// Returns true if packets have waited too long for an interval.
    #[inline(always)]
    fn is_late(&self, now: Time) -> bool {
        match self.delay {
            Delay::Low => false,
            Delay::High { late_from } => now >= late_from,
            Delay::Dropping => true,
        }
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
