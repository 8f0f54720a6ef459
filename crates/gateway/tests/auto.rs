//! A pair of gateways that find out the rate of the line between them.
#![allow(clippy::unwrap_used)]

#[allow(unreachable_pub, dead_code, reason = "shared with other tests")]
mod common;

use cellway_gateway::{FlowId, GatewayConfig, Transport, Window, Wire};
use cellway_units::{Bits, Bytes, Rate, Span, Time};
use common::host::Plan;
use common::pair::{FlowPlan, Line, Pair};

const MBPS: u64 = 1_000_000;
/// Packets in QUIC, as they leave before the MTU of the path is known.
const MTU: u64 = 1_280;

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}
fn config() -> GatewayConfig {
    GatewayConfig {
        auto: true,
        window: Window::Line { most: Bytes(64 << 20) },
        wire: Wire::Packet,
        transport: Transport::Quic { v6: false },
        mtu: Bytes(MTU),
        payload: Bytes(1_200),
        ack_every: 8,
        slack: Span::from_ms(2),
        ..GatewayConfig::new(Rate::from_bps(1000 * MBPS))
    }
}
/// A line with a queue of one bandwidth-delay product and random losses.
fn line(mbps: u64, round_trip: u64, loss_per_mille: u64) -> Line {
    let queue = Some((Rate::from_bps(mbps * MBPS), Bits(mbps * MBPS * round_trip / 1000)));
    let losses = u32::MAX;
    Line { queue, loss_per_mille, losses, ..Line::good(Span::from_ms(round_trip) / 2) }
}
fn pair(line: Line, flows: &[[Plan; 2]]) -> Pair {
    let plan = |&hosts: &[Plan; 2]| FlowPlan { opener: 0, start: Time::ZERO, refuse: false, early: false, hosts };
    let flows: Vec<_> = flows.iter().map(plan).collect();
    let mut pair = Pair::new([config(); 2], line, &flows, 1);
    pair.late = Span::from_us(500);
    pair
}
/// A sender without end and its reader.
fn endless() -> [Plan; 2] {
    [Plan::sender(1 << 40), Plan { waits_for_peer: true, ..Plan::sender(0) }]
}

#[test]
fn explore() {
    for (mbps, rtt, loss) in [(30, 175, 0), (30, 175, 10), (100, 100, 0), (100, 600, 0), (2, 40, 0), (2, 40, 10)] {
        let mut pair = pair(line(mbps, rtt, loss), &[endless()]);
        let mut before = 0;
        for s in [10, 20, 30] {
            pair.run(at(s * 1000));
            let read = pair.host(1, FlowId(0)).read;
            println!(
                "{mbps} {rtt} {loss}: {s} s {:.3} M of payload, est {} / {} rtt {} lost {}",
                (read - before) as f64 * 8.0 / 10e6,
                pair.gateways[0].rate(),
                pair.gateways[1].rate(),
                pair.gateways[0].rtt(),
                pair.gateways[0].stats().packets_lost
            );
            before = read;
        }
        let mut waits: Vec<_> =
            pair.waits.iter().filter(|w| w.0 == 0 && w.1 > at(10_000)).map(|w| w.2.as_millis_f64()).collect();
        waits.sort_by(f64::total_cmp);
        println!("  p50 {} p99 {}", waits[waits.len() / 2], waits[waits.len() * 99 / 100]);
    }
}
