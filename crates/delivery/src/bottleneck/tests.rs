use cellway_units::{Rate, Span, Time};

use super::line::{Line, Source, at};

mod draft;
mod shared;
mod stalls;

fn mbps(n: u64) -> Rate {
    Rate::from_bps(n * 1_000_000)
}
const MOST: u64 = 1_000;
/// Returns a link (Mbit/s, round trip in ms, queue in thousandths of the bandwidth-delay product, losses in a million)
/// with one sender.
fn alone(rate: u64, round_trip: u64, queue: u64, loss: u64) -> Line {
    let mut line = Line::new(mbps(rate), Span::from_ms(round_trip), queue, loss);
    line.add(mbps(MOST), Source::Endless, Time::ZERO);
    line
}
/// Seconds.
fn s(line: &mut Line, from: u64, to: u64, rate: u64) -> f64 {
    line.share(from * 1000, to * 1000, mbps(rate))
}

#[test]
fn a_line_is_filled_and_no_queue_stays() {
    // From 200 kB to 7.5 MB are 5.2 doublings of 0.6 s each, and the first round trip: 0.88 of 30 s are left.
    for (rate, round_trip, all_of_it) in [(30, 175, 0.95), (100, 600, 0.86), (400, 100, 0.95)] {
        for loss in [0, 1_000, 10_000] {
            let mut line = alone(rate, round_trip, 1000, loss);
            let first = s(&mut line, 0, 10, rate);
            let later = s(&mut line, 10, 30, rate);
            let all = first / 3.0 + later * 2.0 / 3.0;
            let waits = [500, 990].map(|n| line.wait(n, 10_000).as_millis_f64());
            println!(
                "{rate} Mbit/s {round_trip} ms loss {loss} ppm: {all:.3} of 30 s, {later:.3} later, waits {waits:?} ms"
            );
            assert!(all >= all_of_it, "{all}");
            // 0.99 is sent, and lost packets do not arrive.
            assert!(later >= 0.985 - loss as f64 / 1e6, "{later}");
            // A probe sends an eighth more for a round trip.
            assert!(waits[0] <= 0.1 && waits[1] <= round_trip as f64 * 0.13, "{waits:?}");
        }
    }
}

/// By second on 100 Mbit/s and 600 ms. Ten packets or 64 KiB alone gave 0.13 and 0.38 in the fourth and fifth.
#[test]
fn a_long_path_is_filled_in_six_seconds() {
    let mut line = alone(100, 600, 1000, 0);
    let shares: Vec<_> = (0..8).map(|second| s(&mut line, second, second + 1, 100)).collect();
    println!("{shares:.2?}");
    assert!(shares[3] >= 0.25 && shares[4] >= 0.7 && shares[5..].iter().all(|&share| share >= 0.97), "{shares:?}");
    // The data sent before the first acknowledgement are at most those that a slow link of that length carries, with
    // its queue.
    let mut slow = alone(2, 600, 1000, 0);
    slow.run(at(600));
    assert!(slow.senders[0].sent * super::line::PACKET <= 65_536 + 150_000);
    slow.run(at(1_300));
    assert_eq!(slow.senders[0].lost, 0);
}

/// With two bandwidth-delay products in flight until the end of Startup the queue was full, and often overflowed.
#[test]
fn startup_ends_before_the_queue_is_full() {
    for (rate, round_trip) in [(30, 175), (100, 600), (400, 100), (100, 40)] {
        let mut line = alone(rate, round_trip, 1000, 0);
        line.measured(0);
        line.run(at(10_000));
        let most = line.wait(1000, 0).as_millis_f64() / round_trip as f64;
        println!("{rate} Mbit/s {round_trip} ms: at most {most:.2} round trips in the queue");
        assert!(most <= 0.95 && line.senders[0].lost == 0, "{most}");
    }
}

#[test]
fn short_and_long_queues() {
    for queue in [100, 300, 4000] {
        let mut line = alone(100, 100, queue, 0);
        let share = s(&mut line, 10, 40, 100);
        let (lost, sent) = (line.senders[0].lost, line.senders[0].sent);
        println!("queue {queue}: {share:.3}, lost {lost} of {sent}, p99 {}", line.wait(990, 10_000));
        assert!(share >= 0.97, "{share}");
        assert!(lost * 100 <= sent, "{lost} of {sent}");
        assert!(line.wait(990, 10_000) <= Span::from_ms(13));
    }
}

#[test]
fn a_rate_that_halves_and_doubles_is_followed() {
    for (rate, round_trip, within) in [(40, 100, 4), (100, 600, 9)] {
        let mut line = alone(rate, round_trip, 1000, 0);
        line.change(at(15_000), mbps(rate / 2));
        line.change(at(40_000), mbps(rate));
        let half = s(&mut line, 15 + within, 40, rate / 2);
        let waits = line.wait(990, (15 + within) * 1000);
        let whole = s(&mut line, 40 + within, 55, rate);
        println!("{rate} Mbit/s {round_trip} ms: {half:.3} of the half, p99 {waits}, then {whole:.3}");
        assert!(half >= 0.97 && waits <= Span::from_ms(round_trip) / 4, "{half} {waits}");
        assert!(whole >= 0.97, "{whole}");
    }
}

#[test]
fn a_source_that_pauses_keeps_its_estimate() {
    let mut line = alone(40, 100, 1000, 1_000);
    line.run(at(10_000));
    let before = line.senders[0].model().estimate();
    line.set_source(0, Source::Packets(20));
    line.run(at(70_000));
    let after = line.senders[0].model().estimate();
    assert!(after >= before, "{before} {after}");
    line.set_source(0, Source::Packets(0));
    line.run(at(130_000));
    line.set_source(0, Source::Endless);
    // At once, but for a round trip until it arrives.
    let share = line.share(130_150, 132_000, mbps(40));
    assert!(share >= 0.97, "{share}");
    assert!(line.wait(990, 10_000) <= Span::from_ms(13));
}

#[test]
fn a_longer_path_is_no_queue_for_long() {
    let mut line = alone(40, 50, 4000, 0);
    line.run(at(10_000));
    line.set_round_trip(Span::from_ms(150));
    let share = s(&mut line, 15, 35, 40);
    assert!(share >= 0.95, "{share}");
}

#[test]
fn never_more_than_the_most() {
    let mut line = Line::new(mbps(40), Span::from_ms(100), 1000, 0);
    line.add(mbps(30), Source::Endless, Time::ZERO);
    for ms in (0..20_000).step_by(50) {
        line.run(at(ms));
        assert!(line.senders[0].model().rate() <= mbps(30));
    }
    let share = s(&mut line, 20, 30, 30);
    assert!((0.985..=1.0).contains(&share), "{share}");
    assert_eq!(line.wait(1000, 0), Span::ZERO);
}
