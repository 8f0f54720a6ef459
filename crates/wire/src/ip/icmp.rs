//! ICMP errors that a router sends about a packet that it cannot forward.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::checksum::{Sum, checksum};
use super::flow::is_icmp_error;
use super::packet::{IPV4_HEADER, IPV6_HEADER};
use super::{Packet, protocol};

/// The largest ICMPv4 error: it quotes what fits. RFC 1812, section 4.3.2.3.
const LARGEST_V4: usize = 576;
/// The largest ICMPv6 error, the least MTU of IPv6. RFC 4443, section 2.4 (c).
const LARGEST_V6: usize = 1280;
/// Octets of an ICMP error before the quote.
const ICMP_HEADER: usize = 8;
/// Time to live of what a router sends. RFC 1700.
const TTL: u8 = 64;
/// Precedence "internetwork control". RFC 1812, section 4.3.2.5.
const CONTROL: u8 = 0xc0;

/// The reason for which a packet is not forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// It is larger than the MTU of the next network and must not be fragmented. RFC 1191, section 4; RFC 4443, section
    /// 3.2.
    TooBig {
        /// The MTU of the next network, in octets.
        mtu: u32,
    },
    /// Its time to live has expired. RFC 792; RFC 4443, section 3.3.
    TimeExceeded,
    /// There is no route to its destination. RFC 792; RFC 4443, section 3.1.
    NetUnreachable,
    /// The destination cannot be reached on its own network. RFC 792; RFC 4443, section 3.1.
    HostUnreachable,
}

impl Trouble {
    /// Returns type, code and the four octets after the checksum.
    fn v4(self) -> (u8, u8, u32) {
        match self {
            Trouble::TooBig { mtu } => (3, 4, mtu.min(u16::MAX.into())),
            Trouble::TimeExceeded => (11, 0, 0),
            Trouble::NetUnreachable => (3, 0, 0),
            Trouble::HostUnreachable => (3, 1, 0),
        }
    }
    fn v6(self) -> (u8, u8, u32) {
        match self {
            Trouble::TooBig { mtu } => (2, 0, mtu),
            Trouble::TimeExceeded => (3, 0, 0),
            Trouble::NetUnreachable => (1, 0, 0),
            Trouble::HostUnreachable => (1, 3, 0),
        }
    }
}

/// Returns the ICMP error that a router with the address `router` sends to the source of `packet`.
///
/// `None` if an error is forbidden: in answer to an ICMP error, a redirect or a fragment other than the first; to a
/// source that is no single host; about a packet to many hosts, but for an IPv6 packet that is too big. RFC 1122,
/// section 3.2.2; RFC 1812, section 4.3.2.7; RFC 4443, section 2.4 (e). Also `None` if `router` has an address of the
/// other IP version.
pub fn icmp_error(trouble: Trouble, router: IpAddr, packet: &Packet<'_>) -> Option<Vec<u8>> {
    if !packet.is_first() || is_icmp_error(packet) {
        return None;
    }
    match (router, packet.source(), packet.destination()) {
        (IpAddr::V4(router), IpAddr::V4(source), IpAddr::V4(destination)) => {
            let one = single_v4(source) && !destination.is_multicast() && !destination.is_broadcast();
            one.then(|| error_v4(trouble, router, source, packet.octets()))
        }
        (IpAddr::V6(router), IpAddr::V6(source), IpAddr::V6(destination)) => {
            let redirect = packet.protocol() == protocol::ICMPV6 && packet.payload().first() == Some(&137);
            let many = destination.is_multicast() && !matches!(trouble, Trouble::TooBig { .. });
            let silent = redirect || many || source.is_unspecified() || source.is_multicast() || source.is_loopback();
            (!silent).then(|| error_v6(trouble, router, source, packet.octets()))
        }
        _ => None,
    }
}

/// Returns true if the address is that of one host: not of "this" network, loopback, multicast or class E with
/// broadcast.
fn single_v4(address: Ipv4Addr) -> bool {
    let first = address.octets()[0];
    first != 0 && first < 224 && !address.is_loopback()
}

/// Type, code, a checksum of zero, and the word after it.
fn header((kind, code, word): (u8, u8, u32)) -> [u8; ICMP_HEADER] {
    let [a, b, c, d] = word.to_be_bytes();
    [kind, code, 0, 0, a, b, c, d]
}

fn error_v4(trouble: Trouble, from: Ipv4Addr, to: Ipv4Addr, about: &[u8]) -> Vec<u8> {
    let quote = &about[..about.len().min(LARGEST_V4 - IPV4_HEADER - ICMP_HEADER)];
    let len = IPV4_HEADER + ICMP_HEADER + quote.len();
    let mut packet = Vec::with_capacity(len);
    let [high, low] = (len as u16).to_be_bytes();
    // It is never fragmented, so its identification is irrelevant. RFC 6864, section 4.1.
    packet.extend_from_slice(&[0x45, CONTROL, high, low, 0, 0, 0x40, 0, TTL, protocol::ICMP, 0, 0]);
    packet.extend_from_slice(&from.octets());
    packet.extend_from_slice(&to.octets());
    let sum = checksum(&packet);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend_from_slice(&header(trouble.v4()));
    packet.extend_from_slice(quote);
    let sum = checksum(&packet[IPV4_HEADER..]);
    packet[IPV4_HEADER + 2..IPV4_HEADER + 4].copy_from_slice(&sum.to_be_bytes());
    packet
}

fn error_v6(trouble: Trouble, from: Ipv6Addr, to: Ipv6Addr, about: &[u8]) -> Vec<u8> {
    let quote = &about[..about.len().min(LARGEST_V6 - IPV6_HEADER - ICMP_HEADER)];
    let payload = ICMP_HEADER + quote.len();
    let mut packet = Vec::with_capacity(IPV6_HEADER + payload);
    let [high, low] = (payload as u16).to_be_bytes();
    packet.extend_from_slice(&[0x60, 0, 0, 0, high, low, protocol::ICMPV6, TTL]);
    packet.extend_from_slice(&from.octets());
    packet.extend_from_slice(&to.octets());
    packet.extend_from_slice(&header(trouble.v6()));
    packet.extend_from_slice(quote);
    let sum = Sum::default()
        .with_pseudo_header(from.into(), to.into(), protocol::ICMPV6, payload as u32)
        .with(&packet[IPV6_HEADER..])
        .checksum();
    packet[IPV6_HEADER + 2..IPV6_HEADER + 4].copy_from_slice(&sum.to_be_bytes());
    packet
}
