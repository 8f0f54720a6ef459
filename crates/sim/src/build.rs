//! From a checked scenario to a network with conversation slots.

mod attach;
mod control;
mod convert;
mod loss;
mod open;

use std::collections::BTreeMap;

use cellway_apps::random::Streams;
use cellway_gateway::TpPacket;
use cellway_net::{Fabric, NodeId, PortId};
use cellway_scenario as file;
use cellway_scenario::Scenario;

pub(crate) use control::Change;
pub(crate) use convert::encapsulation;
pub use convert::workload;

use crate::error::Error;
use crate::gateway::GatewayPair;
use crate::meter::{Meter, Pace, PortMeter, QueueWatch, SlotMeter};
use crate::slot::Slot;
use attach::Attached;
use control::{PacedBy, Queue};

/// What a packet carries.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// A segment of one connection of its slot.
    Segment {
        serial: u32,
        /// The connection's number in its conversation.
        conn: u32,
        /// The packet's number in the run.
        number: u64,
        segment: cellway_tcp::Segment,
    },
    /// What one gateway of a pair tells the other.
    Transport { pair: u32, packet: Box<TpPacket> },
}

/// What a conversation of the network carries.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Leg {
    /// Packets of a slot's connections; behind the gateways, if `far`.
    Slot { slot: u32, far: bool },
    /// What a pair of gateways exchanges.
    Gateways,
}

pub(crate) struct Built {
    pub(crate) fabric: Fabric<Body>,
    pub(crate) slots: Vec<Slot>,
    /// What the network's conversations are, by their number.
    pub(crate) legs: Vec<Leg>,
    pub(crate) pairs: Vec<GatewayPair>,
    pub(crate) changes: Vec<Change>,
    pub(crate) meter: Meter,
    /// Node of each name, the implicit hosts included: "ftp-1" and "ftp-1-sink".
    pub(crate) names: BTreeMap<String, NodeId>,
}

/// A network as it is put together.
struct Builder<'a> {
    scenario: &'a Scenario,
    fabric: Fabric<Body>,
    names: BTreeMap<String, NodeId>,
    /// The nodes of the scenario.
    nodes: Vec<Attached>,
    /// Where frames are put together again: routers, gateways, and the cards of hosts.
    reassembling: Vec<NodeId>,
    /// The ports of each link, in the directions a to b and b to a.
    ports: Vec<[PortId; 2]>,
    port_meters: Vec<PortMeter>,
    slots: Vec<Slot>,
    slot_meters: Vec<SlotMeter>,
    legs: Vec<Leg>,
    /// The traffic groups that use each conversation of the network.
    users: Vec<Vec<usize>>,
    pairs: Vec<GatewayPair>,
    /// The nodes of each pair, in the order of its gateways.
    paired: Vec<[file::NodeIndex; 2]>,
    /// The queues that a service or a gateway paces.
    paced: BTreeMap<Queue, PacedBy>,
    queue_watches: Vec<QueueWatch>,
}

/// Builds the network of `scenario`.
pub(crate) fn build(scenario: &Scenario, streams: &Streams) -> Result<Built, Error> {
    let mut builder = Builder {
        scenario,
        fabric: Fabric::new(convert::multiplexing(scenario), encapsulation(scenario)),
        names: BTreeMap::new(),
        nodes: Vec::new(),
        reassembling: Vec::new(),
        ports: Vec::new(),
        port_meters: Vec::new(),
        slots: Vec::new(),
        slot_meters: Vec::new(),
        legs: Vec::new(),
        users: Vec::new(),
        pairs: Vec::new(),
        paired: Vec::new(),
        paced: BTreeMap::new(),
        queue_watches: Vec::new(),
    };
    builder.nodes();
    builder.links(streams);
    for group in 0..scenario.traffic.len() {
        builder.open_group(group, streams)?;
    }
    let changes = builder.control()?;
    Ok(builder.built(changes))
}

impl Builder<'_> {
    fn built(self, changes: Vec<Change>) -> Built {
        let scenario = self.scenario;
        let meter = Meter::new(
            self.port_meters,
            self.slot_meters,
            scenario.traffic.iter().map(|t| t.name.clone()).collect(),
            self.reassembling,
            self.queue_watches,
            Pace {
                rtt: scenario.run.rtt,
                warmup: scenario.run.warmup,
                bin: scenario.observe.interval,
                fairness: scenario.observe.fairness_window,
                series: scenario.observe.series,
            },
        );
        let Builder { fabric, slots, legs, pairs, names, .. } = self;
        Built { fabric, slots, legs, pairs, changes, meter, names }
    }
}

/// The nodes of `scenario` that a [`crate::Capture`] may name: those of the file and the implicit hosts,
/// in the order of their names.
pub fn node_names(scenario: &Scenario) -> Result<Vec<String>, Error> {
    Ok(build(scenario, &Streams::new(0))?.names.into_keys().collect())
}
