//! The ECN field and the DSCP of real IP headers. RFC 3168, section 5; RFC 2474.

use cellway_units::Ecn;

use super::checksum::updated;
use super::packet::IPV4_HEADER;

/// Returns the ECN field of a packet: of the octet that was the type of service in IPv4, or of the traffic class in IPv6
/// (RFC 8200, section 7). Octets that are no IP header have none.
pub fn ecn(octets: &[u8]) -> Ecn {
    Ecn::from_traffic_class(traffic_class(octets))
}

/// Returns the differentiated services code point of a packet, in the other 6 bits of that octet.
pub fn dscp(octets: &[u8]) -> u8 {
    traffic_class(octets) >> 2
}

fn traffic_class(octets: &[u8]) -> u8 {
    match octets {
        [first, tos, ..] if first >> 4 == 4 => *tos,
        [first, second, ..] if first >> 4 == 6 => first << 4 | second >> 4,
        _ => 0,
    }
}

/// Sets the ECN field of a packet and updates its header checksum (RFC 1624). Octets that are no IP header stay as they
/// are. The pseudo-headers of TCP and UDP do not cover the field.
pub fn set_ecn(octets: &mut [u8], ecn: Ecn) {
    match octets.first().map(|first| first >> 4) {
        Some(4) if octets.len() >= IPV4_HEADER => {
            let word = |octets: &[u8], at: usize| u16::from_be_bytes([octets[at], octets[at + 1]]);
            let before = word(octets, 0);
            octets[1] = octets[1] & !0b11 | ecn.bits();
            let sum = updated(word(octets, 10), before, word(octets, 0));
            octets[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        Some(6) if octets.len() >= 2 => octets[1] = octets[1] & !0b11_0000 | ecn.bits() << 4,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::Packet;
    use super::super::samples::{tcp_v4, tcp_v6};
    use super::*;

    /// Every codepoint to every other, with each of the other bits of the octet: the rest of the packet and the validity
    /// of the checksum stay.
    #[test]
    fn the_field_is_set_and_nothing_else() {
        for packet in [tcp_v4(40), tcp_v6(40)] {
            for class in [0u8, 0b1011_1000, 0xfc] {
                let mut original = packet.clone();
                if original[0] >> 4 == 4 {
                    let before = u16::from_be_bytes([original[0], original[1]]);
                    original[1] = class;
                    let sum = u16::from_be_bytes([original[10], original[11]]);
                    let sum = updated(sum, before, u16::from_be_bytes([original[0], class]));
                    original[10..12].copy_from_slice(&sum.to_be_bytes());
                } else {
                    original[0] = 0x60 | class >> 4;
                    original[1] = original[1] & 0xf | class << 4;
                }
                for from in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
                    for to in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
                        let mut changed = original.clone();
                        set_ecn(&mut changed, from);
                        assert_eq!((ecn(&changed), dscp(&changed)), (from, class >> 2));
                        set_ecn(&mut changed, to);
                        assert_eq!(ecn(&changed), to);
                        Packet::parse(&changed).unwrap();
                        set_ecn(&mut changed, Ecn::NotEct);
                        assert_eq!(changed, original);
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_no_packet_stays_as_it_is() {
        for octets in [vec![], vec![0x45], vec![0x45; 19], vec![0x60], vec![0x50; 60]] {
            let mut changed = octets.clone();
            set_ecn(&mut changed, Ecn::Ce);
            assert_eq!(changed, octets);
        }
        assert_eq!(ecn(&[]), Ecn::NotEct);
    }
}
