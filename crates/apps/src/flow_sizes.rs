//! The sizes of flows, drawn from their distribution.

use std::sync::Arc;

use cellway_units::{Bytes, standard_normal};

use crate::random::Stream;
use crate::size_table::SizeTable;

/// The largest size of a flow, far above any: 1 PiB.
pub(crate) const MOST_BYTES: f64 = (1_u64 << 50) as f64;

/// A distribution of sizes. A drawn size is rounded up to a whole byte.
#[derive(Clone, Debug, PartialEq)]
pub enum SizeLaw {
    /// All of one size, 1 B or more.
    Fixed(Bytes),
    /// A piecewise linear cumulative distribution.
    Table(Arc<SizeTable>),
    /// The natural logarithm of the size is normal.
    LogNormal {
        /// The median, 1 B or more.
        median: Bytes,
        /// The standard deviation of the logarithm, from 0 on.
        sigma: f64,
    },
    /// A power law.
    Pareto {
        /// The exponent of the tail, above 0.
        shape: f64,
        /// The least size, 1 B or more.
        minimum: Bytes,
        /// The largest size, above the least.
        maximum: Option<Bytes>,
    },
}

impl SizeLaw {
    /// Draws a size in bytes, 1 or more.
    pub(crate) fn draw(&self, stream: &mut Stream) -> u64 {
        let size = match self {
            SizeLaw::Fixed(size) => return size.0,
            SizeLaw::Table(table) => table.quantile(stream.uniform()),
            SizeLaw::LogNormal { median, sigma } => median.0 as f64 * libm::exp(sigma * normal(stream)),
            SizeLaw::Pareto { shape, minimum, maximum } => {
                let least = minimum.0 as f64;
                // The share of an unbounded distribution that is below the maximum.
                let kept = maximum.map_or(1.0, |most| 1.0 - libm::pow(least / most.0 as f64, *shape));
                least / libm::pow(1.0 - stream.uniform() * kept, 1.0 / shape)
            }
        };
        size.ceil().clamp(1.0, MOST_BYTES) as u64
    }

    /// Returns the mean in bytes, without rounding; `None` if it is infinite.
    pub fn mean(&self) -> Option<f64> {
        match self {
            SizeLaw::Fixed(size) => Some(size.0 as f64),
            SizeLaw::Table(table) => Some(table.mean()),
            SizeLaw::LogNormal { median, sigma } => Some(median.0 as f64 * libm::exp(sigma * sigma / 2.0)),
            SizeLaw::Pareto { shape, minimum, maximum: None } => {
                (*shape > 1.0).then(|| minimum.0 as f64 * shape / (shape - 1.0))
            }
            SizeLaw::Pareto { shape, minimum, maximum: Some(maximum) } => {
                let [least, most] = [minimum, maximum].map(|size| size.0 as f64);
                let kept = 1.0 - libm::pow(least / most, *shape);
                // The integral of x times the density of the part that is kept.
                let integral = if *shape == 1.0 {
                    libm::log(most / least)
                } else {
                    (1.0 - libm::pow(least / most, shape - 1.0)) / (shape - 1.0)
                };
                Some(shape * least * integral / kept)
            }
        }
    }
}

/// Draws from the standard normal distribution.
pub(crate) fn normal(stream: &mut Stream) -> f64 {
    standard_normal([stream.bits(), stream.bits()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Streams;

    const N: usize = 100_000;

    fn drawn(law: &SizeLaw) -> Vec<f64> {
        let mut stream = Streams::new(11).stream("flows-1/0/sizes");
        let mut sizes: Vec<f64> = (0..N).map(|_| law.draw(&mut stream) as f64).collect();
        sizes.sort_unstable_by(f64::total_cmp);
        sizes
    }

    /// Returns the largest distance of the empirical distribution from `cdf`, which is that of sizes rounded up.
    fn distance(sizes: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
        let n = sizes.len() as f64;
        let of = |(i, size): (usize, &f64)| {
            // Of equal sizes only the last has its share; the one before the first has that of one byte less.
            let last = i + 1 == sizes.len() || sizes[i + 1] > *size;
            if last { ((i + 1) as f64 / n - cdf(*size)).abs() } else { 0.0 }
        };
        sizes.iter().enumerate().map(of).fold(0.0, f64::max)
    }

    /// A. N. Kolmogorov (1933): the distance exceeds 1.95 / sqrt(n) in one of a thousand samples.
    fn fits(law: &SizeLaw, cdf: impl Fn(f64) -> f64) {
        let distance = distance(&drawn(law), cdf);
        assert!(distance < 1.95 / (N as f64).sqrt(), "{law:?}: {distance}");
    }

    /// Linear interpolation between knots, apart from the code under test.
    fn interpolated(knots: &[(f64, f64)], x: f64) -> f64 {
        match knots.iter().position(|knot| knot.0 > x) {
            Some(0) => 0.0,
            None => 1.0,
            Some(i) => {
                let [(a, p), (b, q)] = [knots[i - 1], knots[i]];
                p + (q - p) * (x - a) / (b - a)
            }
        }
    }

    #[test]
    fn sizes_follow_their_distribution() {
        let web: Vec<(f64, f64)> = [
            (8760.0, 0.15),
            (18_980.0, 0.2),
            (27_740.0, 0.3),
            (48_180.0, 0.4),
            (77_380.0, 0.53),
            (194_180.0, 0.6),
            (973_820.0, 0.7),
            (1_946_180.0, 0.8),
            (4_866_180.0, 0.9),
            (9_733_820.0, 0.97),
            (29_200_000.0, 1.0),
        ]
        .into();
        fits(&SizeLaw::Table(Arc::new(SizeTable::web_search())), |x| interpolated(&web, x));
        let mining = [
            (1460.0, 0.5),
            (2920.0, 0.6),
            (4380.0, 0.7),
            (10_220.0, 0.8),
            (389_820.0, 0.9),
            (3_076_220.0, 0.95),
            (97_333_820.0, 0.99),
            (973_333_820.0, 1.0),
        ];
        fits(&SizeLaw::Table(Arc::new(SizeTable::data_mining())), |x| interpolated(&mining, x));
        let pareto = |maximum| SizeLaw::Pareto { shape: 1.2, minimum: Bytes(1000), maximum };
        fits(&pareto(None), |x| 1.0 - (1000.0 / x).powf(1.2));
        let cut = 1.0 - (1000.0f64 / 1e6).powf(1.2);
        fits(&pareto(Some(Bytes(1_000_000))), |x| (1.0 - (1000.0 / x).powf(1.2)) / cut);
        let normal = |x: f64| libm::erfc(-x / 2f64.sqrt()) / 2.0;
        fits(&SizeLaw::LogNormal { median: Bytes(50_000), sigma: 1.5 }, |x| normal((x / 50_000.0).ln() / 1.5));
        assert!(drawn(&SizeLaw::Fixed(Bytes(7))).iter().all(|&size| size == 7.0));
    }

    #[test]
    fn means_are_those_of_the_distributions() {
        let mean = |law: &SizeLaw| law.mean().unwrap();
        let sample = |law: &SizeLaw| drawn(law).iter().sum::<f64>() / N as f64;
        let bounded = |shape| SizeLaw::Pareto { shape, minimum: Bytes(1000), maximum: Some(Bytes(100_000)) };
        for law in [
            SizeLaw::LogNormal { median: Bytes(50_000), sigma: 0.5 },
            SizeLaw::Pareto { shape: 3.5, minimum: Bytes(1000), maximum: None },
            bounded(1.0),
            bounded(1.3),
            bounded(0.7),
            SizeLaw::Table(Arc::new(SizeTable::web_search())),
        ] {
            // Rounding adds half a byte. The widest of these, web search, has a standard deviation of 2.4 means.
            let ratio = (sample(&law) - 0.5) / mean(&law);
            assert!((ratio - 1.0).abs() < 4.0 * 2.4 / (N as f64).sqrt(), "{law:?}: {ratio}");
        }
        assert_eq!(SizeLaw::Pareto { shape: 1.0, minimum: Bytes(1), maximum: None }.mean(), None);
        assert_eq!(mean(&SizeLaw::Fixed(Bytes(3))), 3.0);
    }
}
