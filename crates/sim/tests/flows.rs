//! Flows that arrive by themselves, against arithmetic: completion times, slowdowns, counts and memory.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_record::RunRecord;
use cellway_scenario::Scenario;
use common::{figure, hosts_at_a_line, run, scenario, series};

/// Hosts send whole flows at once: the initial window is 10 segments of 960 B, packets of 1000 B.
const GROUP: &str = r#"[tcp]
profile = "classic"
mss = "960 B"
window = "65535 B"
initial-window = 10

[[traffic]]
name = "get"
from = "a"
to = "b"
flows = { arrivals = "periodic", interval = "500 ms", sizes = "fixed", size = "9600 B" }
"#;

fn line(set: &[(&str, &str)]) -> Scenario {
    scenario(&hosts_at_a_line(GROUP), set)
}

fn of<'a>(record: &'a RunRecord, subject: &'a str) -> impl Fn(&str) -> f64 + 'a {
    move |metric| figure(record, subject, metric)
}

fn has(record: &RunRecord, subject: &str, metric: &str) -> bool {
    record.summary.iter().any(|row| &*row.subject == subject && row.metric == metric)
}

/// SYN and SYN+ACK of 44 B take 35.2 us on a fast link and 352 us on the line, and 22 ms. The ACK of 40 B and ten
/// packets of 1000 B follow at once: 32 us for the ACK, 800 us and 1 ms for the first packet, ten times 8 ms and 20 ms
/// on the line, 800 us and 1 ms for the last.
#[test]
fn a_flow_alone_completes_in_the_time_of_its_packets() {
    let record = run(&line(&[]), 1);
    let handshake = 2.0 * (2.0 * 35.2e-6 + 352e-6 + 22e-3);
    let data = 32e-6 + 1.8e-3 + 80e-3 + 20e-3 + 1.8e-3;
    // 1.5 round trips of 44 ms, and ten packets on the line.
    let least = 66e-3 + 80e-3;
    for subject in ["get-1", "get"] {
        let of = of(&record, subject);
        for metric in ["fct_mean", "fct_p50", "fct_p95", "fct_p99", "fct_small_mean", "fct_small_p99"] {
            assert!((of(metric) - (handshake + data)).abs() < 1e-11, "{subject} {metric}: {}", of(metric));
        }
        for metric in ["slowdown_mean", "slowdown_p50", "slowdown_p95", "slowdown_p99", "slowdown_small_p95"] {
            assert!((of(metric) - (handshake + data) / least).abs() < 2e-6, "{subject} {metric}: {}", of(metric));
        }
        // At 2.0, 2.5 and so on up to 19.5 s; all complete.
        assert_eq!(["flows_started", "flows_completed", "flows_small"].map(&of), [36.0; 3]);
        for metric in ["flows_failed", "flows_rejected", "flows_medium", "fct_large_mean"] {
            assert!(!has(&record, subject, metric), "{metric}");
        }
    }
    assert_eq!(of(&record, "get-1")("goodput"), 36.0 * 9600.0 * 8.0 / 18.0);
    assert_eq!(series(&record, "get-1", "item_time").len(), 40, "each completion time has a row");
}

/// Two flows of one instant share the line: the last byte of the second arrives as late as if both were one flow.
#[test]
fn flows_that_overlap_share_the_line() {
    let two = run(&line(&[("traffic.get.count", "2")]), 1);
    let alone = figure(&run(&line(&[]), 1), "get", "fct_p50");
    let of = of(&two, "get");
    assert_eq!(of("flows_completed"), 72.0);
    // Another ten packets on the line, and an ACK of 40 B before them.
    let later = of("fct_p99") - alone;
    assert!((0.080..0.081).contains(&later), "{later}");
}

/// The load is that of all slots; a seed gives the same flows again, and another seed others.
#[test]
fn a_load_is_carried_and_a_seed_repeats_it() {
    let flows = "{ load = 0.5, sizes = \"log-normal\", median = \"4 kB\", sigma = 0.5 }";
    let set = [
        ("traffic.get.flows", flows),
        ("traffic.get.count", "2"),
        ("run.duration", "\"400 s\""),
        ("tcp.mss", "\"960 B\""),
    ];
    let scenario = line(&set);
    let record = run(&scenario, 1);
    // A mean of 4 kB times exp(0.125), 4533 B: 55.2 flows/s in 398 s on 1 Mbit/s at half load, give or take 4 standard
    // deviations of the sum of 5486 flows: sqrt(1 + 0.533 squared) / sqrt(5486) of it.
    let carried = of(&record, "get")("goodput_total") / 1e6;
    assert!((carried / 0.5 - 1.0).abs() < 4.0 * 1.133 / 5486f64.sqrt() + 0.01, "{carried}");
    let of = of(&record, "get");
    assert!(of("slowdown_mean") > 1.0 && of("slowdown_p50") >= 1.0 && of("fct_p99") > of("fct_p50"));
    let rows = |record: &RunRecord| record.summary.iter().map(|row| (row.metric.name(), row.value)).collect::<Vec<_>>();
    assert_eq!(rows(&run(&scenario, 1)), rows(&record));
    assert_ne!(rows(&run(&scenario, 2)), rows(&record));
}

/// More flows than the line carries: those beyond the limit are rejected, and those of a broken path fail.
#[test]
fn an_overload_is_bounded_and_a_dead_path_fails() {
    let set = [("traffic.get.flows.interval", "\"50 ms\""), ("traffic.get.flows.limit", "5")];
    let record = run(&line(&set), 1);
    let of_overload = of(&record, "get");
    let (started, rejected) = (of_overload("flows_started"), of_overload("flows_rejected"));
    assert_eq!(started + rejected, 360.0);
    assert!(rejected > 100.0, "{rejected}");
    let dead = [("link.line.loss", "\"99.999%\""), ("run.duration", "\"900 s\""), ("traffic.get.flows.count", "3")];
    let dead = [dead[0], dead[1], dead[2], ("run.warmup", "\"0 s\"")];
    let record = run(&line(&dead), 1);
    let of_dead = of(&record, "get");
    assert_eq!(["flows_started", "flows_completed", "flows_failed"].map(of_dead), [3.0, 0.0, 3.0]);
    assert_eq!(of(&record, "get-1")("conversations"), 1.0);
}
