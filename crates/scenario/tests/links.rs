//! Warnings about unused links and longer bins, and the names of ports in results.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cellway_scenario::{LinkIndex, NodeIndex, Plan};
use common::repository;

/// A dumbbell of packet links; `links` are added after the one in the middle.
fn dumbbell(links: &str, more: &str) -> Plan {
    let host = if links.contains("\"h\"") { ", { name = \"h\", kind = \"host\" }" } else { "" };
    let text = format!(
        r#"version = 1
name = "dumbbell"
buffer = {{ size = "100 kB", per = "port" }}
tcp = {{ variant = "sack", mss = "1460 B", window = "65535 B" }}
node = [{{ name = "l", kind = "router" }}, {{ name = "m", kind = "router" }}, {{ name = "r", kind = "router" }}{host}]

[run]
duration = "60 s"

[[link]]
between = ["l", "r"]
rate = "4 Mbit/s"
delay = "20 ms"
framing = "packet"
{links}
[[traffic]]
name = "t"
app = "bulk"
from = "l"
to = "r"
access = {{ rate = "100 Mbit/s", delay = "1 ms", framing = "packet" }}
{more}"#
    );
    Plan::parse(&text, "t.toml").unwrap_or_else(|e| panic!("{e}"))
}

fn link(name: &str, ends: &str, delay: &str) -> String {
    format!(
        "\n[[link]]\nname = \"{name}\"\nbetween = [{ends}]\nrate = \"4 Mbit/s\"\ndelay = \"{delay}\"\nframing = \"packet\"\n"
    )
}

fn told(plan: &Plan) -> Vec<String> {
    let warnings = plan.warnings(&plan.points().unwrap());
    warnings.iter().map(|warning| format!("{}: {}", warning.key, warning.message)).collect()
}

#[test]
fn a_link_that_no_route_contains_is_told() {
    assert_eq!(told(&dumbbell("", "")), [""; 0]);
    let parallel = dumbbell(&link("second", "\"r\", \"l\"", "20 ms"), "");
    let expected = "link.second: carries nothing from r to l: no route contains it, because l-r joins the same nodes; a route \
                    takes the link with the least delay, or the first in the file, and never shares its packets among \
                    parallel links";
    assert_eq!(told(&parallel), [expected]);
    let faster = dumbbell(&link("second", "\"r\", \"l\"", "2 ms"), "");
    assert!(told(&faster)[0].starts_with("link.l-r: carries nothing from l to r"), "{:?}", told(&faster));
    let aside = dumbbell(&link("aside", "\"l\", \"m\"", "1 ms"), "");
    assert_eq!(told(&aside), ["link.aside: carries nothing from l to m: no route of the traffic contains it"]);
}

/// A link that one point uses causes no warning.
#[test]
fn a_sweep_may_use_the_link() {
    let sweep = "\n[sweep]\naxes = { \"link.second.delay\" = [\"20 ms\", \"2 ms\"] }\n";
    assert_eq!(told(&dumbbell(&link("second", "\"r\", \"l\"", "20 ms"), sweep)), [""; 0]);
}

/// Programs may send to any host.
#[test]
fn links_between_hosts_are_used_where_programs_run() {
    let host = "\n[[link]]\nbetween = [\"h\", \"m\"]\nrate = \"4 Mbit/s\"\ndelay = \"0 s\"\nframing = \"packet\"\n";
    let text = |command: &str| dumbbell(&(link("aside", "\"l\", \"m\"", "1 ms") + host), command);
    assert_eq!(told(&text("")), ["link.aside: carries nothing from l to m: no route of the traffic contains it"]);
    assert_eq!(told(&text("\n[[run.command]]\nhost = \"h\"\nrun = [\"true\"]\n")), [""; 0]);
}

#[test]
fn the_bins_of_a_large_run_are_longer() {
    let plan = |most: u64| dumbbell("", &format!("\n[observe]\ninterval = \"10 ms\"\nmax-rows = {most}\n"));
    // Two ports with two figures each and a conversation with five have nine rows for each of 6000 bins.
    let whole = plan(54_000);
    assert_eq!((whole.base().bin(), told(&whole)), (whole.base().observe.interval, Vec::new()));
    let cut = plan(53_999);
    assert_eq!(cut.base().bin(), cut.base().observe.interval * 2);
    let expected = "observe.interval: is 10 ms, but the bins of the series are 20 ms long, to keep the rows of a run below 53999; a larger \
                    observe.max-rows keeps more";
    assert_eq!(told(&cut), [expected]);
    assert_eq!(told(&dumbbell("", "\n[observe]\ninterval = \"10 ms\"\nmax-rows = 100\nseries = false\n")), [""; 0]);
}

#[test]
fn ports_have_names_of_their_own() {
    let plan = dumbbell(&(link("second", "\"r\", \"l\"", "20 ms") + &link("aside", "\"l\", \"m\"", "1 ms")), "");
    let names = plan.base().port_names();
    let expected =
        [["l>r/l-r", "r>l/l-r"], ["r>l/second", "l>r/second"], ["l>m", "m>l"]].map(|pair| pair.map(str::to_owned));
    assert_eq!(names, expected);
    assert_eq!(plan.base().port_name(NodeIndex(0), LinkIndex(1)), "l>r/second");
    let watched = |port: &str| {
        let links = link("second", "\"r\", \"l\"", "20 ms");
        dumbbell(&links, &format!("\n[observe]\nqueue = [\"{port}\"]\n")).base().observe.queue.clone()
    };
    assert_eq!(watched("l>second"), watched("l>r/second"));
    assert_eq!(watched("r>l/l-r"), [(NodeIndex(2), LinkIndex(0))]);
}

fn toml_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(toml_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "toml") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// No shipped file has an unused link, or more bins than allowed.
#[test]
fn the_shipped_files_use_their_links() {
    let mut seen = BTreeSet::new();
    for path in ["papers", "scenarios"].iter().flat_map(|folder| toml_files(&repository(folder))) {
        let text = std::fs::read_to_string(&path).unwrap();
        let Ok(plan) = Plan::parse(&text, &path.to_string_lossy()) else { continue };
        let told = told(&plan);
        let none = told.iter().all(|text| !text.contains("carries nothing") && !text.contains("bins of the series"));
        assert!(none, "{}: {told:?}", path.display());
        seen.insert(path);
    }
    assert!(seen.len() > 20, "{seen:?}");
}
