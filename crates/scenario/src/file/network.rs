//! Buffers, nodes and links.

use cellway_settings::{section, settings};
use cellway_units::{Bytes, CellRate, Probability, Rate, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::model::{
    BufferPer, Charge, Discard, Framing, HostKeys, NodeKind, QueueDiscipline, Red, Sharing, TcpKeys, Transport,
};
use crate::quantity::{LineRate, Quantity, Size};

/// A node.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct NodeFile {
    /// Letters, digits, - and _; unique among nodes.
    #[schemars(required)]
    pub(crate) name: Option<String>,
    /// What it does.
    #[schemars(required)]
    pub(crate) kind: Option<NodeKind>,
    /// host: what its machine costs. Default: no limit.
    pub(crate) host: Option<HostKeys>,
    /// gateway: the gateway at the other side, whose `peer` is this one; required.
    pub(crate) peer: Option<String>,
    /// gateway: how it carries bytes to its peer; required.
    pub(crate) gateway: Option<GatewayFile>,
    /// gateway: keys of [tcp] that differ at its own ends of TCP connections.
    pub(crate) tcp: Option<TcpKeys>,
}

/// How a TCP gateway carries bytes to its peer.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct GatewayFile {
    /// Most bytes of one connection that are under way to the peer; at least `packet`, at most `total-buffer` / 4.
    #[schemars(extend("default" = "1 MiB"), extend("x-minimum" = "1 B"), extend("x-maximum" = "1024 GiB"))]
    pub(crate) window: Option<Quantity<Bytes>>,
    /// Memory for all connections: four windows for each, half of them for connections opened at the other side.
    #[schemars(extend("default" = "1 GiB"), extend("x-minimum" = "1 B"), extend("x-maximum" = "1024 GiB"))]
    pub(crate) total_buffer: Option<Quantity<Bytes>>,
    /// What it sends to its peer in all, as cells of 53 octets.
    #[schemars(required, extend("x-above" = "0 bit/s"))]
    pub(crate) rate: Option<Quantity<CellRate>>,
    /// What carries packets to its peer, the same at both: IP packets of the gateways' own, or QUIC.
    #[schemars(extend("default" = "ip"))]
    pub(crate) transport: Option<Transport>,
    /// Most payload of one packet to the peer, at least 64 B; the packet has up to 43 bytes of headers more, with QUIC 75.
    #[schemars(extend("default" = "8 KiB"), extend("x-minimum" = "64 B"))]
    pub(crate) packet: Option<Quantity<Bytes>>,
    /// The largest rate of its processor, in bits of IP packets. Default: no limit.
    #[schemars(extend("x-above" = "0 bit/s"))]
    pub(crate) cpu_rate: Option<Quantity<Rate>>,
    /// Time spent on each packet given to a line.
    #[schemars(extend("default" = "0 s"))]
    pub(crate) send: Option<Quantity<Span>>,
    /// Time spent on each packet taken from a line.
    #[schemars(extend("default" = "0 s"))]
    pub(crate) receive: Option<Quantity<Span>>,
}

/// A link, the same in both directions.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LinkFile {
    /// Unique among links. Default: "a-b" for a link between a and b.
    pub(crate) name: Option<String>,
    /// The names of the two nodes.
    #[schemars(required, length(min = 2, max = 2))]
    pub(crate) between: Option<Vec<String>>,
    /// The rate of each direction, as available to cells or packets, or the name of a line.
    #[schemars(required, extend("x-above" = "0 bit/s"))]
    pub(crate) rate: Option<Quantity<LineRate>>,
    /// The propagation delay of each direction.
    #[schemars(required)]
    pub(crate) delay: Option<Quantity<Span>>,
    /// The framing. Default: by the name of the line, and "atm" at a switch or for a rate in cell/s; else "packet",
    /// also between routers: for ATM cards there say "atm".
    pub(crate) framing: Option<Framing>,
    /// The largest IP packet, at least 68 B (RFC 791 section 3.2). Default: 4352 B on FDDI (RFC 1390), 9180 B on ATM (RFC 2225), else 1500 B.
    #[schemars(extend("x-minimum" = "68 B"), extend("x-maximum" = "65535 B"))]
    pub(crate) mtu: Option<Quantity<Bytes>>,
    /// The chance that a cell (on an ATM link), or else a packet, is lost after it has left the line, in each direction.
    #[schemars(extend("default" = "0%"))]
    pub(crate) loss: Option<Quantity<Probability>>,
    /// The cells (on an ATM link), or else the packets, that are lost, by their numbers in the order in which they leave
    /// the line. Default: none.
    pub(crate) lost: Option<LostFile>,
    /// Keys of [buffer] that differ for the two ports of this link.
    pub(crate) buffer: Option<BufferKeys>,
}

/// The numbers of the units that a link loses, in ascending order; the first that leaves the line has number 1.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LostFile {
    /// Of those from the first node of `between` to the second. Default: none.
    #[schemars(inner(range(min = 1)))]
    pub(crate) forward: Option<Vec<u64>>,
    /// Of those from the second node of `between` to the first. Default: none.
    #[schemars(inner(range(min = 1)))]
    pub(crate) back: Option<Vec<u64>>,
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
        /// What the size is meant for.
        pub(crate) per: BufferPer = BufferPer::Conversation,
        /// Who may fill which part of it.
        pub(crate) sharing: Sharing = Sharing::Pool,
        /// What fills it.
        pub(crate) count: Charge = Charge::Cell,
        /// What is dropped when it is full. "frame": at a router the whole packet, at a switch single cells; "cell": single
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
settings!(quantity: Size);
