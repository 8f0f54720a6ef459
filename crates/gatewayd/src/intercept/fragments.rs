//! SYNs that arrive in fragments.
//!
//! The rule with `tproxy` makes the kernel reassemble packets before it applies the rules (`nf_defrag_ipv4`,
//! `nf_defrag_ipv6`), so that they match a SYN in fragments of any size. When the kernel forwards the packet to the
//! device, it fragments it again, to the original sizes. The fragments therefore arrive here completely, in order and
//! without overlaps; anything else is dropped.

use std::collections::VecDeque;

use cellway_wire::ip::checksum::checksum;

/// Most incomplete packets. All fragments of one arrive at once; those of another one may be between them.
const MOST: usize = 16;
/// Most octets of a packet.
const LARGEST: usize = 65_535;
/// Headers of IPv6 that may be before a fragment header (RFC 8200, section 4.1): hop-by-hop options, routing,
/// destination options; and the fragment header itself.
const BEFORE: [u8; 3] = [0, 43, 60];
const FRAGMENT: u8 = 44;

/// Incomplete packets.
#[derive(Debug, Default)]
pub(super) struct Fragments(VecDeque<Partial>);

/// A packet, as far as it has arrived.
#[derive(Debug)]
struct Partial {
    /// The fields that its fragments have in common: addresses, protocol and identification.
    key: Vec<u8>,
    /// The headers as they are without fragmentation, then the payload.
    packet: Vec<u8>,
    /// The length of the headers.
    headers: usize,
    pieces: Vec<Vec<u8>>,
}

/// A packet that arrived in fragments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Whole {
    /// The packet in one piece.
    pub(super) packet: Vec<u8>,
    /// Its fragments, as they arrived.
    pub(super) pieces: Vec<Vec<u8>>,
}

/// The headers of a fragment, as they are without fragmentation.
struct Piece<'a> {
    key: Vec<u8>,
    headers: Vec<u8>,
    /// The offset of the payload in that of the packet (octets).
    offset: usize,
    more: bool,
    payload: &'a [u8],
}

fn word(packet: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(packet.get(at..at + 2)?.try_into().ok()?))
}

/// RFC 791, section 3.1.
fn v4(packet: &[u8]) -> Option<Piece<'_>> {
    let field = word(packet, 6)?;
    let (more, offset) = (field & 0x2000 != 0, usize::from(field & 0x1fff) * 8);
    let (length, total) = (usize::from(packet[0] & 0x0f) * 4, usize::from(word(packet, 2)?));
    if !more && offset == 0 || length < 20 || total < length {
        return None;
    }
    let (mut headers, payload) = (packet.get(..length)?.to_vec(), packet.get(length..total)?);
    // Addresses, protocol, identification.
    let key = [&packet[12..20], &packet[9..10], &packet[4..6]].concat();
    headers[6..8].copy_from_slice(&(field & 0x4000).to_be_bytes());
    Some(Piece { key, headers, offset, more, payload })
}

/// RFC 8200, section 4.5.
fn v6(packet: &[u8]) -> Option<Piece<'_>> {
    let total = 40 + usize::from(word(packet, 4)?);
    // The offset of the next header's number, and the offset of that header.
    let (mut number, mut at) = (6, 40);
    while BEFORE.contains(packet.get(number)?) {
        (number, at) = (at, at + (usize::from(*packet.get(at + 1)?) + 1) * 8);
    }
    if packet[number] != FRAGMENT {
        return None;
    }
    let field = word(packet, at + 2)?;
    let mut headers = packet.get(..at)?.to_vec();
    headers[number] = *packet.get(at)?;
    let key = [packet.get(8..40)?, packet.get(at + 4..at + 8)?].concat();
    let payload = packet.get(at + 8..total)?;
    Some(Piece { key, headers, offset: usize::from(field & 0xfff8), more: field & 1 != 0, payload })
}

/// Sets the length, and the checksum of IPv4.
fn finish(packet: &mut [u8], headers: usize) -> Option<()> {
    if packet[0] >> 4 == 4 {
        let total = u16::try_from(packet.len()).ok()?;
        packet[2..4].copy_from_slice(&total.to_be_bytes());
        packet[10..12].fill(0);
        let sum = checksum(&packet[..headers]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    } else {
        let payload = u16::try_from(packet.len().checked_sub(40)?).ok()?;
        packet[4..6].copy_from_slice(&payload.to_be_bytes());
    }
    Some(())
}

impl Fragments {
    /// Adds an IP packet. Returns the whole packet if this was its last fragment.
    pub(super) fn add(&mut self, packet: &[u8]) -> Option<Whole> {
        let piece = match packet.first()? >> 4 {
            4 => v4(packet)?,
            6 => v6(packet)?,
            _ => return None,
        };
        let known = self.0.iter().position(|partial| partial.key == piece.key);
        let mut partial = match (known.and_then(|at| self.0.remove(at)), piece.offset) {
            (_, 0) => {
                let headers = piece.headers.len();
                Partial { key: piece.key, packet: piece.headers, headers, pieces: Vec::new() }
            }
            (Some(partial), offset) if partial.packet.len() - partial.headers == offset => partial,
            // One is missing, or two overlap.
            _ => return None,
        };
        if piece.payload.is_empty() {
            return None;
        }
        partial.packet.extend_from_slice(piece.payload);
        partial.pieces.push(packet.to_vec());
        if partial.packet.len() > LARGEST {
            return None;
        }
        if piece.more {
            if self.0.len() == MOST {
                self.0.pop_front();
            }
            self.0.push_back(partial);
            return None;
        }
        let Partial { mut packet, headers, pieces, .. } = partial;
        finish(&mut packet, headers)?;
        Some(Whole { packet, pieces })
    }
}

#[cfg(test)]
mod tests {
    use etherparse::{IpFragOffset, IpNumber, Ipv4Header, Ipv6FragmentHeader, Ipv6Header};
    use proptest::prelude::*;

    use super::*;

    /// Fragments made by the library, of `payload` cut at multiples of eight octets.
    fn pieces(v6: bool, payload: &[u8], cuts: &[usize], id: u16) -> Vec<Vec<u8>> {
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut * 8).filter(|cut| *cut < payload.len()).collect();
        ends.sort_unstable();
        ends.dedup();
        ends.push(payload.len());
        let mut begin = 0;
        let of = |end: usize| {
            let (part, more) = (&payload[begin..end], end < payload.len());
            let offset = IpFragOffset::try_new((begin / 8) as u16).unwrap();
            begin = end;
            let mut octets = Vec::new();
            if v6 {
                let header = Ipv6Header {
                    payload_length: part.len() as u16 + 8,
                    next_header: IpNumber::IPV6_FRAGMENTATION_HEADER,
                    source: [1; 16],
                    destination: [2; 16],
                    ..Default::default()
                };
                header.write(&mut octets).unwrap();
                Ipv6FragmentHeader::new(IpNumber::TCP, offset, more, id.into()).write(&mut octets).unwrap();
            } else {
                let mut header =
                    Ipv4Header::new(part.len() as u16, 64, IpNumber::TCP, [10, 0, 0, 2], [10, 0, 1, 2]).unwrap();
                (header.identification, header.fragment_offset, header.more_fragments) = (id, offset, more);
                header.dont_fragment = false;
                header.write(&mut octets).unwrap();
            }
            octets.extend_from_slice(part);
            octets
        };
        ends.into_iter().map(of).collect()
    }

    /// Returns the payload of a packet as the library parses it, and true if the library takes it for a fragment.
    fn read(packet: &[u8]) -> (Vec<u8>, bool) {
        let ip = etherparse::IpSlice::from_slice(packet).unwrap();
        let payload = ip.payload();
        assert_eq!(payload.ip_number, IpNumber::TCP);
        (payload.payload.to_vec(), payload.fragmented)
    }

    proptest! {
        #[test]
        fn fragments_in_order_are_reassembled(
            v6: bool,
            payload in prop::collection::vec(any::<u8>(), 40..3000),
            cuts in prop::collection::vec(1_usize..375, 1..6),
            other in prop::collection::vec(1_usize..375, 1..6),
        ) {
            let (one, two) = (pieces(v6, &payload, &cuts, 1), pieces(v6, &payload, &other, 2));
            prop_assume!(one.len() > 1 && two.len() > 1);
            let mut fragments = Fragments::default();
            let mut whole = Vec::new();
            // Those of two packets in turn.
            for at in 0..one.len().max(two.len()) {
                whole.extend([&one, &two].into_iter().filter_map(|all| fragments.add(all.get(at)?)));
            }
            prop_assert_eq!(whole.len(), 2);
            for Whole { packet, pieces } in whole {
                prop_assert_eq!(read(&packet), (payload.clone(), false));
                prop_assert!(pieces == one || pieces == two);
                if !v6 {
                    prop_assert_eq!(checksum(&packet[..20]), 0);
                }
            }
            prop_assert!(fragments.0.is_empty());
        }

        #[test]
        fn nothing_makes_it_panic(
            mut packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 1..40),
            six: bool,
        ) {
            let mut fragments = Fragments::default();
            for packet in &mut packets {
                if let Some(first) = packet.first_mut() {
                    *first = if six { 0x60 } else { 0x45 };
                }
                fragments.add(packet);
            }
            prop_assert!(fragments.0.len() <= MOST);
        }
    }

    #[test]
    fn overlapping_and_incomplete_fragments_are_dropped() {
        let mut fragments = Fragments::default();
        let all = pieces(false, &[7; 100], &[2, 4], 1);
        for wrong in [vec![&all[0], &all[2]], vec![&all[0], &all[1], &all[1], &all[2]], vec![&all[1], &all[2]]] {
            assert!(wrong.into_iter().all(|piece| fragments.add(piece).is_none()));
            assert!(fragments.0.is_empty());
        }
        for id in 0..1000 {
            fragments.add(&pieces(id % 2 == 0, &[7; 100], &[2], id)[0]);
        }
        assert_eq!(fragments.0.len(), MOST);
        // A packet that is larger than allowed.
        let mut piece = pieces(false, &[7; 2000], &[249], 1).remove(0);
        let mut added = 0;
        while added < 40 {
            piece[6..8].copy_from_slice(&(0x2000 | (added * 249_u16)).to_be_bytes());
            fragments.add(&piece);
            added += 1;
        }
        assert!(fragments.0.iter().all(|partial| partial.packet.len() <= LARGEST));
        // No fragments at all.
        assert!(fragments.add(&[]).is_none());
        let mut plain = pieces(false, &[7; 100], &[], 1).remove(0);
        assert!(fragments.add(&plain).is_none());
        plain[6] = 0x40;
        assert!(fragments.add(&plain).is_none(), "a packet that must not be fragmented");
    }
}
