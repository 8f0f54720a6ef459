//! Controlled delay (CoDel) in whole runs: the wait under a constant overload, and TCP with and without ECN.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_record::RunRecord;
use common::{figure, run, scenario};

/// A line of 10 Mbit/s between two routers, with CoDel before it and memory that never fills.
const LINE: &str = r#"version = 1
name = "line"
node = [{ name = "r1", kind = "router" }, { name = "r2", kind = "router" }]

[run]
duration = "60 s"
warmup = "20 s"

[buffer]
size = "10 MB"
per = "port"
count = "packet"
queue = "codel"

[[link]]
name = "line"
between = ["r1", "r2"]
rate = "10 Mbit/s"
delay = "20 ms"

[[traffic]]
name = "t"
from = "r1"
to = "r2"
access = { rate = "1 Gbit/s", delay = "0 s" }
"#;

/// Two transfers by the control of Reno.
const TWO: &str = "app = \"bulk\"\ncount = 2\nstagger = \"1 s\"\ntcp = { control = \"reno\", window = \"1 MiB\" }\n";

/// A summary row that only ports with a nonzero count have.
fn count(record: &RunRecord, metric: &str) -> f64 {
    let row = record.summary.iter().find(|row| &*row.subject == "r1>r2" && row.metric == metric);
    row.map_or(0.0, |row| row.value)
}

/// Packets of 1250 B at 10.1 Mbit/s enter a line of 10 Mbit/s. No drop slows them down, so 10 of 1010 in a second must be
/// dropped, and not more: drops end once packets wait less than the target.
#[test]
fn a_small_overload_costs_few_packets() {
    let text = format!("{LINE}udp = {{ packet = \"1250 B\", rate = \"10100000 bit/s\" }}\n");
    let record = run(&scenario(&text, &[]), 1);
    let of = |metric| figure(&record, "r1>r2", metric);
    assert_eq!(of("early_drops"), of("dropped_packets"), "the memory never fills");
    // The queue at both ends of the measured 40 s differs by few packets.
    assert!((of("dropped_packets") - 400.0).abs() < 20.0, "{}", of("dropped_packets"));
    assert!(of("utilisation") > 0.999, "{}", of("utilisation"));
}

/// TCP without a target would fill the window of 1 MiB, of which the path holds 50 kB: 0.8 s of waiting. With CoDel the
/// wait is near the target of 5 ms: at most a round trip more while drops take effect (RFC 8289 section 3.2).
#[test]
fn tcp_waits_near_the_target_with_drops_and_with_marks() {
    for ecn in [false, true] {
        let set = [
            ("tcp.ecn", if ecn { "true" } else { "false" }),
            ("buffer.codel", if ecn { "{ ecn = true }" } else { "{}" }),
        ];
        let record = run(&scenario(&format!("{LINE}{TWO}"), &set), 1);
        let of = |metric| figure(&record, "r1>r2", metric);
        assert!(of("utilisation") > 0.85, "ecn {ecn}: {}", of("utilisation"));
        // 12 packets of 1500 B take 14.4 ms.
        assert!(of("queue_mean") < 12.0, "ecn {ecn}: {}", of("queue_mean"));
        let (drops, marks) = (count(&record, "early_drops"), count(&record, "marked"));
        assert!(if ecn { marks > 10.0 && drops == 0.0 } else { drops > 10.0 && marks == 0.0 }, "{drops} {marks}");
    }
}
