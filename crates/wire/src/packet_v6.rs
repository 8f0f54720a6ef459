//! IPv6 packets with a TCP segment or a UDP datagram. RFC 8200.

use std::net::Ipv6Addr;

use cellway_units::Ecn;
use etherparse::{IpNumber, Ipv6FlowLabel, Ipv6Header};

use crate::packet::{Ipv6Tcp, PacketError, malformed};

/// Octets of an IPv6 header. RFC 8200 section 3.
const IP_HEADER: usize = Ipv6Header::LEN;

/// Returns the header of a packet with a payload of `octets`. Its flow label is 0: none (RFC 6437 section 2).
pub(crate) fn header(
    ends: [Ipv6Addr; 2],
    protocol: IpNumber,
    ecn: Ecn,
    hops: u8,
    octets: usize,
) -> Result<Ipv6Header, PacketError> {
    let len = IP_HEADER + octets;
    // As in IPv4, although the length of IPv6 leaves out its header: the network takes no larger packets.
    let payload_length = u16::try_from(len).map_err(|_| PacketError::TooLong { len })? - IP_HEADER as u16;
    let [source, destination] = ends.map(|end| end.octets());
    Ok(Ipv6Header {
        traffic_class: ecn.bits(),
        flow_label: Ipv6FlowLabel::ZERO,
        payload_length,
        next_header: protocol,
        hop_limit: hops,
        source,
        destination,
    })
}

impl Ipv6Tcp {
    /// Returns the octets of the packet, with a correct checksum.
    pub fn octets(&self) -> Result<Vec<u8>, PacketError> {
        let (mut tcp, payload) = self.segment(IP_HEADER)?;
        let octets = tcp.header_len() + payload.len();
        let ip = header([self.source, self.destination], IpNumber::TCP, self.ecn, self.ttl, octets)?;
        tcp.checksum = tcp.calc_checksum_ipv6(&ip, &payload).map_err(malformed)?;
        Ok([&ip.to_bytes()[..], &tcp.to_bytes(), &payload].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip::{FlowKey, checksum, recognise};
    use crate::{TcpFlags, TcpOptions, ip};

    const A: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
    const B: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);

    fn segment(payload_len: u32) -> Ipv6Tcp {
        Ipv6Tcp {
            source: A,
            destination: B,
            source_port: 1024,
            destination_port: 80,
            identification: 7,
            ttl: 64,
            ecn: Ecn::Ect0,
            seq: 9,
            ack: 3,
            flags: TcpFlags { ack: true, ..TcpFlags::default() },
            window: 100,
            options: TcpOptions { timestamps: Some((1, 2)), ..TcpOptions::default() },
            payload_len,
        }
    }

    /// Returns the sum over the pseudo-header and the payload, which is 0 if the checksum is right. RFC 8200 section 8.1.
    fn sum(packet: &[u8]) -> u16 {
        let length = (packet.len() as u32 - 40).to_be_bytes();
        let pseudo = [&packet[8..40], &length, &[0, 0, 0, packet[6]], &packet[40..]].concat();
        checksum::checksum(&pseudo)
    }

    #[test]
    fn a_segment_has_60_octets_of_headers_and_its_options() {
        let packet = segment(1000).octets().unwrap();
        assert_eq!((packet.len(), sum(&packet)), (40 + 20 + 12 + 1000, 0));
        let found = recognise(&packet).unwrap();
        assert!(matches!(found.flow, ip::Flow::Packet(FlowKey { source_port: 1024, destination_port: 80, .. })));
        assert_eq!(found.segment.unwrap().payload, 1000);
        assert_eq!((found.packet.source(), found.packet.destination()), (A.into(), B.into()));
        assert_eq!(ip::ecn(&packet), Ecn::Ect0);
    }

    #[test]
    fn the_largest_packet_is_that_of_the_network() {
        assert_eq!(segment(65_463).octets().unwrap().len(), 65_535);
        assert!(matches!(segment(65_464).octets(), Err(PacketError::TooLong { len: 65_536 })));
    }
}
