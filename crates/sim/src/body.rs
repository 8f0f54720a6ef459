//! The contents of the packets of a run.

use cellway_apps::DatagramMark;
use cellway_gateway::TpPacket;

use crate::connection::Place;

/// The content of a packet.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// A segment of one connection of its slot, to the end at `to`. The flow of the packet is the connection's serial
    /// number.
    Segment {
        to: Place,
        /// True for the first connection of its conversation.
        is_first: bool,
        /// The packet's number in the run.
        number: u64,
        segment: cellway_tcp::Segment,
    },
    /// A datagram of its slot.
    Datagram {
        /// The packet's number in the run.
        number: u64,
        mark: DatagramMark,
    },
    /// A datagram of a stack of others.
    Stack {
        /// The packet's number in the run.
        number: u64,
        /// The mark of the originator's datagrams; the responder's have none.
        mark: Option<DatagramMark>,
        contents: Box<[u8]>,
    },
    /// A packet from one gateway of a pair to the other.
    Transport { pair: u32, packet: Box<TpPacket> },
}

impl Body {
    /// Returns true for a packet of a host with data: no bare acknowledgement, and none between gateways.
    /// Of a stack of others, whose packets are opaque, those of the originator.
    pub(crate) fn has_data(&self) -> bool {
        match self {
            Body::Segment { segment, .. } => segment.len > 0,
            Body::Datagram { .. } => true,
            Body::Stack { mark, .. } => mark.is_some(),
            Body::Transport { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use cellway_net::Packet;

    use super::*;

    /// Copies of up to 128 bytes are moved in place, others by a call; the network adds up to eight bytes.
    #[test]
    fn a_packet_is_short() {
        assert!(size_of::<Packet<Body>>() <= 120, "{}", size_of::<Packet<Body>>());
    }
}
