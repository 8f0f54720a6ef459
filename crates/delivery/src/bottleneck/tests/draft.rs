//! The example test cases of draft-ietf-ccwg-bbr (appendix "BBR Example Test Cases"), in its order.
//!
//! | case | here |
//! |---|---|
//! | Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss | Startup only: a probe that the source limits shows nothing, so Up ends |
//! | Exiting PROBE_UP on Loss, Handling Loss During PROBE_UP | without `inflight_longterm`, which is not kept: probes end when a quarter more than the link holds is in flight |
//! | Exiting PROBE_DOWN After Max Time | after three round trips, to Cruise or Drain: the draft waits 2 to 3 s and goes to Refill |
//! | Entering and Exiting PROBE_RTT | after 10 s; lines that are not shared hardly ever have one |
//! | Skipping PROBE_RTT | as there |
//! | Link With Aggregation (two cases) | by the room of 2 x B x L; `extra_acked` is not kept |
//! | Spurious Fast Recovery, Spurious RTO Recovery | one case: the gateway has no such recovery apart from its response to a lossy round; a probe that was ended is repeated at once |
//! | Entering and Exiting PROBE_RTT During STARTUP | does not apply: Startup is never left for it (`startup_lasts_while_the_source_limits_it`) |

use cellway_units::{Bits, Rate, Span, Time};

use super::{alone, mbps};
use crate::Stamp;
use crate::bottleneck::Bottleneck;
use crate::bottleneck::line::{Line, Source, at};
use crate::bottleneck::phase::Phase;

const MS: Span = Span::from_ms(1);

fn model(line: &Line) -> &Bottleneck {
    line.senders[0].model()
}
/// Runs until the sender is in `phase`.
fn run_to(line: &mut Line, phase: Phase) {
    let end = line.now + Span::from_secs(40);
    while model(line).phase != phase {
        line.run(line.now + MS);
        assert!(line.now < end, "never in {phase:?}");
    }
}
/// Runs until the sender is in another phase.
fn run_out(line: &mut Line, within: Span) -> Phase {
    let (phase, end) = (model(line).phase, line.now + within);
    while model(line).phase == phase {
        line.run(line.now + MS);
        assert!(line.now < end, "stays in {phase:?}");
    }
    model(line).phase
}
fn bandwidth(line: &Line) -> f64 {
    model(line).max_rate() as f64 / 1e6
}

#[test]
fn exiting_startup_on_bandwidth_plateau() {
    let mut line = alone(50, 100, 4_000, 0);
    assert_eq!(run_out(&mut line, Span::from_secs(5)), Phase::Drain);
    assert!((49.0..51.0).contains(&bandwidth(&line)), "{}", bandwidth(&line));
    assert_eq!(line.senders[0].lost, 0);
}

#[test]
fn exiting_startup_on_loss_when_application_limited() {
    let mut line = Line::new(mbps(50), Span::from_ms(100), 1_000, 100_000);
    line.add(mbps(1_000), Source::Packets(100), Time::ZERO);
    assert_eq!(run_out(&mut line, Span::from_secs(10)), Phase::Drain);
}

#[test]
fn exiting_drain_based_on_inflight() {
    let mut line = alone(50, 100, 4_000, 0);
    run_to(&mut line, Phase::Drain);
    assert_eq!(model(&line).gain, 361);
    assert!(model(&line).in_flight().0 > model(&line).holds(1_000));
    assert_eq!(run_out(&mut line, Span::from_ms(300)), Phase::Cruise);
    // The packets of the last millisecond are in addition.
    assert!(model(&line).in_flight().0 <= model(&line).holds(1_010));
}

/// At 0.361 of the rate a link that has become as slow does not drain.
#[test]
fn exiting_drain_based_on_time() {
    let mut line = alone(50, 100, 4_000, 0);
    run_to(&mut line, Phase::Drain);
    line.change(line.now, mbps(10));
    line.run(line.now + MS);
    let mut rounds = 0;
    while model(&line).phase == Phase::Drain {
        rounds = rounds.max(model(&line).rounds);
        line.run(line.now + MS);
        assert!(line.now < at(20_000));
    }
    assert!(rounds <= 3, "{rounds}");
}

#[test]
fn exiting_probe_up_on_bandwidth_plateau() {
    let mut line = alone(50, 100, 4_000, 0);
    line.run(at(5_000));
    run_to(&mut line, Phase::Up);
    let before = bandwidth(&line);
    assert_eq!(run_out(&mut line, Span::from_ms(500)), Phase::Down);
    assert!((before * 0.99..before * 1.01).contains(&bandwidth(&line)));
}

#[test]
fn exiting_probe_up_on_loss_when_application_limited() {
    let mut line = alone(50, 100, 4_000, 0);
    line.run(at(5_000));
    run_to(&mut line, Phase::Up);
    line.set_source(0, Source::Packets(400));
    line.set_loss(200_000);
    // With so little in flight Down ends at once.
    let next = run_out(&mut line, Span::from_ms(500));
    assert!(matches!(next, Phase::Down | Phase::Cruise), "{next:?}");
    line.run(line.now + Span::from_ms(300));
    assert!(model(&line).bounds.is_some());
}

#[test]
fn startup_lasts_while_the_source_limits_it() {
    let mut line = Line::new(mbps(50), Span::from_ms(100), 1_000, 0);
    line.add(mbps(1_000), Source::Packets(5), Time::ZERO);
    line.run(at(60_000));
    assert_eq!(model(&line).phase, Phase::Startup);
    line.set_round_trip(Span::from_ms(150));
    line.run(at(120_000));
    assert_eq!(model(&line).phase, Phase::Startup);
    line.set_source(0, Source::Endless);
    // The path was measured anew after Startup.
    let share = line.share(126_000, 134_000, mbps(50));
    assert!(share >= 0.97, "{share}");
}

#[test]
fn exiting_probe_down_on_inflight() {
    let mut line = alone(50, 100, 4_000, 0);
    line.run(at(5_000));
    run_to(&mut line, Phase::Down);
    assert_eq!(model(&line).gain, 750);
    assert_eq!(run_out(&mut line, Span::from_ms(300)), Phase::Cruise);
    assert!(model(&line).in_flight().0 <= model(&line).holds(1_010));
}

#[test]
fn exiting_probe_down_after_max_time() {
    let mut line = alone(50, 100, 4_000, 0);
    line.run(at(5_000));
    run_to(&mut line, Phase::Down);
    line.change(line.now, mbps(20));
    // Three round trips with the queue, or a queue that is recognised as standing.
    let next = run_out(&mut line, Span::from_ms(1_000));
    assert!(matches!(next, Phase::Cruise | Phase::Drain), "{next:?}");
    let share = line.share(9_000, 15_000, mbps(20));
    assert!(share >= 0.97, "{share}");
}

/// On a path that becomes a little longer no round trip is near to the shortest any more.
#[test]
fn entering_and_exiting_probe_rtt() {
    let mut line = alone(50, 100, 1_000, 0);
    line.run(at(5_000));
    line.set_round_trip(Span::from_ms(108));
    line.run(at(14_000));
    let before = bandwidth(&line);
    run_to(&mut line, Phase::ProbeRtt);
    assert!(line.now <= at(15_500), "{}", line.now);
    let (entered, holds) = (line.now, model(&line).holds(500));
    let cap = model(&line).inflight_cap().0;
    assert!((holds * 9 / 10..=holds + 4 * 10_800).contains(&cap), "{cap} {holds}");
    // Cruise at once if a probe has become due meanwhile.
    let next = run_out(&mut line, Span::from_secs(1));
    assert!(matches!(next, Phase::Cruise | Phase::Refill), "{next:?}");
    assert!(line.now - entered >= Span::from_ms(200));
    assert!(model(&line).min_rtt.unwrap() >= Span::from_ms(108));
    assert!(bandwidth(&line) >= 0.99 * before);
}

#[test]
fn skipping_probe_rtt_due_to_application_limited_sending() {
    let mut line = alone(50, 100, 1_000, 0);
    line.run(at(5_000));
    line.set_source(0, Source::Packets(0));
    line.run(at(20_000));
    line.set_source(0, Source::Endless);
    for ms in 20_000..22_000 {
        line.run(at(ms));
        assert_ne!(model(&line).phase, Phase::ProbeRtt);
    }
    let share = line.share(22_000, 24_000, mbps(50));
    assert!(share >= 0.97, "{share}");
}

#[test]
fn startup_and_cruise_on_a_link_with_aggregation() {
    for (rate, round_trip, interval) in [(50, 100, 20), (50, 100, 50), (100, 40, 20)] {
        let mut line = alone(rate, round_trip, 1_000, 0);
        line.set_ack_interval(Span::from_ms(interval));
        let first = line.share(2_000, 5_000, mbps(rate));
        let later = line.share(5_000, 20_000, mbps(rate));
        println!(
            "{rate} Mbit/s {round_trip} ms in {interval} ms: {first:.3} {later:.3}, p50 {}",
            line.wait(500, 5_000)
        );
        assert!(first >= 0.9 && later >= 0.95, "{first} {later}");
    }
}

#[test]
fn correctly_managing_sub_packet_bdps() {
    // 200 kbit/s and 10 ms: a fifth of a packet. A packet takes 54 ms.
    let rate = Rate::from_bps(200_000);
    let mut line = Line::new(rate, Span::from_ms(10), 50_000, 0);
    line.add(mbps(1_000), Source::Endless, Time::ZERO);
    let share = line.share(20_000, 60_000, rate);
    let found = model(&line).max_rate();
    assert!(share >= 0.95 && (190_000..=230_000).contains(&found), "{share} {found}");
    assert!(model(&line).inflight_cap().0 >= 4 * 10_800);
}

#[test]
fn increasing_bandwidth_tenfold() {
    let mut line = alone(10, 40, 1_000, 0);
    line.change(at(10_000), mbps(100));
    // A wait of 3 s at most, then a quarter more in each round trip: 11 of them.
    let share = line.share(16_000, 20_000, mbps(100));
    assert!(share >= 0.97, "{share}");
}

#[test]
fn decreasing_bandwidth_tenfold() {
    let mut line = alone(100, 40, 1_000, 0);
    line.change(at(10_000), mbps(10));
    // The draft discards it after two cycles of probes; here the queue shows it.
    line.run(at(13_000));
    assert!(bandwidth(&line) <= 11.0, "{}", bandwidth(&line));
    let share = line.share(13_000, 20_000, mbps(10));
    assert!(share >= 0.97, "{share}");
}

#[test]
fn handling_token_bucket_policers() {
    let mut line = alone(100, 40, 1_000, 0);
    line.run(at(5_000));
    // 20 Mbit/s with 100 ms of it at once.
    line.police(mbps(20), 2_000_000);
    let share = line.share(15_000, 45_000, mbps(20));
    let (sent, lost) = (line.senders[0].sent, line.senders[0].lost);
    line.run(at(75_000));
    let lost = (line.senders[0].lost - lost) as f64 / (line.senders[0].sent - sent) as f64;
    println!("{share:.3} of the policed rate, {lost:.3} lost");
    assert!(share >= 0.8 && lost <= 0.1, "{share} {lost}");
}

#[test]
fn handling_loss_during_probe_up() {
    let mut line = alone(50, 100, 1_000, 0);
    line.run(at(5_000));
    run_to(&mut line, Phase::Up);
    line.set_loss(100_000);
    assert_eq!(run_out(&mut line, Span::from_ms(350)), Phase::Down);
    line.set_loss(0);
    let share = line.share(9_000, 15_000, mbps(50));
    assert!(share >= 0.97, "{share}");
}

#[test]
fn handling_application_limited_sending_during_probe_refill() {
    let mut line = alone(50, 100, 1_000, 0);
    line.run(at(5_000));
    let before = bandwidth(&line);
    run_to(&mut line, Phase::Refill);
    line.set_source(0, Source::Packets(5));
    assert_eq!(run_out(&mut line, Span::from_ms(500)), Phase::Up);
    line.run(line.now + Span::from_secs(20));
    assert!(bandwidth(&line) >= 0.99 * before, "{} {before}", bandwidth(&line));
    line.set_source(0, Source::Endless);
    let (from, to) = (line.now + Span::from_ms(300), line.now + Span::from_ms(2_300));
    line.run(from);
    let received = line.senders[0].received;
    line.run(to);
    assert!((line.senders[0].received - received) as f64 >= 0.97 * 100e6);
}

/// Sends 200 packets, of which the first `lost` are declared lost and the others acknowledged a round trip later. Returns
/// the stamps of the lost ones.
fn lossy_round(model: &mut Bottleneck, now: Time, lost: usize) -> Vec<Stamp> {
    let stamps: Vec<Stamp> = (0..200).map(|_| model.sent(now, Bits(12_000))).collect();
    let (gone, acked) = stamps.split_at(lost);
    gone.iter().for_each(|stamp| model.lost(stamp));
    for (n, stamp) in (1..).zip(acked) {
        let at = now + MS * (100 + n / 10);
        model.acked(at, stamp);
        model.learn(at, Some(MS * 100));
    }
    gone.to_vec()
}

#[test]
fn spurious_loss_recovery() {
    for phase in [Phase::Startup, Phase::Cruise, Phase::Up] {
        let mut model = Bottleneck::new(mbps(1_000), Bits(12_000), 2);
        model.measured(MS * 100);
        // One packet stays in flight: the sender is never idle.
        model.sent(at(0), Bits(12_000));
        lossy_round(&mut model, at(0), 0);
        // No probe is due, and the one in Up does not end by the data in flight.
        (model.phase, model.probe_at, model.gain) = (phase, at(10_000), 10_000);
        let lost = lossy_round(&mut model, at(200), 100);
        lossy_round(&mut model, at(400), 0);
        assert!(model.undo.is_some() && model.bounds.is_some(), "{phase:?}: {:?}", model.bounds);
        // Too many are still lost.
        lost[..80].iter().for_each(|stamp| model.acked_late(at(600), stamp));
        assert!(model.undo.is_some(), "{phase:?}");
        lost[80..].iter().for_each(|stamp| model.acked_late(at(600), stamp));
        assert!(model.undo.is_none() && model.bounds.is_none(), "{phase:?}");
        if phase == Phase::Up {
            assert_eq!((model.phase, model.probe_at), (Phase::Cruise, at(600)), "the next step is a probe");
        } else {
            assert_eq!(model.phase, phase);
        }
    }
}
