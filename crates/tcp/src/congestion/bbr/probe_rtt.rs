//! The least round trip, and ProbeRTT. Section "ProbeRTT".

use cellway_units::{Span, Time};

use super::probe_bw::AckPhase;
use super::{Bbr, BbrState, RateSample, WINDOW_GAIN_PROBE_RTT};
use crate::congestion::{Ack, Window};

/// BBR.MinRTTFilterLen.
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// BBR.ProbeRTTInterval.
const INTERVAL: Span = Span::from_secs(5);
/// BBR.ProbeRTTDuration.
const DURATION: Span = Span::from_ms(200);

/// The end of a stay in ProbeRTT.
#[derive(Clone, Copy, Debug)]
struct Done {
    /// BBR.probe_rtt_done_stamp.
    at: Time,
    /// BBR.probe_rtt_round_done.
    round: bool,
}

/// The round trips measured, and the schedule of ProbeRTT.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundTrips {
    /// BBR.min_rtt and BBR.min_rtt_stamp.
    pub(super) min: Option<Span>,
    min_at: Time,
    /// BBR.probe_rtt_min_delay and BBR.probe_rtt_min_stamp.
    probe_min: Option<Span>,
    probe_min_at: Time,
    /// BBR.probe_rtt_expired.
    expired: bool,
    done: Option<Done>,
}

/// Compares with "no measurement" as the longest.
fn is_less(rtt: Option<Span>, than: Option<Span>) -> bool {
    rtt.is_some_and(|rtt| than.is_none_or(|than| rtt < than))
}

impl RoundTrips {
    /// Begins at `now`, without a measurement.
    pub(super) fn begin(&mut self, now: Time) {
        (self.min_at, self.probe_min_at) = (now, now);
    }
    /// UpdateMinRTT().
    pub(super) fn update(&mut self, now: Time, rtt: Option<Span>) {
        self.expired = now > self.probe_min_at + INTERVAL;
        if rtt.is_some() && (self.expired || is_less(rtt, self.probe_min)) {
            (self.probe_min, self.probe_min_at) = (rtt, now);
        }
        if is_less(self.probe_min, self.min) || now > self.min_at + MIN_RTT_WINDOW {
            (self.min, self.min_at) = (self.probe_min, self.probe_min_at);
        }
    }
}

impl Bbr {
    /// CheckProbeRTT().
    pub(super) fn check_probe_rtt(&mut self, window: &mut Window, ack: &Ack, sample: &RateSample) {
        if self.state != BbrState::ProbeRtt && self.round_trips.expired && !self.idle_restart {
            self.state = BbrState::ProbeRtt;
            self.save_window(window.cwnd);
            self.round_trips.done = None;
            self.probing.phase = AckPhase::Stopping;
            self.start_round();
        }
        if self.state == BbrState::ProbeRtt {
            self.handle_probe_rtt(window, ack);
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }
    /// HandleProbeRTT(); [`holds_back`](crate::congestion::Controller::holds_back) has its first step.
    fn handle_probe_rtt(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(done) = &mut self.round_trips.done {
            done.round |= self.rounds.start;
            if done.round {
                self.check_probe_rtt_done(window, ack.now);
            }
        } else if ack.in_flight <= self.probe_rtt_window(window.mss) {
            self.round_trips.done = Some(Done { at: ack.now + DURATION, round: false });
            self.start_round();
        }
    }
    /// CheckProbeRTTDone().
    pub(super) fn check_probe_rtt_done(&mut self, window: &mut Window, now: Time) {
        if self.round_trips.done.is_some_and(|done| now > done.at) {
            self.round_trips.probe_min_at = now;
            self.restore_window(window);
            // ExitProbeRTT().
            self.reset_short_term();
            if self.full_pipe.reached {
                self.start_down(now);
                self.state = BbrState::Cruise;
            } else {
                self.state = BbrState::Startup;
            }
        }
    }
    /// ProbeRTTCwnd() (bytes).
    pub(super) fn probe_rtt_window(&self, mss: u64) -> u64 {
        self.bdp(WINDOW_GAIN_PROBE_RTT).max(super::MIN_PIPE * mss)
    }
}
