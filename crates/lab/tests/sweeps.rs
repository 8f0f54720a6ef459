//! Sweeps end in every way, and go on: no run is done twice, and the tables are those of a simulation in one go.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

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

/// Damage is no failed run: the choice of replications does not depend on it.
#[test]
fn damage_does_not_change_the_choice_of_replications() {
    let folder = tempfile::tempdir().unwrap();
    let until = || {
        let mut sweep = sweep(TEXT, Some(4));
        let store = Store::open_part(folder.path(), "sweep").unwrap();
        let criteria = ["ci95(goodput[subject=t-1]) < 12 %".parse().unwrap()];
        let limits = Limits { max_seeds: 9, budget: None };
        sweep.fill_until(&store, &criteria, limits, false, &mut settings(&mut |_| {}, &mut || false)).unwrap();
        sweep.ends().to_vec()
    };
    let first = until();
    damage(folder.path());
    assert_eq!(until(), first);
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

#[test]
fn a_sweep_without_a_finished_run_has_no_tables_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let sweep = sweep(TEXT, Some(1));
    let merge = |partial| sweep.merge(&store, partial, &mut settings(&mut |_| {}, &mut || false)).map(|_| ());
    for partial in [true, false] {
        assert!(matches!(merge(partial), Err(Error::Incomplete { missing: 6, total: 6, .. })));
    }
    (0..6).for_each(|run| store.put(sweep.stored(run), &Outcome::Failed(format!("no route {run}"))).unwrap());
    for partial in [true, false] {
        let refused = merge(partial).unwrap_err().to_string();
        assert_eq!(refused, "run 0, seed 1: no route 0");
    }
}

/// A budget that ends in the middle of a point counts what that point has, and its plan can be read again.
#[test]
fn a_budget_keeps_the_replications_that_have_finished() {
    let folder = tempfile::tempdir().unwrap();
    let axes = TEXT.find("[sweep]").unwrap();
    let (mut one, store) = (sweep(&TEXT[..axes], Some(40)), Store::open(folder.path()).unwrap());
    let limits = Limits { max_seeds: 40, budget: Some(Duration::ZERO) };
    let criteria = ["ci95(goodput[subject=t-1]) < 0.001 %".parse().unwrap()];
    let done = |sweep: &mut Sweep, budget| {
        let (mut progress, mut stop) = (|_: cellway_lab::Progress<'_>| {}, || false);
        let limits = Limits { budget, ..limits };
        let mut settings = settings(&mut progress, &mut stop);
        sweep.fill_until(&store, &criteria, limits, false, &mut settings).map(|filled| filled.finished)
    };
    let over = done(&mut one, limits.budget);
    match over {
        Ok(finished) => {
            assert!(finished < 40 && one.ends()[0].replications > 0 && one.ends()[0].replications <= finished);
            assert_eq!(one.ends()[0].reason, StopReason::Budget);
            one.save(folder.path()).unwrap();
            assert_eq!(Sweep::open(folder.path()).unwrap().runs(), one.runs());
        }
        Err(error) => assert!(error.to_string().contains("accepted: a longer time"), "{error}"),
    }
    let mut again = sweep(&TEXT[..axes], Some(40));
    done(&mut again, None).unwrap();
    assert_eq!((again.ends()[0].replications, again.ends()[0].reason), (40, StopReason::MaxSeeds));
}

/// A stored run that differs from what the simulator says is found.
#[test]
fn a_wrong_run_is_found_by_verification() {
    let folder = tempfile::tempdir().unwrap();
    let right = sweep(TEXT, None);
    let store = Store::open_part(folder.path(), "sweep").unwrap();
    fill(&right, &store, Shard::ALL);
    let verify = |share| right.verify(&store, share, &mut settings(&mut |_| {}, &mut || false)).unwrap();
    let all = verify(1.0);
    assert_eq!((all.finished, all.checked, all.differing.len()), (18, 18, 0));
    assert_eq!(verify(0.01).checked, 1);
    let other = store.get(right.stored(8)).unwrap().unwrap();
    store.put(right.stored(7), &other).unwrap();
    assert_eq!(verify(1.0).differing, [7]);
}

#[test]
fn a_run_that_fails_is_kept_and_the_rest_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let sweep = sweep(TEXT, None);
    store.put(sweep.stored(4), &Outcome::Failed("no route".to_owned())).unwrap();
    let filled = fill(&sweep, &store, Shard::ALL);
    assert_eq!((filled.found, filled.finished, filled.failed), (1, 17, 0));
    let failures = sweep.failures(&store).unwrap();
    assert_eq!(failures, [(4, 2, "no route".to_owned())]);
    let status = sweep.status(&store);
    assert_eq!((status[1].planned, status[1].finished, status[1].failed), (3, 2, 1));
    assert_eq!(status[1].axes, ["link.a-b.delay = 5 ms", "tcp.variant = cubic"]);
    let merged = sweep.merge(&store, false, &mut settings(&mut |_| {}, &mut || false)).unwrap();
    assert_eq!(merged.results.runs.num_rows(), 17);
    assert!(merged.warnings.iter().any(|warning| warning.starts_with("1 of 18 runs failed")), "{:?}", merged.warnings);
    // It was not stopped.
    assert!(!merged.warnings.iter().any(|warning| warning.contains("stopped")), "{:?}", merged.warnings);
    store.forget_failures();
    let filled = fill(&sweep, &store, Shard::ALL);
    assert_eq!((filled.found, filled.finished, filled.failed), (17, 1, 0));
    let store = Store::read(folder.path()).unwrap();
    assert!(sweep.failures(&store).unwrap().is_empty());
    assert_eq!(self::merged(&sweep, &store), simulated(TEXT, None));
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

/// Two divisions of the runs overlap, so they take turns.
#[test]
fn shards_of_another_division_are_refused_while_one_works() {
    let folder = tempfile::tempdir().unwrap();
    let shard = |text: &str| text.parse::<Shard>().unwrap();
    let one = shard("1/2").open(folder.path()).unwrap();
    let two = shard("2/2").open(folder.path()).unwrap();
    for other in [shard("1/3"), Shard::ALL] {
        let refused = other.open(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("-of-2.runs is in use by another process"), "{refused}");
    }
    drop((one, two));
    let all = Shard::ALL.open(folder.path()).unwrap();
    let refused = shard("1/2").open(folder.path()).unwrap_err().to_string();
    assert!(refused.contains("sweep.runs is in use by another process"), "{refused}");
    drop(all);
    shard("1/2").open(folder.path()).unwrap();
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

#[test]
fn replications_are_added_until_intervals_are_narrow() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_part(folder.path(), "sweep").unwrap();
    let criteria = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<Criterion>>();
    let limits = Limits { max_seeds: 60, budget: None };
    let until = |texts: &[&str], limits| {
        let mut sweep = sweep(TEXT, Some(4));
        sweep
            .fill_until(&store, &criteria(texts), limits, false, &mut settings(&mut |_| {}, &mut || false))
            .map(|_| sweep)
    };
    let wanted = "ci95(goodput[subject=t-1]) < 12 %";
    let first = until(&[wanted], limits).unwrap();
    let counts: Vec<u64> = first.ends().iter().map(|end| end.replications).collect();
    assert!(counts.iter().any(|count| *count > 4) && first.runs() == counts.iter().sum::<u64>(), "{counts:?}");
    for end in first.ends() {
        let half = end.halves[0].unwrap();
        assert!(
            if end.reason == StopReason::Met { half <= 0.12 } else { half > 0.12 && end.replications == 60 },
            "{end:?}"
        );
    }
    // The plan in the folder has the numbers, and the tables have those runs.
    first.save(folder.path()).unwrap();
    let again = Sweep::open(folder.path()).unwrap();
    assert_eq!((again.ends(), again.runs()), (first.ends(), first.runs()));
    let merged = again.merge(&store, false, &mut settings(&mut |_| {}, &mut || false)).unwrap();
    assert_eq!(merged.results.runs.num_rows() as u64, first.runs());
    // The same choice from the store alone.
    let before = store.totals().unwrap();
    assert_eq!(until(&[wanted], limits).unwrap().ends(), first.ends());
    assert_eq!(store.totals().unwrap(), before);
    // A difference of the same seeds; the point that it is taken to has as many runs as the others.
    let paired = until(&["ci95(goodput[subject=t-1] against tcp.variant=reno) < 20000"], limits).unwrap();
    for pair in paired.ends().chunks(2) {
        assert!(pair[0].replications >= pair[1].replications && pair[0].halves == [Some(0.0)], "{pair:?}");
    }
    // One that no number of runs meets.
    let hard = until(&["ci95(goodput[subject=t-1]) < 0.001 %"], Limits { max_seeds: 6, budget: None }).unwrap();
    assert!(hard.ends().iter().all(|end| end.reason == StopReason::MaxSeeds && end.replications == 6));
    let over =
        until(&["ci95(goodput[subject=t-1]) < 0.001 %"], Limits { budget: Some(Duration::ZERO), ..limits }).unwrap();
    assert!(
        over.ends().iter().all(|end| end.reason == StopReason::Budget && end.replications == 4),
        "{:?}",
        over.ends()
    );
    for (wrong, told) in [
        ("ci95(goodputt[subject=t-1]) < 2 %", "accepted: one of t-1: "),
        ("ci95(goodput[subject=u]) < 2 %", "accepted: a subject with goodput: "),
        ("ci95(goodput[subject=t-1] against tcp.variant=bbr) < 2 %", "accepted: tcp.variant = one of reno, cubic"),
        (
            "ci95(goodput[subject=t-1] against tcp.window=1) < 2 %",
            "accepted: an axis of the sweep: link.a-b.delay, tcp.variant",
        ),
    ] {
        let Err(refused) = until(&[wrong], limits) else { panic!("{wrong}") };
        assert!(refused.to_string().contains(told), "{refused}");
    }
}

/// A run counts once, also if it was added in an earlier round; and the plan says that the search goes on.
#[test]
fn a_search_counts_runs_once_and_has_a_plan_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_part(folder.path(), "sweep").unwrap();
    let wanted: Criterion = "ci95(goodput[subject=t-1]) < 0.01 %".parse().unwrap();
    let limits = Limits { max_seeds: 9, budget: None };
    let search = |most: u64| {
        // Long enough that threads do not end all before it is stopped.
        let mut sweep = sweep(&TEXT.replace("\"1 s\"", "\"20 s\""), Some(4));
        let mut labels = Vec::new();
        let mut progress = |progress: cellway_lab::Progress<'_>| labels.push(progress.label.to_owned());
        let mut stop = || store.totals().unwrap().finished >= most;
        let filled = sweep.fill_until(
            &store,
            std::slice::from_ref(&wanted),
            limits,
            false,
            &mut settings(&mut progress, &mut stop),
        );
        (filled.unwrap(), sweep, labels)
    };
    let (broken_off, _, _) = search(1);
    assert!(broken_off.stopped, "{broken_off:?}");
    let plan = Sweep::open(folder.path()).unwrap();
    assert_eq!((plan.search(), plan.ends()), (&[wanted.to_string()][..], &[][..]));
    let before = store.totals().unwrap().finished;
    assert!(before < 24, "{before}");
    let (filled, sweep, labels) = search(u64::MAX);
    assert_eq!((filled.found, filled.finished), (before, sweep.runs() - before));
    assert!(
        labels.iter().any(|label| label.contains("half width up to ") && label.ends_with(" of 0.01 %")),
        "{labels:?}"
    );
    sweep.save(folder.path()).unwrap();
    let plan = Sweep::open(folder.path()).unwrap();
    assert_eq!((plan.search(), plan.ends()), (&[][..], sweep.ends()));
    let (again, sweep, _) = search(u64::MAX);
    assert_eq!((again.found, again.finished), (sweep.runs(), 0));
}

/// The plan is of the sizes that the file had.
#[test]
fn a_file_that_has_changed_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let sizes = folder.path().join("sizes.csv");
    let text = TEXT.replace("app = \"bulk\"", "flows = { load = 0.5, sizes = \"table\", file = \"sizes.csv\" }");
    let (plan, store) = (cellway_lab::plan_from_text(&text, "small.toml", &[]).unwrap(), folder.path().join("store"));
    std::fs::write(&sizes, "size,probability\n1000,0.5\n2000,1\n").unwrap();
    Sweep::new(plan, folder.path(), None).unwrap().save(&store).unwrap();
    assert_eq!(Sweep::open(&store).unwrap().runs(), 18);
    std::fs::write(&sizes, "size,probability\n1000,0.5\n3000,1\n").unwrap();
    let refused = Sweep::open(&store).err().unwrap().to_string();
    assert!(refused.contains("sizes.csv, which its scenario names, has changed; accepted: "), "{refused}");
}

#[test]
fn plans_of_others_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |folder: &Path| {
        let Err(error) = Sweep::open(folder) else { panic!("{}", folder.display()) };
        assert!(error.is_input(), "{error}");
        error.to_string()
    };
    assert!(refused(folder.path()).contains("has no plan of a sweep; accepted:"));
    sweep(TEXT, None).save(folder.path()).unwrap();
    let file = folder.path().join("plan.json");
    let text = std::fs::read_to_string(&file).unwrap();
    for (from, to, told) in [
        ("\"format\": 1", "\"format\": 2", "format 2; accepted: 1"),
        ("\"results\": 2", "\"results\": 9", "results of version 9"),
        ("2 %", "3 %", "its scenario has changed in plan.json"),
        ("\"replications\": [\n    3\n  ]", "\"replications\": [3, 4]", "other points"),
        ("\"replications\": [\n    3\n  ]", "\"replications\": []", "other points"),
        (
            "\"replications\": [\n    3\n  ]",
            "\"replications\": [1, 1, 1, 1, 1, 18446744073709551615]",
            "replications of a point",
        ),
        ("\"replications\": [\n    3\n  ]", "\"replications\": [1, 1, 1, 1, 1, -1]", "plan.json"),
        ("{", "", "plan.json"),
    ] {
        assert!(text.contains(from), "{from}: {text}");
        std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
        let told_now = refused(folder.path());
        assert!(told_now.contains(told), "{from}: {told_now}");
    }
    // Neither is one of another program replaced.
    for other in ["{\"mine\": 1}", "no plan"] {
        std::fs::write(&file, other).unwrap();
        let kept = sweep(TEXT, None).save(folder.path()).unwrap_err().to_string();
        assert!(kept.contains("is not replaced; accepted:"), "{kept}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), other);
    }
    std::fs::write(&file, text.replace("\"results\": 1", "\"results\": 9")).unwrap();
    let set = [Override::new("run.duration", "\"100 ms\"")];
    let plan = cellway_lab::plan_from_text(TEXT, "small.toml", &set).unwrap();
    Sweep::new(plan, Path::new("."), Some(2)).unwrap().save(folder.path()).unwrap();
    assert_eq!(Sweep::open(folder.path()).unwrap().runs(), 12);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As of any other file, so that the shards of others can read it.
        let other = folder.path().join("other");
        std::fs::write(&other, "").unwrap();
        let modes = [&file, &other].map(|file| std::fs::metadata(file).unwrap().permissions().mode());
        assert_eq!(modes[0], modes[1]);
    }
}
