//! Workloads derived from captures of the simulator, beside what tshark counts and what the scenario has.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cellway_lab::captured::{By, Class, Derived, Next, document, from_captures, write};
use common::{plan, program, tshark_fields};

/// Flows and requests over a path with a short buffer, which loses, and pings over UDP.
const LOSSY: &str = r#"version = 1
name = "lossy"

[run]
duration = "30 s"
warmup = "0 s"

[buffer]
size = "16 KiB"
per = "port"

[[node]]
name = "a"
kind = "router"

[[node]]
name = "b"
kind = "router"

[[link]]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "20 ms"

[[traffic]]
name = "flows"
from = "a"
to = "b"
access = { rate = "100 Mbit/s", delay = "1 ms" }
flows = { interval = "100 ms", sizes = "log-normal", median = "20 kB", sigma = 1.5 }

[[traffic]]
name = "ping"
from = "a"
to = "b"
access = { rate = "100 Mbit/s", delay = "1 ms" }
udp = { source = "ping", packet = "84 B", interval = "200 ms" }
"#;

/// Captures at a host.
fn captured(node: &str, folder: &Path) -> PathBuf {
    let path = folder.join(format!("{node}.pcap"));
    cellway_lab::capture(&plan(LOSSY, &[]), Path::new("."), node, &path, false, &mut || false).unwrap();
    path
}

fn derived(files: &[PathBuf]) -> Derived {
    from_captures(files, By::Port, false, &mut |_| Next::Continue).unwrap()
}

fn only_class(derived: &Derived) -> &Class {
    let [class] = &derived.workload.classes[..] else { panic!("{:?}", document(derived)) };
    class
}

/// At the sender losses are retransmissions, at the receiver gaps that are filled late.
#[test]
fn conversations_packets_octets_and_retransmissions_are_those_of_tshark() {
    let folder = tempfile::tempdir().unwrap();
    for node in ["flows-1", "flows-1-sink"] {
        let path = captured(node, folder.path());
        let found = derived(std::slice::from_ref(&path));
        let class = only_class(&found);
        let names = [
            "tcp.stream",
            "tcp.srcport",
            "tcp.seq",
            "tcp.len",
            "tcp.analysis.retransmission",
            "tcp.analysis.out_of_order",
        ];
        let Some(rows) = tshark_fields(&path, &[], &names) else { return };
        assert_eq!(found.totals.records, rows.len() as u64);
        let streams: BTreeSet<&String> = rows.iter().map(|row| &row[0]).collect();
        assert_eq!(class.conversations + class.left_out.total(), streams.len() as u64, "{node}");
        let is_back = |row: &[String]| usize::from(row[1] == "8080");
        let (mut packets, mut again, mut octets) = ([0; 2], [0; 2], [0; 2]);
        // The octets of each stream and direction that were seen, one by one.
        let mut seen: BTreeMap<(&str, usize), Vec<bool>> = BTreeMap::new();
        for row in &rows {
            packets[is_back(row)] += 1;
            let (seq, len): (usize, usize) = (row[2].parse().unwrap(), row[3].parse().unwrap());
            // A SYN that is sent again has no octets.
            again[is_back(row)] += u64::from(len > 0 && (!row[4].is_empty() || !row[5].is_empty()));
            let all = seen.entry((&row[0], is_back(row))).or_default();
            all.resize(all.len().max(seq + len), false);
            all[seq..seq + len].fill(true);
        }
        seen.iter().for_each(|((_, back), all)| octets[*back] += all.iter().filter(|octet| **octet).count() as u64);
        assert_eq!((class.totals.packets, class.totals.octets), (packets, octets), "{node}");
        let own = [0, 1].map(|at| class.totals.retransmitted[at] + class.totals.late[at]);
        assert_eq!(own, again, "{node}");
        assert!(own[0] > 50, "{node}: there are losses: {own:?}");
        assert_eq!(class.totals.late[0] > 0, node == "flows-1-sink", "only the receiver's side has gaps");
    }
}

/// The same conversations in other formats, and with the headers alone.
#[test]
fn formats_and_short_packets_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = captured("flows-1", folder.path());
    let expected = document(&derived(std::slice::from_ref(&path)));
    let arguments: [(&str, &[&str]); 3] =
        [("a.pcapng", &["-F", "pcapng"]), ("b.pcap", &["-F", "nsecpcap", "-s", "40"]), ("c.pcapng", &["-s", "40"])];
    for (name, options) in arguments {
        let to = folder.path().join(name);
        let both = [path.to_string_lossy(), to.to_string_lossy()];
        let all: Vec<&str> = options.iter().copied().chain(both.iter().map(|path| &**path)).collect();
        if program("editcap", &all).is_none() {
            return;
        }
        assert_eq!(document(&derived(&[to])), expected, "{name}");
    }
    // A ring of files is one capture, in any way that it is cut.
    let parts = folder.path().join("part.pcap");
    program("editcap", &["-F", "nsecpcap", "-c", "1000", &path.to_string_lossy(), &parts.to_string_lossy()]);
    let mut parts: Vec<PathBuf> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("part_"))
        .collect();
    parts.sort();
    assert!(parts.len() > 5);
    assert_eq!(document(&derived(&parts)), expected);
    // The same twice is two captures: as many gaps again, and none between them.
    let twice = derived(&[path.clone(), path]);
    let gaps = |found: &Derived| only_class(found).distribution("arrival_gap").cloned().unwrap();
    let once = derived(&[folder.path().join("a.pcapng")]);
    assert_eq!((gaps(&twice).samples, twice.restarts), (2 * gaps(&once).samples, 1));
    assert!((gaps(&twice).mean(false).unwrap() / gaps(&once).mean(false).unwrap() - 1.0).abs() < 0.01);
}

/// Returns the cumulative probability of a log-normal law at `value`, by summing its density.
fn log_normal(value: f64, median: f64, sigma: f64) -> f64 {
    let upper = (value / median).ln() / sigma;
    let steps = 20_000;
    let width = (upper + 8.0) / f64::from(steps);
    let density = |x: f64| (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    (0..steps).map(|step| density(-8.0 + (f64::from(step) + 0.5) * width) * width).sum()
}

/// The distributions are those of the scenario, within the error of the sample (Kolmogorov-Smirnov, 1 % level).
#[test]
fn sizes_and_gaps_are_those_that_were_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let text = LOSSY.replace("30 s", "300 s").replace("sigma = 1.5", "sigma = 1.0").replace("16 KiB", "256 KiB");
    let path = folder.path().join("a.pcap");
    cellway_lab::capture(&plan(&text, &[]), Path::new("."), "flows-1", &path, false, &mut || false).unwrap();
    let found = derived(&[path]);
    let class = only_class(&found);
    let check = |name: &str, law: &dyn Fn(f64) -> f64| {
        let distribution = class.distribution(name).unwrap();
        let bound = 1.63 / (distribution.samples as f64).sqrt() + 0.005;
        assert!(distribution.samples > 2_500 && bound < 0.04);
        let distances =
            distribution.model.knots().iter().skip(1).map(|knot| (knot.probability - law(knot.value)).abs());
        let largest = distances.fold(0.0, f64::max);
        assert!(largest < bound, "{name}: {largest}, at most {bound}");
    };
    check("request", &|octets| log_normal(octets, 20_000.0, 1.0));
    check("arrival_gap", &|gap| -(-gap / 0.1f64).exp_m1());
    let exchanges = class.distribution("exchanges").unwrap();
    assert_eq!((exchanges.model.quantile(0.0), exchanges.model.quantile(1.0)), (1.0, 1.0));
    // Without load 42 ms, and a SYN of 40 octets there and back.
    let rtt = class.distribution("rtt").unwrap().model.quantile(0.05);
    assert!((0.044..0.0445).contains(&rtt), "{rtt}");
}

/// A router records AAL5 frames and packets, each when it arrives and when it leaves.
#[test]
fn a_router_has_the_conversations_of_its_host() {
    let folder = tempfile::tempdir().unwrap();
    let set = [("run.duration", "\"20 s\""), ("run.warmup", "\"0 s\"")];
    let counts = |node: &str| {
        let path = folder.path().join(node);
        let plan = plan(common::single(), &set);
        cellway_lab::capture(&plan, Path::new("."), node, &path, false, &mut || false).unwrap();
        let found = derived(&[path]);
        let classes: BTreeMap<String, (u64, u64)> = found
            .workload
            .classes
            .iter()
            .map(|class| (class.name.clone(), (class.conversations, class.left_out.total())))
            .collect();
        classes
    };
    let hosts: Vec<_> = (1..=3).map(|host| counts(&format!("ftp-{host}"))).collect();
    let sum = hosts.iter().map(|host| host["ftp"].0).sum::<u64>();
    let router = counts("r1");
    assert!(sum > 10 && router["ftp"].0 == sum, "{router:?}, {hosts:?}");
    assert!(router.contains_key("telnet"), "{router:?}");
}

#[test]
fn datagrams_have_their_sizes_and_gaps() {
    let folder = tempfile::tempdir().unwrap();
    let found = derived(&[captured("ping-1", folder.path())]);
    let class = only_class(&found);
    // The pings go on until the end.
    assert_eq!((class.conversations, class.left_out.total(), class.totals.packets[0]), (0, 1, 150));
    let gap = class.distribution("gap").unwrap();
    assert!((gap.mean(false).unwrap() - 0.2).abs() < 1e-6 && gap.samples == 149, "{gap:?}");
    let size = class.distribution("size").unwrap();
    assert_eq!([size.model.quantile(0.0), size.model.quantile(1.0)], [56.0; 2], "84 octets with 28 of headers");
}

/// The file has no address, no port and no octet of payload, and is the same each time.
#[test]
fn the_file_has_distributions_alone() {
    let folder = tempfile::tempdir().unwrap();
    let capture = captured("flows-1", folder.path());
    let path = folder.path().join("out.toml");
    write(&derived(std::slice::from_ref(&capture)), &path, false).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let table: toml::Table = text.parse().unwrap();
    assert_eq!(table["version"].as_integer(), Some(1));
    let class = &table["class"][0];
    assert_eq!((class["name"].as_str(), class["transport"].as_str()), (Some("http-alt"), Some("tcp")));
    assert_eq!(class["request"]["fit"]["law"].as_str(), Some("lognormal"));
    assert!(!text.contains("10.0.") && text.lines().all(|line| line.chars().count() <= 120));
    let refused = write(&derived(std::slice::from_ref(&capture)), &path, false).unwrap_err();
    assert!(refused.to_string().contains("exists; --force replaces it"), "{refused}");
    write(&derived(&[capture]), &path, true).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn clusters_are_classes_of_like_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let capture = captured("flows-1", folder.path());
    let found = from_captures(&[capture], By::Cluster(3), false, &mut |_| Next::Continue).unwrap();
    // Conversations without octets are in a class of their own.
    let classes = found.workload.classes.iter().filter(|class| class.name.starts_with("tcp-cluster-"));
    let mut ranges: Vec<[f64; 2]> = classes
        .map(|class| {
            class.distribution("request").map(|request| [0.0, 1.0].map(|p| request.model.quantile(p))).unwrap()
        })
        .collect();
    ranges.sort_by(|a, b| a[0].total_cmp(&b[0]));
    assert_eq!(ranges.len(), 3);
    assert!(ranges.windows(2).all(|pair| pair[0][1] < pair[1][0]), "{ranges:?}");
}
