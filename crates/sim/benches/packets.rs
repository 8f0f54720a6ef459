//! Packet-hops per second through TCP, hosts and routers: a whole simulation without cells.
//!
//! A packet-hop is one packet leaving one output line. Bulk transfers share lines of 155 Mbit/s with a total delay of
//! 10 ms. On a path of three or more lines, the hosts are attached to the first and the last router by lines of 1
//! Gbit/s and 100 us; on a path of two lines, those of 155 Mbit/s are the hosts' own. The cases with cells on each line
//! count cell-hops.
//!
//! `cargo bench -p cellway-sim --bench packets` prints a table. With `--once FLOWS SECONDS [LINES] [cells] [TCP] [calendar]`
//! it runs one simulation and prints its counts as JSON, for a profiler and for `tools/engine_bench`; TCP is one of those of
//! the table, like cubic-rack, and `calendar` the engine in place of the default. `packets_htsim.cpp` has the case of packets
//! on three or more lines in another simulator.
#![allow(missing_docs, clippy::unwrap_used)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::time::Instant;

use cellway_record::Counts;
use cellway_scenario::{Engine, Plan, Scenario};
use cellway_sim::Control;

/// A case of the table.
#[derive(Clone, Copy)]
struct Case {
    flows: u32,
    /// The number of lines on the path of each packet: 2 or more.
    lines: u32,
    /// The framing of all lines: "packet" or "atm".
    framing: &'static str,
    tcp: Tcp,
}

/// The name of a TCP in the table, and its keys.
type Tcp = (&'static str, &'static str);

/// Flows and lines of the cases with packets, and of those with cells.
const PACKETS: [(u32, u32); 6] = [(1, 3), (5, 3), (8, 3), (64, 3), (5, 2), (5, 6)];
const CELLS: [(u32, u32); 3] = [(1, 3), (5, 3), (64, 3)];
/// The TCP of these cases, and further ones, with 8 flows over three lines of packets.
const NEWRENO: Tcp = ("newreno", "variant = \"newreno\"");
const OTHERS: [Tcp; 5] = [
    ("sack", "variant = \"sack\""),
    ("cubic", "variant = \"cubic\""),
    ("cubic-rack", "variant = \"cubic\"\nrecovery = \"rack\""),
    ("bbr", "variant = \"bbr\""),
    ("prague", "variant = \"prague\"\necn = \"accurate\""),
];

fn scenario(Case { flows, lines, framing, tcp: (_, tcp) }: Case, seconds: u32) -> Scenario {
    let shared = if lines == 2 { 2 } else { lines - 2 };
    let kind = |node| if lines == 2 && node != 1 { "host" } else { "router" };
    let delay = 10_000 / shared;
    let nodes =
        (0..=shared).map(|i| format!(r#"{{ name = "n{i}", kind = "{}" }}"#, kind(i))).collect::<Vec<_>>().join(", ");
    let links = (0..shared)
        .map(|i| {
            let between = format!(r#"between = ["n{i}", "n{}"]"#, i + 1);
            format!(
                r#"{{ {between}, rate = "155 Mbit/s", delay = "{delay} us", framing = "{framing}", mtu = "1500 B" }}"#
            )
        })
        .collect::<Vec<_>>()
        .join(", ");
    let access = match lines {
        2 => String::new(),
        _ => format!(r#"access = {{ rate = "1 Gbit/s", delay = "100 us", framing = "{framing}" }}"#),
    };
    let text = format!(
        r#"version = 1
name = "packets"
node = [{nodes}]
run = {{ duration = "{seconds} s", warmup = "500 ms" }}
buffer = {{ size = "400 kB", per = "port" }}
link = [{links}]
observe = {{ interval = "{seconds} s" }}

[tcp]
profile = "classic"
{tcp}
mss = "1460 B"
window = "1 MiB"
window-scaling = true
initial-window = 10
timer-granularity = "1 ms"
rto-min = "250 ms"

[[traffic]]
name = "bulk"
app = "bulk"
from = "n0"
to = "n{shared}"
count = {flows}
stagger = "10 us"
{access}
"#
    );
    Plan::parse_with(&text, "packets.toml", &[], None).unwrap_or_else(|e| panic!("{e}")).base().clone()
}

fn run(scenario: &Scenario) -> Counts {
    let workloads: Vec<_> = scenario.traffic.iter().map(|t| cellway_sim::workload(t, None).unwrap()).collect();
    cellway_sim::run(scenario, &workloads, 1, Control::new(&|| false)).unwrap().counts
}

/// The reference load, which `cell_hops` of `cellway-net` has too: removes the earliest of 16 pending events from a
/// binary heap and adds another.
fn yardstick(events: u64) -> u64 {
    let mut heap: BinaryHeap<Reverse<(u64, u32)>> = (0..16).map(|i| Reverse((u64::from(i), i))).collect();
    for _ in 0..events {
        let Reverse((at, i)) = heap.pop().unwrap();
        heap.push(Reverse((at + 101 + u64::from(i) * 7, i)));
    }
    heap.len() as u64
}

/// Returns the median, least and largest of the measurements.
fn spread(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [values[values.len() / 2], values[0], values[values.len() - 1]]
}

/// Prints nine measurements of each case, each with the yardstick measured right before it.
fn table() {
    println!(
        "{:>8} {:>10} {:>5} {:>5}  million hops per second per core (min to max)  heap operations each (min to max)",
        "", "tcp", "flows", "lines"
    );
    let of = |framing| move |(flows, lines)| Case { flows, lines, framing, tcp: NEWRENO };
    let others = OTHERS.map(|tcp| Case { flows: 8, lines: 3, framing: "packet", tcp });
    for case in PACKETS.map(of("packet")).into_iter().chain(CELLS.map(of("atm"))).chain(others) {
        let (unit, seconds) = if case.framing == "atm" { ("cells", 2) } else { ("packets", 4) };
        let scenario = scenario(case, seconds);
        let measure = |_| {
            let start = Instant::now();
            black_box(yardstick(1_000_000));
            let operation = start.elapsed().as_secs_f64() / 1e6;
            let start = Instant::now();
            let Counts { cell_hops, packet_hops, .. } = run(&scenario);
            let hop = start.elapsed().as_secs_f64() / (cell_hops + packet_hops) as f64;
            (1e-6 / hop, hop / operation)
        };
        let (rates, ratios): (Vec<f64>, Vec<f64>) = (0..9).map(measure).unzip();
        let ([rate, slowest, fastest], [ratio, least, most]) = (spread(rates), spread(ratios));
        let range = format!("{rate:.2} ({slowest:.2} to {fastest:.2})");
        let Case { flows, lines, tcp: (tcp, _), .. } = case;
        println!("{unit:>8} {tcp:>10} {flows:>5} {lines:>5}  {range:<44}  {ratio:.2} ({least:.2} to {most:.2})");
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let Some(at) = arguments.iter().position(|argument| argument == "--once") else { return table() };
    let number = |place: usize| arguments.get(at + place).and_then(|number| number.parse().ok());
    let is_given = |word: &str| arguments.iter().any(|argument| argument == word);
    let framing = if is_given("cells") { "atm" } else { "packet" };
    let tcp = OTHERS.into_iter().find(|(name, _)| is_given(name)).unwrap_or(NEWRENO);
    let case = Case { flows: number(1).unwrap(), lines: number(3).unwrap_or(3), framing, tcp };
    let mut scenario = scenario(case, number(2).unwrap());
    if is_given("calendar") {
        scenario.run.engine = Engine::Cells;
    }
    let Counts { events, cell_hops, packet_hops, .. } = run(&scenario);
    println!(r#"{{"events": {events}, "cell_hops": {cell_hops}, "packet_hops": {packet_hops}}}"#);
}
