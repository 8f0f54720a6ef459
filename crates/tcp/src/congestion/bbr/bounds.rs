//! The pacing rate, the send quantum and the window. Section "Updating Control Parameters".

use super::{Bbr, BbrState, MARGIN, MAX_QUANTUM, MIN_PIPE, NO_BOUND, PS_PER_S, QUANTUM_TIME, narrow, part};
use crate::congestion::Window;

impl Bbr {
    /// BDPMultiple(), of `rate` (bit/s) and a gain in hundredths (bytes).
    fn bdp_at(&self, rate: u64, gain: u64) -> u64 {
        let Some(rtt) = self.round_trips.min else { return self.initial };
        let bits = u128::from(rate) * u128::from(rtt.as_ps()) / PS_PER_S;
        narrow(bits * u128::from(gain) / 800)
    }
    /// BDPMultiple(), of the bandwidth (bytes).
    pub(super) fn bdp(&self, gain: u64) -> u64 {
        self.bdp_at(self.bandwidth, gain)
    }
    /// QuantizationBudget() (bytes).
    fn with_budget(&self, volume: u64, mss: u64) -> u64 {
        // UpdateOffloadBudget(), of TCP.
        let volume = volume.max(3 * self.quantum).max(MIN_PIPE * mss);
        volume + if self.state == BbrState::Up { 2 * mss } else { 0 }
    }
    /// Inflight(), of `rate` (bit/s) and a gain in hundredths (bytes).
    pub(super) fn inflight(&self, rate: u64, gain: u64, mss: u64) -> u64 {
        self.with_budget(self.bdp_at(rate, gain), mss)
    }
    /// SetPacingRateWithGain(), in hundredths.
    pub(super) fn set_pacing_rate(&mut self, gain: u64) {
        let rate = part(self.bandwidth, (gain * MARGIN, 100 * 100));
        if self.full_pipe.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }
    /// SetSendQuantum().
    pub(super) fn set_quantum(&mut self, mss: u64) {
        let bits = u128::from(self.pacing_rate) * u128::from(QUANTUM_TIME.as_ps()) / PS_PER_S;
        self.quantum = narrow(bits / 8).min(MAX_QUANTUM).max(2 * mss);
    }
    /// SetCwnd(); `acked` is newly acknowledged (bytes).
    pub(super) fn set_window(&mut self, window: &mut Window, acked: u64) {
        let least = MIN_PIPE * window.mss;
        // UpdateMaxInflight().
        let wanted = self.bdp(self.state.window_gain()) + self.aggregation.extra;
        let most = self.with_budget(wanted, window.mss);
        if self.full_pipe.reached {
            window.cwnd = (window.cwnd + acked).min(most);
        } else if window.cwnd < most || self.delivered < self.initial {
            window.cwnd += acked;
        }
        window.cwnd = window.cwnd.max(least);
        if self.state == BbrState::ProbeRtt {
            // BoundCwndForProbeRTT().
            window.cwnd = window.cwnd.min(self.probe_rtt_window(window.mss));
        }
        // BoundCwndForModel().
        let long = match self.state {
            BbrState::Down | BbrState::Refill | BbrState::Up => self.long_inflight,
            BbrState::Cruise | BbrState::ProbeRtt => self.inflight_with_headroom(window.mss),
            BbrState::Startup | BbrState::Drain => NO_BOUND,
        };
        window.cwnd = window.cwnd.min(long.min(self.short_inflight).max(least));
    }
}
