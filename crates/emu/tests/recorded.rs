//! Recorded links under real hosts: the capacity of each second is that of the recording. No test here depends on the
//! speed of this computer: packets that arrive late still leave at the instants of the network.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::path::Path;
use std::sync::Arc;

use cellway_emu::{Control, Emulated, emulate};
use cellway_scenario::{LinkTrace, Plan, TraceFormat};
use common::{one_at_a_time, possible, skip};

/// A source of datagrams that is faster than the line, which keeps a queue before it at all times.
const FLOOD: &str = r#"version = 1
name = "flood"
buffer = { size = "300 kB", per = "port" }
node = [
  { name = "client", kind = "host" },
  { name = "near", kind = "router" },
  { name = "far", kind = "router" },
  { name = "server", kind = "host" },
]
link = [
  { between = ["client", "near"], rate = "1 Gbit/s", delay = "0 s" },
  { name = "line", between = ["near", "far"], rate = "10 Mbit/s", delay = "20 ms", forward = { trace = { rate = "recorded" } } },
  { between = ["far", "server"], rate = "1 Gbit/s", delay = "0 s" },
]

[run]
duration = "8 s"
rtt = "40 ms"
emulate = { lateness-limit = "10 s" }

[[traffic]]
name = "flood"
from = "client"
to = "server"
udp = { packet = "1500 B", rate = "60 Mbit/s" }

[observe]
interval = "1 s"
fairness-window = "1 s"
"#;
const DELAY_MS: usize = 20;

fn flood(text: &str) -> Emulated {
    let mut scenario = Plan::parse(FLOOD, "t.toml").unwrap_or_else(|e| panic!("{e}")).base().clone();
    let forward = Arc::new(TraceFormat::Opportunities.read(text).unwrap());
    scenario.links[1].traces = [Some(forward), None];
    let workload = cellway_testbed::workload(&scenario.traffic[0], None).unwrap();
    emulate(&scenario, &[workload], 1, Control::default()).unwrap()
}

/// Returns the packets that can arrive in each second, after the delay of the line.
fn opportunities(text: &str, seconds: usize) -> Vec<usize> {
    let times: Vec<usize> = text.lines().map(|line| line.trim().parse().unwrap()).collect();
    let period = *times.last().unwrap();
    let mut counts = vec![0; seconds];
    for time in (0..).flat_map(|cycle| times.iter().map(move |time| cycle * period + time + DELAY_MS)) {
        match counts.get_mut((time - 1) / 1000) {
            Some(count) => *count += 1,
            None => return counts,
        }
    }
    counts
}

/// Compares the packets of each second, but for the first, in which the queue begins to fill: two packets may fall into
/// the second before or after.
fn compare(text: &str) {
    let emulated = flood(text);
    let rows = emulated.record.series.iter().filter(|row| &*row.subject == "flood-1" && row.metric == "goodput");
    let arrived: Vec<f64> = rows.map(|row| row.value / 8.0 / 1472.0).collect();
    let expected = opportunities(text, arrived.len());
    for (second, (arrived, expected)) in arrived.into_iter().zip(expected).enumerate().skip(1) {
        let slack = 2.0 + 0.01 * expected as f64;
        assert!((arrived - expected as f64).abs() <= slack, "second {second}: {arrived} packets of {expected}");
    }
}

#[test]
fn the_capacity_of_each_second_is_that_of_the_recording() {
    if !possible("the_capacity_of_each_second_is_that_of_the_recording") {
        return;
    }
    let _one = one_at_a_time();
    // 100 to 900 packets in a second, in bursts of up to 9 in one ms, and pauses; the recording repeats after 3.5 s.
    let text: String = (1..=3500)
        .filter(|ms| ms % 100 > 10)
        .flat_map(|ms| {
            let packets = if ms % 3 == 0 { ms / 400 } else { 0 };
            std::iter::repeat_n(format!("{ms}\n"), packets)
        })
        .chain(["3500\n".to_owned()])
        .collect();
    compare(&text);
}

/// The recordings of mahimahi and LeoReplayer, where this computer has them beside the source code.
#[test]
fn published_recordings_have_their_capacity() {
    if !possible("published_recordings_have_their_capacity") {
        return;
    }
    let _one = one_at_a_time();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/traces");
    for name in ["Verizon-LTE-short.down", "ATT-LTE-driving-2016.down"] {
        match std::fs::read_to_string(folder.join(name)) {
            Ok(text) => compare(&text),
            Err(_) => skip(&format!("the recording {name} is not here")),
        }
    }
}

/// Two files that record a link give a packet the delay of its time.
#[test]
fn a_recorded_delay_is_that_of_real_packets() {
    if !possible("a_recorded_delay_is_that_of_real_packets") {
        return;
    }
    let _one = one_at_a_time();
    let text = FLOOD.replace("60 Mbit/s", "1 Mbit/s").replace("trace = { rate", "trace = { delay");
    let mut scenario = Plan::parse(&text, "t.toml").unwrap_or_else(|e| panic!("{e}")).base().clone();
    // 50 ms, and from the middle of each second on 90 ms.
    let delays: String = (0..100).map(|i| if i < 50 { "50\n" } else { "90\n" }).collect();
    let trace: LinkTrace = TraceFormat::Delays.read(&delays).unwrap();
    scenario.links[1].traces = [Some(Arc::new(trace)), None];
    let workload = cellway_testbed::workload(&scenario.traffic[0], None).unwrap();
    let emulated = emulate(&scenario, &[workload], 1, Control::default()).unwrap();
    let network = |q| emulated.delays.quantile(q).as_secs_f64();
    // 1.2 ms on the line, and no queue.
    let (low, high) = (network(0.25), network(0.75));
    assert!((0.0512..0.053).contains(&low) && (0.0912..0.093).contains(&high), "{low} {high}");
}
