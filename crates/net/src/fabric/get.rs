//! The queries of a reader of the network.

use cellway_spec::{Framing, NodeKind};
use cellway_units::Time;

use super::Fabric;
use crate::counters::{ConversationCounters, LossCounters, PortCounters};
use crate::ids::{ChannelId, NodeId, PortId};
use crate::port::Port;
use crate::qdisc::Waits;
use crate::tap::TapRecord;

impl<B: Clone> Fabric<B> {
    /// Returns the time of the next event; in windows that of the first delivery that is known.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        if self.windows.is_some() { self.next_delivery() } else { self.calendar.next() }
    }

    /// Returns the ATM segments of a conversation's path in one direction (0 forward, 1 back), in order: the channel of
    /// each and its ports. None if it is not open.
    pub fn channels(&self, conversation: u32, direction: usize) -> Vec<(ChannelId, Vec<PortId>)> {
        let Some(Some(known)) = self.conversations.get(conversation as usize) else { return Vec::new() };
        let ports = |channel| self.hops(channel).map(|(port, _)| port).collect();
        self.channels_of(known.ways()[direction]).map(|channel| (channel, ports(channel))).collect()
    }

    /// Returns the counters of a port up to `now`.
    pub fn port_counters(&self, port: PortId, now: Time) -> PortCounters {
        self.port(port).counters(now)
    }

    /// Records the waits of packets at a port from now on: some KiB of memory. A line of cells has none.
    pub fn record_waits(&mut self, port: PortId) {
        self.port_mut(port).record_waits();
    }

    /// Returns the waits of the packets that have left the queue of a packet line since the last call of
    /// [`Fabric::forget_peaks`]; `None` if they are not recorded.
    pub fn waits(&self, port: PortId) -> Option<&Waits> {
        self.port(port).waits()
    }

    /// Returns the nodes before and after a port.
    pub fn ends(&self, port: PortId) -> [NodeId; 2] {
        [self.port(port).node, self.port(port).to]
    }

    /// Returns the framing of a port's line.
    pub fn framing(&self, port: PortId) -> Framing {
        self.port(port).framing()
    }

    /// Returns true if a conversation uses a channel, or a control loop joins it with one that is used.
    pub fn is_open(&self, channel: ChannelId) -> bool {
        self.circuits.get(channel.0 as usize).is_some_and(|circuit| circuit.is_open)
    }

    /// Units waiting at a port, the one in service not counted.
    pub fn waiting(&self, port: PortId) -> u32 {
        self.port(port).waiting()
    }

    /// Cells of one channel that wait at a port, the one in service not counted; 0 if the channel does not
    /// pass there.
    pub fn waiting_of(&self, port: PortId, channel: ChannelId) -> u32 {
        let server = self.port(port).server();
        server.and_then(|server| Some(server.waiting_of(server.slot(channel)?))).unwrap_or(0)
    }

    /// Returns the counters of the packets of a conversation since it was opened; still available after it was closed,
    /// until its number is used again.
    pub fn conversation_counters(&self, conversation: u32) -> ConversationCounters {
        self.packets.counters(conversation)
    }

    /// Bits of buffer memory in use at a port.
    pub fn buffered(&self, port: PortId) -> u64 {
        self.port(port).buffered()
    }

    /// Starts peak and minimum of all queues anew from the present length.
    pub fn forget_peaks(&mut self) {
        self.ports.iter_mut().for_each(Port::forget_extremes);
    }

    /// Frames that a node's reassembly has discarded.
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

    /// Returns the number of whole packets that have left an output line up to `now`, over all lines.
    pub fn packet_hops(&self, now: Time) -> u64 {
        self.ports.iter().map(|port| port.packets_sent(now)).sum()
    }

    /// Returns the number of departures and arrivals up to `now`.
    pub fn events(&self, now: Time) -> u64 {
        let unawaited = self.ports.iter().filter(|port| port.departed_before(now)).count();
        self.events + unawaited as u64
    }

    /// Packets inside the network, in queues, on lines, on links or half reassembled.
    pub fn packets_held(&self) -> usize {
        self.packets.len()
    }

    /// Returns the copies of the tap since the last call.
    pub fn tapped(&mut self) -> Vec<TapRecord<B>> {
        self.tap.as_mut().map(|tap| std::mem::take(&mut tap.records)).unwrap_or_default()
    }

    /// Returns the kind of a node.
    pub fn kind(&self, node: NodeId) -> NodeKind {
        self.nodes[node.0 as usize].0
    }
}
