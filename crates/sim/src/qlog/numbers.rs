//! Packet numbers of segments: TCP has none, so the segments of each end are numbered in the order of transmission.

use std::collections::{BTreeMap, VecDeque};

use cellway_tcp::{Flags, Segment, SeqNum};

/// The segments of one direction of which neither loss nor acknowledgement is known, by position in the sequence space.
///
/// A byte belongs to its latest transmission. A segment has been replaced once all its bytes were sent again, and is
/// acknowledged once all that are left of it are; so each segment is one or the other, at most.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    /// The number of the SYN, at position 0.
    origin: Option<SeqNum>,
    /// The highest position so far, near which 32 bits determine a position.
    highest: u64,
    /// By the first position: the position behind the last, and the segment's number.
    segments: BTreeMap<u64, (u64, u64)>,
}

impl Outstanding {
    /// Returns the position of a sequence number; `None` before the SYN.
    pub(super) fn position(&self, number: SeqNum) -> Option<u64> {
        let near = self.origin?.add(self.highest);
        self.highest.checked_add_signed(i64::from(number.distance(near)))
    }

    /// Returns the position behind the last one carried so far.
    pub(super) fn highest(&self) -> u64 {
        self.highest
    }

    /// Adds a segment under its number. Appends the numbers of segments that it replaces to `replaced`, and returns true
    /// if it carries positions that were carried before.
    pub(super) fn carry(&mut self, segment: &Segment, number: u64, replaced: &mut Vec<u64>) -> bool {
        if segment.is(Flags::SYN) {
            self.origin.get_or_insert(segment.seq);
        }
        let length = segment.sequence_len();
        let Some(start) = self.position(segment.seq).filter(|_| length > 0) else { return false };
        let (end, repeated) = (start + length, start < self.highest);
        self.remove(start, end, replaced);
        self.segments.insert(start, (end, number));
        self.highest = self.highest.max(end);
        repeated
    }

    /// Removes what `segment` of the other end acknowledges; appends the numbers of the segments that it is the first to
    /// acknowledge in full.
    pub(super) fn acknowledge(&mut self, segment: &Segment, acknowledged: &mut Vec<u64>) {
        if !segment.is(Flags::ACK) {
            return;
        }
        if let Some(end) = self.position(segment.ack) {
            self.remove(0, end, acknowledged);
        }
        for block in segment.options.sack.as_slice() {
            if let (Some(start), Some(end)) = (self.position(block.start), self.position(block.end)) {
                self.remove(start, end, acknowledged);
            }
        }
        acknowledged.sort_unstable();
    }

    /// Removes the positions from `start` up to `end`; appends the numbers of the segments of which none is left.
    fn remove(&mut self, start: u64, end: u64, gone: &mut Vec<u64>) {
        if start >= end {
            return;
        }
        if let Some((_, (last, _))) = self.segments.range_mut(..start).next_back() {
            // Of a segment that is cut in the middle, which the endpoint does not do, the first part is kept.
            *last = start.min(*last);
        }
        while let Some((&first, &(last, number))) = self.segments.range(start..end).next() {
            self.segments.remove(&first);
            if last > end {
                self.segments.insert(end, (last, number));
            } else {
                gone.push(number);
            }
        }
    }
}

/// The numbers of the other end's segments on their way, by the number of the packet in the run.
#[derive(Debug, Default)]
pub(super) struct OnTheWay {
    /// The number of the first that is kept.
    first: u64,
    packets: VecDeque<u64>,
}

impl OnTheWay {
    /// Packets kept before the last that arrived: it may overtake so many.
    const OVERTAKEN: usize = 1 << 16;
    /// Packets kept in all, for an end that nothing reaches.
    const MOST: usize = 1 << 20;

    /// Records that the other end sends a packet, whose numbers in the run ascend.
    pub(super) fn sent(&mut self, packet: u64) {
        self.packets.push_back(packet);
        if self.packets.len() > OnTheWay::MOST {
            self.forget(1);
        }
    }

    /// Returns the number of a packet that arrives; `None` if it is too old.
    pub(super) fn arrived(&mut self, packet: u64) -> Option<u64> {
        let index = self.packets.binary_search(&packet).ok()?;
        let number = self.first + index as u64;
        self.forget(index.saturating_sub(OnTheWay::OVERTAKEN));
        Some(number)
    }

    fn forget(&mut self, packets: usize) {
        self.packets.drain(..packets);
        self.first += packets as u64;
    }
}

#[cfg(test)]
mod tests {
    use cellway_tcp::{Options, SackBlock};

    use super::*;

    const ISS: u32 = u32::MAX - 5;

    fn data(position: u64, len: u32) -> Segment {
        Segment { seq: SeqNum(ISS).add(position), len, ..Segment::default() }
    }

    fn ack(position: u64, blocks: &[(u64, u64)]) -> Segment {
        let mut options = Options::default();
        for &(start, end) in blocks {
            options.sack.push(SackBlock { start: SeqNum(ISS).add(start), end: SeqNum(ISS).add(end) });
        }
        Segment { ack: SeqNum(ISS).add(position), flags: Flags::ACK, options, ..Segment::default() }
    }

    /// Sends the SYN and four segments of 10 bytes, numbered from 0.
    fn outstanding() -> Outstanding {
        let mut sent = Outstanding::default();
        let mut replaced = Vec::new();
        assert!(!sent.carry(&Segment { seq: SeqNum(ISS), flags: Flags::SYN, ..Segment::default() }, 0, &mut replaced));
        for number in 1..5 {
            assert!(!sent.carry(&data(number * 10 - 9, 10), number, &mut replaced));
        }
        assert!(replaced.is_empty());
        sent
    }

    fn acknowledged(sent: &mut Outstanding, segment: &Segment) -> Vec<u64> {
        let mut numbers = Vec::new();
        sent.acknowledge(segment, &mut numbers);
        numbers
    }

    #[test]
    fn cumulative_and_selective_acknowledgements_name_each_segment_once() {
        let mut sent = outstanding();
        assert_eq!(acknowledged(&mut sent, &ack(1, &[])), [0]);
        assert_eq!(acknowledged(&mut sent, &ack(1, &[(31, 41), (11, 21)])), [2, 4]);
        assert_eq!(acknowledged(&mut sent, &ack(1, &[(31, 41), (11, 21)])), [0u64; 0], "a duplicate");
        assert_eq!(acknowledged(&mut sent, &ack(15, &[(31, 41)])), [1]);
        assert_eq!(acknowledged(&mut sent, &ack(41, &[])), [3]);
    }

    #[test]
    fn a_segment_sent_again_has_the_acknowledgement_and_the_first_is_replaced() {
        let mut sent = outstanding();
        let mut replaced = Vec::new();
        assert!(sent.carry(&data(1, 10), 5, &mut replaced));
        assert_eq!(std::mem::take(&mut replaced), [1]);
        // Half of 2, then the rest of 2 with half of 3.
        assert!(sent.carry(&data(11, 5), 6, &mut replaced) && replaced.is_empty());
        assert!(sent.carry(&data(16, 10), 7, &mut replaced));
        assert_eq!(replaced, [2]);
        assert_eq!(acknowledged(&mut sent, &ack(26, &[])), [0, 5, 6, 7]);
        assert_eq!(acknowledged(&mut sent, &ack(30, &[])), [0u64; 0], "a byte of 3 is left");
        assert_eq!(acknowledged(&mut sent, &ack(41, &[])), [3, 4]);
    }

    #[test]
    fn packets_keep_their_numbers_when_others_are_lost_or_overtake() {
        let mut way = OnTheWay::default();
        [3, 10, 11, 40].into_iter().for_each(|packet| way.sent(packet));
        assert_eq!([11, 3, 40, 40, 12].map(|packet| way.arrived(packet)), [Some(2), Some(0), Some(3), Some(3), None]);
        (0..OnTheWay::MOST as u64).for_each(|packet| way.sent(100 + packet));
        assert_eq!((way.arrived(40), way.arrived(100)), (None, Some(4)));
    }
}
