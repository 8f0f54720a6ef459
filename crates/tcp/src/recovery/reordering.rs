//! The reordering window of RACK: the time that a segment may be late before it counts as lost. RFC 8985 §6.2, step 4.

use cellway_units::Span;

use crate::Position;
use crate::congestion::Flight;

/// The window grows by the least round trip divided by this.
const DIVISOR: u64 = 4;
/// Recoveries without D-SACK after which the window is reset.
const PERSISTENCE: u32 = 16;

/// The state of the window.
#[derive(Clone, Debug)]
pub(super) struct Reordering {
    /// RACK.reordering_seen.
    pub(super) seen: bool,
    /// RACK.reo_wnd_mult: the window in quarters of the least round trip.
    multiplier: u32,
    /// RACK.reo_wnd_persist: recoveries until that is 1 again.
    persist: u32,
    /// RACK.dsack_round: until all below is acknowledged, D-SACK does not raise the multiplier again.
    raised_until: Option<Position>,
}

impl Default for Reordering {
    fn default() -> Reordering {
        Reordering { seen: false, multiplier: 1, persist: PERSISTENCE, raised_until: None }
    }
}

impl Reordering {
    /// Counts the round trips with a `duplicate` that the peer has reported, and the recoveries that have `ended` without.
    pub(super) fn adapt(&mut self, flight: Flight, duplicate: bool, ended: bool) {
        self.raised_until = self.raised_until.filter(|&until| flight.una < until);
        if duplicate && self.raised_until.is_none() {
            self.raised_until = Some(flight.max);
            self.multiplier = self.multiplier.saturating_add(1);
            self.persist = PERSISTENCE;
        } else if ended {
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.multiplier = 1;
            }
        }
    }
    /// Returns the window, where `least` is the least round trip.
    pub(super) fn window(&self, least: Span) -> Span {
        (least / DIVISOR).saturating_mul(self.multiplier.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_grows_once_a_round_trip_and_is_reset_after_16_recoveries() {
        let mut reordering = Reordering::default();
        let mut adapt = |una: Position, duplicate, ended| {
            reordering.adapt(Flight { una, nxt: una + 10, max: una + 10, peer_window: 0 }, duplicate, ended);
            reordering.window(Span::from_ms(100)).as_millis_f64()
        };
        assert_eq!(adapt(1, false, true), 25.0);
        assert_eq!([adapt(1, true, false), adapt(5, true, true), adapt(10, true, false)], [50.0; 3]);
        assert_eq!(adapt(11, true, false), 75.0);
        for n in 0..15 {
            assert_eq!(adapt(30 + n, false, true), 75.0, "{n}");
        }
        assert_eq!(adapt(60, false, true), 25.0);
    }
}
