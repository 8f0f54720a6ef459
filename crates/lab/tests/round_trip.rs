//! Known traffic, simulated, captured and derived again, has the distributions of its file.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::path::Path;

use cellway_lab::captured::{Next, by, from_captures, write};
use common::{plan, repository};

/// Web traffic over a line that is wide enough for it; the capture is at the host of the originators' side.
const WEB: &str = r#"version = 1
name = "web"
run = { duration = "400 s", warmup = "0 s" }
buffer = { size = "1 MB", per = "port" }
node = [{ name = "office", kind = "router" }, { name = "net", kind = "router" }]
link = [{ between = ["office", "net"], framing = "packet", rate = "200 Mbit/s", delay = "5 ms" }]
tcp = { profile = "linux-6" }

[[traffic]]
name = "web"
app = "workload:workloads/office.toml#web"
from = "office"
to = "net"
access = { rate = "1 Gbit/s", delay = "0.1 ms" }
"#;

/// The distance is at most 0.03 beyond what samples of one distribution have in 19 of 20 cases.
#[test]
fn a_simulated_workload_is_derived_again() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("office.pcap");
    let scenarios = repository("scenarios");
    cellway_lab::capture(&plan(WEB, &[]), &scenarios, "office", &capture, false, &mut || false).unwrap();
    let derived = from_captures(&[capture], by("port").unwrap(), &mut |_| Next::Continue).unwrap();
    let path = folder.path().join("derived.toml");
    write(&derived, &path, false).unwrap();
    // The class has the name of its port.
    let text = std::fs::read_to_string(&path).unwrap();
    let named: Vec<&str> = text.lines().filter(|line| line.starts_with("name = ")).collect();
    assert_eq!(named.len(), 1, "{named:?}");
    std::fs::write(&path, text.replace(named[0], "name = \"web\"")).unwrap();
    let known = scenarios.join("workloads/office.toml");
    let compared = cellway_lab::compare_workloads([known.as_path(), Path::new(&path)]).unwrap();
    let mut seen = Vec::new();
    for difference in compared.differences.iter().filter(|difference| difference.class == "web") {
        let name = difference.distribution;
        // The round trip is that of the path, not of the file.
        if name == "rtt" {
            continue;
        }
        assert!(difference.samples[1] > 1000, "{name}: {} samples", difference.samples[1]);
        assert!(difference.distance <= 0.03 + difference.bound, "{difference:?}");
        seen.push(name);
    }
    seen.sort_unstable();
    assert_eq!(seen, ["arrival_gap", "exchanges", "pause", "request", "response", "think"]);
}
