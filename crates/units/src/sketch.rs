//! Percentiles of whole numbers, in bounded memory.

/// The binary logarithm of the number of buckets of each power of two.
const DIVIDED: u32 = 7;

/// Counts of whole numbers in buckets whose width is at most 1/128 of their numbers: a percentile is within 0.4 % of the
/// exact one, and exact where all numbers are equal. The memory is bounded by the range of the numbers: 1 KiB for each
/// doubling, 58 KiB at most. The layout is that of HdrHistogram (G. Tene).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sketch {
    /// The bucket of the first count.
    first: usize,
    counts: Vec<u64>,
    total: u64,
    /// The least and the greatest number; meaningless without numbers.
    extremes: [u64; 2],
}

impl Sketch {
    /// Creates an empty sketch.
    pub fn new() -> Sketch {
        Sketch::default()
    }

    /// Adds a number.
    pub fn add(&mut self, value: u64) {
        let [low, high] = self.extremes;
        self.extremes = if self.total == 0 { [value; 2] } else { [low.min(value), high.max(value)] };
        self.total += 1;
        let place = self.place(bucket(value));
        self.counts[place] += 1;
    }

    /// Adds all numbers of `other`.
    pub fn merge(&mut self, other: &Sketch) {
        if other.total == 0 {
            return;
        }
        let [[a, b], [c, d]] = [self.extremes, other.extremes];
        self.extremes = if self.total == 0 { [c, d] } else { [a.min(c), b.max(d)] };
        self.total += other.total;
        for (i, &count) in other.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let place = self.place(other.first + i);
            self.counts[place] += count;
        }
    }

    /// Removes all numbers; the memory is kept.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.total = 0;
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Returns the greatest number; `None` if there is none.
    pub fn max(&self) -> Option<u64> {
        (self.total > 0).then_some(self.extremes[1])
    }

    /// Returns the `q` quantile, 0 <= q <= 1, to 0.4 %: the smallest number that at least the share `q` of them
    /// does not exceed.
    pub fn percentile(&self, q: f64) -> Option<u64> {
        let rank = rank(q, self.total)?;
        let mut below = 0;
        let found = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        });
        let [least, greatest] = self.extremes;
        found.map(|place| middle(self.first + place).clamp(least, greatest))
    }

    /// Returns the place of a bucket in `counts`, which it makes if need be.
    fn place(&mut self, bucket: usize) -> usize {
        if self.counts.is_empty() {
            self.first = bucket;
        }
        if bucket < self.first {
            let more = self.first - bucket;
            self.counts.splice(0..0, std::iter::repeat_n(0, more));
            self.first = bucket;
        }
        let place = bucket - self.first;
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        place
    }
}

/// Returns the rank, from 1, of the `q` quantile among `n`; `None` if there is none.
pub fn rank(q: f64, n: u64) -> Option<u64> {
    if n == 0 || !(0.0..=1.0).contains(&q) {
        return None;
    }
    // 0.95 x 20 is 19.000000000000004 in doubles: a whole number within rounding counts as that number.
    let exact = q * n as f64;
    let near = exact.round();
    let rank = if (exact - near).abs() <= 4.0 * f64::EPSILON * exact { near } else { exact.ceil() };
    Some((rank as u64).clamp(1, n))
}

/// Returns the number of the bucket of a value: itself up to 2^(DIVIDED + 1), then the leading bits.
fn bucket(value: u64) -> usize {
    let doublings = (u64::BITS - value.leading_zeros()).saturating_sub(DIVIDED + 1);
    ((doublings as usize) << DIVIDED) + (value >> doublings) as usize
}

/// Returns the middle of a bucket.
fn middle(bucket: usize) -> u64 {
    let doublings = (bucket >> DIVIDED).saturating_sub(1) as u32;
    let leading = (bucket - ((doublings as usize) << DIVIDED)) as u64;
    (leading << doublings) + ((1u64 << doublings) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_and_hold_their_middle() {
        let values = (0..3000).chain((12..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]));
        let mut last = 0;
        for value in values.chain([u64::MAX]) {
            let found = bucket(value);
            assert!(found >= last, "{value}");
            assert_eq!(bucket(middle(found)), found, "{value}");
            let off = middle(found).abs_diff(value) as f64;
            assert!(off <= value as f64 / 256.0, "{value}: {off}");
            last = found;
        }
        assert!(last < 58 * 128, "{last}");
    }

    #[test]
    fn percentiles_are_near_the_exact_ones() {
        let (mut sketch, mut exact) = (Sketch::new(), Vec::new());
        let mut other = Sketch::new();
        for i in 0..20_000u64 {
            // Decreasing, so that the first bucket moves; half of them through a merge.
            let value = 1_000_000_000_000 / (1 + i * i);
            if i % 2 == 0 {
                sketch.add(value)
            } else {
                other.add(value)
            }
            exact.push(value);
        }
        sketch.merge(&other);
        exact.sort_unstable();
        assert_eq!((sketch.count(), sketch.max()), (20_000, Some(1_000_000_000_000)));
        for q in [0.0, 0.001, 0.25, 0.5, 0.95, 0.99, 0.999, 1.0] {
            let right = exact[rank(q, 20_000).unwrap() as usize - 1];
            let [near, right] = [sketch.percentile(q).unwrap(), right].map(|v| v as f64);
            assert!((near - right).abs() <= right / 256.0, "{q}: {near} for {right}");
        }
    }

    #[test]
    fn equal_numbers_are_exact() {
        let mut sketch = Sketch::new();
        assert_eq!((sketch.percentile(0.5), sketch.max()), (None, None));
        (0..5).for_each(|_| sketch.add(22_500_000_001));
        assert_eq!([0.0, 0.5, 0.99].map(|q| sketch.percentile(q).unwrap()), [22_500_000_001; 3]);
        let mut empty = Sketch::new();
        empty.merge(&sketch);
        empty.merge(&Sketch::new());
        assert_eq!(empty, sketch);
    }
}
