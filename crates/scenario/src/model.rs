//! A checked scenario: domain types only, nothing left to look up, default or refuse.

mod app;
mod control;
mod direction;
mod emulate;
mod network;
mod service;
mod sharing;
mod traffic;

pub use app::*;
pub use control::*;
pub use direction::*;
pub use emulate::*;
pub use network::*;
pub use service::*;
pub use sharing::*;
pub use traffic::*;

use cellway_settings::choice;
pub use cellway_spec::{
    AbrParameters, AckDelay, AppKind, Arrivals, BufferPer, Charge, CongestionControl, Connect, ConversationArrivals,
    ConversationPace, ConversationUse, DataConnection, Discard, Discipline, Draw, EcnMode, Encapsulation, Family,
    FastRetransmit, Fifo, FlowArrivals, FlowPace, FlowSizes, FlowSource, FlowSpec, Fraction, Framing, Jitter,
    JitterDistribution, LossRecovery, Multiplexing, NodeKind, Outage, OutageBuffer, OutagePackets, PageSpec,
    PolicerAction, Queue, QueueDiscipline, Sharing, SizeDistribution, SourceKind, Spike, TcpKeys, TcpProfile, TcpSpec,
    Train, Trains, TransportChoice, UdpSource, Variant, Video, WorkloadSpec,
};
use cellway_units::Span;

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
    /// The purpose of the scenario; may be empty.
    pub description: String,
    /// The length and the number of runs.
    pub run: Run,
    /// The mapping of conversations to channels, and of packets to frames.
    pub multiplexing: MultiplexingSpec,
    /// The output buffers of routers, switches and gateways, where [`Link::buffer`] does not say otherwise: the ports
    /// to implicit hosts.
    pub buffer: Buffer,
    /// Nodes in file order. Implicit hosts (see [`Attachment::Router`]) are not among them.
    pub nodes: Vec<Node>,
    /// Links in file order.
    pub links: Vec<Link>,
    /// Traffic groups in file order; a group may have a count of 0. Empty only if there are commands.
    pub traffic: Vec<Traffic>,
    /// Classes at gateways, in file order; at most one of them without groups of its own.
    pub classes: Vec<Class>,
    /// Shapers in file order.
    pub shapers: Vec<Shaper>,
    /// Policers in file order.
    pub policers: Vec<Policer>,
    /// The changes of rates, in file order.
    pub changes: Vec<Change>,
    /// The part of switches and routers in ABR control.
    pub abr: AbrSwitch,
    /// The records besides the summary.
    pub observe: Observe,
    /// Limits of an emulation.
    pub emulate: Emulate,
    /// Programs that an emulation starts, in file order.
    pub commands: Vec<Command>,
}

impl Scenario {
    /// Returns whether cells travel anywhere: on a link, or on the line of a host of its own.
    pub fn has_cells(&self) -> bool {
        let access = |group: &Traffic| group.access.is_some_and(|access| access.framing == Framing::Atm);
        self.links.iter().any(|link| link.framing == Framing::Atm) || self.traffic.iter().any(access)
    }
}

/// The length and the number of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Simulated time of one run, the warm-up included.
    pub duration: Span,
    /// The first part of the run, left out of every summary. Shorter than `duration`.
    pub warmup: Span,
    /// The seed of the first replication; replication `i` (from 0) uses `seed + i`.
    pub seed: u64,
    /// The number of replications; at least 1.
    pub seeds: u64,
    /// The round trip that "rtt" and "bdp" in the file stand for: as given, or the propagation
    /// round trip of the longest path of a traffic group, groups of count 0 included, or of hosts if
    /// there is no traffic. Never zero.
    pub rtt: Span,
    /// The way in which the network is computed; no result depends on it.
    pub engine: Engine,
}

choice! {
    /// The way in which the network is computed.
    pub enum Engine {
        /// Each line computes all that it can know at once, many cells in one step. A network with a part that is decided event by
        /// event, like a delay that varies, is computed as with cells.
        Windows = "windows",
        /// One event after the other, in one calendar: slower, to check the other with.
        Cells = "cells",
    }
}

/// The records besides the summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observe {
    /// Bin of the recorded series. Never zero.
    pub interval: Span,
    /// Window over which fairness is computed. Never zero, never longer than the run after its
    /// warm-up.
    pub fairness_window: Span,
    /// Slots whose send window is recorded at each change; only slots that exist.
    pub trace: Vec<Slot>,
    /// Record binned series.
    pub series: bool,
    /// Output ports whose queue is recorded at each change: the node and the link on which it sends.
    pub queue: Vec<(NodeIndex, LinkIndex)>,
    /// Slots whose TCP and packets have series; only slots that exist.
    pub flows: Vec<Slot>,
    /// Sets of slots with figures of their own.
    pub sets: Vec<FlowSet>,
    /// The most rows of a run's bins, and of each quantity that is recorded at its changes.
    pub max_rows: u64,
}

/// A named set of slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSet {
    /// Its name; that of no group, slot or node.
    pub name: String,
    /// Its slots in order, each once; only slots that exist.
    pub slots: Vec<Slot>,
}

/// One conversation slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// The place of its group in [`Scenario::traffic`].
    pub traffic: usize,
    /// Its number in the group, from 1.
    pub number: u32,
}
