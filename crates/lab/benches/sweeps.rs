//! The costs of a sweep beside its runs: a store and threads for 10,000 runs of 10 ms, and a plan of a million runs.
//!
//! Every figure is a share, a ratio, or per run; the time of the engine alone is measured in turns with the sweep. With
//! `--once windows|cells TURNS` it only measures the share of a sweep's time outside that engine, in turns of 1,000 runs,
//! and prints it as JSON, for `tools/engine_bench`.
#![allow(clippy::unwrap_used, reason = "a benchmark may panic")]

use std::path::Path;
use std::time::Instant;

use cellway_lab::sweep::{Shard, Sweep};
use cellway_lab::{Override, Scenario, Settings, Store};
use cellway_record::RunRecord;
use cellway_store::Outcome;

const TEXT: &str = r#"
version = 1
name = "short"
run = { duration = "1 s" }
buffer = { size = "64 KiB", per = "port", count = "packet" }
node = [{ name = "a", kind = "router" }, { name = "b", kind = "router" }]
link = [{ between = ["a", "b"], rate = "100 Mbit/s", delay = "5 ms", framing = "packet" }]
traffic = [{ name = "t", app = "bulk", count = 4, from = "a", to = "b", access = { rate = "1 Gbit/s", delay = "0 s" } }]
[sweep]
axes = { "link.a-b.rate" = [RATES] }
"#;

/// The engine that a file without a key has.
const ENGINE: &str = "windows";

fn sweep(points: usize, seeds: u64, duration: &str, engine: &str) -> Sweep {
    let rates: Vec<String> = (0..points).map(|point| format!("\"{} kbit/s\"", 100_000 + point)).collect();
    let set = [("run.duration", duration), ("run.engine", engine)];
    let set = set.map(|(key, value)| Override::new(key, format!("\"{value}\"")));
    let text = TEXT.replace("RATES", &rates.join(", "));
    let plan = cellway_lab::plan_from_text(&text, "short.toml", &set).unwrap();
    Sweep::new(plan, Path::new("."), Some(seeds)).unwrap()
}

fn settings(threads: usize, work: impl FnOnce(&mut Settings<'_>)) {
    work(&mut Settings { threads: Some(threads), progress: &mut |_| {}, stop: &mut || false, store: None });
}

/// The greatest size of this process so far (MB).
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e3
}

/// Returns the seconds that `work` takes.
fn seconds(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64()
}

fn one(scenario: &Scenario, seed: u64) -> RunRecord {
    let workloads: Vec<_> = scenario.traffic.iter().map(|t| cellway_sim::workload(t, None).unwrap()).collect();
    cellway_sim::run(scenario, &workloads, seed, cellway_sim::Control::new(&|| false)).unwrap()
}

/// Returns the simulated time of runs of 10 ms of processor time, as near as whole milliseconds give it on this machine.
fn short(engine: &str) -> String {
    let plan = sweep(1, 1, "1 s", engine).plan().points().unwrap();
    let mut second: Vec<f64> = (0..5).map(|seed| seconds(|| drop(one(&plan[0].scenario, seed)))).collect();
    second.sort_by(f64::total_cmp);
    format!("{} ms", (10e-3 / second[2] * 1000.0).round().max(1.0))
}

/// Fills a store on one thread with 1,000 runs in each turn, of this simulated time, after a turn of the engine alone.
/// Returns the shares of the sweeps' time outside the engine, sorted, in % of the engine's time, and the sum of that.
fn shares(folder: &Path, duration: &str, engine: &str, turns: u64) -> (Vec<f64>, f64) {
    let store = Shard::ALL.open(folder).unwrap();
    let (mut shares, mut sum) = (Vec::new(), 0.0);
    for turn in 1..=turns {
        // A hundred more seeds each time; the engine alone does every fourth of the same runs.
        let grown = sweep(10, 100 * turn, duration, engine);
        let points = grown.plan().points().unwrap();
        let alone = seconds(|| {
            for point in &points {
                for seed in (100 * (turn - 1) + 1..=100 * turn).step_by(4) {
                    drop(one(&point.scenario, seed));
                }
            }
        });
        let all = seconds(|| {
            settings(1, |settings| {
                assert_eq!(grown.fill(&store, Shard::ALL, false, settings).unwrap().finished, 1000);
            });
        });
        sum += 4.0 * alone;
        shares.push((all / (4.0 * alone) - 1.0) * 100.0);
    }
    shares.sort_by(f64::total_cmp);
    (shares, sum)
}

fn short_runs() {
    let duration = short(ENGINE);
    println!("10,000 runs of {duration} simulated, one thread, in ten turns with the engine alone:");
    let folder = tempfile::tempdir().unwrap();
    let (shares, engine) = shares(folder.path(), &duration, ENGINE, 10);
    let all = sweep(10, 1000, &duration, ENGINE);
    let merged = |threads| {
        let store = Shard::ALL.open(folder.path()).unwrap();
        settings(threads, |settings| {
            let done = all.complete(&store, (&folder.path().join("out"), true), false, settings);
            assert_eq!((done.filled.found, done.merged.unwrap().is_some()), (10_000, true));
        });
    };
    let one_reader = seconds(|| merged(1));
    let many = std::thread::available_parallelism().map_or(1, usize::from);
    let all_readers = seconds(|| merged(many));
    let octets = Store::read(folder.path()).unwrap().totals().unwrap().octets;
    println!("  a run of the engine: {:.2} ms", engine / 10_000.0 * 1e3);
    println!("  outside the engine:  {:.1} % ({:.1} to {:.1})", shares[5], shares[0], shares[9]);
    println!("  resumed with all runs in the store, read once and merged:");
    println!("    one thread:  {:.1} % of the engine's time", one_reader / engine * 100.0);
    println!("    {many} threads: {:.1} %", all_readers / engine * 100.0);
    println!("  octets of a run in the store: {}", octets / 10_000);
}

fn a_million() {
    let folder = tempfile::tempdir().unwrap();
    let before = peak();
    let begun = Instant::now();
    let large = sweep(1000, 1000, "1 s", ENGINE);
    large.save(folder.path()).unwrap();
    let planned = begun.elapsed().as_secs_f64();
    let store = Store::open_part(folder.path(), "sweep").unwrap();
    let begun = Instant::now();
    let missing = large.missing(&store).unwrap();
    let listed = begun.elapsed().as_secs_f64();
    assert_eq!(missing.len(), 1_000_000);
    let record = Outcome::Finished(RunRecord::default());
    let begun = Instant::now();
    missing[..999_000].iter().for_each(|run| store.put(large.stored(*run), &record).unwrap());
    let put = begun.elapsed().as_secs_f64();
    drop((missing, store, large));
    let begun = Instant::now();
    let resumed = Sweep::open(folder.path()).unwrap();
    let store = Store::open_part(folder.path(), "sweep").unwrap();
    assert_eq!(resumed.missing(&store).unwrap().len(), 1000);
    let again = begun.elapsed().as_secs_f64();
    println!("a plan of 1,000,000 runs (1,000 points, 1,000 seeds):");
    println!("  made {planned:.2} s, listed {listed:.2} s, resumed with 999,000 runs in the store {again:.2} s");
    println!("  adding an empty run to the store: {:.1} us", put / 0.999);
    println!("  memory: {:.0} MB at most, {before:.0} MB before", peak());
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--once") {
        let engine = &arguments[at + 1];
        let folder = tempfile::tempdir().unwrap();
        let (shares, _) = shares(folder.path(), &short(engine), engine, arguments[at + 2].parse().unwrap());
        println!(r#"{{"outside": {shares:.2?}}}"#);
        return;
    }
    a_million();
    short_runs();
}
