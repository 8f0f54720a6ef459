use cellway_spec::AredKeys;
use cellway_units::{Bits, Ecn, Probability, Rate, Span};

use super::*;
use crate::qdisc::QdiscCounters;
use crate::qdisc::testing::{limited, ms, packet, unlimited, xorshift};

/// The parameters of section 5 of the paper.
fn paper() -> Red {
    Red {
        min: QueueLength::Packets(5),
        max: QueueLength::Packets(15),
        max_p: chance("2 %"),
        weight: chance("0.2 %"),
        gentle: false,
        ecn: false,
        mean_packet: Bytes(500),
    }
}

fn chance(text: &str) -> Probability {
    text.parse().unwrap()
}

fn counters(red: &RedQueue) -> QdiscCounters {
    red.memory().counters()
}

fn red(red: Red, bits: impl FnMut() -> u64 + Clone + Send + Sync + 'static) -> RedQueue {
    RedQueue::new(unlimited(), red, Bytes(1500), Stream::new(bits))
}

/// Section 6.1 of the paper: after L arrivals at a queue that grows by one with each, from 0 packets, the average is
/// L + 1 + ((1 - w)^(L+1) - 1) / w; its figure 2 takes the queue before the arrival. For w = 0.001 and L = 100 the paper
/// gives 4.88.
#[test]
fn the_average_lags_a_growing_queue_as_the_paper_computes() {
    let mut red = red(Red { weight: chance("0.1 %"), ..paper() }, || u64::MAX);
    let line = Line::new(Rate::from_bps(8_000));
    for _ in 0..=100 {
        red.enqueue(&line, packet(Time::ZERO, 500, Ecn::NotEct), &mut Drops::new());
    }
    assert!((4.88..4.89).contains(&red.average), "{}", red.average);
}

/// The sum of all samples with their weights, computed from a list of them, against the average that is updated; the line
/// of 8 kbit/s takes 500 ms for a mean packet, and packets arrive while it sends and while it is idle.
#[test]
fn the_average_is_the_weighted_sum_of_all_samples() {
    let weight = 0.002;
    let (mut red, mut line) = (red(paper(), || u64::MAX), Line::new(Rate::from_bps(8_000)));
    let mut numbers = xorshift(7);
    let (mut now, mut samples) = (Time::ZERO, Vec::new());
    for _ in 0..3000 {
        now += Span::from_ms(numbers() % 1700);
        while line.free_at() <= now && red.len() > 0 {
            let at = line.free_at();
            let sent = red.dequeue(at, &mut Vec::new()).unwrap();
            line.send(at, Bits(u64::from(sent.octets) * 8), Span::ZERO);
        }
        let idle = if red.len() == 0 && now > line.free_at() { now - line.free_at() } else { Span::ZERO };
        samples.extend(std::iter::repeat_n(0.0, (idle.as_ps() / Span::from_ms(500).as_ps()) as usize));
        samples.push(f64::from(red.len()));
        red.enqueue(&line, packet(now, 500, Ecn::NotEct), &mut Drops::new());
        if line.free_at() <= now {
            red.dequeue(now, &mut Vec::new()).unwrap();
            line.send(now, Bits(4000), Span::ZERO);
        }
        let newest_first = samples.iter().rev().scan(1.0, |left, sample| {
            let part = weight * *left * sample;
            *left *= 1.0 - weight;
            Some(part)
        });
        let expected: f64 = newest_first.sum();
        assert!((red.average - expected).abs() < 1e-9 * expected.max(1.0), "{} and {expected}", red.average);
    }
    assert!(samples.len() > 3100 && red.average > 0.01, "{} {}", samples.len(), red.average);
}

/// By hand: with min 5, max 15 and max_p 0.02 the probability is 0 at 5, 0.01 at 10, nearly 0.02 below 15 and, if gentle,
/// 0.02 + 0.98 / 2 = 0.51 at 22.5; certain from 15 on, or from 30 on.
#[test]
fn the_probability_follows_the_control_law() {
    let at = |spec: Red, average: f64, octets: u32| {
        let mut red = red(spec, || 0);
        red.average = average;
        red.law(octets)
    };
    let plain = paper();
    let gentle = Red { gentle: true, ..plain };
    assert_eq!(at(plain, 4.999, 500), Law::Queue);
    assert_eq!(at(plain, 5.0, 500), Law::Probability(0.0));
    assert_eq!(at(plain, 10.0, 500), Law::Probability(0.01));
    assert_eq!(at(plain, 15.0, 500), Law::Drop);
    assert_eq!(at(gentle, 15.0, 500), Law::Probability(0.02));
    assert_eq!(at(gentle, 22.5, 500), Law::Probability(0.51));
    assert_eq!(at(gentle, 30.0, 500), Law::Drop);
    let bytes = Red { min: QueueLength::Bytes(Bytes(5000)), max: QueueLength::Bytes(Bytes(15_000)), ..plain };
    assert_eq!(at(bytes, 10_000.0, 1500), Law::Probability(0.01));
    assert_eq!(at(bytes, 10_000.0, 300), Law::Probability(0.01 * 0.2));
    assert_eq!(at(bytes, 10_000.0, 9000), Law::Probability(0.01));
}

/// Section 7 of the paper: at a constant average the number of packets from one drop to the next is uniform, here from 1
/// to 1 / p_b - 1, as figure 2 counts a packet before its draw. With p_b = 0.02 the mean is 25 and none is above 49;
/// independent draws would have a mean of 50 and no bound. Of 20,000 gaps the mean is within 0.4 (4 standard errors of
/// 14.1 / sqrt(20000)).
#[test]
fn gaps_between_drops_are_uniform() {
    let mut red = red(paper(), xorshift(3));
    red.count = Some(0);
    let (mut gaps, mut gap) = (vec![0u32; 51], 0);
    let mut drops = 0;
    while drops < 20_000 {
        gap += 1;
        if red.draw(0.02) {
            gaps[gap] += 1;
            (drops, gap) = (drops + 1, 0);
        }
    }
    let mean = gaps.iter().enumerate().map(|(gap, &n)| gap as f64 * f64::from(n)).sum::<f64>() / 20_000.0;
    assert!((mean - 25.0).abs() < 0.4, "{mean}");
    // 408 of each gap are expected, with a standard deviation of 20.
    assert!(gaps[1..50].iter().all(|&n| (308..508).contains(&n)) && gaps[50] == 0, "{gaps:?}");
}

/// A draw of 0 selects a packet whenever the probability is above 0: capable packets are marked and queued, others are
/// dropped; where the law drops, all are dropped.
#[test]
fn capable_packets_are_marked_and_others_dropped() {
    let line = Line::new(Rate::from_bps(8_000));
    for (ecn, expected) in [
        (Ecn::NotEct, (1, 0, 0)),
        (Ecn::Ect0, (0, 1, 1)),
        (Ecn::Ect1, (0, 1, 1)),
        // One that arrives marked stays so and is not counted again.
        (Ecn::Ce, (0, 0, 1)),
    ] {
        let mut red = red(Red { ecn: true, ..paper() }, || 0);
        red.average = 10.0;
        let mut drops = Drops::new();
        red.enqueue(&line, packet(ms(1), 500, ecn), &mut drops);
        let found = counters(&red);
        assert_eq!((found.early, found.marked, red.len()), expected, "{ecn:?}");
        assert_eq!(drops.len() as u64, found.early);
        red.average = 100.0;
        red.enqueue(&line, packet(ms(1), 500, ecn), &mut drops);
        assert_eq!(counters(&red).early, expected.0 + 1);
    }
    let mut without = red(paper(), || 0);
    without.average = 10.0;
    without.enqueue(&line, packet(ms(1), 500, Ecn::Ect0), &mut Drops::new());
    assert_eq!((counters(&without).early, without.len()), (1, 0), "marking is off");
}

/// The limit of the buffer is that of a FIFO, and a packet that it refuses is not counted as marked.
#[test]
fn the_limit_drops_what_does_not_fit() {
    let mut red = RedQueue::new(limited(1000), Red { ecn: true, ..paper() }, Bytes(1500), Stream::new(|| 0));
    let (line, mut drops) = (Line::new(Rate::from_bps(8_000)), Drops::new());
    for _ in 0..3 {
        red.average = 10.0;
        red.enqueue(&line, packet(ms(1), 500, Ecn::Ect0), &mut drops);
    }
    let found = counters(&red);
    assert_eq!((found.overlimit, found.early, found.marked, red.len(), drops.len()), (1, 0, 2, 2, 1));
}

/// An arrival that is dropped at an idle line ends the idle time that counts: with arrivals each 10 packet times, each
/// sample leaves 0.998^11 of the average.
#[test]
fn idle_time_counts_once() {
    let mut red = red(Red { gentle: true, ..paper() }, || u64::MAX);
    red.average = 40.0;
    let line = Line::new(Rate::from_bps(8_000));
    // From 40, 13 arrivals find at least 30, twice `max`: ln(40 / 30) / (11 x 0.002002) = 13.06.
    for arrival in 1..=13 {
        red.enqueue(&line, packet(ms(5000 * arrival), 500, Ecn::NotEct), &mut Drops::new());
        let expected = 40.0 * 0.998_f64.powi(11 * arrival as i32);
        assert!((red.average - expected).abs() < 1e-9, "{} and {expected}", red.average);
    }
    assert_eq!((counters(&red).early, red.len()), (13, 0));
}

/// At 10 Mbit/s 2500 packets of 500 B leave in a second: the target of 5 ms is that of 12.5 packets, of which `min` is half.
/// The weight is 1 - e^(-1/2500) = 1/2500 - 1/(2 x 2500^2) + ... On a slow line `min` is 5.
#[test]
fn adaptive_parameters_follow_from_the_rate() {
    let ared = AredKeys::NONE.resolve().unwrap();
    let at = |rate: &str| {
        RedQueue::adaptive(unlimited(), ared, Bytes(1500), rate.parse().unwrap(), Stream::new(|| 0)).parameters
    };
    let Parameters { min, max, weight, .. } = at("10 Mbit/s");
    assert_eq!((min, max), (6.25, 18.75));
    assert!((weight - 3.999_200_1e-4).abs() < 1e-11, "{weight}");
    assert_eq!(at("1 Mbit/s").min, 5.0);
}

/// By hand: max_p begins at 0.1. Each 500 ms it grows by 0.01 while the average is above 0.6 of the way from 6.25 to 18.75,
/// 13.75, and falls to 0.9 of itself while it is below 0.4 of it, 11.25, until it has left 0.01 to 0.5.
#[test]
fn the_probability_is_adapted_to_the_average() {
    let ared = AredKeys::NONE.resolve().unwrap();
    let rate = Rate::from_bps(10_000_000);
    let mut red = RedQueue::adaptive(unlimited(), ared, Bytes(1500), rate, Stream::new(|| 0));
    let mut max_p = |average: f64, at: u64| {
        (red.average, red.sampled) = (average, ms(at));
        red.adapt(ms(at), &Line::new(rate));
        red.parameters.max_p
    };
    assert_eq!(max_p(14.0, 499), 0.1);
    assert_eq!(max_p(14.0, 500), 0.11);
    assert_eq!(max_p(12.0, 1700), 0.11, "the average is where it is wanted");
    assert_eq!(max_p(11.0, 2000), 0.11 * 0.9);
    assert!((max_p(14.0, 100_000) - 0.509).abs() < 1e-12, "0.099 + 41 x 0.01");
    let low = max_p(0.0, 1_000_000);
    assert!((0.009..0.01).contains(&low), "{low}");
    // A quarter of a small probability is less than 0.01.
    assert_eq!(max_p(14.0, 1_000_500), low * 1.25);
}

/// An average of 14 packets falls to a part of itself within 0.1 s of an idle line of 10 Mbit/s: (1 - 1/2500)^250 = 0.905 in
/// that time, and to below 11.25 in 0.22 s. Only the updates after that see it, and lower max_p.
#[test]
fn updates_while_the_line_is_idle_see_the_average_fall() {
    let ared = AredKeys::NONE.resolve().unwrap();
    let rate = Rate::from_bps(10_000_000);
    let mut red = RedQueue::adaptive(unlimited(), ared, Bytes(1500), rate, Stream::new(|| u64::MAX));
    (red.average, red.sampled) = (14.0, ms(400));
    red.adapt(ms(30_000), &Line::new(rate));
    // At 500 ms the average is 12.7, where it is wanted; then 0.1 falls by 0.9 each until it is below 0.01.
    assert!((0.009..0.01).contains(&red.parameters.max_p), "{}", red.parameters.max_p);
}
