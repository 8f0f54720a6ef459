//! The ports that a capture shows.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeSet;

use common::{BULK, capture, scenario};

/// Returns the responder's ports in a capture at the originator, and the number of connections.
fn ports(pcap: &[u8]) -> (BTreeSet<u16>, usize) {
    let be16 = |at: usize| u16::from_be_bytes([pcap[at], pcap[at + 1]]);
    let (mut at, mut known, mut connections) = (24, BTreeSet::new(), BTreeSet::new());
    while at < pcap.len() {
        let length = u32::from_le_bytes(pcap[at + 8..at + 12].try_into().unwrap()) as usize;
        let ip = at + 16;
        let tcp = ip + usize::from(pcap[ip] & 15) * 4;
        // All of these are below 1024, at which the dynamic ports begin.
        let ends = [be16(tcp), be16(tcp + 2)];
        known.insert(ends.into_iter().min().unwrap());
        connections.insert(ends);
        at = ip + length;
    }
    (known, connections.len() / 2)
}

#[test]
fn every_connection_has_the_port_of_its_application() {
    for (app, workload, expected) in [
        ("\"www\"", "{ sizes = [\"3 kB\", \"2 kB\", \"1 kB\"] }", &[80][..]),
        ("\"ftp-get\"", "{ size = \"20 kB\" }", &[20, 21]),
        ("\"ftp\"", "{ data-connection = \"per-item\" }", &[20, 21]),
        ("\"smtp\"", "{}", &[25]),
    ] {
        let set = [("traffic.bulk.app", app), ("traffic.bulk.workload", workload), ("run.duration", "\"40 s\"")];
        let (known, connections) = ports(&capture(&scenario(BULK, &set), 1, "bulk-1"));
        assert_eq!(known.into_iter().collect::<Vec<_>>(), expected, "{app}");
        assert!(connections >= 2, "{app}: {connections} connections");
    }
}
