//! Controlled delay (CoDel) in whole runs: the wait under a constant overload, and TCP with and without ECN.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{count, figure, queue_before_a_line, run, scenario};

fn with(traffic: &str) -> String {
    let group =
        "[[traffic]]\nname = \"t\"\nfrom = \"r1\"\nto = \"r2\"\naccess = { rate = \"1 Gbit/s\", delay = \"0 s\" }\n";
    format!("{}\n{group}{traffic}", queue_before_a_line("codel"))
}

/// Two transfers by the control of Reno.
const TWO: &str = "app = \"bulk\"\ncount = 2\nstagger = \"1 s\"\ntcp = { control = \"reno\", byte-counting = false, window = \"1 MiB\" }\n";

/// Packets of 1250 B at 10.1 Mbit/s enter a line of 10 Mbit/s. No drop slows them down, so 10 of 1010 in a second must be
/// dropped, and not more: drops end once packets wait less than the target.
#[test]
fn a_small_overload_costs_few_packets() {
    let text = with("udp = { packet = \"1250 B\", rate = \"10100000 bit/s\" }\n");
    let record = run(&scenario(&text, &[]), 1);
    let of = |metric| figure(&record, "r1>r2", metric);
    assert_eq!(of("early_drops"), of("dropped_packets"), "the memory never fills");
    // What is not dropped in the measured 50 s is sent, but for the difference of the queue at its ends.
    let excess = (10.1e6 - 10e6) / (8.0 * 1250.0) * 50.0;
    assert!((of("dropped_packets") - excess).abs() <= of("queue_max"), "{}", of("dropped_packets"));
    assert_eq!(of("utilisation"), 1.0);
}

/// TCP without a target would fill the window of 1 MiB, of which the path holds 50 kB: 0.8 s of waiting. With CoDel the
/// mean wait is below the target of 5 ms, and the line is busy for most of the time (94.9 % with drops, 95.3 % with marks).
#[test]
fn tcp_waits_near_the_target_with_drops_and_with_marks() {
    for ecn in [false, true] {
        let set = [
            ("tcp.ecn", if ecn { "true" } else { "false" }),
            ("buffer.codel", if ecn { "{ ecn = true }" } else { "{}" }),
        ];
        let record = run(&scenario(&with(TWO), &set), 1);
        let of = |metric| figure(&record, "r1>r2", metric);
        assert!(of("utilisation") > 0.94, "ecn {ecn}: {}", of("utilisation"));
        // By Little's law, with packets of 1500 B.
        let wait = of("queue_mean") * 8.0 * 1500.0 / (10e6 * of("utilisation"));
        assert!(wait < 5e-3, "ecn {ecn}: {wait} s");
        let counts = ["early_drops", "marked"].map(|metric| count(&record, metric) > 0.0);
        assert_eq!(counts, [!ecn, ecn]);
    }
}
