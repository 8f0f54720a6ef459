//! Laws fitted to measured distributions.

use cellway_units::standard_normal;

use crate::random::Stream;

/// A law with its parameters, in the unit of the variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// The natural logarithm is normal.
    Lognormal {
        /// The mean of the logarithm.
        mu: f64,
        /// The standard deviation of the logarithm, from 0 on.
        sigma: f64,
    },
    /// A power law: a value exceeds `x` with the probability `(minimum / x)` to the power of `shape`.
    Pareto {
        /// The least value, above 0.
        minimum: f64,
        /// The exponent, above 0. The mean is infinite up to 1.
        shape: f64,
    },
    /// A value exceeds `x` with the probability `exp(-(x / scale) ^ shape)`.
    Weibull {
        /// The value that a share of 1/e exceeds, above 0.
        scale: f64,
        /// The exponent, above 0.
        shape: f64,
    },
    /// A value exceeds `x` with the probability `exp(-x / mean)`.
    Exponential {
        /// The mean, above 0.
        mean: f64,
    },
}

/// A law and its deviation from the distribution that it was fitted to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FittedLaw {
    /// The law.
    pub law: Law,
    /// The largest distance between the two cumulative distributions (Kolmogorov-Smirnov).
    pub ks: f64,
}

impl Law {
    /// Draws a value. Draws two numbers from the stream, as a draw from a table does.
    pub(crate) fn draw(&self, stream: &mut Stream) -> f64 {
        let bits = [stream.bits(), stream.bits()];
        let u = cellway_units::uniform(bits[1]);
        match *self {
            Law::Lognormal { mu, sigma } => libm::exp(mu + sigma * standard_normal(bits)),
            Law::Pareto { minimum, shape } => minimum / libm::pow(1.0 - u, 1.0 / shape),
            Law::Weibull { scale, shape } => scale * libm::pow(-libm::log1p(-u), 1.0 / shape),
            Law::Exponential { mean } => -libm::log1p(-u) * mean,
        }
    }

    /// Returns the probability of at most `x`.
    pub fn cdf(&self, x: f64) -> f64 {
        if x <= 0.0 {
            return 0.0;
        }
        match *self {
            Law::Lognormal { mu, sigma: 0.0 } => f64::from(libm::log(x) >= mu),
            Law::Lognormal { mu, sigma } => libm::erfc((mu - libm::log(x)) / (sigma * std::f64::consts::SQRT_2)) / 2.0,
            Law::Pareto { minimum, .. } if x <= minimum => 0.0,
            Law::Pareto { minimum, shape } => 1.0 - libm::pow(minimum / x, shape),
            Law::Weibull { scale, shape } => -libm::expm1(-libm::pow(x / scale, shape)),
            Law::Exponential { mean } => -libm::expm1(-x / mean),
        }
    }

    /// Returns the mean; `None` if it is infinite.
    pub fn mean(&self) -> Option<f64> {
        match *self {
            Law::Lognormal { mu, sigma } => Some(libm::exp(mu + sigma * sigma / 2.0)),
            Law::Pareto { minimum, shape } => (shape > 1.0).then(|| minimum * shape / (shape - 1.0)),
            Law::Weibull { scale, shape } => Some(scale * libm::tgamma(1.0 + 1.0 / shape)),
            Law::Exponential { mean } => Some(mean),
        }
        .filter(|mean| mean.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Streams;

    const N: usize = 100_000;
    const LAWS: [Law; 4] = [
        Law::Lognormal { mu: 7.0, sigma: 1.2 },
        Law::Pareto { minimum: 300.0, shape: 2.5 },
        Law::Weibull { scale: 20.0, shape: 0.7 },
        Law::Exponential { mean: 0.25 },
    ];

    /// The distance of draws exceeds 1.95 / sqrt(n) in one of a thousand samples (A. N. Kolmogorov 1933).
    #[test]
    fn draws_follow_the_law() {
        for law in LAWS {
            let mut stream = Streams::new(7).stream("law");
            let mut draws: Vec<f64> = (0..N).map(|_| law.draw(&mut stream)).collect();
            draws.sort_unstable_by(f64::total_cmp);
            let n = N as f64;
            let at = |(i, x): (usize, &f64)| {
                let p = law.cdf(*x);
                (p - i as f64 / n).abs().max(((i + 1) as f64 / n - p).abs())
            };
            let distance = draws.iter().enumerate().map(at).fold(0.0, f64::max);
            assert!(distance < 1.95 / n.sqrt(), "{law:?}: {distance}");
            // The widest, lognormal, has a standard deviation of 1.8 means.
            let mean = draws.iter().sum::<f64>() / n / law.mean().unwrap();
            assert!((mean - 1.0).abs() < 4.0 * 1.8 / n.sqrt(), "{law:?}: {mean}");
        }
    }

    #[test]
    fn means_that_are_infinite_are_none() {
        assert_eq!(Law::Pareto { minimum: 1.0, shape: 1.0 }.mean(), None);
        assert_eq!(Law::Lognormal { mu: 0.0, sigma: 1e9 }.mean(), None);
        assert_eq!([Law::Lognormal { mu: 0.0, sigma: 0.0 }.cdf(0.9), LAWS[1].cdf(300.0), LAWS[3].cdf(-1.0)], [0.0; 3]);
    }
}
