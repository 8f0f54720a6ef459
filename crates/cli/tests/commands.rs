//! The commands with valid input: their output, their files, and their JSON.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::process::Stdio;
use std::time::Duration;

use common::{Place, SMALL, names, repository};
use serde_json::Value;

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap_or_else(|| panic!("{value}")).keys().map(String::as_str).collect()
}

#[test]
fn simulate_prints_a_table_and_writes_a_result() {
    let place = Place::new(SMALL);
    let ran = place.run(&["simulate", "study.toml", "--out", "out/study"]).done();
    let table = ran.out();
    assert!(
        table.lines().next().unwrap().contains("utilisation") && table.contains("r1>s1") && table.contains('±'),
        "{table}"
    );
    assert!(ran.err().contains("2 runs") && ran.err().contains("tables in out/study"), "{}", ran.err());
    assert!(ran.err().starts_with("done: small, 2 runs ("), "standard error is no terminal: {}", ran.err());
    assert_eq!(names(&place.path().join("out")), ["study"]);
    let folder = place.path().join("out/study");
    assert_eq!(names(&folder), ["manifest.json", "runs.parquet", "series.parquet", "summary.parquet"]);
    let manifest: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("manifest.json")).unwrap()).unwrap();
    assert_eq!((&manifest["runs"], &manifest["seeds"], &manifest["scenario"]), (&2.into(), &2.into(), &SMALL.into()));
    assert!(manifest["cell_hops_per_second"].as_f64().unwrap() > 0.0);
}

#[test]
fn nothing_is_written_without_out() {
    let place = Place::new(SMALL);
    place.run(&["simulate", "study.toml"]).done();
    assert_eq!(place.names(), ["study.toml"]);
}

#[test]
fn an_existing_result_is_kept_unless_forced() {
    let place = Place::new(SMALL);
    place.run(&["simulate", "study.toml", "--out", "out"]).done();
    let manifest = || std::fs::read_to_string(place.path().join("out/manifest.json")).unwrap();
    let first = manifest();
    let told = place.run(&["simulate", "study.toml", "--out", "out", "--seeds", "1"]).refused();
    assert!(told.contains("out") && told.contains("--force"), "{told}");
    assert_eq!(manifest(), first);
    let told = place.run(&["reproduce", "cellsim", "--quick", "--out", "out"]).refused();
    assert!(told.contains("--force"), "{told}");
    place.run(&["simulate", "study.toml", "--out", "out", "--seeds", "1", "--force"]).done();
    assert!(manifest().contains("\"seeds\": 1"));
    assert_eq!(place.names(), ["out", "study.toml"]);
    // A folder that is no result is not replaced, even by force.
    std::fs::create_dir(place.path().join("mine")).unwrap();
    std::fs::write(place.path().join("mine/thesis.tex"), "x").unwrap();
    place.run(&["simulate", "study.toml", "--out", "mine", "--force"]).refused();
    assert_eq!(names(&place.path().join("mine")), ["thesis.tex"]);
}

#[test]
fn the_result_of_simulate_as_json() {
    let place = Place::new(SMALL);
    let args = [
        "simulate",
        "study.toml",
        "--set",
        "traffic.ftp.count=1",
        "--seeds",
        "3",
        "--json",
        "--out",
        "out",
        "--pcap",
        "s1",
        "--qlog",
        "ftp-1:2",
    ];
    let ran = place.run(&args).done();
    let told = ran.json();
    let expected = [
        "capture",
        "cell_hops",
        "folder",
        "name",
        "packet_hops",
        "planned_runs",
        "points",
        "qlog",
        "report",
        "runs",
        "wall_seconds",
        "warnings",
    ];
    let mut found = keys(&told);
    found.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!((&told["name"], &told["runs"], &told["folder"]), (&"small".into(), &3.into(), &"out".into()));
    assert!(told["cell_hops"].as_u64().unwrap() > 1000 && told["wall_seconds"].is_f64() && told["warnings"].is_array());
    assert_eq!(told["capture"]["path"], "out/s1.pcap");
    assert!(told["capture"]["records"].as_u64().unwrap() > 100);
    assert!(std::fs::metadata(place.path().join("out/s1.pcap")).unwrap().len() > 10_000);
    assert_eq!(told["qlog"]["path"], "out/ftp-1.2.sqlog");
    let qlog = std::fs::read_to_string(place.path().join("out/ftp-1.2.sqlog")).unwrap();
    assert_eq!(qlog.lines().count() as u64, 1 + told["qlog"]["events"].as_u64().unwrap());
    let points = told["points"].as_array().unwrap();
    assert_eq!((points.len(), keys(&points[0])), (1, vec!["axes", "figures"]));
    let figures = points[0]["figures"].as_array().unwrap();
    let figure = figures.iter().find(|f| f["subject"] == "r1>s1" && f["metric"] == "utilisation").unwrap();
    assert_eq!((&figure["unit"], &figure["runs"]), (&"1".into(), &3.into()));
    let mean = figure["mean"].as_f64().unwrap();
    let [low, high] = [0, 1].map(|end| figure["interval_95"][end].as_f64().unwrap());
    assert!(0.0 < low && low < mean && mean < high && high <= 1.0, "{figure}");
    assert!(figures.iter().all(|f| f["subject"] != "ftp-2"), "the key was set");
    let manifest = std::fs::read_to_string(place.path().join("out/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let expected = format!("{SMALL}\n# Run with:\n# --set traffic.ftp.count=1\n");
    assert_eq!(manifest["scenario"], expected.as_str(), "the manifest says what was run, not only the file");
}

#[test]
fn the_axes_of_a_sweep_are_in_the_json() {
    let place = Place::new(&format!(
        "{SMALL}\n[sweep]\naxes = {{ \"multiplexing.channel\" = [\"per-type\", \"per-destination\"], \"traffic.ftp.count\" = [0, 1] }}\n"
    ));
    let told = place.run(&["simulate", "study.toml", "--seeds", "1", "--json", "--threads", "2"]).done().json();
    let axes: Vec<(&str, f64)> = told["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| {
            (p["axes"]["multiplexing.channel"].as_str().unwrap(), p["axes"]["traffic.ftp.count"].as_f64().unwrap())
        })
        .collect();
    assert_eq!(axes, [("per-type", 0.0), ("per-type", 1.0), ("per-destination", 0.0), ("per-destination", 1.0)]);
    assert!(told["folder"].is_null() && told["report"].is_null() && told["capture"].is_null());
    let figure = &told["points"][1]["figures"][0];
    assert!(figure["interval_95"].is_null(), "one seed has no interval: {figure}");
}

#[test]
fn threads_do_not_change_the_tables() {
    let place = Place::new(SMALL);
    for threads in ["1", "2"] {
        place.run(&["simulate", "study.toml", "--seeds", "4", "--threads", threads, "--out", threads]).done();
    }
    for table in ["runs.parquet", "summary.parquet", "series.parquet"] {
        let [one, two] = ["1", "2"].map(|folder| std::fs::read(place.path().join(folder).join(table)).unwrap());
        assert!(one == two, "{table}");
    }
}

#[test]
fn a_capture_is_written_next_to_the_tables_or_here() {
    let place = Place::new(SMALL);
    place.run(&["simulate", "study.toml", "--seeds", "1", "--pcap", "ftp-1"]).done();
    assert_eq!(place.names(), ["ftp-1.pcap", "study.toml"]);
    let magic = std::fs::read(place.path().join("ftp-1.pcap")).unwrap();
    assert_eq!(magic[..4], [0x4d, 0x3c, 0xb2, 0xa1]);
}

#[test]
fn a_record_of_qlog_is_written_here_and_kept_unless_forced() {
    let place = Place::new(SMALL);
    let args = ["simulate", "study.toml", "--seeds", "1", "--qlog", "ftp-1-sink"];
    let ran = place.run(&args).done();
    assert!(ran.err().contains(" events of qlog in ./ftp-1-sink.sqlog"), "{}", ran.err());
    assert_eq!(place.names(), ["ftp-1-sink.sqlog", "study.toml"]);
    let told = place.run(&args).refused();
    assert!(told.contains("ftp-1-sink.sqlog exists; --force replaces it"), "{told}");
    place.run(&[&args[..], &["--force"]].concat()).done();
}

#[test]
fn check_lists_the_runs() {
    let place = Place::new(SMALL);
    let ran = place.run(&["check", "study.toml"]).done();
    assert!(
        ran.out().starts_with("study.toml: valid\n") && ran.out().contains("1 point x 2 seeds = 2 runs"),
        "{}",
        ran.out()
    );
    let told = place.run(&["check", "study.toml", "--json", "--set", "run.seeds=7"]).done().json();
    assert_eq!(
        (&told["valid"], &told["points"], &told["seeds"], &told["runs"]),
        (&true.into(), &1.into(), &7.into(), &7.into())
    );
    assert_eq!(
        (told["rtt_s"].as_f64(), told["duration_s"].as_f64(), told["warmup_s"].as_f64()),
        (Some(0.045), Some(9.0), Some(0.9))
    );
    assert_eq!((&told["name"], &told["axes"]), (&"small".into(), &Value::Array(vec![])));
    assert_eq!(place.names(), ["study.toml"]);
}

#[test]
fn every_shipped_scenario_is_right() {
    let place = Place::new(SMALL);
    for path in ["papers/cellsim/cellsim.toml", "papers/cellsim/load.toml", "scenarios/satellite-bulk.toml"] {
        place.run(&["check", &repository(path).to_string_lossy()]).done();
    }
}

/// The network of the paper can be written in under 50 lines.
#[test]
fn the_cellsim_file_is_short() {
    let text = std::fs::read_to_string(repository("papers/cellsim/cellsim.toml")).unwrap();
    assert!(text.lines().count() < 50, "{} lines", text.lines().count());
}

#[test]
fn the_schema_is_json_and_the_committed_one() {
    let ran = Place::new(SMALL).run(&["schema"]).done();
    assert_eq!(ran.json()["type"], "object");
    let committed = std::fs::read_to_string(repository("schema/scenario.schema.json")).unwrap();
    assert_eq!(ran.out().trim_end(), committed.trim_end());
}

#[test]
fn a_table_is_fitted() {
    let place = Place::new(SMALL);
    // A thousand rows of a curve: far more than a model has knots.
    let rows: String = (1..=1000).map(|i| format!("{},{}\n", i * i, f64::from(i) / 1000.0)).collect();
    std::fs::write(place.path().join("squares.csv"), format!("value,cum_prob\n{rows}")).unwrap();
    let ran = place.run(&["workload", "fit", "squares.csv"]).done();
    assert!(ran.out().contains("[squares]") && ran.out().contains("knots"), "{}", ran.out());
    assert!(ran.err().contains("for 1000 rows, KS distance"), "{}", ran.err());
    let told = place.run(&["workload", "fit", "squares.csv", "--json"]).done().json();
    let fit = &told[0];
    assert_eq!((&fit["table"], &fit["rows"], told.as_array().unwrap().len()), (&"squares".into(), &1000.into(), 1));
    assert!(fit["knots"].as_u64().unwrap() <= 40 && fit["ks"].as_f64().unwrap() <= 0.01, "{fit}");
    let [table, model] = ["mean_table", "mean_model"].map(|key| fit[key].as_f64().unwrap());
    assert!((model / table - 1.0).abs() < 0.03, "{fit}");
    assert!(fit["model"].as_str().unwrap().contains("[squares]"));
    assert_eq!(place.names(), ["squares.csv", "study.toml"]);
}

/// A workload file with a class of one distribution more than it must have.
const WORKLOAD: &str = r#"version = 1
[[class]]
name = "web"
transport = "tcp"
conversations = 400
left_out = { "no SYN" = 3 }
[class.exchanges]
samples = 400
knots = [[1, 1]]
[class.request]
samples = 400
knots = [[0, 100], [0.5, 200], [1, 1000]]
[class.request.fit]
law = "lognormal"
mu = 5.4
sigma = 0.5
ks = 0.08
[class.think]
samples = 400
knots = [[0, 0.1], [1, 0.3]]
"#;

#[test]
fn a_workload_file_is_shown() {
    let place = Place::new(SMALL);
    std::fs::write(place.path().join("w.toml"), WORKLOAD).unwrap();
    let ran = place.run(&["workload", "show", "w.toml"]).done();
    let row = |name: &str| ran.out().lines().find(|line| line.contains(name)).unwrap().to_owned();
    // Half from 100 to 200 B, half from 200 to 1000 B.
    let cells: Vec<String> = row("request [B]").split_whitespace().map(str::to_owned).collect();
    assert_eq!(cells, ["request", "[B]", "400", "375", "120", "200", "840", "984", "1000", "lognormal", "0.08"]);
    assert!(row("exchanges").starts_with("web "), "{}", ran.out());
    assert!(ran.err().contains("web: 400 conversations over tcp; 3 left out (3 no SYN)"), "{}", ran.err());
    let told = place.run(&["workload", "show", "w.toml", "--json", "--class", "web"]).done().json();
    let request = &told[0]["distributions"][1];
    assert_eq!(
        (&request["name"], &request["unit"], &request["samples"]),
        (&"request".into(), &"B".into(), &400.into())
    );
    assert_eq!(request["quantiles"]["p50"], 200.0);
    assert_eq!(request["knots"][1], serde_json::json!([0.5, 200.0]));
    let ran = place.run(&["workload", "show", "w.toml", "--class", "wbe"]);
    assert!(ran.refused().contains("the file has no class \"wbe\"; accepted: web"));
    std::fs::write(place.path().join("w.toml"), WORKLOAD.replace("[1, 1000]", "[1, 150]")).unwrap();
    let told = place.run(&["workload", "show", "w.toml"]).refused();
    assert!(told.contains("w.toml:12:32: class.web.request.knots[3]: has the value 150, which is below 200"), "{told}");
    // Only the Python package draws.
    std::fs::write(place.path().join("w.toml"), WORKLOAD).unwrap();
    assert_eq!(place.run(&["workload", "show", "w.toml", "--plot", "w.svg"]).code(), 1);
    assert_eq!(place.names(), ["study.toml", "w.toml"]);
}

#[test]
fn workload_files_are_compared() {
    let place = Place::new(SMALL);
    std::fs::write(place.path().join("a.toml"), WORKLOAD).unwrap();
    let other = WORKLOAD.replace("[0.5, 200]", "[0.7, 200]").replace("[class.think]", "[class.pause]");
    std::fs::write(place.path().join("b.toml"), other).unwrap();
    let ran = place.run(&["workload", "compare", "a.toml", "b.toml"]).done();
    // 1.36 times the root of 2/400; of two samples of 400 a fifth is far above. Of octets, which are whole, the distance is
    // largest at 200: 0.2 less what both have between 200 and 200.5.
    let row = ran.out().lines().find(|line| line.contains("request")).unwrap().to_owned();
    assert!(row.contains("0.1999  0.0962  differs"), "{row}");
    for words in [
        "only a.toml has think of class web",
        "only b.toml has pause of class web",
        "1 of 2 distributions differ by more",
    ] {
        assert!(ran.err().contains(words), "{words}: {}", ran.err());
    }
    let told = place.run(&["workload", "compare", "a.toml", "a.toml", "--json"]).done().json();
    assert_eq!((&told["alike"], told["differences"].as_array().unwrap().len()), (&true.into(), 3));
    assert!(place.run(&["workload", "compare", "a.toml", "none.toml"]).refused().contains("none.toml"));
}

#[test]
fn help_teaches_by_example() {
    let place = Place::new(SMALL);
    for command in [
        &[][..],
        &["simulate"],
        &["sweep"],
        &["sweep", "run"],
        &["check"],
        &["predict"],
        &["reproduce"],
        #[cfg(target_os = "linux")]
        &["measure"],
        &["report"],
        &["plot"],
        &["export"],
        &["lab"],
        &["schema"],
        &["completions"],
        &["man"],
        &["workload", "fit"],
        &["workload", "show"],
        &["workload", "compare"],
    ] {
        let ran = place.run(&[command, &["--help"]].concat()).done();
        let example = ["  cellway", command.first().unwrap_or(&"")].join(" ");
        assert!(ran.out().contains("Example") && ran.out().contains(example.trim_end()), "{command:?}:\n{}", ran.out());
        assert_eq!(ran.err(), "", "help goes to standard output");
    }
    let help = place.run(&["--help"]).done().out();
    assert!(help.contains("Exit codes: 0 done, 1 failed, 2 the input is wrong"), "{help}");
    let version = place.run(&["--version"]).done().out();
    assert_eq!(version.trim(), format!("cellway {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn without_the_python_package_there_is_no_report_no_file_of_flent_and_no_lab() {
    let place = Place::new(SMALL);
    place.run(&["simulate", "study.toml", "--seeds", "1", "--out", "out"]).done();
    let ran = place.run(&["report", "out"]);
    assert_eq!(ran.code(), 1);
    assert!(ran.err().contains("Python package"), "{}", ran.err());
    for args in [&["plot", "out", "goodput"][..], &["plot", "out", "--list"], &["simulate", "study.toml", "--open"]] {
        let ran = place.run(args);
        assert_eq!(ran.code(), 1, "{args:?}");
        assert!(ran.err().contains("Python package"), "{}", ran.err());
    }
    for args in [&["export", "out", "--flent", "files"][..], &["lab", "study.toml"]] {
        let ran = place.run(args);
        assert_eq!(ran.code(), 1, "{args:?}");
        assert!(ran.err().contains("Python package"), "{}", ran.err());
    }
}

/// The output goes to a program that reads one line and exits.
#[test]
fn a_reader_that_leaves_is_no_failure() {
    let place = Place::new(SMALL);
    let mut child = place.command(&["schema"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ran = child.wait_with_output().unwrap();
    assert_eq!((ran.status.code(), String::from_utf8_lossy(&ran.stderr).as_ref()), (Some(0), ""));
}

/// Ctrl-C in the middle of a long run: no result exists under its name, and a leftover folder next to it is marked as
/// partial.
#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_no_complete_result() {
    let long = SMALL.replacen("\"200 rtt\"", "\"2000000 rtt\"", 1).replacen("\"20 rtt\"", "\"20000 rtt\"", 3);
    let place = Place::new(&long);
    for args in [&["simulate", "study.toml", "--out", "out"][..], &["reproduce", "cellsim", "--out", "out"]] {
        let mut child = place.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(400));
        assert!(child.try_wait().unwrap().is_none(), "{args:?}: still running");
        // Ctrl-C and this end the program alike; but a command in the background of a shell ignores SIGINT.
        let killed = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        let status = child.wait().unwrap();
        assert!(!status.success(), "{args:?}: {status}");
        for name in place.names().iter().filter(|name| *name != "study.toml") {
            assert!(name.starts_with("out.partial-"), "{args:?} left {name}");
            assert!(!place.path().join(name).join("manifest.json").exists(), "{args:?}: {name} has no manifest");
        }
    }
    // Leftovers do not disturb the next run.
    std::fs::write(place.path().join("study.toml"), SMALL).unwrap();
    place.run(&["simulate", "study.toml", "--out", "out"]).done();
}

/// Options of one side of a measurement are refused at the other, and tips that do not help are left out.
#[test]
#[cfg(target_os = "linux")]
fn options_without_a_use_are_refused() {
    let place = Place::new(SMALL);
    let refused = |arguments: &[&str]| {
        let ran = place.run(arguments);
        assert_eq!(ran.code(), 2, "{arguments:?}: {}", ran.err());
        ran.err()
    };
    for arguments in [&["measure", "--serve", "--time", "1s"][..], &["measure", "localhost", "--once"]] {
        assert!(refused(arguments).contains("cannot be used with"), "{}", refused(arguments));
    }
    let seeds = refused(&["simulate", "study.toml", "--seeds", "-1"]);
    assert!(seeds.contains("accepted: a whole number from 1 to 100000"), "{seeds}");
    let threads = refused(&["simulate", "study.toml", "--threads", "0"]);
    assert!(threads.contains("accepted: a whole number from 1 to 65535"), "{threads}");
    let unknown = refused(&["reproduce", "--seeds", "3"]);
    assert!(unknown.contains("unexpected argument '--seeds'") && !unknown.contains("tip:"), "{unknown}");
    let none = refused(&["check", "study.toml", "--set", "change.1.rate=5Mbit/s"]);
    assert!(none.contains("the file has no change, so none can be called \"1\""), "{none}");
}
