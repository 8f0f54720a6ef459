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
}
