//! Detects a configured rate that is above what the path carries, and sends more slowly until the queue is gone.
//!
//! A rate that is too high leaves two traces together: the round trip never falls back to its shortest, and the peer gets
//! less than is sent. Random loss leaves the second alone. A queue of the other direction, a longer route, or a competing
//! flow that we push aside, leaves the first alone; a stall or a short burst leaves both for less than two windows; a
//! gateway whose processor is too slow sends less, but what it sends arrives.
//!
//! Where loss and a longer round trip of different causes come together, two things tell them from an overload. The loss
//! that windows without any queue have is random, and is subtracted. And a queue of ours drains when less is sent: one that
//! does not is not ours, and its round trip counts as the shortest until that is checked again.

use cellway_units::{Bits, Rate, Span, Time};

use crate::delivery::{rate_of, times};

/// A window lasts this many of the shortest round trips, and this time at least.
const WINDOW_TRIPS: u64 = 5;
const WINDOW: Span = Span::from_secs(1);
/// Consecutive windows that must show both traces.
const WINDOWS: u32 = 2;
/// Consecutive windows without them after which the configured rate counts as right.
const GOOD: u32 = 4;
/// Acknowledgements that a window must have.
const ANSWERS: u32 = 8;
/// A queue stands where no round trip of a window is nearer to the shortest than this, or a sixteenth of it if that is more.
/// Gateways that wait for their processor, and up to 4 ms of packets that leave together, are below.
const QUEUE: Span = Span::from_ms(10);
/// A path that carries less than this of what is sent, random loss subtracted, is too slow (per mille).
const CARRIED: u64 = 970;
/// The rate while a queue drains, and after that, of what the path carries (per mille).
const DRAIN: u64 = 750;
const FITS: u64 = 980;
/// A queue is not ours that has not drained after twice the time that its length takes at [`DRAIN`], so many of the shortest
/// round trips, and a second.
const DRAIN_QUEUES: u64 = 2 * 1000 / (1000 - DRAIN);
const DRAIN_TRIPS: u64 = 8;
/// The least rate, as a part of what is configured: a competing flow could push us further and further down.
const LEAST_PART: u64 = 4;
/// How long a finding is not checked again: doubled each time it is found again soon after.
const PAUSE: Span = Span::from_secs(10);
const LONGEST_PAUSE: Span = Span::from_secs(300);
const SOON: Span = Span::from_secs(60);
/// The shortest round trip is of the last one to two of these, findings not counted.
const MEMORY: Span = Span::from_secs(300);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// At the configured rate.
    Configured,
    /// Below what the path carries, until the queue is gone or this time has come.
    Drain { until: Time },
    /// At what the path carries, until the configured rate is tried again.
    Fits { since: Time, until: Time },
}

/// What has been seen since `start`.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    start: Time,
    /// The shortest and the longest round trip.
    rtt: Option<(Span, Span)>,
    /// Bits that left, and bits that arrived or were lost as the acknowledgements say.
    sent: u64,
    arrived: u64,
    lost: u64,
    answers: u32,
}

/// The share of random loss: what windows without a queue have lost, and all that they have sent (bits). Each window halves
/// the weight of those before it.
#[derive(Clone, Copy, Debug, Default)]
struct Loss {
    lost: u64,
    all: u64,
}

impl Loss {
    fn add(&mut self, window: &Window) {
        self.lost = self.lost / 2 + window.lost;
        self.all = self.all / 2 + window.lost + window.arrived;
    }
    /// Returns what is left of `n` bits.
    fn leaves(&self, n: u64) -> u64 {
        scale(n, self.all - self.lost, self.all)
    }
    /// Returns what was sent, of which `n` are left.
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
    /// The shortest round trip with a queue that is not ours, and when that is checked again.
    foreign: Option<(Span, Time)>,
    loss: Loss,
    window: Window,
    /// Consecutive windows with both traces, and without.
    bad: u32,
    good: u32,
    /// What the path carries (bit/s), once the configured rate has been found too high.
    carries: Option<u64>,
    pause: Span,
    /// When a finding was checked again.
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
    /// Something else is configured: what was found before does not hold for it.
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

    /// A packet leaves that asks for an acknowledgement.
    pub(crate) fn sent(&mut self, bits: Bits) {
        self.window.sent += bits.0;
    }
    /// The peer has such a packet.
    pub(crate) fn acked(&mut self, bits: Bits) {
        self.window.arrived += bits.0;
    }
    /// Such a packet was taken for lost.
    pub(crate) fn lost(&mut self, bits: Bits) {
        self.window.lost += bits.0;
    }
    /// A packet that was taken for lost has come after all.
    pub(crate) fn came_late(&mut self, bits: Bits) {
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
                    // Less was sent for long enough, and the queue stands: it is not ours.
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

    /// Returns the bits of this window that left, arrived and were lost.
    #[cfg(test)]
    pub(crate) fn seen(&self) -> [u64; 3] {
        [self.window.sent, self.window.arrived, self.window.lost]
    }

    fn enter(&mut self, now: Time, phase: Phase) {
        (self.phase, self.bad, self.good) = (phase, 0, 0);
        self.window = Window { start: now, ..Window::default() };
    }
    /// What was found is found out anew, at the configured rate.
    fn check(&mut self, now: Time) {
        (self.checked, self.foreign) = (Some(now), None);
        self.enter(now, Phase::Configured);
    }
    fn remember(&mut self, now: Time, rtt: Span) {
        // While there is a queue, ours or not, the shortest may not be seen for long.
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
            // Too little was sent to tell.
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
    /// Less arrives than is sent, `arrives` in a second, and no round trip is shorter than `rtt`.
    fn too_high(&mut self, now: Time, shortest: Span, rtt: Span, arrives: u64) {
        if let Phase::Fits { since, .. } = self.phase {
            // At less than the configured rate a competing flow gets more, so that each look here would find less.
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

/// Returns how much longer than the shortest round trip one with a queue is.
fn queue(shortest: Span) -> Span {
    QUEUE.max(shortest / 16)
}

#[cfg(test)]
mod path;
#[cfg(test)]
mod tests;
