//! The engine in windows beside that with a calendar: the same runs, their records compared, and the ratio of their times.
//!
//! `cargo bench -p cellway-sim --bench engines` prints a table of some scenarios of the repository, each point with one seed.
//! With `--all FILE...` it compares all points of files, with one seed. With `--once windows|cells FILE POINTS` it runs the first points of a file with one engine and prints its counts, for a
//! profiler.
#![allow(missing_docs, clippy::unwrap_used)]

use std::path::Path;
use std::time::Instant;

use cellway_record::RunRecord;
use cellway_scenario::{Engine, Plan, Scenario};
use cellway_sim::Control;

/// Long frames over three lines of cells, in six flows, with hosts' lines of cells: the friendliest case.
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

/// The name of [`BULK`] in place of a file.
const BULK_NAME: &str = "bulk, 9180 octets, three hops";

/// Files and the number of their points: long frames on few lines, short ones on slow lines, many conversations, gateways,
/// shapers, and lines of packets alone.
const CASES: [(&str, usize); 12] = [
    (BULK_NAME, 1),
    ("scenarios/satellite-bulk.toml", 1),
    ("scenarios/many-customers.toml", 1),
    ("papers/cellsim/cellsim.toml", 8),
    ("papers/cellsim/load.toml", 8),
    ("papers/magic/onyx.toml", 2),
    ("papers/magic/table1.toml", 4),
    ("papers/nasa/ds3.toml", 2),
    ("papers/kdd/atm-gateway.toml", 2),
    ("papers/spacing/spacer.toml", 4),
    ("scenarios/rrul.toml", 2),
    ("scenarios/incast.toml", 4),
];

fn points(file: &str, most: usize) -> Vec<Scenario> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = match file {
        BULK_NAME => BULK.to_owned(),
        file => std::fs::read_to_string(root.join(file)).unwrap(),
    };
    let plan = Plan::parse(&text, file).unwrap_or_else(|e| panic!("{e}"));
    plan.points().unwrap().into_iter().take(most).map(|point| point.scenario).collect()
}

/// Runs a scenario; returns the record and the seconds that it took.
fn run(scenario: &Scenario, engine: Engine) -> (RunRecord, f64) {
    let workloads: Vec<_> = scenario.traffic.iter().map(|group| cellway_sim::workload(group, None).unwrap()).collect();
    let mut scenario = scenario.clone();
    scenario.run.engine = engine;
    let begin = Instant::now();
    let record = cellway_sim::run(&scenario, &workloads, 1, Control::new(&|| false)).unwrap();
    (record, begin.elapsed().as_secs_f64())
}

/// Runs all points of a file with both engines and compares them; prints the seconds of each.
fn whole(file: &str) {
    let (mut seconds, mut points_of_file) = ([0.0; 2], 0);
    for scenario in points(file, usize::MAX) {
        let [(by_calendar, first), (in_windows, second)] =
            [Engine::Cells, Engine::Windows].map(|engine| run(&scenario, engine));
        assert_eq!(by_calendar, in_windows, "{file}");
        seconds = [seconds[0] + first, seconds[1] + second];
        points_of_file += 1;
    }
    let [calendar, windows] = seconds;
    println!("{file:<40} {points_of_file:>5} {calendar:>8.2} s {windows:>8.2} s {:>6.2}", calendar / windows);
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--once") {
        let engine = if arguments[at + 1] == "windows" { Engine::Windows } else { Engine::Cells };
        for scenario in points(&arguments[at + 2], arguments[at + 3].parse().unwrap()) {
            println!("{:?}", run(&scenario, engine).0.counts);
        }
        return;
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
            let [(by_calendar, first), (in_windows, second)] =
                [Engine::Cells, Engine::Windows].map(|engine| run(&scenario, engine));
            assert_eq!(by_calendar, in_windows, "{file}");
            cell_hops += by_calendar.counts.cell_hops;
            packet_hops += by_calendar.counts.packet_hops;
            seconds = [seconds[0] + first, seconds[1] + second];
        }
        let [calendar, windows] = seconds;
        let ratio = calendar / windows;
        println!("{file:<32} {cell_hops:>12} {packet_hops:>12} {calendar:>8.2} s {windows:>8.2} s {ratio:>6.2}");
    }
}
