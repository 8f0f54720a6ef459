//! Whole studies: the same tables however they are run, and result folders that are whole or not there.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::cell::RefCell;
use std::path::Path;

use cellway_lab::reproduce::{Paper, ReproduceOptions, reproduce};
use cellway_lab::{Error, Manifest, Override, Overview, Results, Settings, Simulated};
use common::{SWEEP, names, plan, shared, simulate, simulate_in, single};

/// Returns the Parquet files of a study.
fn tables(simulated: &Simulated) -> Vec<(String, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    simulated.write(&out, false).unwrap();
    assert_eq!(names(&out), ["manifest.json", "runs.parquet", "series.parquet", "summary.parquet"]);
    let parquet = names(&out).into_iter().filter(|name| name.ends_with(".parquet"));
    parquet.map(|name| (name.clone(), std::fs::read(out.join(name)).unwrap())).collect()
}

#[test]
fn tables_are_the_same_bytes_on_any_number_of_threads() {
    let plan = plan(SWEEP, &[("observe.trace", "[\"ftp-1\"]")]);
    let one = tables(&simulate(&plan, 1).unwrap());
    assert!(one.iter().all(|(_, bytes)| bytes.len() > 500));
    for threads in [1, 2, 3, 8] {
        let again = tables(&simulate(&plan, threads).unwrap());
        for ((name, first), (_, second)) in one.iter().zip(&again) {
            assert!(first == second, "{name} differs on {threads} threads");
        }
    }
}

#[test]
fn another_seed_gives_other_tables() {
    let [one, other] = ["5", "6"].map(|seed| tables(&simulate(&plan(SWEEP, &[("run.seed", seed)]), 2).unwrap()));
    assert_ne!(one, other);
}

/// Replication i of a point is the run of seed + i alone.
#[test]
fn a_replication_is_the_run_of_its_seed() {
    let study = simulate(&plan(SWEEP, &[]), 2).unwrap();
    let keys = study.results.run_keys().unwrap();
    let runs: Vec<(u32, u32, u64)> = keys.iter().map(|k| (k.run, k.point, k.seed)).collect();
    let expected: Vec<(u32, u32, u64)> = (0..8).map(|run| (run, run / 2, 5 + u64::from(run % 2))).collect();
    assert_eq!(runs, expected);
    let set = [
        ("multiplexing.channel", "\"per-destination\""),
        ("traffic.ftp.count", "2"),
        ("run.seed", "6"),
        ("run.seeds", "1"),
    ];
    let alone = simulate(&plan(single(), &set), 1).unwrap();
    let values = |simulated: &Simulated, run: u32| -> Vec<(String, String, f64)> {
        let rows = simulated.results.summary.observations().unwrap().filter(|row| row.run == run);
        rows.map(|row| (row.subject.to_owned(), row.metric.to_owned(), row.value)).collect()
    };
    assert_eq!(values(&alone, 0), values(&study, 5));
    assert_ne!(values(&alone, 0), values(&study, 4));
}

#[test]
fn progress_counts_every_run_and_ends_at_the_total() {
    let seen = RefCell::new(Vec::new());
    let mut settings = Settings {
        threads: Some(2),
        progress: &mut |p| seen.borrow_mut().push((p.label.to_owned(), p.done, p.total)),
        stop: &mut || false,
        store: None,
    };
    cellway_lab::simulate(&plan(SWEEP, &[]), Path::new("."), Some(1), &mut settings).unwrap();
    let expected: Vec<_> = (0..=4).map(|done| ("small".to_owned(), done, 4)).collect();
    assert_eq!(*seen.borrow(), expected);
}

#[test]
fn no_seeds_and_more_than_a_file_accepts_are_refused() {
    let mut settings = Settings { threads: None, progress: &mut |_| {}, stop: &mut || false, store: None };
    let in_files = |seeds: u64| {
        let set = [Override::new("run.seeds", seeds.to_string())];
        cellway_lab::plan_from_text(SWEEP, "t.toml", &set).is_ok()
    };
    assert!(in_files(100_000) && !in_files(100_001));
    for seeds in [0, 100_001, u64::MAX] {
        let Err(refused) = cellway_lab::simulate(&plan(SWEEP, &[]), Path::new("."), Some(seeds), &mut settings) else {
            panic!("{seeds} seeds")
        };
        assert!(matches!(refused, Error::Option(_)) && refused.is_input(), "{refused}");
        assert_eq!(refused.to_string(), format!("the number of seeds is {seeds}; accepted: 1 to 100000, such as 20"));
    }
}

#[test]
fn the_overview_is_the_mean_over_the_seeds() {
    let study = simulate(&plan(SWEEP, &[]), 2).unwrap();
    let overview = Overview::of(&study.results).unwrap();
    assert_eq!(overview.points.len(), 4);
    let mut values = study.results.summary.observations().unwrap();
    let mut of =
        |run: u32| values.find(|r| r.run == run && r.subject == "r1>s1" && r.metric == "utilisation").unwrap().value;
    let [a, b] = [of(0), of(1)];
    let (axes, cells) = &overview.points[0];
    assert_eq!(axes.len(), 2);
    let cell = cells.iter().find(|c| c.subject == "r1>s1" && c.metric == "utilisation").unwrap();
    assert!((cell.mean - (a + b) / 2.0).abs() < 1e-12 && cell.runs == 2, "{cell:?}");
    // Student's t for one degree of freedom is 12.706. The standard error of two values is half their distance. For a
    // share the interval is taken on the scale of the logit.
    let half = 12.706_205 * (a - b).abs() / 2.0 / (cell.mean * (1.0 - cell.mean));
    let logit = (cell.mean / (1.0 - cell.mean)).ln();
    let expected = [logit - half, logit + half].map(|x| 1.0 / (1.0 + (-x).exp()));
    let found = cell.interval.unwrap();
    assert!(
        found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6),
        "{cell:?} {expected:?}"
    );
}

#[test]
fn a_result_is_not_overwritten_without_force() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let first = simulate(&plan(single(), &[]), 1).unwrap();
    let other = simulate(&plan(single(), &[("run.seed", "9")]), 1).unwrap();
    first.write(&out, false).unwrap();
    let Err(refused) = other.write(&out, false) else { panic!("overwritten") };
    assert!(refused.is_input() && refused.to_string().contains("out"), "{refused}");
    assert_eq!(Results::read(&out).unwrap().0.runs, first.results.runs, "the first result is untouched");
    other.write(&out, true).unwrap();
    let (results, manifest) = Results::read(&out).unwrap();
    assert_eq!(results.runs, other.results.runs);
    assert_eq!((manifest.first_seed, manifest.seeds, manifest.runs), (9, 2, 2));
    assert_eq!(names(folder.path()), ["out"], "nothing else is left");
    // A folder that is not a result of Cellway is never replaced.
    let mine = folder.path().join("mine");
    std::fs::create_dir(&mine).unwrap();
    std::fs::write(mine.join("thesis.tex"), "x").unwrap();
    assert!(first.write(&mine, true).is_err());
    assert_eq!(names(&mine), ["thesis.tex"]);
}

#[test]
fn a_study_that_is_stopped_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let polls = RefCell::new(0);
    let mut settings = Settings {
        threads: Some(2),
        progress: &mut |_| {},
        stop: &mut || {
            *polls.borrow_mut() += 1;
            *polls.borrow() > 2
        },
        store: None,
    };
    let stopped =
        cellway_lab::simulate(&plan(SWEEP, &[("run.duration", "\"100000 rtt\"")]), Path::new("."), None, &mut settings);
    assert!(matches!(stopped, Err(Error::Stopped)));
    let options = ReproduceOptions { quick: true, out: Some(&out), ..ReproduceOptions::default() };
    let half_way = RefCell::new(Vec::new());
    let mut settings = Settings {
        threads: Some(2),
        progress: &mut |_| {},
        stop: &mut || {
            half_way.borrow_mut().push(names(folder.path()));
            half_way.borrow().len() > 3
        },
        store: None,
    };
    let stopped = reproduce(&[Paper::find("cellsim").unwrap()], &options, &mut settings);
    assert!(matches!(stopped, Err(Error::Stopped)));
    let half_way = half_way.into_inner();
    let [partial] = &half_way[0][..] else { panic!("{half_way:?}") };
    assert!(Manifest::read(&folder.path().join(partial)).is_err(), "no reader takes {partial} for a result");
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

/// Endless transfers that begin one after the other: the load still rises when measurement begins.
#[test]
fn a_warm_up_that_is_too_short_is_warned_of() {
    let warnings = |stagger: &str, warmup: &str| {
        let set = [
            ("traffic.ftp.app", "\"bulk\""),
            ("traffic.ftp.count", "6"),
            ("traffic.ftp.stagger", stagger),
            ("traffic.telnet.count", "0"),
            ("tcp.window", "\"1024 B\""),
            ("run.warmup", warmup),
            ("run.seeds", "4"),
        ];
        of_the_warm_up(simulate(&plan(single(), &set), 2).unwrap().warnings)
    };
    let warned = warnings("\"20 rtt\"", "\"0 s\"");
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].contains("warm-up") && warned[0].contains("the only point"), "{}", warned[0]);
    // The same with a warm-up past the last beginning.
    assert_eq!(warnings("\"20 rtt\"", "\"140 rtt\""), Vec::<String>::new());
    // All begin together: the load is steady after the first bin.
    assert_eq!(warnings("\"0 s\"", "\"20 rtt\""), Vec::<String>::new());
}

/// Returns the warnings but that of replications that are alike, as those of fixed transfers are.
fn of_the_warm_up(warnings: Vec<String>) -> Vec<String> {
    let (alike, others): (Vec<_>, Vec<_>) =
        warnings.into_iter().partition(|text| text.contains("gave the same figures"));
    assert_eq!(alike.len(), 1, "{alike:?}");
    others
}

/// In a sweep the warning names the points.
#[test]
fn the_warning_names_the_points() {
    let rising = [
        ("traffic.ftp.app", "\"bulk\""),
        ("traffic.ftp.stagger", "\"30 rtt\""),
        ("traffic.telnet.count", "0"),
        ("tcp.window", "\"1024 B\""),
        ("run.warmup", "\"0 s\""),
        ("run.seeds", "4"),
    ];
    let warned = of_the_warm_up(simulate(&plan(SWEEP, &rising), 2).unwrap().warnings);
    assert_eq!(warned.len(), 1, "one line for the whole sweep: {warned:?}");
    let point = "multiplexing.channel = per-destination, traffic.ftp.count = 2";
    assert!(warned[0].contains(" of 4 points") && warned[0].contains(point), "{warned:?}");
}

#[test]
fn full_tables_come_from_the_folder_that_the_scenario_names() {
    let Some(folder) = shared("data/tcplib") else { return };
    let tables = ("traffic.*.workload.tables", "\"tcplib\"");
    let with = plan(single(), &[tables]);
    assert_eq!(cellway_lab::check(&with, folder.parent().unwrap()).unwrap().points, 1);
    let full = simulate_in(&with, folder.parent().unwrap(), 2).unwrap();
    let shipped = simulate(&plan(single(), &[]), 2).unwrap();
    // The models are near their tables, not the same: other sizes, about the same load.
    assert_ne!(full.results.summary, shipped.results.summary);
    let load = |simulated: &Simulated| {
        let rows = simulated.results.summary.observations().unwrap();
        rows.filter(|row| row.subject == "ftp" && row.metric == "throughput_mean").map(|row| row.value).sum::<f64>()
    };
    assert!((load(&full) / load(&shipped) - 1.0).abs() < 0.5, "{} and {}", load(&full), load(&shipped));
}

#[test]
fn a_folder_without_tables_or_with_a_wrong_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let named = plan(single(), &[("traffic.ftp.workload.tables", "\"mine\"")]);
    let refuse = || match simulate_in(&named, folder.path(), 1) {
        Ok(_) => panic!("not refused"),
        Err(error) => {
            assert!(error.is_input(), "{error}");
            assert_eq!(cellway_lab::check(&named, folder.path()).unwrap_err().to_string(), error.to_string());
            error.to_string()
        }
    };
    assert!(refuse().contains("traffic.ftp.workload.tables: cannot read "), "{}", refuse());
    assert!(refuse().contains("mine/ftp_nitems.csv"), "{}", refuse());
    let mine = folder.path().join("mine");
    std::fs::create_dir(&mine).unwrap();
    for name in [
        "ftp_nitems",
        "ftp_itemsize",
        "ftp_ctlsize",
        "nntp_nitems",
        "nntp_itemsize",
        "smtp_itemsize",
        "telnet_pktsize",
        "telnet_interarrival",
        "telnet_duration",
    ] {
        std::fs::write(mine.join(format!("{name}.csv")), "value,cum_prob\n10,0.5\n20,1\n").unwrap();
    }
    simulate_in(&named, folder.path(), 1).unwrap();
    std::fs::write(mine.join("nntp_nitems.csv"), "value,cum_prob\n10,0.5\n9,1\n").unwrap();
    assert!(refuse().contains("mine/nntp_nitems.csv:3: value 9 is not above 10"), "{}", refuse());
}
