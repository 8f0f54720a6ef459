//! Rising delay in Startup, after HyStart++ (RFC 9406): where round trips have become longer since the round before, a
//! conservative slow start follows, in which what is in flight grows by a half in each round instead of doubling. It ends
//! Startup by the same rules, with less in the queue.

use cellway_units::{Span, Time};

use super::shorter;

/// RFC 9406, section 4.3: `N_RTT_SAMPLE`, `MIN_RTT_THRESH`, `MAX_RTT_THRESH`, `MIN_RTT_DIVISOR`.
const SAMPLES: u32 = 8;
const LEAST: Span = Span::from_ms(4);
const MOST: Span = Span::from_ms(16);
const DIVISOR: u64 = 8;
/// Samples are taken together for at least this part of the round trip: packets of one pass of a thread are one sample.
const WINDOWS: u64 = 16;

/// The round trips of Startup. RFC 9406 compares the shortest of a whole round, in which a queue shows a round too late
/// where rounds begin without one; here the shortest of some samples in a row is compared with the round before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Startup {
    /// The window: its begin, its samples and the shortest of them.
    window: Option<(Time, u32, Span)>,
    /// The shortest round trip of this round, of the last one and of the first one.
    current: Option<Span>,
    last: Option<Span>,
    first: Option<Span>,
    slow: Option<Slow>,
}

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Slow {
    /// The round trip that began it, and the least that would have.
    rtt: Span,
    queue: Span,
    /// Set if a window of this round has a queue.
    seen: bool,
}

impl Startup {
    /// In conservative slow start, the round trip that began it.
    pub(super) fn slow(&self) -> Option<Span> {
        self.slow.map(|slow| slow.rtt)
    }
    /// The shortest round trip of the first round: others may have filled the queue since the path was shorter.
    pub(super) fn first(&self) -> Option<Span> {
        self.first
    }
    /// Takes a sample; `shortest` is the shortest round trip of the path.
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
    /// A round has ended. If no window of it has shown a queue, the delay was none of ours.
    pub(super) fn end_round(&mut self) {
        self.last = self.current.take().or(self.last);
        self.first = self.first.or(self.last);
        self.slow = self.slow.filter(|slow| slow.seen).map(|slow| Slow { seen: false, ..slow });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round on a path of 100 ms with one sample a millisecond.
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
        // In the second half of a round, too, but not for single packets.
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
