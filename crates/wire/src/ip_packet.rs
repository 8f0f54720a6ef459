//! IP packets of either version around octets that exist already.

use std::net::{IpAddr, SocketAddr};

use cellway_units::Ecn;
use etherparse::{IpEcn, IpNumber, Ipv4Header, UdpHeader};

use crate::packet::{PacketError, malformed};
use crate::packet_v6;

/// Returns an IP packet with a payload of another protocol, which has its own checksum. IPv6 has no identification.
///
/// # Errors
/// The addresses are of two versions of IP, or the payload does not fit into a packet.
pub fn ip_packet(
    [source, destination]: [IpAddr; 2],
    protocol: u8,
    ecn: Ecn,
    identification: u16,
    ttl: u8,
    payload: &[u8],
) -> Result<Vec<u8>, PacketError> {
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let len = Ipv4Header::MIN_LEN + payload.len();
            // The limit of the field is that of the whole packet.
            let octets = u16::try_from(len).map_err(|_| PacketError::TooLong { len })? - Ipv4Header::MIN_LEN as u16;
            let mut ip = Ipv4Header::new(octets, ttl, IpNumber(protocol), source.octets(), destination.octets())
                .map_err(malformed)?;
            ip.identification = identification;
            ip.dont_fragment = true;
            ip.ecn = IpEcn::try_new(ecn.bits()).map_err(malformed)?;
            ip.header_checksum = ip.calc_header_checksum();
            Ok([&ip.to_bytes()[..], payload].concat())
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let ip = packet_v6::header([source, destination], IpNumber(protocol), ecn, ttl, payload.len())?;
            Ok([&ip.to_bytes()[..], payload].concat())
        }
        _ => Err(malformed(format!("{source} and {destination} are addresses of two versions of IP"))),
    }
}

/// Returns an IP packet with a UDP datagram, all checksums right. IPv6 has no identification.
///
/// # Errors
/// The addresses are of two versions of IP, or the payload does not fit into a packet.
pub fn udp_packet(
    ends: [SocketAddr; 2],
    ecn: Ecn,
    identification: u16,
    ttl: u8,
    payload: &[u8],
) -> Result<Vec<u8>, PacketError> {
    let [source, destination] = ends;
    let len = UdpHeader::LEN + payload.len();
    let length = u16::try_from(len).map_err(|_| PacketError::TooLong { len })?;
    let mut udp = UdpHeader { source_port: source.port(), destination_port: destination.port(), length, checksum: 0 };
    udp.checksum = match (source.ip(), destination.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => udp.calc_checksum_ipv4_raw(from.octets(), to.octets(), payload),
        (IpAddr::V6(from), IpAddr::V6(to)) => udp.calc_checksum_ipv6_raw(from.octets(), to.octets(), payload),
        _ => return Err(malformed(format!("{source} and {destination} are addresses of two versions of IP"))),
    }
    .map_err(malformed)?;
    let datagram = [&udp.to_bytes()[..], payload].concat();
    ip_packet(ends.map(|end| end.ip()), IpNumber::UDP.0, ecn, identification, ttl, &datagram)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use etherparse::PacketBuilder;

    use super::*;
    use crate::ip;

    /// Compared with the headers that etherparse makes of a whole packet.
    #[test]
    fn a_datagram_has_the_headers_of_an_independent_builder() {
        let payload = [7; 99];
        let ends = [1024, 443].map(|port| SocketAddr::new(Ipv4Addr::new(10, 0, 0, 1).into(), port));
        let packet = udp_packet(ends, Ecn::NotEct, 0, 64, &payload).unwrap();
        let mut expected = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 1], 64).udp(1024, 443).write(&mut expected, &payload).unwrap();
        assert_eq!(packet, expected);
        let host = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
        let ends = [1024, 443].map(|port| SocketAddr::new(host.into(), port));
        let packet = udp_packet(ends, Ecn::NotEct, 0, 64, &payload).unwrap();
        let mut expected = Vec::new();
        PacketBuilder::ipv6(host.octets(), host.octets(), 64).udp(1024, 443).write(&mut expected, &payload).unwrap();
        assert_eq!((packet.len(), &packet[40..]), (40 + 8 + 99, &expected[40..]));
    }

    #[test]
    fn the_ecn_field_and_the_longest_packet() {
        let v4 = [IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2))];
        let v6 = [1, 2].map(|host| IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, host)));
        for (ends, header) in [(v4, 20), (v6, 40)] {
            let packet = |octets: usize| ip_packet(ends, 6, Ecn::Ce, 0, 64, &vec![0; octets]);
            assert_eq!(ip::ecn(&packet(100).unwrap()), Ecn::Ce);
            assert_eq!(packet(65_535 - header).unwrap().len(), 65_535);
            assert!(matches!(packet(65_536 - header), Err(PacketError::TooLong { len: 65_536 })));
        }
        assert!(ip_packet([v4[0], v6[0]], 6, Ecn::Ce, 0, 64, &[]).is_err());
    }
}
