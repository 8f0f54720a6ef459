//! Stalls of the link, of a gateway and of its peer: they last shorter than the filters, so they must not become the rate.

use cellway_units::{Span, Time};

use super::alone;
use crate::bottleneck::line::{Line, Source, Stall, at};

/// Returns the least share of the rate in a second, from 2 s and two round trips after a stall of `length` ms on, and
/// the least estimate.
fn after_stall(what: Stall, rate: u64, round_trip: u64, length: u64) -> (f64, f64) {
    let (mut least, mut estimate) = (f64::MAX, f64::MAX);
    // The position of the stall in the cycle of probes is random: several starts show the usual result.
    for start in [15_000, 15_617, 16_234] {
        let mut line = alone(rate, round_trip, 1000, 0);
        line.stall(at(start), Span::from_ms(length), what);
        let from = start + length + 2_000 + 2 * round_trip;
        for second in 0..5 {
            let from = from + second * 1_000;
            least = least.min(line.share(from, from + 1_000, super::mbps(rate)));
            estimate = estimate.min(line.senders[0].model().estimate().as_bps() as f64 / (rate * 1_000_000) as f64);
        }
    }
    println!("{rate} Mbit/s {round_trip} ms, {length} ms: {least:.2} of the rate, {estimate:.2} estimated");
    (least, estimate)
}

/// With a rate sample that spans the stall as the bandwidth, the rate fell to 0.48 of 30 Mbit/s and was back after 4 to 8 s.
#[test]
fn a_stall_is_no_slow_link() {
    for what in [Stall::Link, Stall::Outage, Stall::Sender(0), Stall::Peer(0)] {
        for (rate, round_trip) in [(30, 175), (100, 600), (40, 20)] {
            for length in [500, 2_000] {
                let (least, estimate) = after_stall(what, rate, round_trip, length);
                assert!(least >= 0.9 && (0.9..1.1).contains(&estimate), "{least} {estimate}");
            }
        }
    }
}

/// On a busy computer each gateway waits for the processor at times.
#[test]
fn threads_that_wait_for_their_turn_are_no_slow_link() {
    for (rate, round_trip) in [(200, 1), (200, 5), (100, 40)] {
        for stall in [3, 10, 30] {
            let mut line = Line::new(super::mbps(rate), Span::from_ms(round_trip), 20_000, 0);
            line.add(super::mbps(300), Source::Endless, Time::ZERO);
            for n in 0..40 {
                let what = if n % 2 == 0 { Stall::Sender(0) } else { Stall::Peer(0) };
                line.stall(at(2_000 + n * 213), Span::from_ms(stall), what);
            }
            let share = line.share(2_000, 10_000, super::mbps(rate));
            println!("{rate} Mbit/s {round_trip} ms, {stall} ms each 213 ms: {share:.3}");
            // The time of a stall is not made up for: the sender may not have more than twice the product in flight.
            assert!(share >= 0.98 - stall as f64 / 213.0, "{share}");
        }
    }
}

/// Acknowledgements on a path of 100 kbit/s to 2 Mbit/s, so that few come, each for many packets.
#[test]
fn acknowledgements_may_be_slow() {
    for (rate, round_trip, kbps) in [(100, 100, 2_000), (100, 600, 500), (100, 100, 100), (10, 40, 20)] {
        let mut line = alone(rate, round_trip, 1000, 0);
        line.set_ack_rate(cellway_units::Rate::from_bps(kbps * 1_000));
        let share = line.share(10_000, 30_000, super::mbps(rate));
        assert!(share >= 0.97, "{rate} Mbit/s, acknowledgements {kbps} kbit/s: {share}");
        assert!(line.wait(500, 10_000) <= Span::from_ms(1));
    }
}

/// Each acknowledgement has a random delay of up to a quarter of the round trip; more would count as a queue. The bound
/// is on the mean over several start times.
#[test]
fn round_trips_may_vary() {
    // The fifth has a ProbeRTT of 0.8 s every 11 s, as no sample is near to the minimum round-trip time.
    for (rate, round_trip, jitter, least) in [
        (100, 40, 5, 0.97),
        (100, 40, 10, 0.96),
        (30, 175, 20, 0.96),
        (30, 175, 40, 0.94),
        (100, 600, 60, 0.91),
        (100, 5, 2, 0.97),
    ] {
        let mut shares = Vec::new();
        for start in [0, 377, 754, 1_131] {
            let mut line = Line::new(super::mbps(rate), Span::from_ms(round_trip), 1_000, 0);
            line.add(super::mbps(super::MOST), Source::Endless, at(start));
            line.set_jitter(Span::from_ms(jitter));
            shares.push(line.share(10_000, 30_000, super::mbps(rate)));
            let estimate = line.senders[0].model().estimate();
            assert!(estimate <= super::mbps(rate * 11 / 10), "{estimate}");
        }
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        println!("{rate} Mbit/s {round_trip} ms, {jitter} ms of jitter: {shares:.3?}");
        assert!(mean >= least && shares.iter().all(|&share| share >= least - 0.02), "{shares:?}");
    }
}

/// After a change of the rate by a factor no queue of the old rate stays, and the new one is found.
#[test]
fn a_rate_that_changes_by_four_and_by_ten_is_followed() {
    // Up to 25 % more in a round trip, after a wait for the next probe of 3 s at most.
    for (rate, round_trip, factor, down, up) in
        [(40, 100, 4, 3, 6), (400, 100, 4, 3, 6), (400, 100, 10, 4, 8), (100, 600, 4, 6, 14), (100, 600, 10, 15, 18)]
    {
        let mut line = alone(rate, round_trip, 1000, 0);
        line.change(at(15_000), super::mbps(rate / factor));
        line.change(at(40_000), super::mbps(rate));
        let least = line.share((15 + down) * 1_000, 40_000, super::mbps(rate / factor));
        let wait = line.wait(500, (15 + down) * 1_000);
        let most = line.share((40 + up) * 1_000, 60_000, super::mbps(rate));
        println!("{rate} Mbit/s {round_trip} ms by {factor}: {least:.3}, p50 {wait}, then {most:.3}");
        assert!(least >= 0.95 && wait <= Span::from_ms(round_trip) / 8, "{least} {wait}");
        assert!(most >= 0.97, "{most}");
    }
}
