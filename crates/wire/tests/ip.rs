//! Segmentation and fragmentation, checked by etherparse: it parses the results, verifies their checksums and
//! reassembles them.
#![allow(clippy::unwrap_used)]

use cellway_wire::ip::{Fit, Gso, Malformed, Packet, VirtioNetHeader, checksum::checksum, cut, fit};
use etherparse::defrag::IpDefragPool;
use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TcpHeader, TransportSlice};
use proptest::prelude::*;

/// Returns a payload of `count` octets.
fn octets(count: usize, seed: u8) -> Vec<u8> {
    (0..count).map(|i| (i * 31 + i / 253) as u8 ^ seed).collect()
}

/// Returns a coalesced TCP segment with only the checksum of the pseudo-header, as a sending host leaves it, and its
/// header.
fn coalesced(v6: bool, tcp: TcpHeader, payload: &[u8], gso_size: u16) -> (VirtioNetHeader, Vec<u8>) {
    let builder = if v6 {
        PacketBuilder::ipv6([0xfd; 16], [0xfe; 16], 64)
    } else {
        PacketBuilder::ipv4([10, 1, 2, 3], [10, 4, 5, 6], 64)
    };
    let mut packet = Vec::new();
    builder.tcp_header(tcp).write(&mut packet, payload).unwrap();
    let start = if v6 { 40 } else { 20 };
    // The sum of the pseudo-header alone: subtract the segment from the complete sum.
    let complete = u16::from_be_bytes([packet[start + 16], packet[start + 17]]);
    packet[start + 16..start + 18].copy_from_slice(&[0, 0]);
    let segment = !checksum(&packet[start..]);
    let pseudo = [(!complete).to_be_bytes(), (!segment).to_be_bytes()].concat();
    let partial = !checksum(&pseudo);
    packet[start + 16..start + 18].copy_from_slice(&partial.to_be_bytes());
    let gso = if v6 { Gso::TcpV6 } else { Gso::TcpV4 };
    let header = VirtioNetHeader {
        needs_checksum: true,
        gso,
        ecn: true,
        header_len: packet.len().min(100) as u16,
        gso_size,
        checksum_start: start as u16,
        checksum_offset: 16,
        ..VirtioNetHeader::default()
    };
    (header, packet)
}

/// Asserts that both checksums of a whole TCP or UDP packet are correct, and returns its slices.
fn verified(packet: &[u8]) -> SlicedPacket<'_> {
    let sliced = SlicedPacket::from_ip(packet).unwrap();
    let (tcp, udp) = match sliced.transport.as_ref().unwrap() {
        TransportSlice::Tcp(tcp) => (Some(tcp), None),
        TransportSlice::Udp(udp) => (None, Some(udp)),
        other => panic!("{other:?}"),
    };
    match sliced.net.as_ref().unwrap() {
        NetSlice::Ipv4(ip) => {
            let ip = ip.header().to_header();
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            assert_eq!(usize::from(ip.total_len), packet.len());
            if let Some(tcp) = tcp {
                assert_eq!(tcp.checksum(), tcp.calc_checksum_ipv4(ip.source, ip.destination).unwrap());
            }
            if let Some(udp) = udp {
                let sum = udp.to_header().calc_checksum_ipv4(&ip, udp.payload()).unwrap();
                assert!(udp.checksum() == 0 || udp.checksum() == sum);
            }
        }
        NetSlice::Ipv6(ip) => {
            let ip = ip.header().to_header();
            assert_eq!(usize::from(ip.payload_length) + 40, packet.len());
            if let Some(tcp) = tcp {
                assert_eq!(tcp.checksum(), tcp.calc_checksum_ipv6(ip.source, ip.destination).unwrap());
            }
            if let Some(udp) = udp {
                assert_eq!(udp.checksum(), udp.to_header().calc_checksum_ipv6(&ip, udp.payload()).unwrap());
            }
        }
        other => panic!("{other:?}"),
    }
    if let Some(udp) = udp {
        assert_eq!(usize::from(udp.length()), udp.payload().len() + 8);
    }
    sliced
}

fn tcp(packet: &[u8]) -> (TcpHeader, Vec<u8>) {
    let sliced = verified(packet);
    let Some(TransportSlice::Tcp(tcp)) = sliced.transport else { panic!("no TCP") };
    (tcp.to_header(), tcp.payload().to_vec())
}

fn identification(packet: &[u8]) -> u16 {
    u16::from_be_bytes([packet[4], packet[5]])
}

#[test]
fn flags_are_on_the_segments_that_would_have_had_them() {
    let mut header = TcpHeader::new(5000, 5001, u32::MAX - 1000, 1000);
    (header.ack, header.psh, header.fin, header.cwr, header.ece) = (true, true, true, true, true);
    for v6 in [false, true] {
        let (offload, packet) = coalesced(v6, header.clone(), &octets(3000, 0), 1400);
        let pieces: Vec<Vec<u8>> = cut(&offload, &packet).unwrap().collect();
        let found: Vec<(u32, bool, bool, bool, bool, bool, usize)> = pieces
            .iter()
            .map(|piece| tcp(piece))
            .map(|(h, payload)| (h.sequence_number, h.ack, h.ece, h.cwr, h.psh, h.fin, payload.len()))
            .collect();
        // The sequence number wraps round.
        let expected = [
            (u32::MAX - 1000, true, true, true, false, false, 1400),
            (399, true, true, false, false, false, 1400),
            (1799, true, true, false, true, true, 200),
        ];
        assert_eq!(found, expected);
        if !v6 {
            let first = identification(&packet);
            assert_eq!(pieces.iter().map(|p| identification(p) - first).collect::<Vec<_>>(), [0, 1, 2]);
        }
    }
}

#[test]
fn a_packet_of_64_kib_is_cut() {
    for (v6, room) in [(false, 65_535 - 40), (true, 65_535 - 20)] {
        let payload = octets(room, 3);
        let (offload, packet) = coalesced(v6, TcpHeader::new(1, 2, 0, 9), &payload, 1448);
        let pieces = cut(&offload, &packet).unwrap();
        assert_eq!(pieces.len(), room.div_ceil(1448));
        assert!(pieces.flat_map(|piece| tcp(&piece).1).eq(payload));
    }
}

#[test]
fn contradictory_headers_are_refused() {
    let (good, packet) = coalesced(false, TcpHeader::new(1, 2, 0, 9), &octets(3000, 0), 1000);
    let reason = |header: VirtioNetHeader, packet: &[u8]| cut(&header, packet).unwrap_err().name();
    assert_eq!(cut(&good, &packet).unwrap().len(), 3);
    assert_eq!(cut(&VirtioNetHeader { gso_size: 0, ..good }, &packet).unwrap_err(), Malformed::GsoSize);
    assert_eq!(reason(VirtioNetHeader { gso: Gso::TcpV6, ..good }, &packet), "gso-packet");
    assert_eq!(reason(VirtioNetHeader { gso: Gso::Udp, ..good }, &packet), "gso-packet");
    assert_eq!(reason(VirtioNetHeader { header_len: 4000, ..good }, &packet), "gso-header");
    assert_eq!(reason(VirtioNetHeader { checksum_start: 24, ..good }, &packet), "checksum-place");
    assert_eq!(reason(VirtioNetHeader { checksum_offset: 6, ..good }, &packet), "checksum-place");
    let single = VirtioNetHeader { gso: Gso::None, ..good };
    assert_eq!(reason(VirtioNetHeader { checksum_start: 19, ..single }, &packet), "checksum-place");
    // 3040 octets: the last offset for a checksum is 3038.
    assert_eq!(reason(VirtioNetHeader { checksum_start: 3023, ..single }, &packet), "checksum-place");
    assert_eq!(cut(&VirtioNetHeader { checksum_start: 3022, ..single }, &packet).unwrap().len(), 1);
    let mut short = packet.clone();
    // A TCP header of four words.
    short[32] = 0x40;
    assert_eq!(reason(good, &short), "gso-header");
}

#[test]
fn a_udp_datagram_without_checksum_stays_without() {
    let mut packet = Vec::new();
    PacketBuilder::ipv4([10, 1, 2, 3], [10, 4, 5, 6], 64).udp(1, 2).write(&mut packet, &octets(30, 0)).unwrap();
    packet[26..28].copy_from_slice(&[0, 0]);
    let offload = VirtioNetHeader { gso: Gso::Udp, gso_size: 20, ..VirtioNetHeader::default() };
    let pieces: Vec<Vec<u8>> = cut(&offload, &packet).unwrap().collect();
    assert_eq!(
        pieces.iter().map(|piece| (piece.len(), piece[26], piece[27])).collect::<Vec<_>>(),
        [(48, 0, 0), (38, 0, 0)]
    );
}

/// Returns an IPv4 packet with the options: NOP, a record route of 7 (not copied), a security option of 4 (copied),
/// end.
fn with_options(payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv4([10, 1, 2, 3], [10, 4, 5, 6], 64).udp(1, 2).write(&mut packet, payload).unwrap();
    packet.splice(20..20, [1, 7, 7, 4, 0, 0, 0, 0, 0x82, 4, 9, 9]);
    let total = packet.len() as u16;
    packet[0] = 0x48;
    packet[2..4].copy_from_slice(&total.to_be_bytes());
    packet[6] = 0;
    packet[10..12].copy_from_slice(&[0, 0]);
    let sum = checksum(&packet[..32]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

#[test]
fn options_are_copied_by_their_flag() {
    let packet = with_options(&octets(100, 0));
    let Fit::Fragments(fragments) = fit(&Packet::parse(&packet).unwrap(), 68) else { panic!("not fragmented") };
    let fragments: Vec<Vec<u8>> = fragments.collect();
    assert_eq!(fragments[0][20..32], packet[20..32]);
    for later in &fragments[1..] {
        assert_eq!((later[0], &later[20..24]), (0x46, &[0x82, 4, 9, 9][..]));
    }
    // 108 octets: 32 after 32 of header, then 40 after 24, then the remaining 36.
    assert_eq!(fragments.iter().map(Vec::len).collect::<Vec<_>>(), [64, 64, 60]);
}

#[test]
fn packets_that_must_not_be_fragmented_are_too_big() {
    let mut six = Vec::new();
    PacketBuilder::ipv6([1; 16], [2; 16], 64).udp(1, 2).write(&mut six, &octets(1400, 0)).unwrap();
    let mut df = Vec::new();
    PacketBuilder::ipv4([10, 1, 2, 3], [10, 4, 5, 6], 64).udp(1, 2).write(&mut df, &octets(1400, 0)).unwrap();
    for packet in [&six, &df] {
        let packet = Packet::parse(packet).unwrap();
        assert!(matches!(fit(&packet, packet.octets().len()), Fit::Whole));
        assert!(matches!(fit(&packet, packet.octets().len() - 1), Fit::TooBig));
    }
    // Not even eight octets fit after the header.
    let options = with_options(&octets(100, 0));
    assert!(matches!(fit(&Packet::parse(&options).unwrap(), 39), Fit::TooBig));
    assert!(matches!(fit(&Packet::parse(&options).unwrap(), 40), Fit::Fragments(_)));
}

proptest! {
    /// The pieces of a segment, reassembled by their sequence numbers, are the segment.
    #[test]
    fn a_cut_segment_is_whole_again(
        v6: bool,
        (len, seed, gso_size) in (0usize..9000, any::<u8>(), 1u16..3000),
        (seq, options) in (any::<u32>(), 0usize..=10),
    ) {
        let mut header = TcpHeader::new(5000, 5001, seq, 1000);
        header.ack = true;
        header.psh = true;
        header.set_options_raw(&vec![1; options * 4]).unwrap();
        let gso_size = gso_size.max(len as u16 / 64 + 1);
        let payload = octets(len, seed);
        let (offload, packet) = coalesced(v6, header.clone(), &payload, gso_size);
        let pieces = cut(&offload, &packet).unwrap();
        prop_assert_eq!(pieces.len(), len.div_ceil(gso_size.into()).max(1));
        let mut whole = vec![0; len];
        let mut covered = 0;
        for piece in pieces {
            let (piece_header, piece_payload) = tcp(&piece);
            let at = piece_header.sequence_number.wrapping_sub(seq) as usize;
            whole[at..at + piece_payload.len()].copy_from_slice(&piece_payload);
            covered += piece_payload.len();
            prop_assert!(piece_payload.len() <= gso_size.into());
            prop_assert_eq!(piece_header.options.as_slice(), header.options.as_slice());
        }
        prop_assert_eq!((whole, covered), (payload, len));
    }

    #[test]
    fn a_cut_datagram_is_whole_again(v6: bool, len in 1usize..5000, seed: u8, gso_size in 50u16..2000) {
        let payload = octets(len, seed);
        let mut packet = Vec::new();
        let builder = if v6 {
            PacketBuilder::ipv6([0xfd; 16], [0xfe; 16], 64).udp(1, 2)
        } else {
            PacketBuilder::ipv4([10, 1, 2, 3], [10, 4, 5, 6], 64).udp(1, 2)
        };
        builder.write(&mut packet, &payload).unwrap();
        let offload = VirtioNetHeader { gso: Gso::Udp, gso_size, ..VirtioNetHeader::default() };
        let mut whole = Vec::new();
        for piece in cut(&offload, &packet).unwrap() {
            let Some(TransportSlice::Udp(udp)) = verified(&piece).transport else { panic!("no UDP") };
            prop_assert!(udp.checksum() != 0);
            whole.extend_from_slice(udp.payload());
        }
        prop_assert_eq!(whole, payload);
    }

    /// A checksum left to the hardware is completed: it equals that of a host that computed it itself.
    #[test]
    fn a_checksum_is_completed(v6: bool, len in 0usize..2000, seed: u8) {
        let (offload, packet) = coalesced(v6, TcpHeader::new(9, 10, 11, 12), &octets(len, seed), 1);
        let single = VirtioNetHeader { gso: Gso::None, gso_size: 0, ..offload };
        let trailing = [&packet[..], &[1, 2, 3]].concat();
        let pieces: Vec<Vec<u8>> = cut(&single, &trailing).unwrap().collect();
        prop_assert_eq!(pieces.len(), 1);
        prop_assert_eq!(tcp(&pieces[0]).1, octets(len, seed));
    }

    /// Fragments, and fragments of fragments, reassembled by etherparse, are the packet.
    #[test]
    fn fragments_are_whole_again(len in 1500usize..6000, mtu in 100usize..1500, less in 68usize..100, seed: u8) {
        let packet = with_options(&octets(len, seed));
        let parsed = Packet::parse(&packet).unwrap();
        let Fit::Fragments(fragments) = fit(&parsed, mtu) else { panic!("not fragmented") };
        let mut pool = IpDefragPool::<(), ()>::new();
        let mut whole = None;
        for fragment in fragments {
            prop_assert!(fragment.len() <= mtu);
            let fragment = Packet::parse(&fragment).unwrap();
            let parts: Vec<Vec<u8>> = match fit(&fragment, less) {
                Fit::Fragments(parts) => parts.collect(),
                Fit::Whole => vec![fragment.octets().to_vec()],
                Fit::TooBig => panic!("too big"),
            };
            for part in parts {
                prop_assert!(part.len() <= less && whole.is_none());
                Packet::parse(&part).unwrap();
                whole = pool.process_sliced_packet(&SlicedPacket::from_ip(&part).unwrap(), (), ()).unwrap();
            }
        }
        prop_assert_eq!(whole.unwrap().payload, parsed.payload());
    }
}
