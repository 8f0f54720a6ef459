//! A small network to run, and the time that packets take through it, worked out apart from the simulator.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::path::{Path, PathBuf};

use cellway_apps::GroupWorkload;
use cellway_record::RunRecord;
use cellway_scenario::{AppFile, LinkTrace, Override, Plan, Scenario, Traffic};
use cellway_sim::{Capture, Control, Input};
use cellway_workload::{ClassModel, WorkloadFile};

pub(crate) const LINE: u128 = 1_500_000;
pub(crate) const PS: u128 = 1_000_000_000_000;

/// The network of `cellsim` with one bulk transfer, no loss and no sweep.
pub(crate) const BULK: &str = r#"version = 1
name = "bulk"
node = [{ name = "r1", kind = "router" }, { name = "s1", kind = "switch" }, { name = "r2", kind = "router" }]

[run]
duration = "60 s"
warmup = "20 s"

[buffer]
size = "4000 cell"
per = "port"

[tcp]
profile = "classic"
variant = "tahoe"
mss = "512 B"
window = "8 KiB"

[[link]]
between = ["r1", "s1"]
rate = "1.5 Mbit/s"
delay = "22.5 ms"

[[link]]
between = ["s1", "r2"]
rate = "1.5 Mbit/s"
delay = "0 s"

[[traffic]]
name = "bulk"
app = "bulk"
from = "r1"
to = "r2"
access = { rate = "1.5 Mbit/s", delay = "0 s", mtu = "9180 B" }

[observe]
interval = "1 s"
fairness-window = "1 s"
"#;

/// Returns two hosts on fast links, and between their routers a line of 1 Mbit/s and 20 ms with a queue of 20,000 B, with
/// tables that follow.
pub(crate) fn hosts_at_a_line(tables: &str) -> String {
    format!(
        r#"version = 1
name = "line"
node = [
    {{ name = "a", kind = "host" }}, {{ name = "r1", kind = "router" }}, {{ name = "r2", kind = "router" }}, {{ name = "b", kind = "host" }},
]
run = {{ duration = "20 s", warmup = "2 s" }}
buffer = {{ size = "20000 B", per = "port" }}
observe = {{ interval = "1 s", fairness-window = "1 s" }}
link = [
    {{ between = ["a", "r1"], rate = "10 Mbit/s", delay = "1 ms" }},
    {{ name = "line", between = ["r1", "r2"], rate = "1 Mbit/s", delay = "20 ms" }},
    {{ between = ["r2", "b"], rate = "10 Mbit/s", delay = "1 ms" }},
]
{tables}"#
    )
}

/// Returns a line of 10 Mbit/s between two routers, with a queue discipline before it and memory that never fills; keys
/// and tables can follow.
pub(crate) fn queue_before_a_line(discipline: &str) -> String {
    format!(
        r#"version = 1
name = "line"
node = [{{ name = "r1", kind = "router" }}, {{ name = "r2", kind = "router" }}]

[run]
duration = "60 s"
warmup = "10 s"

[[link]]
name = "line"
between = ["r1", "r2"]
rate = "10 Mbit/s"
delay = "20 ms"

[observe]
interval = "1 s"
fairness-window = "1 s"

[buffer]
size = "10 MB"
per = "port"
count = "packet"
queue = "{discipline}"
"#
    )
}

/// Returns a summary row of the port r1>r2 that only ports with a nonzero count have.
pub(crate) fn count(record: &RunRecord, metric: &str) -> f64 {
    let row = record.summary.iter().find(|row| &*row.subject == "r1>r2" && row.metric == metric);
    row.map_or(0.0, |row| row.value)
}

/// Returns `text` as a scenario, with keys set.
pub(crate) fn scenario(text: &str, set: &[(&str, &str)]) -> Scenario {
    let set: Vec<Override> = set.iter().map(|(key, value)| Override::new(*key, *value)).collect();
    Plan::parse_with(text, "t.toml", &set, None).unwrap_or_else(|e| panic!("{e}")).base().clone()
}

/// Reads the recordings that the links of a scenario name; their paths start at `folder`.
pub(crate) fn read_traces(scenario: &mut Scenario, folder: &Path) {
    for link in &mut scenario.links {
        for (direction, trace) in link.directions.iter().zip(&mut link.traces) {
            let mut all = LinkTrace::default();
            for (_, path, format) in direction.trace.files() {
                let text = std::fs::read_to_string(folder.join(&**path)).unwrap();
                all = all.or(format.read(&text).unwrap());
            }
            *trace = direction.is_recorded().then(|| all.into());
        }
    }
}

pub(crate) fn workloads(scenario: &Scenario) -> Vec<GroupWorkload> {
    scenario.traffic.iter().map(|t| cellway_sim::workload(t, None).unwrap()).collect()
}

/// Returns the workloads of a scenario whose files start at `folder`. Groups with a class of UDP become such of datagrams.
pub(crate) fn workloads_in(scenario: &mut Scenario, folder: &Path) -> Vec<GroupWorkload> {
    let input = |group: &Traffic| match group.file()?.0 {
        AppFile::Workload { file, class } => {
            let read = WorkloadFile::parse(&std::fs::read_to_string(folder.join(file)).unwrap(), file).unwrap();
            Some(match &read.class(class).unwrap().model {
                ClassModel::Tcp(model) => Input::Class(model.clone()),
                ClassModel::Udp(model) => Input::Datagrams(model.clone()),
            })
        }
        other => panic!("{other:?} is not read here"),
    };
    let workload = |group: &mut Traffic| {
        let input = input(group);
        if let Some(Input::Datagrams(_)) = input {
            group.use_datagrams();
        }
        cellway_sim::workload(group, input).unwrap()
    };
    scenario.traffic.iter_mut().map(workload).collect()
}

pub(crate) fn run(scenario: &Scenario, seed: u64) -> RunRecord {
    run_with(scenario, &workloads(scenario), seed)
}

pub(crate) fn run_with(scenario: &Scenario, workloads: &[GroupWorkload], seed: u64) -> RunRecord {
    cellway_sim::run(scenario, workloads, seed, Control::new(&|| false)).unwrap()
}

/// Returns the packets that pass `node`, as a pcap file.
pub(crate) fn capture(scenario: &Scenario, seed: u64, node: &str) -> Vec<u8> {
    let (mut file, mut records) = (Vec::new(), 0);
    let capture = Some(Capture::new(node, &mut file, &mut records));
    cellway_sim::run(scenario, &workloads(scenario), seed, Control { capture, ..Control::new(&|| false) }).unwrap();
    assert!(records > 0, "nothing passed {node}");
    file
}

/// Returns a figure of the summary.
pub(crate) fn figure(record: &RunRecord, subject: &str, metric: &str) -> f64 {
    let mut rows = record.summary.iter().filter(|row| &*row.subject == subject && row.metric == metric);
    let row = rows.next().unwrap_or_else(|| panic!("no {metric} of {subject}"));
    assert!(rows.next().is_none(), "{metric} of {subject} twice");
    row.value
}

/// Returns a series: (end of the bin in seconds, value).
pub(crate) fn series(record: &RunRecord, subject: &str, metric: &str) -> Vec<(f64, f64)> {
    let rows = record.series.iter().filter(|row| &*row.subject == subject && row.metric == metric);
    rows.map(|row| (row.t.expect("a series has times"), row.value)).collect()
}

/// Bytes delivered to the applications of a slot after the warm-up, both directions.
pub(crate) fn delivered(scenario: &Scenario, record: &RunRecord, slot: &str) -> u64 {
    let span = scenario.run.duration - scenario.run.warmup;
    let bytes = figure(record, slot, "goodput") * span.as_secs_f64() / 8.0;
    assert!((bytes - bytes.round()).abs() < 1e-3, "{bytes} is no count");
    bytes.round() as u64
}

/// Cells of an IP packet: ceil((IP + encapsulation + 8) / 48), the AAL5 trailer included.
pub(crate) fn cells(ip_octets: u32, llc: bool) -> u128 {
    u128::from((ip_octets + if llc { 8 } else { 0 } + 8).div_ceil(48))
}

/// A path through the network: access links at both ends, ATM links between.
#[derive(Clone)]
pub(crate) struct NetworkPath {
    /// bit/s of both access links, and their delay in ps.
    pub(crate) access: (u128, u128),
    /// (bit/s, delay in ps) of each ATM link in the direction of travel.
    pub(crate) atm: Vec<(u128, u128)>,
    pub(crate) llc: bool,
}

impl NetworkPath {
    pub(crate) fn cellsim() -> NetworkPath {
        NetworkPath { access: (LINE, 0), atm: vec![(LINE, 22_500_000_000), (LINE, 0)], llc: false }
    }

    pub(crate) fn back(&self) -> NetworkPath {
        let mut back = self.clone();
        back.atm.reverse();
        back
    }

    /// Returns the times at which packets, each (ready at ps, IP octets), arrive completely at the far host: first
    /// come, first served at each line, hosts and routers store and forward packets, switches cells.
    pub(crate) fn travel(&self, packets: &[(u128, u32)]) -> Vec<u128> {
        let line = |rate: u128, ready: &[(u128, u128)], delay: u128| {
            let mut free = 0;
            let sent = ready.iter().map(|&(at, bits)| {
                free = free.max(at) + bits * PS / rate;
                free + delay
            });
            sent.collect::<Vec<u128>>()
        };
        let bits: Vec<u128> = packets.iter().map(|p| u128::from(p.1) * 8).collect();
        let with_bits = |at: &[u128]| at.iter().copied().zip(bits.iter().copied()).collect::<Vec<_>>();
        let ready: Vec<u128> = packets.iter().map(|p| p.0).collect();
        let at_router = line(self.access.0, &with_bits(&ready), self.access.1);
        let cells_of = |i: usize| cells(packets[i].1, self.llc) as usize;
        let mut at: Vec<u128> =
            at_router.iter().enumerate().flat_map(|(i, &t)| std::iter::repeat_n(t, cells_of(i))).collect();
        for &(rate, delay) in &self.atm {
            let ready: Vec<(u128, u128)> = at.iter().map(|&t| (t, 424)).collect();
            at = line(rate, &ready, delay);
        }
        let mut last = 0;
        let whole: Vec<u128> = (0..packets.len())
            .map(|i| {
                last += cells_of(i);
                at[last - 1]
            })
            .collect();
        line(self.access.0, &with_bits(&whole), self.access.1)
    }

    /// Returns the time from the sending of a lone packet to the arrival of its bare acknowledgement, in ps.
    pub(crate) fn round_trip(&self, ip_octets: u32) -> u128 {
        let there = self.travel(&[(0, ip_octets)])[0];
        self.back().travel(&[(there, 40)])[0]
    }
}

pub(crate) fn ps(span: u128) -> String {
    format!("\"{span} ps\"")
}

pub(crate) fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
