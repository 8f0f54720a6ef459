//! BBR, version 3: a model of the path sets the window and the pacing rate. draft-ietf-ccwg-bbr (commit 4ce5e87,
//! 3 August 2026), whose names of variables and functions the comments give.
//!
//! Rates are bits of payload per second, volumes bytes of payload; "no bound" is the largest number. All is reckoned in
//! integers.

mod aggregation;
mod bounds;
mod filter;
mod probe_bw;
mod probe_rtt;
mod signals;
mod startup;
mod state;
#[cfg(test)]
mod tests;
mod variables;

use cellway_units::{Span, Time};

use super::{Ack, Acked, Controller, Flight, Loss, Repair, Signal, Variable, Window};
use aggregation::Aggregation;
use filter::{MaxBandwidth, Waits};
use probe_bw::Probing;
use probe_rtt::RoundTrips;
use signals::Signals;
use startup::FullPipe;
pub use state::BbrState;

/// BBR.LossThresh: the loss rate of a round trip that a probe tolerates, 2 %.
const LOSS: (u64, u64) = (1, 50);
/// BBR.Beta: what is kept, at least, after a round trip with losses: 0.7.
const BETA: (u64, u64) = (7, 10);
/// BBR.Headroom: the part of the long-term bound that is left to others, 0.15.
const HEADROOM: (u64, u64) = (3, 20);
/// BBR.MinPipeCwnd, in segments.
const MIN_PIPE: u64 = 4;
/// BBR.DefaultCwndGain, that of ProbeBW_UP, and BBR.ProbeRTTCwndGain (hundredths).
const WINDOW_GAIN: u64 = 200;
const WINDOW_GAIN_UP: u64 = 225;
const WINDOW_GAIN_PROBE_RTT: u64 = 50;
/// BBR.PacingMarginPercent: pacing at 1 % less than the bandwidth (per cent).
const MARGIN: u64 = 99;
/// The longest send quantum, and the time that it lasts. Section "Send Quantum".
const MAX_QUANTUM: u64 = 65_536;
const QUANTUM_TIME: Span = Span::from_ms(1);
/// The round trip for the first pacing rate, if none was measured. Section "Pacing Rate".
const NOMINAL_RTT: Span = Span::from_ms(1);
const NO_BOUND: u64 = u64::MAX;
const PS_PER_S: u128 = 1_000_000_000_000;

/// Returns `n` times a fraction, rounded down; "no bound" stays.
fn part(n: u64, (num, den): (u64, u64)) -> u64 {
    if n == NO_BOUND { n } else { narrow(u128::from(n) * u128::from(num) / u128::from(den)) }
}
fn narrow(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// The rate sample of an acknowledgement (RS), as far as the model needs it.
#[derive(Clone, Copy, Debug, Default)]
struct RateSample {
    /// RS.delivery_rate; 0 without a reliable sample (bit/s).
    rate: u64,
    /// RS.delivered: since the newest segment was sent (bytes).
    delivered: u64,
    /// RS.tx_in_flight and RS.lost of that segment (bytes).
    in_flight: u64,
    lost: u64,
    /// RS.is_app_limited.
    limited: bool,
    rtt: Option<Span>,
}

impl RateSample {
    /// IsInflightTooHigh(): the loss rate exceeds the tolerated one.
    fn is_too_high(&self) -> bool {
        u128::from(self.lost) * u128::from(LOSS.1) > u128::from(self.in_flight) * u128::from(LOSS.0)
    }
}

/// Packet-timed round trips. Section "BBR.round_count".
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    /// BBR.next_round_delivered: a segment sent after this much was delivered ends the round (bytes).
    end: u64,
    /// BBR.round_start.
    start: bool,
    /// BBR.round_count.
    count: u64,
}

/// A state that losses end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Accelerating {
    Startup,
    Up,
}

/// The state to restore if a repair was not needed. Section "Saving State Upon Loss Recovery".
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    /// BBR.undo_state: the state that the loss ended.
    ended: Option<Accelerating>,
    /// BBR.undo_bw_shortterm (bit/s).
    bandwidth: u64,
    /// BBR.undo_inflight_shortterm and BBR.undo_inflight_longterm (bytes).
    short_inflight: u64,
    long_inflight: u64,
}

/// The state of BBR.
#[derive(Clone, Debug)]
pub struct Bbr {
    state: BbrState,
    rounds: Rounds,
    /// C.delivered at the last event (bytes).
    delivered: u64,
    /// C.InitialCwnd (bytes).
    initial: u64,
    max_bandwidth: MaxBandwidth,
    /// BBR.bw (bit/s).
    bandwidth: u64,
    /// BBR.bw_shortterm (bit/s) and BBR.inflight_shortterm (bytes).
    short_bandwidth: u64,
    short_inflight: u64,
    /// BBR.inflight_longterm (bytes).
    long_inflight: u64,
    signals: Signals,
    aggregation: Aggregation,
    full_pipe: FullPipe,
    /// BBR.drain_start_round.
    drain_start: u64,
    probing: Probing,
    round_trips: RoundTrips,
    /// BBR.idle_restart.
    idle_restart: bool,
    /// The repair in progress, and the round in which it began.
    repair: Option<(Repair, u64)>,
    /// BBR.prior_cwnd (bytes).
    prior_window: u64,
    undo: Undo,
    waits: Waits,
    /// C.pacing_rate (bit/s).
    pacing_rate: u64,
    /// C.send_quantum (bytes).
    quantum: u64,
    /// Of the last acknowledgement: its sample, and what was in flight after it (bytes).
    last: (RateSample, u64),
    /// Repairs that were not needed.
    undone: u32,
}

impl Bbr {
    /// Creates BBR whose random waits follow from `seed`. OnInit().
    pub fn new(seed: u64) -> Bbr {
        Bbr {
            state: BbrState::Startup,
            rounds: Rounds::default(),
            delivered: 0,
            initial: 0,
            max_bandwidth: MaxBandwidth::default(),
            bandwidth: 0,
            short_bandwidth: NO_BOUND,
            short_inflight: NO_BOUND,
            long_inflight: NO_BOUND,
            signals: Signals::default(),
            aggregation: Aggregation::default(),
            full_pipe: FullPipe::default(),
            drain_start: 0,
            probing: Probing::default(),
            round_trips: RoundTrips::default(),
            idle_restart: false,
            repair: None,
            prior_window: 0,
            undo: Undo::default(),
            waits: Waits::new(seed),
            pacing_rate: 0,
            quantum: 0,
            last: Default::default(),
            undone: 0,
        }
    }

    /// StartRound().
    fn start_round(&mut self) {
        self.rounds.end = self.delivered;
    }
    /// UpdateRound(); `prior` is what had been delivered when the newest segment was sent (bytes).
    fn update_round(&mut self, prior: u64) {
        self.rounds.start = prior >= self.rounds.end;
        if self.rounds.start {
            self.start_round();
            self.rounds.count += 1;
            self.probing.rounds_since_up += 1;
        }
    }
    /// SaveCwnd().
    fn save_window(&mut self, cwnd: u64) {
        let modulated = self.repair.is_some() || self.state == BbrState::ProbeRtt;
        self.prior_window = if modulated { self.prior_window.max(cwnd) } else { cwnd };
    }
    /// RestoreCwnd().
    fn restore_window(&self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.prior_window);
    }
    /// SaveStateUponLoss().
    fn save_state(&mut self, cwnd: u64) {
        self.save_window(cwnd);
        self.undo = Undo {
            ended: None,
            bandwidth: self.short_bandwidth,
            short_inflight: self.short_inflight,
            long_inflight: self.long_inflight,
        };
    }
}

impl Controller for Bbr {
    fn started(&mut self, window: &mut Window, now: Time, srtt: Option<Span>) {
        self.initial = window.cwnd;
        self.aggregation.restart(now);
        self.round_trips.begin(now);
        // InitPacingRate(). The round trip of the handshake is measured in ticks, so it is no bound for min_rtt.
        let srtt = srtt.filter(|srtt| !srtt.is_zero()).unwrap_or(NOMINAL_RTT);
        let nominal = narrow(u128::from(8 * self.initial) * PS_PER_S / u128::from(srtt.as_ps()));
        self.pacing_rate = part(nominal, (BbrState::Startup.pacing_gain(), 100));
        self.set_quantum(window.mss);
    }
    fn sets_window(&self) -> bool {
        true
    }
    /// HandleLostPacket().
    fn lost(&mut self, window: &mut Window, loss: &Loss) {
        self.delivered = loss.total_delivered;
        self.note_loss(window.cwnd, loss);
        if !self.probing.samples {
            return;
        }
        let sample =
            RateSample { in_flight: loss.in_flight, lost: loss.lost, limited: loss.limited, ..RateSample::default() };
        if sample.is_too_high() {
            let in_flight = startup::inflight_at_loss(loss.in_flight, loss.lost, loss.end - loss.start);
            self.handle_inflight_too_high(window.cwnd, RateSample { in_flight, ..sample }, loss.now);
        }
    }
    /// UpdateOnACK().
    fn acknowledged(&mut self, window: &mut Window, ack: &Ack) {
        self.delivered = ack.total_delivered;
        let sample = ack.newest.map_or_else(RateSample::default, |newest| RateSample {
            rate: newest.sample.map_or(0, |sample| sample.rate.as_bps()),
            delivered: newest.delivered,
            in_flight: newest.in_flight,
            lost: newest.lost,
            limited: newest.limited,
            rtt: newest.rtt,
        });
        let prior = ack.newest.map(|newest| newest.prior);
        self.signals.update(prior, &sample, self.delivered);
        self.update_congestion_signals(window.cwnd, prior, &sample);
        self.update_aggregation(ack.now, ack.delivered, window.cwnd);
        self.check_full_pipe(&sample);
        self.check_startup_done(&sample);
        self.check_drain_done(ack.in_flight, window.mss, ack.now);
        self.update_cycle_phase(window, ack, &sample);
        self.round_trips.update(ack.now, sample.rtt);
        self.check_probe_rtt(window, ack, &sample);
        self.signals.advance(&sample);
        self.bandwidth = self.max_bandwidth.get().min(self.short_bandwidth);
        self.set_pacing_rate(self.state.pacing_gain());
        self.set_quantum(window.mss);
        self.set_window(window, ack.delivered);
        self.last = (sample, ack.in_flight);
    }
    /// OnEnterFastRecovery(), OnEnterRTO().
    fn repairing(&mut self, window: &mut Window, repair: Repair) {
        // A timeout in a repair belongs to the same losses: the state before the first is restored.
        if self.repair.is_some() {
            self.save_window(window.cwnd);
        } else {
            self.save_state(window.cwnd);
        }
        self.repair = Some((repair, self.rounds.count));
    }
    fn repaired(&mut self, window: &mut Window) {
        self.repair = None;
        self.restore_window(window);
    }
    /// HandleSpuriousLossDetection().
    fn spurious(&mut self, window: &mut Window, total_delivered: u64) {
        // The round that StartProbeBW_REFILL() begins is after all that this acknowledgement reports.
        self.delivered = total_delivered;
        self.undone += 1;
        self.restore_window(window);
        self.signals.loss_in_round = false;
        self.full_pipe.reset();
        self.short_bandwidth = self.short_bandwidth.max(self.undo.bandwidth);
        self.short_inflight = self.short_inflight.max(self.undo.short_inflight);
        self.long_inflight = self.long_inflight.max(self.undo.long_inflight);
        match self.undo.ended.take() {
            Some(Accelerating::Startup) if self.state != BbrState::Startup => {
                self.full_pipe.reached = false;
                if self.state != BbrState::ProbeRtt {
                    self.state = BbrState::Startup;
                }
            }
            Some(Accelerating::Up) if !matches!(self.state, BbrState::Up | BbrState::ProbeRtt) => self.start_refill(),
            _ => {}
        }
    }
    /// HandleRestartFromIdle().
    fn resumed(&mut self, window: &mut Window, now: Time, source_limited: bool) {
        if !source_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(now);
        if self.state.is_probing_bandwidth() {
            self.set_pacing_rate(100);
        } else if self.state == BbrState::ProbeRtt {
            self.check_probe_rtt_done(window, now);
        }
    }
    /// MarkConnectionAppLimited() of HandleProbeRTT().
    fn holds_back(&self) -> bool {
        self.state == BbrState::ProbeRtt
    }
    fn pacing_gap(&self, _window: Window, payload: u64, _srtt: Span) -> Span {
        Span::from_ps(narrow(u128::from(8 * payload) * PS_PER_S / u128::from(self.pacing_rate.max(1))))
    }
    fn quantum(&self) -> u64 {
        self.quantum
    }
    fn min_rtt(&self) -> Option<Span> {
        self.round_trips.min
    }
    fn variables(&self, window: &Window, see: &mut dyn FnMut(Variable, f64)) {
        self.see_variables(window, see);
    }
    /// The window is set by [`acknowledged`](Controller::acknowledged).
    fn grow(&mut self, _window: &mut Window, _acked: Acked, _flight: Flight) {}
    /// There is no slow-start threshold.
    fn threshold(&self, window: Window, _signal: Signal, _outstanding: u64, _peer_window: u64) -> u64 {
        window.ssthresh
    }
}
