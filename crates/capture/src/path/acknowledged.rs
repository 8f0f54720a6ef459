//! The octets of a direction that its receiver has acknowledged, selectively or not, each counted once.

/// The most ranges beyond the cumulative acknowledgement.
const MAX_RANGES: usize = 256;

/// Acknowledged octets.
#[derive(Clone, Debug, Default)]
pub(super) struct Acknowledged {
    /// All before this octet.
    upto: i64,
    /// Ranges beyond, rising, not adjacent.
    ranges: Vec<(i64, i64)>,
}

impl Acknowledged {
    /// Returns the octet up to which all are acknowledged.
    pub(super) fn upto(&self) -> i64 {
        self.upto
    }

    /// Takes a cumulative acknowledgement; returns the number of octets that are new.
    pub(super) fn cumulative(&mut self, upto: i64) -> u64 {
        if upto <= self.upto {
            return 0;
        }
        let known: i64 = self.ranges.iter().map(|&(from, to)| (to.min(upto) - from.max(self.upto)).max(0)).sum();
        let new = upto - self.upto - known;
        self.upto = upto;
        self.ranges.retain(|(_, to)| *to > upto);
        if let Some(first) = self.ranges.first_mut() {
            first.0 = first.0.max(upto);
        }
        new.max(0) as u64
    }

    /// Takes a selective acknowledgement; returns the number of octets that are new.
    pub(super) fn selective(&mut self, from: i64, to: i64) -> u64 {
        let from = from.max(self.upto);
        // A block below the acknowledgement reports a duplicate. RFC 2883.
        if from >= to || self.ranges.len() >= MAX_RANGES {
            return 0;
        }
        let (mut low, mut high, mut known) = (from, to, 0);
        self.ranges.retain(|&(start, end)| {
            let is_apart = end < from || start > to;
            if !is_apart {
                known += (end.min(to) - start.max(from)).max(0);
                low = low.min(start);
                high = high.max(end);
            }
            is_apart
        });
        let at = self.ranges.partition_point(|range| range.0 < low);
        self.ranges.insert(at, (low, high));
        (to - from - known).max(0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_octet_counts_once() {
        let mut all = Acknowledged::default();
        assert_eq!(all.cumulative(100), 100);
        assert_eq!(all.selective(200, 300), 100);
        assert_eq!(all.selective(200, 400), 100);
        assert_eq!(all.selective(50, 90), 0, "a duplicate");
        assert_eq!(all.selective(500, 600), 100);
        assert_eq!(all.selective(350, 550), 100);
        assert_eq!(all.cumulative(250), 100);
        assert_eq!(all.cumulative(700), 100);
        assert_eq!((all.cumulative(600), all.upto()), (0, 700));
    }
}
