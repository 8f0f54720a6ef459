//! The response to a standing queue: whether it is this sender's own, or other flows fill it.

use cellway_units::{Span, Time};
use serde::{Deserialize, Serialize};

use super::phase::Phase;
use super::round::Round;
use super::{Bottleneck, shorter};
use crate::GRANULARITY;
use crate::{Delivery, Sample, rate_of, times};

/// A round trip longer than the shortest by this factor, in thousandths, has a queue.
const QUEUE: u64 = 1_125;
/// The minimum time and packets of a window. On a short path a thread that waits for a processor looks like a queue.
const WINDOW: Span = Span::from_ms(25);
const WINDOW_PACKETS: u64 = 8;
/// A queue that this sender and others like it fill is empty after a few round trips of drains. One that stands for this
/// time, this number of round trips and this number of drains may be of other flows; ProbeRTT then decides.
const STANDING: Span = Span::from_secs(2);
const STANDING_ROUNDS: u64 = 8;
const DRAINS: u32 = 2;
/// The queue is of other flows if the round trip in ProbeRTT is this large, in thousandths of the shortest, or if this
/// number of ProbeRTTs in a row find a queue.
const DEEP: u64 = 1_400;
const FAILED: u32 = 2;
/// For this time after a moment without a queue, drains without effect are enough to decide the same again.
const TRUCE: Span = Span::from_secs(30);
/// The other flows are assumed to have ended if Cruise has seen no queue for this time.
const CALM: Span = Span::from_secs(10);
/// If the queue falls by one part in `FALL` within a window, another gateway may be in ProbeRTT, and this sender joins it,
/// at most once in `JOIN`.
const FALL: u64 = 8;
const JOIN: Span = Span::from_secs(5);

/// A measurement over the packets of one round trip of the empty path. Its length does not grow with the queue.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Window {
    start: Time,
    /// The bits delivered when it began; `packets` likewise.
    delivered: u64,
    packets: u64,
    rtt: Option<Span>,
    /// Set if the source or a stall limited the rate.
    limited: bool,
}

/// The standing queue and the responses to it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Queue {
    /// Packets sent from this time on count in windows.
    since: Time,
    window: Option<Window>,
    /// The shortest round trip of the last window.
    last: Option<Span>,
    /// When the queue was first seen, if each window since has had one, and the delivery rate of the last of these windows
    /// (bit/s; 0 if the source or a stall limited it).
    stands_since: Option<Time>,
    delivered: u64,
    /// The delivery rate of the last window that neither the source nor a stall limited (bit/s).
    measured: Option<u64>,
    /// Drains since the last round trip without a queue, and the bandwidth filter before the first of them.
    drains: u32,
    before: Option<[u64; 2]>,
    /// The shortest round trip before others filled the queue.
    base: Option<Span>,
    /// The end of the last ProbeRTT, and the number in a row that found a queue.
    probed: Time,
    failed: u32,
    /// The time at which Cruise last saw a queue, if other flows fill it.
    contested: Option<Time>,
    truce: Option<Time>,
}

impl Queue {
    /// Returns true if other flows fill the queue, whatever this sender does.
    pub(super) fn is_contested(&self) -> bool {
        self.contested.is_some()
    }
    /// Returns the shortest round trip of the path, from before other flows filled the queue.
    pub(super) fn base(&self) -> Option<Span> {
        self.base
    }
    /// Returns the rate (bit/s) of the last window that neither the source nor a stall limited. It may be far below the
    /// bandwidth filter. Without such a window, the largest rate.
    pub(super) fn measured(&self) -> u64 {
        self.measured.unwrap_or(u64::MAX)
    }
    pub(super) fn note_rtt(&mut self, rtt: Span) {
        self.base = Some(shorter(self.base, rtt));
    }
    /// Starts a phase in which this sender adds nothing to the queue: packets sent from now on show the standing queue.
    pub(super) fn watch(&mut self, now: Time) {
        (self.since, self.window, self.delivered) = (now, None, 0);
    }
    /// Records a round trip without a queue: it was this sender's own, and has drained.
    pub(super) fn drained(&mut self) {
        (self.drains, self.before, self.stands_since) = (0, None, None);
    }
    /// Records that the other flows have left the queue empty.
    fn give_up(&mut self, now: Time) {
        if self.contested.take().is_some() {
            self.truce = Some(now + TRUCE);
        }
    }
    /// Returns true if the queue became shorter since the window before, as if another sender were in ProbeRTT.
    fn falls(&self, before: Option<Span>) -> bool {
        let [base, before, last] = [self.base, before, self.last].map(Option::unwrap_or_default);
        before.saturating_sub(last) > before.saturating_sub(base) / FALL
    }
}

/// Returns true if `rtt` is longer than `by` thousandths of `least` and [`GRANULARITY`], which means that there is a
/// queue.
fn longer(rtt: Option<Span>, least: Option<Span>, by: u64) -> bool {
    rtt.zip(least).is_some_and(|(rtt, least)| rtt.as_ps() > times((least + GRANULARITY).as_ps(), by))
}

impl Bottleneck {
    fn has_queue(&self, rtt: Option<Span>) -> bool {
        longer(rtt, self.min_rtt, QUEUE)
    }
    /// Returns true if a round of Startup shows a queue that was not there in its first round.
    pub(super) fn startup_queues(&self, round: &Round) -> bool {
        longer(round.rtt, self.startup.first().max(self.min_rtt), QUEUE)
    }
    /// Returns the data in flight (bits) at the bandwidth times `gain` (thousandths), with the queue of competing flows
    /// if there is one.
    pub(super) fn fills(&self, gain: u64) -> u64 {
        let round_trip = if self.queue.is_contested() { self.min_rtt.max(self.queue.last) } else { self.min_rtt };
        self.holds_at(self.bandwidth(), round_trip, gain)
    }
    /// Adds an acknowledgement to the window. Returns true if the window ends with it and shows a queue to drain.
    pub(super) fn sample_queue(&mut self, now: Time, sample: &Sample, rtt: Option<Span>) -> bool {
        if sample.sent < self.queue.since {
            return false;
        }
        let &Delivery { delivered, delivered_at, packets_delivered: packets, .. } = &self.delivery;
        let next = Window { start: delivered_at, delivered, packets, rtt: None, limited: false };
        let Some(window) = &mut self.queue.window else {
            self.queue.window = Some(next);
            return false;
        };
        window.rtt = rtt.map(|rtt| shorter(window.rtt, rtt)).or(window.rtt);
        window.limited |= sample.limited || sample.stalled;
        let length = delivered_at.since(window.start);
        let least = WINDOW.max(self.min_rtt.unwrap_or_default()) + GRANULARITY;
        if length < least || packets < window.packets + WINDOW_PACKETS {
            return false;
        }
        let window = std::mem::replace(window, next);
        let rate = rate_of(delivered - window.delivered, length).as_bps();
        let has_queue = self.has_queue(window.rtt);
        let queue = &mut self.queue;
        queue.delivered = if has_queue && !window.limited { rate } else { 0 };
        queue.stands_since = has_queue.then(|| queue.stands_since.unwrap_or(window.start));
        queue.measured = if window.limited { queue.measured } else { Some(rate) };
        let before = std::mem::replace(&mut queue.last, window.rtt);
        let Some(seen) = queue.contested else { return has_queue };
        if !longer(queue.last, queue.base, QUEUE) {
            queue.give_up(now);
        } else if self.phase == Phase::Cruise {
            if has_queue {
                queue.contested = Some(now);
            } else if now.since(seen) >= CALM {
                // The path is longer.
                (queue.contested, queue.base) = (None, self.min_rtt);
            }
            // Another gateway may be draining the queue: together we empty it.
            if queue.falls(before) && now.since(queue.probed) >= JOIN {
                self.enter(now, Phase::ProbeRtt);
            }
        }
        false
    }
    /// Drains a queue that has stood while this sender sent at a steady rate. The link was never idle, so the delivery rate
    /// is its capacity, or this sender's share of it. If the queue outlasts the drains, other flows fill it, or there is
    /// none and the path has become longer.
    pub(super) fn drain_queue(&mut self, now: Time) {
        let shortest = self.min_rtt.unwrap_or_default();
        let queue = &mut self.queue;
        queue.drains += 1;
        let before = *queue.before.get_or_insert(self.rates);
        let outlasts = queue.drains > DRAINS;
        if outlasts && queue.truce.is_some_and(|until| now < until) {
            queue.contested = Some(now);
            queue.drained();
            self.undo(before);
            return self.enter(now, Phase::Cruise);
        }
        let long = queue.stands_since.is_some_and(|since| now.since(since) >= STANDING.max(shortest * STANDING_ROUNDS));
        if queue.delivered > 0 {
            self.rates = [queue.delivered.min(self.rates[0].max(self.rates[1])); 2];
        }
        self.enter(now, if outlasts && long { Phase::ProbeRtt } else { Phase::Drain });
    }
    /// Decides at the end of ProbeRTT, which has measured the shortest round trip again: if a queue remained although this
    /// sender sent little, other flows fill it.
    pub(super) fn measured_length(&mut self, now: Time) {
        let stands = longer(self.min_rtt, self.queue.base, QUEUE);
        let deep = longer(self.min_rtt, self.queue.base, DEEP);
        let queue = &mut self.queue;
        (queue.probed, queue.failed) = (now, if stands { queue.failed + 1 } else { 0 });
        if !stands {
            queue.give_up(now);
        } else if queue.drains > 0 && (deep || queue.failed >= FAILED) {
            queue.contested = Some(now);
            let before = queue.before.unwrap_or(self.rates);
            self.undo(before);
        }
        self.queue.drained();
    }
    /// Restores the bandwidth from `before` the drains, but at most twice the present one; the next rounds show whether it
    /// is higher.
    fn undo(&mut self, before: [u64; 2]) {
        let most = self.max_rate().saturating_mul(2);
        self.rates = before.map(|rate| rate.min(most));
    }
    /// Returns true if the last window shows a longer queue than a probe for bandwidth causes.
    pub(super) fn has_deep_queue(&self) -> bool {
        longer(self.queue.last, self.min_rtt, DEEP)
    }
}
