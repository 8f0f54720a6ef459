//! The share of data that arrives with a mark, as DCTCP and Prague average it.

/// One, as a share.
const ONE: u64 = 1 << 24;
/// The gain of the average is 1 / 16. RFC 8257 §4.2; Linux, `PRAGUE_SHIFT_G`.
const GAIN: u64 = 16;

/// A moving average over rounds (alpha), and the counts of the present round.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkedShare {
    /// The average, divided by the gain so that no digits are lost.
    scaled: u64,
    /// Bytes delivered, and those of them with a mark.
    delivered: u64,
    marked: u64,
}

impl MarkedShare {
    /// An average of 0.
    pub(super) const NONE: MarkedShare = MarkedShare { scaled: 0, delivered: 0, marked: 0 };
    /// An average of 1.
    pub(super) const ALL: MarkedShare = MarkedShare { scaled: ONE * GAIN, ..MarkedShare::NONE };

    /// Counts data (bytes).
    pub(super) fn count(&mut self, delivered: u64, marked: u64) {
        self.delivered += delivered;
        self.marked += marked;
    }
    /// Forgets the counts.
    pub(super) fn discard_round(&mut self) {
        (self.delivered, self.marked) = (0, 0);
    }
    /// Averages the counts, and begins to count anew: alpha = (1 - g) * alpha + g * F. RFC 8257 §3.3, step 6.
    pub(super) fn end_round(&mut self) {
        let share = u128::from(self.marked.min(self.delivered)) * u128::from(ONE) / u128::from(self.delivered.max(1));
        // In range: at most `ONE`.
        self.scaled = self.scaled - self.scaled / GAIN + share as u64;
        self.discard_round();
    }
    /// Returns a window of `cwnd` bytes, reduced by half of the average, rounded to the nearest. RFC 8257 §3.3, step 9.
    pub(super) fn reduce(&self, cwnd: u64) -> u64 {
        let whole = u128::from(2 * ONE * GAIN);
        let taken = (u128::from(cwnd) * u128::from(self.scaled) + whole / 2) / whole;
        // In range: at most half of `cwnd`.
        cwnd - taken as u64
    }
    /// Returns the average.
    #[cfg(test)]
    pub(super) fn average(&self) -> f64 {
        self.scaled as f64 / (ONE * GAIN) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_moves_by_a_sixteenth_of_the_difference() {
        let mut share = MarkedShare::ALL;
        assert_eq!((share.average(), share.reduce(1000)), (1.0, 500));
        share.count(1000, 0);
        share.end_round();
        assert_eq!(share.average(), 15.0 / 16.0);
        share.count(500, 250);
        share.count(500, 250);
        share.end_round();
        assert_eq!(share.average(), 15.0 / 16.0 * 15.0 / 16.0 + 0.5 / 16.0);
        // More marks than data, as after lost acknowledgements, are all.
        let mut share = MarkedShare::NONE;
        assert_eq!(share.reduce(1000), 1000);
        share.count(1000, 3000);
        share.end_round();
        assert_eq!(share.average(), 1.0 / 16.0);
        assert_eq!(share.reduce(3200), 3100);
        share.end_round();
        assert_eq!(share.average(), 15.0 / 256.0, "a round without data has no marks");
    }

    /// A small share over many rounds is not rounded to nothing.
    #[test]
    fn a_small_share_is_kept() {
        let mut share = MarkedShare::NONE;
        for _ in 0..200 {
            share.count(10_000_000, 100);
            share.end_round();
        }
        assert!((share.average() / 1e-5 - 1.0).abs() < 0.02, "{}", share.average());
    }
}
