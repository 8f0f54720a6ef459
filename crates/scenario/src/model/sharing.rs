//! How conversations share lines and buffers.

use cellway_units::{Bytes, Cells, LLC_SNAP_OCTETS, aal5_cells, bare_cells};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The mapping of conversations to channels, and of packets to cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiplexing {
    /// Which conversations share a channel.
    pub channel: Channel,
    /// The order in which the channels of an ATM line are served.
    pub server: Server,
    /// The encapsulation of a packet before it is cut into cells.
    pub encapsulation: Encapsulation,
}

/// Which conversations between the same two routers share a channel, and so a cell queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// Each conversation has its own.
    PerConversation,
    /// Conversations of one application type share one.
    PerType,
    /// All conversations share one.
    PerDestination,
}

/// The order in which an ATM line serves the cells of its channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Server {
    /// Each channel has a queue; those that hold a cell are served in turn, cell by cell.
    RoundRobin,
    /// All channels are one queue, first in first out.
    Fifo,
}

/// The mapping of an IP packet to cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Encapsulation {
    /// An AAL5 frame; the channel itself says that it carries IP (RFC 2684).
    VcMux,
    /// An AAL5 frame with an LLC/SNAP header of 8 bytes (RFC 2684).
    LlcSnap,
    /// No AAL5 and no other adaptation layer: the packet is cut into cells of 48 bytes as it is.
    None,
}

impl Encapsulation {
    /// The cells of a packet.
    pub const fn cells(self, packet: Bytes) -> Cells {
        match self {
            Encapsulation::VcMux => aal5_cells(packet),
            Encapsulation::LlcSnap => aal5_cells(Bytes(packet.0.saturating_add(LLC_SNAP_OCTETS))),
            Encapsulation::None => bare_cells(packet),
        }
    }
}

/// The output buffers of routers, switches and gateways. Hosts queue without limit: TCP windows bound them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The size, resolved: [`BufferSize::Cells`] when cells are counted, [`BufferSize::Bytes`]
    /// when packets are. Never zero.
    pub size: BufferSize,
    /// What `size` is meant for.
    pub per: BufferPer,
    /// Who may fill what.
    pub sharing: BufferSharing,
    /// What fills it. Agrees with the variant of `size`.
    pub count: BufferCount,
    /// What is dropped when it is full.
    pub discard: Discard,
    /// The occupancy at and above which [`Discard::Epd`] refuses new frames, counted as `size` is and at most that;
    /// present if that is what is done.
    pub threshold: Option<BufferSize>,
    /// The occupancy at and above which cells of low priority (CLP = 1) are refused, counted as `size` is and at most
    /// that.
    pub clp_threshold: Option<BufferSize>,
}

/// A buffer size in what fills the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferSize {
    /// Whole cells.
    Cells(Cells),
    /// Bytes of IP packets.
    Bytes(Bytes),
}

/// What a buffer size is meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferPer {
    /// For each conversation slot whose path uses the port: the port has size × slots.
    Conversation,
    /// For the whole port.
    Port,
}

/// Who may fill which part of a port's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferSharing {
    /// One pool per output port.
    Pool,
    /// Each channel has the share of its conversations.
    Channel,
    /// Each conversation has its own limit, even inside a shared queue.
    Conversation,
}

/// What fills a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferCount {
    /// Whole cells.
    Cell,
    /// Bytes of IP packets.
    Packet,
}

/// What is dropped when a buffer is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Discard {
    /// At a router the whole packet if its cells do not all fit, at a switch single cells.
    Frame,
    /// The cells that do not fit.
    Cell,
    /// As frame; after a lost cell a switch drops the rest of the frame but its last cell.
    Ppd,
    /// As ppd; a frame whose first cell comes while the buffer is filled to its threshold is refused whole.
    Epd,
}
