//! Damage to the payload of a packet, as a link with bit errors does it.

use super::Packet;

/// Flips a bit in the last octet of the payload, which the checksums of TCP, UDP and ICMP cover; a flipped bit always changes
/// them (RFC 1071). The headers of IP stay correct, so routers forward the packet. Returns false if there is no payload, or
/// the octets are no packet.
pub fn corrupt(octets: &mut [u8]) -> bool {
    let end = Packet::parse(octets).ok().filter(|packet| !packet.payload().is_empty());
    let Some(end) = end.map(|packet| packet.octets().len()) else { return false };
    octets[end - 1] ^= 1;
    true
}

#[cfg(test)]
mod tests {
    use super::super::checksum::Sum;
    use super::super::protocol;
    use super::super::samples::{tcp_v4, tcp_v6, udp_v4};
    use super::*;

    /// Returns true if the checksum of the transport is that of a packet: the sum over it with its pseudo-header is 0.
    fn is_sound(octets: &[u8]) -> bool {
        let packet = Packet::parse(octets).unwrap();
        let (payload, protocol) = (packet.payload(), packet.protocol());
        let sum =
            Sum::default().with_pseudo_header(packet.source(), packet.destination(), protocol, payload.len() as u32);
        sum.with(payload).checksum() == 0
    }

    #[test]
    fn the_transport_drops_it_and_routers_do_not() {
        for (packet, number) in [
            (tcp_v4(0), protocol::TCP),
            (tcp_v4(41), protocol::TCP),
            (tcp_v6(40), protocol::TCP),
            (udp_v4(9), protocol::UDP),
        ] {
            let mut changed = packet.clone();
            assert!(corrupt(&mut changed));
            let parsed = Packet::parse(&changed).unwrap();
            assert_eq!(parsed.protocol(), number);
            let header = parsed.header_len();
            assert_eq!(changed[..header], packet[..header]);
            let bits: u32 = packet.iter().zip(&changed).map(|(a, b)| (a ^ b).count_ones()).sum();
            assert_eq!((bits, is_sound(&packet), is_sound(&changed)), (1, true, false));
        }
    }

    #[test]
    fn what_has_no_payload_stays() {
        let mut short = tcp_v4(0)[..10].to_vec();
        let before = short.clone();
        assert!(!corrupt(&mut short) && short == before && !corrupt(&mut []));
    }
}
