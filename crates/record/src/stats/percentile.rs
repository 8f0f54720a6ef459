//! Exact percentiles of samples and of counts.

use std::collections::BTreeMap;

use cellway_units::rank;

/// Returns the `q` quantile of a sorted sample, 0 <= q <= 1: the smallest value that at least the share `q` of the
/// sample does not exceed. It is always a value of the sample, never one between two. `None` if it is empty.
pub fn percentile(sorted: &[f64], q: f64) -> Option<f64> {
    let rank = rank(q, sorted.len() as u64)?;
    sorted.get(rank as usize - 1).copied()
}

/// Values that are all kept, for exact percentiles: 8 bytes each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    values: Vec<f64>,
    sorted: bool,
}

impl Sample {
    /// Creates an empty sample.
    pub fn new() -> Sample {
        Sample::default()
    }
    /// Takes one value.
    #[inline]
    pub fn push(&mut self, value: f64) {
        self.values.push(value);
        self.sorted = false;
    }
    /// Takes all values of `other`.
    pub fn extend(&mut self, other: &Sample) {
        self.values.extend_from_slice(&other.values);
        self.sorted = false;
    }
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }
    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
    /// Returns the values: in the order of insertion, until a percentile has sorted them.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
    /// Returns the `q` quantile; see [`percentile`].
    pub fn percentile(&mut self, q: f64) -> Option<f64> {
        if !self.sorted {
            self.values.sort_unstable_by(f64::total_cmp);
            self.sorted = true;
        }
        percentile(&self.values, q)
    }
}

/// The count of each whole number, for exact percentiles of quantities with few distinct values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: BTreeMap<u64, u64>,
    total: u64,
}

impl Histogram {
    /// Creates an empty histogram.
    pub fn new() -> Histogram {
        Histogram::default()
    }
    /// Takes `value`, `weight` times.
    pub fn add(&mut self, value: u64, weight: u64) {
        if weight > 0 {
            *self.counts.entry(value).or_default() += weight;
            self.total += weight;
        }
    }
    /// Returns the number of values.
    pub fn total(&self) -> u64 {
        self.total
    }
    /// Returns each value with its count, in increasing order.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts.iter().map(|(&value, &count)| (value, count))
    }
    /// Returns their mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        let sum: u128 = self.counts().map(|(value, count)| u128::from(value) * u128::from(count)).sum();
        (self.total > 0).then(|| sum as f64 / self.total as f64)
    }
    /// Returns the `q` quantile; see [`percentile`].
    pub fn percentile(&self, q: f64) -> Option<u64> {
        let rank = rank(q, self.total)?;
        let mut below = 0;
        self.counts()
            .find(|(_, count)| {
                below += count;
                below >= rank
            })
            .map(|(value, _)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rank_by_hand() {
        let sorted: Vec<f64> = (1..=20).map(f64::from).collect();
        let at = |q| percentile(&sorted, q).unwrap();
        assert_eq!([at(0.0), at(0.05), at(0.5), at(0.95), at(0.951), at(1.0)], [1.0, 1.0, 10.0, 19.0, 20.0, 20.0]);
        assert_eq!((percentile(&[], 0.5), percentile(&sorted, 1.5), percentile(&sorted, f64::NAN)), (None, None, None));
    }

    #[test]
    fn a_histogram_and_its_sample_agree() {
        let (mut histogram, mut sample) = (Histogram::new(), Sample::new());
        for (value, count) in [(7, 3), (0, 10), (500, 1), (8, 6)] {
            histogram.add(value, count);
            (0..count).for_each(|_| sample.push(value as f64));
        }
        for q in 0..=100 {
            let q = f64::from(q) / 100.0;
            assert_eq!(histogram.percentile(q).map(|v| v as f64), sample.percentile(q), "q {q}");
        }
        assert_eq!(histogram.mean(), super::super::mean(sample.values()));
        assert_eq!((histogram.total(), sample.len()), (20, 20));
    }
}
