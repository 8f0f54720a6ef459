//! Choices of ATM: channels, their order of service, packets in cells, policers.

use cellway_settings::choice;
use cellway_units::{Bytes, Cells, LLC_SNAP_OCTETS, aal5_cells, bare_cells};

choice! {
    /// Which conversations between the same two routers share a channel, and so a cell queue. Cáceres 1993, section 2.
    pub enum Multiplexing {
        /// Each conversation has its own.
        PerConversation = "per-conversation",
        /// Conversations of one application type share one.
        PerType = "per-type",
        /// All conversations share one.
        PerDestination = "per-destination",
    }
}

choice! {
    /// The order in which an ATM line serves the cells of its channels.
    pub enum Discipline {
        /// Each channel has a queue; those that hold a cell are served in turn, cell by cell.
        RoundRobin = "round-robin",
        /// All channels are one queue, first in first out.
        Fifo = "fifo",
    }
}

choice! {
    /// The mapping of an IP packet to cells.
    pub enum Encapsulation {
        /// An AAL5 frame; the channel itself says that it carries IP (RFC 2684 section 6.1).
        VcMux = "vc-mux",
        /// An AAL5 frame with an LLC/SNAP header of 8 bytes (RFC 2684 section 5.1).
        LlcSnap = "llc-snap",
        /// No AAL5 and no other adaptation layer: the packet is cut into cells of 48 bytes as it is.
        None = "none",
    }
}

impl Encapsulation {
    /// Returns the cells of a packet.
    #[inline]
    pub const fn cells(self, packet: Bytes) -> Cells {
        match self {
            Encapsulation::VcMux => aal5_cells(packet),
            Encapsulation::LlcSnap => aal5_cells(Bytes(packet.0.saturating_add(LLC_SNAP_OCTETS))),
            Encapsulation::None => bare_cells(packet),
        }
    }
}

choice! {
    /// The treatment of cells that do not conform. ITU-T I.371; ATM Forum TM 4.0 section 4.4.
    pub enum PolicerAction {
        /// They are dropped.
        Discard = "discard",
        /// Their cell loss priority is set to 1; a cell that has it already is dropped.
        Tag = "tag",
    }
}
