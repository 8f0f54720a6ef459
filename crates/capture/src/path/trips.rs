//! The round trip without queues.

use std::collections::BTreeMap;

use super::busy::Point;
use super::estimate::{Doubt, Interval, Transfer, quantile};
use super::half::Half;
use super::series::Sample;
use super::view::View;
use super::windows;

/// The time that hosts and the tap add to the least round trip, in s, and its share.
const RESPONSE: f64 = 0.2e-3;
const RESPONSE_SHARE: f64 = 0.005;
/// The utilisation of the link from which its queue may not have been empty.
const FULL: f64 = 0.95;

/// The least delays of each transfer, in s: those between its two addresses.
pub(super) struct Bases {
    /// On the side of the bottleneck.
    pub(super) here: Vec<f64>,
    /// The least of all there and back.
    pub(super) rtt: f64,
    /// False if nothing shows the side of the sender.
    has_both: bool,
}

pub(super) fn bases(all: &[Transfer], view: &View<'_>, rate: f64, back: f64) -> Option<Bases> {
    let mut least: BTreeMap<[u128; 2], [Option<f64>; 2]> = BTreeMap::new();
    for (at, Transfer { addresses, .. }) in all.iter().enumerate() {
        let found = [view.least(at, rate, back), view.least_elsewhere(at)];
        let known = least.entry(*addresses).or_default();
        for (known, found) in known.iter_mut().zip(found) {
            *known = [*known, found].into_iter().flatten().min_by(f64::total_cmp);
        }
    }
    let trip = |[here, elsewhere]: &[Option<f64>; 2]| Some((here.unwrap_or_default() + (*elsewhere)?).max(0.0));
    let has_both = least.values().any(|both| both.iter().all(Option::is_some));
    let known = least.values().filter(|both| !has_both || both.iter().all(Option::is_some));
    let rtt = known
        .filter_map(|[here, elsewhere]| trip(&[*here, Some(elsewhere.unwrap_or_default())]))
        .min_by(f64::total_cmp)?;
    let here = all.iter().map(|transfer| least[&transfer.addresses][0].unwrap_or_default()).collect();
    Some(Bases { here, rtt, has_both })
}

/// Returns the lowest 5 % of delays on a side of the tap, in s.
fn low_end(all: &[Transfer], of: fn(&Half) -> &[Sample]) -> f64 {
    let lowest = all.iter().filter_map(|transfer| {
        let mut delays: Vec<f64> = of(&transfer.half).iter().filter_map(Sample::delay).collect();
        delays.sort_unstable_by(f64::total_cmp);
        quantile(&delays, 0.05)
    });
    lowest.min_by(f64::total_cmp).unwrap_or_default()
}

/// Returns the round trip with its interval, in s.
pub(super) fn round_trip(
    all: &[Transfer],
    bases: &Bases,
    points: &[Point],
    rate: f64,
    longest: f64,
    doubts: &mut Vec<Doubt>,
) -> Interval {
    let value = bases.rtt;
    let low_ends = low_end(all, |half| &half.acknowledgements.all) + low_end(all, |half| &half.data.all);
    let response = RESPONSE + RESPONSE_SHARE * value;
    let mut rtt = Interval { value, low: (value - response).max(0.0), high: low_ends.max(value) };
    if !bases.has_both {
        doubts.push(Doubt::NoSenderSide);
        rtt.high = f64::INFINITY;
    }
    let is_shaken = all.iter().any(|transfer| transfer.handshake.is_some());
    if !is_shaken && windows::least_share(points, rate, value + longest) > FULL {
        doubts.push(Doubt::StandingQueue);
        rtt.low = 0.0;
    }
    rtt
}
