//! Undoes the offload of a sending host: a coalesced TCP segment or UDP datagram is segmented into the packets that
//! would have been on the wire, and a checksum that was left to the hardware is completed.
//!
//! The network of cells carries real packets of the MTU of its path, so packets from a TUN device pass here first.

use std::net::IpAddr;

use super::checksum::{Sum, checksum};
use super::packet::IPV6_HEADER;
use super::{Gso, Malformed, Packet, VirtioNetHeader, protocol};

/// Octets of a TCP header without options. RFC 9293.
const TCP_HEADER: usize = 20;
/// Octets of a UDP header. RFC 768.
const UDP_HEADER: usize = 8;
/// FIN and PSH, which only the last of the segments has.
const LAST_ONLY: u8 = 0x01 | 0x08;
/// CWR, which only the first of the segments has. RFC 3168, section 6.1.2.
const FIRST_ONLY: u8 = 0x80;

/// The work for each piece.
#[derive(Clone, Copy, Debug)]
enum Job {
    /// None.
    Copy,
    /// The checksum from `start` to the end, to be stored at `place`.
    Complete { start: usize, place: usize },
    /// A TCP segment is segmented.
    Tcp,
    /// A UDP datagram is segmented; with its checksum, or without one as it arrived.
    Udp { checksum: bool },
}

/// The packets of one coalesced packet. Each is made on demand, in an allocation of its own size.
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    packet: Packet<'a>,
    job: Job,
    /// Octets that each piece repeats.
    header: usize,
    /// Octets of payload in each piece but the last.
    size: usize,
    /// Pieces made.
    made: usize,
    /// Pieces in all.
    count: usize,
}

/// Segments `packet` as its virtio-net header requests. All checks are made here: the pieces have no errors.
///
/// A segment size larger than the payload gives one packet. Legacy UDP fragmentation offload is refused as
/// [`Malformed::GsoType`] by [`VirtioNetHeader::parse`].
pub fn cut<'a>(offload: &VirtioNetHeader, packet: &'a [u8]) -> Result<Pieces<'a>, Malformed> {
    let packet = Packet::parse(packet)?;
    let found = packet.octets().len();
    let transport = packet.header_len();
    let (start, offset) = (usize::from(offload.checksum_start), usize::from(offload.checksum_offset));
    if offload.needs_checksum && (start < transport || start + offset + 2 > found) {
        return Err(Malformed::ChecksumPlace { start, offset, header: transport, found });
    }
    if offload.gso == Gso::None {
        let job = if offload.needs_checksum { Job::Complete { start, place: start + offset } } else { Job::Copy };
        return Ok(Pieces { packet, job, header: found, size: 0, made: 0, count: 1 });
    }
    if offload.gso_size == 0 {
        return Err(Malformed::GsoSize);
    }
    if usize::from(offload.header_len) > found {
        return Err(Malformed::GsoHeader { end: offload.header_len.into(), found });
    }
    let (expected, v4, v6, number, place) = match offload.gso {
        Gso::TcpV4 | Gso::None => ("TCP over IPv4", true, false, protocol::TCP, 16),
        Gso::TcpV6 => ("TCP over IPv6", false, true, protocol::TCP, 16),
        Gso::Udp => ("UDP", true, true, protocol::UDP, 6),
    };
    let version = if packet.is_v4() { v4 } else { v6 };
    if !version || packet.protocol() != number || packet.fragment().is_some() {
        return Err(Malformed::GsoPacket { expected, protocol: packet.protocol() });
    }
    if offload.needs_checksum && (start != transport || offset != place) {
        return Err(Malformed::ChecksumPlace { start, offset, header: transport, found });
    }
    let payload = packet.payload();
    let own = match offload.gso {
        Gso::Udp => UDP_HEADER,
        _ => payload.get(12).map_or(TCP_HEADER, |&octet| usize::from(octet >> 4) * 4),
    };
    let least = if offload.gso == Gso::Udp { UDP_HEADER } else { TCP_HEADER };
    let header = transport + own;
    if own < least || header > found {
        return Err(Malformed::GsoHeader { end: header, found });
    }
    let job = match offload.gso {
        // A UDP checksum of 0 over IPv4 is none. RFC 768.
        Gso::Udp => Job::Udp { checksum: offload.needs_checksum || !packet.is_v4() || payload[6..8] != [0, 0] },
        _ => Job::Tcp,
    };
    let size = usize::from(offload.gso_size);
    let count = (found - header).div_ceil(size).max(1);
    Ok(Pieces { packet, job, header, size, made: 0, count })
}

fn put(octets: &mut [u8], at: usize, number: u16) {
    octets[at..at + 2].copy_from_slice(&number.to_be_bytes());
}

impl Pieces<'_> {
    /// Returns the checksum of the transport header and payload of `piece`, whose own checksum field is zero.
    fn sum(&self, piece: &[u8]) -> Sum {
        let (from, to): (IpAddr, IpAddr) = (self.packet.source(), self.packet.destination());
        let segment = &piece[self.packet.header_len()..];
        Sum::default().with_pseudo_header(from, to, self.packet.protocol(), segment.len() as u32).with(segment)
    }

    /// Sets length, identification and checksum of the IP header.
    fn renew_ip(&self, piece: &mut [u8], index: usize) {
        let len = piece.len();
        if self.packet.is_v4() {
            put(piece, 2, len as u16);
            let identification = u16::from_be_bytes([piece[4], piece[5]]);
            put(piece, 4, identification.wrapping_add(index as u16));
            put(piece, 10, 0);
            let sum = checksum(&piece[..self.packet.header_len()]);
            put(piece, 10, sum);
        } else {
            put(piece, 4, (len - IPV6_HEADER) as u16);
        }
    }

    fn renew_tcp(&self, piece: &mut [u8], index: usize) {
        let tcp = self.packet.header_len();
        let seq = u32::from_be_bytes([piece[tcp + 4], piece[tcp + 5], piece[tcp + 6], piece[tcp + 7]]);
        let seq = seq.wrapping_add((index * self.size) as u32);
        piece[tcp + 4..tcp + 8].copy_from_slice(&seq.to_be_bytes());
        if index + 1 < self.count {
            piece[tcp + 13] &= !LAST_ONLY;
        }
        if index > 0 {
            piece[tcp + 13] &= !FIRST_ONLY;
        }
        put(piece, tcp + 16, 0);
        let sum = self.sum(piece).checksum();
        put(piece, tcp + 16, sum);
    }

    fn renew_udp(&self, piece: &mut [u8], with_checksum: bool) {
        let udp = self.packet.header_len();
        put(piece, udp + 4, (piece.len() - udp) as u16);
        put(piece, udp + 6, 0);
        if with_checksum {
            let sum = self.sum(piece).checksum_not_zero();
            put(piece, udp + 6, sum);
        }
    }
}

impl Iterator for Pieces<'_> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let index = self.made;
        if index == self.count {
            return None;
        }
        self.made += 1;
        let (header, payload) = self.packet.octets().split_at(self.header);
        let from = index * self.size;
        let to = if index + 1 == self.count { payload.len() } else { from + self.size };
        let mut piece = Vec::with_capacity(header.len() + to - from);
        piece.extend_from_slice(header);
        piece.extend_from_slice(&payload[from..to]);
        match self.job {
            Job::Copy => {}
            Job::Complete { start, place } => {
                // The field holds the sum of the pseudo-header, which is so included.
                let sum = Sum::default().with(&piece[start..]).checksum_not_zero();
                put(&mut piece, place, sum);
            }
            Job::Tcp => {
                self.renew_ip(&mut piece, index);
                self.renew_tcp(&mut piece, index);
            }
            Job::Udp { checksum } => {
                self.renew_ip(&mut piece, index);
                self.renew_udp(&mut piece, checksum);
            }
        }
        Some(piece)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count - self.made, Some(self.count - self.made))
    }
}

impl ExactSizeIterator for Pieces<'_> {}
