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

    use super::*;
    use crate::ip;

    /// The checksum of RFC 1071 over parts of an even length, but for the last.
    fn checksum(parts: &[&[u8]]) -> [u8; 2] {
        let word = |pair: &[u8]| u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
        let sum: u64 = parts.iter().flat_map(|part| part.chunks(2)).map(word).sum();
        (!((sum % 0xffff) as u16)).to_be_bytes()
    }

    /// Headers written by hand: RFC 791 section 3.1, RFC 8200 section 3, RFC 768.
    #[test]
    fn a_datagram_has_the_headers_of_the_rfcs() {
        let payload = [7; 99];
        let udp = [4, 0, 1, 187, 0, 107, 0, 0];
        let with_checksum = |pseudo: &[u8]| {
            let sum = checksum(&[pseudo, &udp, &payload]);
            [&udp[..6], &sum, &payload].concat()
        };
        let ends = |hosts: [IpAddr; 2]| [SocketAddr::new(hosts[0], 1024), SocketAddr::new(hosts[1], 443)];
        let hosts = [[10, 0, 0, 1], [192, 168, 7, 2]];
        // Version 4 with five words, ECT(0), 127 octets, identification 5, do not fragment, 64 hops, UDP.
        let mut ip = [&[0x45, 0b10, 0, 127, 0, 5, 0x40, 0, 64, 17, 0, 0][..], &hosts.concat()].concat();
        let sum = checksum(&[&ip]);
        ip[10..12].copy_from_slice(&sum);
        let datagram = with_checksum(&[&hosts.concat()[..], &[0, 17, 0, 107]].concat());
        let packet =
            udp_packet(ends(hosts.map(|host| Ipv4Addr::from(host).into())), Ecn::Ect0, 5, 64, &payload).unwrap();
        assert_eq!(packet, [ip, datagram].concat());
        let hosts = [1, 2].map(|host| Ipv6Addr::new(0xfd00, 0, 0, host, 0, 0, 0, 0xab00 + host).octets());
        // Version 6, ECT(0), no flow label, 107 octets behind the header, UDP, 64 hops.
        let ip = [&[0x60, 0b10 << 4, 0, 0, 0, 107, 17, 64][..], &hosts.concat()].concat();
        let datagram = with_checksum(&[&hosts.concat()[..], &[0, 0, 0, 107, 0, 0, 0, 17]].concat());
        let packet =
            udp_packet(ends(hosts.map(|host| Ipv6Addr::from(host).into())), Ecn::Ect0, 5, 64, &payload).unwrap();
        assert_eq!(packet, [ip, datagram].concat());
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
