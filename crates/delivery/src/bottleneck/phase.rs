//! The phases of the estimator and the transitions between them.

use cellway_units::{Span, Time};
use serde::{Deserialize, Serialize};

use super::round::Round;
use super::startup::Startup;
use super::{Bottleneck, Bounds, MIN_RTT_WINDOW};
use crate::Sample;
use crate::times;

/// Pacing gains in thousandths. In Startup the rate doubles each round (4 ln 2); Drain empties the queue of Startup in
/// one round. A probe adds an eighth, and a quarter once more was delivered; in a contested queue at most a half.
pub(super) const STARTUP: u64 = 2_773;
const DRAIN: u64 = 361;
const DOWN: u64 = 750;
const UP: u64 = 1_125;
const UP_MORE: u64 = 1_250;
const UP_MOST: u64 = 1_500;
const STEADY: u64 = 1_000;
/// The growth of the delivered rate in a round (thousandths) below which it counts as constant: in Startup, and in a
/// probe.
const GROWTH: u64 = 1_250;
const UP_GROWTH: u64 = 1_050;
/// The number of constant rounds after which the link counts as full.
const PLATEAU: u32 = 3;
/// The number of rounds of a probe in a contested queue; the second one shows the effect of the first.
const CONTESTED_ROUNDS: u32 = 2;
/// The factor (thousandths) that reduces the bounds after a round with too many losses.
const BETA: u64 = 700;
/// The factor (thousandths) that reduces the bandwidth after a loss in a contested queue.
const YIELD: u64 = 900;
/// The least duration of ProbeRTT once the data in flight is below its limit.
const PROBE_RTT_TIME: Span = Span::from_ms(200);
/// The time between two bandwidth probes, without the random part of up to 1 s.
const CYCLE: Span = Span::from_secs(2);

/// The phase of the state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Phase {
    Startup,
    Drain,
    /// ProbeBW: Down drains the queue, Cruise keeps a constant rate, Refill fills the path for a round, Up probes for
    /// bandwidth.
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl Bottleneck {
    /// Evaluates a round that has ended: growth, transitions, and bounds after losses.
    pub(super) fn judge(&mut self, now: Time, round: &Round, sample: &Sample) {
        if self.probed && self.rounds >= 1 && matches!(self.phase, Phase::Drain | Phase::Down | Phase::Cruise) {
            // All packets of the probe have been acknowledged: earlier rates are discarded.
            self.probed = false;
            if !sample.limited && !sample.stalled && self.rates[1] > 0 {
                self.rates = [self.rates[1], 0];
            }
        }
        let measured = !sample.limited && !sample.stalled;
        // Losses count whether or not the source limited the round, unless a stall made the queue overflow.
        let lossy = !sample.stalled && round.is_lossy();
        if lossy {
            self.save_for_undo(round);
        }
        if measured {
            self.judge_growth();
        }
        self.startup.end_round();
        match self.phase {
            Phase::Startup if lossy || self.full.1 >= PLATEAU || self.full.1 >= 1 && self.startup_queues(round) => {
                self.cycle(now);
                self.enter(now, Phase::Drain);
            }
            Phase::Up if lossy || sample.limited || self.full.1 >= PLATEAU || self.probe_is_done() => self.down(now),
            Phase::Refill => self.enter(now, Phase::Up),
            _ => {}
        }
        if self.queue.is_contested() && round.loses() && !sample.stalled {
            self.yield_queue();
        } else if lossy && !matches!(self.phase, Phase::Startup | Phase::Refill | Phase::Up) {
            let cap = self.inflight_cap().0;
            let rate = self.bandwidth();
            self.bounds = Some(Bounds {
                rate: times(rate, BETA).max(round.rate).min(rate),
                in_flight: times(cap, BETA).max(round.delivered).min(cap),
            });
        }
    }
    /// Reduces the bandwidth after a loss in a contested queue, as competing flows do, at most once between two probes.
    fn yield_queue(&mut self) {
        if self.bounds.is_none() {
            self.bounds = Some(Bounds { rate: times(self.max_rate(), YIELD), in_flight: u64::MAX });
        }
    }
    /// Returns true if a probe in a contested queue has lasted long enough to show its effect.
    fn probe_is_done(&self) -> bool {
        self.queue.is_contested() && self.rounds >= CONTESTED_ROUNDS
    }
    /// Returns the gain of a probe in a contested queue (thousandths): 1 + 1.3 s / K, where K = (w (1 - 0.7) /
    /// 0.4)^(1/3) s is the time in which CUBIC recovers a window of w packets after a loss (RFC 9438, section 4.2).
    /// There is a probe every 2 to 3 s.
    fn contend(&self) -> u64 {
        let window = self.fills(STEADY) / self.packet;
        // In tenths of a second.
        let k = (1..200u64).find(|k| k.pow(3) >= 750 * window).unwrap_or(200);
        (1_000 + 13_000 / k).min(UP_MOST)
    }
    /// Continues Startup, which had ended although the path carries more.
    pub(super) fn resume_startup(&mut self, now: Time) {
        (self.startup, self.full) = (Startup::default(), (0, 0));
        self.rates = [0, self.max_rate()];
        self.enter(now, Phase::Startup);
    }
    fn judge_growth(&mut self) {
        let up = self.phase == Phase::Up;
        if self.max_rate() < times(self.full.0, if up { UP_GROWTH } else { GROWTH }) {
            self.full.1 += 1;
            return;
        }
        self.full = (self.max_rate(), 0);
        if up && !self.queue.is_contested() {
            self.gain = UP_MORE;
        }
    }
    /// Makes the transitions that an acknowledgement can cause within a round.
    pub(super) fn step(&mut self, now: Time) {
        let in_flight = self.delivery.in_flight;
        match self.phase {
            Phase::Drain | Phase::Down if in_flight <= self.fills(STEADY) || self.rounds >= PLATEAU => {
                self.enter(now, Phase::Cruise)
            }
            Phase::Cruise if now >= self.probe_at => {
                let bounds = self.bounds.take();
                self.undo = None;
                if let Some(bounds) = bounds.filter(|_| self.queue.is_contested()) {
                    self.rates = self.rates.map(|rate| rate.min(bounds.rate));
                }
                self.enter(now, Phase::Refill);
            }
            Phase::Up if self.rounds >= 1 && in_flight > self.fills(self.gain) + 2 * self.packet => self.down(now),
            Phase::ProbeRtt => self.probe_rtt(now),
            _ => {}
        }
        let expired = now.since(self.min_rtt_at) >= MIN_RTT_WINDOW;
        if expired && !matches!(self.phase, Phase::Startup | Phase::ProbeRtt) {
            self.enter(now, Phase::ProbeRtt);
        }
    }
    /// Responds to a window that has shown a queue.
    pub(super) fn respond_to_queue(&mut self, now: Time) {
        let steady = matches!(self.phase, Phase::Down | Phase::Cruise | Phase::Refill);
        if steady || self.phase == Phase::Up && self.has_deep_queue() {
            self.drain_queue(now);
        }
    }
    /// Measures the round-trip time: once the data in flight are within the limit, a round trip and 200 ms show the
    /// shortest.
    fn probe_rtt(&mut self, now: Time) {
        match self.probe_rtt_from {
            None if self.in_flight() <= self.inflight_cap() => {
                (self.probe_rtt_from, self.probe_rtt_least) = (Some(now), None);
            }
            Some(from) if now >= from + PROBE_RTT_TIME && self.probe_rtt_least.is_some() => {
                (self.min_rtt, self.min_rtt_at) = (self.probe_rtt_least, now);
                self.measured_length(now);
                self.enter(now, Phase::Cruise);
            }
            _ => {}
        }
    }
    /// Ends a probe for more bandwidth.
    fn down(&mut self, now: Time) {
        self.cycle(now);
        self.enter(now, Phase::Down);
    }
    fn cycle(&mut self, now: Time) {
        self.probed = true;
        // Pseudo-random, so that senders on one link do not probe at the same time: a hash of the clock (SplitMix64).
        let mut hash = now.as_ps().wrapping_add(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.probe_at = now + CYCLE + Span::from_ms((hash ^ (hash >> 31)) % 1000);
    }
    pub(super) fn enter(&mut self, now: Time, phase: Phase) {
        (self.phase, self.rounds) = (phase, 0);
        self.round.restart(self.delivery.delivered);
        self.gain = match phase {
            Phase::Startup => STARTUP,
            Phase::Drain => DRAIN,
            Phase::Down => DOWN,
            Phase::Up if self.queue.is_contested() => self.contend(),
            Phase::Up => UP,
            Phase::Cruise | Phase::Refill | Phase::ProbeRtt => STEADY,
        };
        match phase {
            Phase::Up => self.full = (self.max_rate(), 0),
            _ => self.probe_rtt_from = None,
        }
        if !matches!(phase, Phase::Refill | Phase::Up) {
            self.queue.watch(now);
        }
    }
    /// Restarts from idle, at the first packet after all were acknowledged, with the model as it was.
    pub(super) fn wake_up(&mut self, now: Time) {
        self.startup = Startup::default();
        if !matches!(self.phase, Phase::Startup | Phase::Cruise) {
            self.enter(now, Phase::Cruise);
            self.pace();
        }
        if now.since(self.min_rtt_at) >= MIN_RTT_WINDOW {
            self.min_rtt_at = now;
        }
    }
}
