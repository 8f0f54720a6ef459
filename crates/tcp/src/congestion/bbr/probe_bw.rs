//! ProbeBW: the cycle of probes for bandwidth. Section "ProbeBW Algorithm Details".

use cellway_units::{Span, Time};

use super::{Accelerating, BETA, Bbr, BbrState, HEADROOM, MIN_PIPE, NO_BOUND, RateSample, part};
use crate::congestion::{Ack, Window};

/// The time until the next probe, without its random part.
const WAIT: Span = Span::from_secs(2);
/// The most rounds until the next probe. IsRenoCoexistenceProbeTime().
const RENO_ROUNDS: u64 = 63;
/// The most doublings of the growth of the long-term bound in a probe.
const DOUBLINGS: u32 = 30;

/// The meaning of the acknowledgements that arrive (BBR.ack_phase).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// Not of a probe.
    #[default]
    Init,
    Refilling,
    /// A probe begins.
    Starting,
    /// They answer a probe.
    Feedback,
    /// The probe has ended; they still answer it.
    Stopping,
}

/// The state of the probes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probing {
    pub(super) phase: AckPhase,
    /// BBR.is_bw_probe_sample.
    pub(super) samples: bool,
    /// BBR.bw_probe_up_acked, BBR.probe_up_acked_per_inc (bytes), BBR.bw_probe_up_rounds.
    acked: u64,
    acked_per_increase: u64,
    up_rounds: u32,
    /// BBR.rounds_since_probe_up.
    pub(super) rounds_since_up: u64,
    /// BBR.bw_probe_wait and BBR.cycle_stamp.
    wait: Span,
    since: Time,
    /// BBR.prev_probe_too_high and BBR.prev_probe_precautionary.
    pub(super) too_high: bool,
    precautionary: bool,
}

impl Probing {
    /// BBR.bw_probe_wait.
    pub(super) fn wait(&self) -> Span {
        self.wait
    }
}

impl Default for Probing {
    fn default() -> Probing {
        Probing {
            phase: AckPhase::Init,
            samples: false,
            acked: 0,
            acked_per_increase: NO_BOUND,
            up_rounds: 0,
            rounds_since_up: 0,
            wait: Span::ZERO,
            since: Time::ZERO,
            too_high: false,
            precautionary: false,
        }
    }
}

impl Bbr {
    /// StartProbeBW_DOWN().
    pub(super) fn start_down(&mut self, now: Time) {
        self.signals.reset();
        self.probing.acked_per_increase = NO_BOUND;
        // PickProbeWait().
        self.probing.rounds_since_up = self.waits.below(2);
        self.probing.wait = WAIT + Span::from_ps(self.waits.below(Span::from_secs(1).as_ps()));
        self.probing.since = now;
        self.probing.phase = AckPhase::Stopping;
        self.start_round();
        self.state = BbrState::Down;
    }
    /// StartProbeBW_REFILL().
    pub(super) fn start_refill(&mut self) {
        self.reset_short_term();
        (self.probing.up_rounds, self.probing.acked, self.probing.precautionary) = (0, 0, false);
        self.probing.phase = AckPhase::Refilling;
        self.start_round();
        self.state = BbrState::Refill;
    }
    /// StartProbeBW_UP().
    fn start_up(&mut self, window: &Window, rate: u64) {
        self.probing.phase = AckPhase::Starting;
        self.start_round();
        self.full_pipe.reset_to(rate);
        self.state = BbrState::Up;
        self.raise_slope(window);
    }

    /// UpdateProbeBWCyclePhase().
    pub(super) fn update_cycle_phase(&mut self, window: &Window, ack: &Ack, sample: &RateSample) {
        if !self.full_pipe.reached || self.adapt_long_term(window, ack, sample) {
            return;
        }
        let state = self.state;
        match state {
            BbrState::Down => {
                if self.is_time_to_probe(window, ack.now) {
                    self.start_refill();
                } else if self.is_time_to_cruise(ack.in_flight, window.mss) {
                    self.state = BbrState::Cruise;
                }
            }
            BbrState::Cruise if self.is_time_to_probe(window, ack.now) => self.start_refill(),
            BbrState::Refill if self.rounds.start => {
                self.probing.samples = true;
                self.start_up(window, sample.rate);
            }
            BbrState::Up if self.is_time_to_go_down(window, ack, sample) => {
                self.probing.too_high = false;
                self.start_down(ack.now);
            }
            _ => {}
        }
    }
    /// IsTimeToProbeBW(), without the transition.
    fn is_time_to_probe(&self, window: &Window, now: Time) -> bool {
        let elapsed = now > self.probing.since + self.probing.wait;
        // IsRenoCoexistenceProbeTime().
        let rounds = (self.target_inflight(window.cwnd) / window.mss).min(RENO_ROUNDS);
        elapsed || self.probing.rounds_since_up >= rounds
    }
    /// IsTimeToCruise(); `in_flight` and `mss` in bytes.
    fn is_time_to_cruise(&self, in_flight: u64, mss: u64) -> bool {
        in_flight <= self.inflight_with_headroom(mss) && in_flight <= self.inflight(self.max_bandwidth.get(), 100, mss)
    }
    /// IsTimeToGoDown().
    fn is_time_to_go_down(&mut self, window: &Window, ack: &Ack, sample: &RateSample) -> bool {
        if self.probing.too_high && ack.in_flight >= self.long_inflight {
            self.probing.precautionary = true;
            return true;
        }
        if ack.window_limited && window.cwnd >= self.long_inflight {
            // The long-term bound limits the rate.
            self.full_pipe.reset_to(sample.rate);
            return false;
        }
        self.full_pipe.now
    }
    /// InflightWithHeadroom() (bytes).
    pub(super) fn inflight_with_headroom(&self, mss: u64) -> u64 {
        if self.long_inflight == NO_BOUND {
            return NO_BOUND;
        }
        let headroom = part(self.long_inflight, HEADROOM).max(mss);
        self.long_inflight.saturating_sub(headroom).max(MIN_PIPE * mss)
    }
    /// RaiseInflightLongtermSlope().
    fn raise_slope(&mut self, window: &Window) {
        let growth = 1_u64 << self.probing.up_rounds;
        self.probing.up_rounds = (self.probing.up_rounds + 1).min(DOUBLINGS);
        self.probing.acked_per_increase = (window.cwnd / growth).max(window.mss);
    }
    /// ProbeInflightLongtermUpward().
    fn probe_upward(&mut self, window: &Window, ack: &Ack) {
        if !ack.window_limited || window.cwnd < self.long_inflight {
            return;
        }
        self.probing.acked += ack.delivered;
        let increases = self.probing.acked / self.probing.acked_per_increase;
        self.probing.acked %= self.probing.acked_per_increase;
        self.long_inflight = self.long_inflight.saturating_add(increases * window.mss);
        if self.rounds.start {
            self.raise_slope(window);
        }
    }
    /// AdaptLongTermModel(); returns true if it has changed the state.
    fn adapt_long_term(&mut self, window: &Window, ack: &Ack, sample: &RateSample) -> bool {
        let in_probe_bw = self.state.is_probing_bandwidth();
        if self.rounds.start && self.probing.phase == AckPhase::Starting {
            self.probing.phase = AckPhase::Feedback;
        }
        if self.rounds.start && self.probing.phase == AckPhase::Stopping {
            self.probing.samples = false;
            self.probing.phase = AckPhase::Init;
            if in_probe_bw && !sample.limited {
                self.max_bandwidth.advance();
            }
            if in_probe_bw && self.probing.precautionary && !self.probing.too_high {
                self.start_refill();
                return true;
            }
        }
        if !sample.is_too_high() && self.long_inflight != NO_BOUND {
            self.long_inflight = self.long_inflight.max(sample.in_flight);
            if self.state == BbrState::Up {
                self.probe_upward(window, ack);
            }
        }
        false
    }
    /// HandleInflightTooHigh(); `cwnd` in bytes.
    pub(super) fn handle_inflight_too_high(&mut self, cwnd: u64, sample: RateSample, now: Time) {
        self.probing.too_high = true;
        self.probing.samples = false;
        if !sample.limited {
            self.long_inflight = sample.in_flight.max(part(self.target_inflight(cwnd), BETA));
        }
        if self.state == BbrState::Up {
            self.undo.ended = Some(Accelerating::Up);
            self.start_down(now);
        }
    }
    /// TargetInflight() (bytes).
    fn target_inflight(&self, cwnd: u64) -> u64 {
        self.bdp(100).min(cwnd)
    }
}
