//! Sharing of lines and buffers.

use cellway_settings::section;
use cellway_spec::{BufferPer, Charge, Discard, Discipline, Encapsulation, Multiplexing, Queue, Sharing};
use cellway_units::{Bits, Bytes, Cells};

section! {
    /// The mapping of conversations to channels, and of packets to cells.
    #[derive(Copy, Eq)]
    pub struct MultiplexingSpec, MultiplexingKeys {
        /// Which conversations between the same two routers share a channel, and so a cell queue.
        pub channel: Multiplexing = Multiplexing::PerConversation,
        /// The order in which the channels of an ATM line are served.
        pub server: Discipline = Discipline::RoundRobin,
        /// The encapsulation of a packet before it is cut into cells.
        pub encapsulation: Encapsulation = Encapsulation::VcMux,
    }
}

/// The output buffers of routers, switches and gateways. Hosts queue without limit: TCP windows bound them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The size, resolved: [`BufferSize::Cells`] when cells are counted, [`BufferSize::Bytes`]
    /// when packets are. Never zero.
    pub size: BufferSize,
    /// The scope of `size`.
    pub per: BufferPer,
    /// The sharing of it among channels.
    pub sharing: Sharing,
    /// The unit that is counted. Agrees with the variant of `size`.
    pub count: Charge,
    /// The unit that is dropped when it is full.
    pub discard: Discard,
    /// The occupancy at and above which [`Discard::Epd`] refuses new frames, counted as `size` is and at most that;
    /// present if that is what is done.
    pub threshold: Option<BufferSize>,
    /// The occupancy at and above which cells of low priority (CLP = 1) are refused, counted as `size` is and at most
    /// that.
    pub clp_threshold: Option<BufferSize>,
    /// The discipline of packet queues.
    pub queue: Queue,
}

/// A buffer size in what fills the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferSize {
    /// Whole cells.
    Cells(Cells),
    /// Bytes of IP packets.
    Bytes(Bytes),
}

impl BufferSize {
    /// Returns its bits: those of whole cells, or of packets.
    pub const fn bits(self) -> Bits {
        match self {
            BufferSize::Cells(cells) => cells.bits(),
            BufferSize::Bytes(bytes) => Bits(bytes.0.saturating_mul(8)),
        }
    }
}
