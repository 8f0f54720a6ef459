//! A measured distribution, and draws from it.

use cellway_spec::Draw;
use cellway_units::Span;

use super::law::FittedLaw;
use crate::flow_sizes::MOST_BYTES;
use crate::model::QuantileModel;
use crate::random::Stream;

/// The longest time of a distribution (s): some four months.
pub const MOST_SECONDS: f64 = 1e7;

/// A measured distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// Its quantiles.
    pub model: QuantileModel,
    /// The size of the sample that they are of.
    pub samples: u64,
    /// A law fitted to the sample, if there is one.
    pub fit: Option<FittedLaw>,
}

impl Distribution {
    /// Draws a value: from the fitted law if `fits` is true and there is one, else from the quantiles.
    fn draw(&self, fits: bool, stream: &mut Stream) -> f64 {
        match &self.fit {
            Some(fit) if fits => fit.law.draw(stream),
            _ => self.model.draw(Draw::Continuous, stream),
        }
    }

    /// Draws a whole number from 0 on: octets or a count.
    pub(crate) fn whole(&self, fits: bool, stream: &mut Stream) -> u64 {
        (self.draw(fits, stream) + 0.5).floor().clamp(0.0, MOST_BYTES) as u64
    }

    /// Draws a time.
    pub(crate) fn span(&self, fits: bool, stream: &mut Stream) -> Span {
        Span::from_secs_f64(self.draw(fits, stream).clamp(0.0, MOST_SECONDS))
    }

    /// Draws a time and divides it by `scale`, above 0.
    pub(crate) fn scaled_span(&self, fits: bool, scale: f64, stream: &mut Stream) -> Span {
        Span::from_secs_f64((self.draw(fits, stream) / scale).clamp(0.0, MOST_SECONDS))
    }

    /// Returns the mean; `None` if it is infinite.
    pub fn mean(&self, fits: bool) -> Option<f64> {
        match &self.fit {
            Some(fit) if fits => fit.law.mean(),
            _ => Some(self.model.mean(Draw::Continuous, false)),
        }
    }

    /// Returns the largest distance to another distribution (Kolmogorov-Smirnov), of their quantiles.
    pub fn distance(&self, other: &Distribution) -> f64 {
        self.model.distance(&other.model, Draw::Continuous)
    }

    /// Returns the same of the whole numbers that are drawn: of octets and counts.
    pub fn whole_distance(&self, other: &Distribution) -> f64 {
        self.model.whole_distance(&other.model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::Law;
    use crate::model::Knot;
    use crate::random::Streams;

    const N: usize = 50_000;

    fn measured() -> Distribution {
        let knots = [(0.05, 0.0), (0.3, 0.2), (0.55, 0.2), (0.9, 1.5), (1.0, 60.0)];
        let knots = knots.map(|(probability, value)| Knot { probability, value }).to_vec();
        let fit = Some(FittedLaw { law: Law::Lognormal { mu: -1.0, sigma: 1.3 }, ks: 0.1 });
        Distribution { model: QuantileModel::with_atoms(knots, "t").unwrap(), samples: 7, fit }
    }

    /// Returns the distance of draws from a cumulative distribution with its limit from below.
    fn distance(draws: &mut [f64], cdf: impl Fn(f64) -> f64, below: impl Fn(f64) -> f64) -> f64 {
        draws.sort_unstable_by(f64::total_cmp);
        let n = draws.len() as f64;
        let mut largest = 0.0f64;
        let mut start = 0;
        while start < draws.len() {
            let x = draws[start];
            let end = start + draws[start..].partition_point(|other| *other <= x);
            largest = largest.max((end as f64 / n - cdf(x)).abs()).max((start as f64 / n - below(x)).abs());
            start = end;
        }
        largest
    }

    /// A. N. Kolmogorov (1933): the distance exceeds 1.95 / sqrt(n) in one of a thousand samples; with atoms in fewer.
    #[test]
    fn draws_follow_the_knots_or_the_law() {
        let distribution = measured();
        let bound = 1.95 / (N as f64).sqrt();
        let draw = |fits: bool| -> Vec<f64> {
            let mut stream = Streams::new(3).stream("web-1/0/conversation-0");
            (0..N).map(|_| distribution.span(fits, &mut stream).as_secs_f64()).collect()
        };
        let cdf = |x| distribution.model.cdf(Draw::Continuous, x);
        // Just below a value; times are whole picoseconds.
        let found = distance(&mut draw(false), |x| cdf(x + 1e-12), |x| cdf(x - 1e-12));
        assert!(found < bound, "{found}");
        let law = distribution.fit.unwrap().law;
        let found = distance(&mut draw(true), |x| law.cdf(x), |x| law.cdf(x));
        assert!(found < bound, "{found}");
        // Those of one do not follow the other.
        assert!(distance(&mut draw(true), cdf, cdf) > 0.05);
    }

    #[test]
    fn values_are_whole_and_bounded() {
        let mut stream = Streams::new(1).stream("w");
        let mut all = measured();
        assert!((0..1000).all(|_| all.whole(false, &mut stream) <= 60));
        all.fit = Some(FittedLaw { law: Law::Lognormal { mu: 900.0, sigma: 1.0 }, ks: 1.0 });
        assert_eq!(all.whole(true, &mut stream), MOST_BYTES as u64);
        assert_eq!(all.span(true, &mut stream).as_secs_f64(), MOST_SECONDS);
        assert_eq!(all.mean(true), None);
        assert_eq!(Distribution::constant(7).whole(true, &mut stream), 7, "without a law the knots are drawn");
    }
}
