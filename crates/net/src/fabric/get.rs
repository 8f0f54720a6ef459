//! What a reader of the network may ask.

use cellway_units::{Rate, Time};

use super::{Fabric, NodeId, NodeKind};
use crate::channel::ChannelId;
use crate::counters::{LossCounters, PortCounters};
use crate::port::{Port, PortId};
use crate::tap::TapRecord;

impl<B: Clone> Fabric<B> {
    /// When the next thing happens.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        self.calendar.next()
    }

    /// The ATM stretches of a conversation in one direction (0 there, 1 back), in order: the channel of
    /// each and its ports.
    pub fn channels(&self, conversation: u32, direction: usize) -> &[(ChannelId, Vec<PortId>)] {
        &self.conversations[conversation as usize].channels[direction]
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
}
