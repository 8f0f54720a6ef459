//! The engine in windows beside that with a calendar: the same runs, their records compared, and the ratio of
//! their processor times.
//!
//! `cargo bench -p cellway-sim --bench engines` prints a table of some scenarios of the repository, each point with one seed.
//! A point that takes less than half a second is run several times with each engine, in turns, and the least time counts.
//! With `--all FILE...` it compares all points of files, with one seed, once. With `--once windows|cells FILE POINTS` it runs
//! the first points of a file with one engine and prints their counts and seconds as JSON, for a profiler and for
//! `tools/engine_bench`. FILE may be the name of a case of this file, like "bulk".
#![allow(missing_docs, clippy::unwrap_used)]

mod clock;

use std::path::Path;

use cellway_record::{Counts, RunRecord};
use cellway_scenario::{Engine, Plan, Scenario};
use cellway_sim::Control;
use clock::processor_seconds;

/// Long frames over three lines of cells, in six flows, with hosts' lines of packets: the friendliest case.
const BULK: &str = r#"
version = 1
name = "bulk"
run = { duration = "20 s", warmup = "1 s" }
buffer = { size = "4 MB", per = "port" }
node = [
  { name = "a", kind = "router" }, { name = "b", kind = "switch" }, { name = "c", kind = "switch" },
  { name = "d", kind = "router" },
]
link = [
  { between = ["a", "b"], rate = "oc3c", delay = "5 ms", mtu = "9180 B" },
  { between = ["b", "c"], rate = "oc3c", delay = "5 ms", mtu = "9180 B" },
  { between = ["c", "d"], rate = "oc3c", delay = "5 ms", mtu = "9180 B" },
]
tcp = { mss = "9140 B", window = "1 MiB" }
traffic = [{ name = "t", app = "bulk", count = 6, from = "a", to = "d", access = { rate = "oc3c", delay = "1 ms", framing = "packet", mtu = "9180 B" } }]
"#;

/// Frames of one cell in 100 channels over one line, which offer a third more than it carries, all of ABR with explicit
/// rates: the worst case. Each cell is a packet, and ABR decides by the cell.
const WORST: &str = r#"
version = 1
name = "worst-mix"
run = { duration = "2 s", warmup = "0.5 s" }
buffer = { size = "20000 cell", per = "port" }
multiplexing = { encapsulation = "none" }
abr = { marking = "erica", target = 0.9, interval = "5 ms" }
node = [{ name = "a", kind = "switch" }, { name = "b", kind = "switch" }]
link = [{ between = ["a", "b"], rate = "oc3c", delay = "5 ms" }]

[[traffic]]
name = "u"
from = "a"
to = "b"
count = 100
stagger = "7 us"
access = { rate = "oc3c", delay = "0.1 ms", framing = "atm" }
service = { class = "abr", pcr = "10 Mbit/s" }
udp = { source = "constant", rate = "1.5 Mbit/s", packet = "44 B" }
"#;

/// Cases that are no files of the repository, by the names that stand for a file.
const OWN: [(&str, &str); 2] = [("bulk", BULK), ("worst-mix", WORST)];

const ENGINES: [Engine; 2] = [Engine::Cells, Engine::Windows];

/// The seconds of turns of both engines after which there are no further ones.
const ENOUGH: f64 = 1.0;

/// Files and the number of their points: long frames on few lines, short ones on slow lines, many conversations, gateways,
/// shapers, ABR, and lines of packets alone.
const CASES: [(&str, usize); 15] = [
    ("bulk", 1),
    ("worst-mix", 1),
    ("scenarios/satellite-bulk.toml", 1),
    ("scenarios/many-customers.toml", 1),
    ("papers/cellsim/cellsim.toml", 8),
    ("papers/cellsim/load.toml", 8),
    ("papers/magic/onyx.toml", 2),
    ("papers/magic/table1.toml", 4),
    ("papers/nasa/ds3.toml", 2),
    ("papers/nasa/cti.toml", 1),
    ("scenarios/abr-parking-lot.toml", 2),
    ("papers/kdd/atm-gateway.toml", 2),
    ("papers/spacing/spacer.toml", 4),
    ("scenarios/rrul.toml", 2),
    ("scenarios/incast.toml", 4),
];

fn points(file: &str, most: usize) -> Vec<Scenario> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let own = OWN.into_iter().find(|&(name, _)| name == file);
    let text = own.map_or_else(|| std::fs::read_to_string(root.join(file)).unwrap(), |(_, text)| text.to_owned());
    let plan = Plan::parse(&text, file).unwrap_or_else(|e| panic!("{e}"));
    plan.points().unwrap().into_iter().take(most).map(|point| point.scenario).collect()
}

/// Runs a scenario; returns the record and the seconds of processor time that it took.
fn run(scenario: &Scenario, engine: Engine) -> (RunRecord, f64) {
    let workloads: Vec<_> = scenario.traffic.iter().map(|group| cellway_sim::workload(group, None).unwrap()).collect();
    let mut scenario = scenario.clone();
    scenario.run.engine = engine;
    let begin = processor_seconds();
    let record = cellway_sim::run(&scenario, &workloads, 1, Control::new(&|| false)).unwrap();
    (record, processor_seconds() - begin)
}

/// Runs a scenario with both engines, in turns, and compares the records; returns that of one, and the least seconds of
/// each engine. There are several turns, up to `most`, while they take less than [`ENOUGH`] together.
fn compare(scenario: &Scenario, file: &str, most: usize) -> (RunRecord, [f64; 2]) {
    let (mut least, mut spent, mut turns) = ([f64::INFINITY; 2], 0.0, 0);
    loop {
        let [(by_calendar, first), (in_windows, second)] = ENGINES.map(|engine| run(scenario, engine));
        assert_eq!(by_calendar, in_windows, "{file}");
        least = [least[0].min(first), least[1].min(second)];
        (spent, turns) = (spent + first + second, turns + 1);
        if turns >= most || spent >= ENOUGH {
            return (by_calendar, least);
        }
    }
}

/// Runs all points of a file with both engines and compares them; prints the seconds of each.
fn whole(file: &str) {
    let (mut seconds, mut points_of_file) = ([0.0; 2], 0);
    for scenario in points(file, usize::MAX) {
        let (_, [calendar, windows]) = compare(&scenario, file, 1);
        seconds = [seconds[0] + calendar, seconds[1] + windows];
        points_of_file += 1;
    }
    let [calendar, windows] = seconds;
    println!("{file:<40} {points_of_file:>5} {calendar:>8.2} s {windows:>8.2} s {:>6.2}", calendar / windows);
}

/// Runs the first points of a file with one engine; prints what is counted, and the seconds of the runs, as JSON.
fn once(engine: &str, file: &str, most: usize) {
    let engine = if engine == "windows" { Engine::Windows } else { Engine::Cells };
    let (mut counts, mut seconds) = (Counts::default(), 0.0);
    for scenario in points(file, most) {
        let (record, took) = run(&scenario, engine);
        counts.add(record.counts);
        seconds += took;
    }
    let Counts { events, cell_hops, packet_hops, .. } = counts;
    println!(
        r#"{{"events": {events}, "cell_hops": {cell_hops}, "packet_hops": {packet_hops}, "seconds": {seconds:.6}}}"#
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--once") {
        return once(&arguments[at + 1], &arguments[at + 2], arguments[at + 3].parse().unwrap());
    }
    if let Some(at) = arguments.iter().position(|argument| argument == "--all") {
        return arguments[at + 1..].iter().for_each(|file| whole(file));
    }
    println!(
        "{:<32} {:>12} {:>12} {:>10} {:>10} {:>6}",
        "", "cell-hops", "packet-hops", "calendar", "windows", "ratio"
    );
    for (file, most) in CASES {
        let (mut cell_hops, mut packet_hops, mut seconds) = (0, 0, [0.0; 2]);
        for scenario in points(file, most) {
            let (RunRecord { counts, .. }, [calendar, windows]) = compare(&scenario, file, 9);
            cell_hops += counts.cell_hops;
            packet_hops += counts.packet_hops;
            seconds = [seconds[0] + calendar, seconds[1] + windows];
        }
        let [calendar, windows] = seconds;
        let ratio = calendar / windows;
        println!("{file:<32} {cell_hops:>12} {packet_hops:>12} {calendar:>8.3} s {windows:>8.3} s {ratio:>6.2}");
    }
}
