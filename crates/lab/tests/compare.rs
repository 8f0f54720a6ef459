//! Comparisons without an emulation, and with one if this host can emulate.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use cellway_lab::compare::{COMPARE_FILE, CompareOptions, Compared, ComparedRow, Emulation, Published, compare};
use cellway_lab::{AxisValueRecord, Error, Overview, Plan, Settings};
use common::{SWEEP, names, plan, simulate, skip};

/// Two windows over a path of 40 ms; short, so that an emulation of it is.
const BULK: &str = r#"version = 1
name = "bulk"
node = [{ name = "a", kind = "router" }, { name = "b", kind = "router" }]

[run]
duration = "3 s"
warmup = "1 s"
seeds = 2

[run.emulate]
lateness-limit = "10 s"

[buffer]
size = "1 bdp"

[tcp]
profile = "linux-6"
window = "16 KiB"

[[link]]
between = ["a", "b"]
rate = "8 Mbit/s"
framing = "atm"
delay = "20 ms"

[[traffic]]
name = "bulk"
app = "bulk"
from = "a"
to = "b"
access = { rate = "fast-ethernet", delay = "0 s" }

[sweep]
axes = { "tcp.window" = ["16 KiB", "24 KiB"] }
"#;

fn run(plan: &Plan, options: &CompareOptions<'_>) -> Result<Compared, Error> {
    let mut settings = Settings { threads: Some(2), progress: &mut |_| {}, stop: &mut || false, store: None };
    compare(plan, Path::new("."), options, &mut settings)
}

fn published(text: &str) -> Published {
    Published::parse(text, Path::new("p.csv")).unwrap()
}

fn row<'a>(compared: &'a Compared, point: usize, subject: &str, metric: &str) -> &'a ComparedRow {
    let mut rows = compared.points[point].rows.iter();
    rows.find(|row| row.subject == subject && row.metric == metric).unwrap_or_else(|| panic!("{metric} of {subject}"))
}

#[test]
fn each_source_has_its_column() {
    let plan = plan(BULK, &[]);
    let known = published("subject,metric,unit,value,tcp.window\nbulk,goodput_total,Mbit/s,4.5,24 KiB\n");
    let options = CompareOptions { no_emulation: true, published: Some(&known), ..CompareOptions::default() };
    let compared = run(&plan, &options).unwrap();
    assert_eq!(compared.emulation, Emulation::LeftOut);
    let [first, second] = [0, 1].map(|point| row(&compared, point, "bulk", "goodput_total"));
    // Theory and simulation agree on a window that limits: within the effect of one round trip.
    for row in [first, second] {
        let (theory, simulated) = (row.predicted.unwrap(), row.simulated.unwrap());
        assert!(!theory.bound && (simulated.mean / theory.value - 1.0).abs() < 0.05, "{row:?}");
        assert!(row.main && row.emulated.is_none() && row.difference.is_none());
    }
    assert_eq!([first.published, second.published], [None, Some(4_500_000.0)]);
    // A metric that only the simulation has is not compared, but is in the tables.
    assert!(compared.points.iter().all(|point| point.rows.len() == 1));
    let overview = Overview::of(&simulate(&plan, 2).unwrap().results).unwrap();
    let simulated = overview.points[1].1.iter().find(|c| c.subject == "bulk" && c.metric == "goodput_total").unwrap();
    assert_eq!(second.simulated.unwrap().mean, simulated.mean);
}

#[test]
fn one_set_of_tables_holds_all_sources() {
    let known = published("metric,subject,unit,value\ngoodput_total,bulk,bit/s,4e6\n");
    let options = CompareOptions { no_emulation: true, published: Some(&known), ..CompareOptions::default() };
    let compared = run(&plan(BULK, &[]), &options).unwrap();
    let keys = compared.tables.results.run_keys().unwrap();
    let seen: Vec<(u32, u32, u64)> = keys.iter().map(|key| (key.run, key.point, key.seed)).collect();
    assert_eq!(seen, [(0, 0, 1), (1, 1, 1), (2, 0, 1), (3, 0, 2), (4, 1, 1), (5, 1, 2)]);
    assert_eq!(keys[3].axes, [("tcp.window".to_owned(), AxisValueRecord::Text("16 KiB".to_owned()))]);
    let goodputs: BTreeSet<(u32, String)> = (compared.tables.results.summary.observations().unwrap())
        .filter(|row| row.subject == "bulk" && row.metric == "goodput_total")
        .map(|row| (row.run, row.source.to_owned()))
        .collect();
    let made = |source: &str, runs: &[u32]| runs.iter().map(|run| (*run, source.to_owned())).collect::<Vec<_>>();
    let expected = [made("predict", &[0, 1]), made("published", &[0, 1]), made("simulate", &[2, 3, 4, 5])].concat();
    assert_eq!(goodputs, expected.into_iter().collect());
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let manifest = compared.write(&out, false).unwrap();
    assert_eq!(names(&out), [COMPARE_FILE, "manifest.json", "runs.parquet", "series.parquet", "summary.parquet"]);
    assert!(manifest.to_json().contains(COMPARE_FILE));
    let written: serde_json::Value = serde_json::from_slice(&std::fs::read(out.join(COMPARE_FILE)).unwrap()).unwrap();
    assert_eq!(written, compared.to_json());
}

#[test]
fn a_group_that_is_not_endless_has_an_upper_bound() {
    let compared = run(&plan(SWEEP, &[]), &CompareOptions { no_emulation: true, ..CompareOptions::default() }).unwrap();
    for (point, group) in (0..4).flat_map(|point| ["ftp", "telnet"].map(|group| (point, group))) {
        let row = row(&compared, point, group, "goodput_total");
        let theory = row.predicted.unwrap();
        assert!(theory.bound && theory.value >= row.simulated.unwrap().mean, "{row:?}");
    }
    assert!(compared.caveats.iter().any(|caveat| caveat.starts_with("telnet: ")), "{:?}", compared.caveats);
}

#[test]
fn published_values_of_nothing_are_refused() {
    let message = |text: &str| {
        let known = published(text);
        let options = CompareOptions { no_emulation: true, published: Some(&known), ..CompareOptions::default() };
        run(&plan(BULK, &[]), &options).err().unwrap().to_string()
    };
    let of = |line: &str| message(&format!("subject,metric,unit,value,tcp.window\n{line}\n"));
    assert!(of("bulk,goodput_total,bit/s,1,32 KiB").starts_with("p.csv:2: goodput_total of bulk is measured, but"));
    assert!(
        of("bulk,goodput_totl,bit/s,1,")
            .contains("goodput_totl of bulk is not measured; did you mean \"goodput_total\"?; its metrics: ")
    );
    let subjects = of("blk,goodput_total,bit/s,1,");
    assert!(subjects.contains("; subjects: a>b, b>a, bulk, "), "{subjects}");
    let axis = message("subject,metric,unit,value,window\nbulk,goodput_total,bit/s,1,\n");
    assert_eq!(axis, "p.csv: \"window\" is not an axis of the sweep; accepted: tcp.window");
    let none = CompareOptions { repeats: Some(0), ..CompareOptions::default() };
    assert!(run(&plan(BULK, &[]), &none).err().unwrap().is_input());
}

#[test]
fn gateways_are_emulated_where_their_programs_are() {
    let text = std::fs::read_to_string(common::repository("scenarios/gateway.toml")).unwrap();
    let reason = |set: &[(&str, &str)]| cellway_lab::compare::cannot_emulate(&plan(&text, set)).unwrap();
    // As routers they need no further programs.
    let without = reason(&[("run.emulate.gateways", "false")]);
    let with = reason(&[]);
    assert!(with == without || with.as_ref().is_some_and(|why| why.contains("nftables")), "{with:?}, {without:?}");
}

/// The emulation delivers the rate that the window allows, as theory and simulation do: real time, so the bounds are
/// wide.
#[test]
#[cfg(target_os = "linux")]
fn an_emulation_agrees_with_the_simulation() {
    match cellway_lab::emulate::possible_here() {
        Ok(true) => {}
        Ok(false) => return skip("only a process in a user namespace can emulate here"),
        Err(missing) => return skip(&missing.to_string()),
    }
    let options = CompareOptions { repeats: Some(1), ..CompareOptions::default() };
    let compared = run(&plan(BULK, &[]), &options).unwrap();
    assert_eq!(compared.emulation, Emulation::Valid, "the limit is 10 s: {:?}", compared.tables.warnings);
    for point in 0..2 {
        let row = row(&compared, point, "bulk", "goodput_total");
        let (simulated, emulated) = (row.simulated.unwrap(), row.emulated.unwrap());
        assert_eq!((simulated.runs, emulated.runs), (2, 1));
        let ratio = emulated.mean / simulated.mean;
        assert!((0.3..1.3).contains(&ratio), "{row:?}");
        assert!((row.difference.unwrap() - (ratio - 1.0)).abs() < 0.01, "both seeds give the same: {row:?}");
    }
    let sources: BTreeSet<String> =
        compared.tables.results.summary.observations().unwrap().map(|row| row.source.to_owned()).collect();
    assert_eq!(sources.iter().map(String::as_str).collect::<Vec<_>>(), ["emulate", "predict", "simulate"]);
}
