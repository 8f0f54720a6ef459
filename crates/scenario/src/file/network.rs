//! Buffers, nodes and links.

use cellway_settings::{section, settings, table};
use cellway_units::{Bytes, CellRate, Probability, Rate, Span};

use crate::model::{
    BufferPer, Carrier, Charge, Discard, Framing, HostKeys, NodeKind, QueueDiscipline, Red, Sharing, TcpKeys,
};
use crate::quantity::{LineRate, Size};

table! {
    /// A node.
    pub(crate) struct NodeFile {
        /// Letters, digits, - and _; unique among nodes.
        name: String,
        /// Its function.
        kind: NodeKind,
        /// host: what its machine costs. Default: no limit.
        host: Option<HostKeys>,
        /// gateway: the gateway at the other side, whose `peer` is this one; required.
        peer: Option<String>,
        /// gateway: how it carries bytes to its peer; required.
        gateway: Option<GatewayFile>,
        /// gateway: keys of [tcp] that differ at its own ends of TCP connections.
        tcp: Option<TcpKeys>,
    }
}

table! {
    /// The carriage of bytes from a TCP gateway to its peer.
    pub(crate) struct GatewayFile {
        /// Most bytes of one connection that are under way to the peer; at least `packet`, at most `total-buffer` / 4.
        #[range(min = "1 B", max = "1024 GiB")]
        window: Bytes = Bytes(1 << 20),
        /// Memory for all connections: four windows for each, half of them for connections opened at the other side.
        #[range(min = "1 B", max = "1024 GiB")]
        total_buffer: Bytes = Bytes(1 << 30),
        /// The largest rate to its peer in all, as cells of 53 octets.
        #[range(above = "0 bit/s")]
        rate: CellRate,
        /// The carrier of packets to its peer, the same at both: IP packets of the gateways' own, or QUIC.
        transport: Carrier = Carrier::Ip,
        /// Most payload of one packet to the peer, at least 64 B; the packet has up to 43 bytes of headers more, with QUIC 75.
        #[range(min = "64 B")]
        packet: Bytes = Bytes(8 << 10),
        /// The largest rate of its processor, in bits of IP packets. Default: no limit.
        #[range(above = "0 bit/s")]
        cpu_rate: Option<Rate>,
        /// Time spent on each packet given to a line.
        send: Span = Span::ZERO,
        /// Time spent on each packet taken from a line.
        receive: Span = Span::ZERO,
    }
}

table! {
    /// A link, the same in both directions.
    pub(crate) struct LinkFile {
        /// Unique among links. Default: "a-b" for a link between a and b.
        name: Option<String>,
        /// The names of the two nodes.
        #[length(min = 2, max = 2)]
        between: Vec<String>,
        /// The rate of each direction, as available to cells or packets, or the name of a line.
        #[range(above = "0 bit/s")]
        rate: LineRate,
        /// The propagation delay of each direction.
        delay: Span,
        /// The framing. Default: by the name of the line, and "atm" at a switch or for a rate in cell/s; else "packet",
        /// also between routers: for ATM cards there say "atm".
        framing: Option<Framing>,
        /// The largest IP packet, at least 68 B (RFC 791 section 3.2). Default: 4352 B on FDDI (RFC 1390), 9180 B on ATM (RFC 2225), else 1500 B.
        #[range(min = "68 B", max = "65535 B")]
        mtu: Option<Bytes>,
        /// The chance that a cell (on an ATM link), or else a packet, is lost after it has left the line, in each direction.
        loss: Probability = Probability::ZERO,
        /// The cells (on an ATM link), or else the packets, that are lost, by their numbers in the order in which they leave
        /// the line. Default: none.
        lost: Option<LostFile>,
        /// Keys of [buffer] that differ for the two ports of this link.
        buffer: Option<BufferKeys>,
    }
}

table! {
    /// The numbers of the units that a link loses, in ascending order; the first that leaves the line has number 1.
    pub(crate) struct LostFile {
        /// Of those from the first node of `between` to the second. Default: none.
        #[range(min = 1)]
        forward: Option<Vec<u64>>,
        /// Of those from the second node of `between` to the first. Default: none.
        #[range(min = 1)]
        back: Option<Vec<u64>>,
    }
}

section! {
    /// The output buffers of routers, switches and gateways. Hosts queue without limit: TCP windows bound them. A link may
    /// give keys that differ for its two ports; the others are as in [buffer].
    #[derive(Copy, Eq)]
    pub(crate) struct BufferFile, BufferKeys {
        /// The size, in cells, bytes, or bandwidth-delay products; required in [buffer]. One bdp is the rate of the slowest
        /// link on the path of any traffic group (without traffic, on any path between hosts), times
        /// rtt: one size for all ports, also where groups take several paths. Bytes and cells are converted at 53 bytes a cell, rounded down.
        pub(crate) size: Size,
        /// The scope of the size.
        pub(crate) per: BufferPer = BufferPer::Conversation,
        /// The sharing of it among channels.
        pub(crate) sharing: Sharing = Sharing::Pool,
        /// The unit that is counted against it.
        pub(crate) count: Charge = Charge::Cell,
        /// The unit that is dropped when it is full. "frame": at a router the whole packet, at a switch single cells; "cell": single
        /// cells; "ppd": as frame, and after a lost cell a switch drops the rest of the frame but its last cell; "epd": as
        /// ppd, and frames that begin while it is filled to `threshold` are refused whole.
        pub(crate) discard: Discard = Discard::Frame,
        /// The occupancy from which "epd" refuses new frames, at most `size`; only for that.
        pub(crate) threshold: Option<Size>,
        /// The occupancy from which cells of low priority (CLP = 1) are refused, at most `size`. Default: no such limit.
        pub(crate) clp_threshold: Option<Size>,
        /// The discipline of packet queues; cell queues have that of `multiplexing.server`.
        pub(crate) queue: QueueDiscipline = QueueDiscipline::Fifo,
        /// The parameters of "red"; only for that.
        pub(crate) red: Red,
    }
}
settings!(Size);
