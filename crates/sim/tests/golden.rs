//! The results of the shipped scenarios, in short runs with a fixed seed, in `golden/*.txt`: a change of behaviour
//! appears there as a change of throughput, delay or loss. `UPDATE_GOLDEN=1 cargo test` writes the files anew; read the
//! difference.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fmt::Write;

use cellway_record::metric::{self, Definition, Recorded, Subject};
use cellway_record::{Quantity, RunRecord, Source};
use cellway_scenario::{Override, Plan, Scenario, SweepSpec, Traffic};
use cellway_sim::RESULT_VERSION;
use common::{repository, run_with, workloads_in};
use sha2::{Digest, Sha256};

const SHOWN: [&str; 15] = [
    "utilisation",
    "queue_mean",
    "dropped_frames",
    "dropped_cells",
    "policed_discarded",
    "acr_mean",
    "throughput",
    "delay_mean_rtt",
    "window_mean",
    "retransmissions",
    "timeouts",
    "items",
    "jain",
    "lost_frames",
    "packets_sent",
];

/// Returns one line for each figure of each point that is not zero.
fn table(path: &str, set: &[(&str, &str)], sweep: Option<&[(&str, &[&str])]>) -> String {
    let text = std::fs::read_to_string(repository(path)).unwrap();
    let set: Vec<Override> = set.iter().map(|(key, value)| Override::new(*key, *value)).collect();
    let axes = |axes: &[(&str, &[&str])]| {
        axes.iter().map(|(key, values)| ((*key).to_owned(), values.iter().map(|v| (*v).to_owned()).collect())).collect()
    };
    let sweep = sweep.map(|sweep| SweepSpec { axes: axes(sweep), variants: Vec::new() });
    let plan = Plan::parse_with(&text, path, &set, sweep).unwrap_or_else(|e| panic!("{e}"));
    let mut table = String::new();
    for mut point in plan.points().unwrap() {
        let axes: Vec<String> = point.axes.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        writeln!(table, "## {}", axes.join(", ")).unwrap();
        let workloads = workloads_in(&mut point.scenario, repository(path).parent().unwrap());
        let record = run_with(&point.scenario, &workloads, 1);
        assert_registered(&point.scenario, &record);
        writeln!(table, "{} cell-hops, {} packets", record.counts.cell_hops, record.counts.packets).unwrap();
        for row in record.summary.iter().filter(|row| SHOWN.contains(&row.metric.name()) && row.value != 0.0) {
            // Six digits: the last ones of a sum are of no interest to a reader.
            writeln!(table, "{:<18} {:<16} {:>12.6} {}", row.subject, row.metric.name(), row.value, row.metric.unit())
                .unwrap();
        }
    }
    table
}

/// Checks that each row has a metric that the registry, and so the reference page, has for a subject of its kind, in
/// that unit and from a simulation.
fn assert_registered(scenario: &Scenario, record: &RunRecord) {
    for row in record.summary.iter().chain(&record.series) {
        let kind = kind(scenario, &row.subject);
        let recorded = |at: &Recorded| (*at == Recorded::Summary) == row.t.is_none();
        let known = Quantity::read(row.metric.name(), row.metric.unit()).definition().is_some();
        let is_of = |metric: &Definition| {
            metric.subjects().contains(&kind)
                && metric.seen_by(Source::Simulate)
                && metric.recorded().iter().any(recorded)
        };
        assert!(known && metric::named(row.metric.name()).any(is_of), "{:?} of {}", row.metric, row.subject);
    }
}

fn kind(scenario: &Scenario, subject: &str) -> Subject {
    let group = |is: &dyn Fn(&Traffic) -> bool| scenario.traffic.iter().any(is);
    let slot = |traffic: &Traffic| (1..=traffic.count).any(|i| traffic.slot(i) == subject);
    let gateway = |name: &str| scenario.nodes.iter().any(|node| node.name == name && node.gateway.is_some());
    match subject {
        "network" => Subject::Network,
        _ if group(&slot) => Subject::Slot,
        _ if group(&|traffic| traffic.name == subject) => Subject::Group,
        _ if gateway(subject) => Subject::Gateway,
        _ if subject.contains('>') => Subject::Port,
        _ => panic!("no kind of subject is called {subject:?}"),
    }
}

fn assert_golden(name: &str, table: &str) {
    let path = repository("crates/sim/tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, table).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    let differing: Vec<String> = table
        .lines()
        .zip(golden.lines())
        .filter(|(now, then)| now != then)
        .map(|(now, then)| format!("- {then}\n+ {now}"))
        .collect();
    assert!(
        differing.is_empty() && table.lines().count() == golden.lines().count(),
        "{name} has changed (UPDATE_GOLDEN=1 writes it anew); first differences:\n{}",
        differing[..differing.len().min(30)].join("\n"),
    );
}

const SHORT: [(&str, &str); 4] = [
    ("run.duration", "\"800 rtt\""),
    ("run.warmup", "\"200 rtt\""),
    ("observe.interval", "\"100 rtt\""),
    ("observe.fairness-window", "\"100 rtt\""),
];

#[test]
fn the_three_policies_of_cellsim() {
    let policies: &[&str] = &["\"per-conversation\"", "\"per-type\"", "\"per-destination\""];
    let sweep: [(&str, &[&str]); 2] = [("multiplexing.channel", policies), ("traffic.ftp.count", &["1", "5"])];
    assert_golden("cellsim.txt", &table("papers/cellsim/cellsim.toml", &SHORT, Some(&sweep)));
}

/// The other reading of the paper's buffers, on which the collapse of windows depends.
#[test]
fn the_three_policies_with_one_pool_of_buffers() {
    let policies: &[&str] = &["\"per-conversation\"", "\"per-type\"", "\"per-destination\""];
    let sweep: [(&str, &[&str]); 1] = [("multiplexing.channel", policies)];
    let set: Vec<_> = SHORT.into_iter().chain([("buffer.sharing", "\"pool\"")]).collect();
    assert_golden("pool.txt", &table("papers/cellsim/cellsim.toml", &set, Some(&sweep)));
}

#[test]
fn the_load_of_each_type() {
    let types: &[&str] = &["\"ftp\"", "\"nntp\"", "\"smtp\"", "\"telnet\""];
    let sweep: [(&str, &[&str]); 1] = [("traffic.source.app", types)];
    let set: Vec<_> = SHORT.into_iter().chain([("traffic.source.count", "3")]).collect();
    assert_golden("load.txt", &table("papers/cellsim/load.toml", &set, Some(&sweep)));
}

#[test]
fn the_variants_of_tcp() {
    let variants: &[&str] = &["\"tahoe\"", "\"reno\"", "\"newreno\"", "\"sack\""];
    let sweep: [(&str, &[&str]); 1] = [("tcp.variant", variants)];
    let set: Vec<_> = SHORT
        .into_iter()
        .chain([("multiplexing.channel", "\"per-destination\""), ("buffer.size", "\"60 cell\"")])
        .collect();
    assert_golden("variants.txt", &table("papers/cellsim/cellsim.toml", &set, Some(&sweep)));
}

#[test]
fn the_satellite_example() {
    let set = [("run.duration", "\"90 s\""), ("run.warmup", "\"30 s\"")];
    assert_golden("satellite-bulk.txt", &table("scenarios/satellite-bulk.toml", &set, None));
}

#[test]
fn the_shaped_and_split_example() {
    assert_golden("shaped-and-split.txt", &table("scenarios/shaped-and-split.toml", &[], None));
}

#[test]
fn the_parking_lot_of_abr() {
    assert_golden("abr-parking-lot.txt", &table("scenarios/abr-parking-lot.toml", &[], None));
}

#[test]
fn the_policed_burst() {
    let tolerances: &[&str] = &["\"29.9 us\"", "\"30 us\"", "\"150 us\""];
    let sweep: [(&str, &[&str]); 1] = [("policer.upc.cdvt", tolerances)];
    let paced = [("traffic.burst.service", "{ class = \"cbr\", pcr = \"10.6 Mbit/s\" }")];
    let of = |set: &[(&str, &str)]| table("scenarios/policed.toml", set, Some(&sweep));
    assert_golden("policed.txt", &format!("# as they come\n{}# paced\n{}", of(&[]), of(&paced)));
}

/// Measured classes over TCP and UDP, with a queue that keeps the conversations of both apart.
#[test]
fn the_office_example() {
    let set = [("run.duration", "\"20 s\""), ("run.warmup", "\"5 s\""), ("buffer.queue", "\"drr\"")];
    assert_golden("office.txt", &table("scenarios/office.toml", &set, None));
}

/// Results change together with their version, so that a store of runs never mixes those of two simulators. The file
/// `golden/version` has the version, and the digest of all golden files with it.
#[test]
fn changed_results_have_a_new_version() {
    let folder = repository("crates/sim/tests/golden");
    let mut names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    names.sort();
    let mut hash = Sha256::new();
    names.iter().for_each(|path| hash.update(std::fs::read(path).unwrap()));
    let digest: String = hash.finalize().iter().map(|octet| format!("{octet:02x}")).collect();
    let known = std::fs::read_to_string(folder.join("version")).unwrap_or_default();
    let (version, of) = known.trim().split_once(' ').unwrap_or_default();
    let is_new = version != RESULT_VERSION.to_string();
    if std::env::var_os("UPDATE_GOLDEN").is_some() && is_new {
        std::fs::write(folder.join("version"), format!("{RESULT_VERSION} {digest}\n")).unwrap();
        return;
    }
    assert!(
        !is_new,
        "the version is {RESULT_VERSION}, golden/version has {version:?} (UPDATE_GOLDEN=1 writes it anew)"
    );
    assert!(
        digest == of,
        "golden results have changed since version {version}: raise RESULT_VERSION in crates/sim/src/lib.rs"
    );
}
