//! Many conversations on one line: the memory of a run for each of them, and its time for an event.
//!
//! Each conversation is a bulk transfer over TCP between two hosts of its own, whose access lines meet at a line of 622
//! Mbit/s, which is always full: with any number of conversations about as much happens in a second. The processor time
//! for an event is that between two instants of one run, so building the network and writing the tables are not in it.
//!
//! `cargo bench -p cellway-sim --bench conversations` prints a table; each run is a process of its own, whose largest
//! resident memory is that of the kernel (Linux). With `--once windows|cells COUNT atm|packet port|conversation [MS]` it
//! runs one simulation and prints its figures: up to this simulated time, for a profiler, or without it as JSON, for
//! `tools/engine_bench`.
#![allow(missing_docs, clippy::unwrap_used)]

mod clock;

use std::process::Command;

use cellway_apps::GroupWorkload;
use cellway_record::{Counts, RunRecord};
use cellway_scenario::{Engine, Plan, Scenario};
use cellway_sim::{Advanced, Control, Slices};
use cellway_units::Time;
use clock::processor_seconds;

const COUNTS: [u32; 4] = [100, 1_000, 10_000, 60_000];
/// The framing of all lines, and how buffers are divided.
const NETWORKS: [[&str; 2]; 3] = [["atm", "port"], ["atm", "conversation"], ["packet", "port"]];
/// The instants between which events are measured, in ms, with all conversations open. The events are those of a run to each;
/// the time is that of one run, as a first one also pays for the memory of the process.
const ENDS: [u32; 2] = [3_000, 3_500];

fn scenario(count: u32, [framing, per]: [&str; 2], milliseconds: u32) -> Scenario {
    let stagger = 200_000_000 / u64::from(count);
    let size = if per == "port" { "250 MB" } else { "4 kB" };
    let text = format!(
        r#"version = 1
name = "conversations"
node = [{{ name = "west", kind = "router" }}, {{ name = "east", kind = "router" }}]
run = {{ duration = "{milliseconds} ms", warmup = "200 ms" }}
buffer = {{ size = "{size}", per = "{per}" }}
link = [{{ between = ["west", "east"], rate = "622 Mbit/s", delay = "500 us", framing = "{framing}", mtu = "1500 B" }}]
observe = {{ interval = "{milliseconds} ms", series = false }}

[tcp]
profile = "classic"
variant = "sack"
mss = "1460 B"
window = "2920 B"
timer-granularity = "1 ms"
rto-initial = "10 s"
rto-min = "10 s"

[[traffic]]
name = "bulk"
app = "bulk"
from = "west"
to = "east"
count = {count}
stagger = "{stagger} ns"
access = {{ rate = "622 Mbit/s", delay = "100 us", framing = "{framing}" }}
"#
    );
    Plan::parse_with(&text, "conversations.toml", &[], None).unwrap_or_else(|e| panic!("{e}")).base().clone()
}

fn workloads(scenario: &Scenario) -> Vec<GroupWorkload> {
    scenario.traffic.iter().map(|group| cellway_sim::workload(group, None).unwrap()).collect()
}

/// Returns the counts of a run, and the seconds of processor time that it took.
fn run(scenario: &Scenario) -> (Counts, f64) {
    let (workloads, begin) = (workloads(scenario), processor_seconds());
    let RunRecord { counts, .. } = cellway_sim::run(scenario, &workloads, 1, Control::new(&|| false)).unwrap();
    (counts, processor_seconds() - begin)
}

/// Returns the counts of a run, and the seconds of processor time that one of simulated time takes behind `first`.
fn behind(first: Time, scenario: &Scenario) -> (Counts, f64) {
    let mut run = Slices::new(scenario, workloads(scenario), 1).unwrap();
    let (mut begin, mut pace) = (None, 0.0);
    loop {
        match run.advance(256).unwrap() {
            Advanced::Ended(record) => return (record.counts, pace),
            Advanced::Runs(rest) => run = rest,
        }
        if run.now() >= first {
            let now = (run.now(), processor_seconds());
            let (from, seconds) = *begin.get_or_insert(now);
            pace = (now.1 - seconds) / (now.0 - from).as_secs_f64();
        }
    }
}

/// Returns the largest resident memory of this process so far, in bytes.
fn largest_resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).map_or(0, |kib| kib * 1024)
}

/// Runs one simulation up to the given time and prints its counts, seconds and memory; or to both of [`ENDS`], and prints
/// the time for an event between them and the memory as JSON.
fn once(arguments: &[String]) {
    let [engine, count, framing, per, ..] = arguments else { panic!("--once ENGINE COUNT FRAMING PER [MS]") };
    let of = |end| {
        let mut scenario = scenario(count.parse().unwrap(), [framing, per], end);
        scenario.run.engine = if engine == "windows" { Engine::Windows } else { Engine::Cells };
        scenario
    };
    if let Some(end) = arguments.get(4) {
        let (counts, seconds) = run(&of(end.parse().unwrap()));
        println!("{counts:?} {seconds:.3} s {} kB", largest_resident() / 1000);
        return;
    }
    let [first, last] = ENDS.map(of);
    let (until_first, _) = run(&first);
    let (until_last, pace) = behind(Time::ZERO + first.run.duration, &last);
    let simulated = (last.run.duration - first.run.duration).as_secs_f64();
    let (events, memory) = ((until_last.events - until_first.events) as f64 / simulated, largest_resident());
    println!(r#"{{"ns_per_event": {:.3}, "memory": {memory}}}"#, pace / events * 1e9);
}

/// Runs one simulation in a process of its own; returns the nanoseconds for an event, and the memory in bytes.
fn apart(engine: &str, count: u32, network: [&str; 2]) -> [f64; 2] {
    let program = std::env::current_exe().unwrap();
    let output = Command::new(program).args(["--once", engine, &count.to_string()]).args(network).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let value = |name: &str| {
        let (_, rest) = text.split_once(&format!("\"{name}\": ")).unwrap();
        rest.split([',', '}']).next().unwrap().parse::<f64>().unwrap()
    };
    [value("ns_per_event"), value("memory")]
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--once") {
        return once(&arguments[at + 1..]);
    }
    println!(
        "{:<8} {:<8} {:<14} {:>14} {:>10} {:>18} {:>10} {:>6}",
        "engine", "framing", "buffers per", "conversations", "memory", "per conversation", "per event", "ratio"
    );
    for engine in ["cells", "windows"] {
        for network in NETWORKS {
            let [_, least] = apart(engine, 1, network);
            let mut reference = None;
            for count in COUNTS {
                let [time, memory] = apart(engine, count, network);
                let ratio = time / *reference.get_or_insert(time);
                let each = (memory - least) / f64::from(count);
                let [framing, per] = network;
                println!(
                    "{engine:<8} {framing:<8} {per:<14} {count:>14} {:>7.1} MB {each:>16.0} B {time:>7.1} ns {ratio:>6.2}",
                    memory / 1e6
                );
            }
        }
    }
}
