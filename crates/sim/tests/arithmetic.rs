//! Whole runs against arithmetic: the goodput of one conversation, to the segment.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_apps::{GroupWorkload, Knot, QuantileModel, Tables, Variable, Workload};
use common::{BULK, LINE, NetworkPath, PS, cells, delivered, figure, ps, run, run_with, scenario, series};

/// A window far larger than the path fills the line: then goodput is the line rate times payload bits over cell bits,
/// except for one segment cut by each end of the measurement. The access link is fast, so that the ATM line is the
/// bottleneck for every MSS.
#[test]
fn a_large_window_saturates_the_line_at_the_efficiency_of_aal5() {
    // The cells of each frame, from the table of AAL5 efficiencies by MSS and encapsulation.
    for (mss, llc, expected_cells) in [
        (512, false, 12),
        (512, true, 12),
        (536, true, 13),
        (1460, true, 32),
        (9140, true, 192),
        (472, true, 11),
        (472, false, 11),
    ] {
        assert_eq!(cells(mss + 40, llc), expected_cells);
        let encapsulation = if llc { "\"llc-snap\"" } else { "\"vc-mux\"" };
        let s = scenario(
            BULK,
            &[
                ("tcp.mss", &format!("\"{mss} B\"")),
                // Whole segments, so that none is sent short at the end of the window.
                ("tcp.window", &format!("\"{} B\"", 65_535 / mss * mss)),
                ("multiplexing.encapsulation", encapsulation),
                ("traffic.bulk.access.rate", "\"10 Mbit/s\""),
            ],
        );
        let record = run(&s, 1);
        for port in ["r1>s1", "s1>r2"] {
            assert_eq!(figure(&record, port, "utilisation"), 1.0, "MSS {mss}: {port} never rests");
        }
        let span = u128::from((s.run.duration - s.run.warmup).as_ps());
        let segments = span as f64 / (expected_cells * 424 * PS) as f64 * LINE as f64;
        let got = delivered(&s, &record, "bulk-1") as f64 / f64::from(mss);
        assert!((got - segments).abs() <= 1.0, "MSS {mss}, LLC/SNAP {llc}: {got} segments for {segments:.2}");
        assert_eq!(figure(&record, "network", "lost_frames"), 0.0);
        assert_eq!(figure(&record, "bulk-1", "retransmissions"), 0.0);
        // The share of the line counts the cells of whole frames, like the utilisation.
        let share = figure(&record, "bulk-1", "line_share");
        let of_segments = got * (expected_cells * 424) as f64 / (span as f64 / PS as f64 * LINE as f64);
        assert!((share - of_segments).abs() < 1e-9, "MSS {mss}: {share}, not {of_segments} of {got} segments");
    }
}

/// A packet of 41 octets, such as a character sent to a terminal, takes one cell without an AAL5 trailer, and two with
/// one.
#[test]
fn without_a_trailer_a_packet_of_48_octets_is_one_cell() {
    for (encapsulation, mss, expected_cells) in
        [("\"none\"", 1, 1), ("\"vc-mux\"", 1, 2), ("\"none\"", 8, 1), ("\"none\"", 9, 2), ("\"none\"", 512, 12)]
    {
        let mss_text = format!("\"{mss} B\"");
        let set = [
            ("tcp.mss", &mss_text[..]),
            ("tcp.window", &mss_text),
            ("multiplexing.encapsulation", encapsulation),
            ("run.duration", "\"100 s\""),
        ];
        let record = run(&scenario(BULK, &set), 1);
        let (share, goodput) = (figure(&record, "bulk-1", "line_share"), figure(&record, "bulk-1", "goodput"));
        // The cells of each segment, computed from its share of the line and its payload.
        let got = share * LINE as f64 / 424.0 / (goodput / (f64::from(mss) * 8.0));
        assert!((got - f64::from(expected_cells)).abs() < 1e-6, "{encapsulation}, MSS {mss}: {got}");
    }
}

/// Checks a window that does not fill the path: each round trip, the time of one segment and its acknowledgement alone
/// in the network, carries exactly one window.
fn exactly_one_window_a_round_trip(path: &NetworkPath, set: &[(&str, &str)], mss: u32, window: u32) {
    const ROUNDS: u128 = 500;
    let (rtt, segments) = (path.round_trip(mss + 40), window / mss);
    let bottleneck = path.atm.iter().map(|l| l.0).min().unwrap();
    assert!(u128::from(segments) * cells(mss + 40, path.llc) * 424 * PS / bottleneck < rtt, "the window must bind");
    let warmup = 5 * PS + 1;
    let (duration, warmup_text) = (ps(warmup + ROUNDS * rtt), ps(warmup));
    let (mss_text, window_text) = (format!("\"{mss} B\""), format!("\"{window} B\""));
    let mut all = vec![
        ("tcp.mss", &mss_text[..]),
        ("tcp.window", &window_text),
        ("run.duration", &duration),
        ("run.warmup", &warmup_text),
    ];
    all.extend_from_slice(set);
    let s = scenario(BULK, &all);
    let record = run(&s, 1);
    let rounds = delivered(&s, &record, "bulk-1") as f64 / f64::from(window);
    assert_eq!(rounds, ROUNDS as f64, "windows of {window} B, round trip {} ms", rtt as f64 / 1e9);
    assert_eq!(figure(&record, "bulk-1", "window_mean"), f64::from(window));
    assert_eq!(figure(&record, "bulk-1", "window_at_max"), 1.0);
    let throughput = figure(&record, "bulk-1", "throughput");
    let expected = f64::from(window) * 8.0 * PS as f64 / rtt as f64 / s.traffic[0].bottleneck.as_bps() as f64;
    assert!((throughput - expected).abs() < 1e-9, "{throughput}, not {expected}");
}

#[test]
fn a_small_window_is_sent_once_a_round_trip() {
    for window in [512, 4096, 8192] {
        exactly_one_window_a_round_trip(&NetworkPath::cellsim(), &[], 512, window);
    }
    let llc = NetworkPath { llc: true, ..NetworkPath::cellsim() };
    exactly_one_window_a_round_trip(&llc, &[("multiplexing.encapsulation", "\"llc-snap\"")], 1460, 2 * 1460);
}

#[test]
fn the_policy_does_not_matter_to_a_conversation_alone() {
    for policy in ["\"per-type\"", "\"per-destination\""] {
        exactly_one_window_a_round_trip(&NetworkPath::cellsim(), &[("multiplexing.channel", policy)], 512, 4096);
    }
}

#[test]
fn each_delay_and_rate_on_the_path_counts() {
    let path = NetworkPath {
        access: (10_000_000, 3_000_000_000),
        atm: vec![(40_704_000, 7_000_000_000), (6_000_000, 1_000_000_000)],
        llc: false,
    };
    let set = [
        ("link.r1-s1.rate", "\"40.704 Mbit/s\""),
        ("link.r1-s1.delay", "\"7 ms\""),
        ("link.s1-r2.rate", "\"6 Mbit/s\""),
        ("link.s1-r2.delay", "\"1 ms\""),
        ("traffic.bulk.access.rate", "\"10 Mbit/s\""),
        ("traffic.bulk.access.delay", "\"3 ms\""),
    ];
    for (mss, window) in [(512, 4096), (1460, 5840), (9140, 9140)] {
        exactly_one_window_a_round_trip(&path, &set, mss, window);
    }
}

/// Tahoe's slow start on a path with nearly no serialisation delay: 1, 2, 4, ... segments a round trip, up to the
/// receiver's window, at which it remains.
#[test]
fn slow_start_doubles_the_window_each_round_trip() {
    let fast = "\"1 Gbit/s\"";
    let s = scenario(
        BULK,
        &[
            ("link.*.rate", fast),
            ("traffic.bulk.access.rate", fast),
            ("tcp.window", "\"32768 B\""),
            ("run.duration", "\"2 s\""),
            ("run.warmup", "\"0 s\""),
            ("observe.trace", "[\"bulk-1\"]"),
        ],
    );
    let trace = series(&run(&s, 1), "bulk-1", "window");
    let segments: Vec<f64> = trace.iter().map(|(_, bytes)| bytes / 512.0).collect();
    let begin = segments.iter().position(|&w| w == 1.0).expect("it starts with one segment");
    assert_eq!(segments[begin..], (1..=64).map(f64::from).collect::<Vec<_>>(), "one segment for each acknowledgement");
    // The initial window is there when the SYN is answered; a round trip later the first data is.
    let rtt = 0.045;
    let connected = trace[begin].0;
    for round in 1..=6 {
        let by_then = |t: f64| trace.iter().rfind(|(at, _)| *at <= connected + t).unwrap().1 / 512.0;
        let doubled = f64::from(1 << round);
        assert_eq!(by_then(rtt * f64::from(round) + rtt / 2.0), doubled, "after {round} round trips");
    }
}

fn always(value: f64) -> QuantileModel {
    QuantileModel::new(vec![Knot { value, probability: 0.5 }, Knot { value: value + 0.5, probability: 1.0 }], "t")
        .unwrap()
}

/// One TELNET alone that types one byte every five seconds: the byte's delay is that of the path, and of the path back
/// behind the acknowledgement that leaves first.
#[test]
fn the_delay_of_a_lone_keystroke_is_the_sum_of_its_path() {
    let s = scenario(
        BULK,
        &[("traffic.bulk.app", "\"telnet\""), ("run.duration", "\"3000 s\""), ("run.warmup", "\"100 s\"")],
    );
    let GroupWorkload::Conversations(Workload::Telnet(mut telnet)) = common::workloads(&s).remove(0) else {
        panic!("TELNET")
    };
    telnet.tables = Tables::shipped()
        .with(Variable::TelnetPacketSize, always(1.0))
        .with(Variable::TelnetInterarrival, always(5000.0))
        .with(Variable::TelnetDuration, always(100_000.0));
    let record = run_with(&s, &[GroupWorkload::Conversations(Workload::Telnet(telnet))], 1);
    let path = NetworkPath::cellsim();
    let there = path.travel(&[(0, 41)])[0];
    let delay = path.back().travel(&[(there, 40), (there, 41)])[1] as f64 / PS as f64;
    for subject in ["bulk-1", "bulk"] {
        let mean = figure(&record, subject, "delay_mean");
        // Rounding at the line delays each of its units by up to a picosecond.
        assert!((mean - delay).abs() < 1e-10, "{mean}, not {delay}");
        assert!(figure(&record, subject, "delay_sd") < 1e-10);
        assert!((figure(&record, subject, "delay_p95") - delay).abs() < 1e-10);
        assert!((figure(&record, subject, "delay_mean_rtt") - delay / 0.045).abs() < 1e-8);
    }
    assert!(figure(&record, "bulk-1", "conversations") > 10.0);
}

/// Two transfers of one segment a round trip, the second a third of the run later: Jain's index is one
/// half while one is alone, and one from then on.
#[test]
fn jains_index_of_one_and_then_two_equal_transfers() {
    let rtt = NetworkPath::cellsim().round_trip(552);
    let window = 100 * rtt;
    let s = scenario(
        BULK,
        &[
            ("tcp.window", "\"512 B\""),
            ("traffic.bulk.count", "2"),
            ("traffic.bulk.stagger", &ps(4 * window)),
            ("run.warmup", "\"0 s\""),
            ("run.duration", &ps(12 * window)),
            ("observe.fairness-window", &ps(window)),
        ],
    );
    let record = run(&s, 1);
    assert_eq!(figure(&record, "bulk", "jain_min"), 0.5);
    // Four windows at 1/2, eight at 1, but for the two round trips in which the second one connects.
    let together = |n: f64| (100.0 + n).powi(2) / (2.0 * (100.0 * 100.0 + n * n));
    let expected = (4.0 * 0.5 + together(98.0) + 7.0) / 12.0;
    let jain = figure(&record, "bulk", "jain");
    assert!((jain - expected).abs() < 1e-3, "{jain}, not {expected}");
}
