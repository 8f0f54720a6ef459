//! The GCRA against the other formulation of the standard, the leaky bucket. ITU-T I.371 annex A.
#![allow(missing_docs)]

use cellway_net::Gcra;
use cellway_units::{CELL_BITS, Rate, Span, Time};
use proptest::prelude::*;

/// GCRA(T, L) as a continuous-state leaky bucket: the bucket loses one unit a unit of time, a conforming cell adds T, and a
/// cell conforms if it finds at most L.
struct LeakyBucket {
    rate: u128,
    limit: u128,
    /// The content right after the last conforming cell, in 10^-12 bit: the bucket loses `rate` of them in a picosecond.
    content: u128,
    last: Time,
}

impl LeakyBucket {
    const CELL: u128 = CELL_BITS.0 as u128 * 1_000_000_000_000;

    fn new(rate: Rate, limit: Span) -> LeakyBucket {
        LeakyBucket { rate: rate.as_bps().into(), limit: limit.as_ps().into(), content: 0, last: Time::ZERO }
    }

    fn conforms(&mut self, now: Time) -> bool {
        let content = self.content_at(now);
        let conforms = content / self.rate <= self.limit;
        if conforms {
            (self.content, self.last) = (content + LeakyBucket::CELL, now);
        }
        conforms
    }

    /// The bucket keeps its content as an amount of data, up to the most that conforming cells leave.
    fn set_rate(&mut self, now: Time, rate: Rate) {
        let content = self.content_at(now);
        self.rate = rate.as_bps().into();
        (self.content, self.last) = (content.min(self.limit * self.rate + LeakyBucket::CELL), now);
    }

    /// Returns the content at `now`; a bucket that has run empty drops the fraction of a picosecond.
    fn content_at(&self, now: Time) -> u128 {
        let drained = u128::from(now.since(self.last).as_ps());
        if drained > self.content / self.rate { 0 } else { self.content - drained * self.rate }
    }
}

/// A cell some time after the one before, or this many picoseconds from the boundary between early and conforming; or a
/// new rate.
#[derive(Clone, Debug)]
enum Event {
    Cell(u64),
    Edge(i8),
    Rate(u64, u64),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let gap = prop_oneof![Just(0), 0..10_u64, 0..5_000_000_u64, 0..500_000_000_u64];
    let event = prop_oneof![
        20 => gap.clone().prop_map(Event::Cell),
        20 => (-2..3_i8).prop_map(Event::Edge),
        1 => (gap, 1_000_000..600_000_000_u64).prop_map(|(gap, bps)| Event::Rate(gap, bps)),
    ];
    proptest::collection::vec(event, 1..400)
}

proptest! {
    /// ITU-T I.371 annex A: the two formulations give the same verdicts.
    #[test]
    fn virtual_scheduling_and_leaky_bucket_agree(
        bps in 1_000_000..600_000_000_u64,
        limit in prop_oneof![Just(0), 0..10_000_000_u64, 0..1_000_000_000_u64],
        events in events(),
    ) {
        let (rate, limit) = (Rate::from_bps(bps), Span::from_ps(limit));
        let (mut scheduling, mut bucket) = (Gcra::new(rate, limit), LeakyBucket::new(rate, limit));
        let mut now = Time::ZERO;
        for event in events {
            match event {
                Event::Cell(gap) => {
                    now += Span::from_ps(gap);
                    prop_assert_eq!(scheduling.conforms(now), bucket.conforms(now), "at {}", now);
                }
                Event::Edge(offset) => {
                    let edge = Time::from_ps(scheduling.earliest(now).as_ps().saturating_add_signed(offset.into()));
                    now = now.max(edge);
                    prop_assert_eq!(scheduling.conforms(now), bucket.conforms(now), "at {}", now);
                }
                Event::Rate(gap, bps) => {
                    now += Span::from_ps(gap);
                    scheduling.set_rate(now, Rate::from_bps(bps));
                    bucket.set_rate(now, Rate::from_bps(bps));
                }
            }
        }
    }
}
