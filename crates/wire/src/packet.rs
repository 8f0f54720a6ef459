//! IP packets with a TCP segment, made from the fields of a simulated segment; [`super::packet_v6`] has those of IPv6.

use std::net::{Ipv4Addr, Ipv6Addr};

use cellway_units::Ecn;
use etherparse::{IpEcn, IpFragOffset, IpNumber, Ipv4Header, Ipv4Slice, TcpHeader, TcpSlice};

use crate::ip::checksum::{checksum, updated};
use crate::tcp_options::TcpOptions;

/// Octets of an IPv4 header without options. RFC 791.
const IP_HEADER: usize = 20;
/// The flags of a segment. RFC 9293, section 3.1; RFC 3168 and RFC 9768 for the last three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "they have the names of the RFC")]
pub struct TcpFlags {
    pub fin: bool,
    pub syn: bool,
    pub rst: bool,
    pub psh: bool,
    pub ack: bool,
    pub urg: bool,
    pub ece: bool,
    pub cwr: bool,
    pub ae: bool,
}

/// An IPv4 packet with a TCP segment.
pub type Ipv4Tcp = IpTcp<Ipv4Addr>;
/// An IPv6 packet with a TCP segment.
pub type Ipv6Tcp = IpTcp<Ipv6Addr>;

/// An IP packet with a TCP segment, between addresses of one version of IP. Its payload is the fixed stream of
/// [`payload_octet`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IpTcp<A> {
    /// Source address.
    pub source: A,
    /// Destination address.
    pub destination: A,
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// IP identification; only fragments have one in IPv6, where it is not written.
    pub identification: u16,
    /// Time to live, in hops; the hop limit of IPv6.
    pub ttl: u8,
    /// The ECN field.
    pub ecn: Ecn,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number; counts only with the ACK flag.
    pub ack: u32,
    /// Flags.
    pub flags: TcpFlags,
    /// The window field, not scaled.
    pub window: u16,
    /// Options.
    pub options: TcpOptions,
    /// Octets of payload.
    pub payload_len: u32,
}

/// The error for a packet that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PacketError {
    /// It exceeds the 16-bit length of IPv4, which is the limit for IPv6 too.
    #[error("a packet of {len} octets is too long for IP, which takes at most 65535")]
    TooLong {
        /// Octets of the packet.
        len: usize,
    },
    /// More than the 40 octets of options that fit a TCP header.
    #[error("the TCP options do not fit into the 40 octets that there are for them: {options:?}")]
    Options {
        /// The options.
        options: TcpOptions,
    },
    /// Octets that are no unfragmented IPv4 packet with a TCP segment, or have an option that is not supported.
    #[error("no IPv4 packet with a TCP segment: {reason}")]
    Malformed {
        /// The problem.
        reason: String,
    },
    /// A checksum does not match.
    #[error("the {layer} checksum is {found:#06x}; the packet gives {computed:#06x}")]
    Checksum {
        /// `IPv4` or `TCP`.
        layer: &'static str,
        /// The checksum in the header.
        found: u16,
        /// The correct checksum.
        computed: u16,
    },
}

/// Returns the octet at sequence number `seq` of every stream. A simulation counts octets and has none; this one
/// depends on the sequence number alone, so that a retransmission has the octets of the first transmission.
pub const fn payload_octet(seq: u32) -> u8 {
    b"cellway\n"[seq as usize % 8]
}

pub(crate) fn malformed(reason: impl ToString) -> PacketError {
    PacketError::Malformed { reason: reason.to_string() }
}

impl<A> IpTcp<A> {
    /// Returns the packet with other addresses, which follow from these.
    pub fn between<B>(self, address: impl Fn(A) -> B) -> IpTcp<B> {
        let IpTcp { source, destination, source_port, destination_port, identification, ttl, ecn, .. } = self;
        let IpTcp { seq, ack, flags, window, options, payload_len, .. } = self;
        let (source, destination) = (address(source), address(destination));
        IpTcp {
            source,
            destination,
            source_port,
            destination_port,
            identification,
            ttl,
            ecn,
            seq,
            ack,
            flags,
            window,
            options,
            payload_len,
        }
    }

    /// Returns the TCP header, without its checksum, and the payload of a packet whose IP header has `ip_header` octets.
    pub(crate) fn segment(&self, ip_header: usize) -> Result<(TcpHeader, Vec<u8>), PacketError> {
        let TcpFlags { fin, syn, rst, psh, ack, urg, ece, cwr, ae } = self.flags;
        let mut tcp = TcpHeader {
            acknowledgment_number: self.ack,
            fin,
            syn,
            rst,
            psh,
            ack,
            urg,
            ece,
            cwr,
            // The name of the bit in RFC 3540.
            ns: ae,
            ..TcpHeader::new(self.source_port, self.destination_port, self.seq, self.window)
        };
        let bad_options = || PacketError::Options { options: self.options.clone() };
        let octets = self.options.octets().ok_or_else(bad_options)?;
        tcp.set_options_raw(&octets).map_err(|_| bad_options())?;
        let len = (ip_header + tcp.header_len()).saturating_add(self.payload_len as usize);
        if len > usize::from(u16::MAX) {
            return Err(PacketError::TooLong { len });
        }
        Ok((tcp, (0..self.payload_len).map(|i| payload_octet(self.seq.wrapping_add(i))).collect()))
    }
}

impl Ipv4Tcp {
    /// Returns the octets of the packet, with correct checksums.
    pub fn octets(&self) -> Result<Vec<u8>, PacketError> {
        let (mut tcp, payload) = self.segment(IP_HEADER)?;
        let segment = (tcp.header_len() + payload.len()) as u16;
        let (from, to) = (self.source.octets(), self.destination.octets());
        let mut ip = Ipv4Header::new(segment, self.ttl, IpNumber::TCP, from, to).map_err(malformed)?;
        ip.identification = self.identification;
        ip.dont_fragment = true;
        ip.ecn = match self.ecn {
            Ecn::NotEct => IpEcn::ZERO,
            Ecn::Ect1 => IpEcn::ONE,
            Ecn::Ect0 => IpEcn::TWO,
            Ecn::Ce => IpEcn::THREE,
        };
        ip.header_checksum = ip.calc_header_checksum();
        tcp.checksum = tcp.calc_checksum_ipv4_raw(from, to, &payload).map_err(malformed)?;

        Ok([&ip.to_bytes()[..], &tcp.to_bytes(), &payload].concat())
    }

    /// Parses a packet and checks both checksums. Also returns its payload.
    pub fn parse(packet: &[u8]) -> Result<(Ipv4Tcp, &[u8]), PacketError> {
        let whole = Ipv4Slice::from_slice(packet).map_err(malformed)?;
        let ip = whole.header().to_header();
        if ip.protocol != IpNumber::TCP || ip.more_fragments || ip.fragment_offset != IpFragOffset::ZERO {
            return Err(malformed("it is a fragment, or no TCP"));
        }
        let check = |layer, found, computed| {
            if found == computed { Ok(()) } else { Err(PacketError::Checksum { layer, found, computed }) }
        };
        // The sum is over the octets as received: `ip` lacks the reserved bit, so a sum over its fields would miss it.
        let whole_header = checksum(whole.header().slice());
        check("IPv4", ip.header_checksum, updated(whole_header, ip.header_checksum, 0))?;
        let tcp = TcpSlice::from_slice(whole.payload().payload).map_err(malformed)?;
        let computed = tcp.calc_checksum_ipv4(ip.source, ip.destination).map_err(malformed)?;
        check("TCP", tcp.checksum(), computed)?;
        let flags = TcpFlags {
            fin: tcp.fin(),
            syn: tcp.syn(),
            rst: tcp.rst(),
            psh: tcp.psh(),
            ack: tcp.ack(),
            urg: tcp.urg(),
            ece: tcp.ece(),
            cwr: tcp.cwr(),
            ae: tcp.ns(),
        };
        let parsed = Ipv4Tcp {
            source: ip.source.into(),
            destination: ip.destination.into(),
            source_port: tcp.source_port(),
            destination_port: tcp.destination_port(),
            identification: ip.identification,
            ttl: ip.time_to_live,
            ecn: Ecn::from_traffic_class(packet[1]),
            seq: tcp.sequence_number(),
            ack: tcp.acknowledgment_number(),
            flags,
            window: tcp.window_size(),
            options: TcpOptions::parse(tcp.options())?,
            payload_len: tcp.payload().len() as u32,
        };
        Ok((parsed, tcp.payload()))
    }
}
