//! The guard over a simulated path.

use super::path::{Competing, Path, at, mbps};
use super::*;
use cellway_delivery::bits_of;

#[test]
fn a_rate_20_percent_too_high_is_found_and_its_queue_drained() {
    let mut path = Path::new(mbps(30));
    path.run(at(1_800));
    assert!(path.longest_wait(0, 1_800) > Span::from_ms(170), "the queue is full");
    path.run(at(4_000));
    let fits = path.guard.fits().unwrap().as_bps() as f64 / 1e6;
    assert!((24.0..=25.0).contains(&fits), "{fits}");
    // Within 10 s of the pause the queue is empty, nothing is lost, and the path is used.
    let lost = path.lost;
    let arrives = path.arrives(6_000, 12_000);
    assert!(arrives > 24.0, "{arrives}");
    assert_eq!(path.lost, lost);
    assert!(path.longest_wait(6_000, 12_000) < Span::from_ms(10), "{}", path.longest_wait(6_000, 12_000));
}

#[test]
fn the_configured_rate_is_tried_again_more_and_more_seldom() {
    let mut path = Path::new(mbps(30));
    let mut tries = Vec::new();
    let mut before = path.guard.phase;
    for ms in (0..900_000).step_by(50) {
        path.run(at(ms));
        if path.guard.phase == Phase::Configured && before != Phase::Configured {
            tries.push(ms / 1000);
        }
        before = path.guard.phase;
    }
    let pauses: Vec<u64> = tries.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // A pause, and the time to find the rate too high again and to drain.
    for (pause, expected) in pauses.iter().zip([20, 40, 80, 160, 300]) {
        assert!((expected..expected + 6).contains(pause), "{pauses:?}");
    }
    assert!(pauses.len() >= 4, "{pauses:?}");
}

#[test]
fn a_path_that_carries_the_rate_again_gets_it() {
    let mut path = Path::new(mbps(30));
    path.run(at(8_000));
    assert!(path.guard.fits().is_some());
    path.rate = mbps(40);
    path.run(at(30_000));
    assert_eq!((path.guard.fits(), path.guard.rate()), (None, mbps(30)));
}

#[test]
fn a_path_that_becomes_slower_is_found() {
    let mut path = Path::new(mbps(24));
    path.quiet_until(20_000);
    path.rate = mbps(20);
    path.run(at(30_000));
    let fits = path.guard.fits().unwrap().as_bps() as f64 / 1e6;
    assert!((19.0..=20.0).contains(&fits), "{fits}");
}

#[test]
fn a_rate_that_fits_is_left_alone() {
    for told in [mbps(5), mbps(24), mbps(25)] {
        Path::new(told).quiet_until(60_000);
    }
}

#[test]
fn random_loss_is_no_queue() {
    for loss_per_million in [1_000, 10_000, 50_000] {
        let mut path = Path { loss_per_million, ..Path::new(mbps(24)) };
        path.quiet_until(60_000);
    }
}

#[test]
fn a_stall_is_no_slow_path() {
    for (told, long) in [(24, 500), (24, 1_000), (25, 1_000), (24, 3_000)] {
        for start in (9_000..12_000).step_by(250) {
            let mut path = Path { stall: (at(start), at(start + long)), ..Path::new(mbps(told)) };
            path.quiet_until(25_000);
        }
    }
}

#[test]
fn bursts_of_a_competing_flow_are_no_slow_path() {
    // Three quarters of a second every five: the path is overloaded, and the queue full, for as long.
    let mut path = Path { cross: (mbps(10), 5_000, 750), ..Path::new(mbps(24)) };
    path.quiet_until(60_000);
    assert!(path.lost > 100, "{}", path.lost);
}

#[test]
fn a_queue_of_the_other_direction_is_not_ours() {
    // It is there from the start, or grows for as long as a queue of one bandwidth-delay product does at a rate that is
    // 20 % too high.
    let mut path = Path { back: (200, Span::from_ms(175)), ..Path::new(mbps(24)) };
    path.quiet_until(20_000);
    let mut path = Path { back: (200, Span::from_ms(175)), back_since: at(10_000), ..Path::new(mbps(24)) };
    path.quiet_until(30_000);
}

#[test]
fn a_sender_that_is_too_slow_is_no_overload() {
    // There is also a queue of the other direction.
    let mut path = Path { late: 200, back: (1_000, Span::from_ms(100)), ..Path::new(mbps(24)) };
    path.quiet_until(30_000);
}

#[test]
fn a_source_with_little_to_send_is_not_judged() {
    let mut path = Path { window: 20, ..Path::new(mbps(30)) };
    path.quiet_until(30_000);
}

#[test]
fn a_guard_that_only_reports_keeps_the_rate() {
    let mut path = Path { guard: Guard::new(mbps(30), false), ..Path::new(mbps(30)) };
    path.run(at(10_000));
    assert_eq!(path.guard.rate(), mbps(30));
    assert!(path.guard.fits().is_some());
    // A new rate is judged anew.
    path.guard.configure(at(10_000), mbps(24), true);
    assert_eq!((path.guard.fits(), path.guard.rate()), (None, mbps(24)));
    path.run(at(20_000));
    assert_eq!(path.guard.fits(), None);
}

/// Asserts that in the five minutes after `from` (ms) at least `share` per mille of what the path delivers at the
/// configured rate is delivered.
#[track_caller]
fn keeps_the_rate(path: &mut Path, from: u64, share: u64) {
    let most = path.guard.configured as f64 / 1e6 * (1.0 - path.loss_per_million as f64 / 1e6);
    let arrives = path.arrives(from, from + 300_000);
    assert!(arrives > most * share as f64 / 1000.0, "{arrives} of {most} Mbit/s");
    // In no ten seconds less than three quarters, which is the rate while a queue drains.
    for start in (from + 300_000..from + 400_000).step_by(10_000) {
        let arrives = path.arrives(start, start + 10_000);
        assert!(arrives > most * 0.75, "{arrives} of {most} Mbit/s from {start} ms on");
    }
}

#[test]
fn random_loss_on_a_path_that_becomes_longer_is_not_an_overload() {
    for (loss_per_million, longer) in [(50_000, 200), (35_000, 190), (100_000, 350)] {
        let mut path = Path { loss_per_million, ..Path::new(mbps(24)) };
        path.quiet_until(20_000);
        path.round_trip = Span::from_ms(longer);
        path.quiet_until(120_000);
    }
}

#[test]
fn loss_that_begins_when_the_path_becomes_longer_costs_little() {
    let mut path = Path::new(mbps(24));
    path.quiet_until(20_000);
    (path.loss_per_million, path.round_trip) = (50_000, Span::from_ms(200));
    keeps_the_rate(&mut path, 20_000, 960);
}

#[test]
fn random_loss_with_a_queue_of_the_other_direction_costs_little() {
    let back = (200, Span::from_ms(175));
    let mut path = Path { back, loss_per_million: 50_000, ..Path::new(mbps(24)) };
    keeps_the_rate(&mut path, 0, 960);
    let mut path = Path { back, back_since: at(10_000), loss_per_million: 50_000, ..Path::new(mbps(24)) };
    path.quiet_until(30_000);
}

#[test]
fn with_lasting_competition_most_of_the_share_is_kept() {
    let none = (Rate::from_bps(0), 1, 0);
    for configured in [24, 30] {
        for (flows, cross) in [(8, none), (16, none), (32, none), (0, (mbps(10), 1, 1)), (0, (mbps(20), 1, 1))] {
            let [share, kept] = [false, true].map(|acts| {
                let competing = vec![Competing::from(at(20_000)); flows];
                let guard = Guard::new(mbps(configured), acts);
                let mut path = Path { guard, competing, cross, ..Path::new(mbps(configured)) };
                path.arrives(40_000, 340_000)
            });
            assert!(kept > share * 0.82, "{configured} Mbit/s, {flows} flows, {cross:?}: {kept} of {share} Mbit/s");
        }
    }
}

#[test]
fn a_deep_queue_is_given_time_to_drain() {
    let usual = Path::new(mbps(60));
    let mut path = Path { queue: bits_of(usual.rate, Span::from_ms(1_500)), round_trip: Span::from_ms(20), ..usual };
    path.run(at(11_000));
    assert!(path.longest_wait(0, 5_000) > Span::from_ms(1_400), "{}", path.longest_wait(0, 5_000));
    path.run(at(15_000));
    let fits = path.guard.fits().unwrap().as_bps() as f64 / 1e6;
    assert!((24.0..=25.0).contains(&fits), "{fits}");
    assert!(path.longest_wait(11_000, 15_000) < Span::from_ms(10), "{}", path.longest_wait(11_000, 15_000));
}

#[test]
fn a_path_that_becomes_slower_still_is_found_below_the_configured_rate() {
    let mut path = Path::new(mbps(30));
    path.run(at(60_000));
    assert!(path.guard.fits().is_some());
    path.rate = mbps(15);
    path.run(at(80_000));
    let fits = path.guard.fits().unwrap().as_bps() as f64 / 1e6;
    assert!((14.0..=15.0).contains(&fits), "{fits}");
    let lost = path.lost;
    path.run(at(82_000));
    assert_eq!(path.lost, lost);
}

#[test]
fn a_foreign_queue_that_becomes_our_own_is_found() {
    // Cross traffic alone exceeds the bandwidth of the path; after its end our traffic keeps the queue full.
    let mut path = Path { cross: (mbps(26), 1, 1), ..Path::new(mbps(30)) };
    path.run(at(15_000));
    assert!(path.guard.foreign.is_some() && path.guard.fits().is_none());
    path.cross.0 = Rate::from_bps(0);
    path.run(at(60_000));
    let fits = path.guard.fits().unwrap().as_bps() as f64 / 1e6;
    assert!((24.0..=25.0).contains(&fits), "{fits}");
}

#[test]
fn a_rate_that_stays_too_high_stays_reported() {
    let mut path = Path { guard: Guard::new(mbps(30), false), ..Path::new(mbps(30)) };
    path.run(at(10_000));
    for second in 10..1_500 {
        path.run(at(second * 1_000));
        assert!(path.guard.fits().is_some(), "{second} s");
    }
}
