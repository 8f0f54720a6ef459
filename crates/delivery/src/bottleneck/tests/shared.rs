//! A link shared with a TCP flow from outside the gateways, and with other gateways.

use cellway_units::{Span, Time};

use super::mbps;
use crate::bottleneck::line::{Line, Source, at};

/// Returns the mean share of a gateway that competes with CUBIC flows, 30 to 90 s after the first start, over several
/// start times: the gateway or CUBIC starts 10 s later. The gateway begins with the round-trip time without a queue.
fn with_cubic(rate: u64, round_trip: u64, queue: u64, flows: u64, cubic_first: bool) -> f64 {
    let starts = [10_000, 10_377, 10_754, 11_131];
    let shares = starts.map(|start| {
        let mut line = Line::new(mbps(rate), Span::from_ms(round_trip), queue, 0);
        let (gateway, cubic) = if cubic_first { (start, 0) } else { (0, start) };
        line.add(mbps(1_000), Source::Endless, at(gateway));
        line.measured(0);
        (0..flows).for_each(|n| line.add_cubic(at(cubic + n * 1_300)));
        let shares = line.shares(30_000, 90_000, mbps(rate));
        assert!(shares.iter().sum::<f64>() >= 0.95 && shares[0] >= 0.2, "{shares:?}");
        assert!(shares[1..].iter().all(|&share| share >= 0.25 / flows as f64), "{shares:?}");
        shares[0]
    });
    println!(
        "{rate} Mbit/s {round_trip} ms, queue {queue}, {flows} CUBIC flows, first {cubic_first}: gateway {shares:.2?}"
    );
    shares.iter().sum::<f64>() / shares.len() as f64
}

/// The aim is an equal share. With a limit of data in flight from the minimum round-trip time alone, a gateway that
/// joined a full queue could not grow: on real hosts its share was 0.11.
#[test]
fn a_flow_that_fills_the_queue_gets_an_equal_share() {
    for (rate, round_trip) in [(30, 175), (100, 100), (40, 20)] {
        for queue in [1_000, 2_000] {
            for cubic_first in [false, true] {
                let share = with_cubic(rate, round_trip, queue, 1, cubic_first);
                let least = if queue == 1_000 { 0.35 } else { 0.3 };
                assert!((least..=0.6).contains(&share), "{share}");
            }
        }
    }
}

/// With four competing flows the share is more than an equal one, but at most 0.6.
#[test]
fn four_flows_that_fill_the_queue_are_not_starved() {
    for (rate, round_trip) in [(30, 175), (100, 50)] {
        for cubic_first in [false, true] {
            let share = with_cubic(rate, round_trip, 1_000, 4, cubic_first);
            assert!((0.2..=0.6).contains(&share), "{share}");
        }
    }
}

/// When the other flow has ended, the link is filled again and no queue stays.
#[test]
fn the_queue_of_others_is_forgotten() {
    let mut line = Line::new(mbps(30), Span::from_ms(175), 1_000, 0);
    line.add(mbps(1_000), Source::Endless, Time::ZERO);
    line.add_cubic(at(10_000));
    line.run(at(60_000));
    line.stop(1);
    let share = line.share(75_000, 95_000, mbps(30));
    let waits = [line.wait(500, 75_000), line.wait(990, 75_000)];
    println!("{share:.3}, waits {waits:?}");
    assert!(share >= 0.97 && waits[0] <= Span::from_ms(10), "{share} {waits:?}");
}

/// One joins the other after 10 s; 40 to 60 s later they have nearly equal shares: several starts show the usual
/// result.
#[test]
fn two_gateways_share() {
    for (round_trip, queue, loss) in
        [(20, 1_000, 0), (100, 1_000, 0), (100, 1_000, 1_000), (100, 1_000, 10_000), (100, 4_000, 0)]
    {
        let (mut ratios, mut waits) = (Vec::new(), Vec::new());
        for start in [10_000, 10_377, 10_754, 11_131] {
            let mut line = Line::new(mbps(40), Span::from_ms(round_trip), queue, loss);
            line.add(mbps(1_000), Source::Endless, Time::ZERO);
            line.add(mbps(1_000), Source::Endless, at(start));
            let shares = line.shares(50_000, 70_000, mbps(40));
            ratios.push((shares[0] / shares[1]).max(shares[1] / shares[0]));
            waits.push(line.wait(500, 50_000).as_millis_f64() / round_trip as f64);
            assert!(shares[0] + shares[1] >= 0.95, "{shares:?}");
        }
        println!(
            "{round_trip} ms, queue {queue}, loss {loss} ppm: {ratios:.2?} to 1, waits p50 {waits:.2?} round trips"
        );
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        assert!(mean <= 1.4 && ratios.iter().all(|&ratio| ratio <= 1.75), "{ratios:?}");
        // Half of the amount that either added to the queue at once would be an eighth each.
        assert!(waits.iter().all(|&wait| wait <= 0.125), "{waits:?}");
    }
}

/// Four and eight gateways have nearly equal shares, no queue stands for long, and none takes the others for flows that
/// fill it.
#[test]
fn many_gateways_share() {
    for (gateways, rate, round_trip, apart) in
        [(4, 100, 50, 5_000), (8, 100, 50, 3_000), (8, 100, 50, 13), (4, 100, 175, 13)]
    {
        let mut line = Line::new(mbps(rate), Span::from_ms(round_trip), 1_000, 0);
        (0..gateways).for_each(|n| line.add(mbps(1_000), Source::Endless, at(n * apart)));
        line.run(at(50_000));
        let shares = line.shares(60_000, 90_000, mbps(rate));
        let wait = line.wait(500, 60_000);
        let jain = shares.iter().sum::<f64>().powi(2) / shares.iter().map(|s| s * s).sum::<f64>() / gateways as f64;
        println!(
            "{gateways} on {rate} Mbit/s {round_trip} ms, {apart} ms apart: {shares:.2?}, Jain {jain:.2}, p50 {wait}"
        );
        assert!(jain >= 0.8 && shares.iter().sum::<f64>() >= 0.95, "{jain} {shares:?}");
        assert!(wait <= Span::from_ms(round_trip) / 6, "{wait}");
        assert!(line.senders.iter().all(|s| !s.model().queue.is_contested()));
    }
}
