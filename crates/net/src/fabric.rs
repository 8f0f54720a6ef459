//! The network as a whole: nodes joined by ports, driven by one calendar.

mod open;

pub use open::{ConversationSpec, FabricError};

use std::collections::BTreeMap;

use cellway_units::{Rate, Span, Time};

use crate::buffer::BufferSpec;
use crate::calendar::{Calendar, Event};
use crate::cell::{Cell, cells_for};
use crate::channel::{ChannelId, Encapsulation, Multiplexing, NextHop};
use crate::counters::{LossCounters, PortCounters};
use crate::link::{Framing, Unit};
use crate::packet::{Packet, PacketRef, Packets};
use crate::port::{Port, PortId};
use crate::reassembly::Reassembly;
use crate::tap::{Direction, Tap, TapRecord, TapUnit};

/// A node of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// What a node does with what arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// An end system: packets start and end here.
    Host,
    /// Cuts packets into cells and puts them together again. `cellsim` section 2.2.
    Router,
    /// Moves cells from link to link by channel. `cellsim` section 2.2.
    Switch,
}

/// A packet that has come to its host.
#[derive(Clone, Debug)]
pub struct Delivery<B> {
    /// The packet; `packet.to` is the host.
    pub packet: Packet<B>,
}

#[derive(Clone, Copy, Debug)]
struct Ingress {
    port: PortId,
    slot: u32,
}

/// How a router sends the packets of a conversation, by the host they are for.
#[derive(Clone, Debug, Default)]
struct Conversation {
    towards: Vec<(NodeId, Ingress)>,
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
    /// The port from a host to its router, and from the router to the host.
    access: BTreeMap<NodeId, [PortId; 2]>,
    conversations: Vec<Conversation>,
    /// Channels by (first port, last port, key of the multiplexing policy), and their queues.
    channels: BTreeMap<(PortId, PortId, u32), (ChannelId, Vec<u32>)>,
    reassembly: Vec<Reassembly>,
    packets: Packets<B>,
    calendar: Calendar,
    /// Ports whose unit left in this instant over a link without delay.
    instant: Vec<u32>,
    to_serve: Vec<u32>,
    cell_hops: u64,
    events: u64,
    tap: Option<Tap<B>>,
}

impl<B: Clone> Fabric<B> {
    /// An empty network.
    pub fn new(multiplexing: Multiplexing, encapsulation: Encapsulation) -> Fabric<B> {
        Fabric {
            multiplexing,
            encapsulation,
            nodes: Vec::new(),
            ports: Vec::new(),
            access: BTreeMap::new(),
            conversations: Vec::new(),
            channels: BTreeMap::new(),
            reassembly: Vec::new(),
            packets: Packets::new(),
            calendar: Calendar::default(),
            instant: Vec::new(),
            to_serve: Vec::new(),
            cell_hops: 0,
            events: 0,
            tap: None,
        }
    }

    // ---- putting it together ----

    /// Adds a node.
    pub fn add_node(&mut self, kind: NodeKind) -> NodeId {
        self.nodes.push((kind, LossCounters::default()));
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Joins two nodes, in both directions; returns the ports `a` to `b` and `b` to `a`. The
    /// buffers are those of the two ports; `None` is unlimited.
    pub fn add_link(
        &mut self,
        [a, b]: [NodeId; 2],
        rate: Rate,
        delay: Span,
        framing: Framing,
        buffers: [Option<BufferSpec>; 2],
    ) -> [PortId; 2] {
        let first = self.ports.len() as u32;
        self.ports.push(Port::new(a, b, rate, delay, framing, buffers[0]));
        self.ports.push(Port::new(b, a, rate, delay, framing, buffers[1]));
        let [out, back] = [PortId(first), PortId(first + 1)];
        for (host, ports) in [(a, [out, back]), (b, [back, out])] {
            if self.kind(host) == NodeKind::Host {
                self.access.insert(host, ports);
            }
        }
        [out, back]
    }

    /// Copies all that passes `node` from now on; see [`Fabric::tapped`].
    pub fn tap(&mut self, node: NodeId) {
        self.tap = Some(Tap { node, records: Vec::new() });
    }

    // ---- handle ----

    /// The host `packet.from` hands a packet to its line.
    pub fn send(&mut self, now: Time, packet: Packet<B>) {
        let [out, _] = self.access[&packet.from];
        let packet = self.packets.insert(packet);
        self.queue_packet(now, out, packet);
    }

    /// Lets all that happens at `now` happen, but for the lines taking their next unit. Packets
    /// that reach their hosts are appended to `delivered`.
    pub fn advance(&mut self, now: Time, delivered: &mut Vec<Delivery<B>>) {
        while let Some(Event::Departure(port)) = self.calendar.peek_at(now) {
            self.calendar.pop();
            self.depart(now, port);
        }
        // Departures came in order of ports, so those over links without delay are sorted too.
        let mut next_instant = 0;
        loop {
            let instant = self.instant.get(next_instant).copied();
            let pending = match self.calendar.peek_at(now) {
                Some(Event::Arrival(port)) => Some(port),
                _ => None,
            };
            match (instant, pending) {
                (Some(port), pending) if pending.is_none_or(|p| port < p) => {
                    next_instant += 1;
                    let unit = self.ports[port as usize].departed();
                    self.arrive(now, port, unit, delivered);
                }
                (_, Some(port)) => {
                    let (unit, next) = self.ports[port as usize].link.pop();
                    match next {
                        Some(at) => self.calendar.replace_first(at, Event::Arrival(port)),
                        None => self.calendar.pop(),
                    }
                    self.arrive(now, port, unit, delivered);
                }
                (_, None) => break,
            }
        }
        self.instant.clear();
    }

    /// Each free line with something to send takes its next unit.
    pub fn serve(&mut self, now: Time) {
        while let Some(index) = self.to_serve.pop() {
            let port = &mut self.ports[index as usize];
            port.called = false;
            if let Some(leaves) = port.serve(now, &self.packets) {
                self.calendar.add(leaves, Event::Departure(index));
            }
        }
    }

    fn depart(&mut self, now: Time, index: u32) {
        self.events += 1;
        if self.tap.is_some() {
            let unit = self.ports[index as usize].on_line().expect("a departure is pending");
            self.observe(now, index, Direction::Out, unit);
        }
        let port = &mut self.ports[index as usize];
        self.cell_hops += u64::from(port.depart(now));
        if port.link.is_instant() {
            self.instant.push(index);
        } else {
            let unit = port.departed();
            if let Some(at) = port.link.push(now, unit) {
                self.calendar.add(at, Event::Arrival(index));
            }
        }
        if !port.called {
            port.called = true;
            self.to_serve.push(index);
        }
    }

    fn arrive(&mut self, now: Time, index: u32, unit: Unit, delivered: &mut Vec<Delivery<B>>) {
        self.events += 1;
        if self.tap.is_some() {
            self.observe(now, index, Direction::In, unit);
        }
        match unit {
            Unit::Cell(cell) => self.cell_arrives(now, index, cell),
            Unit::Packet(packet) => {
                let node = self.ports[index as usize].to;
                if self.kind(node) == NodeKind::Host {
                    let packet = self.packets.remove(packet);
                    delivered.push(Delivery { packet });
                } else {
                    self.packet_at_router(now, packet);
                }
            }
        }
    }

    #[inline]
    fn cell_arrives(&mut self, now: Time, index: u32, cell: Cell) {
        let from = &self.ports[index as usize];
        match from.channels[cell.channel.0 as usize] {
            NextHop::Forward { port, slot } => {
                let next = &mut self.ports[port.0 as usize];
                if next.push_cell(now, slot, cell, &self.packets) {
                    self.call(port.0);
                } else {
                    self.packets.lose(cell.frame, 1, cell.count);
                }
            }
            NextHop::Reassemble => {
                let router = from.to;
                let losses = &mut self.nodes[router.0 as usize].1;
                let channel = &mut self.reassembly[cell.channel.0 as usize];
                if let Some(packet) = channel.accept(cell, &mut self.packets, losses) {
                    let [_, last] = self.access[&packet.to];
                    let packet = self.packets.insert(packet);
                    self.queue_packet(now, last, packet);
                }
            }
            NextHop::Unknown => unreachable!("a cell came over a link that its channel does not use"),
        }
    }

    /// A packet from a host: to a host of the same router, or into cells.
    fn packet_at_router(&mut self, now: Time, frame: PacketRef) {
        let packet = self.packets.get(frame);
        let conversation = &self.conversations[packet.conversation as usize];
        let to = packet.to;
        let Some(&(_, Ingress { port, slot, .. })) = conversation.towards.iter().find(|(host, _)| *host == to) else {
            let [_, last] = self.access[&to];
            return self.queue_packet(now, last, frame);
        };
        let count = cells_for(packet.octets + self.encapsulation.octets()) as u16;
        let lost = self.ports[port.0 as usize].push_frame(now, slot, frame, count, &self.packets);
        if lost > 0 {
            self.packets.lose(frame, lost, count);
        }
        if lost < count {
            self.call(port.0);
        }
    }

    fn queue_packet(&mut self, now: Time, port: PortId, packet: PacketRef) {
        if self.ports[port.0 as usize].push_packet(now, packet, &self.packets) {
            self.call(port.0);
        } else {
            self.packets.remove(packet);
        }
    }

    /// Puts an idle port on the list of those to serve.
    #[inline]
    fn call(&mut self, index: u32) {
        let port = &mut self.ports[index as usize];
        if port.is_idle() && !port.called {
            port.called = true;
            self.to_serve.push(index);
        }
    }

    fn observe(&mut self, at: Time, index: u32, direction: Direction, unit: Unit) {
        let port = &self.ports[index as usize];
        let node = match direction {
            Direction::In => port.to,
            Direction::Out => port.node,
        };
        let Some(tap) = self.tap.as_mut().filter(|tap| tap.node == node) else { return };
        let unit = match unit {
            Unit::Cell(cell) => TapUnit::Cell(cell, self.packets.get(cell.frame).clone()),
            Unit::Packet(packet) => TapUnit::Packet(self.packets.get(packet).clone()),
        };
        tap.records.push(TapRecord { at, port: PortId(index), direction, unit });
    }

    // ---- get ----

    /// When the next thing happens.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        self.calendar.next()
    }

    /// What a port has counted up to `now`.
    pub fn port_counters(&self, port: PortId, now: Time) -> PortCounters {
        self.port(port).counters(now)
    }

    /// The rate of a port's line.
    pub fn port_rate(&self, port: PortId) -> Rate {
        self.port(port).rate()
    }

    /// Units waiting at a port, the one in service not counted.
    pub fn waiting(&self, port: PortId) -> u32 {
        self.port(port).waiting()
    }

    /// Bits of buffer memory in use at a port.
    pub fn buffered(&self, port: PortId) -> u64 {
        self.port(port).buffered()
    }

    /// Starts all queue peaks anew from the present length.
    pub fn forget_peaks(&mut self) {
        self.ports.iter_mut().for_each(Port::forget_peak);
    }

    /// Frames that a router's reassembly has discarded.
    pub fn losses(&self, node: NodeId) -> LossCounters {
        self.nodes[node.0 as usize].1
    }

    /// Frames and packets refused whole because a buffer was full, all ports together.
    pub fn dropped_frames(&self) -> u64 {
        self.ports.iter().map(Port::dropped_frames).sum()
    }

    /// Cells that have left an output line, all lines together.
    pub fn cell_hops(&self) -> u64 {
        self.cell_hops
    }

    /// Events handled: departures and arrivals.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Packets inside the network, in queues, on lines, on links or half reassembled.
    pub fn packets_held(&self) -> usize {
        self.packets.len()
    }

    /// Takes what the tap has seen since the last call.
    pub fn tapped(&mut self) -> Vec<TapRecord<B>> {
        self.tap.as_mut().map(|tap| std::mem::take(&mut tap.records)).unwrap_or_default()
    }

    /// What a node is.
    pub fn kind(&self, node: NodeId) -> NodeKind {
        self.nodes[node.0 as usize].0
    }

    fn port(&self, id: PortId) -> &Port {
        &self.ports[id.0 as usize]
    }

    fn port_mut(&mut self, id: PortId) -> &mut Port {
        &mut self.ports[id.0 as usize]
    }
}
