//! Predictions for one path: published set-ups, and the same loop simulated cell by cell.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod reference;

use cellway_scenario::{BufferSize, CongestionControl};
use cellway_theory::{Error, Limit, LineFraming, PathInput, predict_path};
use cellway_units::{Bytes, Cells, Rate, Span};
use proptest::prelude::*;
use reference::{Setting, run};

fn rate(text: &str) -> Rate {
    text.parse().unwrap()
}

/// kdd section 4.4.1: four segments of 8192 B in 36 592 B, PCR 30.0 Mbit/s, 175 ms.
fn kdd() -> PathInput {
    let path = PathInput::new(rate("30 Mbit/s"), Span::from_ms(175), Bytes(36_592));
    PathInput { mss: Bytes(8192), ..path }
}

#[test]
fn kdd_without_gateways_is_held_by_its_window() {
    let prediction = predict_path(&kdd()).unwrap();
    let binding = prediction.binding();
    assert_eq!((binding.limit, binding.equation), (Limit::Window, "window-limited"));
    assert!(binding.caveats[0].contains("3824 B of 36592 B"), "{:?}", binding.caveats);
    // 172 cells of a segment, 2 of an acknowledgement, at 30 Mbit/s.
    let round = 0.175 + (172.0 + 2.0) * 424.0 / 30e6;
    assert!((prediction.goodput - 4.0 * 8192.0 * 8.0 / round).abs() < 1e-6);
    assert_eq!(format!("{:.2}", prediction.goodput / 1e6), "1.48");
    // A segment takes 2.431 ms of a round of 177.46 ms: 73 of them leave a gap of a microsecond.
    assert_eq!(prediction.window_needed, Bytes(74 * 8192));
    assert_eq!(prediction.advice, "set the receive window to 592 KiB, with window scaling, or place a gateway pair");
    let wide = predict_path(&PathInput { window: prediction.window_needed, ..kdd() }).unwrap();
    assert_eq!(wide.binding().limit, Limit::Framing);
    let close = predict_path(&PathInput { window: Bytes(73 * 8192), ..kdd() }).unwrap();
    assert_eq!(close.binding().limit, Limit::Window);
}

/// magic scenario 1: OC-3c through TAXI, 256 cells of buffer, 128 KiB of window, MTU 9180.
fn magic() -> PathInput {
    let path = PathInput::new(rate("98148148 bit/s"), Span::from_us(8800), Bytes(131_072));
    PathInput {
        mss: Bytes(9140),
        source: Some(rate("149.76 Mbit/s")),
        buffer: Some(BufferSize::Cells(Cells(256))),
        ..path
    }
}

#[test]
fn magic_without_pacing_has_a_caveat_of_its_bursts() {
    let prediction = predict_path(&magic()).unwrap();
    let [burst] = &prediction.caveats[..] else { panic!("{:?}", prediction.caveats) };
    assert!(burst.starts_with("3 of the 14 segments"), "{burst}");
    assert!(burst.contains("shape the source") && burst.ends_with("a buffer of 927 cell or more"), "{burst}");
    let enough = Some(BufferSize::Cells(Cells(prediction.buffer_needed.value.ceil() as u64)));
    assert_eq!(prediction.buffer_needed.unit, "cell");
    // With 2c > h slow start sends its last 14 segments without a pause.
    assert!((prediction.buffer_needed.value - 14.0 * 192.0 * (1.0 - 98.148148 / 149.76)).abs() < 1e-6);
    let held = predict_path(&PathInput { buffer: enough, ..magic() }).unwrap();
    assert_eq!(held.caveats, [""; 0]);
    assert_eq!((held.goodput, held.bounds), (prediction.goodput, prediction.bounds));
    // Paced below TAXI no queue forms there; OC-3c / 2 carries 67.3 Mbit/s of payload.
    let paced = predict_path(&PathInput { shaping: Some(rate("74.88 Mbit/s")), ..magic() }).unwrap();
    assert_eq!(paced.binding().limit, Limit::Shaping);
    assert_eq!(format!("{:.1}", paced.goodput / 1e6), "67.3");
    assert_eq!(paced.buffer_needed.value, 0.0);
    assert_eq!(paced.caveats, [""; 0]);
}

#[test]
fn spacing_figure_3_agrees_with_theorem_3() {
    // δ such that Δ′ = δ + 2σ/c is 3.6 ms: the path's round trip has 31 cells at c, three cells at h
    // (source, line, acknowledgement) and the propagation.
    let (c, h) = (36_000.0, 80_000.0);
    let propagation = 3.6e-3 - 2.0 * 32.0 / c - (31.0 / c + 3.0 / h) + 32.0 / c;
    let path = PathInput {
        mss: Bytes(1476),
        framing: LineFraming::Aal5VcMux,
        delayed_ack: true,
        shaping: Some(rate("15.264 Mbit/s")),
        ..PathInput::new(rate("33.92 Mbit/s"), Span::from_secs_f64(propagation), Bytes(41 * 1476))
    };
    let prediction = predict_path(&path).unwrap();
    let needed = prediction.spacer_buffer.unwrap();
    assert_eq!(needed.unit, "cell");
    assert!((needed.value - 1217.6).abs() < 1e-3, "{needed:?}");
    assert_eq!(prediction.binding().limit, Limit::Shaping);
}

#[test]
fn windows_with_every_second_segment_acknowledged_go_as_simulated() {
    // σ = 8 cells at 100 cells in 10 ms, from a source of 500; δ of 20 to 60 segments.
    for (window, pipe) in
        [(2, 20), (3, 20), (4, 20), (5, 20), (7, 31), (12, 31), (15, 60), (16, 60), (30, 20), (31, 20)]
    {
        for covers in [1, 2] {
            let (segment, peak, spaced) = (8, 500, 100);
            let delay = pipe * segment * peak;
            let total = 60 * window + 1000;
            let (initial, threshold) = (2, window);
            let s = Setting { segment, peak, rate: spaced, delay, covers, initial, threshold, window, total };
            let trace = run(s);
            let acks = &trace.acknowledgements[..trace.acknowledgements.len() - window as usize];
            // Rounds of the same acknowledgements: an even number of windows of segments.
            let per_round = if covers == 2 { (window - window % 2) / 2 } else { window } as usize;
            let last = acks.len() - 1;
            let first = last - per_round * (acks.len() / 2 / per_round);
            let segments = (last - first) as u64 * covers;
            let seconds = (acks[last].0 - acks[first].0) as f64 / (peak * spaced * 100) as f64;
            let simulated = segments as f64 / seconds;
            // The loop: the arrival of the first cell of a segment, the service of the segment, and δ.
            let loop_ticks = (delay + spaced) as f64 / (peak * spaced * 100) as f64;
            let line = Rate::from_bps(spaced * 100 * 424);
            // The path counts an acknowledgement of one cell at the line's rate; the simulation, none.
            let path = PathInput {
                mss: Bytes(8 * 48 - 48),
                framing: LineFraming::Aal5VcMux,
                delayed_ack: covers == 2,
                ..PathInput::new(line, Span::from_secs_f64(loop_ticks - 1e-4), Bytes(window * (8 * 48 - 48)))
            };
            let prediction = predict_path(&path).unwrap();
            let predicted = prediction.goodput / ((8 * 48 - 48) * 8) as f64;
            assert!((predicted / simulated - 1.0).abs() < 1e-6, "{window} {pipe} {covers}: {predicted} {simulated}");
        }
    }
}

#[test]
fn loss_holds_a_long_path() {
    let path = PathInput { window: Bytes(1 << 22), loss: Some(0.01), ..kdd() };
    let cubic = predict_path(&path).unwrap();
    assert_eq!((cubic.binding().limit, cubic.binding().equation), (Limit::Loss, "cubic"));
    let reno = predict_path(&PathInput { control: CongestionControl::Reno, ..path }).unwrap();
    assert_eq!((reno.binding().limit, reno.binding().equation), (Limit::Loss, "pftk"));
    assert!(reno.bounds.iter().any(|b| b.equation == "mathis"));
    assert!(reno.goodput < cubic.goodput);
}

#[test]
fn no_model_for_nonsense() {
    let refused = |path: PathInput| match predict_path(&path).unwrap_err() {
        Error::Undefined { place, what, accepted } => format!("{place}: {what}: {accepted}"),
        other => panic!("{other}"),
    };
    assert!(refused(PathInput { loss: Some(1.0), ..kdd() }).contains("0 < loss < 1"));
    assert!(refused(PathInput { loss: Some(f64::NAN), ..kdd() }).contains("0 < loss < 1"));
    assert!(refused(PathInput { rate: Rate::from_bps(0), ..kdd() }).contains("rates above 0"));
    assert!(refused(PathInput { mss: Bytes(0), ..kdd() }).contains("at least 1 B"));
    assert!(refused(PathInput { connections: 0, ..kdd() }).contains("connections is 0: at least 1"));
    let cells = PathInput { framing: LineFraming::Ethernet, buffer: Some(BufferSize::Cells(Cells(1))), ..kdd() };
    assert!(refused(cells).contains("a buffer in bytes"));
    for (path, accepted) in [
        (PathInput { rate: Rate::from_bps(u64::MAX), ..kdd() }, "1000 Gbit/s"),
        (PathInput { source: Some(Rate::from_bps(u64::MAX)), ..kdd() }, "1000 Gbit/s"),
        (PathInput { rtt: Span::from_secs(86_401), ..kdd() }, "24 h"),
        (PathInput { rto: Span::from_secs(86_401), ..kdd() }, "24 h"),
        (PathInput { mss: Bytes(u64::MAX), ..kdd() }, "1024 GiB"),
        (PathInput { window: Bytes(u64::MAX), ..kdd() }, "1024 GiB"),
        (PathInput { send_buffer: Some(Bytes(u64::MAX)), ..kdd() }, "1024 GiB"),
        (PathInput { buffer: Some(BufferSize::Cells(Cells(u64::MAX))), ..kdd() }, "1000000000000 cells"),
        (PathInput { connections: u32::MAX, ..kdd() }, "1000000 connections"),
    ] {
        assert!(refused(path).contains(accepted), "{path:?}");
    }
    let window = Bytes(1 << 40);
    let most = PathInput { connections: 1_000_000, mss: Bytes(1), delayed_ack: true, ..kdd() };
    let rtt = Span::from_secs(86_400);
    assert!(predict_path(&PathInput { window, rtt, rate: Rate::from_bps(1_000_000_000_000), ..most }).is_ok());
    // A path without propagation is valid: the line is the limit.
    let near = predict_path(&PathInput { rtt: Span::ZERO, ..kdd() }).unwrap();
    assert_eq!(near.binding().limit, Limit::Framing);
    // A window below a segment is predicted, with a caveat.
    let tiny = predict_path(&PathInput { window: Bytes(1000), ..kdd() }).unwrap();
    assert!(tiny.binding().caveats[0].contains("below one segment"));
}

fn any_path() -> impl Strategy<Value = PathInput> {
    let framing = prop::sample::select(LineFraming::ALL.to_vec());
    let rates = (1_000_000u64..1_000_000_000, prop::option::of(1_000_000u64..1_000_000_000));
    let sizes = (1u64..1 << 24, 1u64..9000);
    (rates, 0u64..1_000_000, sizes, framing, any::<bool>(), 1u32..50, prop::option::of(1e-5..0.5)).prop_map(
        |((rate, shaping), rtt, (window, mss), framing, delayed_ack, connections, loss)| PathInput {
            mss: Bytes(mss),
            framing,
            delayed_ack,
            connections,
            loss,
            // Half of the paths with each.
            control: if delayed_ack { CongestionControl::Reno } else { CongestionControl::Cubic },
            shaping: shaping.map(Rate::from_bps),
            ..PathInput::new(Rate::from_bps(rate), Span::from_us(rtt), Bytes(window))
        },
    )
}

proptest! {
    #[test]
    fn goodput_is_the_least_bound_and_below_the_line(path in any_path()) {
        let p = predict_path(&path).unwrap();
        prop_assert!(p.bounds.iter().all(|b| b.value >= p.goodput) && p.binding().value == p.goodput);
        prop_assert!(p.goodput > 0.0 && p.goodput < path.rate.as_bps() as f64);
        prop_assert!(p.window_needed.0.is_multiple_of(path.mss.0) && !p.advice.is_empty());
    }

    #[test]
    fn more_window_is_never_worse_and_enough_is_enough(path in any_path(), more in 1u64..1 << 20) {
        let goodput = |window| predict_path(&PathInput { window, ..path }).unwrap();
        let now = goodput(path.window);
        let wider = goodput(Bytes(path.window.0 + more));
        // A window below a segment is split into smaller ones, which are not compared with full ones.
        prop_assume!(path.window >= path.mss && !path.delayed_ack);
        prop_assert!(wider.goodput >= now.goodput * (1.0 - 1e-12));
        let enough = goodput(now.window_needed);
        let least = enough.bounds.iter().filter(|b| b.limit != Limit::Window).map(|b| b.value).fold(f64::INFINITY, f64::min);
        prop_assert!(enough.goodput >= least * (1.0 - 1e-9));
    }

    #[test]
    fn a_longer_path_or_more_loss_is_never_better(path in any_path(), longer in 1u64..1_000_000, worse in 0.0f64..0.4) {
        let now = predict_path(&path).unwrap().goodput;
        let far = predict_path(&PathInput { rtt: path.rtt + Span::from_us(longer), ..path }).unwrap().goodput;
        prop_assert!(far <= now * (1.0 + 1e-9));
        let loss = path.loss.map(|p| p + worse);
        let lossy = predict_path(&PathInput { loss, ..path }).unwrap().goodput;
        prop_assert!(lossy <= now * (1.0 + 1e-9));
    }
}
