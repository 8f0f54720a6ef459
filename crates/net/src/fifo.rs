//! Whole packets first in first out: the queue of a host's or router's packet line.

use std::collections::VecDeque;

use crate::packet::PacketRef;

/// Packets that wait for a line.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacketFifo {
    packets: VecDeque<PacketRef>,
}

impl PacketFifo {
    pub(crate) fn push(&mut self, packet: PacketRef) {
        self.packets.push_back(packet);
    }

    pub(crate) fn pop(&mut self) -> Option<PacketRef> {
        self.packets.pop_front()
    }

    pub(crate) fn len(&self) -> u32 {
        self.packets.len() as u32
    }
}
