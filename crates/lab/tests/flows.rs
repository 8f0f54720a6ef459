//! Files of flows and of the objects of pages: where they are found, and what is refused in words.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};

use cellway_lab::{check, plan_from_file};

const SCENARIO: &str = r#"version = 1
name = "flows"
node = [{ name = "a", kind = "host" }, { name = "b", kind = "router" }]
run = { duration = "2 s" }
buffer = { size = "64 kB", per = "port" }
link = [{ between = ["a", "b"], rate = "10 Mbit/s", delay = "5 ms" }]

[[traffic]]
name = "web"
from = "a"
to = "b"
access = { rate = "10 Mbit/s", delay = "1 ms" }
"#;

/// Writes the scenario with this traffic and, if there is a text, the file `flows.csv` beside it.
fn files(name: &str, traffic: &str, csv: Option<&str>) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("flows-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("flows.toml");
    fs::write(&path, format!("{SCENARIO}{traffic}\n")).unwrap();
    if let Some(csv) = csv {
        fs::write(folder.join("flows.csv"), csv).unwrap();
    }
    path
}

fn checked(path: &Path) -> Result<usize, String> {
    let plan = plan_from_file(path, &[]).unwrap();
    check(&plan, path.parent().unwrap()).map(|checked| checked.points).map_err(|e| e.to_string())
}

const TRACE: &str = "flows = { arrivals = \"trace\", file = \"flows.csv\" }";
const TABLE: &str = "flows = { load = 0.5, sizes = \"table\", file = \"flows.csv\" }";
const PAGE: &str = "app = \"page\"\n\
    workload = { html = \"1 kB\", objects = { count = 2, sizes = \"table\", file = \"flows.csv\" } }";

#[test]
fn a_file_is_read_beside_the_scenario() {
    assert_eq!(checked(&files("trace", TRACE, Some("time,size\n0,1000\n0.5,2000\n"))), Ok(1));
    for (name, traffic) in [("table", TABLE), ("page", PAGE)] {
        assert_eq!(checked(&files(name, traffic, Some("size,probability\n1000,0.5\n2000,1\n"))), Ok(1));
    }
}

#[test]
fn a_bad_file_is_refused_with_both_locations() {
    for (name, traffic, csv, expected) in [
        ("missing", TRACE, None, "traffic.web.flows.file: cannot read"),
        ("empty", TRACE, Some(""), "flows.csv: the file is empty; accepted: "),
        ("unsorted", TRACE, Some("time,size\n1,5\n0,5"), "flows.csv:3: time 0 is below 1 of the line before it"),
        ("zero", TRACE, Some("time,size\n1,0"), "flows.csv:2: size 0 is no size of a flow; accepted: a size from 1 B"),
        ("column", TABLE, Some("size,share\n1,1"), "flows.csv:1: the column \"share\" is unknown"),
        ("end", TABLE, Some("size,probability\n1,0.5"), "flows.csv:2: the last probability is 0.5"),
        ("page-missing", PAGE, None, "traffic.web.workload.objects.file: cannot read"),
        ("page-zero", PAGE, Some("size,probability\n0,1"), "flows.csv:2: size 0"),
    ] {
        let message = checked(&files(name, traffic, csv)).unwrap_err();
        let line = if traffic == PAGE { "flows.toml:14:" } else { "flows.toml:13:" };
        assert!(message.contains(expected) && message.contains(line), "{expected}: {message}");
    }
}
