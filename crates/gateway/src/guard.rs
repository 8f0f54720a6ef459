//! Detects a configured rate above the bandwidth of the path, and reduces the sending rate until the queue has drained.
//!
//! A rate that is too high has two signs together: the round-trip time stays above its minimum, and less is delivered
//! than is sent. Random loss has only the second. A longer route, a queue in the other direction that lasts, or a
//! competing flow that backs off, has only the first. A stall or a short burst has both for less than two windows. A
//! gateway whose processor is too slow sends less, but all of it is delivered.
//!
//! Loss and a longer round trip of different causes can coincide. The loss rate of windows without a queue is random
//! loss, and is subtracted. A queue of our own drains when less is sent; if it does not, it is that of other traffic
//! (foreign), and its round-trip time counts as the minimum until the next check.

use cellway_units::{Bits, Rate, Span, Time};
use serde::{Deserialize, Serialize};

use cellway_delivery::{rate_of, times};

/// A window lasts this many minimum round-trip times, and at least [`WINDOW`].
const WINDOW_TRIPS: u64 = 5;
const WINDOW: Span = Span::from_secs(1);
/// Consecutive windows that must show both signs.
const WINDOWS: u32 = 2;
/// Consecutive windows without them after which the configured rate counts as right.
const GOOD: u32 = 4;
/// Acknowledgements that a window must have.
const ANSWERS: u32 = 8;
/// A window has a standing queue if all its round trips exceed the minimum by this, or by a sixteenth of it if that is
/// more. Scheduling delays of gateways, and packets sent together (up to 4 ms), are below it.
const QUEUE: Span = Span::from_ms(10);
/// The rate is too high if less than this share of what is sent is delivered, random loss subtracted (per mille).
const CARRIED: u64 = 970;
/// The sending rate while the queue drains, as a share of the bandwidth (per mille).
const DRAIN: u64 = 750;
/// The sending rate after that, as a share of the bandwidth (per mille).
const FITS: u64 = 980;
/// A queue counts as foreign if it has not drained after twice the time that it takes at [`DRAIN`], this many minimum
/// round-trip times, and 1 s.
const DRAIN_TRIPS: u64 = 8;
const DRAIN_QUEUES: u64 = 2 * 1000 / (1000 - DRAIN);
/// The configured rate divided by this is the lower bound of the rate: a competing flow could reduce it step by step.
const LEAST_PART: u64 = 4;
/// The time until a finding is checked again; doubled each time when it recurs within [`SOON`] of a check.
const PAUSE: Span = Span::from_secs(10);
const LONGEST_PAUSE: Span = Span::from_secs(300);
const SOON: Span = Span::from_secs(60);
/// The minimum round-trip time is that of the last one to two of these periods; time with a finding does not count.
const MEMORY: Span = Span::from_secs(300);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Phase {
    /// At the configured rate.
    Configured,
    /// Below the bandwidth of the path, until the queue has drained or until this time.
    Drain { until: Time },
    /// At the rate that fits, until the configured rate is tried again.
    Fits { since: Time, until: Time },
}

/// The measurements since `start`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Window {
    start: Time,
    /// The shortest and the longest round trip.
    rtt: Option<(Span, Span)>,
    /// Bits that were sent, acknowledged, and declared lost.
    sent: u64,
    arrived: u64,
    lost: u64,
    answers: u32,
}

/// The rate of random loss: bits lost and all bits of windows without a queue. Each window halves the weight of those
/// before it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Loss {
    lost: u64,
    all: u64,
}

impl Loss {
    fn add(&mut self, window: &Window) {
        self.lost = self.lost / 2 + window.lost;
        self.all = self.all / 2 + window.lost + window.arrived;
    }
    /// Returns the number of bits that arrive of `n` bits sent.
    fn leaves(&self, n: u64) -> u64 {
        scale(n, self.all - self.lost, self.all)
    }
    /// Returns the number of bits sent of which `n` arrive.
    fn before(&self, n: u64) -> u64 {
        scale(n, self.all, self.all - self.lost)
    }
}

/// Returns `n * by / of`, or `n` if either is 0.
fn scale(n: u64, by: u64, of: u64) -> u64 {
    if by == 0 || of == 0 {
        return n;
    }
    u64::try_from(u128::from(n) * u128::from(by) / u128::from(of)).unwrap_or(u64::MAX)
}

/// The guard of a configured rate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Guard {
    /// The configured rate (bit/s).
    configured: u64,
    /// True if it changes the rate, false if it only reports.
    acts: bool,
    phase: Phase,
    /// The shortest round trip of the last [`MEMORY`] and of the time since it began.
    shortest: [Option<Span>; 2],
    remembers_since: Time,
    /// The shortest round trip with a foreign queue, and the time of the next check.
    foreign: Option<(Span, Time)>,
    loss: Loss,
    window: Window,
    /// Consecutive windows with both signs, and without.
    bad: u32,
    good: u32,
    /// The bandwidth of the path (bit/s), while the configured rate counts as too high.
    carries: Option<u64>,
    pause: Span,
    /// The time of the last check of a finding.
    checked: Option<Time>,
}

impl Guard {
    pub(crate) fn new(configured: Rate, acts: bool) -> Guard {
        Guard {
            configured: configured.as_bps(),
            acts,
            phase: Phase::Configured,
            shortest: [None; 2],
            remembers_since: Time::ZERO,
            foreign: None,
            loss: Loss::default(),
            window: Window::default(),
            bad: 0,
            good: 0,
            carries: None,
            pause: PAUSE,
            checked: None,
        }
    }
    /// Applies a new configuration. Findings do not hold for it and are dropped.
    pub(crate) fn configure(&mut self, now: Time, configured: Rate, acts: bool) {
        if (self.configured, self.acts) != (configured.as_bps(), acts) {
            let Guard { shortest, remembers_since, loss, .. } = *self;
            *self = Guard { shortest, remembers_since, loss, ..Guard::new(configured, acts) };
            self.window.start = now;
        }
    }
    /// Returns the rate at which to send.
    pub(crate) fn rate(&self) -> Rate {
        let carries = self.carries.unwrap_or(self.configured);
        Rate::from_bps(match self.phase {
            Phase::Configured => self.configured,
            Phase::Drain { .. } => times(carries, DRAIN).max(1),
            Phase::Fits { .. } => times(carries, FITS).max(1),
        })
    }
    /// Returns the rate that fits, while the configured one is too high.
    pub(crate) fn fits(&self) -> Option<Rate> {
        self.carries.map(|carries| Rate::from_bps(times(carries, FITS)))
    }

    /// An ack-eliciting packet is sent.
    pub(crate) fn sent(&mut self, bits: Bits) {
        self.window.sent += bits.0;
    }
    /// An ack-eliciting packet is acknowledged.
    pub(crate) fn acked(&mut self, bits: Bits) {
        self.window.arrived += bits.0;
    }
    /// An ack-eliciting packet is declared lost.
    pub(crate) fn lost(&mut self, bits: Bits) {
        self.window.lost += bits.0;
    }
    /// A packet that was declared lost is acknowledged late.
    pub(crate) fn acked_late(&mut self, bits: Bits) {
        self.window.arrived += bits.0;
        self.window.lost = self.window.lost.saturating_sub(bits.0);
    }
    /// An acknowledgement is complete; `rtt` is the round trip without the time for which the peer held it.
    pub(crate) fn learn(&mut self, now: Time, rtt: Span) {
        self.remember(now, rtt);
        self.window.rtt = Some(self.window.rtt.map_or((rtt, rtt), |(least, most)| (least.min(rtt), most.max(rtt))));
        let Some(shortest) = self.shortest() else { return };
        self.window.answers += 1;
        match self.phase {
            Phase::Drain { .. } if rtt <= shortest + queue(shortest) / 2 => {
                self.enter(now, Phase::Fits { since: now, until: now + self.pause });
                return;
            }
            Phase::Drain { until } => {
                if now >= until {
                    // The rate was reduced for long enough, and the queue has not drained: it is foreign.
                    let least = self.window.rtt.map_or(rtt, |(least, _)| least);
                    (self.foreign, self.carries) = (Some((least, now + self.pause)), None);
                    self.enter(now, Phase::Configured);
                }
                return;
            }
            Phase::Fits { until, .. } if now >= until => return self.check(now),
            Phase::Configured | Phase::Fits { .. } => {}
        }
        if now >= self.window.start + (shortest * WINDOW_TRIPS).max(WINDOW) {
            self.judge(now, shortest);
        }
    }

    /// Returns the bits of this window that were sent, acknowledged and declared lost.
    #[cfg(test)]
    pub(crate) fn seen(&self) -> [u64; 3] {
        [self.window.sent, self.window.arrived, self.window.lost]
    }

    fn enter(&mut self, now: Time, phase: Phase) {
        (self.phase, self.bad, self.good) = (phase, 0, 0);
        self.window = Window { start: now, ..Window::default() };
    }
    /// Drops the findings, and measures again at the configured rate.
    fn check(&mut self, now: Time) {
        (self.checked, self.foreign) = (Some(now), None);
        self.enter(now, Phase::Configured);
    }
    fn remember(&mut self, now: Time, rtt: Span) {
        // While there is a queue, ours or foreign, no sample may be near the minimum for long.
        let finding = self.carries.is_some() || self.foreign.is_some();
        if now >= self.remembers_since + MEMORY && !finding {
            (self.shortest, self.remembers_since) = ([self.shortest[1], None], now);
        }
        self.shortest[1] = Some(self.shortest[1].map_or(rtt, |least| least.min(rtt)));
        self.foreign = self.foreign.map(|(least, until)| (least.min(rtt), until));
    }
    fn shortest(&self) -> Option<Span> {
        let own = self.shortest.into_iter().flatten().min();
        self.foreign.map(|(least, _)| least).or(own)
    }
    /// A window is over.
    fn judge(&mut self, now: Time, shortest: Span) {
        let fresh = Window { start: now, ..Window::default() };
        let window = std::mem::replace(&mut self.window, fresh);
        let Some((least, most)) = window.rtt else { return };
        let rate = |bits| rate_of(bits, now - window.start).as_bps();
        if self.foreign.is_some_and(|(_, until)| now >= until) {
            return self.check(now);
        }
        if window.answers < ANSWERS || rate(window.sent) < self.rate().as_bps() / 2 {
            // Too little was sent to judge.
            self.bad = 0;
            return;
        }
        let stands = shortest + queue(shortest);
        if most < stands && self.foreign.is_none() {
            self.loss.add(&window);
        }
        if least >= stands && window.arrived <= times(self.loss.leaves(window.sent), CARRIED) {
            (self.bad, self.good) = (self.bad + 1, 0);
        } else {
            (self.bad, self.good) = (0, self.good + 1);
        }
        if self.bad >= WINDOWS {
            self.too_high(now, shortest, least, rate(window.arrived));
        } else if self.good >= GOOD && self.phase == Phase::Configured {
            self.carries = None;
        }
    }
    /// Reacts to a rate that is too high: `arrives` bit/s are delivered, and no round trip is shorter than `rtt`.
    fn too_high(&mut self, now: Time, shortest: Span, rtt: Span, arrives: u64) {
        if let Phase::Fits { since, .. } = self.phase {
            // Below the configured rate a competing flow gets more, so each measurement here would be lower than the
            // last.
            if now >= since + PAUSE {
                self.check(now);
            }
            return;
        }
        let carries = self.loss.before(arrives).min(self.configured);
        self.carries = Some(carries.max(self.configured / LEAST_PART));
        if !self.acts {
            return;
        }
        let again = self.checked.is_some_and(|checked| now <= checked + SOON);
        self.pause = if again { (self.pause * 2).min(LONGEST_PAUSE) } else { PAUSE };
        let drains = rtt.saturating_sub(shortest) * DRAIN_QUEUES + shortest * DRAIN_TRIPS + Span::from_secs(1);
        self.enter(now, Phase::Drain { until: now + drains });
    }
}

/// Returns the excess over the minimum round-trip time from which a round trip shows a queue.
fn queue(shortest: Span) -> Span {
    QUEUE.max(shortest / 16)
}

#[cfg(test)]
mod path;
#[cfg(test)]
mod tests;
