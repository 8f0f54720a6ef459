//! The headers of an IPv4 or IPv6 packet, with the checks of a router, and the start of its payload.

use std::net::IpAddr;

use etherparse::{Ipv4HeaderSlice, Ipv6HeaderSlice};

use super::Malformed;
use super::checksum::checksum;

/// Octets of the fixed part of an IPv4 header. RFC 791.
pub(super) const IPV4_HEADER: usize = 20;
/// Octets of an IPv6 header. RFC 8200, section 3.
pub(super) const IPV6_HEADER: usize = 40;

/// Numbers of IP protocols that are used here (IANA, Assigned Internet Protocol Numbers).
pub mod protocol {
    /// ICMP for IPv4.
    pub const ICMP: u8 = 1;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// DCCP.
    pub const DCCP: u8 = 33;
    /// ICMP for IPv6.
    pub const ICMPV6: u8 = 58;
    /// SCTP.
    pub const SCTP: u8 = 132;
    /// UDP-Lite.
    pub const UDP_LITE: u8 = 136;
}

/// The fragment fields of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fragment {
    /// Identification: 16 bits in IPv4, 32 in IPv6.
    pub identification: u32,
    /// Its offset in the payload of the whole, in octets.
    pub offset: u32,
    /// True if other fragments follow.
    pub more: bool,
    /// The protocol of the whole: in IPv6 the next header of the fragment header, which may be another extension.
    pub protocol: u8,
}

/// A packet with valid headers, without octets beyond its total length.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    octets: &'a [u8],
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    transport: usize,
    fragment: Option<Fragment>,
}

/// The extent of a packet that must be present.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// All of it, with a correct checksum.
    Whole,
    /// The part that an ICMP error quotes; routers on the path may have changed its header.
    Quoted,
}

fn enough(octets: &[u8], needed: usize, header: &'static str) -> Result<(), Malformed> {
    let found = octets.len();
    if needed <= found { Ok(()) } else { Err(Malformed::Truncated { header, needed, found }) }
}

impl<'a> Packet<'a> {
    /// Checks the headers of a packet. An IPv4 checksum must be correct; the hosts verify those of TCP and UDP.
    pub fn parse(octets: &'a [u8]) -> Result<Packet<'a>, Malformed> {
        Packet::of(octets, Extent::Whole)
    }

    /// Checks the start of a packet, as an ICMP error quotes it.
    pub(super) fn quoted(octets: &'a [u8]) -> Result<Packet<'a>, Malformed> {
        Packet::of(octets, Extent::Quoted)
    }

    fn of(octets: &'a [u8], extent: Extent) -> Result<Packet<'a>, Malformed> {
        let packet = match octets.first().map(|first| first >> 4) {
            Some(4) => Packet::v4(octets, extent)?,
            Some(6) => Packet::v6(octets, extent)?,
            Some(found) => return Err(Malformed::Version { found }),
            None => return Err(Malformed::Truncated { header: "IP header", needed: 1, found: 0 }),
        };
        let end = packet.fragment.map_or(0, |fragment| fragment.offset + packet.payload().len() as u32);
        if end > u32::from(u16::MAX) && extent == Extent::Whole {
            return Err(Malformed::FragmentEnd { end });
        }
        Ok(packet)
    }

    fn v4(octets: &'a [u8], extent: Extent) -> Result<Packet<'a>, Malformed> {
        enough(octets, IPV4_HEADER, "IPv4 header")?;
        let len = usize::from(octets[0] & 0xf) * 4;
        if len < IPV4_HEADER {
            return Err(Malformed::HeaderLength { octets: len });
        }
        let found = octets.len();
        let truncated = Malformed::Truncated { header: "IPv4 header", needed: len, found };
        let header = Ipv4HeaderSlice::from_slice(octets).map_err(|_| truncated)?;
        let mut octets = octets;
        if extent == Extent::Whole {
            let computed = checksum(header.slice());
            if computed != 0 {
                // The sum over a header with a correct checksum is 0; the error has the two that differ.
                let found = header.header_checksum();
                let without = super::checksum::updated(computed, found, 0);
                return Err(Malformed::HeaderChecksum { found, computed: without });
            }
            let claimed = usize::from(header.total_len());
            if claimed < len || claimed > found {
                return Err(Malformed::TotalLength { claimed, header: len, found });
            }
            octets = &octets[..claimed];
        }
        let fragment = header.is_fragmenting_payload().then(|| Fragment {
            identification: header.identification().into(),
            offset: u32::from(header.fragments_offset().value()) * 8,
            more: header.more_fragments(),
            protocol: header.protocol().0,
        });
        Ok(Packet {
            octets,
            source: header.source_addr().into(),
            destination: header.destination_addr().into(),
            protocol: header.protocol().0,
            transport: len,
            fragment,
        })
    }

    fn v6(octets: &'a [u8], extent: Extent) -> Result<Packet<'a>, Malformed> {
        let found = octets.len();
        let truncated = Malformed::Truncated { header: "IPv6 header", needed: IPV6_HEADER, found };
        let header = Ipv6HeaderSlice::from_slice(octets).map_err(|_| truncated)?;
        let mut octets = octets;
        if extent == Extent::Whole {
            let claimed = IPV6_HEADER + usize::from(header.payload_length());
            if claimed > found {
                return Err(Malformed::TotalLength { claimed, header: IPV6_HEADER, found });
            }
            octets = &octets[..claimed];
        }
        let (mut protocol, mut at, mut fragment) = (header.next_header().0, IPV6_HEADER, None);
        // Extension headers. RFC 8200, section 4; RFC 6564. ESP and the headers after it are encrypted.
        loop {
            let kind = protocol;
            let len = match kind {
                // Hop-by-hop, routing, destination options, mobility, HIP, shim6.
                0 | 43 | 60 | 135 | 139 | 140 => {
                    enough(octets, at + 2, "IPv6 extension header")?;
                    (usize::from(octets[at + 1]) + 1) * 8
                }
                // Authentication header: its length counts in words of four octets. RFC 4302, section 2.2.
                51 => {
                    enough(octets, at + 2, "IPv6 extension header")?;
                    (usize::from(octets[at + 1]) + 2) * 4
                }
                44 => 8,
                _ => break,
            };
            enough(octets, at + len, "IPv6 extension header")?;
            protocol = octets[at];
            if kind == 44 {
                let place = u16::from_be_bytes([octets[at + 2], octets[at + 3]]);
                let identification =
                    u32::from_be_bytes([octets[at + 4], octets[at + 5], octets[at + 6], octets[at + 7]]);
                let (offset, more) = (u32::from(place & !7), place & 1 == 1);
                // A fragment that is both first and last is a whole packet. RFC 6946.
                if offset > 0 || more {
                    fragment = Some(Fragment { identification, offset, more, protocol });
                }
                if offset > 0 {
                    at += len;
                    break;
                }
            }
            at += len;
        }
        Ok(Packet {
            octets,
            source: header.source_addr().into(),
            destination: header.destination_addr().into(),
            protocol,
            transport: at,
            fragment,
        })
    }

    /// Returns the octets of the packet.
    pub const fn octets(&self) -> &'a [u8] {
        self.octets
    }
    /// Returns the source address.
    pub const fn source(&self) -> IpAddr {
        self.source
    }
    /// Returns the destination address.
    pub const fn destination(&self) -> IpAddr {
        self.destination
    }
    /// Returns the protocol of the payload, after all extension headers.
    pub const fn protocol(&self) -> u8 {
        self.protocol
    }
    /// Returns the octets before the payload: the header with options or extension headers.
    pub const fn header_len(&self) -> usize {
        self.transport
    }
    /// Returns the octets after the headers.
    pub fn payload(&self) -> &'a [u8] {
        &self.octets[self.transport..]
    }
    /// Returns the fragment fields, unless it is a whole packet.
    pub const fn fragment(&self) -> Option<Fragment> {
        self.fragment
    }
    /// Returns true if it has the start of the payload: it is whole or a first fragment.
    pub fn is_first(&self) -> bool {
        self.fragment.is_none_or(|fragment| fragment.offset == 0)
    }
    /// Returns true for IPv4.
    pub const fn is_v4(&self) -> bool {
        self.source.is_ipv4()
    }
    /// Returns true if a router must not fragment it: the DF bit of IPv4, and always in IPv6.
    pub const fn dont_fragment(&self) -> bool {
        !self.is_v4() || self.octets[6] & 0x40 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{extended, tcp_v4, tcp_v6, udp_v4, with};
    use super::*;

    fn reason(packet: &[u8]) -> &'static str {
        Packet::parse(packet).unwrap_err().name()
    }

    #[test]
    fn trailing_octets_are_cut() {
        for packet in [tcp_v4(5), tcp_v6(5)] {
            let padded = [&packet[..], &[0; 9]].concat();
            assert_eq!(Packet::parse(&padded).unwrap().octets(), packet);
        }
    }

    #[test]
    fn each_fault_has_its_reason() {
        let (v4, v6) = (tcp_v4(5), tcp_v6(5));
        assert_eq!(reason(&[]), "truncated");
        assert_eq!(reason(&v4[..19]), "truncated");
        assert_eq!(reason(&v6[..39]), "truncated");
        assert_eq!(reason(&with(v4.clone(), |p| p[0] = 0x55)), "version");
        assert_eq!(reason(&[&[0x44], &v4[1..]].concat()), "header-length");
        assert_eq!(reason(&[&[0x4f], &v4[1..40]].concat()), "truncated");
        assert_eq!(reason(&v4[..v4.len() - 1]), "total-length");
        assert_eq!(reason(&v6[..v6.len() - 1]), "total-length");
        assert_eq!(reason(&with(v4.clone(), |p| p[3] = 19)), "total-length");
        assert_eq!(reason(&with(udp_v4(40), |p| p[6..8].copy_from_slice(&[0x1f, 0xff]))), "fragment-end");
        let mut damaged = v4.clone();
        damaged[8] ^= 1;
        let computed = u16::from_be_bytes([v4[10], v4[11]]) - 0x100;
        let found = u16::from_be_bytes([v4[10], v4[11]]);
        // TTL went from 64 to 65, so the correct checksum is 0x100 less.
        assert_eq!(Packet::parse(&damaged).unwrap_err(), Malformed::HeaderChecksum { found, computed });
    }

    #[test]
    fn options_of_ipv4_belong_to_the_header() {
        let mut packet = udp_v4(4);
        packet.splice(20..20, [7, 7, 4, 0, 0, 0, 0, 0]);
        let packet = with(packet, |p| (p[0], p[3]) = (0x47, p[3] + 8));
        let parsed = Packet::parse(&packet).unwrap();
        assert_eq!((parsed.header_len(), parsed.payload().len(), parsed.protocol()), (28, 12, 17));
    }

    #[test]
    fn extension_headers_are_walked() {
        let ah = [&[0, 4], &[0; 22][..]].concat();
        let long = [&[0, 1], &[0; 14][..]].concat();
        let packet = extended(&[(0, vec![0; 8]), (43, long), (51, ah), (60, vec![0; 8])]);
        let parsed = Packet::parse(&packet).unwrap();
        assert_eq!((parsed.header_len(), parsed.protocol(), parsed.fragment()), (96, 6, None));
        // An extension whose length exceeds the packet.
        assert_eq!(reason(&extended(&[(60, vec![0, 200, 0, 0, 0, 0, 0, 0])])), "truncated");
        // No next header: nothing follows.
        assert_eq!(Packet::parse(&extended(&[(59, vec![0; 8])])).unwrap().protocol(), 59);
    }

    #[test]
    fn fragments_of_ipv6_are_seen() {
        let header = |place: u16| [&[0, 0], &place.to_be_bytes()[..], &[0, 0, 1, 2]].concat();
        let fragment = |place| Packet::parse(&extended(&[(44, header(place)), (60, vec![0; 8])])).unwrap().fragment();
        let found = |offset, more| Some(Fragment { identification: 258, offset, more, protocol: 60 });
        assert_eq!(fragment(1), found(0, true));
        assert_eq!(fragment(16), found(16, false));
        assert_eq!(fragment(17), found(16, true));
        assert_eq!(fragment(0), None);
        let first = extended(&[(44, header(1)), (60, vec![0; 8])]);
        assert_eq!((Packet::parse(&first).unwrap().protocol(), Packet::parse(&first).unwrap().header_len()), (6, 56));
        // The octets after the header of a later fragment are no header.
        let later = extended(&[(44, header(16)), (60, vec![255; 8])]);
        assert_eq!((Packet::parse(&later).unwrap().protocol(), Packet::parse(&later).unwrap().header_len()), (60, 48));
    }
}
