//! Batch means: an interval from one long run.

use super::{Bounds, Interval, Moments, confidence_interval};

/// The estimate of the mean of a series from its batches.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchMeans {
    /// The mean of each batch.
    pub means: Vec<f64>,
    /// The interval for the mean of the series, which counts the batches as independent.
    pub interval: Interval,
    /// The lag-1 autocorrelation of the batch means; 0 if they do not vary.
    pub lag1: f64,
    /// True if `lag1` is no higher than random variation gives independent batches (one-sided, 5 %). If not, the
    /// interval is too narrow: use longer batches.
    pub independent: bool,
}

/// Divides `series` into `batches` batches of one length, leaving out a remainder at the start, which is where a
/// transient would be. `None` if there are fewer than two batches or not one value for each.
pub fn batch_means(series: &[f64], batches: usize, level: f64) -> Option<BatchMeans> {
    if batches < 2 || series.len() < batches {
        return None;
    }
    let size = series.len() / batches;
    let from = series.len() - size * batches;
    let means: Vec<f64> = series[from..].chunks_exact(size).map(|b| b.iter().sum::<f64>() / size as f64).collect();
    let interval = confidence_interval(&means, level, Bounds::NONE)?;
    let lag1 = lag1_autocorrelation(&means).unwrap_or(0.0);
    // Independent values have a lag-1 estimate of mean -1/n and variance near 1/n.
    let n = means.len() as f64;
    Some(BatchMeans { interval, lag1, independent: lag1 <= -1.0 / n + 1.645 / n.sqrt(), means })
}

/// Returns the lag-1 autocorrelation of a series; `None` if it does not vary.
pub fn lag1_autocorrelation(series: &[f64]) -> Option<f64> {
    let moments: Moments = series.iter().copied().collect();
    let mean = moments.mean()?;
    let squares: f64 = series.iter().map(|x| (x - mean) * (x - mean)).sum();
    let products: f64 = series.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
    (squares > 0.0).then(|| products / squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_by_hand() {
        let found = batch_means(&[99.0, 1.0, 3.0, 5.0, 7.0, 2.0, 4.0], 3, 0.95).unwrap();
        assert_eq!(found.means, [2.0, 6.0, 3.0], "the remainder goes at the start");
        assert!((found.interval.mean - 11.0 / 3.0).abs() < 1e-12);
    }

    /// 1, 2, 3, 4 about 2.5: (0.75 - 0.25 + 0.75) / 5.
    #[test]
    fn autocorrelation_by_hand() {
        assert_eq!(lag1_autocorrelation(&[1.0, 2.0, 3.0, 4.0]), Some(0.25));
        assert_eq!(lag1_autocorrelation(&[2.0, 2.0]), None);
    }

    /// Returns a fixed scatter without order: the top bits of an integer hash.
    fn mixed(i: u64) -> f64 {
        let x = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((x ^ (x >> 32)) >> 40) as f64
    }

    #[test]
    fn a_slow_drift_is_not_independent_and_a_shuffle_is() {
        let drift: Vec<f64> = (0..400).map(|i| (i / 80) as f64).collect();
        assert!(!batch_means(&drift, 20, 0.95).unwrap().independent);
        let shuffle: Vec<f64> = (0..400).map(mixed).collect();
        assert!(batch_means(&shuffle, 20, 0.95).unwrap().independent);
    }

    #[test]
    fn too_few_values() {
        assert_eq!(batch_means(&[1.0, 2.0], 1, 0.95), None);
        assert_eq!(batch_means(&[1.0, 2.0], 3, 0.95), None);
    }
}
