//! The costs of a sweep beside its runs: a store and threads for 10,000 runs of 10 ms, and a plan of a million runs.
//!
//! Every figure is a share, a ratio, or per run; the time of the engine alone is measured in turns with the sweep.
#![allow(clippy::unwrap_used, reason = "a benchmark may panic")]

use std::path::Path;
use std::time::Instant;

use cellway_lab::sweep::{Shard, Sweep};
use cellway_lab::{Override, Settings, Store};
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

fn sweep(points: usize, seeds: u64, duration: &str) -> Sweep {
    let rates: Vec<String> = (0..points).map(|point| format!("\"{} kbit/s\"", 100_000 + point)).collect();
    let set = [Override::new("run.duration", format!("\"{duration}\""))];
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

fn short_runs() {
    // Runs of 10 ms of processor time, as near as a duration gives it on this machine.
    let plan = sweep(1, 1, "1 s").plan().points().unwrap();
    let workloads: Vec<_> = plan[0].scenario.traffic.iter().map(|t| cellway_sim::workload(t, None).unwrap()).collect();
    let one =
        |scenario, seed| cellway_sim::run(scenario, &workloads, seed, cellway_sim::Control::new(&|| false)).unwrap();
    let mut second: Vec<f64> = (0..5).map(|seed| seconds(|| drop(one(&plan[0].scenario, seed)))).collect();
    second.sort_by(f64::total_cmp);
    let duration = format!("{} ms", (10e-3 / second[2] * 1000.0).round().max(1.0));
    let short = sweep(10, 100, &duration);
    let points = short.plan().points().unwrap();
    println!("1,000 runs of {duration} simulated, one thread, five times in turns:");
    let (mut shares, mut merges, mut octets) = (Vec::new(), Vec::new(), 0);
    for _ in 0..5 {
        let engine = seconds(|| {
            for point in &points {
                (1..=100).for_each(|seed| drop(one(&point.scenario, seed)));
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let all = seconds(|| {
            settings(1, |settings| {
                short.fill(&store, Shard::ALL, false, settings).unwrap();
            });
        });
        let merge = seconds(|| {
            settings(1, |settings| {
                short.merge_into(&store, (&folder.path().join("out"), false), false, settings).unwrap();
            });
        });
        octets = store.totals().unwrap().octets;
        shares.push((all / engine - 1.0) * 100.0);
        merges.push(merge / engine * 100.0);
    }
    shares.sort_by(f64::total_cmp);
    merges.sort_by(f64::total_cmp);
    println!("  a run of the engine: {:.2} ms", second[2] * 1e3 * (10e-3 / second[2]));
    println!("  outside the engine:  {:.1} % ({:.1} to {:.1})", shares[2], shares[0], shares[4]);
    println!("  merging the tables:  {:.1} % ({:.1} to {:.1})", merges[2], merges[0], merges[4]);
    println!("  octets of a run in the store: {}", octets / 1000);
}

fn a_million() {
    let folder = tempfile::tempdir().unwrap();
    let before = peak();
    let begun = Instant::now();
    let large = sweep(1000, 1000, "1 s");
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
    a_million();
    short_runs();
}
