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

/// Returns a UDP datagram with its header, whose checksum covers the addresses of the packet.
///
/// # Errors
/// The addresses are of two versions of IP, or the payload does not fit into a packet.
pub fn udp_datagram([source, destination]: [SocketAddr; 2], payload: &[u8]) -> Result<Vec<u8>, PacketError> {
    let len = UdpHeader::LEN + payload.len();
    let length = u16::try_from(len).map_err(|_| PacketError::TooLong { len })?;
    let mut udp = UdpHeader { source_port: source.port(), destination_port: destination.port(), length, checksum: 0 };
    udp.checksum = match (source.ip(), destination.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => udp.calc_checksum_ipv4_raw(from.octets(), to.octets(), payload),
        (IpAddr::V6(from), IpAddr::V6(to)) => udp.calc_checksum_ipv6_raw(from.octets(), to.octets(), payload),
        _ => return Err(malformed(format!("{source} and {destination} are addresses of two versions of IP"))),
    }
    .map_err(malformed)?;
    Ok([&udp.to_bytes()[..], payload].concat())
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;
    use crate::{ip, ipv4_udp, ipv6_udp};

    /// The functions for a whole packet with UDP are an independent way to the same octets.
    #[test]
    fn a_datagram_in_a_packet_is_that_of_the_other_functions() {
        let payload = [7; 99];
        let v4 = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
        let ends = [(v4[0], 1024), (v4[1], 443)].map(|(address, port)| std::net::SocketAddrV4::new(address, port));
        let udp = udp_datagram(ends.map(SocketAddr::V4), &payload).unwrap();
        let packet = ip_packet(v4.map(IpAddr::V4), 17, Ecn::NotEct, 5, 64, &udp).unwrap();
        assert_eq!(packet, ipv4_udp(ends[0], ends[1], 5, 64, &payload).unwrap());
        let v6 = [1, 2].map(|host| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, host));
        let ends = [(v6[0], 1024), (v6[1], 443)].map(|(at, port)| std::net::SocketAddrV6::new(at, port, 0, 0));
        let udp = udp_datagram(ends.map(SocketAddr::V6), &payload).unwrap();
        let packet = ip_packet(v6.map(IpAddr::V6), 17, Ecn::NotEct, 5, 64, &udp).unwrap();
        assert_eq!(packet, ipv6_udp(ends[0], ends[1], 64, &payload).unwrap());
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
