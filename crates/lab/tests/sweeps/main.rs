//! Sweeps end in every way, and go on: no run is done twice, and the tables are those of a simulation in one go.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../common/mod.rs"]
mod common;
mod refused;
mod until;

use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use cellway_lab::sweep::{Criterion, Filled, Limits, Shard, StopReason, Sweep};
use cellway_lab::{Error, Override, Settings, Store};
use cellway_store::Outcome;

const TEXT: &str = r#"
version = 1
name = "small"
run = { duration = "1 s", seeds = 3 }
buffer = { size = "20 KiB", per = "port", count = "packet" }
tcp = { profile = "linux-6", mss = "1460 B" }
node = [{ name = "a", kind = "host" }, { name = "b", kind = "router" }]
link = [{ between = ["a", "b"], rate = "1 Mbit/s", delay = "5 ms", framing = "packet", loss = "2 %" }]
traffic = [{ name = "t", app = "bulk", from = "a", to = "b", access = { rate = "1 Gbit/s", delay = "0 s" } }]
[sweep]
axes = { "link.a-b.delay" = ["5 ms", "10 ms", "20 ms"], "tcp.variant" = ["reno", "cubic"] }
"#;

fn sweep(text: &str, seeds: Option<u64>) -> Sweep {
    let plan = cellway_lab::plan_from_text(text, "small.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    Sweep::new(plan, Path::new("."), seeds).unwrap()
}

fn settings<'a>(
    progress: &'a mut dyn FnMut(cellway_lab::Progress<'_>),
    stop: &'a mut dyn FnMut() -> bool,
) -> Settings<'a> {
    Settings { threads: Some(2), progress, stop, store: None }
}

fn fill(sweep: &Sweep, store: &Store, shard: Shard) -> Filled {
    sweep.fill(store, shard, false, &mut settings(&mut |_| {}, &mut || false)).unwrap()
}

/// The files of the tables, of which nothing may depend on how they were made.
fn tables(folder: &Path) -> Vec<Vec<u8>> {
    ["runs", "summary", "series"]
        .iter()
        .map(|name| std::fs::read(folder.join(format!("{name}.parquet"))).unwrap())
        .collect()
}

fn simulated(text: &str, seeds: Option<u64>) -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let plan = cellway_lab::plan_from_text(text, "small.toml", &[]).unwrap();
    let out = folder.path().join("out");
    let mut settings = Settings { threads: Some(2), progress: &mut |_| {}, stop: &mut || false, store: None };
    let simulated = cellway_lab::simulate(&plan, Path::new("."), seeds, &mut settings);
    simulated.unwrap().write(&out, false).unwrap();
    tables(&out)
}

fn merged(sweep: &Sweep, store: &Store) -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    sweep.merge_into(store, (&out, false), false, &mut settings(&mut |_| {}, &mut || false)).unwrap();
    tables(&out)
}

#[test]
fn a_sweep_that_is_stopped_again_and_again_ends_with_the_tables_of_a_simulation() {
    let folder = tempfile::tempdir().unwrap();
    let mut finished = Vec::new();
    // Long enough that threads do not end all before it is stopped.
    let text = &TEXT.replace("\"1 s\"", "\"60 s\"");
    loop {
        // Each time another process: the plan and the runs come from the folder.
        if finished.is_empty() {
            sweep(text, None).save(folder.path()).unwrap();
        }
        let sweep = Sweep::open(folder.path()).unwrap();
        let store = Store::open_part(folder.path(), "sweep").unwrap();
        let done = Cell::new(0);
        let mut progress = |p: cellway_lab::Progress<'_>| done.set(p.done);
        let mut stop = || done.get() >= 4;
        let filled = sweep.fill(&store, Shard::ALL, false, &mut settings(&mut progress, &mut stop)).unwrap();
        assert_eq!(filled.found, store.totals().unwrap().finished - filled.finished, "{filled:?}");
        finished.push(filled.finished);
        if !filled.stopped {
            assert_eq!(merged(&sweep, &store), simulated(text, None));
            break;
        }
        let partly = sweep.merge(&store, false, &mut settings(&mut |_| {}, &mut || false));
        assert!(matches!(partly, Err(Error::Incomplete { total: 18, .. })));
    }
    // Runs that were at work when it was stopped are lost; those that had ended are not done again.
    assert!(finished.len() >= 3 && finished.iter().sum::<u64>() <= 18, "{finished:?}");
    assert_eq!(Store::read(folder.path()).unwrap().totals().unwrap().finished, 18);
}

#[test]
fn shards_make_the_same_tables_and_more_seeds_run_only_those() {
    let folder = tempfile::tempdir().unwrap();
    let small = sweep(TEXT, None);
    let parts: Vec<Shard> = ["3/3", "1/3", "2/3"].iter().map(|text| text.parse().unwrap()).collect();
    for shard in parts {
        let store = Store::open_part(folder.path(), &shard.part()).unwrap();
        assert_eq!(fill(&small, &store, shard).finished, 6);
    }
    let store = Store::open_part(folder.path(), "sweep").unwrap();
    assert_eq!(fill(&small, &store, Shard::ALL), Filled { found: 18, ..Filled::default() });
    assert_eq!(merged(&small, &store), simulated(TEXT, None));
    let larger = sweep(TEXT, Some(5));
    let filled = fill(&larger, &store, Shard::ALL);
    assert_eq!((filled.found, filled.finished), (18, 12));
    assert_eq!(merged(&larger, &store), simulated(TEXT, Some(5)));
    // Of the smaller plan nothing else is kept.
    drop(store);
    assert!(small.remove_others(folder.path()).unwrap() > 0);
    let store = Store::read(folder.path()).unwrap();
    assert_eq!(store.totals().unwrap().finished, 18);
    assert_eq!(merged(&small, &store), simulated(TEXT, None));
}

/// A study with another name and another sweep shares the points that resolve to the same scenario.
#[test]
fn a_point_of_two_studies_is_run_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(fill(&sweep(TEXT, None), &store, Shard::ALL).finished, 18);
    let other =
        TEXT.replace("\"small\"", "\"other\"").replace("[\"5 ms\", \"10 ms\", \"20 ms\"]", "[\"10 ms\", \"30 ms\"]");
    let other = other.replace("\"reno\", \"cubic\"", "\"cubic\", \"reno\"");
    assert_eq!(fill(&sweep(&other, None), &store, Shard::ALL), Filled { found: 6, finished: 6, ..Filled::default() });
    assert_eq!(merged(&sweep(&other, None), &store), simulated(&other, None));
    // Within a study, too: the delay of the file is that of a point.
    let twice = TEXT.replace("\"10 ms\", \"20 ms\"", "\"5000 us\", \"0.005 s\"");
    let filled = fill(&sweep(&twice, None), &store, Shard::ALL);
    assert_eq!((filled.found, filled.finished), (18, 0));
    let fresh = tempfile::tempdir().unwrap();
    let store = Store::open(fresh.path()).unwrap();
    assert_eq!(fill(&sweep(&twice, None), &store, Shard::ALL).finished, 6);
    assert_eq!(merged(&sweep(&twice, None), &store), simulated(&twice, None));
}

/// `simulate` with a store: nothing in the tables shows which runs were there, and twins are run once.
#[test]
fn a_simulation_with_a_store_has_the_same_tables() {
    let folder = tempfile::tempdir().unwrap();
    let twice = TEXT.replace("\"10 ms\", \"20 ms\"", "\"5000 us\", \"30 ms\"");
    let plan = cellway_lab::plan_from_text(&twice, "small.toml", &[]).unwrap();
    let expected = simulated(&twice, None);
    for (round, threads) in [(0, 1), (1, 2), (2, 1)] {
        let store = Store::open(&folder.path().join("store")).unwrap();
        let mut totals = Vec::new();
        let mut progress = |p: cellway_lab::Progress<'_>| totals.push((p.done, p.total));
        let mut stop = || false;
        let mut settings =
            Settings { threads: Some(threads), progress: &mut progress, stop: &mut stop, store: Some(&store) };
        let out = folder.path().join(format!("out-{round}"));
        cellway_lab::simulate(&plan, Path::new("."), None, &mut settings).unwrap().write(&out, false).unwrap();
        assert_eq!(tables(&out), expected);
        assert_eq!(totals.last(), Some(&(18, 18)));
        assert_eq!((store.totals().unwrap().finished, store.served()), (12, if round == 0 { 6 } else { 18 }));
    }
}

/// Changes the octet in the middle of the runs of a sweep.
fn damage(folder: &Path) {
    let file = folder.join("runs/sweep.runs");
    let mut octets = std::fs::read(&file).unwrap();
    let middle = octets.len() / 2;
    octets[middle] ^= 0xff;
    std::fs::write(&file, octets).unwrap();
}

#[test]
fn damage_is_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = sweep(TEXT, None);
    fill(&sweep, &Store::open_part(folder.path(), "sweep").unwrap(), Shard::ALL);
    damage(folder.path());
    let store = Store::read(folder.path()).unwrap();
    let found = sweep.merge(&store, false, &mut settings(&mut |_| {}, &mut || false));
    assert!(matches!(found, Err(Error::Incomplete { .. })));
    // Another process, which knows nothing of what the first has read.
    let store = Store::open_part(folder.path(), "sweep").unwrap();
    let filled = fill(&sweep, &store, Shard::ALL);
    assert_eq!((filled.found, filled.finished, store.damage().len()), (17, 1, 1));
    assert_eq!(merged(&sweep, &store), simulated(TEXT, None));
    drop(store);
    let store = Store::read(folder.path()).unwrap();
    assert_eq!(merged(&sweep, &store), simulated(TEXT, None));
}

/// The runs that equal points share are run by one shard only.
#[test]
fn a_run_that_two_shards_share_is_run_once() {
    let folder = tempfile::tempdir().unwrap();
    let text = TEXT.replace("\"10 ms\", \"20 ms\"", "\"5000 us\"").replace("seeds = 3", "seeds = 5");
    let twice = sweep(&text, None);
    let ran = ["1/2", "2/2"].map(|shard| {
        let shard: Shard = shard.parse().unwrap();
        fill(&twice, &Store::open_part(folder.path(), &shard.part()).unwrap(), shard).finished
    });
    assert_eq!((twice.runs(), ran.iter().sum::<u64>()), (20, 10), "{ran:?}");
    assert_eq!(merged(&twice, &Store::read(folder.path()).unwrap()), simulated(&text, None));
}

/// A part of the runs is a warning with the number that is missing, and so is a failure among them.
#[test]
fn a_part_of_the_runs_is_merged_with_the_reasons() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_part(folder.path(), "shard-2-of-3").unwrap();
    let sweep = sweep(TEXT, None);
    fill(&sweep, &store, "2/3".parse().unwrap());
    store.put(sweep.stored(0), &Outcome::Failed("no route".to_owned())).unwrap();
    let merged = sweep.merge(&store, true, &mut settings(&mut |_| {}, &mut || false)).unwrap();
    let warned = |begin: &str| merged.warnings.iter().any(|warning| warning.starts_with(begin));
    assert!(warned("1 of 18 runs failed") && warned("11 of 18 runs are missing"), "{:?}", merged.warnings);
}

/// Each stored run is read once for the tables, and what does not read back then is run again.
#[test]
fn a_sweep_is_completed_by_reading_each_run_once() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = sweep(TEXT, None);
    fill(&sweep, &Store::open_part(folder.path(), "sweep").unwrap(), Shard::ALL);
    let complete = |store: &Store, out: &str| {
        let out = folder.path().join(out);
        let done = sweep.complete(store, (&out, false), false, &mut settings(&mut |_| {}, &mut || false));
        assert!(done.merged.unwrap().is_some());
        (done.filled, tables(&out))
    };
    let store = Store::open_part(folder.path(), "sweep").unwrap();
    let (filled, tables) = complete(&store, "one");
    assert_eq!((filled.found, filled.finished, store.served()), (18, 0, 18));
    assert_eq!(tables, simulated(TEXT, None));
    drop(store);
    damage(folder.path());
    let store = Store::open_part(folder.path(), "sweep").unwrap();
    let (filled, tables) = complete(&store, "two");
    assert_eq!((filled.found, filled.finished, store.damage().len()), (17, 1, 1));
    assert_eq!(tables, simulated(TEXT, None));
}

/// A sweep and two simulations with the same store, at once: each run is in the files once.
#[test]
fn a_sweep_and_simulations_with_its_store_do_no_run_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let text = &TEXT.replace("\"1 s\"", "\"10 s\"");
    let barrier = std::sync::Barrier::new(3);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let (store, barrier) = (Store::open(path).unwrap(), &barrier);
            scope.spawn(move || {
                let plan = cellway_lab::plan_from_text(text, "small.toml", &[]).unwrap();
                let mut settings =
                    Settings { threads: Some(2), progress: &mut |_| {}, stop: &mut || false, store: Some(&store) };
                barrier.wait();
                let simulated = cellway_lab::simulate(&plan, Path::new("."), None, &mut settings).unwrap();
                assert_eq!(simulated.results.runs.num_rows(), 18);
            });
        }
        let (store, sweep) = (Shard::ALL.open(path).unwrap(), sweep(text, None));
        barrier.wait();
        let filled = fill(&sweep, &store, Shard::ALL);
        assert_eq!((filled.found + filled.finished, filled.failed), (18, 0));
        assert_eq!(merged(&sweep, &store), simulated(text, None));
    });
    let files =
        std::fs::read_dir(path.join("runs")).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
    let frames: usize = files.map(|octets| octets.windows(4).filter(|four| four == b"run:").count()).sum();
    assert_eq!(frames, 18);
}
