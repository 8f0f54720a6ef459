//! What the packets of a run carry.

use cellway_apps::DatagramMark;
use cellway_gateway::TpPacket;

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
    /// A datagram of its slot.
    Datagram {
        /// The packet's number in the run.
        number: u64,
        mark: DatagramMark,
    },
    /// What one gateway of a pair tells the other.
    Transport { pair: u32, packet: Box<TpPacket> },
}
