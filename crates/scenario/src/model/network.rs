//! Nodes and links.

use std::sync::Arc;

use cellway_settings::{choice, section};
use cellway_spec::{Framing, NodeKind};
use cellway_units::{Bytes, Probability, Rate, Span};

use crate::model::{Buffer, Direction, NodeIndex, TcpKeys};
use crate::trace::LinkTrace;

/// A node that the file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Unique among nodes: letters, digits, `-` and `_`.
    pub name: String,
    /// Its function.
    pub kind: NodeKind,
    /// The limits and costs of a host; no limit for other nodes.
    pub host: HostSpec,
    /// Present exactly for a gateway.
    pub gateway: Option<GatewaySpec>,
}

section! {
    /// The speed of a host, apart from its link.
    #[derive(Copy, Eq)]
    pub struct HostSpec, HostKeys {
        /// The largest rate between memory and network card, in bits of IP packets. Default: no limit.
        #[range(above = "0 bit/s")]
        pub rate: Option<Rate>,
        /// The time for each packet sent.
        pub send: Span = Span::ZERO,
        /// The time for each packet received.
        pub receive: Span = Span::ZERO,
    }
}

impl Default for HostSpec {
    /// A machine that costs nothing.
    fn default() -> HostSpec {
        HostSpec { rate: None, send: Span::ZERO, receive: Span::ZERO }
    }
}

choice! {
    /// The carrier of packets between gateways.
    pub enum Carrier {
        /// IPv4 packets of protocol 253 (RFC 3692).
        Ip = "ip",
        /// DATAGRAM frames of QUIC over UDP (RFC 9221).
        Quic = "quic",
    }
}

impl Carrier {
    /// Most headers of a packet with data, in octets: 21 of the gateways' own, and what carries them over IPv4.
    pub const fn header_octets(self) -> u64 {
        match self {
            Carrier::Ip => 22 + 21,
            Carrier::Quic => 54 + 21,
        }
    }
}

/// A TCP gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewaySpec {
    /// The gateway at the other side, whose peer is this one.
    pub peer: NodeIndex,
    /// Most bytes of one connection that are under way to the peer. At least one packet.
    pub window: Bytes,
    /// Memory for all connections, of which each takes two windows; half is for those that hosts here open, half for
    /// those that the peer's open. Holds one of each at least.
    pub total_buffer: Bytes,
    /// The largest rate to its peer in all, in bit/s of whole cells. Never zero.
    pub rate: Rate,
    /// Most payload of one packet to the peer; with its headers it fits every link between the two.
    pub packet: Bytes,
    /// The carrier of the packets; the same at the peer.
    pub transport: Carrier,
    /// The costs of each packet taken from or given to a line; `rate` is that of its processor.
    pub host: HostSpec,
    /// Keys of TCP that differ at its own ends; merged in `TcpTraffic::gateway_tcp`.
    pub tcp: TcpKeys,
}

impl GatewaySpec {
    /// The largest packet to the peer, with its headers.
    pub fn packet_octets(&self) -> u64 {
        self.packet.0 + self.transport.header_octets()
    }
}

/// A link. Its directions are 0, from `a` to `b`, and 1, from `b` to `a`.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Unique among links; "a-b" unless the file names it.
    pub name: String,
    /// The first end.
    pub a: NodeIndex,
    /// The other end.
    pub b: NodeIndex,
    /// The rate of a direction that has none of its own. Never zero.
    pub rate: Rate,
    /// The propagation delay of a direction that has none of its own.
    pub delay: Span,
    /// Its framing.
    pub framing: Framing,
    /// The largest IP packet.
    pub mtu: Bytes,
    /// The chance that a cell, or a packet where it carries those, is lost after it has left the line; of a direction that
    /// has none of its own.
    pub loss: Probability,
    /// The keys of each direction.
    pub directions: [Direction; 2],
    /// The content of the files that `directions` name, once they have been read. This crate reads no files.
    pub traces: [Option<Arc<LinkTrace>>; 2],
    /// The numbers of the cells or packets that are lost, ascending, in the directions a to b and b to a; the first that
    /// leaves the line has number 1.
    pub lost: [Vec<u64>; 2],
    /// The output buffer of each end that is no host.
    pub buffer: Buffer,
}

impl Link {
    /// Returns the rate of a direction when its recording, if it has one, is not counted.
    pub fn rate_of(&self, direction: usize) -> Rate {
        self.directions[direction].rate.unwrap_or(self.rate)
    }

    /// Returns the propagation delay of a direction without its variation.
    pub fn delay_of(&self, direction: usize) -> Span {
        self.directions[direction].delay.unwrap_or(self.delay)
    }

    /// Returns half of the propagation round trip.
    pub fn mean_delay(&self) -> Span {
        let [there, back] = [0, 1].map(|direction| self.delay_of(direction).as_ps());
        Span::from_ps(there.midpoint(back))
    }

    /// Returns the chance that a unit is lost in a direction.
    pub fn loss_of(&self, direction: usize) -> Probability {
        self.directions[direction].loss.unwrap_or(self.loss)
    }

    /// Returns true if rate or delay of a direction vary.
    pub fn varies(&self) -> bool {
        self.directions.iter().any(Direction::varies)
    }
}

/// The link between an implicit host and its router, switch or gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The rate of each direction. Never zero.
    pub rate: Rate,
    /// The propagation delay of each direction.
    pub delay: Span,
    /// Its framing.
    pub framing: Framing,
    /// The largest IP packet.
    pub mtu: Bytes,
    /// The chance that a cell or packet is lost on it, as for [`Link::loss`].
    pub loss: Probability,
}
