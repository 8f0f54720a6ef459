//! Channels: fixed paths between two nodes that handle packets, each with its own cell queue at every line.

use cellway_spec::Multiplexing;

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

/// Returns the number of the conversations that share a channel between one pair of routers; `None` if none does.
pub(crate) const fn key(multiplexing: Multiplexing, kind: u32) -> Option<u32> {
    match multiplexing {
        Multiplexing::PerConversation => None,
        Multiplexing::PerType => Some(kind),
        Multiplexing::PerDestination => Some(0),
    }
}

/// The next hop of a cell: an entry of its link's channel table, indexed by the channel's queue at the port before the
/// link.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NextHop {
    /// Into queue `slot` of an output port.
    Forward { port: PortId, slot: u32 },
    /// The channel ends here: the cell is reassembled.
    Reassemble(ChannelId),
}

impl NextHop {
    /// Returns the port and its queue to which the cell goes on.
    pub(crate) fn forward(self) -> Option<(PortId, u32)> {
        match self {
            NextHop::Forward { port, slot } => Some((port, slot)),
            NextHop::Reassemble(_) => None,
        }
    }
}
