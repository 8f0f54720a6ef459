//! What gateways send each other: packets of frames, and their lengths on the line.

use cellway_units::{Bits, Bytes, LLC_SNAP_OCTETS, Span, aal5_cells};

/// Octets of the IPv4 header. RFC 791, section 3.1.
pub const IP_OCTETS: u32 = 20;
/// Octets of the transport header: a packet number of 48 bits and a checksum of 16.
pub const HEADER_OCTETS: u32 = 8;
/// Octets of a data frame before its bytes.
pub const DATA_OCTETS: u32 = 16;
/// All headers of a packet with one data frame (octets).
pub const DATA_OVERHEAD: u32 = IP_OCTETS + HEADER_OCTETS + DATA_OCTETS;
/// Octets of the largest control frame: an `Open` with addresses of IPv6.
pub(crate) const CONTROL_OCTETS: u32 = 52;
/// Octets of an acknowledgement before its ranges.
const ACK_OCTETS: u32 = 8;
/// Octets of a range: two packet numbers of 48 bits.
const ACK_RANGE_OCTETS: u32 = 12;
/// Most ranges of one acknowledgement; the oldest are left out.
const ACK_RANGES: u32 = 32;

/// The name of a flow, the same at both gateways: whoever opens a flow chooses one that neither
/// gateway has used before. Numbers given out in sequence (one gateway even, the other odd, or any
/// two sequences that do not meet) keep the memory of those that have ended small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// What of a packet counts against the rate between the gateways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// The octets of the IP packet.
    Packet,
    /// Whole cells of 53 octets that carry the packet in an AAL5 frame, trailer and padding included.
    Atm {
        /// Whether eight octets of LLC/SNAP (RFC 2684) precede the packet.
        llc: bool,
    },
}

impl Wire {
    /// What an IP packet of `octets` takes on the line.
    pub const fn bits(self, octets: u32) -> Bits {
        let octets = octets as u64;
        match self {
            Wire::Packet => Bytes(octets).bits(),
            Wire::Atm { llc } => {
                let sdu = if llc { octets + LLC_SNAP_OCTETS } else { octets };
                aal5_cells(Bytes(sdu)).bits()
            }
        }
    }
}

/// A packet between gateways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TpPacket {
    /// Counts the packets of one direction, from 0; what is sent again gets a new number.
    pub number: u64,
    /// What it carries, at least one frame.
    pub frames: Vec<Frame>,
}

impl TpPacket {
    /// Length of the IP packet (octets), its header of 20 included.
    pub fn octets(&self) -> u32 {
        IP_OCTETS + HEADER_OCTETS + self.frames.iter().map(Frame::octets).sum::<u32>()
    }
    /// Whether the receiver has to acknowledge it: anything but a bare acknowledgement.
    pub fn ack_eliciting(&self) -> bool {
        self.frames.iter().any(|frame| !matches!(frame, Frame::Ack(_)))
    }
}

/// One item of a packet. The octets of each are in `docs/models/gateway.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A host at the sender's side wants to connect.
    Open {
        /// The new flow.
        flow: FlowId,
        /// How far its other direction may be sent (bytes since its start).
        limit: u64,
    },
    /// The far host answered.
    Accepted {
        /// The flow of the `Open`.
        flow: FlowId,
        /// How far the opener may send (bytes since the start).
        limit: u64,
    },
    /// The far host cannot be reached or refuses.
    Refused {
        /// The flow of the `Open`.
        flow: FlowId,
    },
    /// Bytes of a flow.
    Data {
        /// The flow.
        flow: FlowId,
        /// Place of the first byte (bytes since the start).
        offset: u64,
        /// How many (bytes); may be 0 with `fin`.
        len: u32,
        /// Whether the flow ends after them in this direction.
        fin: bool,
    },
    /// More may be sent.
    Credit {
        /// The flow.
        flow: FlowId,
        /// How far (bytes since the start). Limits never shrink: an earlier, smaller one means nothing.
        limit: u64,
    },
    /// The connection at the sender's side is gone.
    Reset {
        /// The flow.
        flow: FlowId,
        /// Up to where the receiver delivers before it resets its own side (bytes since the start).
        at: u64,
    },
    /// Which packets arrived.
    Ack(Ack),
}

impl Frame {
    /// The flow that it is about; none of an acknowledgement.
    pub fn flow(&self) -> Option<FlowId> {
        match *self {
            Frame::Open { flow, .. }
            | Frame::Accepted { flow, .. }
            | Frame::Refused { flow }
            | Frame::Data { flow, .. }
            | Frame::Credit { flow, .. }
            | Frame::Reset { flow, .. } => Some(flow),
            Frame::Ack(_) => None,
        }
    }
    /// Its length (octets).
    pub fn octets(&self) -> u32 {
        match self {
            Frame::Open { .. } => 28,
            Frame::Accepted { .. } | Frame::Credit { .. } | Frame::Reset { .. } => 16,
            Frame::Refused { .. } => 8,
            Frame::Data { len, .. } => DATA_OCTETS + len,
            Frame::Ack(ack) => ACK_OCTETS + ACK_RANGE_OCTETS * ack.ranges.len() as u32,
        }
    }
}

/// Which packets arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ack {
    /// First and last number of each run of packets, the newest run first.
    pub ranges: Vec<(u64, u64)>,
    /// How long the newest of them waited for this, in whole microseconds.
    pub delay: Span,
}

impl Ack {
    /// The most ranges that fit into `room` octets.
    pub(crate) fn most_ranges(room: u32) -> usize {
        (room.saturating_sub(ACK_OCTETS) / ACK_RANGE_OCTETS).min(ACK_RANGES) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_the_specification() {
        let flow = FlowId(1);
        let packet = |frames| TpPacket { number: 0, frames }.octets();
        assert_eq!(packet(vec![Frame::Open { flow, limit: 0 }]), 56);
        assert_eq!(packet(vec![Frame::Accepted { flow, limit: 0 }]), 44);
        assert_eq!(packet(vec![Frame::Refused { flow }]), 36);
        assert_eq!(packet(vec![Frame::Data { flow, offset: 0, len: 8192, fin: false }]), 8192 + DATA_OVERHEAD);
        let ack = Ack { ranges: vec![(5, 9), (1, 3)], delay: Span::ZERO };
        assert_eq!(packet(vec![Frame::Ack(ack), Frame::Credit { flow, limit: 9 }]), 28 + 32 + 16);
    }

    #[test]
    fn the_line_carries_whole_cells() {
        assert_eq!(Wire::Packet.bits(8236), Bits(65_888));
        // 8236 + 8 of trailer = 171.75 payloads of 48; with LLC/SNAP 171.92.
        assert_eq!(Wire::Atm { llc: false }.bits(8236), Bits(172 * 424));
        assert_eq!(Wire::Atm { llc: true }.bits(8236), Bits(172 * 424));
        // 40 + 8 fill one cell; one octet more takes a second.
        assert_eq!(Wire::Atm { llc: false }.bits(40), Bits(424));
        assert_eq!(Wire::Atm { llc: false }.bits(41), Bits(848));
        assert_eq!(Wire::Atm { llc: true }.bits(40), Bits(848));
    }

    #[test]
    fn ranges_that_fit() {
        assert_eq!(Ack::most_ranges(7), 0);
        assert_eq!(Ack::most_ranges(19), 0);
        assert_eq!(Ack::most_ranges(20), 1);
        assert_eq!(Ack::most_ranges(80), 6);
        assert_eq!(Ack::most_ranges(9000), 32);
    }
}
