//! Detection of rising delay in Startup, after HyStart++ (RFC 9406). When round trips become longer than in the round
//! before, conservative slow start begins: data in flight grows by a half in each round instead of doubling. Startup
//! ends by the same rules, with a shorter queue.

use cellway_units::{Span, Time};
use serde::{Deserialize, Serialize};

use super::shorter;

/// RFC 9406, section 4.3: `N_RTT_SAMPLE`, `MIN_RTT_THRESH`, `MAX_RTT_THRESH`, `MIN_RTT_DIVISOR`.
const SAMPLES: u32 = 8;
const LEAST: Span = Span::from_ms(4);
const MOST: Span = Span::from_ms(16);
const DIVISOR: u64 = 8;
/// A window of samples lasts at least the round-trip time divided by this, as packets sent in one batch make one
/// sample.
const WINDOWS: u64 = 16;

/// The round-trip times of Startup. RFC 9406 compares the minima of whole rounds, which shows a queue one round late if
/// the round begins without it; here the minimum of a window of samples is compared with the round before.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Startup {
    /// The window: its start, the number of samples and the shortest of them.
    window: Option<(Time, u32, Span)>,
    /// The shortest round trip of this round, of the last one and of the first one.
    current: Option<Span>,
    last: Option<Span>,
    first: Option<Span>,
    slow: Option<Slow>,
}

/// Conservative slow start.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Slow {
    /// The round-trip time that began it, and the threshold.
    rtt: Span,
    queue: Span,
    /// Set if a window of this round has reached the threshold.
    seen: bool,
}

impl Startup {
    /// Returns the round-trip time that began conservative slow start, while it lasts.
    pub(super) fn slow(&self) -> Option<Span> {
        self.slow.map(|slow| slow.rtt)
    }
    /// Returns the shortest round trip of the first round. It can exceed the minimum of the path if competing flows
    /// fill the queue.
    pub(super) fn first(&self) -> Option<Span> {
        self.first
    }
    /// Adds the sample `rtt`; `shortest` is the shortest round trip of the path.
    pub(super) fn sample(&mut self, now: Time, rtt: Span, shortest: Span) {
        self.current = Some(shorter(self.current, rtt));
        let (start, samples, least) = self.window.map_or((now, 1, rtt), |(at, n, least)| (at, n + 1, least.min(rtt)));
        self.window = Some((start, samples, least));
        if samples < SAMPLES || now.since(start) < shortest / WINDOWS {
            return;
        }
        self.window = None;
        if let Some(slow) = &mut self.slow {
            slow.seen |= least >= slow.queue;
            return;
        }
        let Some(last) = self.last else { return };
        let queue = last + (last / DIVISOR).max(LEAST).min(MOST);
        self.slow = (least >= queue).then_some(Slow { rtt: least, queue, seen: true });
    }
    /// Ends a round. If none of its windows has reached the threshold, slow start resumes, as the delay was not our
    /// queue.
    pub(super) fn end_round(&mut self) {
        self.last = self.current.take().or(self.last);
        self.first = self.first.or(self.last);
        self.slow = self.slow.filter(|slow| slow.seen).map(|slow| Slow { seen: false, ..slow });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a round on a path of 100 ms, with one sample per millisecond.
    fn round(startup: &mut Startup, ms: impl Fn(u64) -> u64) {
        for n in 0..64 {
            startup.sample(Time::ZERO + Span::from_ms(n), Span::from_ms(ms(n)), Span::from_ms(100));
        }
        startup.end_round();
    }

    #[test]
    fn rising_round_trips_begin_a_conservative_slow_start() {
        // By an eighth, at least 4 ms and at most 16 ms.
        for (before, after) in [(600, 616), (96, 108), (10, 14)] {
            for (rtt, slow) in [(after - 1, None), (after, Some(Span::from_ms(after)))] {
                let mut startup = Startup { last: Some(Span::from_ms(before)), ..Startup::default() };
                round(&mut startup, |_| rtt);
                assert_eq!(startup.slow(), slow, "{before} {rtt}");
            }
        }
        // Also in the second half of a round, but not for single packets.
        let mut startup = Startup::default();
        round(&mut startup, |_| 100);
        round(&mut startup, |n| if n % 5 == 0 { 100 } else { 150 });
        assert_eq!(startup.slow(), None);
        round(&mut startup, |n| if n < 32 { 100 } else { 113 });
        assert_eq!(startup.slow(), Some(Span::from_ms(113)));
    }

    #[test]
    fn it_ends_with_a_round_without_delay() {
        let mut startup = Startup::default();
        round(&mut startup, |_| 130);
        assert_eq!((startup.slow(), startup.first()), (None, Some(Span::from_ms(130))));
        round(&mut startup, |_| 100);
        for _ in 0..3 {
            round(&mut startup, |n| if n < 32 { 100 } else { 130 });
            assert!(startup.slow().is_some());
        }
        round(&mut startup, |_| 105);
        assert_eq!(startup.slow(), None);
    }
}
