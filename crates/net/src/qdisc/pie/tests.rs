use cellway_spec::PieKeys;
use cellway_units::{Ecn, Rate};

use super::*;
use crate::qdisc::testing::{limited, ms, packet, unlimited, xorshift};

fn pie() -> Pie {
    PieKeys::NONE.resolve().unwrap()
}

fn queue(pie: Pie, bits: impl FnMut() -> u64 + Clone + Send + Sync + 'static) -> PieQueue {
    PieQueue::new(unlimited(), pie, Bytes(1500), Stream::new(bits))
}

fn state(probability: f64, delay: u64, before: u64) -> State {
    State { probability, delay: Span::from_ms(delay), delay_before: Span::from_ms(before), burst: Span::ZERO }
}

/// By hand, with the gains 0.125 and 1.25 and a target of 15 ms.
#[test]
fn the_probability_follows_the_control_law() {
    let next =
        |probability: f64, delay: u64, before: u64| state(probability, delay, before).updated(&pie()).probability;
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} and {expected}");
    // 0.125 x 10 ms + 1.25 x 25 ms, and that by the divisor of the probability before.
    for (before, divisor) in
        [(0.0, 2048.0), (2e-6, 512.0), (2e-5, 128.0), (2e-4, 32.0), (2e-3, 8.0), (2e-2, 2.0), (0.2, 1.0)]
    {
        close(next(before, 25, 0), before + if divisor > 1.0 { 0.0325 / divisor } else { 0.02 });
    }
    // Below the target and falling: 0.125 x -5 ms + 1.25 x -10 ms.
    close(next(0.5, 10, 20), 0.5 - 0.000_625 - 0.0125);
    assert_eq!(next(1e-7, 10, 20), 0.0);
    // The step is limited from 0.1 on; the result is a probability.
    close(next(0.3, 1000, 0), 0.32);
    assert_eq!(next(0.99, 1000, 0), 1.0);
    // Nothing waits: 0.125 x -15 ms, and 0.98 of what is left.
    close(next(0.5, 0, 0), (0.5 - 0.001_875) * 0.98);
}

/// Lets a packet arrive each ms from `from` on for `count` ms, at a queue of 10 packets in which all wait for `wait`;
/// returns the numbers of those that are dropped.
fn overload(queue: &mut PieQueue, from: u64, count: u64, wait: u64) -> Vec<u64> {
    let (line, mut dropped) = (Line::new(Rate::from_bps(8)), Vec::new());
    while queue.len() < 10 {
        queue.queue.enqueue(&line, packet(ms(from.saturating_sub(wait)), 1500, Ecn::NotEct), &mut Drops::new());
    }
    for now in from..from + count {
        let mut drops = Drops::new();
        queue.enqueue(&line, packet(ms(now), 1500, Ecn::NotEct), &mut drops);
        if drops.is_empty() {
            queue.dequeue(ms(now), &mut drops).unwrap();
        } else {
            dropped.push(now);
        }
        queue.state.delay = Span::from_ms(wait);
    }
    dropped
}

/// The burst of 150 ms ends with the tenth update. The probability is 1.6e-5 after the first and would select packets from
/// then on with draws of 0, once the sum of probabilities allows it.
#[test]
fn a_burst_is_let_pass() {
    let mut queue = queue(pie(), || 0);
    let dropped = overload(&mut queue, 0, 2000, 100);
    let first = *dropped.first().expect("the wait stays above the target");
    assert!(first >= 150, "{first}");
    assert!(queue.state.burst.is_zero());
    // A queue that is short again has its whole burst again.
    while queue.dequeue(ms(2000), &mut Drops::new()).is_some() {}
    queue.update(ms(60_000));
    assert_eq!(queue.state, State { burst: pie().burst, ..state(0.0, 0, 0) });
}

/// RFC 8033 section 5.4: between two drops the sum of the probabilities is at least 0.85, and less than 8.5 by more than one.
/// With a probability of 0.1 that is from 9 to 85 packets. From the ninth on each is drawn with 0.1, so that the mean is 9 +
/// 9 = 18.
#[test]
fn drops_keep_their_distance() {
    let mut queue = queue(pie(), xorshift(9));
    (0..10).for_each(|_| {
        queue.queue.enqueue(&Line::new(Rate::from_bps(8)), packet(ms(0), 1500, Ecn::NotEct), &mut Drops::new())
    });
    queue.state = state(0.1, 50, 50);
    let (mut gaps, mut gap) = (Vec::new(), 0);
    while gaps.len() < 10_000 {
        gap += 1;
        if queue.selects() {
            gaps.push(gap);
            gap = 0;
        }
    }
    assert_eq!(gaps.iter().min(), Some(&9));
    assert!(*gaps.iter().max().unwrap() <= 86);
    // The standard deviation of a gap is 9.5, that of the mean 0.095.
    let mean = f64::from(gaps.iter().sum::<u32>()) / 10_000.0;
    assert!((mean - 18.0).abs() < 0.4, "{mean}");
}

#[test]
fn short_queues_and_short_waits_lose_nothing() {
    let line = Line::new(Rate::from_bps(8));
    let selects = |octets: u32, probability: f64, before: u64| {
        let mut queue = queue(pie(), || 0);
        queue.queue.enqueue(&line, packet(ms(0), octets, Ecn::NotEct), &mut Drops::new());
        (queue.state, queue.accumulated) = (state(probability, before, before), 1.0);
        queue.selects()
    };
    assert!(selects(3001, 0.3, 50));
    assert!(!selects(3000, 0.3, 50), "two packets");
    assert!(!selects(3001, 0.19, 7), "a wait of less than half the target");
    assert!(selects(3001, 0.2, 7) && selects(3001, 0.19, 8));
}

/// A full buffer drops what arrives, whatever the draw, and begins the sum of probabilities again.
#[test]
fn the_limit_drops_what_does_not_fit() {
    let mut queue = PieQueue::new(limited(9000), Pie { ecn: true, ..pie() }, Bytes(1500), Stream::new(|| 0));
    let line = Line::new(Rate::from_bps(8));
    queue.queue.enqueue(&line, packet(ms(0), 9000, Ecn::NotEct), &mut Drops::new());
    (queue.state, queue.accumulated) = (state(0.05, 50, 50), 1.0);
    queue.enqueue(&line, packet(ms(1), 1500, Ecn::Ect0), &mut Drops::new());
    let counters = queue.memory().counters();
    assert_eq!((counters.overlimit, counters.early, counters.marked, queue.accumulated), (1, 0, 0, 0.0));
}

#[test]
fn flows_with_ecn_are_marked_while_the_probability_is_small() {
    for (probability, ecn, dropped) in [(0.09, Ecn::Ect0, 0), (0.09, Ecn::NotEct, 1), (0.1, Ecn::Ect0, 1)] {
        let mut queue = queue(Pie { ecn: true, ..pie() }, || 0);
        let line = Line::new(Rate::from_bps(8));
        queue.queue.enqueue(&line, packet(ms(0), 9000, Ecn::NotEct), &mut Drops::new());
        (queue.state, queue.accumulated) = (state(probability, 50, 50), 1.0);
        queue.enqueue(&line, packet(ms(1), 1500, ecn), &mut Drops::new());
        let counters = queue.memory().counters();
        assert_eq!((counters.early, counters.marked), (dropped, 1 - dropped), "{probability} {ecn:?}");
    }
}

/// Updates that are made late, all at once, give what each gives at its time.
#[test]
fn late_updates_are_the_same_updates() {
    for (probability, delay) in [(0.7, 0), (0.2, 20), (0.0, 0), (0.9, 400), (0.3, 15)] {
        let start = state(probability, delay, 10);
        let (mut late, mut each) = (queue(pie(), || 0), start);
        late.state = start;
        late.update(ms(120_000));
        (0..120_000 / 15).for_each(|_| each = each.updated(&pie()));
        assert_eq!(late.state, each, "{probability} {delay}");
        let mut due = 0;
        late.updates.run(ms(120_015), |_| {
            due += 1;
            true
        });
        assert_eq!(due, 1);
    }
}
