//! Reading ahead of the link, and filling it: links with different directions, many flows that begin at once, announced
//! rates and estimated ones.
#![allow(clippy::unwrap_used)]

#[allow(unreachable_pub, dead_code, reason = "shared with other tests")]
mod common;

use cellway_gateway::{FlowId, GatewayConfig};
use cellway_units::{Bits, Rate, Span, Time};
use common::bulk::{self, CEILING, read, reader, sender, transfers};
use common::host::Plan;
use common::pair::{Line, Pair};

const MBPS: u64 = 1_000_000;

fn config(mbps: u64) -> GatewayConfig {
    bulk::config(Rate::from_bps(mbps * MBPS), false)
}
fn at(seconds: u64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}
/// Opens `flows` from the host behind `from` to the one behind the other gateway.
fn pair(configs: [GatewayConfig; 2], line: Line, flows: usize, from: usize) -> Pair {
    let hosts = if from == 0 { [sender(), reader()] } else { [reader(), sender()] };
    transfers(configs, line, &vec![hosts; flows])
}
/// Returns the bytes read behind `side` in each second up to `end`, as shares of `mbps`, and the most bytes that either
/// gateway held.
fn by_second(pair: &mut Pair, side: usize, flows: usize, mbps: u64, end: u64) -> (Vec<f64>, u64) {
    let (mut before, mut shares, mut most) = (0, Vec::new(), 0);
    for second in 1..=end {
        pair.run(at(second));
        let now = read(pair, side, flows);
        shares.push((now - before) as f64 * 8.0 / (mbps * MBPS) as f64);
        before = now;
        most = most.max(pair.gateways[0].stats().buffered).max(pair.gateways[1].stats().buffered);
    }
    (shares, most)
}

#[test]
fn each_direction_of_an_asymmetric_line_is_filled() {
    for (up, down, round_trip) in [(5, 100, 600), (1, 10, 100)] {
        for from in [0, 1] {
            let line = Line::good(Span::from_ms(round_trip) / 2);
            let mut pair = pair([config(up), config(down)], line, 1, from);
            let mbps = if from == 0 { up } else { down };
            let (shares, _) = by_second(&mut pair, 1 - from, 1, mbps, 12);
            println!("{up}/{down} Mbit/s, {round_trip} ms, sent by {from}: {shares:.3?}");
            // 1325 of 1400 octets are payload.
            assert!(shares[4..].iter().all(|&share| share >= 0.93), "{shares:.3?}");
        }
    }
}

#[test]
fn eight_cold_flows_are_as_good_as_one_and_hold_no_more() {
    for (mbps, round_trip, loss_per_mille) in [(30, 175, 0), (100, 600, 0), (100, 600, 1), (400, 100, 10)] {
        let bdp = mbps * MBPS * round_trip / 8000;
        for flows in [1, 8, 64] {
            let line = Line { loss_per_mille, losses: u32::MAX, ..Line::good(Span::from_ms(round_trip) / 2) };
            let mut pair = pair([config(mbps); 2], line, flows, 0);
            let (shares, most) = by_second(&mut pair, 1, flows, mbps, 10);
            println!(
                "{mbps} Mbit/s {round_trip} ms, {loss_per_mille} per mille, {flows}: {shares:.3?}, {:.2} BDP",
                most as f64 / bdp as f64
            );
            // A lost byte blocks those behind it for a round trip.
            assert!(loss_per_mille > 0 || shares[2..].iter().all(|&share| share >= 0.9), "{shares:.3?}");
            let mean = shares[3..].iter().sum::<f64>() / 7.0;
            assert!(mean >= 0.93 - loss_per_mille as f64 / 500.0, "{mean}");
            // And the bytes read ahead of each flow. Up to 2.8 products were measured, with loss; the windows allow
            // six.
            assert!(most <= 4 * bdp + flows as u64 * (32 << 10), "{most} of {bdp}");
        }
    }
}

#[test]
fn an_estimated_rate_bounds_the_bytes_read_ahead() {
    for (mbps, round_trip) in [(30, 175), (100, 600)] {
        let bdp = mbps * MBPS * round_trip / 8000;
        for flows in [1, 8, 64] {
            let queue = Some((Rate::from_bps(mbps * MBPS), Bits(8 * bdp)));
            let line = Line { queue, ..Line::good(Span::from_ms(round_trip) / 2) };
            let mut pair = pair([bulk::config(CEILING, true); 2], line, flows, 0);
            let (shares, most) = by_second(&mut pair, 1, flows, mbps, 20);
            println!("{mbps} Mbit/s {round_trip} ms, {flows}: {shares:.2?}, {:.2} BDP", most as f64 / bdp as f64);
            assert!(shares[12..].iter().all(|&share| share >= 0.85), "{shares:.3?}");
            // The start tries up to 2.8 times the rate, and the queue makes the round trip longer: up to 2.3 products
            // were measured.
            assert!(most <= 3 * bdp + flows as u64 * (32 << 10), "{most} of {bdp}");
        }
    }
}

/// Half a second is lost: packets in flight are retransmitted, and no more is read meanwhile than the bound allows.
#[test]
fn a_stall_of_the_line_costs_itself_and_two_round_trips() {
    for (mbps, round_trip, flows) in [(30, 175, 8), (100, 600, 1), (100, 600, 64)] {
        let bdp = mbps * MBPS * round_trip / 8000;
        let outage = Some((at(5), at(5) + Span::from_ms(500)));
        let mut pair = pair([config(mbps); 2], Line { outage, ..Line::good(Span::from_ms(round_trip) / 2) }, flows, 0);
        let (shares, most) = by_second(&mut pair, 1, flows, mbps, 12);
        println!("{mbps} Mbit/s {round_trip} ms, {flows}: {shares:.2?}, {:.2} BDP", most as f64 / bdp as f64);
        assert!(shares[8..].iter().all(|&share| share >= 0.93), "{shares:.3?}");
        // All but the bytes of the stall, and some of a round trip: 0.58 s were measured.
        let lost = shares[2..].iter().map(|share| 0.954 - share).sum::<f64>();
        assert!(lost <= 0.6, "{lost}");
        assert!(most <= 3 * bdp + flows as u64 * (32 << 10), "{most} of {bdp}");
    }
}

/// Hosts that do not read leave other flows their throughput, even many hosts on a short path: on the second path the
/// bytes read ahead for 16 of them would be twice the bound of all flows together.
#[test]
fn stuck_hosts_leave_the_others_their_windows() {
    // Before the first sample the round-trip time counts as 333 ms: the windows of the stuck hosts take 22 s of each
    // link.
    for (mbps, round_trip, stuck_flows, filled) in [(30, 175, 16, 30), (10, 20, 16, 40)] {
        let stuck = Plan { reads: 0, buffer: 16 << 10, ..reader() };
        let mut hosts = vec![[sender(), stuck]; stuck_flows];
        hosts.push([sender(), reader()]);
        let line = Line::good(Span::from_ms(round_trip) / 2);
        let mut pair = transfers([config(mbps); 2], line, &hosts);
        pair.run(at(filled));
        let healthy = FlowId(2 * stuck_flows as u64);
        let before = pair.host(1, healthy).read;
        pair.run(at(filled + 10));
        let share = (pair.host(1, healthy).read - before) as f64 * 8.0 / (mbps * MBPS) as f64 / 10.0;
        assert!(share >= 0.93, "{mbps} Mbit/s, {round_trip} ms: {share}");
    }
}

/// Transfers in both directions at once share nothing: each direction is as full as alone, and memory is twice as much.
#[test]
fn both_directions_are_filled_at_once() {
    for (mbps, round_trip) in [(30, 175), (100, 600), (400, 100)] {
        let bdp = mbps * MBPS * round_trip / 8000;
        for flows in [1, 8, 64] {
            let line = Line::good(Span::from_ms(round_trip) / 2);
            let hosts: Vec<_> =
                (0..2 * flows).map(|n| if n % 2 == 0 { [sender(), reader()] } else { [reader(), sender()] }).collect();
            let mut pair = transfers([config(mbps); 2], line, &hosts);
            pair.run(at(4));
            let before = [0, 1].map(|side| read(&pair, side, 2 * flows));
            pair.run(at(10));
            let shares = [0, 1]
                .map(|side| (read(&pair, side, 2 * flows) - before[side]) as f64 * 8.0 / (mbps * MBPS) as f64 / 6.0);
            let most = [0, 1].map(|side| pair.gateways[side].stats().buffered_max as f64 / bdp as f64);
            println!("{mbps} Mbit/s {round_trip} ms, {flows} each way: {shares:.3?}, {most:.2?} BDP");
            assert!(shares.iter().all(|&share| share >= 0.93), "{shares:?}");
        }
    }
}

/// Hosts that read nothing share the bytes that wait for them: it was four bandwidth-delay products for each flow.
#[test]
fn credit_for_hosts_that_read_nothing_is_shared() {
    for (mbps, round_trip) in [(30, 175), (100, 600)] {
        let bdp = mbps * MBPS * round_trip / 8000;
        for flows in [1, 8, 64] {
            let stuck = Plan { reads: 0, buffer: 16 << 10, ..reader() };
            let line = Line::good(Span::from_ms(round_trip) / 2);
            let mut pair = transfers([config(mbps); 2], line, &vec![[sender(), stuck]; flows]);
            pair.run(at(40));
            let most = pair.gateways[1].stats().buffered_max;
            println!("{mbps} Mbit/s {round_trip} ms, {flows} flows: {:.2} BDP", most as f64 / bdp as f64);
            assert!(most <= 8 * bdp + flows as u64 * (64 << 10), "{most} of {bdp}");
        }
    }
}

/// A flow that shared the link with others has all of it within two round trips after they have ended.
#[test]
fn a_flow_grows_when_the_others_end() {
    for (mbps, round_trip) in [(30, 175), (100, 600)] {
        for others in [7, 63] {
            // They end after about five seconds.
            let finite = Plan { buffer: 1 << 20, sends: 1 << 20, ..Plan::sender(5 * mbps * MBPS / 8 / (others + 1)) };
            let mut hosts = vec![[finite, Plan { waits_for_peer: true, ..reader() }]; others as usize];
            hosts.push([sender(), reader()]);
            let mut pair = transfers([config(mbps); 2], Line::good(Span::from_ms(round_trip) / 2), &hosts);
            let flow = FlowId(2 * others);
            let mut shares = Vec::new();
            let mut before = 0;
            for second in 1..=12 {
                pair.run(at(second));
                let now = pair.host(1, flow).read;
                shares.push((now - before) as f64 * 8.0 / (mbps * MBPS) as f64);
                before = now;
            }
            println!("{mbps} Mbit/s {round_trip} ms, {others} others: {shares:.2?}");
            assert!(shares[8..].iter().all(|&share| share >= 0.93), "{shares:.3?}");
        }
    }
}
