//! Properties of every run: it is a function of scenario and seed, and no loss is uncounted.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::cell::Cell;

use cellway_scenario::{Plan, Scenario};
use cellway_sim::{Control, Error};
use common::{
    BULK, delivered, figure, read_traces, repository, run, run_with, scenario, series, workloads, workloads_in,
};

/// Returns the network of the paper for a short time: one TELNET and five FTP.
fn cellsim(set: &[(&str, &str)]) -> Scenario {
    let text = std::fs::read_to_string(repository("papers/cellsim/cellsim.toml")).unwrap();
    let mut all = vec![
        ("run.duration", "\"600 rtt\""),
        ("run.warmup", "\"100 rtt\""),
        ("observe.interval", "\"50 rtt\""),
        ("observe.fairness-window", "\"50 rtt\""),
    ];
    all.extend_from_slice(set);
    scenario(&text, &all)
}

const POLICIES: [&str; 3] = ["\"per-conversation\"", "\"per-type\"", "\"per-destination\""];

#[test]
fn the_same_seed_gives_the_same_record_and_another_seed_another() {
    for policy in POLICIES {
        let s = cellsim(&[("multiplexing.channel", policy), ("observe.trace", "[\"ftp-1\", \"telnet-1\"]")]);
        let first = run(&s, 7);
        assert!(first.series.len() > 100 && first.counts.events > 10_000);
        assert_eq!(first, run(&s, 7), "{policy}");
        let other = run(&s, 8);
        assert_ne!(first.summary, other.summary, "{policy}");
        assert_ne!(first.counts.events, other.counts.events, "{policy}");
    }
}

#[test]
fn a_run_stops_on_request() {
    let s = scenario(
        BULK,
        &[("run.duration", "\"3 h\""), ("observe.interval", "\"10 min\""), ("observe.fairness-window", "\"10 min\"")],
    );
    let asked = Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() == 3
    };
    match cellway_sim::run(&s, &workloads(&s), 1, Control::new(&stop)) {
        Err(Error::Stopped { at }) => assert!((1.0..3600.0).contains(&at.as_secs_f64()), "{at}"),
        other => panic!("not stopped: {other:?}"),
    }
    assert_eq!(asked.get(), 3, "once it has said so, it is not asked again");
}

#[test]
fn a_capture_at_no_node_names_the_nodes() {
    let s = scenario(BULK, &[]);
    let (mut file, mut records) = (Vec::new(), 0);
    let capture = Some(cellway_sim::Capture::new("r9", &mut file, &mut records));
    let refused = cellway_sim::run(&s, &workloads(&s), 1, Control { capture, ..Control::new(&|| false) }).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "there is no node \"r9\" to capture at; the nodes are bulk-1, bulk-1-sink, r1, r2, s1"
    );
}

/// Each cell that a router sends arrives, is dropped and counted, or is in flight at the end.
#[test]
fn cells_are_forwarded_dropped_or_in_flight() {
    for (policy, buffer, discard) in [
        (POLICIES[0], "\"159 cell\"", "\"frame\""),
        (POLICIES[1], "\"20 cell\"", "\"cell\""),
        (POLICIES[2], "\"20 cell\"", "\"frame\""),
    ] {
        // The second line is slower, so that the switch drops too.
        let s = cellsim(&[
            ("multiplexing.channel", policy),
            ("buffer.size", buffer),
            ("buffer.discard", discard),
            ("link.s1-r2.rate", "\"1.2 Mbit/s\""),
            ("run.warmup", "\"0 s\""),
        ]);
        let record = run(&s, 3);
        let of = |port: &str, metric: &str| figure(&record, port, metric);
        let (sent, passed, dropped) = (of("r1>s1", "cells"), of("s1>r2", "cells"), of("s1>r2", "dropped_cells"));
        let under_way = sent - passed - dropped;
        // On the line for 22.5 ms, in the switch's buffer, in service.
        let most = 22.5e-3 * 1.5e6 / 424.0 + of("s1>r2", "queue_max") + 2.0;
        assert!((0.0..=most).contains(&under_way), "{policy}: {sent} = {passed} + {dropped} + {under_way}");
        let hops: f64 = ["r1>s1", "s1>r2", "r2>s1", "s1>r1"].iter().map(|port| of(port, "cells")).sum();
        assert_eq!(
            record.counts.cell_hops as f64, hops,
            "{policy}: every cell that left a line is in its port's count"
        );
        if buffer == "\"20 cell\"" {
            assert!(dropped > 0.0 && of("network", "lost_frames") > 0.0, "{policy}: so small a buffer overflows");
            assert!(
                of("network", "lost_frames_length") > 0.0,
                "{policy}: frames without all their cells are discarded"
            );
        }
        for port in ["r1>s1", "s1>r2"] {
            let rate = if port == "r1>s1" { 1.5e6 } else { 1.2e6 };
            let busy = of(port, "cells") * 424.0 / rate / (600.0 * 0.045);
            assert!((of(port, "utilisation") - busy).abs() < 1e-4, "{policy}: {port} is busy for its cells, no more");
        }
    }
}

/// Transfers of a known size under loss: the delivered bytes are whole transfers and part of one, so none arrives
/// twice, out of order or unsent.
#[test]
fn every_variant_delivers_each_byte_once_and_keeps_a_lossy_line_busy() {
    const SIZE: u64 = 300_000;
    // The buffer is one bandwidth-delay product: a sender that halves its window keeps the line busy,
    // one that starts again from a segment leaves it idle for a few round trips after each loss.
    let variants = [
        ("tahoe", "tahoe", 0.7),
        ("reno", "reno", 0.8),
        ("newreno", "newreno", 0.85),
        ("sack", "sack", 0.85),
        ("reno", "rack", 0.85),
    ];
    for (variant, recovery, busy) in variants {
        let s = scenario(
            BULK,
            &[
                ("tcp.variant", &format!("\"{variant}\"")),
                ("tcp.recovery", &format!("\"{recovery}\"")),
                ("tcp.window", "\"65535 B\""),
                ("tcp.timer-granularity", "\"10 ms\""),
                ("tcp.rto-min", "\"200 ms\""),
                ("buffer.size", "\"159 cell\""),
                ("traffic.bulk.workload.size", &format!("\"{SIZE} B\"")),
                ("traffic.bulk.count", "3"),
                ("run.warmup", "\"0 s\""),
            ],
        );
        let record = run(&s, 1);
        let mut retransmissions = 0.0;
        for slot in ["bulk-1", "bulk-2", "bulk-3"] {
            let (bytes, items) = (delivered(&s, &record, slot), figure(&record, slot, "items") as u64);
            assert!(items >= 2, "{variant}, {recovery}: {items} transfers of {slot}");
            assert!(
                (items * SIZE..(items + 1) * SIZE).contains(&bytes),
                "{variant}, {recovery}: {bytes} bytes of {items} transfers"
            );
            let conversations = figure(&record, slot, "conversations") as u64;
            assert!(
                conversations <= items && conversations + 1 >= items,
                "{variant}, {recovery}: {conversations} of {items} over"
            );
            assert_eq!(figure(&record, slot, "failures"), 0.0, "{variant}, {recovery}");
            retransmissions += figure(&record, slot, "retransmissions");
        }
        let dropped = figure(&record, "r1>s1", "dropped_frames");
        assert!(
            dropped > 0.0 && retransmissions >= dropped - 3.0,
            "{variant}, {recovery}: {retransmissions} for {dropped} lost"
        );
        let utilisation = figure(&record, "r1>s1", "utilisation");
        println!(
            "{variant}, {recovery}: utilisation {utilisation:.3}, {dropped} dropped, {retransmissions} sent again"
        );
        assert!(utilisation > busy, "{variant}, {recovery}: {utilisation}");
        let all: f64 = ["bulk-1", "bulk-2", "bulk-3"].iter().map(|slot| figure(&record, slot, "throughput")).sum();
        assert!(
            all <= utilisation * 512.0 * 8.0 / (12.0 * 424.0),
            "{variant}, {recovery}: no more than the payload of the cells"
        );
    }
}

/// The warm-up resets counters, it does not change the run: the counts after it are the whole less those of a run of
/// that length.
#[test]
fn a_warm_up_is_subtracted_to_the_last_cell() {
    let policy = ("multiplexing.channel", POLICIES[2]);
    let tight = ("buffer.size", "\"60 cell\"");
    let cut = cellsim(&[policy, tight]);
    let whole = cellsim(&[policy, tight, ("run.warmup", "\"0 s\"")]);
    let head = cellsim(&[policy, tight, ("run.warmup", "\"0 s\""), ("run.duration", "\"100 rtt\"")]);
    let [after, all, before] = [&cut, &whole, &head].map(|s| run(s, 5));
    assert_eq!(after.counts, all.counts);
    assert_eq!(after.series, all.series, "the series tells of the warm-up too");
    let mut compared = 0;
    let counts = [
        "cells",
        "dropped_frames",
        "dropped_cells",
        "retransmissions",
        "timeouts",
        "fast_retransmits",
        "collapses",
        "conversations",
        "items",
        "lost_frames",
    ];
    for row in after.summary.iter().filter(|row| counts.contains(&row.metric.name())) {
        let [all, before] = [&all, &before].map(|r| figure(r, &row.subject, row.metric.name()));
        assert_eq!(row.value, all - before, "{} of {}", row.metric, row.subject);
        compared += u32::from(row.value > 0.0 && before > 0.0);
    }
    assert!(compared > 10, "{compared} counts that the warm-up matters to");
    for slot in ["telnet-1", "ftp-1", "ftp-5"] {
        let bytes = [(&cut, &after), (&whole, &all), (&head, &before)].map(|(s, r)| delivered(s, r, slot));
        assert_eq!(bytes[0], bytes[1] - bytes[2], "{slot}");
    }
    let busy = |s: &Scenario, r| figure(r, "r1>s1", "utilisation") * (s.run.duration - s.run.warmup).as_secs_f64();
    assert!((busy(&cut, &after) - (busy(&whole, &all) - busy(&head, &before))).abs() < 1e-9);
}

/// The bins of the series add up to the summary.
#[test]
fn the_series_adds_up_to_the_summary() {
    let record = run(&cellsim(&[("run.warmup", "\"0 s\"")]), 2);
    for (subject, metric) in
        [("r1>s1", "utilisation"), ("s1>r2", "queue_mean"), ("ftp-2", "throughput"), ("ftp-1", "window_mean")]
    {
        let bins = series(&record, subject, metric);
        assert_eq!(bins.len(), 12, "600 round trips in bins of 50");
        assert!((bins[0].0 - 50.0 * 0.045).abs() < 1e-12 && (bins[11].0 - 27.0).abs() < 1e-12, "{bins:?}");
        let mean = bins.iter().map(|b| b.1).sum::<f64>() / 12.0;
        let expected = figure(&record, subject, metric);
        assert!((mean - expected).abs() < 1e-9 * expected.max(1.0), "{metric} of {subject}: {mean}, not {expected}");
    }
}

/// The shipped scenarios run unchanged, every point of them.
#[test]
fn the_first_point_of_every_shipped_scenario_runs() {
    let plan = |path: &str| Plan::parse(&std::fs::read_to_string(repository(path)).unwrap(), path).unwrap();
    for entry in std::fs::read_dir(repository("scenarios")).unwrap() {
        let path = format!("scenarios/{}", entry.unwrap().file_name().to_string_lossy());
        if path.ends_with(".toml") {
            let mut sum = 0;
            for mut point in plan(&path).points().unwrap() {
                let duration = point.scenario.run.duration;
                point.scenario.run.duration = duration.min(cellway_units::Span::from_secs(65));
                read_traces(&mut point.scenario, &repository("scenarios"));
                let workloads = workloads_in(&mut point.scenario, &repository("scenarios"));
                let counts = run_with(&point.scenario, &workloads, 1).counts;
                let hops = counts.cell_hops + counts.packet_hops;
                assert!(hops > 0, "{path}: nothing was sent at {:?}", point.axes);
                sum += hops;
            }
            assert!(sum > 1000, "{path}: {sum} hops");
        }
    }
}
