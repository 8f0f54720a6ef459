//! `cellway compare`, without an emulation: its output, its files and its errors.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Place, SMALL, names};
use serde_json::Value;

#[test]
fn compare_prints_sources_side_by_side_and_writes_them() {
    let place = Place::new(SMALL);
    std::fs::write(place.path().join("p.csv"), "subject,metric,unit,value\nftp,goodput_total,kbit/s,700\n").unwrap();
    let args = ["compare", "study.toml", "--no-emulate", "--published", "p.csv", "--out", "out"];
    let ran = place.run(&args).done();
    let out = ran.out();
    let lines: Vec<&str> = out.lines().collect();
    let header: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(header, ["subject", "metric", "predicted", "simulated", "published"], "nobody has emulated");
    // The interval of two runs is so wide that it is cut off at 0, the bound of goodput, so its ends are printed.
    assert!(lines[1].starts_with("ftp ") && lines[1].contains("<= ") && lines[1].contains(" [0, "), "{out}");
    // Numbers are aligned to the right end of their heading.
    assert_eq!(lines[0].trim_end().chars().count(), lines[1].chars().count(), "{out}");
    assert!(ran.err().starts_with("done: small (simulation), 2 runs ("), "{}", ran.err());
    assert!(ran.err().contains("an upper bound") && ran.err().contains("tables in out"), "{}", ran.err());
    let files = ["compare.json", "manifest.json", "runs.parquet", "series.parquet", "summary.parquet"];
    assert_eq!(names(&place.path().join("out")), files);
    let told = place.run(&args).refused();
    assert!(told.contains("--force"), "{told}");
    let told = place.run(&["report", "out"]);
    assert_eq!(told.code(), 1);
    assert!(told.err().contains("drawn by the Python package"), "{}", told.err());
}

#[test]
fn the_result_of_compare_as_json() {
    let place = Place::new(SMALL);
    let ran = place.run(&["compare", "study.toml", "--no-emulate", "--json", "--seeds", "3"]).done();
    let told: Value = ran.json();
    let keys: Vec<&str> = told.as_object().unwrap().keys().map(String::as_str).collect();
    let expected =
        ["caveats", "emulation", "folder", "name", "points", "reason", "report", "version", "wall_seconds", "warnings"];
    assert_eq!(keys, expected);
    assert_eq!((&told["emulation"], &told["reason"]), (&"left out".into(), &Value::Null));
    let rows = told["points"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "without an emulation only goodput has two sources");
    assert_eq!(rows[0]["simulated"]["runs"], 3);
    assert!(rows[0]["predicted"]["bound"].as_bool().unwrap() && rows[0]["emulated"].is_null());
}

#[test]
fn compare_refuses_contradicting_options() {
    let place = Place::new(SMALL);
    std::fs::write(place.path().join("p.csv"), "subject,metric,unit,value\nftp,speed,bit/s,1\n").unwrap();
    let told = place.run(&["compare", "study.toml", "--no-emulate", "--published", "p.csv"]).refused();
    assert!(told.contains("p.csv:2") && told.contains("goodput_total"), "{told}");
    let told = place.run(&["compare", "study.toml", "--published", "none.csv"]).refused();
    assert!(told.contains("none.csv"), "{told}");
    let told = place.run(&["compare", "study.toml", "--no-emulate", "--repeat", "2"]).refused();
    assert!(told.contains("--repeat"), "{told}");
    place.run(&["compare", "study.toml", "--repeat", "0"]).refused();
}
