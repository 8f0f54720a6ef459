//! ICMP errors: their content, and the cases without one.
#![allow(clippy::unwrap_used)]

use cellway_wire::ip::checksum::{checksum, updated};
use cellway_wire::ip::{Fit, Packet, Trouble, fit, icmp_error};
use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};

fn v4(source: [u8; 4], destination: [u8; 4], payload: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv4(source, destination, 64).udp(1, 2).write(&mut packet, &vec![7; payload]).unwrap();
    packet
}

fn v6(source: [u8; 16], destination: [u8; 16], payload: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv6(source, destination, 64).udp(1, 2).write(&mut packet, &vec![7; payload]).unwrap();
    packet
}

/// Types and codes from RFC 792, RFC 1191, RFC 4443.
#[test]
fn icmp_errors_are_those_of_the_rfcs() {
    let kinds = [
        (Trouble::TooBig { mtu: 1500 }, (3, 4, 1500), (2, 0, 1500)),
        (Trouble::TimeExceeded, (11, 0, 0), (3, 0, 0)),
        (Trouble::NetUnreachable, (3, 0, 0), (1, 0, 0)),
        (Trouble::HostUnreachable, (3, 1, 0), (1, 3, 0)),
    ];
    let four = v4([10, 0, 0, 1], [10, 0, 0, 2], 2000);
    let six = v6([1; 16], [2; 16], 2000);
    let word = |icmp: &[u8]| u32::from_be_bytes([icmp[4], icmp[5], icmp[6], icmp[7]]);
    for (trouble, of_v4, of_v6) in kinds {
        let error = icmp_error(trouble, "10.0.0.9".parse().unwrap(), &Packet::parse(&four).unwrap()).unwrap();
        assert_eq!(error.len(), 576);
        let ip = Packet::parse(&error).unwrap();
        assert_eq!((ip.source().to_string(), ip.destination().to_string()), ("10.0.0.9".into(), "10.0.0.1".into()));
        let icmp = ip.payload();
        assert_eq!((icmp[0], icmp[1], word(icmp), checksum(icmp)), (of_v4.0, of_v4.1, of_v4.2, 0));
        assert_eq!(icmp[8..], four[..548]);

        let error = icmp_error(trouble, "fe80::9".parse().unwrap(), &Packet::parse(&six).unwrap()).unwrap();
        assert_eq!(error.len(), 1280);
        let sliced = SlicedPacket::from_ip(&error).unwrap();
        let Some(TransportSlice::Icmpv6(icmp)) = sliced.transport else { panic!("no ICMPv6") };
        let Some(NetSlice::Ipv6(ip)) = sliced.net else { panic!("no IPv6") };
        assert!(icmp.is_checksum_valid(ip.header().source(), ip.header().destination()));
        assert_eq!((icmp.type_u8(), icmp.code_u8(), word(icmp.slice())), of_v6);
        assert_eq!(icmp.slice()[8..], six[..1232]);
    }
}

#[test]
fn no_answer_where_there_must_be_none() {
    let answer = |trouble, packet: &[u8]| {
        let packet = Packet::parse(packet).unwrap();
        let router = if packet.is_v4() { "10.0.0.9" } else { "fe80::9" };
        icmp_error(trouble, router.parse().unwrap(), &packet)
    };
    let to = [10, 0, 0, 2];
    let asked = answer(Trouble::TimeExceeded, &v4([10, 0, 0, 1], to, 9)).unwrap();
    assert_eq!(answer(Trouble::TimeExceeded, &asked), None);
    for source in [[0; 4], [127, 0, 0, 1], [224, 0, 0, 1], [255; 4]] {
        assert_eq!(answer(Trouble::TimeExceeded, &v4(source, to, 9)), None);
    }
    for destination in [[224, 0, 0, 5], [255; 4]] {
        assert_eq!(answer(Trouble::TimeExceeded, &v4([10, 0, 0, 1], destination, 9)), None);
    }
    let mut whole = v4([10, 0, 0, 1], to, 100);
    // Without DF; the checksum of the header is over one word that is 0x4000 less.
    whole[6] = 0;
    let sum = updated(u16::from_be_bytes([whole[10], whole[11]]), 0x4000, 0);
    whole[10..12].copy_from_slice(&sum.to_be_bytes());
    let fragments = whole;
    let Fit::Fragments(fragments) = fit(&Packet::parse(&fragments).unwrap(), 68) else { panic!("not fragmented") };
    let answers: Vec<bool> = fragments.map(|f| answer(Trouble::TimeExceeded, &f).is_some()).collect();
    assert_eq!(answers, [true, false, false]);

    let asked = answer(Trouble::TimeExceeded, &v6([1; 16], [2; 16], 9)).unwrap();
    assert_eq!(answer(Trouble::TimeExceeded, &asked), None);
    for source in [[0; 16], [0xff; 16]] {
        assert_eq!(answer(Trouble::TimeExceeded, &v6(source, [2; 16], 9)), None);
    }
    // Many hosts may be notified together that a packet is too big.
    let multicast = v6([1; 16], [0xff; 16], 9);
    assert_eq!(answer(Trouble::TimeExceeded, &multicast), None);
    assert!(answer(Trouble::TooBig { mtu: 1280 }, &multicast).is_some());
    // A router with an address of the other version cannot answer.
    let packet = v4([10, 0, 0, 1], to, 9);
    let packet = Packet::parse(&packet).unwrap();
    assert_eq!(icmp_error(Trouble::TimeExceeded, "fe80::9".parse().unwrap(), &packet), None);
}
