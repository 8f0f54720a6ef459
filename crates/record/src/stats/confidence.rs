//! Confidence intervals over replications.

use super::{Moments, t_quantile};

/// A mean and its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The sample mean.
    pub mean: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The confidence level, such as 0.95.
    pub level: f64,
}

impl Interval {
    /// Returns true if `value` lies in the interval, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The bounds of the values of a quantity; infinite if it has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

impl Bounds {
    /// No bounds.
    pub const NONE: Bounds = Bounds { low: f64::NEG_INFINITY, high: f64::INFINITY };
    /// Zero to one.
    pub const SHARE: Bounds = Bounds { low: 0.0, high: 1.0 };
    /// Zero or more.
    pub const NON_NEGATIVE: Bounds = Bounds { low: 0.0, high: f64::INFINITY };

    /// Returns the bounds of the quantity times `factor`, which is positive.
    pub fn times(self, factor: f64) -> Bounds {
        Bounds { low: self.low * factor, high: self.high * factor }
    }

    /// Returns true if all values of the sample are within the bounds.
    fn hold(self, sample: &[f64]) -> bool {
        sample.iter().all(|value| (self.low..=self.high).contains(value))
    }

    /// Returns the ends of Student's interval `mean` ± `half`, adjusted to lie within the bounds.
    fn keep(self, mean: f64, half: f64) -> (f64, f64) {
        let width = self.high - self.low;
        let share = (mean - self.low) / width;
        if !width.is_finite() || share <= 0.0 || share >= 1.0 {
            return ((mean - half).max(self.low), (mean + half).min(self.high));
        }
        // The delta method: the derivative of the logit is 1 / (share (1 - share)).
        let logit = libm::log(share) - libm::log1p(-share);
        let half = half / width / (share * (1.0 - share));
        let back = |logit: f64| self.low + width / (1.0 + libm::exp(-logit));
        (back(logit - half), back(logit + half))
    }
}

/// Returns the confidence interval for the mean of independent values, one of each replication, by Student's t. Returns
/// `None` for fewer than two values, or for a level that is not strictly between 0 and 1.
///
/// Between two finite `bounds` it is computed on the scale of the logit, by the delta method, and transformed back:
/// near a bound the distribution of a mean is skewed, and so is this interval. It covers the true mean more often there
/// than the symmetric one, and never exceeds the bounds (delta method: A. W. van der Vaart, Asymptotic Statistics,
/// chapter 3; for means of shares: E. L. Korn and B. I. Graubard, Survey Methodology 24, 1998). With one bound the
/// symmetric interval is cut off there, which removes impossible values only, and so does not reduce its coverage. For
/// a sample that exceeds the bounds they are ignored.
pub fn confidence_interval(sample: &[f64], level: f64, bounds: Bounds) -> Option<Interval> {
    let moments: Moments = sample.iter().copied().collect();
    interval_of(&moments, level, if bounds.hold(sample) { bounds } else { Bounds::NONE })
}

/// Returns [`confidence_interval`] at 95 %.
pub fn interval95(sample: &[f64], bounds: Bounds) -> Option<Interval> {
    confidence_interval(sample, 0.95, bounds)
}

/// Returns the interval for the mean of `second - first` over pairs that share their random numbers: with common random
/// numbers it is narrower than the intervals of the two suggest. `None` for fewer than two pairs.
pub fn paired_difference(pairs: &[(f64, f64)], level: f64) -> Option<Interval> {
    let moments: Moments = pairs.iter().map(|&(first, second)| second - first).collect();
    interval_of(&moments, level, Bounds::NONE)
}

fn interval_of(moments: &Moments, level: f64, bounds: Bounds) -> Option<Interval> {
    if level.is_nan() || level <= 0.0 || level >= 1.0 {
        return None;
    }
    let error = moments.standard_error()?;
    let t = t_quantile(0.5 + level / 2.0, (moments.count() - 1) as f64);
    let mean = moments.mean()?;
    let (low, high) = if error == 0.0 { (mean, mean) } else { bounds.keep(mean, t * error) };
    Some(Interval { mean, low, high, level })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2, 4, 6, 8: mean 5, s = sqrt(20/3), t(0.975, 3) = 3.182446.
    #[test]
    fn an_interval_worked_by_hand() {
        let interval = interval95(&[2.0, 4.0, 6.0, 8.0], Bounds::NONE).unwrap();
        let half = 3.182_446_305 * (20.0f64 / 3.0).sqrt() / 2.0;
        assert_eq!(interval.mean, 5.0);
        assert!((interval.high - 5.0 - half).abs() < 1e-8 && (5.0 - interval.low - half).abs() < 1e-8);
        assert!(interval.contains(interval.low) && interval.contains(5.0) && !interval.contains(9.2));
    }

    #[test]
    fn common_random_numbers_narrow_the_difference() {
        let first = [10.0, 20.0, 30.0, 40.0];
        let second = [11.0, 21.2, 30.9, 41.1];
        let pairs: Vec<_> = first.into_iter().zip(second).collect();
        let difference = paired_difference(&pairs, 0.95).unwrap();
        let width = |i: Interval| i.high - i.low;
        assert!((difference.mean - 1.05).abs() < 1e-12);
        assert!(width(difference) < 0.6 && width(interval95(&first, Bounds::NONE).unwrap()) > 40.0);
        assert!(!difference.contains(0.0), "the difference shows though the levels overlap");
    }

    #[test]
    fn too_few_values() {
        assert_eq!(interval95(&[], Bounds::SHARE), None);
        assert_eq!(interval95(&[0.3], Bounds::SHARE), None);
        assert_eq!(confidence_interval(&[0.1, 0.2], 1.0, Bounds::SHARE), None);
        let equal = interval95(&[0.3, 0.3, 0.3], Bounds::SHARE).unwrap();
        assert_eq!((equal.low, equal.high), (0.3, 0.3));
    }

    /// For 0.7 and 0.82, t(0.975, 1) = 12.706205 times the standard error 0.06 is 0.762, so the symmetric interval is
    /// -0.002 to 1.522. On the scale of the logit: log(0.76/0.24) = 1.152680 and 0.762372/(0.76 * 0.24) = 4.179673.
    #[test]
    fn a_share_stays_between_zero_and_one() {
        let interval = interval95(&[0.7, 0.82], Bounds::SHARE).unwrap();
        let back = |x: f64| 1.0 / (1.0 + libm::exp(-x));
        let expected = [back(1.152_680 - 4.179_673), back(1.152_680 + 4.179_673)];
        assert!(
            (interval.low - expected[0]).abs() < 1e-5 && (interval.high - expected[1]).abs() < 1e-5,
            "{interval:?}"
        );
        assert!((interval.mean - 0.76).abs() < 1e-12);
        // The bounds themselves may be in the sample, and the scale of the quantity does not matter.
        for sample in [&[1.0, 0.9][..], &[0.0, 0.0, 1e-9], &[1.0, 0.0, 1.0]] {
            let interval = interval95(sample, Bounds::SHARE).unwrap();
            assert!(0.0 <= interval.low && interval.high <= 1.0 && interval.contains(interval.mean), "{interval:?}");
        }
        let percent = interval95(&[70.0, 82.0], Bounds::SHARE.times(100.0)).unwrap();
        assert!(
            (percent.low - 100.0 * interval.low).abs() < 1e-9 && (percent.high - 100.0 * interval.high).abs() < 1e-9
        );
    }

    #[test]
    fn a_count_has_no_negative_end_and_keeps_the_other() {
        let [cut, free] = [Bounds::NON_NEGATIVE, Bounds::NONE].map(|bounds| interval95(&[0.0, 1.0], bounds).unwrap());
        assert!(free.low < -5.0);
        assert_eq!((cut.low, cut.high), (0.0, free.high));
    }

    #[test]
    fn a_sample_beyond_the_bounds_is_not_bounded() {
        let sample = [0.9, 1.2];
        assert_eq!(interval95(&sample, Bounds::SHARE), interval95(&sample, Bounds::NONE));
    }

    /// The share of 95 % intervals that cover the known mean, over samples of five of a skewed share. Multiples of the
    /// golden ratio replace random numbers.
    #[test]
    fn the_logit_covers_a_skewed_share_more_often() {
        // u^(1/8) has the distribution Beta(8, 1), whose mean is 8/9. Three square roots give the eighth root.
        let value = |i: u32| (f64::from(i) * 0.618_033_988_749_894_9 % 1.0).sqrt().sqrt().sqrt();
        // Neighbours of the sequence are not independent, so the indices are mixed.
        let mixed = |i: u32| (i.wrapping_mul(0x9e37_79b1) ^ 0x5bd1_e995).wrapping_mul(0x85eb_ca6b) >> 9;
        let samples = 4000;
        let mut covered = [0, 0];
        for s in 0..samples {
            let sample: Vec<f64> = (0..5).map(|k| value(mixed(5 * s + k + 1))).collect();
            for (covered, bounds) in covered.iter_mut().zip([Bounds::NONE, Bounds::SHARE]) {
                *covered += u32::from(interval95(&sample, bounds).unwrap().contains(8.0 / 9.0));
            }
        }
        let [plain, logit] = covered.map(|n| f64::from(n) / f64::from(samples));
        assert!(plain < 0.92 && logit > plain + 0.02 && logit < 0.97, "{plain} {logit}");
    }
}
