//! The pieces of BBR against numbers by hand; the whole is judged by the test cases of the draft (`papers/bbr`).

use cellway_units::{Span, Time};

use super::filter::{MaxBandwidth, RoundMax, Waits};
use super::startup::inflight_at_loss;
use super::{Bbr, BbrState, NO_BOUND, RateSample};
use crate::Position;
use crate::congestion::{Ack, Controller, Loss, Newest, Repair, Window};

const MSS: u64 = 1000;

fn window(segments: u64) -> Window {
    Window { cwnd: segments * MSS, ssthresh: u64::MAX, mss: MSS }
}

/// The loss of segment `n` of one thousand bytes: `lost` segments since it was sent, with `in_flight` in flight.
fn loss(n: u64, lost: u64, in_flight: u64) -> Loss {
    let start: Position = n * MSS;
    Loss {
        now: Time::ZERO + Span::from_secs(3),
        total_delivered: 900 * MSS,
        start,
        end: start + MSS,
        lost: lost * MSS,
        in_flight: in_flight * MSS,
        limited: false,
    }
}

/// BBR in a probe with a bound of 200 segments, a bandwidth of 8 Mbit/s and a round trip of 100 ms.
fn probing() -> (Bbr, Window) {
    let (mut bbr, mut window) = (Bbr::new(1), window(10));
    bbr.started(&mut window, Time::ZERO, Some(Span::from_ms(100)));
    window.cwnd = 200 * MSS;
    bbr.max_bandwidth.update(8_000_000);
    bbr.bandwidth = 8_000_000;
    bbr.round_trips.min = Some(Span::from_ms(100));
    (bbr.full_pipe.reached, bbr.probing.samples) = (true, true);
    (bbr.state, bbr.long_inflight) = (BbrState::Up, 200 * MSS);
    (bbr, window)
}

#[test]
fn the_bandwidth_is_the_maximum_of_two_cycles() {
    let mut filter = MaxBandwidth::default();
    let mut after = |sample: u64, advance: bool| {
        if advance {
            filter.advance();
        }
        if sample > 0 {
            filter.update(sample);
        }
        filter.get()
    };
    assert_eq!([after(50, false), after(80, false), after(60, false)], [50, 80, 80]);
    assert_eq!([after(30, true), after(40, false)], [80, 80], "the cycle before still counts");
    assert_eq!([after(20, true), after(10, false)], [40, 40], "that with 80 does not");
    assert_eq!([after(0, true), after(0, true)], [20, 20], "a cycle without a sample does not end");
}

#[test]
fn a_maximum_over_rounds_forgets_after_its_window() {
    let mut filter = RoundMax::default();
    assert_eq!(filter.update(0, 10, 7), 7);
    assert_eq!(filter.update(1, 10, 90), 90);
    assert_eq!(filter.update(1, 10, 5), 90);
    assert_eq!(filter.update(6, 10, 30), 90);
    assert_eq!(filter.update(11, 10, 20), 90, "ten rounds after it");
    assert_eq!(filter.update(12, 10, 20), 30, "eleven");
    assert_eq!(filter.update(60, 10, 1), 1, "more rounds without a value than it holds");
    // In Startup: this round and the one before.
    let mut filter = RoundMax::default();
    let values = [(0, 50), (1, 20), (2, 10)].map(|(round, value)| filter.update(round, 1, value));
    assert_eq!(values, [50, 50, 20]);
    assert_eq!(
        filter.update(3, 10, 5),
        20,
        "a longer window later does not bring back what a shorter one has left out"
    );
}

#[test]
fn waits_are_below_their_bound_and_differ() {
    let mut waits = Waits::new(7);
    let drawn: Vec<u64> = (0..1000).map(|_| waits.below(1000)).collect();
    assert!(drawn.iter().all(|&n| n < 1000) && drawn.iter().any(|&n| n < 20) && drawn.iter().any(|&n| n >= 980));
    let coins = (0..1000).filter(|_| waits.below(2) == 1).count();
    assert!((400..600).contains(&coins), "{coins}");
}

/// The share of 2 % is exceeded by the first byte above it.
#[test]
fn more_than_two_per_cent_is_too_high() {
    let too_high = |lost, in_flight| RateSample { lost, in_flight, ..RateSample::default() }.is_too_high();
    assert!(!too_high(2000, 100_000) && too_high(2001, 100_000));
    assert!(!too_high(0, 0) && too_high(1, 0));
}

/// lost_prefix = (0.02 * inflight_prev - lost_prev) / 0.98.
#[test]
fn the_data_in_flight_at_which_losses_exceeded_the_threshold() {
    // 99 segments before, none lost: 1.98 / 0.98 of a segment may be lost, so all of this one and a further one.
    assert_eq!(inflight_at_loss(100_000, 1000, 1000), 99_000 + 1_980_000 / 980);
    // One lost before: 0.98 / 0.98.
    assert_eq!(inflight_at_loss(100_000, 2000, 1000), 99_000 + 1000);
    // Two lost before: the threshold was exceeded earlier.
    assert_eq!(inflight_at_loss(100_000, 3000, 1000), 99_000);
    assert_eq!(inflight_at_loss(1000, 1000, 1000), 0);
}

#[test]
fn a_loss_in_a_probe_lowers_the_bound_and_ends_it() {
    let (mut bbr, mut window) = probing();
    for n in 0..4 {
        bbr.lost(&mut window, &loss(10 * n, n + 1, 200));
        assert_eq!((bbr.state, bbr.long_inflight), (BbrState::Up, 200 * MSS), "4 of 200 are 2 %");
    }
    bbr.lost(&mut window, &loss(40, 5, 200));
    // Four were lost before: 199 segments were in flight where the threshold was crossed, more than 0.7 of 100.
    assert_eq!((bbr.state, bbr.long_inflight), (BbrState::Down, 199 * MSS));
    bbr.lost(&mut window, &loss(50, 6, 100));
    assert_eq!(bbr.long_inflight, 199 * MSS, "one reaction to a probe");
}

#[test]
fn the_bound_keeps_seven_tenths_of_the_target() {
    let (mut bbr, mut window) = probing();
    bbr.lost(&mut window, &loss(0, 3, 20));
    assert_eq!(bbr.long_inflight, 70 * MSS, "8 Mbit/s over 100 ms are 100 segments");
    let (mut bbr, mut window) = probing();
    bbr.lost(&mut window, &Loss { limited: true, ..loss(0, 3, 20) });
    assert_eq!((bbr.state, bbr.long_inflight), (BbrState::Down, 200 * MSS), "HandleInflightTooHigh(): not if limited");
}

/// The first loss ends the probe and with it the signals of the round. The further losses of the same repair must not save
/// what it has changed.
#[test]
fn a_repair_that_was_not_needed_restores_what_was_before_its_first_loss() {
    let (fast, timeout) = (Repair::Fast, Repair::Timeout);
    for repairs in [&[fast][..], &[timeout], &[fast, timeout], &[timeout, timeout]] {
        let (mut bbr, mut window) = probing();
        for (place, &repair) in (0..).zip(repairs) {
            bbr.repairing(&mut window, repair);
            for n in 0..20 {
                let n = 20 * place + n;
                bbr.lost(&mut window, &loss(10 * n, n + 1, 150));
            }
            window.cwnd = MSS;
        }
        assert_eq!(bbr.state, BbrState::Down);
        assert!(bbr.long_inflight < 200 * MSS);
        bbr.repaired(&mut window);
        bbr.spurious(&mut window, 1000 * MSS);
        assert_eq!(bbr.rounds.end, 1000 * MSS, "the round of Refill begins now");
        assert_eq!((bbr.long_inflight, window.cwnd), (200 * MSS, 200 * MSS));
        assert_eq!(bbr.state, BbrState::Refill, "the probe begins again");
        assert_eq!((bbr.short_bandwidth, bbr.short_inflight), (NO_BOUND, NO_BOUND));
    }
}

/// BoundCwndForModel(): the whole long-term bound of 80 segments in a probe and around it, 15 % less in cruise, none in
/// Startup and Drain; the short-term bound always. The model alone allows 200 segments, in a stay in ProbeRTT 50.
#[test]
fn the_window_keeps_to_the_bounds_of_its_state() {
    use BbrState::{Cruise, Down, Drain, ProbeRtt, Refill, Startup, Up};
    for (state, long, short, segments) in [
        (Startup, 80, None, 200),
        (Drain, 80, None, 200),
        (Down, 80, None, 80),
        (Refill, 80, None, 80),
        (Up, 80, None, 80),
        (Cruise, 80, None, 68),
        (ProbeRtt, 80, None, 50),
        (ProbeRtt, 40, None, 34),
        (Startup, 80, Some(60), 60),
        (Up, 80, Some(60), 60),
        (Cruise, 80, Some(60), 60),
        (Cruise, 60, Some(60), 51),
        (Down, 80, Some(1), 4),
    ] {
        let (mut bbr, mut window) = probing();
        (bbr.state, bbr.long_inflight) = (state, long * MSS);
        bbr.short_inflight = short.map_or(NO_BOUND, |segments| segments * MSS);
        window.cwnd = 500 * MSS;
        bbr.set_window(&mut window, 0);
        assert_eq!(window.cwnd, segments * MSS, "{state:?}, {long}, {short:?}");
    }
}

/// BBR in Startup, in the round after that in which a repair began; `ranges` ranges of two segments were lost in it.
fn starting(repair: Repair, ranges: u64) -> (Bbr, Window) {
    let (mut bbr, mut window) = probing();
    (bbr.state, bbr.long_inflight) = (BbrState::Startup, NO_BOUND);
    (bbr.full_pipe.reached, bbr.probing.samples) = (false, false);
    bbr.repairing(&mut window, repair);
    for n in 0..ranges {
        bbr.lost(&mut window, &loss(10 * n, 2 * n + 1, 150));
        bbr.lost(&mut window, &loss(10 * n + 1, 2 * n + 2, 150));
    }
    bbr.rounds.count += 1;
    (bbr.signals.round_start, bbr.signals.inflight) = (true, 120 * MSS);
    (bbr, window)
}

/// CheckStartupHighLoss(): a round of a fast repair, six ranges, more than 2 %; each is needed.
#[test]
fn many_losses_of_a_round_end_startup() {
    let lost = |segments| RateSample { lost: segments * MSS, in_flight: 150 * MSS, ..RateSample::default() };
    let check = |bbr: &mut Bbr, sample| {
        bbr.check_startup_done(&sample);
        (bbr.state, bbr.long_inflight, bbr.full_pipe.reached)
    };
    let stays = (BbrState::Startup, NO_BOUND, false);
    let (mut bbr, mut window) = starting(Repair::Fast, 6);
    assert_eq!(check(&mut bbr, lost(3)), stays, "2 %");
    let ends = (BbrState::Drain, 120 * MSS, true);
    assert_eq!(check(&mut bbr, lost(4)), ends, "more was delivered in the round than the 100 of the model");
    bbr.spurious(&mut window, 1000 * MSS);
    assert_eq!((bbr.state, bbr.full_pipe.reached), (BbrState::Startup, false), "the losses were none");

    let (mut bbr, _) = starting(Repair::Fast, 6);
    bbr.signals.inflight = 90 * MSS;
    assert_eq!(check(&mut bbr, lost(4)).1, 100 * MSS);
    assert_eq!(check(&mut starting(Repair::Fast, 5).0, lost(12)), stays, "ten losses in five ranges");
    assert_eq!(check(&mut starting(Repair::Timeout, 6).0, lost(12)), stays);
    let (mut bbr, _) = starting(Repair::Fast, 6);
    bbr.rounds.count -= 1;
    assert_eq!(check(&mut bbr, lost(12)), stays, "the round in which the repair began");
    let (mut bbr, _) = starting(Repair::Fast, 6);
    bbr.signals.round_start = false;
    assert_eq!(check(&mut bbr, lost(12)), stays, "within the round");
}

/// Acknowledges a segment after `ms` with `in_flight` segments in flight, sent 120 ms before; it ends a round or not.
fn acknowledge(bbr: &mut Bbr, window: &mut Window, ms: u64, in_flight: u64, ends_round: bool) -> BbrState {
    let newest = Newest {
        sample: None,
        rtt: Some(Span::from_ms(120)),
        delivered: MSS,
        prior: if ends_round { bbr.delivered } else { 0 },
        lost: 0,
        in_flight: in_flight * MSS,
        limited: false,
    };
    let ack = Ack {
        now: Time::ZERO + Span::from_ms(ms),
        delivered: MSS,
        lost: 0,
        in_flight: in_flight * MSS,
        total_delivered: bbr.delivered + MSS,
        newest: Some(newest),
        repair: None,
        window_limited: true,
        source_limited: false,
    };
    bbr.acknowledged(window, &ack);
    bbr.state
}

/// CheckProbeRTT(): five seconds after the least round trip, the window falls to half of what the path holds; 200 ms and a
/// round after that much is in flight, it is back.
#[test]
fn a_stay_in_probe_rtt_lasts_200_ms_and_a_round() {
    use BbrState::{Cruise, ProbeRtt};
    let cruising = || {
        let (mut bbr, mut window) = probing();
        bbr.start_down(Time::ZERO + Span::from_secs(5));
        bbr.state = Cruise;
        assert_eq!(acknowledge(&mut bbr, &mut window, 1000, 100, true), Cruise);
        assert_eq!(acknowledge(&mut bbr, &mut window, 6000, 100, false), Cruise, "five seconds, not more");
        (bbr, window)
    };
    for rest in [
        [(6350, true, ProbeRtt), (6400, false, ProbeRtt), (6401, false, Cruise)],
        [(6401, false, ProbeRtt), (6500, false, ProbeRtt), (6501, true, Cruise)],
    ] {
        let (mut bbr, mut window) = cruising();
        let before = window.cwnd;
        assert_eq!(acknowledge(&mut bbr, &mut window, 6001, 100, true), ProbeRtt);
        assert!(bbr.holds_back());
        assert_eq!((window.cwnd, bbr.round_trips.min), (50 * MSS, Some(Span::from_ms(100))));
        assert_eq!(acknowledge(&mut bbr, &mut window, 6100, 51, true), ProbeRtt);
        assert_eq!(acknowledge(&mut bbr, &mut window, 6200, 50, true), ProbeRtt, "the 200 ms begin here");
        for (ms, ends_round, state) in rest {
            assert_eq!(acknowledge(&mut bbr, &mut window, ms, 40, ends_round), state, "{ms} ms");
        }
        assert_eq!(window.cwnd, before);
        assert!(!bbr.holds_back());
    }
    let (mut bbr, mut window) = cruising();
    bbr.idle_restart = true;
    assert_eq!(acknowledge(&mut bbr, &mut window, 6001, 100, true), Cruise, "an idle sender has measured it already");
}
