//! Evidence that the retransmissions of a loss episode were not needed, so that its reduction of the window is undone.
//!
//! Two kinds: the peer reports all retransmitted data as duplicates (D-SACK, RFC 2883; Linux counts them in
//! `undo_retrans`), or the acknowledgement of the retransmitted data echoes a timestamp from before the retransmission
//! (Eifel detection, RFC 3522). F-RTO, the third, is part of [RACK](crate::recovery).

use cellway_units::Time;

use crate::congestion::{Repair, Window};
use crate::ranges::Ranges;
use crate::send::Chunk;
use crate::{Position, SackBlock, SeqNum};

/// Data that the peer has received twice, as its D-SACK block reports. RFC 2883.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Duplicate {
    pub(crate) start: Position,
    /// The position behind it.
    pub(crate) end: Position,
}

impl Duplicate {
    /// Returns the duplicate that the first of `blocks` reports, if it is a D-SACK block: it lies below the
    /// acknowledgement `ack` of its segment, or inside the second block. RFC 2883 §4. `iss` has position 0, and `una` is
    /// the first position not acknowledged.
    pub(crate) fn of(blocks: &[SackBlock], ack: Position, iss: SeqNum, una: Position) -> Option<Duplicate> {
        let position = |seq: SeqNum| seq.position(iss, una);
        let range = |block: &SackBlock| Some((position(block.start)?, position(block.end)?));
        let (start, end) = range(blocks.first()?)?;
        let inside = |(from, to): (Position, Position)| from <= start && end <= to;
        let is_duplicate = start < ack || blocks.get(1).and_then(range).is_some_and(inside);
        (is_duplicate && start < end).then_some(Duplicate { start, end })
    }
}

/// The timestamps that acknowledgements of the retransmitted data have echoed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Echoes {
    None,
    /// All from before the first retransmission: the first transmissions have arrived.
    Early,
    /// Not all: a retransmission was needed.
    Late,
}

/// A reduction of the window for a loss that may prove not to be one.
#[derive(Clone, Debug)]
pub(crate) struct Reduction {
    /// The window before the first reduction of the episode.
    pub(crate) before: Window,
    /// The repair that it began with.
    pub(crate) repair: Repair,
    /// The data that the episode has retransmitted, and the position behind it.
    resent: Ranges,
    to: Position,
    /// The time of its first retransmission.
    first: Option<Time>,
    /// Retransmitted, each time counted, and not reported as duplicate (bytes of the sequence space).
    unreported: u64,
    echoes: Echoes,
}

impl Reduction {
    /// Begins an episode. The peer may still report what a loss probe has retransmitted.
    pub(crate) fn new(before: Window, repair: Repair, probed: Option<(Position, Position)>) -> Reduction {
        let (resent, echoes) = (Ranges::default(), Echoes::None);
        let mut reduction = Reduction { before, repair, resent, to: 0, first: None, unreported: 0, echoes };
        if let Some((start, end)) = probed {
            reduction.count(start, end);
        }
        reduction
    }
    fn count(&mut self, start: Position, end: Position) {
        self.resent.insert(start, end, 0);
        self.unreported += end - start;
    }
    /// Counts a retransmission.
    pub(crate) fn resent(&mut self, chunk: Chunk, now: Time) {
        self.first.get_or_insert(now);
        self.to = self.to.max(chunk.end());
        self.count(chunk.from, chunk.end());
    }
    /// Counts a duplicate that the peer reports, if this episode has retransmitted it.
    pub(crate) fn reported(&mut self, duplicate: Duplicate) {
        let resent = self.resent.len_below(duplicate.end) - self.resent.len_below(duplicate.start);
        self.unreported = self.unreported.saturating_sub(resent);
    }
    /// Takes an acknowledgement that moves the first unacknowledged position from `una`, and echoes a timestamp that its
    /// segment carried no later than at `echo`. RFC 3522 §3.2, steps 4 and 5, for all retransmissions of the episode.
    pub(crate) fn acked(&mut self, una: Position, echo: Option<Time>) {
        if let (Some(echo), Some(first)) = (echo, self.first)
            && una < self.to
        {
            let early = echo <= first && self.echoes != Echoes::Late;
            self.echoes = if early { Echoes::Early } else { Echoes::Late };
        }
    }
    /// Returns true if nothing was lost, where everything below `una` is acknowledged.
    pub(crate) fn is_spurious(&self, una: Position) -> bool {
        self.first.is_some() && (self.unreported == 0 || self.echoes == Echoes::Early && una >= self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + cellway_units::Span::from_ms(n)
    }
    fn reduction(probed: Option<(Position, Position)>) -> Reduction {
        Reduction::new(Window { cwnd: 10_000, ssthresh: 10_000, mss: 1000 }, Repair::Fast, probed)
    }
    fn chunk(from: Position) -> Chunk {
        Chunk { from, len: 1000, syn: false, fin: false }
    }
    fn duplicate(start: Position) -> Duplicate {
        Duplicate { start, end: start + 1000 }
    }

    /// RFC 2883 §4: below the acknowledgement, or inside the second block.
    #[test]
    fn the_first_block_may_report_a_duplicate() {
        let iss = SeqNum(u32::MAX - 2000);
        let of = |blocks: &[(u64, u64)], ack: u64| {
            let blocks: Vec<_> =
                blocks.iter().map(|&(start, end)| SackBlock { start: iss.add(start), end: iss.add(end) }).collect();
            Duplicate::of(&blocks, ack, iss, ack).map(|duplicate| (duplicate.start, duplicate.end))
        };
        assert_eq!(of(&[], 1001), None);
        assert_eq!(of(&[(1, 1001)], 4001), Some((1, 1001)));
        assert_eq!(of(&[(5001, 6001)], 4001), None);
        assert_eq!(of(&[(5001, 6001), (7001, 9001)], 4001), None);
        assert_eq!(of(&[(7001, 8001), (7001, 9001)], 4001), Some((7001, 8001)));
        assert_eq!(of(&[(6001, 8001), (7001, 9001)], 4001), None);
        assert_eq!(of(&[(1001, 1001)], 4001), None);
    }

    #[test]
    fn all_that_was_resent_must_be_reported() {
        let mut reduction = reduction(None);
        assert!(!reduction.is_spurious(1), "nothing was resent");
        for from in [1, 3001, 1] {
            reduction.resent(chunk(from), ms(0));
        }
        // Packets that the network duplicates are not counted, unless they were resent, too.
        for start in [3001, 1001, 5001, 1] {
            reduction.reported(duplicate(start));
            assert!(!reduction.is_spurious(9001), "{start}");
        }
        reduction.reported(duplicate(1));
        assert!(reduction.is_spurious(9001));
    }

    #[test]
    fn the_report_of_a_probe_is_not_that_of_another_segment() {
        let mut reduction = reduction(Some((9001, 10_001)));
        reduction.resent(chunk(1), ms(0));
        reduction.reported(duplicate(9001));
        assert!(!reduction.is_spurious(10_001));
        reduction.reported(duplicate(1));
        assert!(reduction.is_spurious(10_001));
    }

    #[test]
    fn each_echo_must_be_early() {
        for (echoes, spurious) in [([90, 100], true), ([90, 101], false), ([101, 90], false)] {
            let mut reduction = reduction(None);
            reduction.resent(chunk(1), ms(100));
            reduction.resent(chunk(3001), ms(110));
            reduction.acked(1, Some(ms(echoes[0])));
            assert!(!reduction.is_spurious(3001), "the second is outstanding");
            reduction.acked(3001, Some(ms(echoes[1])));
            assert_eq!(reduction.is_spurious(4001), spurious, "{echoes:?}");
            // Later data do not count.
            reduction.acked(4001, Some(ms(200)));
            assert_eq!(reduction.is_spurious(9001), spurious, "{echoes:?}");
        }
    }
}
