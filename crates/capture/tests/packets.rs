//! Packets behind each link layer.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_capture::{Link, Packet, PacketReason, Transport};
use common::{SYN, Tcp, udp, v4, v6};

const SEGMENT: Tcp = Tcp { ports: (40_000, 80), seq: 1, ack: Some(2), flags: 0, payload: 30 };

/// Returns the octets of payload and the ports.
fn parsed(link: u32, octets: &[u8], wire: u32) -> Result<(u32, u16, u16), PacketReason> {
    let header = Link::from_number(link).unwrap().header(octets)?;
    let packet = Packet::parse(&octets[header..], wire - header as u32)?;
    let payload = match packet.transport {
        Transport::Tcp(segment) => segment.payload,
        Transport::Udp { payload } => payload,
    };
    Ok((payload, packet.source.port, packet.destination.port))
}

fn whole(link: u32, octets: &[u8]) -> Result<(u32, u16, u16), PacketReason> {
    parsed(link, octets, octets.len() as u32)
}

#[test]
fn each_link_type_carries_both_versions() {
    for (packet, ether, families) in [
        (v4((1, 2), 6, &SEGMENT.octets()), [0x08, 0x00], &[2u8][..]),
        (v6((1, 2), 6, &SEGMENT.octets()), [0x86, 0xdd], &[10, 24, 28, 30][..]),
    ] {
        let expected = Ok((30, 40_000, 80));
        let behind = |front: &[u8]| [front, &packet].concat();
        [12, 14, 101, 228, 229].iter().for_each(|link| assert_eq!(whole(*link, &packet), expected));
        assert_eq!(whole(1, &behind(&[&[0; 12][..], &ether].concat())), expected);
        let tag = [0x81, 0, 0, 5];
        assert_eq!(whole(1, &behind(&[&[0; 12][..], &tag, &ether].concat())), expected, "802.1Q");
        let outer = [0x88, 0xa8, 0, 6];
        assert_eq!(whole(1, &behind(&[&[0; 12][..], &outer, &tag, &ether].concat())), expected, "QinQ");
        assert_eq!(whole(113, &behind(&[&[0; 14][..], &ether].concat())), expected);
        assert_eq!(whole(276, &behind(&[&ether[..], &[0; 18]].concat())), expected);
        for &family in families {
            assert_eq!(whole(0, &behind(&[family, 0, 0, 0])), expected);
            assert_eq!(whole(0, &behind(&[0, 0, 0, family])), expected);
            assert_eq!(whole(108, &behind(&[0, 0, 0, family])), expected);
        }
    }
    // ARP, an unknown family, and too short.
    assert_eq!(whole(1, &[&[0; 12][..], &[8, 6], &[0; 28]].concat()), Err(PacketReason::NotIp));
    assert_eq!(whole(0, &[7, 0, 0, 0, 0x45]), Err(PacketReason::NotIp));
    assert_eq!(whole(1, &[0; 13]), Err(PacketReason::Cut));
    assert_eq!(whole(276, &[8, 0, 0, 0]), Err(PacketReason::Cut));
    assert_eq!(Link::from_number(105), None);
}

#[test]
fn erf_records_hold_packets_frames_and_ethernet() {
    let packet = v4((1, 2), 6, &SEGMENT.octets());
    let expected = Ok((30, 40_000, 80));
    let record = |kind: u8, flags: u8, front: &[u8]| {
        [&[0; 8][..], &[kind, flags, 0, 0, 0, 0, 0, 0], front, &packet, &[0; 20]].concat()
    };
    assert_eq!(whole(197, &record(22, 5, &[])), expected);
    assert_eq!(whole(197, &record(22, 4, &[])), Err(PacketReason::SentCopy));
    let cells = [0, 0, 2, 2];
    assert_eq!(whole(197, &record(4, 5, &cells)), expected, "VC multiplexing");
    let llc = [&cells[..], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]].concat();
    assert_eq!(whole(197, &record(4, 5, &llc)), expected);
    assert_eq!(whole(197, &record(2, 5, &[&[0; 14][..], &[8, 0]].concat())), expected);
    let extensions = [&[0x80, 0, 0, 0, 0, 0, 0, 0][..], &[0; 8]].concat();
    assert_eq!(whole(197, &record(22 | 0x80, 5, &extensions)), expected);
    assert_eq!(whole(197, &record(22 | 0x80, 5, &[])[..16]), Err(PacketReason::Cut));
    assert_eq!(whole(197, &record(3, 5, &[])), Err(PacketReason::NotIp), "a single cell");
}

/// Padding of Ethernet and octets that were not captured do not count: lengths are those of IP.
#[test]
fn lengths_are_those_of_the_headers() {
    let packet = v4((1, 2), 6, &SEGMENT.octets());
    let padded = [&packet[..], &[0; 20]].concat();
    assert_eq!(whole(101, &padded), Ok((30, 40_000, 80)));
    // With the first 14 octets of TCP the numbers are there.
    assert_eq!(parsed(101, &packet[..34], packet.len() as u32), Ok((30, 40_000, 80)));
    assert_eq!(parsed(101, &packet[..33], packet.len() as u32), Err(PacketReason::Cut));
    // IPv4 with options.
    let mut long = packet.clone();
    long[0] = 0x46;
    long[3] += 4;
    long.splice(20..20, [1, 1, 1, 0]);
    assert_eq!(whole(101, &long), Ok((30, 40_000, 80)));
    // A coalesced packet has the length 0: that on the link counts.
    let mut coalesced = packet;
    coalesced[2..4].copy_from_slice(&[0, 0]);
    assert_eq!(parsed(101, &coalesced, 70_040), Ok((70_000, 40_000, 80)));
}

#[test]
fn extension_headers_are_skipped() {
    let udp = udp((53, 5353), 12);
    let hop = [44, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let first = [60, 0, 0, 1, 0, 0, 0, 9];
    let options = [17, 0, 1, 4, 0, 0, 0, 0];
    let chain = [&hop[..], &first, &options, &udp].concat();
    assert_eq!(whole(101, &v6((1, 2), 0, &chain)), Ok((12, 53, 5353)));
    let mut later = v6((1, 2), 44, &[&first[..], &options, &udp].concat());
    later[40 + 3] = 8;
    assert_eq!(whole(101, &later), Err(PacketReason::LaterFragment));
    // A chain that ends beyond the packet.
    assert_eq!(whole(101, &v6((1, 2), 0, &[6, 200, 0, 0, 0, 0, 0, 0])), Err(PacketReason::Malformed));
}

#[test]
fn what_is_no_packet_of_tcp_or_udp_has_a_reason() {
    assert_eq!(whole(101, &v4((1, 2), 1, &[8, 0, 0, 0])), Err(PacketReason::OtherProtocol));
    let mut later = v4((1, 2), 17, &udp((1, 2), 40));
    later[7] = 3;
    assert_eq!(whole(101, &later), Err(PacketReason::LaterFragment));
    // The first fragment has the length of the whole datagram.
    let mut first = v4((1, 2), 17, &udp((1, 2), 3000)[..1000]);
    first[6] = 0x20;
    assert_eq!(whole(101, &first), Ok((3000, 1, 2)));
    // A datagram that claims more than its packet has is none.
    first[6] = 0;
    assert_eq!(whole(101, &first), Err(PacketReason::Malformed));
    for (more, expected) in [(1, Ok((3000, 1, 2))), (0, Err(PacketReason::Malformed))] {
        let content = [&[17, 0, 0, more, 0, 0, 0, 9], &udp((1, 2), 3000)[..1000]].concat();
        assert_eq!(whole(101, &v6((1, 2), 44, &content)), expected);
    }
    for (at, octet) in [(0, 0x44), (3, 10), (2, 0xff), (32, 0x40), (32, 0xf0)] {
        let mut wrong = v4((1, 2), 6, &Tcp { flags: SYN, payload: 0, ..SEGMENT }.octets());
        wrong[at] = octet;
        assert_eq!(whole(101, &wrong), Err(PacketReason::Malformed), "octet {at}");
    }
    let mut short = v4((1, 2), 17, &udp((1, 2), 0));
    short[25] = 7;
    assert_eq!(whole(101, &short), Err(PacketReason::Malformed));
    assert_eq!(whole(101, &[0x70; 40]), Err(PacketReason::NotIp));
    assert_eq!(whole(101, &[]), Err(PacketReason::Cut));
}
