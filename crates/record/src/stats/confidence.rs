//! Confidence intervals over replications.

use super::{Moments, t_quantile};

/// A mean and how far the true one may be from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The sample mean.
    pub mean: f64,
    /// Half the width of the interval.
    pub half_width: f64,
    /// The confidence level, such as 0.95.
    pub level: f64,
}

impl Interval {
    /// The lower end.
    pub fn low(&self) -> f64 {
        self.mean - self.half_width
    }
    /// The upper end.
    pub fn high(&self) -> f64 {
        self.mean + self.half_width
    }
    /// Whether `value` lies in the interval, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low() <= value && value <= self.high()
    }
}

/// Student's t interval for the mean of independent values, one of each replication. `None` for fewer than
/// two values, and for a level that is not strictly between 0 and 1.
pub fn confidence_interval(sample: &[f64], level: f64) -> Option<Interval> {
    let moments: Moments = sample.iter().copied().collect();
    interval_of(&moments, level)
}

/// [`confidence_interval`] at 95 %.
pub fn interval95(sample: &[f64]) -> Option<Interval> {
    confidence_interval(sample, 0.95)
}

/// The interval for the mean of `second - first` over pairs that share their random numbers: with common random
/// numbers it is narrower than the intervals of the two would have one think. `None` for fewer than two pairs.
pub fn paired_difference(pairs: &[(f64, f64)], level: f64) -> Option<Interval> {
    let moments: Moments = pairs.iter().map(|&(first, second)| second - first).collect();
    interval_of(&moments, level)
}

fn interval_of(moments: &Moments, level: f64) -> Option<Interval> {
    if level.is_nan() || level <= 0.0 || level >= 1.0 {
        return None;
    }
    let error = moments.standard_error()?;
    let t = t_quantile(0.5 + level / 2.0, (moments.count() - 1) as f64);
    Some(Interval { mean: moments.mean()?, half_width: t * error, level })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2, 4, 6, 8: mean 5, s = sqrt(20/3), t(0.975, 3) = 3.182446.
    #[test]
    fn an_interval_worked_by_hand() {
        let interval = interval95(&[2.0, 4.0, 6.0, 8.0]).unwrap();
        assert_eq!(interval.mean, 5.0);
        assert!((interval.half_width - 3.182_446_305 * (20.0f64 / 3.0).sqrt() / 2.0).abs() < 1e-8);
        assert!(interval.contains(interval.low()) && interval.contains(5.0) && !interval.contains(9.2));
    }

    #[test]
    fn common_random_numbers_narrow_the_difference() {
        let first = [10.0, 20.0, 30.0, 40.0];
        let second = [11.0, 21.2, 30.9, 41.1];
        let pairs: Vec<_> = first.into_iter().zip(second).collect();
        let difference = paired_difference(&pairs, 0.95).unwrap();
        assert!((difference.mean - 1.05).abs() < 1e-12);
        assert!(difference.half_width < 0.3 && interval95(&first).unwrap().half_width > 20.0);
        assert!(!difference.contains(0.0), "the difference shows though the levels overlap");
    }

    #[test]
    fn too_little_to_say() {
        assert_eq!(interval95(&[]), None);
        assert_eq!(interval95(&[3.0]), None);
        assert_eq!(confidence_interval(&[1.0, 2.0], 1.0), None);
        assert_eq!(interval95(&[3.0, 3.0, 3.0]).unwrap().half_width, 0.0);
    }
}
