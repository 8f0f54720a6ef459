//! One hop: the changes that a router makes to the header of each packet that it forwards.

use super::Malformed;
use super::checksum::updated;
use super::packet::{IPV4_HEADER, IPV6_HEADER};

/// The result of a hop at a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hop {
    /// The router forwards it, with a time to live that is one less.
    Onward,
    /// Its time to live has expired; it is unchanged, for the answer. RFC 1812, section 5.3.1; RFC 8200, section 3.
    Expired,
}

/// Decrements the time to live of a packet and updates its checksum (RFC 1624). Checks nothing else:
/// [`super::Packet::parse`] has accepted the packet.
pub fn hop(octets: &mut [u8]) -> Result<Hop, Malformed> {
    let found = octets.len();
    let version = octets.first().map_or(0, |first| first >> 4);
    let (header, needed, at) = match version {
        4 => ("IPv4 header", IPV4_HEADER, 8),
        6 => ("IPv6 header", IPV6_HEADER, 7),
        _ if found == 0 => ("IP header", 1, 0),
        found => return Err(Malformed::Version { found }),
    };
    if found < needed {
        return Err(Malformed::Truncated { header, needed, found });
    }
    if octets[at] <= 1 {
        return Ok(Hop::Expired);
    }
    let word = |octets: &[u8], at: usize| u16::from_be_bytes([octets[at], octets[at + 1]]);
    let before = word(octets, 8);
    octets[at] -= 1;
    if version == 4 {
        let sum = updated(word(octets, 10), before, word(octets, 8));
        octets[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    Ok(Hop::Onward)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{tcp_v4, tcp_v6};
    use super::super::{Malformed, Packet};
    use super::*;

    #[test]
    fn every_hop_keeps_the_checksum_right_until_the_last() {
        for mut packet in [tcp_v4(40), tcp_v6(40)] {
            let at = if packet[0] >> 4 == 4 { 8 } else { 7 };
            for left in (1..64).rev() {
                assert_eq!(hop(&mut packet), Ok(Hop::Onward));
                assert_eq!(packet[at], left);
                Packet::parse(&packet).unwrap();
            }
            let last = packet.clone();
            assert_eq!(hop(&mut packet), Ok(Hop::Expired));
            assert_eq!(packet, last);
        }
    }

    #[test]
    fn malformed_packets_are_named() {
        assert_eq!(hop(&mut []), Err(Malformed::Truncated { header: "IP header", needed: 1, found: 0 }));
        assert_eq!(hop(&mut [0x45; 19]).map_err(Malformed::name), Err("truncated"));
        assert_eq!(hop(&mut [0x50; 60]), Err(Malformed::Version { found: 5 }));
    }
}
