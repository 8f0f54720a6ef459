//! Classes divide the rate: shares, ceilings, and the rest that a class leaves to the others.
#![allow(clippy::unwrap_used)]

#[allow(unreachable_pub, dead_code, reason = "shared with other tests")]
mod common;

use std::num::NonZeroU16;

use cellway_gateway::{Class, Classes, FlowId, GatewayConfig, Window};
use cellway_units::{Bits, Bytes, Rate, Span, Time};
use common::bulk::{self, CEILING, reader, sender, transfers};
use common::host::Plan;
use common::pair::{FlowPlan, Line, Pair};

const MBPS: u64 = 1_000_000;
/// The first port of a class: flows of class n have the port `PORT + n`.
const PORT: u16 = 1000;

fn at(seconds: u64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}
fn config(mbps: u64) -> GatewayConfig {
    bulk::config(Rate::from_bps(mbps * MBPS), false)
}
/// Returns classes with shares and ceilings (bit/s).
fn classes(shares: &[(u16, Option<u64>)]) -> Classes {
    let class = |(n, &(share, ceiling)): (usize, &(u16, Option<u64>))| Class {
        ports: vec![PORT + n as u16..=PORT + n as u16],
        share: NonZeroU16::new(share).unwrap(),
        ceiling: ceiling.map(Rate::from_bps),
        ..Class::new(&n.to_string())
    };
    Classes::new(shares.iter().enumerate().map(class).collect()).unwrap()
}

/// Bulk transfers in classes, from the host behind `from` to the one behind the other gateway.
struct Bulk {
    pair: Pair,
    from: usize,
    /// The flows of each class.
    flows: Vec<Vec<FlowId>>,
}

impl Bulk {
    fn new(
        configs: [GatewayConfig; 2],
        line: Line,
        shares: &[(u16, Option<u64>)],
        flows: &[usize],
        from: usize,
    ) -> Bulk {
        let hosts = if from == 0 { [sender(), reader()] } else { [reader(), sender()] };
        Bulk::of(configs, line, shares, &flows.iter().map(|&count| vec![hosts; count]).collect::<Vec<_>>(), from)
    }
    fn of(
        configs: [GatewayConfig; 2],
        line: Line,
        shares: &[(u16, Option<u64>)],
        hosts: &[Vec<[Plan; 2]>],
        from: usize,
    ) -> Bulk {
        let mut names = (0..).map(|n| FlowId(2 * n));
        let flows: Vec<Vec<FlowId>> = hosts.iter().map(|hosts| names.by_ref().take(hosts.len()).collect()).collect();
        let mut pair = transfers(configs, line, &hosts.concat());
        for (n, flows) in flows.iter().enumerate() {
            pair.ports.extend(flows.iter().map(|&flow| (flow, PORT + n as u16)));
        }
        [0, 1].into_iter().for_each(|side| pair.set_classes(side, classes(shares)));
        Bulk { pair, from, flows }
    }
    /// Returns the bits that the sending gateway has put on the link, for each class and in all.
    fn line(&self) -> (Vec<u64>, u64) {
        let gateway = &self.pair.gateways[self.from];
        let each = gateway.classes().take(self.flows.len()).map(|(_, stats)| stats.line.0).collect();
        (each, gateway.stats().line.0)
    }
    /// Returns the rate of each class from now up to `until` (bit/s), and that of the link.
    fn rates(&mut self, until: Time) -> (Vec<f64>, f64) {
        let (begin, before) = (self.pair.now, self.line());
        self.pair.run(until);
        let (after, seconds) = (self.line(), (until.since(begin)).as_secs_f64());
        let rate = |after: u64, before: u64| (after - before) as f64 / seconds;
        (after.0.iter().zip(&before.0).map(|(&after, &before)| rate(after, before)).collect(), rate(after.1, before.1))
    }
    /// Returns the part of each class in the bits that all classes send from `from` to `until` (s).
    fn shares(&mut self, from: u64, until: u64) -> Vec<f64> {
        self.pair.run(at(from));
        let (rates, _) = self.rates(at(until));
        let all: f64 = rates.iter().sum();
        rates.iter().map(|rate| rate / all).collect()
    }
}

fn is_near(shares: &[f64], expected: &[f64], tolerance: f64) {
    let near = shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() <= tolerance);
    assert!(near, "{shares:.4?}, expected {expected:.4?}");
}

/// The link is full, and a class of one connection gets its share next to one of 64: also if the windows of 64
/// connections together are more than the link needs (5 Mbit/s: their least windows are ten bandwidth-delay products).
#[test]
fn a_class_of_one_connection_gets_its_share_next_to_one_of_64() {
    for (mbps, round_trip, loss_per_mille) in [(30, 175, 0), (5, 100, 0), (100, 600, 0), (30, 175, 10)] {
        for (shares, part) in [([1, 1], 0.5), ([1, 3], 0.75), ([3, 1], 0.25)] {
            let from = usize::from(part == 0.5);
            let line = Line { loss_per_mille, losses: u32::MAX, ..Line::good(Span::from_ms(round_trip) / 2) };
            let mut bulk = Bulk::new([config(mbps); 2], line, &shares.map(|share| (share, None)), &[64, 1], from);
            bulk.pair.run(at(8));
            let read = |bulk: &Bulk| {
                let of = |flow: &FlowId| bulk.pair.host(1 - from, *flow).read;
                [0, 1].map(|class| bulk.flows[class].iter().map(of).sum::<u64>() as f64)
            };
            let before = read(&bulk);
            is_near(&bulk.shares(8, 18), &[1.0 - part, part], 0.005);
            let [many, one] = read(&bulk);
            let (many, one) = (many - before[0], one - before[1]);
            // Bytes that arrive wait for lost ones before them.
            let tolerance = if loss_per_mille > 0 { 0.02 } else { 0.005 };
            is_near(&[one / (many + one)], &[part], tolerance);
            let (_, all) = bulk.rates(at(19));
            assert!(all >= 0.995 * (mbps * MBPS) as f64, "{mbps} {round_trip} {loss_per_mille}: {all}");
        }
    }
}

/// Each direction has classes of its own, which may differ.
#[test]
fn both_directions_are_shared_at_once() {
    let hosts = [[sender(), reader()], [reader(), sender()]].map(|hosts| vec![hosts; 9]).concat();
    let mut pair = transfers([config(30); 2], Line::good(Span::from_ms(50)), &hosts);
    // Eight and one in each direction.
    pair.ports.extend((0..18).map(|n| (FlowId(2 * n), PORT + u16::from(n % 9 == 8))));
    pair.set_classes(0, classes(&[(1, None), (1, None)]));
    pair.set_classes(1, classes(&[(1, None), (4, Some(9 * MBPS))]));
    pair.run(at(12));
    let line =
        |side: usize| pair.gateways[side].classes().take(2).map(|(_, stats)| stats.line.0 as f64).collect::<Vec<_>>();
    let part = [line(0), line(1)].map(|line| line[1] / line.iter().sum::<f64>());
    // The ceiling of the second binds.
    is_near(&part, &[0.5, 9.0 / 30.0], 0.01);
}

/// A ceiling holds whether others send or not, and they get the rest; so does the ceiling of a class below one packet
/// per second.
#[test]
fn a_ceiling_holds_and_the_others_get_the_rest() {
    for (ceiling, tolerance) in [(3 * MBPS, 0.01), (14_900_000, 0.01), (20 * MBPS, 0.01), (8_000, 0.15)] {
        for others in [0, 8] {
            let mut bulk = Bulk::new(
                [config(30); 2],
                Line::good(Span::from_ms(50)),
                &[(1, None), (1, Some(ceiling))],
                &[others, 3],
                0,
            );
            bulk.pair.run(at(5));
            let (rates, all) = bulk.rates(at(35));
            let bound = (ceiling as f64).min(if others > 0 { 15e6 } else { 30e6 });
            assert!((rates[1] / bound - 1.0).abs() <= tolerance, "{ceiling} {others}: {rates:?}");
            assert!(rates[1] <= ceiling as f64 + 3.0 * 11_200.0 / 30.0, "{ceiling} {others}: {rates:?}");
            assert!(others == 0 || all >= 0.995 * 30e6, "{ceiling} {others}: {rates:?} of {all}");
            let held = bulk.pair.gateways[0].classes().nth(1).unwrap().1.at_ceiling.as_secs_f64();
            // It waits for its ceiling nearly always, or for its share.
            assert!(
                (held > 30.0) == (bound > 0.0 && ceiling as f64 <= bound && ceiling < 14 * MBPS),
                "{ceiling} {others}: {held}"
            );
        }
    }
}

/// A class that pauses leaves the link to the others, and has its share from its first packet on when it returns.
#[test]
fn a_class_is_added_and_removed() {
    let comes_and_goes = Plan { pause: (5 << 20, 3_000), ..sender() };
    let hosts = [vec![[sender(), reader()]; 16], vec![[comes_and_goes, reader()]]];
    let mut bulk = Bulk::of([config(30); 2], Line::good(Span::from_ms(40)), &[(1, None), (1, None)], &hosts, 0);
    bulk.pair.run(at(3));
    let (mut half, mut none, mut all) = (0, 0, 0);
    for tenth in 31..=230 {
        let (rates, line) = bulk.rates(Time::ZERO + Span::from_ms(100 * tenth));
        assert!(line >= 0.97 * 30e6, "{tenth}: {line}");
        let part = rates[1] / (rates[0] + rates[1]);
        (half, none, all) = (half + u32::from((part - 0.5).abs() < 0.03), none + u32::from(part < 0.01), all + 1);
    }
    assert!(half >= all * 4 / 10 && none >= all * 4 / 10 && half + none >= all * 9 / 10, "{half} {none} of {all}");
}

/// The rate is estimated, or the guard has reduced it: the shares are those of the sending rate.
#[test]
fn shares_are_of_the_rate_that_is_sent() {
    let queue = Some((Rate::from_bps(20 * MBPS), Bits(20 * MBPS / 10)));
    let line = Line { queue, ..Line::good(Span::from_ms(40)) };
    let guarded = GatewayConfig { guard: cellway_gateway::GuardMode::Acts, ..config(30) };
    for config in [bulk::config(CEILING, true), guarded] {
        let mut bulk = Bulk::new([config; 2], line, &[(1, None), (3, None), (3, Some(2 * MBPS))], &[32, 1, 4], 0);
        bulk.pair.run(at(20));
        let (rates, all) = bulk.rates(at(30));
        let rest = all - rates[2];
        assert!((0.8..=1.01).contains(&(all / 20e6)), "{all}");
        is_near(&rates.iter().map(|rate| rate / rest).collect::<Vec<_>>()[..2], &[0.25, 0.75], 0.02);
        assert!((rates[2] / 2e6 - 1.0).abs() <= 0.02, "{rates:?}");
    }
}

/// Classes change while connections are open: with the first packet after that the new shares hold, and counters continue.
#[test]
fn classes_change_while_connections_are_open() {
    let mut bulk = Bulk::new([config(30); 2], Line::good(Span::from_ms(40)), &[(1, None), (1, None)], &[8, 1], 0);
    is_near(&bulk.shares(4, 8), &[0.5, 0.5], 0.005);
    let (before, _) = bulk.line();
    bulk.pair.set_classes(0, classes(&[(1, None), (4, None)]));
    // Counters continue: the difference since then is a packet at most.
    let sent: Vec<u64> =
        bulk.line().0.iter().zip(&before).map(|(after, before)| after.checked_sub(*before).unwrap()).collect();
    assert!(sent.iter().sum::<u64>() <= 8 * 1_500, "{sent:?}");
    is_near(&bulk.shares(8, 12), &[0.2, 0.8], 0.005);
    bulk.pair.set_classes(0, classes(&[(1, Some(MBPS)), (1, Some(2 * MBPS))]));
    let (rates, _) = bulk.rates(at(16));
    assert!((rates[0] / 1e6 - 1.0).abs() < 0.02 && (rates[1] / 2e6 - 1.0).abs() < 0.02, "{rates:?}");
    // Without classes all flows take turns, as before there were any.
    bulk.pair.set_classes(0, Classes::default());
    bulk.pair.run(at(20));
    let (all, line) = (bulk.pair.gateways[0].stats(), bulk.pair.gateways[0].classes().next().unwrap().1);
    assert_eq!(line.flows, 9);
    let before = bulk.pair.host(1, bulk.flows[1][0]).read;
    let total = bulk::read(&bulk.pair, 1, 9);
    bulk.pair.run(at(24));
    let part =
        (bulk.pair.host(1, bulk.flows[1][0]).read - before) as f64 / (bulk::read(&bulk.pair, 1, 9) - total) as f64;
    assert!((part - 1.0 / 9.0).abs() < 0.01, "{part}");
    assert!(all.data_bytes > line.data_bytes, "the counters of a class that is gone are gone");
}

/// A peer that answers is responsive, however slowly a class may send, and whatever is lost.
#[test]
fn a_class_far_below_one_packet_in_a_probe_timeout_makes_no_peer_unresponsive() {
    let config = GatewayConfig { patience: Some(Span::from_secs(1)), ..config(30) };
    let line = Line { loss_per_mille: 200, losses: u32::MAX, ..Line::good(Span::from_ms(10)) };
    let mut bulk = Bulk::new([config; 2], line, &[(1, Some(4_000))], &[2], 0);
    let mut stalls = 0;
    for step in 1..=12_000 {
        bulk.pair.run(Time::ZERO + Span::from_ms(10 * step));
        stalls += u32::from(bulk.pair.gateways[0].is_unresponsive());
    }
    let (sent, _) = bulk.line();
    // Probes leave above the ceiling and count against it.
    assert!((100 * 4_000..=120 * 4_000 + 8 * 11_200).contains(&sent[0]), "{sent:?}");
    assert_eq!(stalls, 0);
}

/// A peer that does not answer is unresponsive although the class with packets in flight is at its ceiling:
/// retransmissions of a probe do not wait for that.
#[test]
fn probes_do_not_wait_for_a_ceiling() {
    let config = GatewayConfig { patience: Some(Span::from_secs(1)), ..config(30) };
    let line = Line { outage: Some((at(20), at(40))), ..Line::good(Span::from_ms(10)) };
    let mut bulk = Bulk::new([config; 2], line, &[(1, Some(4_000))], &[2], 0);
    for tenth in 1..=600 {
        bulk.pair.run(Time::ZERO + Span::from_ms(100 * tenth));
        // A packet leaves every 2.8 s.
        match tenth {
            250..400 => assert!(bulk.pair.gateways[0].is_unresponsive(), "{tenth}"),
            0..200 | 450.. => assert!(!bulk.pair.gateways[0].is_unresponsive(), "{tenth}"),
            _ => {}
        }
    }
}

/// The peer's hosts reset connections whose data wait for the ceiling of their class. Later connections do not wait for
/// the slots that these had.
#[test]
fn flows_that_end_at_a_ceiling_do_not_delay_others() {
    let config = GatewayConfig { window: Window::Fixed(Bytes(1 << 20)), ..config(100_000) };
    let resets = Plan { sends: 1, resets_after: Some(20), ..Plan::sender(100) };
    let flow = |start: u64, hosts| FlowPlan {
        opener: 0,
        start: Time::ZERO + Span::from_ms(start),
        refuse: false,
        early: false,
        hosts,
    };
    let mut plans = vec![flow(0, [sender(), reader()])];
    plans.extend((1..500).map(|n| flow(100 + n, [sender(), resets])));
    plans.push(flow(2_000, [sender(), reader()]));
    let mut pair = Pair::new([config; 2], Line::good(Span::from_ms(5)), &plans, 1);
    pair.late = Span::from_us(500);
    pair.ports.extend((0..=500).map(|n| (FlowId(2 * n), PORT)));
    pair.set_classes(0, classes(&[(1, Some(MBPS))]));
    pair.run(Time::ZERO + Span::from_ms(1_999));
    assert_eq!(pair.gateways[0].stats().flows, 1);
    pair.run(Time::ZERO + Span::from_ms(2_080));
    assert!(pair.host(1, FlowId(1_000)).written > 0, "a packet takes 11 ms at the ceiling");
}

/// Returns weighted max-min fair shares of `all` with ceilings, by bisection of the rate of a share of one: independent
/// of how the gateway schedules.
fn max_min(all: f64, shares: &[(u16, Option<u64>)]) -> Vec<f64> {
    let at_level = |level: f64| -> Vec<f64> {
        shares
            .iter()
            .map(|&(share, ceiling)| (f64::from(share) * level).min(ceiling.map_or(f64::MAX, |c| c as f64)))
            .collect()
    };
    let (mut low, mut high) = (0.0, all);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if at_level(middle).iter().sum::<f64>() > all { high = middle } else { low = middle }
    }
    at_level(low)
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(32))]
    #[test]
    fn classes_get_weighted_max_min_fair_shares(
        drawn in proptest::collection::vec((1u16..=8, proptest::option::of(20_000u64..16_000_000), 1usize..=6), 2..=5),
        round_trip in 5u64..=80,
        from in 0usize..=1,
    ) {
        let shares: Vec<_> = drawn.iter().map(|&(share, ceiling, _)| (share, ceiling)).collect();
        let flows: Vec<_> = drawn.iter().map(|&(.., flows)| flows).collect();
        let mut bulk = Bulk::new([config(20); 2], Line::good(Span::from_ms(round_trip) / 2), &shares, &flows, from);
        bulk.pair.run(at(3));
        let (rates, _) = bulk.rates(at(9));
        // Acknowledgements and control frames take some thousandths of the link, and an unfinished packet of each
        // class.
        for (rate, fair) in rates.iter().zip(max_min(20e6, &shares)) {
            proptest::prop_assert!((rate - fair).abs() <= 0.004 * 20e6, "{shares:?} {flows:?}: {rates:?}, fair {fair}");
        }
    }
}
