//! The goodput under random loss: the bounds of a loop, from the formulas for its congestion control.

use cellway_spec::CongestionControl;
use cellway_units::Span;

use crate::cubic::{Losses, cubic};
use crate::error::Error;
use crate::mathis::mathis;
use crate::pftk::{Lossy, pftk};
use crate::predicted::Predicted;
use crate::prediction::{Bound, Limit};

/// Returns the bounds of `connections` connections with this control that `lossy` describes; none without loss.
///
/// # Errors
/// As [`mathis`], [`pftk`] and [`cubic`].
pub(crate) fn loss_bounds(control: CongestionControl, lossy: Lossy, connections: f64) -> Result<Vec<Bound>, Error> {
    if lossy.loss == 0.0 {
        return Ok(Vec::new());
    }
    let Lossy { mss, rtt, loss, delayed_ack, .. } = lossy;
    let results = match control {
        // Tahoe gets less than Reno, for which the formulas are.
        // DCTCP and Prague react to a loss as Reno does. Prague grows more slowly over short round trips.
        CongestionControl::Tahoe | CongestionControl::Reno | CongestionControl::Dctcp | CongestionControl::Prague => {
            vec![mathis(mss, rtt, loss, delayed_ack)?, pftk(lossy)?]
        }
        CongestionControl::Cubic => vec![cubic(mss, rtt, loss, Losses::Independent)?],
        // BBR tolerates a loss rate of 2 % while it probes, and no formula for more is published.
        CongestionControl::Bbr => Vec::new(),
    };
    let bound = |result: Predicted| Bound {
        caveats: result.caveats,
        ..Bound::new(Limit::Loss, "", result.value * connections, result.equation)
    };
    Ok(results.into_iter().map(bound).collect())
}

/// Returns the probability that something is lost that passes elements with these loss probabilities, each the given
/// number of times.
pub(crate) fn any_lost(places: impl Iterator<Item = (f64, f64)>) -> f64 {
    // By logarithms: 1 - (1 - p)^n would lose the digits of a small p.
    let survives: f64 = places.map(|(chance, times)| times * libm::log1p(-chance)).sum();
    -libm::expm1(survives)
}

/// Returns the timeout of RFC 6298 section 2 for a constant round trip: no less than `least`, and no less than the
/// round trip and one tick.
pub(crate) fn steady_timeout(rtt: Span, least: Span, tick: Span) -> Span {
    least.max(rtt + tick)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_add_up_as_they_should() {
        assert_eq!(any_lost([].into_iter()), 0.0);
        assert!((any_lost([(0.5, 1.0), (0.5, 2.0)].into_iter()) - 0.875).abs() < 1e-15);
        assert!((any_lost([(1e-12, 192.0)].into_iter()) / 192e-12 - 1.0).abs() < 1e-9);
        assert_eq!(any_lost([(0.999, 192.0)].into_iter()), 1.0);
    }
}
