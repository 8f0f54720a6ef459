use cellway_spec::DualPi2Keys;
use cellway_units::Probability;

use super::*;
use crate::qdisc::testing::{limited, ms, packet, unlimited, xorshift};

fn spec() -> DualPi2 {
    DualPi2Keys::NONE.resolve().unwrap()
}

/// Queues before a fast line, for which the threshold is that of the parameters.
fn queue(spec: DualPi2, memory: Memory) -> DualPi2Queue {
    DualPi2Queue::new(memory, spec, Bytes(1500), Rate::from_bps(1_000_000_000), Stream::new(xorshift(11)))
}

fn line() -> Line {
    Line::new(Rate::from_bps(8))
}

/// By hand: with a target of 15 ms and a round trip of 100 ms an update is due each 15 ms, with gains of 0.1 x 0.015 / 0.1^2
/// = 0.15 and 0.3 / 0.1 = 3. A packet waits from 10 ms on, so that the waits at the updates are 5, 20 and 35 ms.
#[test]
fn the_base_probability_follows_the_controller() {
    let mut controller = Controller::new(spec());
    let mut base = |now: u64, oldest: Option<u64>| {
        controller.update(ms(now), oldest.map(ms));
        (controller.base, controller.coupled())
    };
    let close = |(base, coupled): (f64, f64), expected: f64| {
        assert!((base - expected).abs() < 1e-12, "{base} and {expected}");
        assert!((coupled - 2.0 * expected).abs() < 1e-12, "k = 2");
    };
    close(base(14, Some(10)), 0.0);
    // 0.15 x (5 - 15) ms + 3 x 5 ms.
    let first = 0.0135;
    close(base(15, Some(10)), first);
    let second = first + 0.15 * 0.005 + 3.0 * 0.015;
    close(base(44, Some(10)), second);
    close(base(45, Some(10)), second + 0.15 * 0.020 + 3.0 * 0.015);
    // Without packets the wait is 0: it has fallen by 35 ms.
    close(base(60, None), (second + 0.048 - 0.15 * 0.015 - 3.0 * 0.035).max(0.0));
}

/// Updates that are made late give what each gives at its time, in particular when the probability has reached its limit.
#[test]
fn late_updates_are_the_same_updates() {
    for overload in [Overload::Drop, Overload::Mark] {
        let spec = DualPi2 { overload, ..spec() };
        let (mut late, mut each) = (Controller::new(spec), Controller::new(spec));
        for (until, oldest) in
            [(4000, Some(3)), (4020, Some(3990)), (9000, None), (20_000, Some(9000)), (20_050, Some(20_049))]
        {
            late.update(ms(until), oldest.map(ms));
            (0..=until).for_each(|now| each.update(ms(now), oldest.map(ms)));
            assert_eq!(late.base, each.base, "{until}");
        }
    }
}

/// Of 100,000 packets for each case, with the base probability 0.2: 0.4 of the low-latency queue are marked, and 0.04 of the
/// classic one, or dropped if they cannot be. The bounds are 4 standard deviations.
#[test]
fn the_probabilities_are_coupled() {
    let outcome = |base: f64, ecn: Ecn, overload: Overload| {
        let mut queue = queue(DualPi2 { overload, target: Span::from_ms(3_600_000), ..spec() }, unlimited());
        let mut drops = Drops::new();
        queue.controller.base = base;
        let mut sent = 0;
        while sent + drops.len() < 100_000 {
            // More than two packets wait, below which none is dropped or marked.
            while queue.memory.packets() < 30 {
                queue.enqueue(&line(), packet(Time::ZERO, 1500, ecn), &mut drops);
            }
            sent += usize::from(queue.dequeue(Time::ZERO, &mut drops).is_some());
        }
        [drops.len() as f64 / 1e5, queue.memory.counters().marked as f64 / 1e5]
    };
    let is = |found: [f64; 2], dropped: f64, marked: f64| {
        for (found, expected) in found.into_iter().zip([dropped, marked]) {
            let deviation = (expected * (1.0 - expected) / 1e5).sqrt();
            assert!((found - expected).abs() <= 4.0 * deviation, "{found} for {expected}");
        }
    };
    for overload in [Overload::Drop, Overload::Mark] {
        is(outcome(0.2, Ecn::Ect1, overload), 0.0, 0.4);
        is(outcome(0.2, Ecn::Ect0, overload), 0.0, 0.04);
        is(outcome(0.2, Ecn::NotEct, overload), 0.04, 0.0);
    }
    // From a base of 1/k on all packets of the low-latency queue are marked, which is not enough.
    is(outcome(0.6, Ecn::Ect1, Overload::Drop), 0.36, 0.64);
    is(outcome(0.6, Ecn::Ect0, Overload::Drop), 0.36, 0.0);
    is(outcome(0.5, Ecn::Ect1, Overload::Mark), 0.0, 1.0);
    is(outcome(0.5, Ecn::Ect0, Overload::Mark), 0.0, 0.25);
}

#[test]
fn the_low_latency_queue_marks_by_its_own_wait() {
    let probability =
        |marks: LowLatencyMarks, us: u64| queue(DualPi2 { marks, ..spec() }, unlimited()).native(Span::from_us(us));
    assert_eq!([1000, 1001].map(|us| probability(LowLatencyMarks::Step, us)), [0.0, 1.0]);
    assert_eq!([1000, 1250, 2000, 9000].map(|us| probability(LowLatencyMarks::Ramp, us)), [0.0, 0.25, 1.0, 1.0]);
    // At 1 Mbit/s a packet of 1500 B takes 12 ms.
    let slow = DualPi2Queue::new(unlimited(), spec(), Bytes(1500), Rate::from_bps(1_000_000), Stream::new(|| 0));
    assert_eq!(slow.threshold, Span::from_ms(12));
}

/// Both queues always have packets, of 1500 and of 500 octets. The classic queue has its share of the octets, to a packet.
#[test]
fn the_classic_queue_has_its_share() {
    for share in ["10 %", "50 %", "0.1 %"] {
        let share: Probability = share.parse().unwrap();
        let mut queue = queue(DualPi2 { classic_share: share, ..spec() }, unlimited());
        let mut sent = [0.0; 2];
        for _ in 0..40_000 {
            while queue.classic.len() < 2 || queue.low.len() < 2 {
                queue.enqueue(&line(), packet(Time::ZERO, 1500, Ecn::Ect1), &mut Drops::new());
                queue.enqueue(&line(), packet(Time::ZERO, 500, Ecn::NotEct), &mut Drops::new());
            }
            let taken = queue.dequeue(Time::ZERO, &mut Drops::new()).unwrap();
            sent[usize::from(taken.ecn == Ecn::Ect1)] += f64::from(taken.octets);
        }
        let all: f64 = sent.iter().sum();
        // The first packets are all of the low-latency queue.
        assert!((sent[0] - share.as_f64() * all).abs() <= 3000.0, "{sent:?}");
    }
}

#[test]
fn the_queues_have_one_limit_and_one_order_each() {
    let mut queue = queue(spec(), limited(3000));
    let mut drops = Drops::new();
    for (ecn, octets) in [(Ecn::NotEct, 1000), (Ecn::Ect1, 500), (Ecn::Ce, 500), (Ecn::Ect0, 1000), (Ecn::Ect1, 1)] {
        queue.enqueue(&line(), packet(Time::ZERO, octets, ecn), &mut drops);
    }
    assert_eq!((drops.len(), queue.memory.counters().overlimit, queue.low.len(), queue.classic.len()), (1, 1, 2, 2));
    let order = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut drops)).map(|sent| sent.ecn);
    // The packets of the low-latency queue go before the classic queue is behind its share.
    assert_eq!(order.collect::<Vec<_>>(), [Ecn::Ect1, Ecn::Ce, Ecn::NotEct, Ecn::Ect0]);
    assert_eq!(queue.memory.buffer().used(), 0);
}

/// A share of 10 % counts what is sent: with a base probability of 0.45 a fifth of the classic packets are dropped, and their
/// queue still has its share of the line.
#[test]
fn drops_do_not_count_against_the_share() {
    let mut queue = queue(DualPi2 { target: Span::from_ms(3_600_000), ..spec() }, unlimited());
    queue.controller.base = 0.45;
    let mut sent = [0.0; 2];
    for _ in 0..40_000 {
        while queue.classic.len() < 4 || queue.low.len() < 4 {
            queue.enqueue(&line(), packet(Time::ZERO, 1500, Ecn::Ect1), &mut Drops::new());
            queue.enqueue(&line(), packet(Time::ZERO, 1500, Ecn::NotEct), &mut Drops::new());
        }
        let taken = queue.dequeue(Time::ZERO, &mut Drops::new()).unwrap();
        sent[usize::from(taken.ecn == Ecn::Ect1)] += f64::from(taken.octets);
    }
    assert!((sent[0] / (sent[0] + sent[1]) - 0.1).abs() < 0.001, "{sent:?}");
}

/// A single packet at an idle line is neither dropped nor marked, whatever the probability was before.
#[test]
fn a_short_queue_loses_nothing() {
    let mut queue = queue(DualPi2 { target: Span::from_ms(3_600_000), ..spec() }, unlimited());
    queue.controller.base = 0.9;
    for ecn in [Ecn::NotEct, Ecn::Ect1] {
        for _ in 0..1000 {
            queue.enqueue(&line(), packet(Time::ZERO, 1400, ecn), &mut Drops::new());
            let sent = queue.dequeue(Time::ZERO, &mut Drops::new()).expect("it is not dropped");
            assert!(!sent.marked);
        }
    }
}
