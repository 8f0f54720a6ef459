//! Warnings about keys that are correct but have no effect.
//!
//! They are no errors, because a sweep may need such a key at other points. A key causes a warning only if it has no
//! effect at any point of the plan.

use cellway_spec::{DatagramEcn, UdpSource};

use crate::everywhere::{Finding, everywhere};
use crate::found::Found;
use crate::model::{
    Buffer, CongestionControl, Framing, LossRecovery, NodeKind, Protocol, QueueDiscipline, Scenario, Service, TcpSpec,
    TcpTraffic,
};
use crate::plan::Point;
use crate::sweep::Axis;
use crate::tree::{Node, Step, at};

/// A key, or a table of keys, without effect in one scenario, and the reason.
struct Inert {
    path: Vec<Step>,
    reason: &'static str,
}

impl Finding for Inert {
    fn path(&self) -> &[Step] {
        &self.path
    }
}

const NO_CELLS: &str = "no link carries cells; framing = \"atm\" at the links that do";
const NO_CELLS_HERE: &str = "the link carries packets, which are queued and dropped whole";

/// Returns warnings about the keys of `tree` and about the axes; `points` are all points of the plan.
pub(crate) fn warnings(tree: &Node, axes: &[Axis], points: &[Point]) -> Vec<Found> {
    let mut inert = shadowed(tree);
    inert.extend(everywhere(points, inert_keys));
    let mut found = Vec::new();
    for Inert { path, reason } in &inert {
        let is_axis = axes.iter().any(|axis| targets(axis).any(|target| target.starts_with(path)));
        if tree.find(path).is_some() && !is_axis {
            found.push(Found::in_tree(tree, path, format!("has no effect: {reason}")));
        }
    }
    for (place, axis) in axes.iter().enumerate().filter(|(_, axis)| axis.choices.len() > 1) {
        let reason = |target: &Vec<Step>| inert.iter().find(|one| target.starts_with(&one.path)).map(|one| one.reason);
        let reasons: Option<Vec<&str>> = targets(axis).map(reason).collect();
        let again = format!("has no effect: its {} values give the same runs", axis.choices.len());
        let message = match reasons.as_deref() {
            Some([reason, ..]) => format!("{again}; {reason}"),
            _ if is_same(place, axes, points) => again,
            _ => continue,
        };
        found.push(Found::new(axis.at, axis.name.as_str(), message));
    }
    found
}

fn targets(axis: &Axis) -> impl Iterator<Item = &Vec<Step>> {
    axis.choices.iter().flat_map(|choice| &choice.settings).map(|(target, _)| target)
}

/// Returns whether all values of the axis at `place` give the same scenario, for any values of the other axes.
fn is_same(place: usize, axes: &[Axis], points: &[Point]) -> bool {
    // The first axis varies slowest.
    let stride: usize = axes[place + 1..].iter().map(|axis| axis.choices.len()).product();
    let period = stride * axes[place].choices.len();
    let first = |index: usize| index - index % period + index % stride;
    points.iter().all(|point| points.get(first(point.index)).is_some_and(|other| other.scenario == point.scenario))
}

/// Returns the keys of `[tcp]` that every group sets itself.
fn shadowed(tree: &Node) -> Vec<Inert> {
    let groups = tree.find(&at!["traffic"]).and_then(Node::array).unwrap_or_default().iter();
    let groups: Vec<&Node> = groups.filter(|group| group.find(&at!["udp"]).is_none()).collect();
    let keys = tree.find(&at!["tcp"]).and_then(Node::table).map(|table| table.entries().iter()).into_iter().flatten();
    let has = |group: &Node, key: &str| group.find(&at!["tcp", key]).is_some();
    keys.filter(|entry| !groups.is_empty() && groups.iter().all(|group| has(group, &entry.key)))
        .map(|entry| Inert { path: at!["tcp", &*entry.key].to_vec(), reason: "every [[traffic]] has its own" })
        .collect()
}

/// Returns the discipline of a queue that marks packets.
fn marking(buffer: &Buffer) -> Option<&'static str> {
    buffer.queue.parameters().marks().then(|| buffer.queue.discipline().name())
}

fn inert_keys(scenario: &Scenario) -> Vec<Inert> {
    let mut inert = Vec::new();
    let mut add = |path: &[Step], reason| inert.push(Inert { path: path.to_vec(), reason });
    if !scenario.has_cells() {
        for key in ["channel", "server", "encapsulation"] {
            add(&at!["multiplexing", key], NO_CELLS);
        }
        for key in ["discard", "threshold", "clp-threshold"] {
            add(&at!["buffer", key], NO_CELLS);
        }
    }
    let buffers = || [&scenario.buffer].into_iter().chain(scenario.links.iter().map(|link| &link.buffer));
    for discipline in QueueDiscipline::ALL {
        if !buffers().any(|buffer| buffer.queue.discipline() == discipline) {
            add(&at!["buffer", discipline.name()], "no queue has this discipline");
        }
    }
    for (i, _) in scenario.links.iter().enumerate().filter(|(_, link)| link.framing == Framing::Atm) {
        for key in QueueDiscipline::ALL.map(QueueDiscipline::name).into_iter().chain(["queue"]) {
            add(&at!["link", i, "buffer", key], "the link carries cells, and the discipline is one of packet queues");
        }
    }
    for (i, _) in scenario.links.iter().enumerate().filter(|(_, link)| link.framing != Framing::Atm) {
        for key in ["discard", "threshold", "clp-threshold"] {
            add(&at!["link", i, "buffer", key], NO_CELLS_HERE);
        }
    }
    if !scenario.traffic.iter().any(|group| matches!(group.service, Service::Abr(_))) {
        add(&at!["abr"], "no [[traffic]] has the service class \"abr\"");
    }
    if !buffers().any(|buffer| buffer.queue.discipline() == QueueDiscipline::Prio) {
        for i in 0..scenario.traffic.len() {
            add(&at!["traffic", i, "dscp"], "no queue sends by it: one with queue = \"prio\" does");
        }
    }
    let has_gateways = scenario.nodes.iter().any(|node| node.kind == NodeKind::Gateway);
    for (i, group) in scenario.traffic.iter().enumerate() {
        if group.count <= 1 {
            add(&at!["traffic", i, "stagger"], "the group has one conversation, which begins at start");
        }
        if !has_gateways && group.tcp().is_some() {
            add(&at!["traffic", i, "gateway"], "no node is a gateway");
        }
        if let Protocol::Class(_) = group.protocol {
            for key in ["tcp", "gateway"] {
                add(&at!["traffic", i, key], "it is for TCP, and the class of the workload file is of UDP");
            }
        }
    }
    for (i, class) in scenario.classes.iter().enumerate() {
        let groups = class.traffic.clone().unwrap_or_else(|| (0..scenario.traffic.len()).collect());
        if groups.iter().all(|&group| scenario.traffic[group].gateways().is_none()) {
            add(&at!["class", i], "no gateways split the connections of its groups");
        }
    }
    if !scenario.traffic.is_empty() && scenario.traffic.iter().all(|group| group.tcp().is_none()) {
        add(&at!["tcp"], "all groups send UDP datagrams");
    }
    let ecn_at = |tcp: &TcpTraffic| [&tcp.tcp].into_iter().chain(&tcp.gateway_tcp).any(|tcp| tcp.ecn.is_on());
    let with_ecn = scenario.traffic.iter().map(|group| group.tcp().is_some_and(ecn_at));
    let with_ecn: Vec<bool> = with_ecn.collect();
    // Programs have the TCP of their kernel.
    let ecn_of = |source: &UdpSource| source.ecn != DatagramEcn::NotEct;
    let datagrams: Vec<bool> = scenario.traffic.iter().map(|group| group.udp().is_some_and(ecn_of)).collect();
    if !with_ecn.contains(&true) && !datagrams.contains(&true) && scenario.commands.is_empty() {
        let reason = "no group has tcp.ecn = true, and only packets of flows with ECN are marked";
        if let Some(discipline) = marking(&scenario.buffer) {
            add(&at!["buffer", discipline, "ecn"], reason);
        }
        for (i, link) in scenario.links.iter().enumerate() {
            if let Some(discipline) = marking(&link.buffer) {
                add(&at!["link", i, "buffer", discipline, "ecn"], reason);
            }
        }
    }
    if buffers().all(|buffer| marking(buffer).is_none()) {
        let reason = "no queue marks packets: one with queue = \"fq-codel\" does, or with another and its ecn = true";
        for (i, _) in with_ecn.iter().enumerate().filter(|(_, ecn)| **ecn) {
            add(&at!["traffic", i, "tcp", "ecn"], reason);
        }
        for (i, _) in datagrams.iter().enumerate().filter(|(_, ecn)| **ecn) {
            add(&at!["traffic", i, "udp", "ecn"], reason);
        }
        if with_ecn.contains(&true) {
            add(&at!["tcp", "ecn"], reason);
        }
    }
    type Rule = (&'static str, fn(&TcpSpec) -> bool, &'static str);
    let rules: [Rule; 11] = [
        (
            "hystart",
            |tcp| tcp.control() != CongestionControl::Cubic || !tcp.timestamps,
            "it is for control \"cubic\" with timestamps",
        ),
        (
            "byte-counting",
            |tcp| !matches!(tcp.control(), CongestionControl::Reno | CongestionControl::Dctcp),
            "it is for control \"reno\" and \"dctcp\"",
        ),
        (
            "abe",
            |tcp| !tcp.ecn.is_on() || tcp.control() == CongestionControl::Tahoe,
            "it is for control \"reno\" and \"cubic\" with ecn = true",
        ),
        ("loss-timer-margin", |tcp| tcp.recovery() != LossRecovery::Rack, "it is for recovery \"rack\""),
        ("dsack", |tcp| !tcp.recovery().uses_sack(), "it is for recovery \"sack\" and \"rack\""),
        (
            "unpaced-segments",
            |tcp| !tcp.pacing && tcp.control() != CongestionControl::Prague,
            "it is for pacing = true and control \"prague\"",
        ),
        (
            "pacing",
            |tcp| tcp.control().models_path() || tcp.control() == CongestionControl::Prague,
            "control \"bbr\" and \"prague\" always pace",
        ),
        ("initial-ssthresh", |tcp| tcp.control().models_path(), "control \"bbr\" has no slow start threshold"),
        ("idle-restart", |tcp| tcp.control().models_path(), "control \"bbr\" keeps its window when it is idle"),
        ("limited-transmit", |tcp| tcp.recovery() == LossRecovery::Tahoe, "recovery \"tahoe\" has none"),
        ("fast-retransmit", |tcp| tcp.recovery() != LossRecovery::Tahoe, "it is for recovery \"tahoe\""),
    ];
    for (key, is_inert, reason) in rules {
        let all_ends = |group: &TcpTraffic| is_inert(&group.tcp) && group.gateway_tcp.iter().all(is_inert);
        let groups = scenario.traffic.iter().enumerate().filter_map(|(i, group)| Some((i, group.tcp()?)));
        for (i, _) in groups.clone().filter(|(_, group)| all_ends(group)) {
            add(&at!["traffic", i, "tcp", key], reason);
        }
        if groups.clone().next().is_some() && groups.clone().all(|(_, group)| all_ends(group)) {
            add(&at!["tcp", key], reason);
        }
    }
    inert
}
