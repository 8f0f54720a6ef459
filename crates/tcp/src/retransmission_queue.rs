//! The retransmission queue (RFC 9293 §3.4): a record for each segment sent and not acknowledged, and the rate samples
//! that the records give (draft-ietf-ccwg-bbr, section "Delivery Rate Samples").

mod earliest;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use cellway_delivery::{Delivery, Sample, Stamp};
use cellway_units::{Bits, Span, Time};

use crate::Position;
use crate::congestion::{Ack, Loss, Newest, Repair};
use crate::ranges::Ranges;
use earliest::Earliest;

/// The fate of a segment, as far as the sender has learned it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    InFlight,
    /// It has left the network without arriving. It is resent before new data.
    Lost,
    Sacked,
}

/// The record of a segment.
#[derive(Clone, Copy, Debug)]
struct Sent {
    start: Position,
    end: Position,
    /// Of its last transmission.
    stamp: Stamp,
    fate: Fate,
    retransmitted: bool,
    /// Lost before its last transmission, and in flight after it (bytes).
    lost_before: u64,
    in_flight: u64,
}

impl Sent {
    fn len(&self) -> u64 {
        self.end - self.start
    }
    /// Declares it lost; `lost_total` bytes have been lost, these included.
    fn lose(&mut self, now: Time, lost_total: u64, total_delivered: u64) -> Loss {
        self.fate = Fate::Lost;
        let &mut Sent { start, end, in_flight, lost_before, .. } = self;
        Loss {
            now,
            total_delivered,
            start,
            end,
            lost: lost_total - lost_before,
            in_flight,
            limited: self.stamp.is_limited(),
        }
    }
}

/// A segment that an acknowledgement reports as delivered, cumulatively or selectively.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub(crate) end: Position,
    /// When it was last sent.
    pub(crate) sent: Time,
    pub(crate) retransmitted: bool,
}

/// Losses found in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Losses {
    /// Newly lost (bytes).
    pub(crate) bytes: u64,
    /// The time until all segments not yet lost that were sent before the newest arrival would be lost.
    pub(crate) remaining: Option<Span>,
}

/// The segments in order of their positions, without gaps between them. The peer's window bounds their number. Lengths
/// count positions: a FIN is one byte.
#[derive(Clone, Debug, Default)]
pub(crate) struct RetransmissionQueue {
    segments: VecDeque<Sent>,
    /// The segments that were removed from the front, acknowledged.
    removed: u64,
    /// The start of the first segment, and the end of the last: equal without segments.
    from: Position,
    to: Position,
    sacked: Ranges,
    /// Lengths of the segments with that fate (bytes), and the number of those that are SACKed.
    sacked_bytes: u64,
    sacked_segments: u32,
    lost_bytes: u64,
    /// No segment below is lost.
    lost_from: Position,
    earliest: Earliest,
    delivery: Delivery,
    min_rtt: Option<Span>,
    /// The segments that the present acknowledgement reports, and their bytes.
    arrived: Vec<Arrived>,
    arrived_bytes: u64,
    /// The one sent last among them, and the rate sample, if it is reliable.
    newest: Option<Sent>,
    reliable: Option<Sample>,
    /// The segments found lost since the last acknowledgement, and all bytes that were ever lost.
    lost: Vec<Loss>,
    lost_total: u64,
    /// Of these, the bytes that an acknowledgement has reported to the controller.
    lost_reported: u64,
    sample: Option<Sample>,
}

impl RetransmissionQueue {
    /// Records the transmission of `start..end`, whole segments if they were sent before.
    pub(crate) fn sent(&mut self, start: Position, end: Position, now: Time) {
        if self.segments.is_empty() {
            (self.from, self.to) = (start, start);
        }
        let fresh = start.max(self.to);
        if start < fresh {
            self.resent(start, end, now);
        }
        if fresh < end {
            let stamp = self.delivery.sent(now, bits(end - fresh));
            self.segments.push_back(Sent {
                start: fresh,
                end,
                stamp,
                fate: Fate::InFlight,
                retransmitted: false,
                lost_before: self.lost_total,
                in_flight: self.delivery.in_flight / 8,
            });
            self.to = end;
        }
    }
    fn resent(&mut self, start: Position, end: Position, now: Time) {
        let first = self.segments.partition_point(|s| s.end <= start);
        for s in self.segments.iter_mut().skip(first).take_while(|s| s.start < end) {
            match s.fate {
                Fate::Sacked => continue,
                Fate::Lost => self.lost_bytes -= s.len(),
                // The record follows the later transmission.
                Fate::InFlight => self.delivery.lost(&s.stamp),
            }
            s.stamp = self.delivery.sent(now, bits(s.len()));
            (s.fate, s.retransmitted) = (Fate::InFlight, true);
            (s.lost_before, s.in_flight) = (self.lost_total, self.delivery.in_flight / 8);
            self.earliest.resent(now, s.end);
        }
    }

    /// Begins to process an acknowledgement.
    pub(crate) fn begin_ack(&mut self) {
        self.arrived.clear();
        self.lost.clear();
        (self.arrived_bytes, self.newest, self.reliable) = (0, None, None);
    }
    /// Processes a SACK block; returns true if it covers new data. Blocks outside the queue, such as those of D-SACK (RFC
    /// 2883), are ignored.
    pub(crate) fn sacked(&mut self, start: Position, end: Position, now: Time) -> bool {
        if start < self.from || end > self.to || start >= end {
            return false;
        }
        // Only the new part of the block is visited.
        let (mut at, mut news) = (start, false);
        while at < end {
            let (gap, next) = self.sacked.gap_from(at);
            if gap >= end {
                break;
            }
            let stop = next.map_or(end, |next| next.min(end));
            self.sacked.insert(gap, stop, 0);
            self.mark_sacked(gap, stop, now);
            (at, news) = (stop, true);
        }
        news
    }
    /// Marks the segments that `from..to` completes: all of them may have been SACKed before but for these.
    fn mark_sacked(&mut self, from: Position, to: Position, now: Time) {
        let first = self.segments.partition_point(|s| s.end <= from);
        for i in first..self.segments.len() {
            let s = self.segments[i];
            if s.start >= to {
                break;
            }
            let (gap, _) = self.sacked.gap_from(s.start);
            if s.fate != Fate::Sacked && gap >= s.end {
                self.arrive(s, now);
                self.segments[i].fate = Fate::Sacked;
                self.sacked_bytes += s.len();
                self.sacked_segments += 1;
            }
        }
    }
    /// Removes everything below `una`, which is acknowledged.
    pub(crate) fn acked(&mut self, una: Position, now: Time) {
        while self.segments.front().is_some_and(|s| s.end <= una)
            && let Some(s) = self.segments.pop_front()
        {
            self.removed += 1;
            if s.fate == Fate::Sacked {
                self.sacked_bytes -= s.len();
                self.sacked_segments -= 1;
            } else {
                self.arrive(s, now);
            }
        }
        self.sacked.remove_below(una);
        if let Some(s) = self.segments.front_mut()
            && s.start < una
        {
            let trimmed = una - s.start;
            s.start = una;
            match s.fate {
                Fate::InFlight => {}
                Fate::Lost => self.lost_bytes -= trimmed,
                Fate::Sacked => self.sacked_bytes -= trimmed,
            }
        }
        self.from = self.segments.front().map_or(self.to, |s| s.start);
        if self.segments.front().is_some_and(|s| s.fate == Fate::Sacked) {
            self.renege();
        }
    }
    /// A peer that still held the data SACKed at the front would have acknowledged them: it has discarded data. RFC
    /// 2018 §8.
    fn renege(&mut self) {
        for s in self.segments.iter_mut().filter(|s| s.fate == Fate::Sacked) {
            s.fate = Fate::Lost;
        }
        self.lost_bytes += self.sacked_bytes;
        (self.sacked_bytes, self.sacked_segments, self.lost_from) = (0, 0, 0);
        self.sacked.clear();
    }
    /// Counts a segment as delivered. Its fate is that before.
    fn arrive(&mut self, s: Sent, now: Time) {
        if s.fate == Fate::Lost {
            self.lost_bytes -= s.len();
            self.delivery.acked_late(&s.stamp);
        } else {
            self.delivery.acked(now, &s.stamp, Span::MAX);
        }
        let sent = s.stamp.sent();
        if !s.retransmitted {
            let rtt = now.since(sent);
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        self.arrived_bytes += s.len();
        self.arrived.push(Arrived { end: s.end, sent, retransmitted: s.retransmitted });
        if self.newest.is_none_or(|newest| (sent, s.end) > (newest.stamp.sent(), newest.end)) {
            self.newest = Some(s);
        }
    }
    /// Returns the rate sample of the acknowledgement, if it has one. One over less than the least round trip is not
    /// reliable.
    pub(crate) fn take_sample(&mut self) {
        let Some(sample) = self.delivery.sample() else { return };
        if self.min_rtt.is_none_or(|least| sample.interval >= least) {
            (self.sample, self.reliable) = (Some(sample), Some(sample));
        }
    }
    /// Returns the effect of the present acknowledgement, once its losses are known.
    pub(crate) fn ack(&mut self, now: Time, repair: Option<Repair>, window_limited: bool) -> Ack {
        let total_delivered = self.total_delivered();
        let newest = self.newest.map(|s| Newest {
            sample: self.reliable,
            rtt: (!s.retransmitted).then(|| now.since(s.stamp.sent())),
            delivered: total_delivered - s.stamp.delivered() / 8,
            prior: s.stamp.delivered() / 8,
            lost: self.lost_total - s.lost_before,
            in_flight: s.in_flight,
            limited: s.stamp.is_limited(),
        });
        Ack {
            now,
            delivered: self.arrived_bytes,
            lost: self.lost_total - std::mem::replace(&mut self.lost_reported, self.lost_total),
            in_flight: self.in_network(),
            total_delivered,
            newest,
            repair,
            window_limited,
            source_limited: self.delivery.is_limited(),
        }
    }

    /// Marks segments as lost that were sent before the segment that was sent at `newest.0` and ends at `newest.1`, and
    /// have been in flight for longer than `patience` at `now`. RFC 8985 §6.2, step 5. Visits only what is in the gaps of
    /// the SACKed data, and nothing if no segment in flight was sent before: so it is unless packets are lost or reordered.
    pub(crate) fn mark_lost(&mut self, newest: (Time, Position), patience: Span, now: Time) -> Losses {
        let mut losses = Losses::default();
        if !self.earliest.precedes(newest, &self.segments, self.removed) {
            return losses;
        }
        let delivered = self.total_delivered();
        let mut at = self.from;
        loop {
            let (gap, sacked) = self.sacked.gap_from(at);
            let first = self.segments.partition_point(|s| s.end <= gap);
            for s in self.segments.range_mut(first..) {
                if sacked.is_some_and(|sacked| s.start >= sacked) {
                    break;
                }
                let sent = s.stamp.sent();
                if (sent, s.end) >= newest {
                    // Further segments were sent later, unless they were retransmitted, which was even later.
                    if !s.retransmitted {
                        return losses;
                    }
                    continue;
                }
                if s.fate != Fate::InFlight {
                    continue;
                }
                let due = sent + patience;
                if due <= now {
                    losses.bytes += s.len();
                    self.lost_from = self.lost_from.min(s.start);
                    self.lost_bytes += s.len();
                    self.lost_total += s.len();
                    self.delivery.lost(&s.stamp);
                    self.lost.push(s.lose(now, self.lost_total, delivered));
                } else {
                    losses.remaining = losses.remaining.max(Some(due.since(now)));
                }
            }
            let Some(sacked) = sacked else { return losses };
            at = sacked;
        }
    }
    /// Marks as lost the first segment, and all others that were sent before `before`. RFC 8985 §6.3.
    pub(crate) fn mark_lost_on_timeout(&mut self, before: Time, now: Time) {
        self.lost_from = 0;
        self.lost.clear();
        let delivered = self.total_delivered();
        for (i, s) in self.segments.iter_mut().enumerate() {
            if s.fate == Fate::InFlight && (i == 0 || s.stamp.sent() <= before) {
                self.lost_bytes += s.len();
                self.lost_total += s.len();
                self.delivery.lost(&s.stamp);
                self.lost.push(s.lose(now, self.lost_total, delivered));
            }
        }
    }
    /// Returns all lost segments to the network: they were late. Linux, tcp_undo_cwnd_reduction().
    pub(crate) fn find_lost(&mut self) {
        for s in self.segments.iter_mut().filter(|s| s.fate == Fate::Lost) {
            s.fate = Fate::InFlight;
            self.delivery.found(&s.stamp);
        }
        self.earliest.rebuild(&self.segments);
        self.lost_bytes = 0;
    }
    /// Records that the sender has nothing to send although more would be allowed: samples of later segments are
    /// limited by the application.
    pub(crate) fn nothing_left(&mut self) {
        if self.lost_bytes == 0 {
            self.limit();
        }
    }
    /// Samples of what is in flight, and of later segments, count as limited by the application.
    pub(crate) fn limit(&mut self) {
        self.delivery.nothing_left();
    }
    /// Returns true if segments sent now are limited by the application.
    pub(crate) fn is_limited(&self) -> bool {
        self.delivery.is_limited()
    }
    /// Returns the data delivered so far (bytes).
    pub(crate) fn total_delivered(&self) -> u64 {
        self.delivery.delivered / 8
    }
    /// Returns the segments found lost since the present acknowledgement, or by the present timeout.
    pub(crate) fn lost(&self) -> &[Loss] {
        &self.lost
    }

    /// Returns true if nothing is outstanding.
    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }
    /// Returns true if nothing is outstanding, and the present acknowledgement reports nothing.
    pub(crate) fn is_idle(&self) -> bool {
        self.segments.is_empty() && self.arrived.is_empty()
    }
    pub(crate) fn has_lost(&self) -> bool {
        self.lost_bytes > 0
    }
    /// Returns the first segment that is lost.
    pub(crate) fn first_lost(&mut self) -> Option<(Position, Position)> {
        if self.lost_bytes == 0 {
            return None;
        }
        let first = self.segments.partition_point(|s| s.end <= self.lost_from);
        let lost = self.segments.iter().skip(first).find(|s| s.fate == Fate::Lost)?;
        self.lost_from = lost.start;
        Some((lost.start, lost.end))
    }
    /// Returns the segment with the highest position.
    pub(crate) fn last(&self) -> Option<(Position, Position)> {
        self.segments.back().map(|s| (s.start, s.end))
    }
    /// Returns the data that are still in the network: neither SACKed nor lost (bytes).
    pub(crate) fn in_network(&self) -> u64 {
        self.to - self.from - self.sacked_bytes - self.lost_bytes
    }
    /// Returns the data in the network before the present acknowledgement, and the losses since (bytes).
    pub(crate) fn before_ack(&self) -> u64 {
        self.in_network() + self.lost_bytes + self.arrived_bytes
    }
    /// Returns the SACKed data at or above `position` (bytes).
    pub(crate) fn sacked_from(&self, position: Position) -> u64 {
        self.sacked.len_from(position)
    }
    pub(crate) fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }
    /// Returns the segments that the present acknowledgement reports.
    pub(crate) fn arrived(&self) -> &[Arrived] {
        &self.arrived
    }
    /// Returns their length: DeliveredData of RFC 9937 (bytes).
    pub(crate) fn arrived_bytes(&self) -> u64 {
        self.arrived_bytes
    }
    /// Returns the shortest round trip of a segment that was sent once.
    pub(crate) fn min_rtt(&self) -> Option<Span> {
        self.min_rtt
    }
    /// Returns the latest rate sample.
    pub(crate) fn sample(&self) -> Option<Sample> {
        self.sample
    }
}

fn bits(len: u64) -> Bits {
    Bits(8 * len)
}
