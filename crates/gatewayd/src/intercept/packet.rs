//! Classification of the packets on the TUN device.

use std::net::{IpAddr, SocketAddr};

use cellway_wire::ip::checksum::checksum;
use etherparse::{NetSlice, SlicedPacket, TransportSlice, icmpv4, icmpv6};

/// The offsets of the checksum, the source and the destination in an IPv4 header. RFC 791, section 3.1.
const CHECKSUM: std::ops::Range<usize> = 10..12;
const SOURCE: std::ops::Range<usize> = 12..16;
const DESTINATION: std::ops::Range<usize> = 16..20;
/// Octets of an ICMP header before the quoted packet. RFC 792.
const ICMP_HEADER: usize = 8;

/// The kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A SYN without FIN, RST and ACK.
    Syn {
        /// The client.
        client: SocketAddr,
        /// The server.
        server: SocketAddr,
        /// The initial sequence number.
        sequence: u32,
        /// The number that acknowledges all of it: one for SYN and one for each octet of data.
        acknowledgement: u32,
    },
    /// An ICMP error of this machine: a neighbour did not answer.
    Unreachable,
    /// Another packet, which is ignored.
    Other,
}

/// Classifies an IP packet, which may be malformed.
pub(crate) fn kind(packet: &[u8]) -> Kind {
    let Ok(sliced) = SlicedPacket::from_ip(packet) else { return Kind::Other };
    let (from, to): (IpAddr, IpAddr) = match &sliced.net {
        Some(NetSlice::Ipv4(ip)) => (ip.header().source_addr().into(), ip.header().destination_addr().into()),
        Some(NetSlice::Ipv6(ip)) => (ip.header().source_addr().into(), ip.header().destination_addr().into()),
        _ => return Kind::Other,
    };
    match sliced.transport {
        Some(TransportSlice::Tcp(tcp)) if tcp.syn() && !tcp.fin() && !tcp.rst() && !tcp.ack() => Kind::Syn {
            client: SocketAddr::new(from, tcp.source_port()),
            server: SocketAddr::new(to, tcp.destination_port()),
            sequence: tcp.sequence_number(),
            acknowledgement: tcp.sequence_number().wrapping_add(1).wrapping_add(tcp.payload().len() as u32),
        },
        Some(TransportSlice::Icmpv4(icmp)) if icmp.type_u8() == icmpv4::TYPE_DEST_UNREACH => Kind::Unreachable,
        Some(TransportSlice::Icmpv6(icmp)) if icmp.type_u8() == icmpv6::TYPE_DST_UNREACH => Kind::Unreachable,
        _ => Kind::Other,
    }
}

/// Changes the source of an ICMP error of this machine to the host that could not be reached, so that the kernel
/// accepts it from a device. It drops an IPv4 packet with one of its own addresses as the source as "martian" (RFC
/// 1812, section 5.3.7), and receivers ignore the source of an ICMP error. IPv6 has no such check. Returns false if the
/// packet is malformed.
pub(crate) fn disown(packet: &mut [u8]) -> bool {
    if packet.first().is_none_or(|first| first >> 4 != 4) {
        return true;
    }
    let header = usize::from(packet[0] & 0x0f) * 4;
    let inner = header + ICMP_HEADER;
    let Some(host) = packet.get(inner + DESTINATION.start..inner + DESTINATION.end).map(<[u8]>::to_vec) else {
        return false;
    };
    packet[SOURCE].copy_from_slice(&host);
    packet[CHECKSUM].fill(0);
    let sum = checksum(&packet[..header]);
    packet[CHECKSUM].copy_from_slice(&sum.to_be_bytes());
    true
}

#[cfg(test)]
pub(super) mod samples {
    use super::*;

    pub(in super::super) fn syn(client: SocketAddr, server: SocketAddr, sequence: u32, data: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        ip(client, server)
            .tcp(client.port(), server.port(), sequence, 65_535)
            .syn()
            .options(&[etherparse::TcpOptionElement::MaximumSegmentSize(1460)])
            .unwrap()
            .write(&mut packet, data)
            .unwrap();
        packet
    }

    pub(in super::super) fn ip(
        from: SocketAddr,
        to: SocketAddr,
    ) -> etherparse::PacketBuilderStep<etherparse::IpHeaders> {
        match (from.ip(), to.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => etherparse::PacketBuilder::ip(etherparse::IpHeaders::Ipv4(
                etherparse::Ipv4Header::new(0, 64, etherparse::ip_number::TCP, from.octets(), to.octets()).unwrap(),
                etherparse::Ipv4Extensions::default(),
            )),
            (IpAddr::V6(from), IpAddr::V6(to)) => etherparse::PacketBuilder::ip(etherparse::IpHeaders::Ipv6(
                etherparse::Ipv6Header {
                    hop_limit: 64,
                    source: from.octets(),
                    destination: to.octets(),
                    ..Default::default()
                },
                etherparse::Ipv6Extensions::default(),
            )),
            _ => panic!("one packet has one version"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::samples::{ip, syn};
    use super::*;

    const ENDS: [(&str, &str); 2] = [("10.0.0.2:4000", "10.0.1.2:80"), ("[fd00::2]:4000", "[fd01::2]:80")];

    fn ends() -> impl Iterator<Item = (SocketAddr, SocketAddr)> {
        ENDS.into_iter().map(|(client, server)| (client.parse().unwrap(), server.parse().unwrap()))
    }

    #[test]
    fn only_a_bare_syn_is_intercepted() {
        for (client, server) in ends() {
            for (data, acknowledgement) in [(&b""[..], 0), (b"GET", 3)] {
                let packet = syn(client, server, u32::MAX, data);
                assert_eq!(kind(&packet), Kind::Syn { client, server, sequence: u32::MAX, acknowledgement });
            }
            let tcp = || ip(client, server).tcp(4000, 80, 7, 100);
            for other in [tcp(), tcp().syn().ack(3), tcp().syn().rst(), tcp().syn().fin(), tcp().fin().ack(3)] {
                let mut packet = Vec::new();
                other.write(&mut packet, &[]).unwrap();
                assert_eq!(kind(&packet), Kind::Other);
            }
        }
    }

    #[test]
    fn options_of_ip_do_not_hide_it() {
        let mut header =
            etherparse::Ipv4Header::new(0, 64, etherparse::ip_number::TCP, [10, 0, 0, 2], [10, 0, 1, 2]).unwrap();
        header.options = etherparse::Ipv4Options::try_from(&[1, 1, 1, 0][..]).unwrap();
        let ip = etherparse::IpHeaders::Ipv4(header, etherparse::Ipv4Extensions::default());
        let mut packet = Vec::new();
        etherparse::PacketBuilder::ip(ip).tcp(4000, 80, 7, 100).syn().write(&mut packet, &[]).unwrap();
        assert!(matches!(kind(&packet), Kind::Syn { acknowledgement: 8, .. }));
    }

    #[test]
    fn an_error_of_ours_becomes_the_hosts() {
        let (client, server) = ends().next().unwrap();
        let about = syn(client, server, 1, &[]);
        let mut packet = Vec::new();
        let icmp = etherparse::Icmpv4Type::DestinationUnreachable(etherparse::icmpv4::DestUnreachableHeader::Host);
        etherparse::PacketBuilder::ipv4([10, 0, 1, 1], [10, 0, 0, 2], 64)
            .icmpv4(icmp)
            .write(&mut packet, &about)
            .unwrap();
        assert_eq!(kind(&packet), Kind::Unreachable);
        assert!(disown(&mut packet));
        assert_eq!(packet[SOURCE], [10, 0, 1, 2]);
        assert_eq!(checksum(&packet[..20]), 0, "the sum over a header with its checksum");
        assert_eq!(kind(&packet), Kind::Unreachable);
        assert!(!disown(&mut packet[..40].to_vec()), "nothing is said about an address that is cut off");
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(mut packet in prop::collection::vec(any::<u8>(), 0..120), version in 0u8..16) {
            if let Some(first) = packet.first_mut() {
                *first = version << 4 | *first & 0x0f;
            }
            kind(&packet);
            disown(&mut packet);
        }
    }
}
