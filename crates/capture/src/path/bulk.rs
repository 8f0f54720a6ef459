//! One connection as a transfer over the path: delays, losses and deliveries, in both directions.

use std::collections::VecDeque;

use super::acknowledged::Acknowledged;
use super::dispersion::Dispersion;
use super::options::Options;
use crate::packet::Segment;
use crate::samples::Samples;
use crate::stream::{Place, Stream};

/// The most segments that wait for their acknowledgement, timestamps for their echo, and recent delays.
const MAX_SENT: usize = 1 << 14;
const MAX_STAMPS: usize = 1 << 10;
const MAX_RECENT: usize = 1 << 9;
/// The most losses that are kept, and delays.
const MAX_LOSSES: usize = 1_000;
const MAX_DELAYS: usize = 2_000;
/// The fewest segments and octets of payload of a bulk transfer.
const FEWEST_PACKETS: u64 = 100;
const FEWEST_OCTETS: u64 = 100_000;
/// The least time that a gap of a loss stays open, in ns. What is filled sooner was reordered.
const REORDERING: u64 = 3_000_000;
/// The unit of time of deliveries, in ns.
pub(super) const TICK: u64 = 1_000_000;

/// A delay at a time, in ns.
#[derive(Clone, Copy, Debug)]
struct Delay {
    at: u64,
    delay: u64,
}

/// The delays of one side of the tap.
#[derive(Debug)]
pub(super) struct Delays {
    /// The least, in ns.
    pub(super) least: Option<u64>,
    /// All, in s.
    pub(super) samples: Samples,
    recent: VecDeque<Delay>,
}

impl Default for Delays {
    fn default() -> Delays {
        Delays { least: None, samples: Samples::new(MAX_DELAYS), recent: VecDeque::new() }
    }
}

impl Delays {
    fn add(&mut self, at: u64, delay: u64) {
        self.least = Some(self.least.map_or(delay, |least| least.min(delay)));
        self.samples.add(delay as f64 / 1e9);
        if self.recent.len() == MAX_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(Delay { at, delay });
    }

    /// Returns the largest delay in the time before `at`, as long as the last delay.
    fn before(&self, at: u64) -> Option<u64> {
        let window = self.recent.back()?.delay.max(TICK);
        let recent = self.recent.iter().rev().take_while(|recent| recent.at + 4 * window >= at);
        recent.filter(|recent| recent.at <= at && recent.at + window / 2 >= at).map(|recent| recent.delay).max()
    }
}

/// A loss, with the delays on both sides of the tap just before it, in ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    /// Between tap and receiver.
    pub(super) receiver: Option<u64>,
    /// Between tap and sender.
    pub(super) sender: Option<u64>,
}

/// A segment without an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Sent {
    end: i64,
    at: u64,
    is_repeated: bool,
}

/// The data of one direction.
#[derive(Debug, Default)]
pub(super) struct Half {
    stream: Stream,
    sent: VecDeque<Sent>,
    acknowledged: Acknowledged,
    /// The highest octet at the last loss: delays up to it are those of retransmissions.
    recovery: i64,
    /// Gaps, with the time at which each was seen.
    gaps: VecDeque<(i64, i64, u64)>,
    /// Clock values of this side, with the time at which each was seen first.
    stamps: VecDeque<(u32, u64)>,
    last_stamp: Option<u32>,
    /// The time of the last loss event, in ns.
    lost_at: u64,
    /// Segments with payload, their octets with and without headers.
    pub(super) packets: u64,
    pub(super) octets: u64,
    pub(super) payload: u64,
    /// The largest payload.
    pub(super) largest: u32,
    /// Segments that were lost.
    pub(super) lost: u64,
    /// Loss events, at most one for each round trip.
    pub(super) losses: Vec<Loss>,
    /// From data at the tap to their acknowledgement.
    pub(super) receiver: Delays,
    /// From a timestamp of the receiver at the tap to its echo in data.
    pub(super) sender: Delays,
    /// Ticks with octets that were delivered in them.
    pub(super) deliveries: Vec<(u64, u32)>,
    /// The rates between one acknowledgement and the next.
    pub(super) dispersion: Dispersion,
    /// The time of the last acknowledgement of new octets.
    delivered_at: u64,
}

/// A connection.
#[derive(Debug, Default)]
pub(super) struct Bulk {
    /// By the index of the sender in the key.
    pub(super) halves: [Half; 2],
    /// The times of the SYN and of its answer.
    syn: Option<(usize, u64)>,
    answer: Option<u64>,
    /// The round trips of the handshake, by the index of the side on which they are, in ns.
    pub(super) handshake: Option<[u64; 2]>,
    is_repeated: bool,
    /// The time of the last packet, in ns.
    last: u64,
}

impl Bulk {
    /// Returns true if a direction is a bulk transfer.
    pub(super) fn is_bulk(&self) -> bool {
        self.halves.iter().any(Half::is_bulk)
    }

    /// Returns the time of the last packet, in ns.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Returns the number of deliveries that are kept.
    pub(super) fn deliveries(&self) -> usize {
        self.halves.iter().map(|half| half.deliveries.len()).sum()
    }

    /// Returns true if a SYN is of a later connection.
    pub(super) fn is_another(&self, side: usize, segment: &Segment) -> bool {
        let known = self.halves[side].stream.base();
        segment.syn && segment.ack.is_none() && known.is_some_and(|known| known != segment.seq)
    }

    /// Takes a packet of `length` octets that `side` sent. Returns the number of deliveries that are kept besides those
    /// before, none unless `may_deliver`.
    pub(super) fn packet(
        &mut self,
        side: usize,
        segment: &Segment,
        options: &Options,
        length: u32,
        now: u64,
        may_deliver: bool,
    ) -> usize {
        self.last = now;
        self.handshake(side, segment, now);
        let [low, high] = &mut self.halves;
        let (own, other) = if side == 0 { (low, high) } else { (high, low) };
        let first = segment.seq.wrapping_add(u32::from(segment.syn));
        if segment.syn && own.stream.base().is_none() {
            own.stream.begin(segment.seq);
        }
        if let Some((value, echo)) = options.timestamps {
            if own.last_stamp.is_none_or(|last| value.wrapping_sub(last).cast_signed() > 0) {
                own.last_stamp = Some(value);
                if own.stamps.len() == MAX_STAMPS {
                    own.stamps.pop_front();
                }
                own.stamps.push_back((value, now));
            }
            if segment.payload > 0 {
                own.echoed(other, echo, now);
            }
        }
        own.data(first, segment.payload, length, now);
        match segment.ack {
            Some(ack) => other.acknowledge(ack, options, now, may_deliver),
            None => 0,
        }
    }

    fn handshake(&mut self, side: usize, segment: &Segment, now: u64) {
        match (segment.syn, segment.ack, self.syn, self.answer) {
            (true, None, None, _) => self.syn = Some((side, now)),
            (true, Some(_), Some((from, _)), None) if from != side => self.answer = Some(now),
            (true, ..) => self.is_repeated = true,
            (false, Some(_), Some((from, at)), Some(answer)) if from == side && self.handshake.is_none() => {
                let mut trips = [0; 2];
                trips[side] = now.saturating_sub(answer);
                trips[1 - side] = answer.saturating_sub(at);
                self.handshake = Some(trips);
            }
            _ => {}
        }
        if self.is_repeated && self.halves.iter().all(|half| half.packets == 0) {
            self.handshake = None;
        }
    }
}

impl Half {
    /// Takes the echo of a timestamp of the other side: data that its acknowledgement has released.
    fn echoed(&mut self, other: &mut Half, echo: u32, now: u64) {
        while let Some(&(value, at)) = other.stamps.front() {
            let ahead = value.wrapping_sub(echo).cast_signed();
            if ahead > 0 {
                return;
            }
            other.stamps.pop_front();
            if ahead == 0 {
                self.sender.add(now, now.saturating_sub(at));
                return;
            }
        }
    }

    fn data(&mut self, seq: u32, payload: u32, length: u32, now: u64) {
        let highest = self.stream.highest();
        let place = self.stream.segment(seq, payload);
        let (start, end) = (self.stream.octet(seq), self.stream.octet(seq.wrapping_add(payload)));
        match place {
            Place::New { .. } => {
                if start > highest {
                    self.gaps.push_back((highest, start, now));
                    if self.gaps.len() > MAX_STAMPS {
                        self.gaps.pop_front();
                    }
                }
                if self.sent.len() < MAX_SENT {
                    self.sent.push_back(Sent { end, at: now, is_repeated: false });
                }
            }
            Place::Late => {
                let gap = self.gaps.iter().find(|(from, to, _)| *from < end && start < *to).map(|gap| gap.2);
                if let Some(opened) = gap.filter(|opened| now.saturating_sub(*opened) > REORDERING) {
                    self.lose(opened);
                }
                self.recovery = self.recovery.max(self.stream.highest());
            }
            Place::Seen => {
                // Octets that were acknowledged before are retransmitted without need.
                let at = self.sent.partition_point(|sent| sent.end <= start);
                if let Some(first) = self.sent.get(at).copied() {
                    if !first.is_repeated && end > self.acknowledged.upto() {
                        self.lose(first.at);
                    } else {
                        self.lost += u64::from(end > self.acknowledged.upto());
                    }
                    self.sent.iter_mut().skip(at).take_while(|sent| sent.end <= end).for_each(|s| s.is_repeated = true);
                }
                self.recovery = self.recovery.max(self.stream.highest());
            }
            Place::KeepAlive | Place::Empty | Place::Outside => return,
        }
        self.packets += 1;
        self.octets += u64::from(length);
        self.payload += u64::from(payload);
        self.largest = self.largest.max(payload);
    }

    /// Counts a loss of a segment that passed the tap at a time, or whose gap was seen then.
    fn lose(&mut self, at: u64) {
        self.lost += 1;
        let trip =
            [&self.receiver, &self.sender].iter().filter_map(|delays| delays.recent.back()).map(|d| d.delay).sum();
        if at.saturating_sub(self.lost_at) < trip || self.losses.len() == MAX_LOSSES {
            return;
        }
        self.lost_at = at;
        self.losses.push(Loss { receiver: self.receiver.before(at), sender: self.sender.before(at) });
    }

    /// Returns true if this is a bulk transfer.
    pub(super) fn is_bulk(&self) -> bool {
        self.packets >= FEWEST_PACKETS && self.payload >= FEWEST_OCTETS
    }

    /// Takes an acknowledgement of this direction. Returns the number of new deliveries.
    fn acknowledge(&mut self, ack: u32, options: &Options, now: u64, may_deliver: bool) -> usize {
        if self.stream.base().is_none() {
            return 0;
        }
        let before = self.deliveries.len();
        self.stream.acknowledge(ack);
        let upto = self.stream.acked.min(self.stream.highest());
        // The SYN is octet 0.
        let mut new = if self.acknowledged.upto() == 0 {
            self.acknowledged.cumulative(upto).saturating_sub(1)
        } else {
            self.acknowledged.cumulative(upto)
        };
        for (from, to) in options.sack.iter().flatten() {
            let (from, to) = (self.stream.octet(*from), self.stream.octet(*to));
            if to <= self.stream.highest() {
                new += self.acknowledged.selective(from, to);
            }
        }
        if new > 0 {
            let tick = now / TICK;
            let octets = u32::try_from(new).unwrap_or(u32::MAX);
            if now > self.delivered_at && self.delivered_at > 0 {
                self.dispersion.add(new, now - self.delivered_at);
            }
            self.delivered_at = now;
            match self.deliveries.last_mut() {
                Some((last, sum)) if *last == tick => *sum = sum.saturating_add(octets),
                _ if may_deliver => self.deliveries.push((tick, octets)),
                _ => {}
            }
        }
        let mut newest = None;
        while self.sent.front().is_some_and(|sent| sent.end <= upto) {
            newest = self.sent.pop_front();
        }
        if let Some(sent) = newest.filter(|sent| !sent.is_repeated && sent.end > self.recovery) {
            self.receiver.add(sent.at, now.saturating_sub(sent.at));
        }
        self.deliveries.len() - before
    }
}
