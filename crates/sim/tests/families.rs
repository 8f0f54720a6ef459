//! IPv6 beside IPv4: octets and cells by hand, shares of payload, captures.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeSet;
use std::io::Write;
use std::process::Command;

use cellway_scenario::Scenario;
use cellway_wire::ip::Packet;
use common::{BULK, capture, cells, figure, hosts_at_a_line, run, scenario};

/// Full segments of a path of 1500 B, and no option but the MSS.
fn bulk(name: &str, family: &str) -> String {
    format!(
        "\n[[traffic]]\nname = \"{name}\"\napp = \"bulk\"\nfrom = \"a\"\nto = \"b\"\nfamily = \"{family}\"\n\
         tcp = {{ profile = \"linux-6\", timestamps = false, window = \"16 KiB\" }}\n"
    )
}

fn voice(family: &str) -> String {
    format!(
        "\n[[traffic]]\nname = \"voice\"\nfrom = \"a\"\nto = \"b\"\nfamily = \"{family}\"\n\
         udp = {{ packet = \"200 B\", rate = \"80 kbit/s\" }}\n"
    )
}

/// Returns the packets in a capture of IP packets.
fn packets(pcap: &[u8]) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    let mut rest = &pcap[24..];
    while !rest.is_empty() {
        let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        packets.push(rest[16..16 + length].to_vec());
        rest = &rest[16 + length..];
    }
    packets
}

/// The line is busy all the time: of each packet of 1500 B, 1440 or 1460 B are payload. A window counts whole packets,
/// of which 18 s see 1500.
#[test]
fn the_share_of_payload_is_1440_and_1460_of_1500() {
    let [v6, v4] = [("ipv6", 1440.0), ("ipv4", 1460.0)].map(|(family, payload)| {
        let record = run(&scenario(&hosts_at_a_line(&bulk("bulk", family)), &[]), 1);
        assert!((figure(&record, "r1>r2", "utilisation") - 1.0).abs() < 1e-9);
        assert_eq!(figure(&record, "r1>r2", "dropped_packets"), 0.0);
        let packets = figure(&record, "bulk-1", "goodput") * 18.0 / 8.0 / payload;
        assert!((packets - 1500.0).abs() <= 1.0 && packets.fract().min(1.0 - packets.fract()) < 1e-9, "{packets}");
        figure(&record, "bulk-1", "goodput")
    });
    assert!((v6 / v4 - 1440.0 / 1460.0).abs() <= 1.0 / 1500.0, "{v6} {v4}");
}

/// A packet of 200 B has 152 or 172 B of payload, and the same delay.
#[test]
fn a_datagram_has_48_octets_of_headers() {
    for (family, payload) in [("ipv6", 152.0), ("ipv4", 172.0)] {
        let record = run(&scenario(&hosts_at_a_line(&voice(family)), &[]), 1);
        assert_eq!(figure(&record, "voice-1", "goodput"), 900.0 * payload * 8.0 / 18.0, "{family}");
        assert!((figure(&record, "voice-1", "delay_p50") - 0.02392).abs() < 1e-12);
    }
}

fn over_cells(family: &str, encapsulation: &str) -> Scenario {
    let text = BULK.replace("app = \"bulk\"", &format!("app = \"bulk\"\nfamily = \"{family}\""));
    scenario(&text, &[("multiplexing.encapsulation", &format!("\"{encapsulation}\""))])
}

/// 512 B of payload make 572 B, and 13 cells with the trailer, in place of 552 B and 12; an acknowledgement of 60 B makes 2
/// in place of 1. With LLC/SNAP, 8 B more: 13 and 12; 2 and 2.
#[test]
fn cells_follow_from_the_lengths() {
    assert_eq!([572, 552, 60, 40].map(|octets| cells(octets, false)), [13, 12, 2, 1]);
    assert_eq!([572, 552, 60, 40].map(|octets| cells(octets, true)), [13, 12, 2, 2]);
    for (encapsulation, llc) in [("vc-mux", false), ("llc-snap", true)] {
        for (family, headers) in [("ipv6", 60), ("ipv4", 40)] {
            let record = run(&over_cells(family, encapsulation), 1);
            let segments = figure(&record, "bulk-1", "goodput") * 40.0 / 8.0 / 512.0;
            let [forward, back] = ["r1>s1", "r2>s1"].map(|port| figure(&record, port, "cells"));
            // What is under way at both ends of the time that counts: at most a window, 16 segments.
            let [data, ack] = [512 + headers, headers].map(|octets| cells(octets, llc) as f64);
            assert!(
                (forward - segments * data).abs() <= 16.0 * data,
                "{family}: {forward} cells of {segments} segments"
            );
            // Each segment has an acknowledgement.
            let acks = back / ack;
            assert!(acks.fract() == 0.0 && (acks - segments).abs() <= 16.0, "{family}: {back} cells");
            if !llc {
                let of_others = if family == "ipv6" { 12.0 } else { 13.0 };
                assert!((forward - segments * of_others).abs() > 1000.0, "the other family would have other counts");
            }
        }
    }
}

/// Both versions from one host: SYN 44 and 64 B, acknowledgements 40 and 60 B, full segments 1500 B; what is left of a window
/// of 16 KiB after 11 of these, 544 and 324 B of payload.
#[test]
fn a_capture_has_the_headers_of_each_family() {
    let text = hosts_at_a_line(&(bulk("six", "ipv6") + &bulk("four", "ipv4")));
    let classic = |group: &str| (format!("traffic.{group}.tcp.profile"), "\"classic\"");
    let keys = ["six", "four"].map(classic);
    let mut set: Vec<(&str, &str)> = keys.iter().map(|(key, value)| (&key[..], *value)).collect();
    set.extend([("traffic.six.tcp.mss", "\"1440 B\""), ("traffic.four.tcp.mss", "\"1460 B\"")]);
    let file = capture(&scenario(&text, &set), 1, "b");
    let mut lengths = [BTreeSet::new(), BTreeSet::new()];
    for octets in packets(&file) {
        let packet = Packet::parse(&octets).unwrap();
        assert_eq!(packet.octets().len(), octets.len(), "the length in the header is that of the packet");
        lengths[usize::from(packet.is_v4())].insert(octets.len());
    }
    assert_eq!(lengths.map(Vec::from_iter), [vec![60, 64, 604, 1500], vec![40, 44, 364, 1500]]);
    let Some(rows) = tshark(&file) else { return };
    assert_eq!(rows.len(), packets(&file).len());
    let of = |version: &str| rows.iter().filter(|row| row[0] == version).collect::<Vec<_>>();
    for (version, payload) in [("6", "1440"), ("4", "1460")] {
        let of = of(version);
        assert!(
            of.len() > 500 && of.iter().all(|row| row[1] == "1" || row[2] == "1"),
            "{version}: a checksum is wrong"
        );
        assert!(of.iter().any(|row| row[3] == payload));
    }
}

#[test]
fn a_capture_of_datagrams_and_of_cells_is_ipv6() {
    let datagrams = capture(&scenario(&hosts_at_a_line(&voice("ipv6")), &[]), 1, "b");
    assert!(packets(&datagrams).iter().all(|packet| packet.len() == 200 && Packet::parse(packet).is_ok()));
    let frames = capture(&over_cells("ipv6", "llc-snap"), 1, "s1");
    for (file, checksum) in [(datagrams, 2), (frames, 1)] {
        let Some(rows) = tshark(&file) else { return };
        assert!(rows.len() > 900 && rows.iter().all(|row| row[0] == "6" && row[checksum] == "1"), "{:?}", rows[0]);
    }
}

/// Returns the version, the status of the TCP and the UDP checksum (1: good) and the TCP payload of each packet; without
/// tshark prints a message and returns `None`.
fn tshark(file: &[u8]) -> Option<Vec<Vec<String>>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("capture.pcap");
    std::fs::write(&path, file).unwrap();
    let options = ["-o", "erf.aal5_type:Unspecified", "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"];
    let fields = ["ip.version", "tcp.checksum.status", "udp.checksum.status", "tcp.len"];
    let mut command = Command::new("tshark");
    command.args(options).args(["-T", "fields"]).args(fields.iter().flat_map(|field| ["-e", field]));
    let Ok(output) = command.arg("-r").arg(&path).output() else {
        // Not by the print macros, whose text the test harness captures.
        std::io::stderr().write_all(b"skipped: tshark is not installed\n").unwrap();
        return None;
    };
    assert!(output.status.success(), "tshark: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}
