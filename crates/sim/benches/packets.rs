//! Packet-hops per second through TCP, hosts and routers: a whole simulation without cells.
//!
//! A packet-hop is one packet leaving one output line. Bulk transfers share a line of 155 Mbit/s between two routers;
//! hosts hang on lines of 1 Gbit/s, so each segment and each acknowledgement leaves three lines.
//!
//! `cargo bench -p cellway-sim --bench packets` prints a table. With `--once FLOWS SECONDS [cells]` it runs one
//! simulation and prints what it counted: for a profiler.
#![allow(missing_docs, clippy::unwrap_used)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::time::Instant;

use cellway_record::Counts;
use cellway_scenario::{Plan, Scenario};
use cellway_sim::Control;

/// The network; `framing` is that of all lines.
fn scenario(flows: u32, seconds: u32, framing: &str) -> Scenario {
    let text = format!(
        r#"version = 1
name = "packets"
node = [{{ name = "r1", kind = "router" }}, {{ name = "r2", kind = "router" }}]
run = {{ duration = "{seconds} s", warmup = "500 ms" }}
buffer = {{ size = "400 kB", per = "port" }}
link = [{{ between = ["r1", "r2"], rate = "155 Mbit/s", delay = "10 ms", framing = "{framing}", mtu = "1500 B" }}]
observe = {{ interval = "{seconds} s" }}

[tcp]
profile = "classic"
variant = "newreno"
mss = "1460 B"
window = "1 MiB"
window-scaling = true
initial-window = 10
timer-granularity = "1 ms"
rto-min = "250 ms"

[[traffic]]
name = "bulk"
app = "bulk"
from = "r1"
to = "r2"
count = {flows}
stagger = "10 us"
access = {{ rate = "1 Gbit/s", delay = "100 us", framing = "{framing}" }}
"#
    );
    Plan::parse_with(&text, "packets.toml", &[], None).unwrap_or_else(|e| panic!("{e}")).base().clone()
}

fn run(scenario: &Scenario) -> Counts {
    let workloads: Vec<_> = scenario.traffic.iter().map(|t| cellway_sim::workload(t, None).unwrap()).collect();
    cellway_sim::run(scenario, &workloads, 1, Control { stop: &|| false, capture: None }).unwrap().counts
}

/// The earliest of 16 pending events is taken from a binary heap and another one put in: the yardstick that
/// `cell_hops` of `cellway-net` has too.
fn yardstick(events: u64) -> u64 {
    let mut heap: BinaryHeap<Reverse<(u64, u32)>> = (0..16).map(|i| Reverse((u64::from(i), i))).collect();
    for _ in 0..events {
        let Reverse((at, i)) = heap.pop().unwrap();
        heap.push(Reverse((at + 101 + u64::from(i) * 7, i)));
    }
    heap.len() as u64
}

/// Lines that each packet leaves.
const LINES: u64 = 3;

/// Median, least and largest of measurements.
fn spread(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [values[values.len() / 2], values[0], values[values.len() - 1]]
}

/// Nine measurements for each number of flows, each beside the yardstick measured right before it.
fn table() {
    println!(
        "{:>5}  million packet-hops per second per core (min to max)   heap operations each (min to max)",
        "flows"
    );
    for flows in [1, 5, 8, 64] {
        let scenario = scenario(flows, 4, "packet");
        let measure = |_| {
            let start = Instant::now();
            black_box(yardstick(1_000_000));
            let operation = start.elapsed().as_secs_f64() / 1e6;
            let start = Instant::now();
            let hops = run(&scenario).packets * LINES;
            let hop = start.elapsed().as_secs_f64() / hops as f64;
            (1e-6 / hop, hop / operation)
        };
        let (rates, ratios): (Vec<f64>, Vec<f64>) = (0..9).map(measure).unzip();
        let ([rate, slowest, fastest], [ratio, least, most]) = (spread(rates), spread(ratios));
        let range = format!("{rate:.2} ({slowest:.2} to {fastest:.2})");
        println!("{flows:>5}  {range:<53}  {ratio:.1} ({least:.1} to {most:.1})");
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let Some(at) = arguments.iter().position(|argument| argument == "--once") else { return table() };
    let number = |place: usize| arguments[at + place].parse().unwrap();
    let framing = if arguments.get(at + 3).is_some_and(|word| word == "cells") { "atm" } else { "packet" };
    println!("{:?}", run(&scenario(number(1), number(2), framing)));
}
