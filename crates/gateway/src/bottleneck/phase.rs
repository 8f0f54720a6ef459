//! The phases of the estimator: what it does to the line to learn of it, and when one follows from another.

use cellway_units::{Span, Time};

use super::round::Round;
use super::{Bottleneck, Bounds, MIN_RTT_WINDOW, times};
use crate::delivery::Sample;
use crate::rtt::GRANULARITY;

/// Gains in thousandths. Startup's rate doubles each round (4 ln 2), Drain undoes in one round what it left behind. A probe
/// adds an eighth, and a quarter once the line has shown that it takes that.
pub(super) const STARTUP: u64 = 2_773;
const DRAIN: u64 = 361;
const DOWN: u64 = 750;
const UP: u64 = 1_125;
const UP_MORE: u64 = 1_250;
const STEADY: u64 = 1_000;
/// A rate that grows less in a round does not grow (in Startup, in a probe), and after three such rounds there is no more.
const GROWTH: u64 = 1_250;
const UP_GROWTH: u64 = 1_050;
const PLATEAU: u32 = 3;
/// What is left of the bounds after a round with too many losses.
const BETA: u64 = 700;
/// A round trip so much longer than the shortest is one with a queue.
const QUEUE: u64 = 1_125;
/// How long the line is looked at with little under way, at least.
const PROBE_RTT_TIME: Span = Span::from_ms(200);
/// Time from one probe for more to the next: so much, and up to a second more by lot.
const CYCLE: Span = Span::from_secs(2);

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Startup,
    Drain,
    /// The cycle of probing for bandwidth: less until no queue is left, a steady rate, a round to fill the line, more.
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl Bottleneck {
    /// What follows from a round: bounds, the end of growth, the line that has become slower.
    pub(super) fn judge(&mut self, now: Time, round: &Round, sample: &Sample) {
        if self.probed && self.rounds >= 1 && matches!(self.phase, Phase::Drain | Phase::Down | Phase::Cruise) {
            // All of the probe has been acknowledged: what was before it is forgotten.
            self.probed = false;
            if !sample.limited && self.rates[1] > 0 {
                self.unsure &= self.rates[1] >= times(self.rates[0], UP_GROWTH);
                if self.unsure {
                    self.probe_at = now;
                }
                self.rates = [self.rates[1], 0];
            }
        }
        let lossy = !sample.limited && round.is_lossy();
        if !sample.limited {
            self.judge_growth();
        }
        match self.phase {
            Phase::Startup if lossy || self.full.1 >= PLATEAU || self.full.1 >= 1 && self.has_queue(round) => {
                self.cycle(now);
                self.unsure = self.full.1 < PLATEAU && !lossy;
                self.enter(Phase::Drain);
            }
            Phase::Cruise | Phase::Refill | Phase::Up if self.steady >= 2 && self.has_queue(round) => {
                self.slower(sample)
            }
            Phase::Down if self.rounds >= 2 && self.has_queue(round) => self.slower(sample),
            Phase::Up if lossy || sample.limited || self.full.1 >= PLATEAU => self.down(now),
            Phase::Refill => self.enter(Phase::Up),
            _ => {}
        }
        if lossy && !matches!(self.phase, Phase::Startup | Phase::Refill | Phase::Up) {
            let cap = self.inflight_cap().0;
            let rate = self.bandwidth();
            self.bounds = Some(Bounds {
                rate: times(rate, BETA).max(round.rate).min(rate),
                in_flight: times(cap, BETA).max(round.delivered).min(cap),
            });
        }
    }
    fn judge_growth(&mut self) {
        let up = self.phase == Phase::Up;
        if self.max_rate() < times(self.full.0, if up { UP_GROWTH } else { GROWTH }) {
            self.full.1 += 1;
            return;
        }
        self.full = (self.max_rate(), 0);
        if up {
            self.gain = UP_MORE;
        }
    }
    fn has_queue(&self, round: &Round) -> bool {
        let least = self.min_rtt.map_or(u64::MAX, |least| times((least + GRANULARITY).as_ps(), QUEUE));
        round.rtt.is_some_and(|rtt| rtt.as_ps() > least)
    }
    /// No packet of a round at a steady rate found the line without a queue: then what was delivered is what it carries
    /// now (or our part of it), whatever it carried before. If the queue is still there after that, it is not ours, or
    /// no queue: the way has become longer.
    fn slower(&mut self, sample: &Sample) {
        self.queues += 1;
        if self.queues > 2 {
            return self.enter(Phase::ProbeRtt);
        }
        if !sample.limited {
            self.rates = [sample.rate.as_bps().min(self.max_rate()); 2];
        }
        self.enter(Phase::Drain);
    }

    /// What may follow at any time.
    pub(super) fn step(&mut self, now: Time) {
        let in_flight = self.delivery.in_flight;
        match self.phase {
            Phase::Drain | Phase::Down if in_flight <= self.holds(STEADY) || self.rounds >= PLATEAU => {
                self.enter(Phase::Cruise)
            }
            Phase::Cruise if now >= self.probe_at => {
                self.bounds = None;
                self.enter(Phase::Refill);
            }
            Phase::Up if self.rounds >= 1 && in_flight > self.holds(self.gain) + 2 * self.packet => self.down(now),
            Phase::ProbeRtt => self.probe_rtt(now),
            _ => {}
        }
        let expired = now.since(self.min_rtt_at) >= MIN_RTT_WINDOW;
        if expired && !matches!(self.phase, Phase::Startup | Phase::ProbeRtt) {
            self.enter(Phase::ProbeRtt);
        }
    }
    /// Once no more is under way than is allowed, a round trip and 200 ms show how long the line is.
    fn probe_rtt(&mut self, now: Time) {
        match self.probe_rtt_until {
            None if self.in_flight() <= self.inflight_cap() => {
                let round_trip = self.round.rtt.or(self.min_rtt).unwrap_or_default();
                self.probe_rtt_until = Some(now + round_trip.max(PROBE_RTT_TIME));
                self.probe_rtt_least = None;
            }
            Some(until) if until <= now && self.probe_rtt_least.is_some() => {
                (self.min_rtt, self.min_rtt_at, self.queues) = (self.probe_rtt_least, now, 0);
                self.enter(Phase::Cruise);
            }
            _ => {}
        }
    }
    /// A probe for more has ended.
    fn down(&mut self, now: Time) {
        self.cycle(now);
        self.enter(Phase::Down);
    }
    fn cycle(&mut self, now: Time) {
        self.probed = true;
        // By lot, so that those who share a line do not probe together: the clock's picoseconds, mixed (SplitMix64).
        let mut lot = now.as_ps().wrapping_add(0x9e37_79b9_7f4a_7c15);
        lot = (lot ^ (lot >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        lot = (lot ^ (lot >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.probe_at = now + CYCLE + Span::from_ms((lot ^ (lot >> 31)) % 1000);
    }
    fn enter(&mut self, phase: Phase) {
        (self.phase, self.rounds) = (phase, 0);
        self.round.restart(self.delivery.delivered);
        self.gain = match phase {
            Phase::Startup => STARTUP,
            Phase::Drain => DRAIN,
            Phase::Down => DOWN,
            Phase::Up => UP,
            Phase::Cruise | Phase::Refill | Phase::ProbeRtt => STEADY,
        };
        match phase {
            Phase::Up => self.full = (self.max_rate(), 0),
            Phase::ProbeRtt => self.probe_rtt_until = None,
            _ => {}
        }
        if !matches!(phase, Phase::Refill | Phase::Up) {
            self.steady = 0;
        }
    }
    /// The first packet after all were answered. What is known stays: the line is found again as it was left.
    pub(super) fn wake_up(&mut self, now: Time) {
        if !matches!(self.phase, Phase::Startup | Phase::Cruise) {
            self.enter(Phase::Cruise);
            self.pace();
        }
        if now.since(self.min_rtt_at) >= MIN_RTT_WINDOW {
            self.min_rtt_at = now;
        }
    }
}
