//! Recorded links under real hosts: the capacity of each second is that of the recording.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::path::Path;
use std::sync::Arc;

use cellway_emu::{Capture, Control, Emulated, emulate};
use cellway_scenario::{LinkTrace, Plan, TraceFormat};
use common::{figure, one_at_a_time, possible, run, skip};

/// A source of datagrams that is faster than the recordings below in each second, which keeps a queue before the line at all
/// times, also while a busy computer stops the source for some 100 ms.
const FLOOD: &str = r#"version = 1
name = "flood"
buffer = { size = "3 MB", per = "port" }
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
udp = { packet = "1500 B", rate = "80 Mbit/s" }

[observe]
interval = "1 s"
fairness-window = "1 s"
"#;
/// The delay of the line, in ms, where no recording gives it.
const DELAY_MS: usize = 20;
/// A recording of the capacity, in the format of mahimahi, and one of the delay, in that of LeoReplayer, if there is one.
struct Texts<'a> {
    rate: &'a str,
    delay: Option<&'a str>,
}

impl Texts<'_> {
    /// Returns the run, and the instants at which packets reached the server by the clock of the network, in ms.
    fn flood(&self) -> (Emulated, Vec<usize>) {
        let mut scenario = Plan::parse(FLOOD, "t.toml").unwrap_or_else(|e| panic!("{e}")).base().clone();
        let mut forward = TraceFormat::Opportunities.read(self.rate).unwrap();
        if let Some(text) = self.delay {
            forward = forward.or(TraceFormat::Delays.read(text).unwrap());
        }
        scenario.links[1].traces = [Some(Arc::new(forward)), None];
        let workload = cellway_testbed::workload(&scenario.traffic[0], None).unwrap();
        let (mut file, mut records) = (Vec::new(), 0);
        let capture = Capture::new("server", &mut file, &mut records);
        let control = Control { capture: Some(capture), ..Control::default() };
        let emulated = emulate(&scenario, &[workload], 1, control).unwrap();
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
        let (mut at, mut times) = (24, Vec::new());
        while at < file.len() {
            times.push(1000 * word(at) + word(at + 4) / 1_000_000);
            at += 16 + word(at + 8);
        }
        (emulated, times)
    }

    /// Returns the packets that can arrive in each millisecond, each after the delay of its time, or with the one before it if
    /// that arrives later.
    fn opportunities(&self, milliseconds: usize) -> Vec<usize> {
        let numbers = |text: &str| text.lines().map(|line| line.trim().parse().unwrap()).collect::<Vec<usize>>();
        let (times, delays) = (numbers(self.rate), self.delay.map_or_else(|| vec![DELAY_MS], numbers));
        let period = *times.last().unwrap();
        let mut counts = vec![0; milliseconds];
        let mut latest = 0;
        for time in (0..).flat_map(|cycle| times.iter().map(move |time| cycle * period + time)) {
            latest = latest.max(time + delays[time / 10 % delays.len()]);
            match counts.get_mut(latest - 1) {
                Some(count) => *count += 1,
                None => return counts,
            }
        }
        counts
    }
}

/// Compares the packets that real hosts have received in the whole run, and those that reached the server in each second, but for
/// the first, in which the queue begins to fill: to 1 % and two packets. A busy computer makes receivers late by a part
/// of a second, so the seconds are those of the network.
fn compare(texts: &Texts<'_>) {
    let (emulated, times) = texts.flood();
    let expected = texts.opportunities(8000);
    let is_near = |found: f64, expected: f64| (found - expected).abs() <= 0.01 * expected + 2.0;
    let (received, capacity) =
        (figure(&emulated, "flood-1", "packets_received"), expected.iter().sum::<usize>() as f64);
    assert!(is_near(received, capacity), "{received} packets of {capacity}");
    for second in 1..8 {
        let milliseconds = 1000 * second..1000 * (second + 1);
        let arrived = times.iter().filter(|ms| milliseconds.contains(*ms)).count() as f64;
        let capacity = expected[milliseconds].iter().sum::<usize>() as f64;
        assert!(is_near(arrived, capacity), "second {second}: {arrived} packets of {capacity}");
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
    compare(&Texts { rate: &text, delay: None });
}

/// The recordings of mahimahi and LeoReplayer, where this computer has them beside the source code.
#[test]
fn published_recordings_have_their_capacity() {
    if !possible("published_recordings_have_their_capacity") {
        return;
    }
    let _one = one_at_a_time();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/traces");
    for (rate, delay) in
        [("Verizon-LTE-short.down", None), ("ATT-LTE-driving-2016.down", None), ("starlink.bw", Some("starlink.delay"))]
    {
        let read = |name: &str| std::fs::read_to_string(folder.join(name));
        match (read(rate), delay.map(read).transpose()) {
            (Ok(rate), Ok(delay)) => compare(&Texts { rate: &rate, delay: delay.as_deref() }),
            _ => skip(&format!("the recording {rate} is not here")),
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
    let text = FLOOD.replace("80 Mbit/s", "1 Mbit/s").replace("trace = { rate", "trace = { delay");
    let mut scenario = Plan::parse(&text, "t.toml").unwrap_or_else(|e| panic!("{e}")).base().clone();
    // 50 ms, and from the middle of each second on 90 ms.
    let delays: String = (0..100).map(|i| if i < 50 { "50\n" } else { "90\n" }).collect();
    let trace: LinkTrace = TraceFormat::Delays.read(&delays).unwrap();
    scenario.links[1].traces = [Some(Arc::new(trace)), None];
    let workload = cellway_testbed::workload(&scenario.traffic[0], None).unwrap();
    let emulated = emulate(&scenario, &[workload], 1, Control::default()).unwrap();
    let network = |q| emulated.delays.quantile(q).as_secs_f64();
    // 1.2 ms on the line. Datagrams that a busy computer sends late wait for each other.
    let (low, high) = (network(0.25), network(0.75));
    assert!((0.0512..0.0612).contains(&low) && (0.0912..0.1012).contains(&high), "{low} {high}");
}

/// Datagrams each 120 ms are trains of one packet: they have the delay of the light load, and pass the queue of a heavy load of
/// one packet in 500 ms. Two that a late sender sends together would fill that queue for good, so they are far apart.
#[test]
fn real_packets_have_the_delay_of_a_light_load() {
    if !possible("real_packets_have_the_delay_of_a_light_load") {
        return;
    }
    let _one = one_at_a_time();
    let text = FLOOD
        .replace("80 Mbit/s", "100 kbit/s")
        .replace("trace = { rate = \"recorded\"", "trace = { light = \"x\", heavy = \"y\"");
    let mut scenario = Plan::parse(&text, "t.toml").unwrap_or_else(|e| panic!("{e}")).base().clone();
    let light = TraceFormat::Light.read("0 50 0 0 1\n1000 50 0 0 1\n").unwrap();
    let both = light.or(TraceFormat::Heavy.read("500\n").unwrap());
    scenario.links[1].traces = [Some(Arc::new(both)), None];
    let workload = cellway_testbed::workload(&scenario.traffic[0], None).unwrap();
    let emulated = emulate(&scenario, &[workload], 1, Control::default()).unwrap();
    let network = |q| emulated.delays.quantile(q).as_secs_f64();
    let (low, middle) = (network(0.05), network(0.5));
    // A packet of the heavy load comes each 500 ms.
    assert!(low >= 0.05 && middle < 0.1, "{low} {middle}");
    let received = figure(&emulated, "flood-1", "packets_received");
    assert!(received > 50.0, "{received} packets, where the heavy load has 16");
}

/// The kernel of the receiver drops corrupted datagrams, and the copies are no datagrams received: shares of some 2300 draws,
/// within five standard errors.
#[test]
fn real_datagrams_are_duplicated_and_corrupted() {
    if !possible("real_datagrams_are_duplicated_and_corrupted") {
        return;
    }
    let _one = one_at_a_time();
    let text = FLOOD
        .replace("80 Mbit/s", "4 Mbit/s")
        .replace("trace = { rate = \"recorded\" }", "duplicate = \"20 %\", corrupt = \"10 %\"");
    let emulated = run(&text, &[], Control::default()).unwrap();
    let of = |subject: &str, metric: &str| figure(&emulated, subject, metric);
    let [received, lost, copies] =
        ["packets_received", "packets_lost", "packets_duplicated"].map(|metric| of("flood-1", metric));
    let known = received + lost;
    let error = |p: f64| 5.0 * (p * (1.0 - p) / known).sqrt();
    assert!(known > 1000.0, "{received} received, {lost} lost");
    assert!((lost / known - 0.1).abs() < error(0.1), "{lost} of {known} lost");
    assert!((copies / received - 0.2).abs() < error(0.2), "{copies} copies of {received}");
    assert!(of("near>far", "corrupted") >= lost && of("near>far", "duplicated") >= copies);
}
