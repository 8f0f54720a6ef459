//! The data that the peer has reported beyond a gap. RFC 6675 §3 and §4.

use crate::Position;
use crate::ranges::Ranges;

/// The first part of a gap that may be resent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hole {
    pub(crate) start: Position,
    pub(crate) end: Position,
    /// IsLost() of everything in it.
    pub(crate) lost: bool,
}

/// The selectively acknowledged ranges above the cumulative acknowledgement.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    sacked: Ranges,
    mss: u64,
    threshold: u32,
}

impl Scoreboard {
    pub(crate) fn new(threshold: u32, mss: u64) -> Scoreboard {
        Scoreboard { sacked: Ranges::default(), mss, threshold }
    }
    pub(crate) fn sacked(&self) -> &Ranges {
        &self.sacked
    }
    /// Records a block between `una` and `max`; returns the number of newly covered bytes. Blocks outside, such as
    /// those of D-SACK (RFC 2883), are ignored.
    pub(crate) fn insert(&mut self, start: Position, end: Position, una: Position, max: Position) -> u64 {
        if start < una || end > max { 0 } else { self.sacked.insert(start, end, 0) }
    }
    pub(crate) fn acked(&mut self, una: Position) {
        self.sacked.remove_below(una);
        // A peer that held the data SACKed at `una` would have acknowledged them: it has discarded data. RFC 2018 §8.
        if self.sacked.gap_from(una).0 != una {
            self.sacked.clear();
        }
    }

    /// Returns IsLost(): `ranges` disjoint ranges with `bytes` bytes were SACKed above it. RFC 6675 §4.
    fn lost(&self, ranges: u64, bytes: u64) -> bool {
        let threshold = u64::from(self.threshold);
        ranges >= threshold || bytes > (threshold - 1) * self.mss
    }
    /// Returns IsLost(una).
    pub(crate) fn first_is_lost(&self) -> bool {
        let ranges = self.sacked.as_slice();
        self.lost(ranges.len() as u64, ranges.iter().map(|r| r.len()).sum())
    }
    /// Returns SetPipe(): the data still in the network, when everything below `resent` was retransmitted (bytes). RFC
    /// 6675 §4.
    pub(crate) fn pipe(&self, una: Position, max: Position, resent: Position) -> u64 {
        let (mut pipe, mut ranges, mut bytes, mut upper) = (0, 0, 0, max);
        let mut count = |start: Position, end: Position, lost: bool| {
            if !lost {
                pipe += end - start;
            }
            pipe += end.min(resent).saturating_sub(start);
        };
        for r in self.sacked.as_slice().iter().rev() {
            count(r.end, upper, self.lost(ranges, bytes));
            ranges += 1;
            bytes += r.len();
            upper = r.start;
        }
        count(una, upper, self.lost(ranges, bytes));
        pipe
    }
    /// Returns the lowest position at or above both `una` and `resent` that is not SACKed but lies below a SACKed one:
    /// RFC 6675 §4, NextSeg() conditions (1.a) and (1.b). If it is not lost, nothing above it is, for IsLost() only
    /// changes from true to false with increasing position.
    pub(crate) fn hole(&self, una: Position, resent: Position) -> Option<Hole> {
        let (start, end) = self.sacked.gap_from(una.max(resent));
        let end = end?;
        let above = self.sacked.as_slice().iter().filter(|r| r.start >= end);
        let (ranges, bytes) = above.fold((0, 0), |(n, b), r| (n + 1, b + r.len()));
        Some(Hole { start, end, lost: self.lost(ranges, bytes) })
    }
    /// Returns the start of the highest positions that are not SACKed, for a rescue retransmission below `max`.
    pub(crate) fn last_gap(&self, una: Position, max: Position) -> Option<(Position, Position)> {
        let mut end = max;
        for r in self.sacked.as_slice().iter().rev() {
            if r.end < end {
                return Some((r.end, end));
            }
            end = r.start;
        }
        (una < end).then_some((una, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(blocks: &[(u64, u64)]) -> Scoreboard {
        let mut board = Scoreboard::new(3, 100);
        for &(start, end) in blocks {
            board.insert(start, end, 1, 1001);
        }
        board
    }

    #[test]
    fn loss_needs_three_ranges_or_more_than_two_segments_above() {
        assert!(!board(&[(101, 301)]).first_is_lost());
        assert!(board(&[(101, 302)]).first_is_lost());
        assert!(!board(&[(101, 111), (121, 131)]).first_is_lost());
        assert!(board(&[(101, 111), (121, 131), (141, 151)]).first_is_lost());
    }

    #[test]
    fn pipe_counts_what_is_neither_sacked_nor_lost_and_what_was_resent() {
        // 1..101 lost (350 B above), 201..301 not lost (150 B above), 451..1001 not lost.
        let board = board(&[(101, 201), (301, 451)]);
        assert_eq!(board.pipe(1, 1001, 1), 100 + 550);
        assert_eq!(board.pipe(1, 1001, 101), 100 + 100 + 550);
        assert_eq!(board.pipe(1, 1001, 251), 100 + 150 + 550);
    }

    #[test]
    fn holes_are_found_above_what_was_resent() {
        let board = board(&[(101, 201), (301, 501)]);
        assert_eq!(board.hole(1, 0), Some(Hole { start: 1, end: 101, lost: true }));
        assert_eq!(board.hole(1, 101), Some(Hole { start: 201, end: 301, lost: false }));
        assert_eq!(board.hole(1, 301), None);
        assert_eq!(board.last_gap(1, 1001), Some((501, 1001)));
        assert_eq!(board.last_gap(1, 501), Some((201, 301)));
    }

    #[test]
    fn blocks_outside_the_flight_are_ignored() {
        let mut board = Scoreboard::new(3, 100);
        assert_eq!(board.insert(50, 150, 100, 500), 0);
        assert_eq!(board.insert(400, 501, 100, 500), 0);
        assert_eq!(board.insert(400, 500, 100, 500), 100);
        assert_eq!(board.insert(400, 500, 100, 500), 0);
    }
}
