//! The performance of a pair of gateways: rate, window, fairness, back pressure, recovery. The link is that of Kato et
//! al. 1997: 30 Mbit/s of cells, a round trip of 175 ms (sections 3 and 4.2).
#![allow(clippy::unwrap_used)]

#[allow(unreachable_pub, dead_code, reason = "shared with other tests")]
mod common;

use std::collections::BTreeMap;

use cellway_gateway::{FlowId, Frame, GatewayConfig, Window};
use cellway_units::{Bytes, Rate, Span, Time};
use common::host::Plan;
use common::pair::{FlowPlan, Line, Pair};

const RATE: u64 = 30_000_000;
const ROUND_TRIP: Span = Span::from_ms(175);
/// A packet of 8192 B is at most 8235 octets and takes 172 cells.
const PAYLOAD_SHARE: f64 = 8192.0 * 8.0 / (172.0 * 424.0);

/// In ten seconds one packet more than the rate can be counted.
const MOST: f64 = 1.0 + 172.0 * 424.0 / (10.0 * RATE as f64);

fn config(window: u64) -> GatewayConfig {
    GatewayConfig { window: Window::Fixed(Bytes(window)), ..GatewayConfig::new(Rate::from_bps(RATE)) }
}
fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}
fn pair(window: u64, line: Line, flows: &[[Plan; 2]]) -> Pair {
    let plan = |&hosts: &[Plan; 2]| FlowPlan { opener: 0, start: Time::ZERO, refuse: false, early: false, hosts };
    let flows: Vec<_> = flows.iter().map(plan).collect();
    Pair::new([config(window); 2], line, &flows, 1)
}
fn line() -> Line {
    Line::good(ROUND_TRIP / 2)
}
/// Returns a sender without end and its reader.
fn endless() -> [Plan; 2] {
    [Plan::sender(1 << 40), Plan { waits_for_peer: true, ..Plan::sender(0) }]
}
/// Returns the bytes read at the far side from 2 s to 12 s, in bit/s, of all flows.
fn goodput(pair: &mut Pair, flows: u64) -> f64 {
    let read = |pair: &Pair| (0..flows).map(|n| pair.host(1, FlowId(2 * n)).read).sum::<u64>();
    pair.run(at(2_000));
    let before = read(pair);
    pair.run(at(12_000));
    (read(pair) - before) as f64 * 8.0 / 10.0
}

#[test]
fn a_large_window_fills_the_line() {
    let mut pair = pair(1 << 20, line(), &[endless()]);
    let share = goodput(&mut pair, 1) / (RATE as f64 * PAYLOAD_SHARE);
    // Acknowledgements of credits fit into the last cell of packets.
    assert!((0.99..=MOST).contains(&share), "{share}");
    assert_eq!(pair.gateways[0].stats().packets_lost, 0);
    let acknowledgements = pair.gateways[1].stats().packets_sent as f64 / pair.gateways[0].stats().packets_sent as f64;
    assert!(acknowledgements <= 0.51, "{acknowledgements}");
}

#[test]
fn a_gateway_that_is_called_late_fills_the_link_within_its_slack() {
    let shares = [0, 2].map(|slack| {
        let flows = [FlowPlan { opener: 0, start: Time::ZERO, refuse: false, early: false, hosts: endless() }];
        let config = GatewayConfig { slack: Span::from_ms(slack), ..config(1 << 20) };
        let mut pair = Pair::new([config; 2], line(), &flows, 1);
        pair.late = Span::from_ms(1);
        goodput(&mut pair, 1) / (RATE as f64 * PAYLOAD_SHARE)
    });
    // A packet takes 2.4 ms; without slack each leaves a millisecond later.
    assert!(shares[0] < 0.75 && (0.99..=MOST).contains(&shares[1]), "{shares:?}");
}

#[test]
fn both_directions_fill_their_lines_and_acknowledgements_get_through() {
    let both = Plan::sender(1 << 40);
    let mut pair = pair(1 << 20, line(), &[[both, both]]);
    let there = goodput(&mut pair, 1) / (RATE as f64 * PAYLOAD_SHARE);
    // An acknowledgement and a credit take one cell more in every second packet of 172 cells.
    assert!((1.0 - 2.0 / 172.0..=MOST).contains(&there), "{there}");
    let back = pair.host(0, FlowId(0)).read as f64 / pair.host(1, FlowId(0)).read as f64;
    assert!((0.99..=1.01).contains(&back), "{back}");
    assert!(pair.gateways.iter().all(|g| g.stats().packets_lost == 0));
}

#[test]
fn a_small_window_gives_one_window_a_round_trip() {
    let window = 256 << 10;
    let rate = goodput(&mut pair(window, line(), &[endless()]), 1);
    let bits = (window * 8) as f64;
    // A byte's credit returns after a round trip, at most one packet more (every second one has credit) and a tick of
    // the host at each end.
    let packet = 172.0 * 424.0 / RATE as f64;
    let slowest = bits / (0.175 + 2.0 * packet + 0.002);
    assert!((slowest..=bits / 0.175).contains(&rate), "{rate}: {slowest} to {}", bits / 0.175);
}

#[test]
fn rare_credits_do_not_halve_a_small_window() {
    let window = 256 << 10;
    let hosts = endless();
    let plan = FlowPlan { opener: 0, start: Time::ZERO, refuse: false, early: false, hosts };
    let mut pair = Pair::new([GatewayConfig { credit_every: 32, ..config(window) }; 2], line(), &[plan], 1);
    let rate = goodput(&mut pair, 1);
    // At worst an eighth of the window is not announced.
    let most = (window * 8) as f64 / 0.175;
    assert!((0.8 * most..=most).contains(&rate), "{rate}: {most} at most");
}

#[test]
fn backlogged_flows_differ_by_at_most_one_packet() {
    let flows = [endless(); 8];
    let mut pair = pair(1 << 20, line(), &flows);
    // Enough for the round trips of connection setup and until all have data to send.
    pair.run(at(1_000));
    let first = pair.departures.len();
    pair.run(at(11_000));
    let mut sent: BTreeMap<FlowId, u64> = (0..8).map(|n| (FlowId(2 * n), 0)).collect();
    for departure in pair.departures[first..].iter().filter(|d| d.side == 0) {
        for frame in &departure.packet.frames {
            if let Frame::Data { flow, len, .. } = frame {
                assert_eq!(*len, 8192, "a backlogged flow sends full packets");
                *sent.get_mut(flow).unwrap() += 1;
            }
        }
        let (least, most) = (sent.values().min().unwrap(), sent.values().max().unwrap());
        assert!(most - least <= 1, "{sent:?}");
    }
    assert!(sent.values().all(|&n| n > 500), "{sent:?}");
    let total: f64 = sent.values().sum::<u64>() as f64 * 8192.0 * 8.0 / 10.0;
    assert!(total / (RATE as f64 * PAYLOAD_SHARE) > 0.99, "{total}");
}

#[test]
fn a_slow_reader_stops_its_sender_and_no_other() {
    let slow = [endless()[0], Plan { reads: 100, buffer: 8192, ..endless()[1] }];
    let window = 1 << 20;
    let mut pair = pair(window, line(), &[slow, endless()]);
    pair.run(at(10_000));
    // 100 B each millisecond: unread bytes are in its own buffer, one window at the far gateway, one at the near one,
    // and the near receive buffer.
    let (sender, reader) = (pair.host(0, FlowId(0)), pair.host(1, FlowId(0)));
    assert_eq!(sender.sent - sender.consumed, sender.plan.buffer, "its window is shut");
    assert!(sender.consumed - reader.read <= 2 * window + reader.plan.buffer);
    let held = pair.gateways[1].flow_stats(FlowId(0)).unwrap().held_inbound;
    // The bytes that it reads in a round trip, a step of credit and a part of a packet are in flight.
    assert!(held >= window - 17_500 - 2 * 8192 - 8192 && held <= window, "{held}");
    // It is read at its pace all the same, and the other flow has the rest of the link.
    let before = (reader.read, pair.host(1, FlowId(2)).read);
    pair.run(at(20_000));
    assert_eq!(pair.host(1, FlowId(0)).read - before.0, 1_000_000);
    let other = (pair.host(1, FlowId(2)).read - before.1) as f64 * 8.0 / 10.0;
    assert!((other + 800_000.0) / (RATE as f64 * PAYLOAD_SHARE) > 0.98, "{other}");
}

#[test]
fn an_outage_of_two_seconds_costs_little_more() {
    let transfer = [Plan::sender(20_000_000), Plan { waits_for_peer: true, ..Plan::sender(0) }];
    let mut ends = Vec::new();
    for outage in [None, Some((at(3_000), at(5_000)))] {
        let mut pair = pair(1 << 20, Line { outage, ..line() }, &[transfer]);
        let end = (0..).map(|n| at(10 * n)).find(|&until| {
            assert!(until < at(60_000), "no end");
            pair.run(until);
            pair.host(0, FlowId(0)).over
        });
        ends.push(end.unwrap());
        pair.run(pair.now + Span::from_secs(10));
        pair.check_ends();
        let stats = pair.gateways[0].stats();
        // At most one window is retransmitted, once, except for the probes.
        assert!(stats.resent_bytes <= (1 << 20) + 2 * 8192 * stats.probes, "{stats:?}");
        assert_eq!(stats.probes > 0, outage.is_some());
    }
    // Two seconds, and at most the longest wait for a probe and two round trips.
    let cost = ends[1] - ends[0];
    assert!(cost < Span::from_secs(2) + Span::from_secs(1) + ROUND_TRIP * 2, "{cost}");
}

#[test]
fn random_loss_costs_the_retransmissions() {
    let line = Line { loss_per_mille: 10, losses: u32::MAX, ..line() };
    let mut pair = pair(2 << 20, line, &[endless(), endless()]);
    let share = goodput(&mut pair, 2) / (RATE as f64 * PAYLOAD_SHARE);
    assert!(share > 0.97, "{share}");
    let stats = pair.gateways[0].stats();
    let again = stats.resent_bytes as f64 / stats.data_bytes as f64;
    assert!((0.005..0.015).contains(&again), "{again}");
}
