//! Buffers, nodes and links.

use cellway_settings::{section, settings, table};
use cellway_spec::{Ared, Codel, Drr, DualPi2, FqCodel, Pie, Prio, Red};
use cellway_units::{Bytes, CellRate, Probability, Rate, Span};

use crate::model::{
    BufferPer, Carrier, Charge, DirectionKeys, Discard, Fifo, Framing, HostKeys, NodeKind, Queue, QueueDiscipline,
    Sharing, TcpKeys,
};
use crate::quantity::{LineRate, Size};

table! {
    /// A node.
    pub(crate) struct NodeFile {
        /// Letters, digits, - and _; unique among nodes.
        name: String,
        /// The function of the node.
        kind: NodeKind,
        /// host: its speed. Default: no limit.
        host: Option<HostKeys>,
        /// gateway: the gateway at the other end, whose `peer` is this one. Required.
        peer: Option<String>,
        /// gateway: the transport to its peer. Required.
        gateway: Option<GatewayFile>,
        /// gateway: keys of [tcp] that differ at its ends of TCP connections.
        tcp: Option<TcpKeys>,
    }
}

table! {
    /// The carriage of bytes from a TCP gateway to its peer.
    pub(crate) struct GatewayFile {
        /// The maximum bytes in flight of one connection to the peer: from `packet` to a quarter of `total-buffer`.
        #[range(min = "1 B", max = "1024 GiB")]
        window: Bytes = Bytes(1 << 20),
        /// The memory for all connections. Each takes two windows, and half of the memory is for those opened from either side.
        #[range(min = "1 B", max = "1024 GiB")]
        total_buffer: Bytes = Bytes(1 << 30),
        /// The total rate to its peer, in cells of 53 octets: at most the rate of the link to it.
        #[range(above = "0 bit/s")]
        rate: CellRate,
        /// The carrier of packets to its peer, the same at both.
        transport: Carrier = Carrier::Ip,
        /// The maximum payload of one packet to the peer. With up to 43 B of headers (QUIC: 75) it must fit every link between them.
        #[range(min = "64 B")]
        packet: Bytes = Bytes(8 << 10),
        /// The largest rate of its processor, in bits of IP packets. Default: no limit.
        #[range(above = "0 bit/s")]
        cpu_rate: Option<Rate>,
        /// The time for each packet sent to a link.
        send: Span = Span::ZERO,
        /// The time for each packet received from a link.
        receive: Span = Span::ZERO,
    }
}

table! {
    /// A link. Its directions are the same but for the keys in `forward` and `back`.
    pub(crate) struct LinkFile {
        /// The name, unique among links. Default: "a-b" between a and b.
        name: Option<String>,
        /// The names of the two nodes.
        #[length(min = 2, max = 2)]
        between: Vec<String>,
        /// The rate in each direction, for cells or packets, or the name of a line.
        #[range(above = "0 bit/s")]
        rate: LineRate,
        /// The propagation delay of each direction.
        delay: Span,
        /// The framing. Default: by the name of the line; "atm" at a switch, and for a rate in cell/s; else "packet". For two
        /// routers with ATM cards, set "atm".
        framing: Option<Framing>,
        /// The largest IP packet, at least 68 B (RFC 791 section 3.2). Default: 4352 B on FDDI (RFC 1390), 9180 B on ATM (RFC 2225), else 1500 B.
        #[range(min = "68 B", max = "65535 B")]
        mtu: Option<Bytes>,
        /// The probability that a cell (on an ATM link), or else a packet, is lost after transmission.
        loss: Probability = Probability::ZERO,
        /// The cells (on an ATM link), or else the packets, to lose: their numbers, from 1 in the order of transmission,
        /// ascending.
        lost: Option<LostFile>,
        /// Bursts of losses, variation of the delay, outages and recordings in both directions; also rate, delay and loss, before
        /// those of the link.
        both: Option<DirectionKeys>,
        /// The keys that differ from the first node of `between` to the second.
        forward: Option<DirectionKeys>,
        /// The keys that differ from the second node of `between` to the first.
        back: Option<DirectionKeys>,
        /// Keys of [buffer] that differ for the two ports of this link.
        buffer: Option<BufferKeys>,
    }
}

table! {
    /// The numbers of the units that a link loses, in ascending order; the first that leaves the line has number 1.
    pub(crate) struct LostFile {
        /// From the first node of `between` to the second.
        #[range(min = 1)]
        forward: Option<Vec<u64>>,
        /// From the second node of `between` to the first.
        #[range(min = 1)]
        back: Option<Vec<u64>>,
    }
}

section! {
    /// The output buffers of routers, switches and gateways; `size` is needed. Hosts queue without limit, because TCP limits
    /// itself by its window. A link may have keys of its own; the others are those of [buffer].
    #[derive(Copy, Eq)]
    pub(crate) struct BufferFile, BufferKeys {
        /// The size; required in [buffer]. One bdp is rtt multiplied by the rate of the slowest link on the path of any group
        /// (without traffic, of any two hosts): one size for all ports. A cell is 53 bytes; bytes become whole cells, rounded
        /// down, where `count` is "cell".
        pub(crate) size: Size,
        /// The unit that has a buffer of this size.
        pub(crate) per: BufferPer = BufferPer::Conversation,
        /// The sharing of the buffer.
        pub(crate) sharing: Sharing = Sharing::Pool,
        /// The unit that is counted against it. Default: "cell" at an ATM link, else "packet". Ports to the hosts of slots count
        /// cells if any port without a buffer of its own may hold some.
        pub(crate) count: Option<Charge>,
        /// The unit that a full buffer of an ATM link drops.
        pub(crate) discard: Discard = Discard::Frame,
        /// The occupancy from which "epd" refuses new frames, at most `size`. Required with "epd", else refused.
        pub(crate) threshold: Option<Size>,
        /// The occupancy from which cells of low priority (CLP = 1) are refused, at most `size`. Default: no such limit.
        pub(crate) clp_threshold: Option<Size>,
        /// The discipline of packet queues. Cell queues have that of `multiplexing.server`.
        pub(crate) queue: QueueDiscipline = QueueDiscipline::Fifo,
        /// The parameters of "fifo".
        pub(crate) fifo: Fifo,
        /// The parameters of "red".
        pub(crate) red: Red,
        /// The parameters of "ared".
        pub(crate) ared: Ared,
        /// The parameters of "codel".
        pub(crate) codel: Codel,
        /// The parameters of "fq-codel".
        pub(crate) fq_codel: FqCodel,
        /// The parameters of "pie".
        pub(crate) pie: Pie,
        /// The parameters of "dualpi2".
        pub(crate) dualpi2: DualPi2,
        /// The parameters of "drr".
        pub(crate) drr: Drr,
        /// The parameters of "prio".
        pub(crate) prio: Prio,
    }
}
settings!(Size);

impl BufferFile {
    /// Returns the queue discipline with its parameters.
    pub(crate) fn discipline(&self) -> Queue {
        match self.queue {
            QueueDiscipline::Fifo => Queue::Fifo(self.fifo),
            QueueDiscipline::Red => Queue::Red(self.red),
            QueueDiscipline::Codel => Queue::Codel(self.codel),
            QueueDiscipline::Ared => Queue::Ared(self.ared),
            QueueDiscipline::FqCodel => Queue::FqCodel(self.fq_codel),
            QueueDiscipline::Pie => Queue::Pie(self.pie),
            QueueDiscipline::DualPi2 => Queue::DualPi2(self.dualpi2),
            QueueDiscipline::Drr => Queue::Drr(self.drr),
            QueueDiscipline::Prio => Queue::Prio(self.prio),
        }
    }
}
