//! One direction of a TCP connection as its sequence numbers show it: the octets that are new, and those that are not.

/// The most ranges of missing octets that are remembered. Further ones count as if they had been seen.
const MAX_GAPS: usize = 64;
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
        self.gaps.iter().any(|gap| gap.0 < self.acked)
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
            if start > self.highest && self.gaps.len() < MAX_GAPS {
                self.gaps.push((self.highest, start));
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
        if self.gaps.is_empty() {
            return 0;
        }
        let mut filled = 0;
        let mut left = Vec::with_capacity(self.gaps.len() + 1);
        for &(from, to) in &self.gaps {
            let (low, high) = (from.max(start), to.min(end));
            if low >= high {
                left.push((from, to));
                continue;
            }
            filled += (high - low) as u64;
            left.extend([(from, low), (high, to)].into_iter().filter(|(from, to)| from < to));
        }
        left.truncate(MAX_GAPS);
        self.gaps = left;
        filled
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
