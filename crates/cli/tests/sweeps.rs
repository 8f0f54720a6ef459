//! `cellway sweep`, its parts, and `--cache`: ends of every kind, and the tables in the end.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::{Place, SMALL, names};

const SWEPT: &str = "\n[sweep]\naxes = { \"traffic.ftp.count\" = [1, 2, 3] }\n";

fn place() -> Place {
    Place::new(&format!("{SMALL}{SWEPT}"))
}

fn tables(folder: &Path) -> Vec<Vec<u8>> {
    ["runs", "summary", "series"].map(|name| std::fs::read(folder.join(format!("{name}.parquet"))).unwrap()).into()
}

/// Kills a sweep of many runs at random-looking moments; each finished run is done once, and the tables are those of
/// `simulate`.
#[test]
#[cfg(unix)]
fn a_sweep_that_is_killed_again_and_again_ends_with_the_tables_of_simulate() {
    let place = place();
    let args = ["sweep", "study.toml", "--seeds", "30", "--set", "run.duration=1000 rtt", "--out", "store"];
    let mut finished = 0;
    for round in 1..200 {
        let mut child = place.command(&args).stderr(std::process::Stdio::null()).spawn().unwrap();
        let end = Instant::now() + Duration::from_millis(40 * round);
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break Some(status),
                None if Instant::now() > end => break None,
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        if let Some(status) = status {
            assert!(status.success(), "{status}");
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if place.path().join("store/plan.json").exists() {
            let state = place.run(&["sweep", "status", "store", "--json"]).done().json();
            let now = state["finished"].as_u64().unwrap();
            assert!(now >= finished && state["runs"] == 90, "{state}");
            finished = now;
        }
    }
    assert!(finished > 0, "it was killed before its first run each time");
    place.run(&["simulate", "study.toml", "--seeds", "30", "--set", "run.duration=1000 rtt", "--out", "out"]).done();
    assert_eq!(tables(&place.path().join("store/results")), tables(&place.path().join("out")));
    let again = place.run(&args).done();
    assert!(again.err().contains("0 runs done, 90 of 90 were in the store store"), "{}", again.err());
}

#[test]
fn shards_of_a_plan_make_the_tables_of_simulate() {
    let place = place();
    let planned = place.run(&["sweep", "plan", "study.toml", "--out", "store"]).done();
    assert!(planned.out().contains("6 runs: 0 finished, 0 failed, 6 missing"), "{}", planned.out());
    // The plan has all that a shard needs.
    std::fs::rename(place.path().join("study.toml"), place.path().join("other.toml")).unwrap();
    place.run(&["sweep", "run", "store", "--shard", "2/2"]).done();
    let early = place.run(&["sweep", "merge", "store"]).refused();
    assert!(early.contains("3 of 6 runs are missing") && early.contains("accepted:"), "{early}");
    assert!(!place.path().join("store/results").exists());
    let partial = place.run(&["sweep", "merge", "store", "--partial", "--out", "so-far"]).done();
    assert!(partial.err().contains("3 of 6 runs are missing: points have fewer replications"), "{}", partial.err());
    place.run(&["sweep", "run", "store", "--shard", "1/2"]).done();
    place.run(&["sweep", "merge", "store"]).done();
    place.run(&["simulate", "other.toml", "--out", "out"]).done();
    assert_eq!(tables(&place.path().join("store/results")), tables(&place.path().join("out")));
    assert_eq!(names(&place.path().join("store/runs")), ["shard-1-of-2.runs", "shard-2-of-2.runs"]);
    let verified = place.run(&["sweep", "verify", "store", "--share", "50%"]).done();
    assert!(verified.err().contains("3 runs of 6 finished ones came out the same"), "{}", verified.err());
    place.run(&["sweep", "gc", "store"]).done();
    assert_eq!(names(&place.path().join("store/runs")), ["00000.runs"]);
    let status = place.run(&["sweep", "status", "store", "--html", "status.html"]).done();
    assert!(status.out().contains("6 runs: 6 finished, 0 failed, 0 missing"), "{}", status.out());
    let page = std::fs::read_to_string(place.path().join("status.html")).unwrap();
    assert!(page.contains("6 of 6 runs have finished") && !page.contains("http"), "{page}");
    let script = place.run(&["sweep", "script", "slurm", "store", "--shards", "4"]).done().out();
    assert!(script.contains("#SBATCH --array=1-4") && script.contains("/store' --shard"), "{script}");
    let job = place.run(&["sweep", "script", "kubernetes", "store", "--shards", "4"]).done().out();
    assert!(job.contains("completionMode: Indexed") && job.contains("completions: 4"), "{job}");
}

/// The script of Slurm is one of a shell: run as its tasks are.
#[test]
#[cfg(unix)]
fn the_script_of_slurm_runs_its_shards() {
    let place = place();
    place.run(&["sweep", "plan", "study.toml", "--out", "a store"]).done();
    let script = place.run(&["sweep", "script", "slurm", "a store", "--shards", "2"]).done().out();
    let program = Path::new(env!("CARGO_BIN_EXE_cellway")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    for task in ["1", "2"] {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script]).env("SLURM_ARRAY_TASK_ID", task).env("PATH", &path);
        assert!(shell.current_dir("/").status().unwrap().success());
    }
    place.run(&["sweep", "merge", "a store"]).done();
}

#[test]
fn replications_are_added_until_the_interval_is_narrow() {
    let place = place();
    let until = ["--until", "ci95(throughput[subject=ftp-1]) < 20 %", "--max-seeds", "12"];
    let args = [&["sweep", "study.toml", "--out", "store"][..], &until].concat();
    let ran = place.run(&args).done();
    assert!(ran.out().contains("replications") && ran.out().contains("ended by"), "{}", ran.out());
    let state = place.run(&["sweep", "status", "store", "--json"]).done().json();
    assert_eq!(state["missing"], 0);
    let reasons = state["points"].as_array().unwrap().iter().map(|point| point["reason"].as_str().unwrap());
    assert!(reasons.clone().all(|reason| ["narrow enough", "--max-seeds"].contains(&reason)), "{state}");
    assert!(ran.out().lines().next().unwrap().contains("half width [%]"), "{}", ran.out());
    let again = place.run(&args).done();
    assert_eq!(again.out(), ran.out());
    let runs = state["runs"].as_u64().unwrap();
    assert!(again.err().contains(&format!("0 runs done, {runs} of {runs} were in the store store")), "{}", again.err());
    // As a sweep that was killed leaves it.
    let plan = place.path().join("store/plan.json");
    let mut left: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&plan).unwrap()).unwrap();
    left["search"] = serde_json::json!([until[1]]);
    std::fs::write(&plan, left.to_string()).unwrap();
    let told = format!("a sweep with --until '{}' was broken off, and the same command goes on", until[1]);
    let state = place.run(&["sweep", "status", "store"]).done();
    assert!(state.out().contains(&told), "{}", state.out());
    let merged = place.run(&["sweep", "merge", "store"]).done();
    assert!(merged.err().contains(&told), "{}", merged.err());
    assert_eq!(place.run(&["sweep", "status", "store", "--json"]).done().json()["until"][0], until[1]);
}

#[test]
fn runs_of_a_cache_are_not_run_again() {
    let place = place();
    let first = place.run(&["simulate", "study.toml", "--cache", "runs", "--out", "a"]).done();
    assert!(first.err().contains("0 of 6 runs were in the store runs"), "{}", first.err());
    let second = place.run(&["simulate", "study.toml", "--cache", "runs", "--out", "b", "--threads", "1"]).done();
    assert!(second.err().contains("6 of 6 runs were in the store runs"), "{}", second.err());
    assert_eq!((first.out(), tables(&place.path().join("a"))), (second.out(), tables(&place.path().join("b"))));
    let sweep = place.run(&["sweep", "study.toml", "--out", "runs"]).done();
    assert!(sweep.err().contains("0 runs done, 6 of 6"), "{}", sweep.err());
    let compared = place.run(&["compare", "study.toml", "--no-emulate", "--cache", "runs"]).done();
    assert!(compared.err().contains("6 of 6 runs were in the store"), "{}", compared.err());
}

#[test]
fn what_cannot_be_used_is_refused_and_loses_nothing() {
    let place = place();
    for (args, told) in [
        (&["sweep", "study.toml"][..], "--out <STORE>"),
        (&["sweep", "--out", "store"], "<FILE>"),
        (&["sweep", "none.toml", "--out", "store"], "none.toml"),
        (&["sweep", "run", "store"], "has no plan of a sweep; accepted:"),
        (&["sweep", "run", "store", "--shard", "3/2"], "accepted: I/N"),
        (&["sweep", "study.toml", "--out", "s3://bucket/name"], "accepted: a folder; only cellway.sweep of Python"),
        (&["simulate", "study.toml", "--cache", "s3://bucket/name"], "accepted: a folder;"),
        (&["sweep", "study.toml", "--out", "."], "is no store of runs"),
        (&["sweep", "study.toml", "--out", "study.toml"], "it is a file"),
        (&["simulate", "study.toml", "--cache", "."], "is no store of runs"),
        (&["sweep", "study.toml", "--out", "store", "--until", "narrow"], "accepted: \"ci95("),
        (&["sweep", "study.toml", "--out", "store", "--max-seeds", "5"], "--until"),
        (
            &["sweep", "study.toml", "--out", "store", "--until", "ci95(a[subject=b]) < 1 %", "--budget", "5"],
            "accepted: a time",
        ),
        (&["sweep", "verify", "store", "--share", "0"], "accepted: a share"),
        (&["sweep", "script", "slurm", "store", "--shards", "0"], "--shards"),
    ] {
        let refused = place.run(args).refused();
        assert!(refused.contains(told), "{args:?}: {refused}");
        assert_eq!(place.names(), ["study.toml"], "{args:?}");
    }
    // Only the Python package reaches a cluster.
    let alone = place.run(&["sweep", "study.toml", "--out", "store", "--scheduler", "local:2"]);
    assert!(alone.code() == 1 && alone.err().contains("Python package"), "{}", alone.err());
}

/// The damage is told once, the run is done again, and the next sweep finds nothing wrong.
#[test]
fn a_damaged_run_is_done_again_by_the_same_command() {
    let place = place();
    place.run(&["sweep", "study.toml", "--out", "store"]).done();
    let file = place.path().join("store/runs/sweep.runs");
    let mut octets = std::fs::read(&file).unwrap();
    let last = octets.len() - 1;
    octets[last] ^= 1;
    std::fs::write(&file, octets).unwrap();
    let ran = place.run(&["sweep", "study.toml", "--out", "store"]).done().err();
    assert!(ran.contains("1 run done, 5 of 6") && ran.matches("damage at octet").count() == 1, "{ran}");
    let again = place.run(&["sweep", "study.toml", "--out", "store"]).done().err();
    assert!(again.contains("0 runs done, 6 of 6"), "{again}");
    place.run(&["simulate", "study.toml", "--out", "out"]).done();
    assert_eq!(tables(&place.path().join("store/results")), tables(&place.path().join("out")));
}

/// Files of others in the folder are found before the work, not after it.
#[test]
fn nothing_of_others_in_a_folder_is_replaced() {
    let place = place();
    std::fs::create_dir_all(place.path().join("store/runs")).unwrap();
    std::fs::create_dir_all(place.path().join("store/results")).unwrap();
    std::fs::write(place.path().join("store/results/mine"), "text").unwrap();
    let refused = place.run(&["sweep", "study.toml", "--out", "store"]).refused();
    assert!(refused.contains("is not replaced"), "{refused}");
    assert_eq!(names(&place.path().join("store")), ["results", "runs"]);
    assert!(names(&place.path().join("store/runs")).is_empty());
    std::fs::remove_dir_all(place.path().join("store/results")).unwrap();
    std::fs::write(place.path().join("store/plan.json"), "{}").unwrap();
    let refused = place.run(&["sweep", "study.toml", "--out", "store"]).refused();
    assert!(refused.contains("plan.json is no plan of a sweep"), "{refused}");
}

/// A limit on the size of files stands for a full disk: the runs before it stay, and the same command goes on.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_ends_a_sweep_and_loses_nothing() {
    let place = place();
    let program = env!("CARGO_BIN_EXE_cellway");
    let limited =
        format!("trap '' XFSZ; ulimit -f 8; exec {program} sweep study.toml --seeds 40 --out store --threads 1");
    let mut shell = std::process::Command::new("sh");
    let output = shell.args(["-c", &limited]).current_dir(place.path()).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("cannot be written") && told.contains("The store store keeps "), "{told}");
    let state = place.run(&["sweep", "status", "store", "--json"]).done().json();
    let kept = state["finished"].as_u64().unwrap();
    assert!((1..120).contains(&kept), "{state}");
    let ran = place.run(&["sweep", "study.toml", "--seeds", "40", "--out", "store"]).done();
    assert!(ran.err().contains(&format!("{kept} of 120 were in the store")), "{}", ran.err());
    place.run(&["simulate", "study.toml", "--seeds", "40", "--out", "out"]).done();
    assert_eq!(tables(&place.path().join("store/results")), tables(&place.path().join("out")));
}

/// Two sweeps into one store: the second is refused while the first works.
#[test]
#[cfg(unix)]
fn a_store_has_one_sweep_at_a_time() {
    let place = place();
    let mut first = place.command(&["sweep", "study.toml", "--seeds", "2000", "--out", "store"]);
    let mut first = first.stderr(std::process::Stdio::null()).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while !place.path().join("store/plan.json").exists() {
        assert!(Instant::now() < end && first.try_wait().unwrap().is_none(), "it has not begun");
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = place.run(&["sweep", "study.toml", "--out", "store"]);
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(second.code() == 1 && second.err().contains("in use by another process"), "{}", second.err());
}

/// Two simulations with one store at the same time share the runs: each is in its files once, and if one of them is
/// killed, the other does what it had claimed.
#[test]
#[cfg(unix)]
fn two_simulations_with_a_cache_do_no_run_twice() {
    let place = place();
    let args = ["simulate", "study.toml", "--seeds", "20", "--set", "run.duration=400 rtt", "--cache", "runs"];
    let start = |out: &'static str| {
        let mut command = place.command(&[&args[..], &["--out", out]].concat());
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap()
    };
    let (mut one, mut two, mut killed) = (start("one"), start("two"), start("killed"));
    let end = Instant::now() + Duration::from_secs(120);
    while frames(&place.path().join("runs")) < 5 {
        assert!(Instant::now() < end, "no run has ended");
        std::thread::sleep(Duration::from_millis(2));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(one.wait().unwrap().success() && two.wait().unwrap().success());
    assert_eq!(frames(&place.path().join("runs")), 60);
    let [one, two] = ["one", "two"].map(|out| tables(&place.path().join(out)));
    place.run(&["simulate", "study.toml", "--seeds", "20", "--set", "run.duration=400 rtt", "--out", "alone"]).done();
    assert!(one == two && one == tables(&place.path().join("alone")));
}

/// Returns the number of outcomes in the files of a store.
fn frames(store: &Path) -> usize {
    let Ok(files) = std::fs::read_dir(store.join("runs")) else { return 0 };
    let files = files.map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
    files.map(|octets| octets.windows(4).filter(|four| four == b"run:").count()).sum()
}

/// A plan that was cut off is an error that leads on, and costs no run.
#[test]
fn half_a_plan_is_refused_and_made_again() {
    let place = place();
    place.run(&["sweep", "study.toml", "--out", "store"]).done();
    let plan = place.path().join("store/plan.json");
    let text = std::fs::read(&plan).unwrap();
    std::fs::write(&plan, &text[..text.len() / 2]).unwrap();
    let refused = place.run(&["sweep", "status", "store"]).refused();
    assert!(refused.contains("plan.json") && refused.contains("accepted: a plan as it was written"), "{refused}");
    std::fs::remove_file(&plan).unwrap();
    let again = place.run(&["sweep", "study.toml", "--out", "store"]).done();
    assert!(again.err().contains("0 runs done, 6 of 6"), "{}", again.err());
    assert_eq!(std::fs::read(&plan).unwrap(), text);
}
