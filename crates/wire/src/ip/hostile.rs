//! Arbitrary octets from a host: nothing panics, and accepted packets are consistent.

use proptest::prelude::*;

use super::samples::{extended, octets, tcp_v4, tcp_v6, udp_v4, with};
use super::{Fit, Gso, Packet, Trouble, VirtioNetHeader, cut, fit, hop, icmp_error, recognise};

/// Passes octets to all functions that parse those of a host, one after the other; the results must be consistent.
fn use_all(octets: &[u8], offload: &VirtioNetHeader) {
    let _ = VirtioNetHeader::parse(octets);
    let _ = hop(&mut octets.to_vec());
    if let Ok(pieces) = cut(offload, octets) {
        let (expected, mut made) = (pieces.len(), 0);
        for piece in pieces {
            Packet::parse(&piece).unwrap();
            made += 1;
        }
        assert_eq!(made, expected);
    }
    if let Ok(found) = recognise(octets) {
        let packet = found.packet;
        assert!(packet.octets().len() <= octets.len() && packet.header_len() <= packet.octets().len());
        for router in ["10.0.0.9".parse().unwrap(), "fe80::9".parse().unwrap()] {
            if let Some(error) = icmp_error(Trouble::TimeExceeded, router, &packet) {
                recognise(&error).unwrap();
            }
        }
        if let Fit::Fragments(fragments) = fit(&packet, 76) {
            assert!(fragments.clone().count() > 1);
            fragments.for_each(|fragment| {
                assert!(Packet::parse(&fragment).unwrap().octets().len() <= 76);
            });
        }
    }
}

fn offload() -> impl Strategy<Value = VirtioNetHeader> {
    let gso = prop::sample::select(vec![Gso::None, Gso::TcpV4, Gso::TcpV6, Gso::Udp]);
    let place = (prop::sample::select(vec![0u16, 20, 40, 500]), prop::sample::select(vec![0u16, 6, 16, 60_000]));
    (gso, 0u16..64, any::<bool>(), place).prop_map(|(gso, gso_size, needs_checksum, place)| VirtioNetHeader {
        gso,
        gso_size,
        needs_checksum,
        checksum_start: place.0,
        checksum_offset: place.1,
        ..VirtioNetHeader::default()
    })
}

proptest! {
    #[test]
    fn random_octets_do_no_harm(mut octets in prop::collection::vec(any::<u8>(), 0..200), version: bool, offload in offload()) {
        if let Some(first) = octets.first_mut() {
            *first = if version { 0x45 } else { 0x60 };
        }
        use_all(&octets, &offload);
        if octets.len() >= 20 {
            use_all(&with(octets, |_| {}), &offload);
        }
    }

    #[test]
    fn damaged_packets_do_no_harm(
        which in 0usize..4,
        changes in prop::collection::vec((0usize..80, any::<u8>()), 1..6),
        keep in 0usize..200,
        right: bool,
        offload in offload(),
    ) {
        let mut packet = match which {
            0 => tcp_v4(100),
            1 => tcp_v6(100),
            2 => udp_v4(100),
            _ => extended(&[(0, vec![0; 8]), (44, octets(8)), (60, vec![0; 8])]),
        };
        for (at, to) in changes {
            packet[at] = to;
        }
        if right && usize::from(packet[0] & 0xf) * 4 <= packet.len() {
            packet = with(packet, |_| {});
        }
        packet.truncate(keep);
        use_all(&packet, &offload);
    }
}
