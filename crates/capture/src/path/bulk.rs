//! One connection as a transfer over the path, in both directions.

use super::half::Half;
use super::options::Options;
use crate::packet::Segment;

/// The unit of time of joined samples, in ns.
pub(super) const TICK: u64 = 1_000_000;
/// The octets that timestamps take of the largest segment. RFC 7323, section 3.2.
const TIMESTAMPS: u32 = 12;
/// The largest segment of a connection whose handshake is not in the capture: that of Ethernet, without options.
const ETHERNET: u32 = 1_460;

/// The round trip of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handshake {
    /// By the index of the side on which they are, in ns.
    pub(super) trips: [u64; 2],
    /// The octets of the IP packets with SYN.
    pub(super) length: u32,
}

/// A connection.
#[derive(Debug, Default)]
pub(super) struct Bulk {
    /// By the index of the sender in the key.
    pub(super) halves: [Half; 2],
    /// The sender, time and length of the SYN, and the time of its answer.
    syn: Option<(usize, u64, u32)>,
    answer: Option<u64>,
    /// `None` if it is not in the capture, or was repeated.
    pub(super) handshake: Option<Handshake>,
    is_repeated: bool,
    /// The largest segment that both sides accept, in octets of payload with options.
    mss: Option<u32>,
    /// The time of the last packet, in ns.
    last: u64,
    /// The number of the file with that packet.
    pub(super) file: usize,
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

    /// Returns the number of samples that are kept.
    pub(super) fn samples(&self) -> usize {
        self.halves.iter().map(Half::samples).sum()
    }

    /// Returns true if a SYN is of a later connection.
    pub(super) fn is_another(&self, side: usize, segment: &Segment) -> bool {
        let known = self.halves[side].base();
        segment.syn && segment.ack.is_none() && known.is_some_and(|known| known != segment.seq)
    }

    /// Takes a packet of `length` octets that `side` sent. Returns the number of samples that are kept besides those
    /// before, none unless `may_keep`.
    pub(super) fn packet(
        &mut self,
        side: usize,
        segment: &Segment,
        options: &Options,
        length: u32,
        now: u64,
        may_keep: bool,
    ) -> usize {
        self.last = now;
        self.handshake(side, segment, length, now);
        if let Some(mss) = options.mss.filter(|_| segment.syn) {
            self.mss = Some(self.mss.map_or(mss, |known| known.min(mss)).max(1));
        }
        let reserved = if options.timestamps.is_some() { TIMESTAMPS } else { 0 };
        let mss = self.mss.unwrap_or(ETHERNET).saturating_sub(reserved).max(1);
        let [low, high] = &mut self.halves;
        let (own, other) = if side == 0 { (low, high) } else { (high, low) };
        let stamp = options.timestamps.map_or(0, |(value, _)| value);
        let echo = own.stamp(segment, options, length, now).and_then(|echo| other.echo(echo, now));
        let kept = own.data(segment, length, mss, (stamp, echo), now, may_keep);
        match segment.ack {
            Some(ack) => kept + other.acknowledge(ack, options, (stamp, length), now, may_keep),
            None => kept,
        }
    }

    fn handshake(&mut self, side: usize, segment: &Segment, length: u32, now: u64) {
        match (segment.syn, segment.ack, self.syn, self.answer) {
            (true, None, None, _) => self.syn = Some((side, now, length)),
            (true, Some(_), Some((from, ..)), None) if from != side => self.answer = Some(now),
            (true, ..) => self.is_repeated = true,
            (false, Some(_), Some((from, at, length)), Some(answer)) if from == side && self.handshake.is_none() => {
                let mut trips = [0; 2];
                trips[side] = now.saturating_sub(answer);
                trips[1 - side] = answer.saturating_sub(at);
                self.handshake = Some(Handshake { trips, length });
            }
            _ => {}
        }
        if self.is_repeated && self.halves.iter().all(|half| half.packets == 0) {
            self.handshake = None;
        }
    }
}
