//! The variables of the model for an observer.

use super::{Bbr, NO_BOUND};
use crate::congestion::{Variable, Window};

/// Returns a bound, or 0 if it is not set.
fn bound(value: u64) -> f64 {
    if value == NO_BOUND { 0.0 } else { value as f64 }
}

impl Bbr {
    /// Passes all variables to `see`.
    pub(super) fn see_variables(&self, window: &Window, see: &mut dyn FnMut(Variable, f64)) {
        let (sample, in_flight) = self.last;
        let truth = |truth: bool| f64::from(u8::from(truth));
        let whole = |n: u64| n as f64;
        let mss = window.mss;
        for (variable, value) in [
            (Variable::State, f64::from(self.state as u8)),
            (Variable::RoundCount, whole(self.rounds.count)),
            (Variable::PacingGain, whole(self.state.pacing_gain()) / 100.0),
            (Variable::CwndGain, whole(self.state.window_gain()) / 100.0),
            (Variable::PacingRate, whole(self.pacing_rate)),
            (Variable::SendQuantum, whole(self.quantum)),
            (Variable::Cwnd, whole(window.cwnd)),
            (Variable::Inflight, whole(in_flight)),
            (Variable::DeliveryRate, whole(sample.rate)),
            (Variable::IsAppLimited, truth(sample.limited)),
            (Variable::MaxBw, whole(self.max_bandwidth.get())),
            (Variable::Bw, whole(self.bandwidth)),
            (Variable::BwShortterm, bound(self.short_bandwidth)),
            (Variable::InflightShortterm, bound(self.short_inflight)),
            (Variable::InflightLongterm, bound(self.long_inflight)),
            (Variable::InflightWithHeadroom, bound(self.inflight_with_headroom(mss))),
            (Variable::InflightTarget, whole(self.inflight(self.bandwidth, 100, mss))),
            (Variable::Bdp, whole(self.bdp(100))),
            (Variable::MinRtt, self.round_trips.min.map_or(0.0, cellway_units::Span::as_secs_f64)),
            (Variable::ExtraAcked, whole(self.aggregation.extra)),
            (Variable::FullBwCount, f64::from(self.full_pipe.count)),
            (Variable::FullBwNow, truth(self.full_pipe.now)),
            (Variable::FullBwReached, truth(self.full_pipe.reached)),
            (Variable::BwProbeWait, self.probing.wait().as_secs_f64()),
            (Variable::IdleRestart, truth(self.idle_restart)),
            (Variable::Undone, f64::from(self.undone)),
            (Variable::UndoBwShortterm, bound(self.undo.bandwidth)),
            (Variable::UndoInflightShortterm, bound(self.undo.short_inflight)),
            (Variable::UndoInflightLongterm, bound(self.undo.long_inflight)),
        ] {
            see(variable, value);
        }
    }
}
