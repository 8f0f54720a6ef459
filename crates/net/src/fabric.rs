//! The network as a whole: nodes joined by ports, driven by one calendar.

mod abr;
mod close;
mod control;
mod entries;
mod get;
mod handle;
mod open;
mod rm_path;
mod view;
mod windows;

pub use open::{ConversationSpec, FabricError};
pub use view::UnitView;

use open::{ChannelKey, Circuit};

use std::collections::BTreeMap;
use std::sync::Arc;

use cellway_spec::{Encapsulation, Multiplexing, NodeKind};
use cellway_units::Cells;

use crate::abr_port::AbrSwitchSpec;
use crate::buffer::BufferSpec;
use crate::calendar::{Calendar, Event};
use crate::channel::Class;
use crate::counters::LossCounters;
use crate::ids::{ChannelId, NodeId, PortId};
use crate::link_spec::LinkSpec;
use crate::packet::Packets;
use crate::port::Port;
use crate::reassembly::Reassembly;
use crate::rm_cells::RmCells;
use crate::tap::Tap;

/// The next step of a packet at a node.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Whole, over a packet line.
    Packet(PortId),
    /// As cells, into queue `slot` of a cell line.
    Cells { port: PortId, slot: u32 },
}

/// The forwarding table of a conversation.
#[derive(Clone, Debug)]
struct Conversation {
    hosts: [NodeId; 2],
    /// The step at each node that handles whole packets, in the order of the path: those of the first direction, then those
    /// of the second, of which this is the first.
    steps: Box<[Step]>,
    second: u32,
}

impl Conversation {
    /// Returns the steps in each direction.
    #[inline(always)]
    fn ways(&self) -> [&[Step]; 2] {
        let (there, back) = self.steps.split_at(self.second as usize);
        [there, back]
    }

    /// Returns the direction of packets between its two hosts: 0 from the first, 1 from the second.
    fn way(&self, from: NodeId, to: NodeId) -> u8 {
        let way = u8::from(from != self.hosts[0]);
        let ends = if way == 0 { self.hosts } else { [self.hosts[1], self.hosts[0]] };
        assert!(ends == [from, to], "packets stay on the paths that were opened for them");
        way
    }
}

/// The network: a state machine without I/O. See the crate's page for the order of events.
///
/// A driver repeats: take the earliest of [`Fabric::deadline`] and its own timers as `now`; call
/// [`Fabric::advance`]; let the hosts react with [`Fabric::send`]; call [`Fabric::serve`].
#[derive(Clone, Debug)]
pub struct Fabric<B> {
    multiplexing: Multiplexing,
    encapsulation: Encapsulation,
    nodes: Vec<(NodeKind, LossCounters)>,
    ports: Vec<Port>,
    /// By number; `None` are those that have been closed.
    conversations: Vec<Option<Conversation>>,
    /// The channels in use that conversations may share, by their keys.
    channels: BTreeMap<ChannelKey, ChannelId>,
    /// All channels by number.
    circuits: Vec<Circuit>,
    /// The channels that share an ABR control loop with a channel.
    joined: BTreeMap<ChannelId, Vec<ChannelId>>,
    /// Unused channels, by ports and class.
    free: BTreeMap<(Vec<PortId>, Class), Vec<ChannelId>>,
    reassembly: Vec<Reassembly>,
    /// The parameters of the last limited buffer.
    last_buffer: Option<Arc<BufferSpec>>,
    packets: Packets<B>,
    rms: RmCells,
    abr_switch: AbrSwitchSpec,
    calendar: Calendar,
    /// Ports whose unit left in this instant over a link without delay.
    instant: Vec<u32>,
    to_serve: Vec<u32>,
    /// Ports whose queue lengths are recorded.
    watched: Vec<PortId>,
    cell_hops: u64,
    events: u64,
    tap: Option<Tap<B>>,
    /// Set if the lines run in windows, without the calendar.
    windows: Option<Box<windows::Windows>>,
    /// The routes of the last windows: packets in queues know their places in them.
    routes: Option<Box<windows::Routes>>,
}

impl<B: Clone> Fabric<B> {
    /// Creates an empty network.
    pub fn new(multiplexing: Multiplexing, encapsulation: Encapsulation) -> Fabric<B> {
        Fabric {
            multiplexing,
            encapsulation,
            nodes: Vec::new(),
            ports: Vec::new(),
            conversations: Vec::new(),
            channels: BTreeMap::new(),
            circuits: Vec::new(),
            joined: BTreeMap::new(),
            free: BTreeMap::new(),
            reassembly: Vec::new(),
            last_buffer: None,
            packets: Packets::new(),
            rms: RmCells::default(),
            abr_switch: AbrSwitchSpec::Efci { threshold: Cells(64) },
            calendar: Calendar::default(),
            instant: Vec::new(),
            to_serve: Vec::new(),
            watched: Vec::new(),
            cell_hops: 0,
            events: 0,
            tap: None,
            windows: None,
            routes: None,
        }
    }

    // ---- putting it together ----

    /// Reserves the tables' exact size; tables that double as they grow would end up half empty.
    pub fn reserve(&mut self, nodes: usize, links: usize, conversations: usize) {
        self.nodes.reserve_exact(nodes);
        self.ports.reserve_exact(2 * links);
        self.conversations.reserve_exact(conversations);
        self.circuits.reserve_exact(2 * conversations);
        self.reassembly.reserve_exact(2 * conversations);
        self.packets.reserve(conversations);
    }

    /// Adds a node. A gateway is a router to the network.
    pub fn add_node(&mut self, kind: NodeKind) -> NodeId {
        self.nodes.push((kind, LossCounters::default()));
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Joins two nodes, in both directions; returns the ports `a` to `b` and `b` to `a`, with numbers that
    /// follow each other.
    pub fn add_link(&mut self, [a, b]: [NodeId; 2], spec: LinkSpec) -> [PortId; 2] {
        let first = self.ports.len() as u32;
        let LinkSpec { framing, discipline, ports } = spec;
        for (nodes, port) in [[a, b], [b, a]].into_iter().zip(ports) {
            let buffer = port.buffer.map(|spec| self.shared(spec));
            let mut port = Port::new(nodes, framing, discipline, buffer, port);
            if let Some(at) = port.next_flush() {
                self.calendar.add(at, Event::Release(self.ports.len() as u32));
            }
            self.ports.push(port);
        }
        [PortId(first), PortId(first + 1)]
    }

    /// Returns the shared copy of the parameters of a buffer: that of the last link, if they are the same.
    fn shared(&mut self, spec: BufferSpec) -> Arc<BufferSpec> {
        match &self.last_buffer {
            Some(last) if **last == spec => last.clone(),
            _ => self.last_buffer.insert(Arc::new(spec)).clone(),
        }
    }

    /// Copies all units that pass `node` from now on; see [`Fabric::tapped`].
    pub fn tap(&mut self, node: NodeId) {
        self.tap = Some(Tap { node, records: Vec::new() });
    }

    fn port(&self, id: PortId) -> &Port {
        &self.ports[id.0 as usize]
    }

    fn port_mut(&mut self, id: PortId) -> &mut Port {
        &mut self.ports[id.0 as usize]
    }
}

#[cfg(test)]
mod tests;
