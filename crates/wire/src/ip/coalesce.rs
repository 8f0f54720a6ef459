//! Joins TCP segments that follow each other into one, as a network card does on receipt: the counterpart of
//! [`super::cut`]. A host receives sixty segments in one call for little more than the cost of one, and its TCP finds
//! the segments by the segment size.
//!
//! Two segments are joined only if segmentation restores both octet by octet; a segment with anything special (flags
//! other than ACK and PSH, IP options, a fragment) is not joined. Checksums are not verified: the caller guarantees
//! them.

use std::net::IpAddr;

use super::checksum::{Sum, checksum};
use super::packet::{IPV4_HEADER, IPV6_HEADER};
use super::{Gso, VirtioNetHeader, protocol};

/// Octets of a TCP header without options. RFC 9293.
const TCP_HEADER: usize = 20;
const ACK: u8 = 0x10;
const PSH: u8 = 0x08;
/// Most segments in one: each is a separate part of the call that writes it.
const MOST: usize = 64;
/// The longest IP packet.
const LONGEST: usize = 65_535;

/// Segments joined so far.
#[derive(Clone, Debug)]
pub struct Joined {
    /// IP and TCP header of the first, with the flags of the last.
    header: Vec<u8>,
    /// Octets of the IP header.
    transport: usize,
    /// Octets of payload of the first, octets of payload in all, and segments.
    size: usize,
    payload: usize,
    count: usize,
    next: u32,
    /// True if the last was short or had PSH: nothing may follow.
    closed: bool,
}

/// Returns the octets of the IP header, and of both headers, of a segment that may be joined to others.
fn headers(packet: &[u8]) -> Option<(usize, usize)> {
    let transport = match packet.first()? >> 4 {
        // Twenty octets, no fragment.
        4 if packet.len() >= IPV4_HEADER && packet[0] == 0x45 && packet[6] & 0x3f == 0 && packet[7] == 0 => IPV4_HEADER,
        6 if packet.len() >= IPV6_HEADER => IPV6_HEADER,
        _ => return None,
    };
    let number = if transport == IPV4_HEADER { packet[9] } else { packet[6] };
    if number != protocol::TCP || packet.len() < transport + TCP_HEADER {
        return None;
    }
    let header = transport + usize::from(packet[transport + 12] >> 4) * 4;
    let plain = packet[transport + 13] & !PSH == ACK && packet[transport + 12] & 0x0f == 0;
    (plain && header >= transport + TCP_HEADER && packet.len() > header).then_some((transport, header))
}

fn word(octets: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([octets[at], octets[at + 1]])
}

fn sequence(octets: &[u8], tcp: usize) -> u32 {
    u32::from_be_bytes([octets[tcp + 4], octets[tcp + 5], octets[tcp + 6], octets[tcp + 7]])
}

impl Joined {
    /// Begins with `packet`; `None` if nothing can be joined to it.
    pub fn begin(packet: &[u8]) -> Option<Joined> {
        let (transport, header) = headers(packet)?;
        let size = packet.len() - header;
        Some(Joined {
            header: packet[..header].to_vec(),
            transport,
            size,
            payload: size,
            count: 1,
            next: sequence(packet, transport).wrapping_add(size as u32),
            closed: packet[transport + 13] & PSH != 0,
        })
    }

    /// Joins `packet` if it is the next one. Returns true if it was.
    pub fn join(&mut self, packet: &[u8]) -> bool {
        let Some((transport, header)) = headers(packet) else { return false };
        let (tcp, size) = (self.transport, packet.len() - header);
        let fits = !self.closed
            && transport == self.transport
            && header == self.header.len()
            && size <= self.size
            && self.count < MOST
            && header + self.payload + size <= LONGEST
            && sequence(packet, tcp) == self.next
            && self.is_alike(packet);
        if fits {
            self.closed = size < self.size || packet[tcp + 13] & PSH != 0;
            self.header[tcp + 13] |= packet[tcp + 13] & PSH;
            self.payload += size;
            self.count += 1;
            self.next = self.next.wrapping_add(size as u32);
        }
        fits
    }

    /// Returns true if the headers differ only in the fields that segmentation sets: length, identification, checksums,
    /// sequence number and PSH.
    fn is_alike(&self, packet: &[u8]) -> bool {
        let (first, tcp) = (&self.header[..], self.transport);
        let ip = if tcp == IPV4_HEADER {
            let counts_up = word(packet, 4) == word(first, 4).wrapping_add(self.count as u16);
            counts_up && first[1] == packet[1] && first[6..10] == packet[6..10] && first[12..20] == packet[12..20]
        } else {
            first[..4] == packet[..4] && first[6..IPV6_HEADER] == packet[6..IPV6_HEADER]
        };
        ip && first[tcp..tcp + 4] == packet[tcp..tcp + 4]
            && first[tcp + 8..tcp + 13] == packet[tcp + 8..tcp + 13]
            && first[tcp + 14..tcp + 16] == packet[tcp + 14..tcp + 16]
            && first[tcp + 18..] == packet[tcp + 18..first.len()]
    }

    /// Returns true if `other` belongs to the same connection and direction.
    pub fn is_of_connection(&self, other: &Joined) -> bool {
        let ends = |joined: &Joined| {
            let addresses = if joined.transport == IPV4_HEADER { 12..20 } else { 8..40 };
            (addresses, joined.transport..joined.transport + 4)
        };
        let (addresses, ports) = ends(self);
        self.transport == other.transport
            && self.header[addresses.clone()] == other.header[addresses]
            && self.header[ports.clone()] == other.header[ports]
    }

    /// Returns the number of joined segments.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the octets of the headers that each segment has before its payload.
    pub fn header_len(&self) -> usize {
        self.header.len()
    }

    /// Returns the octets to write before the payloads: the virtio-net header, and the headers of the whole.
    pub fn finish(&mut self) -> (VirtioNetHeader, &[u8]) {
        let (tcp, len) = (self.transport, self.header.len() + self.payload);
        let v4 = tcp == IPV4_HEADER;
        let put = |header: &mut [u8], at: usize, number: u16| header[at..at + 2].copy_from_slice(&number.to_be_bytes());
        let header = &mut self.header[..];
        let addresses: (IpAddr, IpAddr) = if v4 {
            put(header, 2, len as u16);
            put(header, 10, 0);
            let sum = checksum(&header[..tcp]);
            put(header, 10, sum);
            let address = |at: usize| IpAddr::from([header[at], header[at + 1], header[at + 2], header[at + 3]]);
            (address(12), address(16))
        } else {
            put(header, 4, (len - tcp) as u16);
            let address = |at: usize| {
                let mut octets = [0; 16];
                octets.copy_from_slice(&header[at..at + 16]);
                IpAddr::from(octets)
            };
            (address(8), address(24))
        };
        // The host completes the checksum, or skips it: the field holds the sum of the pseudo-header.
        let pseudo = Sum::default().with_pseudo_header(addresses.0, addresses.1, protocol::TCP, (len - tcp) as u32);
        put(header, tcp + 16, !pseudo.checksum());
        let offload = VirtioNetHeader {
            needs_checksum: true,
            gso: match (self.count, v4) {
                (1, _) => Gso::None,
                (_, true) => Gso::TcpV4,
                (_, false) => Gso::TcpV6,
            },
            header_len: header.len() as u16,
            gso_size: if self.count > 1 { self.size as u16 } else { 0 },
            checksum_start: tcp as u16,
            checksum_offset: 16,
            ..VirtioNetHeader::default()
        };
        (offload, &self.header)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::cut;
    use super::super::samples::{octets, tcp_v4, tcp_v6, udp_v4, with};
    use super::*;

    /// Returns the pieces of a packet as a host with full offload would write it.
    fn cut_up(packet: &[u8], transport: usize, size: usize) -> Vec<Vec<u8>> {
        let gso = if transport == 20 { Gso::TcpV4 } else { Gso::TcpV6 };
        let offload = VirtioNetHeader {
            needs_checksum: true,
            gso,
            header_len: (transport + 20) as u16,
            gso_size: size as u16,
            checksum_start: transport as u16,
            checksum_offset: 16,
            ..VirtioNetHeader::default()
        };
        cut(&offload, packet).unwrap().collect()
    }

    /// Joins as many of the first `packets` as possible, and segments them again.
    fn joined_and_cut(packets: &[Vec<u8>]) -> (usize, Vec<Vec<u8>>) {
        let mut joined = Joined::begin(&packets[0]).unwrap();
        let count = 1 + packets[1..].iter().take_while(|packet| joined.join(packet)).count();
        assert_eq!(joined.count(), count);
        let header = joined.header_len();
        let (offload, head) = joined.finish();
        let mut whole = head.to_vec();
        packets[..count].iter().for_each(|packet| whole.extend_from_slice(&packet[header..]));
        (count, cut(&offload, &whole).unwrap().collect())
    }

    proptest! {
        #[test]
        fn joining_and_segmentation_are_inverse(
            v4 in any::<bool>(), payload in 1usize..20_000, size in 1usize..9000, psh in any::<bool>(),
        ) {
            let packet = if v4 { tcp_v4(payload) } else { tcp_v6(payload) };
            let transport = if v4 { 20 } else { 40 };
            let packet = with(packet, |packet| packet[transport + 13] = if psh { ACK | PSH } else { ACK });
            let pieces = cut_up(&packet, transport, size);
            let (count, again) = joined_and_cut(&pieces);
            prop_assert_eq!(count, pieces.len().min(MOST));
            prop_assert_eq!(&again[..], &pieces[..count]);
        }
    }

    #[test]
    fn different_segments_are_not_joined() {
        let packet = with(tcp_v4(3000), |packet| packet[33] = ACK);
        let pieces = cut_up(&packet, 20, 1000);
        let joins = |next: Vec<u8>| Joined::begin(&pieces[0]).unwrap().join(&next);
        assert!(joins(pieces[1].clone()));
        assert!(!joins(pieces[2].clone()), "another sequence number");
        // Type of service, identification, time to live, source address, port, acknowledgement, flags, window.
        for at in [1, 5, 8, 12, 21, 31, 33, 35] {
            let other = with(pieces[1].clone(), |packet| packet[at] ^= 0x20);
            assert!(!joins(other), "octet {at} differs");
        }
        assert!(!joins(with(pieces[1].clone(), |packet| packet.extend(octets(1)))), "longer than the first");
        let mut short = Joined::begin(&pieces[0]).unwrap();
        assert!(short.join(&with(pieces[1].clone(), |packet| packet.truncate(900))));
        assert!(!short.join(&pieces[2]), "nothing comes after a short one");
    }

    #[test]
    fn only_plain_segments_begin() {
        assert!(Joined::begin(&udp_v4(100)).is_none());
        assert!(Joined::begin(&tcp_v4(0)).is_none(), "no payload");
        assert!(Joined::begin(&with(tcp_v4(9), |packet| packet[33] = ACK | 0x01)).is_none(), "FIN");
        assert!(Joined::begin(&with(tcp_v4(9), |packet| packet[6] = 0x20)).is_none(), "a fragment");
        assert!(Joined::begin(&[]).is_none() && Joined::begin(&[0x45; 30]).is_none());
        let options = with(tcp_v4(9), |packet| {
            packet.splice(20..20, [1, 1, 1, 1]);
            packet[0] = 0x46;
        });
        assert!(Joined::begin(&options).is_none(), "IP options");
    }
}
