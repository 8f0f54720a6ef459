//! Links that change from packet to packet: recordings, outages, directions of their own. Datagrams against arithmetic.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::sync::Arc;

use cellway_record::RunRecord;
use cellway_scenario::{LinkTrace, Scenario, TraceFormat};
use cellway_sim::{Capture, Control};
use common::{figure, run, scenario, series, workloads};

/// Datagrams of 1500 B from one host to another, and back, over a line of packets of 12 Mbit/s: 1 ms each.
const LINE: &str = r#"version = 1
name = "line"
node = [{ name = "r1", kind = "router" }, { name = "r2", kind = "router" }]

[run]
duration = "10 s"

[buffer]
size = "100 MB"
per = "port"

[[link]]
name = "line"
between = ["r1", "r2"]
rate = "12 Mbit/s"
delay = "20 ms"

[[traffic]]
name = "there"
from = "r1"
to = "r2"
access = { rate = "1 Gbit/s", delay = "0 s" }
udp = { packet = "1500 B", rate = "1.2 Mbit/s" }

[[traffic]]
name = "back"
from = "r2"
to = "r1"
access = { rate = "1 Gbit/s", delay = "0 s" }
udp = { packet = "1500 B", rate = "1.2 Mbit/s" }

[observe]
interval = "1 s"
fairness-window = "1 s"
"#;

/// The access links, the transmission on the line, and its delay.
const LEAST: f64 = 0.020 + 0.001 + 2.0 * 12e-6;

fn line(set: &[(&str, &str)]) -> Scenario {
    scenario(LINE, set)
}

fn recorded(set: &[(&str, &str)], texts: [Option<(TraceFormat, &str)>; 2]) -> Scenario {
    let mut scenario = line(set);
    scenario.links[0].traces = texts.map(|text| {
        let all = text.map_or_else(LinkTrace::default, |(format, text)| format.read(text).unwrap());
        Some(Arc::new(all))
    });
    scenario
}

/// A recording of loads in the forward direction.
fn loads(set: &[(&str, &str)], light: &str, heavy: &str) -> Scenario {
    let trace = ("link.line.forward.trace.light", "x");
    let set: Vec<_> = set.iter().copied().chain([trace, ("link.line.forward.trace.heavy", "x")]).collect();
    let light = TraceFormat::Light.read(light).unwrap();
    let both = light.or(TraceFormat::Heavy.read(heavy).unwrap());
    let mut scenario = line(&set);
    scenario.links[0].traces = [Some(Arc::new(both)), None];
    scenario
}

fn delays(record: &RunRecord, slot: &str) -> [f64; 2] {
    ["delay_p50", "delay_max"].map(|metric| figure(record, slot, metric))
}

fn is_near(found: f64, expected: f64, error: f64) -> bool {
    (found - expected).abs() <= error
}

/// A sketch of percentiles is exact to 0.4 %.
const SKETCH: f64 = 0.005 * 0.1;

#[test]
fn directions_have_rates_and_delays_of_their_own() {
    let record = run(&line(&[("link.line.back", r#"{ rate = "3 Mbit/s", delay = "70 ms" }"#)]), 1);
    assert!(is_near(delays(&record, "there-1")[1], LEAST, 1e-6), "{:?}", delays(&record, "there-1"));
    assert!(is_near(delays(&record, "back-1")[1], LEAST + 0.003 + 0.050, 1e-6), "{:?}", delays(&record, "back-1"));
    // The other table gives the same to the other direction.
    let record = run(&line(&[("link.line.forward", r#"{ rate = "3 Mbit/s", delay = "70 ms" }"#)]), 1);
    assert!(is_near(delays(&record, "back-1")[1], LEAST, 1e-6));
}

/// A recording with 3 packets in each 10 ms has 3.6 Mbit/s: datagrams at 4.8 Mbit/s fill it, in every second.
#[test]
fn the_capacity_is_that_of_the_recording() {
    let text = "2\n3\n10\n";
    let set = [("link.line.forward.trace.rate", "x"), ("traffic.there.udp.rate", "4.8 Mbit/s")];
    let record = run(&recorded(&set, [Some((TraceFormat::Opportunities, text)), None]), 1);
    for (second, rate) in series(&record, "there-1", "goodput") {
        // One packet more or less in a second, by the 20 ms of the path.
        let expected = 300.0 * 1472.0 * 8.0;
        let slack = if second < 1.5 { 8.0 * 1472.0 * 8.0 } else { 1472.0 * 8.0 };
        assert!(is_near(rate, expected, slack), "{second} s: {rate}");
    }
    assert_eq!(delays(&record, "back-1")[1].to_bits(), delays(&run(&line(&[]), 1), "back-1")[1].to_bits());
}

/// A light load of 30 ms and a train of some 12 Mbit/s; a heavy load of one packet of 1400 B in each 10 ms. Datagrams of 1.2
/// Mbit/s come every 10 ms, so each is a train: it has the base delay, and not the time of the line.
#[test]
fn single_packets_have_the_delay_of_the_light_load() {
    let set = [("traffic.back.udp.rate", "120 kbit/s")];
    let record = run(&loads(&set, "0 30 0 1 2 3\n500 30 0 1 2 3\n", "10\n"), 1);
    // One datagram of 1500 B takes two opportunities.
    let expected = 0.031 + 2.0 * 12e-6;
    let [middle, largest] = delays(&record, "there-1");
    assert!(is_near(middle, expected, SKETCH) && is_near(largest, expected, 1e-6), "{middle} {largest}");
    assert!(is_near(delays(&record, "back-1")[1], LEAST, 1e-6), "the other direction has its own delay");
}

/// Datagrams of 24 Mbit/s fill the heavy load of 11.2 Mbit/s, in which 933.3 of them leave in a second.
#[test]
fn a_stream_has_the_rate_of_the_heavy_load() {
    let heavy: String = (1..=1000).map(|ms| format!("{ms}\n")).collect();
    let set = [("traffic.there.udp.rate", "24 Mbit/s")];
    let of = |set: &[(&str, &str)]| run(&loads(set, "0 30 0 1 2 3\n500 30 0 1 2 3\n", &heavy), 1);
    let record = of(&set);
    let rates = series(&record, "there-1", "goodput");
    for (second, rate) in &rates[1..] {
        assert!(is_near(*rate, 933.3 * 1472.0 * 8.0, 1472.0 * 8.0), "{second} s: {rate}");
    }
    assert_eq!(record, of(&set), "the same scenario gives the same");
    // From its end on, after 1 s, nothing leaves.
    let stopped = of(&[set[0], ("link.line.forward.trace.end", "stop")]);
    let with_rate = series(&stopped, "there-1", "goodput").iter().filter(|(_, rate)| *rate > 0.0).count();
    assert_eq!(with_rate, 1, "{:?}", series(&stopped, "there-1", "goodput"));
}

/// Once a recording that stops has ended, nothing arrives any more, and the run ends all the same.
#[test]
fn a_recording_repeats_or_stops() {
    let text: String = (1..=1000).map(|ms| format!("{ms}\n")).collect();
    let delivered = |end: &str| {
        let trace = format!(r#"{{ rate = "x", end = "{end}" }}"#);
        let set = [("link.line.forward.trace", &*trace)];
        let record = run(&recorded(&set, [Some((TraceFormat::Opportunities, &text)), None]), 1);
        series(&record, "there-1", "goodput").iter().filter(|(_, rate)| *rate > 0.0).count()
    };
    // The path holds packets for 20 ms.
    assert_eq!([delivered("repeat"), delivered("stop")], [10, 2]);
}

/// Delays of 100 ms and 20 ms in turns of 50 ms: a packet that would overtake arrives with the one before it.
#[test]
fn delays_are_recorded_and_packets_overtake_only_if_they_may() {
    let text = "100\n100\n100\n100\n100\n20\n20\n20\n20\n20\n";
    let outcome = |reorder: &str| {
        let set = [("link.line.forward.trace.delay", "x"), ("link.line.forward.reorder", reorder)];
        let record = run(&recorded(&set, [Some((TraceFormat::Delays, text)), None]), 1);
        let [middle, largest] = delays(&record, "there-1");
        let reordered =
            record.summary.iter().find(|row| &*row.subject == "there-1" && row.metric == "packets_reordered");
        (middle, largest, reordered.map_or(0.0, |row| row.value))
    };
    let (middle, largest, reordered) = outcome("true");
    assert!(is_near(largest, LEAST + 0.080, 1e-6) && middle >= LEAST, "{middle} {largest}");
    // Of the 10 packets of 100 ms those of the first 50 ms are overtaken; the first 100 ms of 10 s have no end in the last.
    assert!(is_near(reordered, 500.0, 10.0), "{reordered}");
    let (_, largest, reordered) = outcome("false");
    assert!(is_near(largest, LEAST + 0.080, 1e-6), "{largest}");
    assert_eq!(reordered, 0.0);
}

/// 200 ms of each second without a connection: 100 datagrams a second wait for 200 ms at most, or 20 of 100 are lost.
#[test]
fn packets_wait_for_the_end_of_an_outage_or_are_lost() {
    let outage =
        |packets: &str| format!(r#"{{ first = "500 ms", length = "200 ms", every = "1 s", packets = "{packets}" }}"#);
    let record = run(&line(&[("link.line.forward.outage", &outage("wait"))]), 1);
    let largest = delays(&record, "there-1")[1];
    assert!(largest > LEAST + 0.188 && largest <= LEAST + 0.2 + 1e-6, "{largest}");
    assert_eq!(figure(&record, "there-1", "loss_ratio"), 0.0);
    let record = run(&line(&[("link.line.both.outage", &outage("lost"))]), 1);
    for slot in ["there-1", "back-1"] {
        let lost = figure(&record, slot, "loss_ratio");
        assert!(is_near(lost, 0.2, 0.002), "{slot}: {lost}");
        assert!(is_near(delays(&record, slot)[1], LEAST, 1e-6));
    }
}

/// Losses in bursts have their share; jitter widens the delay, and never by chance alone changes the order.
#[test]
fn bursts_and_jitter_reach_the_datagrams() {
    let set = [
        ("run.duration", "1000 s"),
        ("link.line.forward", r#"{ loss = "2 %", burst = 5 }"#),
        ("link.line.back.jitter", r#"{ deviation = "3 ms", distribution = "uniform" }"#),
    ];
    let record = run(&line(&set), 1);
    let lost = figure(&record, "there-1", "loss_ratio");
    // Four standard errors of 100,000 packets in bursts of 5.
    assert!(is_near(lost, 0.02, 4.0 * (0.02f64 * 0.98 * 9.0 / 100_000.0).sqrt()), "{lost}");
    let [middle, largest] = delays(&record, "back-1");
    let most = LEAST + 0.003 * 3f64.sqrt();
    assert!(is_near(middle, LEAST, 0.0002) && largest <= most + 1e-6 && largest > most - 0.0001, "{middle} {largest}");
}

/// A table has rate, delay and loss.
#[test]
fn a_table_has_rate_delay_and_loss() {
    let text = "time,rate,delay,loss\n0,12 Mbit/s,20 ms,0 %\n1,6 Mbit/s,40 ms,50 %\n";
    let set = [("link.line.both.trace.csv", "x")];
    let text = Some((TraceFormat::Csv, text));
    let record = run(&recorded(&set, [text, text]), 1);
    for slot in ["there-1", "back-1"] {
        let [middle, largest] = delays(&record, slot);
        assert!(is_near(middle, LEAST, SKETCH) && is_near(largest, LEAST + 0.021, 1e-6), "{slot}: {middle} {largest}");
        let lost = figure(&record, slot, "loss_ratio");
        // Half of the packets in half of the time: four standard errors of 500 draws of a half.
        assert!(is_near(lost, 0.25, 4.0 * 0.5 / 500f64.sqrt() / 2.0), "{slot}: {lost}");
    }
}

/// The same seed gives the same draws, another one others.
#[test]
fn runs_repeat() {
    let set =
        [("link.line.both", r#"{ loss = "5 %", burst = 3, jitter = { deviation = "2 ms", correlation = "50 %" } }"#)];
    let rows = |seed| {
        let summary = run(&line(&set), seed).summary;
        summary.iter().map(|row| format!("{} {} {}", row.subject, row.metric, row.value)).collect::<Vec<_>>()
    };
    assert_eq!(rows(3), rows(3));
    assert_ne!(rows(3), rows(4));
}

/// A table of netem with the values -1, 0 and 3 deviations of 4 ms, correlated or not: the delays are those three.
#[test]
fn jitter_is_that_of_a_table() {
    let set = [
        ("link.line.forward.jitter", r#"{ deviation = "4 ms", correlation = "30 %" }"#),
        ("link.line.forward.trace.jitter", "x"),
        ("link.line.forward.reorder", "true"),
    ];
    let text = Some((TraceFormat::Distribution, "# three values\n0 24576\n-8192\n"));
    let record = run(&recorded(&set, [text, None]), 1);
    let [middle, largest] = delays(&record, "there-1");
    assert!(is_near(middle, LEAST, SKETCH) && is_near(largest, LEAST + 0.012, 1e-6), "{middle} {largest}");
    let mean = figure(&record, "there-1", "delay_mean");
    // The mean is 2.67 ms above; the deviation of the values is 6.8 ms, over 1000 draws that depend on each other.
    assert!(is_near(mean, LEAST + 0.008 / 3.0, 4.0 * 0.0068 * 1.4 / 900f64.sqrt()), "{mean}");
}

/// Of 12,000 datagrams a share arrives twice; a second copy is neither received nor in place of one that is lost. 4 standard
/// errors of 12,000 draws.
#[test]
fn duplicates_and_corrupted_packets_are_counted_by_themselves() {
    let long = [("run.duration", "122 s"), ("run.warmup", "2 s"), ("observe.interval", "20 s")];
    let sure = |p: f64| 4.0 * (p * (1.0 - p) / 12_000.0).sqrt();
    let of = |both: &str| run(&line(&[&long[..], &[("link.line.both", both)]].concat()), 1);
    let record = of(r#"{ duplicate = "10 %", corrupt = "5 %", loss = "2 %" }"#);
    for (slot, port) in [("there-1", "r1>r2"), ("back-1", "r2>r1")] {
        let [sent, received, lost, copies] = ["packets_sent", "packets_received", "packets_lost", "packets_duplicated"]
            .map(|metric| figure(&record, slot, metric));
        assert!(sent - received - lost <= 4.0 && sent >= received + lost, "{slot}: {sent} {received} {lost}");
        assert!(is_near(lost / sent, 0.02 + 0.98 * 0.05, sure(0.069)), "{slot}: {lost} lost");
        // A copy of a corrupted packet is as corrupted.
        assert!(is_near(copies / received, 0.10, sure(0.1)), "{slot}: {copies} copies");
        let [duplicated, corrupted] = ["duplicated", "corrupted"].map(|metric| figure(&record, port, metric));
        assert!(is_near(corrupted / sent / 0.98, 0.05, sure(0.05)) && duplicated >= copies, "{port}: {corrupted}");
        assert!(is_near(delays(&record, slot)[1], LEAST, 1e-6), "copies delay no others");
    }
    // The draws of losses are those of a link that only loses.
    let lost = |both: &str| figure(&of(both), "r1>r2", "lost").to_bits();
    assert_eq!(lost(r#"{ loss = "2 %" }"#), figure(&record, "r1>r2", "lost").to_bits());
}

/// TCP gets each segment and each acknowledgement twice, and delivers the bytes once: it answers a copy with a duplicate
/// acknowledgement (RFC 9293 section 3.10.7.4), of which one between two new ones starts no retransmission.
#[test]
fn tcp_delivers_the_bytes_of_copies_once() {
    let text = LINE.replacen("udp = { packet = \"1500 B\", rate = \"1.2 Mbit/s\" }", "app = \"bulk\"", 1);
    let of = |set: &[(&str, &str)]| run(&scenario(&text, set), 1);
    let all = [("link.line.both.duplicate", "99.9999999 %"), ("traffic.back.udp.rate", "1 kbit/s")];
    let (plain, copied) = (of(&all[1..]), of(&all));
    let goodput = |record: &RunRecord| figure(record, "there-1", "goodput");
    assert!(goodput(&copied) > 0.9 * goodput(&plain) && goodput(&copied) <= 12e6, "{}", goodput(&copied));
    // 20 ms of 12 Mbit/s are 20 packets; the buffer does not overflow, so nothing is lost.
    assert_eq!(figure(&plain, "there-1", "retransmissions").to_bits(), 0);
}

/// 1 s of 2.4 Mbit/s waits for a line without a rate: 200 packets less the one on the line. A handover that flushes drops
/// those that wait when it begins, here at the second outage, and counts them.
#[test]
fn an_outage_drops_what_waits_before_it() {
    // The line has 1.2 Mbit/s for 2.4 Mbit/s of datagrams: at 4 s 400 of 800 wait.
    let set = |buffer: &str| {
        let outage = format!(r#"{{ length = "1 s", first = "4 s", buffer = "{buffer}" }}"#);
        let forward = ("link.line.forward.rate", "1.2 Mbit/s");
        let rate = ("traffic.there.udp.rate", "2.4 Mbit/s");
        run(&line(&[forward, rate, ("link.line.forward.outage", &outage)]), 1)
    };
    let (kept, flushed) = (set("kept"), set("flushed"));
    assert!(!kept.summary.iter().any(|row| &*row.subject == "r1>r2" && row.metric.to_string().contains("flushed")));
    let [dropped, gone] = ["flushed", "dropped_packets"].map(|metric| figure(&flushed, "r1>r2", metric));
    assert!(is_near(dropped, 400.0, 3.0), "{dropped}");
    assert_eq!((dropped - gone).to_bits(), 0);
    // The next to arrive waits for the outage and the 200 packets of it at most.
    assert!(figure(&kept, "there-1", "delay_max") > figure(&flushed, "there-1", "delay_max") + 0.5);
    assert_eq!(figure(&flushed, "there-1", "packets_lost").to_bits(), dropped.to_bits());
}

/// A capture makes every packet depart and arrive by events of its own: the run is the same.
#[test]
fn a_capture_changes_nothing() {
    let text = "time,rate,delay\n0,12 Mbit/s,20 ms\n0.3,0,35 ms\n0.4,3 Mbit/s,5 ms\n";
    // Without losses packets go ahead of their departures, unless the run is captured.
    for (reorder, losses, packets) in
        [("true", "", "wait"), ("false", "", "wait"), ("true", r#"loss = "1 %", burst = 2,"#, "lost")]
    {
        let both = format!(
            r#"{{ trace = {{ csv = "x" }}, {losses} reorder = {reorder}, jitter = {{ deviation = "3 ms" }},
                 duplicate = "3 %", corrupt = "2 %",
                 outage = {{ length = "50 ms", every = "700 ms", packets = "{packets}", buffer = "flushed" }} }}"#
        );
        let text = Some((TraceFormat::Csv, text));
        let scenario = recorded(&[("link.line.both", &both), ("traffic.there.udp.rate", "5 Mbit/s")], [text, text]);
        let (mut file, mut records) = (Vec::new(), 0);
        let capture = Some(Capture::new("r1", &mut file, &mut records));
        let captured =
            cellway_sim::run(&scenario, &workloads(&scenario), 1, Control { capture, ..Control::new(&|| false) })
                .unwrap();
        let plain = run(&scenario, 1);
        let rows = |record: &RunRecord| {
            let of = |row: &cellway_record::Row| format!("{} {} {:?} {}", row.subject, row.metric, row.t, row.value);
            record.summary.iter().chain(&record.series).map(of).collect::<Vec<_>>()
        };
        assert_eq!(rows(&captured), rows(&plain));
        assert!(records > 1000, "{records}");
    }
}
