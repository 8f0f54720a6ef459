//! The response to a standing queue: who fills it, and what follows from that.

use cellway_units::{Span, Time};

use super::phase::Phase;
use super::{Bottleneck, shorter, times};
use crate::delivery::{Sample, rate_of};
use crate::rtt::GRANULARITY;

/// A round trip longer than the shortest by so much, in thousandths, has a queue.
const QUEUE: u64 = 1_125;
/// The least time and the least packets in a window: on a short path a thread that waits for its turn is no queue.
const WINDOW: Span = Span::from_ms(25);
const WINDOW_PACKETS: u64 = 8;
/// Drains that leave the queue where it was before ProbeRTT decides whose it is.
const DRAINS: u32 = 2;
/// The competing flow is taken for gone when no queue was seen in Cruise for so long.
const CALM: Span = Span::from_secs(10);
/// A queue that gentle senders share drains within a few round trips. One that stands for so long, and for so many round
/// trips, is filled by others.
const STUBBORN: Span = Span::from_secs(2);
const STUBBORN_ROUNDS: u64 = 8;
/// If they left some of it for a moment, they are recognised at once for so long.
const TRUCE: Span = Span::from_secs(30);
/// The least time between two ProbeRTTs because others seem to drain the queue.
const JOIN: Span = Span::from_secs(5);

/// The standing queue and the responses to it. Windows are a round trip without a queue long, not one with it: rounds of
/// packets grow with the queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    /// Packets sent from here on show the queue at a steady rate.
    since: Time,
    /// The current window: its start, what had been delivered and what was when it began, its shortest round trip, and
    /// whether the source or a stall limited it.
    start: Option<(Time, u64, u64)>,
    rtt: Option<Span>,
    limited: bool,
    /// The rate at which the last window with a queue was delivered (bit/s); 0 if the source or a stall limited it.
    delivered: u64,
    /// Since when each window had a queue, and the shortest round trip of the last window.
    stands_since: Option<Time>,
    last: Option<Span>,
    /// The shortest round trip before others filled the queue.
    base: Option<Span>,
    /// When ProbeRTT ended last.
    probed: Time,
    /// Until when those who filled the queue are expected to do so again.
    truce: Option<Time>,
    /// Drains since a round trip near to the shortest was seen, and the bandwidth filter before the first of them.
    drains: u32,
    before: Option<[u64; 2]>,
    /// Other flows fill the queue and leave none of it to those that give way: when it was last seen in Cruise.
    pub(super) contested: Option<Time>,
}

/// Whether `rtt` is so much longer than `least` that there was a queue.
fn longer(rtt: Option<Span>, least: Option<Span>) -> bool {
    rtt.zip(least).is_some_and(|(rtt, least)| rtt.as_ps() > times((least + GRANULARITY).as_ps(), QUEUE))
}

impl Bottleneck {
    pub(super) fn has_queue(&self, rtt: Option<Span>) -> bool {
        longer(rtt, self.min_rtt)
    }
    /// A phase begins that drains the queue or sends at a steady rate: packets sent from now on show what stands.
    pub(super) fn watch_queue(&mut self, now: Time) {
        let queue = &mut self.queue;
        (queue.since, queue.start, queue.delivered) = (now, None, 0);
    }
    /// Takes a round trip into the window, and ends it when it is long enough. Whether the queue stands.
    pub(super) fn sample_queue(&mut self, now: Time, sample: &Sample, rtt: Option<Span>) -> bool {
        if sample.sent < self.queue.since {
            return false;
        }
        let (delivered, packets) = (self.delivery.delivered, self.delivery.packets_delivered);
        let queue = &mut self.queue;
        let Some((start, before, count)) = queue.start else {
            (queue.start, queue.rtt, queue.limited) = (Some((now, delivered, packets)), None, false);
            return false;
        };
        queue.rtt = rtt.map(|rtt| shorter(queue.rtt, rtt)).or(queue.rtt);
        queue.limited |= sample.limited || sample.stalled;
        let length = now.since(start);
        if length < WINDOW.max(self.min_rtt.unwrap_or_default()) + GRANULARITY || packets < count + WINDOW_PACKETS {
            return false;
        }
        let rate = if queue.limited { 0 } else { rate_of(delivered - before, length).as_bps() };
        let seen = std::mem::take(&mut queue.rtt);
        (queue.start, queue.limited) = (Some((now, delivered, packets)), false);
        let has_queue = self.has_queue(seen);
        let queue = &mut self.queue;
        queue.delivered = if has_queue { rate } else { 0 };
        queue.stands_since = if has_queue { queue.stands_since.or(Some(start)) } else { None };
        let before = std::mem::replace(&mut queue.last, seen);
        if let Some(last) = queue.contested
            && self.phase == Phase::Cruise
        {
            if has_queue {
                queue.contested = Some(now);
            } else if now.since(last) >= CALM {
                (queue.contested, queue.base) = (None, self.min_rtt);
            }
            // Another gateway may be draining the queue: together it works.
            let depth = before.unwrap_or_default().saturating_sub(queue.base.unwrap_or_default());
            let drop = before.unwrap_or_default().saturating_sub(seen.unwrap_or_default());
            if drop > depth / 4 && now.since(queue.probed) >= JOIN {
                self.enter(now, Phase::ProbeRtt);
                return false;
            }
        }
        has_queue && self.queue.contested.is_none()
    }
    /// A round trip near to the shortest: the queue was ours and has drained.
    pub(super) fn queue_drained(&mut self) {
        (self.queue.drains, self.queue.before, self.queue.stands_since) = (0, None, None);
    }
    pub(super) fn shortest(&mut self, rtt: Span) {
        self.queue.base = Some(shorter(self.queue.base, rtt));
    }
    /// A queue has stood at a steady rate. What was delivered meanwhile is what the link carries, or our part of it, for it
    /// was never idle. If the queue outlasts two drains it is not ours, or none: the path is longer.
    pub(super) fn drain_queue(&mut self, now: Time) {
        self.queue.drains += 1;
        self.queue.before.get_or_insert(self.rates);
        if self.queue.delivered > 0 {
            self.rates = [self.queue.delivered.min(self.max_rate()); 2];
        }
        if self.queue.drains > 1 && self.queue.truce.is_some_and(|until| now < until) {
            self.rates = self.queue.before.unwrap_or(self.rates);
            self.queue_drained();
            self.queue.contested = Some(now);
            return self.enter(now, Phase::Cruise);
        }
        let round_trips = self.min_rtt.unwrap_or_default() * STUBBORN_ROUNDS;
        let stubborn = self.queue.stands_since.is_some_and(|since| now.since(since) >= STUBBORN.max(round_trips));
        self.enter(now, if stubborn && self.queue.drains > DRAINS { Phase::ProbeRtt } else { Phase::Drain });
    }
    /// ProbeRTT has measured the shortest round trip anew. If a queue stood whatever we sent, giving way has gained nothing.
    pub(super) fn measured_length(&mut self, now: Time) {
        let stands = longer(self.min_rtt, self.queue.base);
        if stands && let Some(rates) = self.queue.before {
            self.rates = rates;
        }
        if !stands {
            if self.queue.contested.take().is_some() {
                self.queue.truce = Some(now + TRUCE);
            }
        } else if self.queue.drains > 0 {
            self.queue.contested = Some(now);
        }
        self.queue.probed = now;
        self.queue_drained();
    }
}
