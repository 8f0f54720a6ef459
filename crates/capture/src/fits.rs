//! Laws fitted to samples by maximum likelihood.
//!
//! Source of the estimators: C. Forbes, M. Evans, N. Hastings, B. Peacock, *Statistical Distributions*, 4th edition,
//! Wiley, 2011.

use cellway_workload::{FittedLaw, Law};

/// The fewest samples to which a law is fitted.
const FEWEST: usize = 50;

/// Returns the shape of a Weibull law: the root of its likelihood equation, which has one, by bisection.
fn weibull_shape(logs: &[f64], mean: f64) -> Option<f64> {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let excess = |shape: f64| {
        // Relative to the largest, so that no power overflows.
        let (mut powers, mut weighted) = (0.0, 0.0);
        for log in logs {
            let power = (shape * (log - largest)).exp();
            powers += power;
            weighted += power * log;
        }
        weighted / powers - 1.0 / shape - mean
    };
    let (mut low, mut high) = (1e-3, 1e3);
    if !(excess(low) < 0.0 && excess(high) > 0.0) {
        return None;
    }
    for _ in 0..60 {
        let middle = f64::sqrt(low * high);
        if excess(middle) < 0.0 { low = middle } else { high = middle }
    }
    Some(f64::sqrt(low * high))
}

/// Returns the law of the least distance from samples, which must rise; `None` if they are few, or not all above 0, or
/// all the same.
pub fn fit(sorted: &[f64]) -> Option<FittedLaw> {
    let (&first, &last) = (sorted.first()?, sorted.last()?);
    if sorted.len() < FEWEST || first <= 0.0 || first == last {
        return None;
    }
    let count = sorted.len() as f64;
    let logs: Vec<f64> = sorted.iter().map(|value| value.ln()).collect();
    let mu = logs.iter().sum::<f64>() / count;
    let sigma = (logs.iter().map(|log| (log - mu).powi(2)).sum::<f64>() / count).sqrt();
    let mut laws = vec![
        Law::Lognormal { mu, sigma },
        Law::Pareto { shape: 1.0 / (mu - first.ln()), minimum: first },
        Law::Exponential { mean: sorted.iter().sum::<f64>() / count },
    ];
    if let Some(shape) = weibull_shape(&logs, mu) {
        let largest = logs.last().copied().unwrap_or_default();
        let powers: f64 = logs.iter().map(|log| (shape * (log - largest)).exp()).sum::<f64>() / count;
        laws.push(Law::Weibull { shape, scale: (largest + powers.ln() / shape).exp() });
    }
    let fits = laws.into_iter().map(|law| FittedLaw { law, ks: distance(sorted, &law) });
    fits.filter(|fit| fit.ks.is_finite()).min_by(|a, b| a.ks.total_cmp(&b.ks))
}

fn distance(sorted: &[f64], law: &Law) -> f64 {
    let count = sorted.len() as f64;
    let mut largest = 0.0f64;
    let mut at = 0;
    while at < sorted.len() {
        let value = sorted[at];
        let upto = at + sorted[at..].partition_point(|other| *other <= value);
        let cumulative = law.cdf(value);
        let gaps = [cumulative - at as f64 / count, upto as f64 / count - cumulative];
        largest = gaps.into_iter().map(f64::abs).fold(largest, f64::max);
        if !cumulative.is_finite() {
            return f64::INFINITY;
        }
        at = upto;
    }
    largest
}

#[cfg(test)]
mod tests {
    use cellway_workload::law_name;

    use super::*;

    /// Returns a quantile of a law, by bisection of its cumulative distribution.
    fn quantile(law: Law, p: f64) -> f64 {
        let (mut low, mut high) = (1e-12f64, 1e12f64);
        for _ in 0..200 {
            let middle = f64::sqrt(low * high);
            if law.cdf(middle) < p { low = middle } else { high = middle }
        }
        low
    }

    fn quantiles(law: Law) -> Vec<f64> {
        (0..2_000).map(|k| quantile(law, (f64::from(k) + 0.5) / 2_000.0)).collect()
    }

    #[test]
    fn each_law_is_found_with_its_parameters() {
        for law in [
            Law::Lognormal { mu: 7.0, sigma: 1.5 },
            Law::Pareto { shape: 1.2, minimum: 100.0 },
            Law::Weibull { shape: 0.6, scale: 0.02 },
            Law::Exponential { mean: 0.5 },
        ] {
            let found = fit(&quantiles(law)).unwrap();
            assert!(found.ks < 0.01, "{found:?} for {law:?}");
            // An exponential law is a Weibull law, too.
            let found = match (law, found.law) {
                (Law::Exponential { .. }, Law::Weibull { scale, shape }) if (shape - 1.0).abs() < 0.02 => {
                    Law::Exponential { mean: scale }
                }
                (_, found) => found,
            };
            assert_eq!(law_name(found), law_name(law));
            for p in [0.1, 0.5, 0.9] {
                let value = quantile(law, p);
                assert!((found.cdf(value) - p).abs() < 0.005, "{found:?} for {law:?}: {p}");
            }
        }
    }

    #[test]
    fn the_normal_integral_is_the_published_one() {
        // Abramowitz and Stegun, table 26.1: P(1.96) = 0.97500 21049.
        let law = Law::Lognormal { mu: 0.0, sigma: 1.0 };
        assert!((law.cdf(1.96f64.exp()) - 0.975_002_104_9).abs() < 1e-9);
    }

    #[test]
    fn nothing_is_fitted_to_zeros_or_few_samples() {
        assert_eq!(fit(&[1.0; 100]), None);
        assert_eq!(fit(&[1.0, 2.0, 3.0]), None);
        let mut zeros = vec![0.0];
        zeros.extend((1..100).map(f64::from));
        assert_eq!(fit(&zeros), None);
    }
}
