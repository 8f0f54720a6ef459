//! The data of one direction of a connection: what is delivered and when, delays, and losses.

use std::collections::VecDeque;

use super::acknowledged::Acknowledged;
use super::dispersion::Dispersion;
use super::options::Options;
use super::series::{NONE, Sample, Series, clipped};
use crate::packet::Segment;
use crate::stream::{Place, Stream};

/// The most segments that wait for their acknowledgement, and timestamps that wait for their echo.
const MAX_SENT: usize = 1 << 15;
const MAX_STAMPS: usize = 1 << 10;
/// The most gaps whose times are remembered.
const MAX_GAPS: usize = 1 << 12;
/// The most loss events that are kept.
const MAX_LOSSES: usize = 10_000;
/// The fewest segments and octets of payload of a bulk transfer.
const FEWEST_PACKETS: u64 = 100;
const FEWEST_OCTETS: u64 = 100_000;
/// The time after a segment within which the same octets are a copy that the capture has, in ns, before a round trip is
/// known; then half of that. No sender sends again sooner.
const COPY: u64 = 1_000_000;
/// The least time that a gap of a loss stays open, in ns. What is filled sooner was reordered.
const REORDERING: u64 = 3_000_000;

/// Segments that were lost within a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loss {
    /// The times at which the first and the last of them passed the tap, or were found missing there, in ns.
    pub(super) first: u64,
    pub(super) last: u64,
    /// Their number.
    pub(super) count: u64,
}

/// A segment without an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Sent {
    start: i64,
    end: i64,
    at: u64,
    /// The octets that were sent last of it, and when: all of them the first time, perhaps a part again.
    last: (i64, i64, u64),
    is_repeated: bool,
}

/// The data of one direction.
#[derive(Debug, Default)]
pub(super) struct Half {
    stream: Stream,
    sent: VecDeque<Sent>,
    acknowledged: Acknowledged,
    /// The highest octet that was acknowledged selectively.
    selected: i64,
    /// The highest octet at the last loss: cumulative acknowledgements up to it are those of retransmissions.
    recovery: i64,
    /// Gaps, with the time at which each was seen.
    gaps: VecDeque<(i64, i64, u64)>,
    /// Clock values of this side, with the time at which each was seen first and `sent_acks` then.
    stamps: VecDeque<(u32, u64, u64)>,
    /// Octets of packets without payload that this side sent, and those up to the last echo.
    sent_acks: u64,
    echoed_acks: u64,
    last_stamp: Option<u32>,
    /// The time of the last loss event, in ns.
    lost_at: u64,
    /// The last delays on the two sides of the tap, in ns.
    trip: [u64; 2],
    /// Segments with payload, their octets with and without headers. A longer segment that hosts divide or have joined
    /// counts as those of which it is made.
    pub(super) packets: u64,
    pub(super) octets: u64,
    pub(super) payload: u64,
    /// The largest payload that is no longer than a packet.
    pub(super) largest: u32,
    /// Segments that were lost.
    pub(super) lost: u64,
    /// Those that were lost before the tap.
    pub(super) lost_before: u64,
    pub(super) losses: Vec<Loss>,
    /// Acknowledgements of new octets, with the delay from data at the tap.
    pub(super) acknowledgements: Series,
    /// Segments of data, with the delay from a timestamp of the receiver at the tap to its echo.
    pub(super) data: Series,
    /// The rates between one acknowledgement and the next.
    pub(super) dispersion: Dispersion,
    /// The time of the last acknowledgement of new octets.
    delivered_at: u64,
    /// Octets of packets with acknowledgements since then.
    unrecorded: u32,
}

impl Half {
    /// Returns the sequence number of the first octet, if a segment has been seen.
    pub(super) fn base(&self) -> Option<u32> {
        self.stream.base()
    }

    /// Returns true if this is a bulk transfer.
    pub(super) fn is_bulk(&self) -> bool {
        self.packets >= FEWEST_PACKETS && self.payload >= FEWEST_OCTETS
    }

    /// Returns the number of samples that are kept.
    pub(super) fn samples(&self) -> usize {
        self.acknowledgements.len() + self.data.len()
    }

    /// Takes the timestamps of a segment of this side. Returns the echo that it carries with data.
    pub(super) fn stamp(&mut self, segment: &Segment, options: &Options, length: u32, now: u64) -> Option<u32> {
        if segment.payload == 0 {
            self.sent_acks += u64::from(length);
        }
        let (value, echo) = options.timestamps?;
        if self.last_stamp.is_none_or(|last| value.wrapping_sub(last).cast_signed() > 0) {
            self.last_stamp = Some(value);
            if self.stamps.len() == MAX_STAMPS {
                self.stamps.pop_front();
            }
            self.stamps.push_back((value, now, self.sent_acks));
        }
        (segment.payload > 0).then_some(echo)
    }

    /// Takes an echo of a timestamp of this side. Returns the time since it passed the tap, with its first echo, and the
    /// octets of acknowledgements up to it since the echo before.
    pub(super) fn echo(&mut self, echo: u32, now: u64) -> Option<(u64, u64)> {
        while let Some(&(value, at, acks)) = self.stamps.front() {
            let ahead = value.wrapping_sub(echo).cast_signed();
            if ahead > 0 {
                return None;
            }
            self.stamps.pop_front();
            if ahead == 0 {
                let new = acks - self.echoed_acks;
                self.echoed_acks = acks;
                return Some((now.saturating_sub(at), new));
            }
        }
        None
    }

    /// Takes a segment of this direction with the stamp of its sender, and the delay that its echo shows. Returns the
    /// number of samples that are kept besides those before.
    pub(super) fn data(
        &mut self,
        segment: &Segment,
        length: u32,
        mss: u32,
        (stamp, echo): (u32, Option<(u64, u64)>),
        now: u64,
        may_keep: bool,
    ) -> usize {
        let (payload, seq) = (segment.payload, segment.seq.wrapping_add(u32::from(segment.syn)));
        if segment.syn && self.stream.base().is_none() {
            self.stream.begin(segment.seq);
        }
        let highest = self.stream.highest();
        let place = self.stream.segment(seq, payload);
        let (start, end) = (self.stream.octet(seq), self.stream.octet(seq.wrapping_add(payload)));
        let segments = u64::from(payload.div_ceil(mss).max(1));
        match place {
            Place::New { .. } => {
                if start > highest {
                    self.gaps.push_back((highest, start, now));
                    if self.gaps.len() > MAX_GAPS {
                        self.gaps.pop_front();
                    }
                }
                if self.sent.len() < MAX_SENT {
                    self.sent.push_back(Sent { start, end, at: now, last: (start, end, now), is_repeated: false });
                }
            }
            Place::Late => {
                let first = self.gaps.partition_point(|(_, to, _)| *to <= start);
                let opened = self.gaps.get(first).filter(|(from, ..)| *from < end).map(|gap| gap.2);
                if let Some(opened) = opened.filter(|opened| now.saturating_sub(*opened) > REORDERING) {
                    self.lose(opened, segments);
                    self.lost_before += segments;
                }
                self.recovery = self.recovery.max(self.stream.highest());
            }
            Place::Seen => {
                // Octets that were acknowledged before are retransmitted without need.
                let at = self.sent.partition_point(|sent| sent.end <= start);
                let is_copy = |sent: &Sent| {
                    let (from, to, last) = sent.last;
                    (from, to) == (start, end) && now.saturating_sub(last) < self.copy_time()
                };
                if self.sent.get(at).is_some_and(is_copy) {
                    return 0;
                }
                if end > self.acknowledged.upto() {
                    match self.sent.get(at) {
                        Some(first) if !first.is_repeated => self.lose(first.at, segments),
                        Some(_) => self.lost += segments,
                        None => {}
                    }
                    self.sent
                        .iter_mut()
                        .skip(at)
                        .take_while(|sent| sent.start < end)
                        .for_each(|sent| (sent.is_repeated, sent.last) = (true, (start, end, now)));
                }
                self.recovery = self.recovery.max(self.stream.highest());
            }
            Place::KeepAlive | Place::Empty | Place::Outside => return 0,
        }
        self.packets += segments;
        let headers = u64::from(length.saturating_sub(payload));
        let octets = u64::from(payload) + segments * headers;
        self.octets += octets;
        self.payload += u64::from(payload);
        self.largest = self.largest.max(payload.min(mss));
        let delay = echo.map_or(NONE, |(delay, _)| clipped(delay));
        let acks = echo.map_or(0, |(_, acks)| u32::try_from(acks).unwrap_or(u32::MAX));
        if let Some((trip, _)) = echo {
            self.trip[1] = trip;
        }
        let octets = u32::try_from(octets).unwrap_or(u32::MAX);
        let burst = payload.min(mss);
        usize::from(self.data.add(Sample { at: now, octets, delay, burst, stamp, length: acks }, may_keep))
    }

    /// Returns the time within which the octets of a segment that come again are a copy, in ns.
    fn copy_time(&self) -> u64 {
        match self.trip.iter().sum::<u64>() {
            0 => COPY,
            trip => trip / 2,
        }
    }

    /// Counts a loss of segments the first of which passed the tap at a time, or whose gap was seen then.
    fn lose(&mut self, at: u64, segments: u64) {
        self.lost += segments;
        let trip = self.trip.iter().sum();
        let is_full = self.losses.len() == MAX_LOSSES;
        match self.losses.last_mut() {
            Some(last) if at.saturating_sub(self.lost_at) < trip || is_full => {
                last.count += segments;
                last.last = last.last.max(at);
            }
            _ => {
                self.lost_at = at;
                self.losses.push(Loss { first: at, last: at, count: segments });
            }
        }
    }

    /// Takes an acknowledgement of this direction with the stamp of its sender. Returns the number of samples that are
    /// kept besides those before.
    pub(super) fn acknowledge(
        &mut self,
        ack: u32,
        options: &Options,
        (stamp, length): (u32, u32),
        now: u64,
        may_keep: bool,
    ) -> usize {
        self.unrecorded = self.unrecorded.saturating_add(length);
        if self.stream.base().is_none() {
            return 0;
        }
        self.stream.acknowledge(ack);
        let upto = self.stream.acked.min(self.stream.highest());
        // The SYN is octet 0.
        let is_first = self.acknowledged.upto() == 0;
        let mut new = self.acknowledged.cumulative(upto).saturating_sub(u64::from(is_first));
        let mut trip = None;
        for (from, to) in options.sack.iter().flatten() {
            let (from, to) = (self.stream.octet(*from), self.stream.octet(*to));
            if to > self.stream.highest() {
                continue;
            }
            new += self.acknowledged.selective(from, to);
            // The highest block ends with the segment that has just arrived, unless it was acknowledged before.
            if to > self.selected {
                self.selected = to;
                let at = self.sent.partition_point(|sent| sent.end < to);
                trip = self.sent.get(at).filter(|sent| !sent.is_repeated && sent.start < to).map(|s| (*s, to));
            }
        }
        let mut newest = None;
        while self.sent.front().is_some_and(|sent| sent.end <= upto) {
            newest = self.sent.pop_front().map(|sent| (sent, sent.end));
        }
        // A part of a long segment.
        if let Some(sent) = self.sent.front().filter(|sent| new > 0 && sent.start < upto) {
            newest = Some((*sent, upto));
        }
        let newest = newest.filter(|(sent, end)| !sent.is_repeated && *end > self.recovery);
        let trip = trip.or(newest).map(|(sent, end)| (now.saturating_sub(sent.at), end - sent.start));
        if let Some((delay, _)) = trip {
            self.trip[0] = delay;
        }
        if new == 0 {
            return 0;
        }
        if now > self.delivered_at && self.delivered_at > 0 {
            self.dispersion.add(new, now - self.delivered_at);
        }
        self.delivered_at = now;
        let sample = Sample {
            at: now,
            octets: u32::try_from(new).unwrap_or(u32::MAX),
            delay: trip.map_or(NONE, |(delay, _)| clipped(delay)),
            burst: trip.map_or(0, |(_, burst)| u32::try_from(burst).unwrap_or_default()),
            stamp,
            length: std::mem::take(&mut self.unrecorded),
        };
        usize::from(self.acknowledgements.add(sample, may_keep))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn send(half: &mut Half, number: u32, now: u64) {
        let seq = 1 + 1000 * number;
        let segment = Segment { seq, ack: Some(1), syn: false, fin: false, rst: false, payload: 1000 };
        half.data(&segment, 1040, 1460, (0, None), now, true);
    }

    /// A capture of two interfaces has each packet twice; a segment that is lost is there four times.
    #[test]
    fn copies_of_packets_are_no_losses() {
        let mut half = Half::default();
        for number in 0..100 {
            let now = (1 + 10 * u64::from(number)) * MS;
            send(&mut half, number, now);
            send(&mut half, number, now + 20_000);
            half.acknowledge(1001 + 1000 * number, &Options::default(), (0, 40), now + 8 * MS, true);
        }
        assert_eq!((half.packets, half.payload, half.lost), (100, 100_000, 0));
        for wait in [0, 20_000, 20 * MS, 20 * MS + 20_000] {
            send(&mut half, 100, 2000 * MS + wait);
        }
        assert_eq!((half.packets, half.lost), (102, 1));
        assert_eq!(half.losses, [Loss { first: 2000 * MS, last: 2000 * MS, count: 1 }]);
    }
}
