//! A checked scenario: domain types only, nothing left to look up, default or refuse.

mod app;
mod sharing;
mod tcp;

pub use app::*;
pub use sharing::*;
pub use tcp::*;

use cellway_units::{Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The place of a node in [`Scenario::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeIndex(pub usize);

/// The place of a link in [`Scenario::links`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkIndex(pub usize);

/// One network, its traffic and what to observe: everything that decides a run but the seed in use.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// A short name, used for result folders and titles.
    pub name: String,
    /// What the scenario is for; may be empty.
    pub description: String,
    /// How long to run and how often.
    pub run: Run,
    /// How conversations are mapped to channels, and packets to frames.
    pub multiplexing: Multiplexing,
    /// The output buffers of routers and switches.
    pub buffer: Buffer,
    /// Nodes in file order. Implicit hosts (see [`Attachment::Router`]) are not among them.
    pub nodes: Vec<Node>,
    /// Links in file order.
    pub links: Vec<Link>,
    /// Traffic groups in file order; a group may have a count of 0.
    pub traffic: Vec<Traffic>,
    /// What is recorded besides the summary.
    pub observe: Observe,
}

/// How long to run and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Simulated time of one run, the warm-up included.
    pub duration: Span,
    /// The first part of the run, left out of every summary. Shorter than `duration`.
    pub warmup: Span,
    /// The seed of the first replication; replication `i` (from 0) uses `seed + i`.
    pub seed: u64,
    /// How many replications; at least 1.
    pub seeds: u64,
    /// The round trip that "rtt" and "bdp" in the file stand for: as given, or the propagation
    /// round trip of the longest path of a traffic group, groups of count 0 included. Never zero.
    pub rtt: Span,
}

/// A node that the file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Unique among nodes: letters, digits, `-` and `_`.
    pub name: String,
    /// What it does.
    pub kind: NodeKind,
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// Turns packets into cells and back.
    Router,
    /// Forwards cells.
    Switch,
    /// An end system, attached to one router by one link.
    Host,
}

/// A link, the same in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Unique among links; "a-b" unless the file names it.
    pub name: String,
    /// The first end.
    pub a: NodeIndex,
    /// The other end.
    pub b: NodeIndex,
    /// The rate of each direction. Never zero.
    pub rate: Rate,
    /// The propagation delay of each direction.
    pub delay: Span,
    /// What travels on it.
    pub framing: Framing,
}

/// What travels on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Framing {
    /// Cells: links between routers and switches.
    Atm,
    /// IP packets without further framing: links of hosts.
    Packet,
}

/// A group of like conversations. Slot `i` (from 1) is called "name-i"; see [`Traffic::slot`].
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// Unique among groups.
    pub name: String,
    /// What the conversations do.
    pub app: App,
    /// How many slots; each runs one conversation after the other.
    pub count: u32,
    /// Where the originators are.
    pub from: Attachment,
    /// Where the responders are.
    pub to: Attachment,
    /// The link of each implicit host; present exactly if `from` or `to` is a router.
    pub access: Option<Access>,
    /// When slot 1 starts.
    pub start: Span,
    /// Slot `i` starts at `start + (i - 1) × stagger`.
    pub stagger: Span,
    /// Complete: the file's defaults with what the group overrides.
    pub tcp: TcpSpec,
    /// The links from `from` to `to`, without access links; the way back is the same links in
    /// reverse. See [`Scenario::route`].
    pub route: Vec<LinkIndex>,
    /// The rate of the slowest ATM link on `route`.
    pub bottleneck: Rate,
}

impl Traffic {
    /// The name of slot `i`, counted from 1: "ftp-3".
    pub fn slot(&self, i: u32) -> String {
        format!("{}-{i}", self.name)
    }
    /// When slot `i`, counted from 1, starts its first conversation.
    pub fn slot_start(&self, i: u32) -> Span {
        self.start + self.stagger.saturating_mul(u64::from(i.saturating_sub(1)))
    }
}

/// Where one end of a group's conversations is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Attachment {
    /// Each slot has a host of its own, attached to this router by a link of [`Traffic::access`].
    Router(NodeIndex),
    /// All slots use this host.
    Host(NodeIndex),
}

impl Attachment {
    /// The node that the file names.
    pub const fn node(self) -> NodeIndex {
        match self {
            Attachment::Router(node) | Attachment::Host(node) => node,
        }
    }
}

/// The link between an implicit host and its router; packets travel on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The rate of each direction. Never zero.
    pub rate: Rate,
    /// The propagation delay of each direction.
    pub delay: Span,
}

/// What is recorded besides the summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observe {
    /// Bin of the recorded series. Never zero.
    pub interval: Span,
    /// Window over which fairness is computed. Never zero, never longer than the run after its
    /// warm-up.
    pub fairness_window: Span,
    /// Slots whose send window is recorded at each change; only slots that exist.
    pub trace: Vec<Slot>,
    /// Whether binned series are recorded.
    pub series: bool,
}

/// One conversation slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// The place of its group in [`Scenario::traffic`].
    pub traffic: usize,
    /// Its number in the group, from 1.
    pub number: u32,
}
