//! Captures have the octets of the stacks, with headers and checksums that fit.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../examples/beside/mod.rs"]
mod beside;

use cellway_sim::{Capture, Control, Payload, Stacks};
use cellway_stacks::{quic, smol};
use cellway_units::Ecn;
use cellway_wire::ip::checksum::Sum;
use cellway_wire::ip::{Packet, ecn};

/// Octets of the header of a file, and of each record.
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// Returns the packets that pass the originator's host in the first 3 s.
fn captured(stacks: &Stacks, family: &str) -> Vec<Vec<u8>> {
    let scenario = beside::scenario(&[("run.duration", "\"6 s\""), ("traffic.other.family", &format!("\"{family}\""))]);
    let workloads: Vec<_> = scenario.traffic.iter().map(|t| cellway_sim::workload(t, None).unwrap()).collect();
    let (mut file, mut records) = (Vec::new(), 0);
    let capture = Some(Capture::new("other-1", &mut file, &mut records));
    cellway_sim::run(&scenario, &workloads, 1, Control { capture, stacks: Some(stacks), ..Control::new(&|| false) })
        .unwrap();
    let (mut packets, mut rest) = (Vec::new(), &file[FILE_HEADER..]);
    while !rest.is_empty() {
        let octets = u32::from_le_bytes(*rest[8..].first_chunk().unwrap()) as usize;
        packets.push(rest[RECORD_HEADER..RECORD_HEADER + octets].to_vec());
        rest = &rest[RECORD_HEADER + octets..];
    }
    assert_eq!(packets.len() as u64, records);
    assert!(records > 3000);
    packets
}

#[test]
fn every_packet_has_its_headers_and_a_good_checksum() {
    for family in ["ipv4", "ipv6"] {
        let quic = beside::beside(Payload::Udp, quic::bulk(|_| {}).unwrap());
        let smoltcp = beside::beside(Payload::Ip { protocol: smol::TCP }, smol::bulk(1 << 20, |_| {}));
        for (stacks, protocol, header) in [(quic, 17, 8), (smoltcp, 6, 20)] {
            let packets = captured(&stacks, family);
            let mut longest = 0;
            for octets in &packets {
                let packet = Packet::parse(octets).unwrap();
                let payload = packet.payload();
                assert!(payload.len() >= header);
                assert_eq!(packet.protocol(), protocol);
                let (from, to) = (packet.source(), packet.destination());
                let sum = Sum::default().with_pseudo_header(from, to, protocol, payload.len() as u32).with(payload);
                assert_eq!(sum.checksum(), 0, "{from} > {to}");
                longest = longest.max(octets.len());
            }
            assert_eq!(longest, 1500, "{family} {protocol}");
            let marked = packets.iter().filter(|octets| ecn(octets) == Ecn::Ect0).count();
            if protocol == 17 {
                // The first packet is an Initial with the long header of version 1. RFC 9000 section 17.2.
                let first = &packets[0][packets[0].len() - 1200..];
                assert_eq!((first[0] & 0xf0, &first[1..5]), (0xc0, &[0, 0, 0, 1][..]));
                assert!(marked * 10 > packets.len() * 9, "quinn sends ECT(0)");
            } else {
                assert_eq!(marked, 0);
            }
        }
    }
}
