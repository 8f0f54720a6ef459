//! Detects a configured rate that is above what the path carries, and sends more slowly until the queue is gone.
//!
//! A rate that is too high leaves two traces together: the round trip never falls back to its shortest, and the peer gets
//! less than is sent. Random loss leaves the second alone. A queue of the other direction, or of a competing flow that we
//! push aside, leaves the first alone; a stall or a short burst leaves both for less than two windows; a gateway whose
//! processor is too slow sends less, but what it sends arrives.

use cellway_units::{Bits, Rate, Span, Time};

use crate::delivery::rate_of;

/// A window lasts this many of the shortest round trips, and this time at least.
const WINDOW_TRIPS: u64 = 5;
const WINDOW: Span = Span::from_secs(1);
/// Consecutive windows that must show both traces.
const WINDOWS: u32 = 2;
/// Consecutive windows without them after which the configured rate counts as right.
const GOOD: u32 = 4;
/// Acknowledgements that a window must have.
const ANSWERS: u32 = 8;
/// A queue stands where no round trip of a window is nearer to the shortest than this and a sixteenth of it. Gateways that
/// wait for their processor, and up to 4 ms of packets that leave together, are below.
const QUEUE: Span = Span::from_ms(10);
/// A path that carries less than this of what is sent is too slow (per mille).
const CARRIED: u64 = 970;
/// The rate while a queue drains, and after that, of what the path carries (per mille).
const DRAIN: u64 = 750;
const FITS: u64 = 980;
/// A queue that has not drained after so many of the shortest round trips, and a second, is not ours.
const DRAIN_TRIPS: u64 = 20;
/// The least rate, as a part of what is configured: a competing flow could push us further and further down.
const LEAST_PART: u64 = 4;
/// How long the configured rate is not tried: doubled each time it is found too high soon after.
const PAUSE: Span = Span::from_secs(10);
const LONGEST_PAUSE: Span = Span::from_secs(300);
const SOON: Span = Span::from_secs(60);
/// The shortest round trip is of the last one to two of these.
const MEMORY: Span = Span::from_secs(300);

/// Returns `per_mille` thousandths of `n`.
fn part(n: u64, per_mille: u64) -> u64 {
    u64::try_from(u128::from(n) * u128::from(per_mille) / 1000).unwrap_or(u64::MAX)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// At the configured rate.
    Configured,
    /// Below what the path carries, until the queue is gone or this time has come.
    Drain { until: Time },
    /// At what the path carries, until the configured rate is tried again.
    Fits { until: Time },
}

/// What has been seen since `start`.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    start: Time,
    /// The shortest round trip.
    rtt: Option<Span>,
    /// Bits that left, and bits that arrived as the acknowledgements say.
    sent: u64,
    arrived: u64,
    answers: u32,
}

/// The guard of a configured rate.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// The configured rate (bit/s).
    configured: u64,
    /// Whether it changes the rate, or only reports.
    acts: bool,
    phase: Phase,
    /// The shortest round trip of the last [`MEMORY`] and of the time since it began.
    shortest: [Option<Span>; 2],
    remembers_since: Time,
    window: Window,
    /// Consecutive windows with both traces, and without.
    bad: u32,
    good: u32,
    /// What the path carries (bit/s), once the configured rate has been found too high.
    carries: Option<u64>,
    pause: Span,
    /// When the configured rate was tried again.
    tried: Option<Time>,
}

impl Guard {
    pub(crate) fn new(configured: Rate, acts: bool) -> Guard {
        Guard {
            configured: configured.as_bps(),
            acts,
            phase: Phase::Configured,
            shortest: [None; 2],
            remembers_since: Time::ZERO,
            window: Window::default(),
            bad: 0,
            good: 0,
            carries: None,
            pause: PAUSE,
            tried: None,
        }
    }
    /// Something else is configured: what was found before does not hold for it.
    pub(crate) fn configure(&mut self, now: Time, configured: Rate, acts: bool) {
        if (self.configured, self.acts) != (configured.as_bps(), acts) {
            let Guard { shortest, remembers_since, .. } = *self;
            *self = Guard { shortest, remembers_since, ..Guard::new(configured, acts) };
            self.window.start = now;
        }
    }
    /// Returns the rate at which to send.
    pub(crate) fn rate(&self) -> Rate {
        let carries = self.carries.unwrap_or(self.configured);
        Rate::from_bps(match self.phase {
            Phase::Configured => self.configured,
            Phase::Drain { .. } => part(carries, DRAIN).max(1),
            Phase::Fits { .. } => part(carries, FITS).max(1),
        })
    }
    /// Returns the rate that fits, while the configured one is too high.
    pub(crate) fn fits(&self) -> Option<Rate> {
        self.carries.map(|carries| Rate::from_bps(part(carries, FITS)))
    }

    /// A packet leaves that asks for an acknowledgement.
    pub(crate) fn sent(&mut self, bits: Bits) {
        self.window.sent += bits.0;
    }
    /// The peer has such a packet.
    pub(crate) fn acked(&mut self, bits: Bits) {
        self.window.arrived += bits.0;
    }
    /// An acknowledgement is complete; `rtt` is the round trip without the time for which the peer held it.
    pub(crate) fn learn(&mut self, now: Time, rtt: Span) {
        self.remember(now, rtt);
        self.window.rtt = Some(self.window.rtt.map_or(rtt, |least| least.min(rtt)));
        let Some(shortest) = self.shortest() else { return };
        self.window.answers += 1;
        match self.phase {
            Phase::Drain { until } => {
                let drained = rtt <= shortest + self.queue(shortest) / 2;
                if drained || now >= until {
                    self.enter(now, Phase::Fits { until: now + self.pause });
                }
                return;
            }
            Phase::Fits { until } if now >= until => {
                self.tried = Some(now);
                self.enter(now, Phase::Configured);
                return;
            }
            Phase::Configured | Phase::Fits { .. } => {}
        }
        if now >= self.window.start + (shortest * WINDOW_TRIPS).max(WINDOW) {
            self.judge(now, shortest);
        }
    }

    fn enter(&mut self, now: Time, phase: Phase) {
        (self.phase, self.bad, self.good) = (phase, 0, 0);
        self.window = Window { start: now, ..Window::default() };
    }
    fn remember(&mut self, now: Time, rtt: Span) {
        if now >= self.remembers_since + MEMORY {
            (self.shortest, self.remembers_since) = ([self.shortest[1], None], now);
        }
        self.shortest[1] = Some(self.shortest[1].map_or(rtt, |least| least.min(rtt)));
    }
    fn shortest(&self) -> Option<Span> {
        self.shortest.into_iter().flatten().min()
    }
    fn queue(&self, shortest: Span) -> Span {
        QUEUE.max(shortest / 16)
    }
    /// A window is over.
    fn judge(&mut self, now: Time, shortest: Span) {
        let fresh = Window { start: now, ..Window::default() };
        let Window { start, rtt, sent, arrived, answers } = std::mem::replace(&mut self.window, fresh);
        let rate = |bits| rate_of(bits, now - start).as_bps();
        if answers < ANSWERS || rate(sent) < self.rate().as_bps() / 2 {
            // Too little was sent to tell.
            self.bad = 0;
            return;
        }
        let stands = rtt.is_some_and(|rtt| rtt >= shortest + self.queue(shortest));
        if stands && arrived <= part(sent, CARRIED) {
            (self.bad, self.good) = (self.bad + 1, 0);
        } else {
            (self.bad, self.good) = (0, self.good + 1);
        }
        if self.bad >= WINDOWS {
            self.too_high(now, shortest, rate(arrived));
        } else if self.good >= GOOD && self.phase == Phase::Configured {
            self.carries = None;
        }
    }
    fn too_high(&mut self, now: Time, shortest: Span, carries: u64) {
        self.carries = Some(carries.max(self.configured / LEAST_PART));
        if !self.acts {
            return;
        }
        if self.phase == Phase::Configured {
            let again = self.tried.is_some_and(|tried| now <= tried + SOON);
            self.pause = if again { (self.pause * 2).min(LONGEST_PAUSE) } else { PAUSE };
        }
        self.enter(now, Phase::Drain { until: now + shortest * DRAIN_TRIPS + Span::from_secs(1) });
    }
}

#[cfg(test)]
mod tests;
