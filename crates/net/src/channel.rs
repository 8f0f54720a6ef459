//! Channels: fixed paths between two nodes that handle packets, each with its own cell queue at every line.

use cellway_units::{Bytes, LLC_SNAP_OCTETS, bare_cells};

use crate::cell::cells_for;
use crate::ids::{ChannelId, PortId};

/// The service of a channel at each line: the first class that has a cell to send is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Constant bit rate: first.
    Cbr,
    /// Variable bit rate: second.
    Vbr,
    /// Available bit rate: last, in one round robin with [`Class::Ubr`].
    Abr,
    /// Unspecified bit rate: last.
    Ubr,
}

impl Class {
    /// Its place in the order of service, 0 first.
    pub(crate) const fn priority(self) -> u8 {
        match self {
            Class::Cbr => 0,
            Class::Vbr => 1,
            Class::Abr | Class::Ubr => 2,
        }
    }
}

/// Which conversations share a channel. Source: `cellsim`, section 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Multiplexing {
    /// Each conversation between two routers has a channel of its own.
    PerConversation,
    /// Conversations of one type between two routers share a channel.
    PerType,
    /// All conversations between two routers share one channel.
    PerDestination,
}

impl Multiplexing {
    /// What tells the channels between one pair of routers apart.
    pub(crate) fn key(self, conversation: u32, kind: u32) -> u32 {
        match self {
            Multiplexing::PerConversation => conversation,
            Multiplexing::PerType => kind,
            Multiplexing::PerDestination => 0,
        }
    }
}

/// The mapping of an IP datagram to cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encapsulation {
    /// An AAL5 frame on a channel that carries IP and nothing else: no header. RFC 2684 section 6.1.
    VcMultiplexed,
    /// An AAL5 frame in which an LLC/SNAP header of 8 octets names the protocol. RFC 2684 section 5.1.
    LlcSnap,
    /// No adaptation layer: the datagram is cut into cells as it is. The last cell of a datagram, and lost cells, are
    /// recognised as with AAL5, but without a trailer.
    None,
}

impl Encapsulation {
    /// The cells of a datagram of `octets`.
    #[inline]
    pub const fn cells(self, octets: u32) -> u32 {
        match self {
            Encapsulation::VcMultiplexed => cells_for(octets),
            Encapsulation::LlcSnap => cells_for(octets + LLC_SNAP_OCTETS as u32),
            Encapsulation::None => bare_cells(Bytes(octets as u64)).0 as u32,
        }
    }
}

/// The next hop of a cell: an entry of its link's channel table, indexed by the channel's queue at the port before the
/// link.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NextHop {
    /// Into queue `slot` of an output port.
    Forward { port: PortId, slot: u32 },
    /// The channel ends here: the cell goes to its reassembly.
    Reassemble(ChannelId),
}
