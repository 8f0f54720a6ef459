//! The datagrams that have arrived, so that a second copy of one is not counted.

/// The number of sequence numbers, up to the highest that has arrived, whose arrival is remembered.
const WINDOW: u64 = 4096;

/// A window over the sequence numbers that have arrived, as receivers of IPsec have one against replay: RFC 6479.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// One bit for each sequence number of the window, at its number modulo the window.
    bits: Box<[u64; (WINDOW / 64) as usize]>,
    /// One more than the highest sequence number so far.
    end: u64,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen { bits: Box::new([0; (WINDOW / 64) as usize]), end: 0 }
    }
}

impl Seen {
    /// Records the arrival of a datagram; returns false if it has arrived before. One that is older than the window counts as
    /// new.
    pub(super) fn is_new(&mut self, sequence: u64) -> bool {
        if sequence >= self.end {
            // Those between are in the window from now on, and have not arrived.
            let first = self.end.max(sequence.saturating_sub(WINDOW - 1));
            for skipped in first..=sequence {
                self.bits[word(skipped)] &= !bit(skipped);
            }
            self.end = sequence + 1;
        } else if self.end - sequence > WINDOW {
            return true;
        }
        let word = &mut self.bits[word(sequence)];
        let is_new = *word & bit(sequence) == 0;
        *word |= bit(sequence);
        is_new
    }
}

fn word(sequence: u64) -> usize {
    (sequence % WINDOW / 64) as usize
}

fn bit(sequence: u64) -> u64 {
    1 << (sequence % 64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Against a set, over jumps, gaps, late ones and copies within the window.
    #[test]
    fn copies_are_recognised_within_the_window() {
        let (mut seen, mut known) = (Seen::default(), BTreeSet::new());
        let (mut state, mut highest, mut copies) = (1u64, 0u64, 0);
        for _ in 0..100_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let draw = state >> 33;
            let sequence = match draw % 1024 {
                0 => highest + draw / 1024 % 6000,
                1..100 => highest + draw / 1024 % 50,
                _ => highest.saturating_sub(draw / 1024 % WINDOW),
            };
            highest = highest.max(sequence);
            let expected = known.insert(sequence);
            copies += u32::from(!expected);
            assert_eq!(seen.is_new(sequence), expected, "{sequence} of {highest}");
        }
        assert!(copies > 5000, "{copies}");
    }

    #[test]
    fn one_that_is_older_than_the_window_is_new() {
        let mut seen = Seen::default();
        assert!(seen.is_new(0) && !seen.is_new(0));
        assert!(seen.is_new(WINDOW) && seen.is_new(0) && seen.is_new(1) && !seen.is_new(WINDOW));
    }
}
