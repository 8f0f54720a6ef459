//! One direction of a TCP connection as its sequence numbers show it: the octets that are new, and those that are not.

/// The most ranges of missing octets that are remembered. A sender that overshoots in slow start loses every second
/// segment: these are the ranges of 12 MB. Of more, the lowest count as missing for good.
const MAX_GAPS: usize = 4096;
/// The largest distance of a segment from the highest octet seen: the largest window. RFC 7323, section 2.3.
const LARGEST_WINDOW: i64 = 1 << 30;

/// The place of a segment in its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Octets beyond all that have been seen. `span` is their number, with those that are missing before them.
    New { span: u64 },
    /// Octets that were missing: reordered, or retransmitted after a loss before the tap.
    Late,
    /// Octets that have been seen before: retransmitted.
    Seen,
    /// A keep-alive: the last octet again, or none. RFC 9293, section 3.8.4.
    KeepAlive,
    /// Nothing: an acknowledgement.
    Empty,
    /// No window reaches there.
    Outside,
}

/// The octets of one direction, counted from its first sequence number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stream {
    /// The sequence number of octet 0, once a segment has been seen.
    base: Option<u32>,
    /// The octet after the highest one seen; a SYN is octet 0.
    highest: i64,
    /// Ranges below `highest` that have not been seen, rising.
    gaps: Vec<(i64, i64)>,
    /// True if a range was forgotten.
    has_forgotten: bool,
    /// The highest acknowledgement of this direction, by the other side.
    pub(crate) acked: i64,
    /// The octet of the FIN.
    pub(crate) fin: Option<i64>,
    /// Segments, with and without payload.
    pub(crate) packets: u64,
    /// Octets of payload, each counted once.
    pub(crate) octets: u64,
    /// Segments whose octets had all been seen.
    pub(crate) retransmitted: u64,
    /// Segments that filled a gap.
    pub(crate) late: u64,
}

impl Stream {
    /// Starts at a SYN.
    pub(crate) fn begin(&mut self, isn: u32) {
        self.base = Some(isn);
        self.highest = 1;
    }

    /// Returns the sequence number of the first octet, if a segment has been seen.
    pub(crate) fn base(&self) -> Option<u32> {
        self.base
    }

    /// Returns the octet after the highest that has been seen.
    pub(crate) fn highest(&self) -> i64 {
        self.highest
    }

    /// Returns the octet that a sequence number is nearest to; 0 before the first segment.
    pub(crate) fn octet(&self, seq: u32) -> i64 {
        let Some(base) = self.base else { return 0 };
        let expected = base.wrapping_add(self.highest as u32);
        self.highest + i64::from(seq.wrapping_sub(expected).cast_signed())
    }

    /// Returns true if octets below the acknowledgement of the other side were never seen.
    pub(crate) fn has_missing(&self) -> bool {
        self.has_forgotten || self.gaps.first().is_some_and(|gap| gap.0 < self.acked)
    }

    /// Takes an acknowledgement of this direction; ignores one that no octet explains.
    pub(crate) fn acknowledge(&mut self, ack: u32) {
        let octet = self.octet(ack);
        // One more than the highest is a FIN; more than a window is nonsense.
        if self.base.is_some() && octet > self.acked && octet <= self.highest + LARGEST_WINDOW {
            self.acked = octet;
        }
    }

    /// Takes the payload of a segment, which begins at `seq` (after the SYN, if it has one).
    pub(crate) fn segment(&mut self, seq: u32, payload: u32) -> Place {
        if self.base.is_none() {
            // Cut off at the start: the first segment seen is the start.
            self.base = Some(seq.wrapping_sub(1));
            self.highest = 1;
        }
        let start = self.octet(seq);
        let end = start + i64::from(payload);
        if (start - self.highest).abs() > LARGEST_WINDOW {
            return Place::Outside;
        }
        if payload <= 1 && start == self.highest - 1 && self.highest > 1 {
            return Place::KeepAlive;
        }
        if payload == 0 {
            return Place::Empty;
        }
        let filled = self.fill(start, end);
        self.octets += filled;
        if end > self.highest {
            let span = (end - self.highest) as u64;
            if start > self.highest {
                self.gaps.push((self.highest, start));
                self.forget_gaps();
            }
            self.octets += (end - start.max(self.highest)) as u64;
            self.highest = end;
            return Place::New { span };
        }
        if filled > 0 {
            self.late += 1;
            Place::Late
        } else {
            self.retransmitted += 1;
            Place::Seen
        }
    }

    /// Removes a range from the gaps; returns the octets that were in them.
    fn fill(&mut self, start: i64, end: i64) -> u64 {
        let first = self.gaps.partition_point(|gap| gap.1 <= start);
        let after = first + self.gaps[first..].partition_point(|gap| gap.0 < end);
        let touched = &self.gaps[first..after];
        let (Some(low), Some(high)) = (touched.first(), touched.last()) else { return 0 };
        let left = [(low.0, start), (end, high.1)];
        let filled = touched.iter().map(|gap| (gap.1.min(end) - gap.0.max(start)) as u64).sum();
        drop(self.gaps.splice(first..after, left.into_iter().filter(|(from, to)| from < to)));
        self.forget_gaps();
        filled
    }

    /// Forgets the lowest gaps beyond the most that are remembered.
    fn forget_gaps(&mut self) {
        let beyond = self.gaps.len().saturating_sub(MAX_GAPS);
        self.has_forgotten |= beyond > 0;
        drop(self.gaps.drain(..beyond));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(isn: u32) -> Stream {
        let mut stream = Stream::default();
        stream.begin(isn);
        stream
    }

    #[test]
    fn octets_are_counted_once_over_the_wrap() {
        let mut stream = begun(u32::MAX - 1000);
        let first = u32::MAX - 999;
        assert_eq!(stream.segment(first, 600), Place::New { span: 600 });
        assert_eq!(stream.segment(first.wrapping_add(1200), 600), Place::New { span: 1200 });
        assert_eq!(stream.segment(first.wrapping_add(600), 600), Place::Late);
        assert_eq!(stream.segment(first.wrapping_add(600), 600), Place::Seen);
        assert_eq!((stream.octets, stream.late, stream.retransmitted), (1800, 1, 1));
        assert!(stream.highest() == 1801 && !stream.has_missing());
    }

    #[test]
    fn more_than_the_space_of_sequence_numbers() {
        let mut stream = begun(7);
        let mut seq = 8u32;
        for _ in 0..5_000 {
            assert_eq!(stream.segment(seq, 1 << 20), Place::New { span: 1 << 20 });
            seq = seq.wrapping_add(1 << 20);
        }
        assert_eq!(stream.octets, 5_000 << 20);
    }

    #[test]
    fn a_segment_may_fill_a_gap_and_reach_beyond_it() {
        let mut stream = begun(0);
        assert_eq!(stream.segment(101, 100), Place::New { span: 200 });
        assert_eq!(stream.segment(51, 200), Place::New { span: 50 });
        assert_eq!(stream.octets, 200, "50 of the gap, 100, and 50 beyond");
        stream.acknowledge(251);
        assert!(stream.has_missing());
        assert_eq!(stream.segment(1, 50), Place::Late);
        assert!(!stream.has_missing());
    }

    /// A sender that overshoots in slow start loses every second segment of a window.
    #[test]
    fn every_second_segment_of_a_window_may_come_late() {
        let mut stream = begun(0);
        let seq = |segment: u32| 1 + 1000 * segment;
        for segment in (1..4000).step_by(2) {
            assert_eq!(stream.segment(seq(segment), 1000), Place::New { span: 2000 });
        }
        for segment in (0..4000).step_by(2) {
            assert_eq!(stream.segment(seq(segment), 1000), Place::Late);
        }
        stream.acknowledge(seq(4000));
        assert_eq!((stream.octets, stream.late, stream.retransmitted), (4_000_000, 2000, 0));
        assert!(!stream.has_missing());
    }

    #[test]
    fn one_segment_fills_several_gaps_and_parts_of_others() {
        let mut stream = begun(0);
        for start in [101, 301, 501, 701] {
            stream.segment(start, 100);
        }
        // 50 octets of the first gap, all of two, 20 of the last.
        assert_eq!(stream.segment(51, 570), Place::Late);
        assert_eq!((stream.octets, &stream.gaps[..]), (400 + 270, &[(1, 51), (621, 701)][..]));
        assert_eq!(stream.segment(11, 10), Place::Late);
        assert_eq!(stream.gaps, [(1, 11), (21, 51), (621, 701)]);
        assert_eq!(stream.segment(51, 570), Place::Seen);
    }

    #[test]
    fn octets_of_forgotten_gaps_are_missing() {
        let mut stream = begun(0);
        let segments = MAX_GAPS as u32 + 10;
        for first in [11, 1] {
            for segment in 0..segments {
                stream.segment(first + 20 * segment, 10);
            }
        }
        assert_eq!((stream.late, stream.retransmitted), (MAX_GAPS as u64, 10));
        assert!(stream.gaps.is_empty() && stream.has_missing());
    }

    #[test]
    fn keep_alives_and_nonsense_are_no_retransmissions() {
        let mut stream = begun(0);
        stream.segment(1, 100);
        assert_eq!(stream.segment(100, 1), Place::KeepAlive);
        assert_eq!(stream.segment(100, 0), Place::KeepAlive);
        assert_eq!(stream.segment(101, 0), Place::Empty);
        assert_eq!(stream.segment(101 + (1 << 31), 10), Place::Outside);
        assert_eq!((stream.octets, stream.retransmitted), (100, 0));
    }
}
