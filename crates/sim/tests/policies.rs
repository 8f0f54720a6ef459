//! The conversations that share a queue, and that a policy changes only the queues.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeMap;

use cellway_scenario::Scenario;
use common::{LINE, NetworkPath, PS, capture, figure, repository, run, scenario};

/// Two destinations behind one bottleneck. "flood" keeps `FLOOD` segments in flight to r2, "near" and "far" one segment
/// each, to r2 and to r3.
const STAR: &str = r#"version = 1
name = "star"
node = [
    { name = "r1", kind = "router" }, { name = "s1", kind = "switch" },
    { name = "r2", kind = "router" }, { name = "r3", kind = "router" },
]

[run]
duration = "60 s"
warmup = "20 s"

[buffer]
size = "4000 cell"
per = "port"

[tcp]
profile = "classic"
variant = "tahoe"
mss = "512 B"
window = "512 B"

[[link]]
between = ["r1", "s1"]
rate = "1.5 Mbit/s"
delay = "22.5 ms"

[[link]]
between = ["s1", "r2"]
rate = "1.5 Mbit/s"
delay = "0 s"

[[link]]
between = ["s1", "r3"]
rate = "1.5 Mbit/s"
delay = "0 s"

[[traffic]]
name = "flood"
app = "bulk"
from = "r1"
to = "r2"
access = { rate = "1.5 Mbit/s", delay = "0 s" }
tcp = { window = "32768 B" }

[[traffic]]
name = "near"
app = "bulk"
from = "r1"
to = "r2"
access = { rate = "1.5 Mbit/s", delay = "0 s" }

[[traffic]]
name = "far"
app = "bulk"
from = "r1"
to = "r3"
access = { rate = "1.5 Mbit/s", delay = "0 s" }
"#;
const FLOOD: f64 = 64.0;

/// Segments a second of `slot`.
fn rate(record: &cellway_record::RunRecord, slot: &str) -> f64 {
    figure(record, slot, "goodput") / (512.0 * 8.0)
}

/// Checks the share of a segment in a first-come-first-served queue, which is served once for every turn of the others'
/// windows: it gets as much of the line as its share of the segments in flight.
fn assert_shares(flood: f64, probe: f64) {
    assert!((flood / probe / FLOOD - 1.0).abs() < 0.02, "{flood} to {probe} segments/s");
}

/// Checks the round trip of a segment with its own queue, which waits for at most one cell of each other queue before
/// each of its own: that of an empty network plus at most as many cell times as it has cells, for each of the `others`.
fn assert_free(probe: f64, others: u128) {
    let alone = NetworkPath::cellsim().round_trip(552);
    let delayed = alone + others * 13 * 424 * PS / LINE;
    let [alone, delayed] = [alone, delayed].map(|rtt| PS as f64 / rtt as f64);
    assert!((delayed..alone * 0.999).contains(&probe), "{probe} segments/s, not {delayed} to {alone}");
}

#[test]
fn per_destination_shares_a_queue_by_destination() {
    let record = run(&scenario(STAR, &[("multiplexing.channel", "\"per-destination\"")]), 1);
    assert_shares(rate(&record, "flood-1"), rate(&record, "near-1"));
    assert_free(rate(&record, "far-1"), 1);
}

#[test]
fn per_type_shares_a_queue_by_application_on_the_same_path() {
    let record = run(&scenario(STAR, &[("multiplexing.channel", "\"per-type\"")]), 1);
    assert_shares(rate(&record, "flood-1"), rate(&record, "near-1"));
    // A channel is between two routers: the same type elsewhere has another.
    assert_free(rate(&record, "far-1"), 1);
    // Endless transfers in parallel with conversations of another type, which have their own queue.
    let typing = |policy| {
        let set = [("multiplexing.channel", policy), ("traffic.near.app", "\"telnet\""), ("traffic.near.count", "10")];
        figure(&run(&scenario(STAR, &set), 1), "near", "delay_mean")
    };
    let [own, shared] = ["\"per-type\"", "\"per-destination\""].map(typing);
    assert!(own < 0.06, "{own} s with a queue of its own");
    // The flood's window fills the queue except for the cells on the line.
    let queued = FLOOD * 12.0 * 424.0 / 1.5e6 - 0.056;
    assert!((shared - own - queued).abs() < 0.2 * queued, "{shared} s behind {queued} s of the flood");
}

#[test]
fn per_conversation_shares_nothing() {
    let record = run(&scenario(STAR, &[("multiplexing.channel", "\"per-conversation\"")]), 1);
    for probe in ["near-1", "far-1"] {
        assert_free(rate(&record, probe), 2);
    }
    assert_eq!(figure(&record, "r1>s1", "utilisation"), 1.0, "the flood takes what is left");
}

/// Sequence numbers of the SYN and the FIN of one direction.
type Span = (Option<u32>, Option<u32>);

/// Returns the sequence space of every connection that was closed at both ends, in the order of opening: the bytes that
/// its two ends wrote in all.
fn connections(pcap: &[u8]) -> Vec<(u32, u32)> {
    let be = |at: usize| u32::from_be_bytes(pcap[at..at + 4].try_into().unwrap());
    let be16 = |at: usize| u16::from_be_bytes([pcap[at], pcap[at + 1]]);
    let mut order = Vec::new();
    // By (local, remote) port: SYN and FIN positions of the two directions.
    let mut ends: BTreeMap<(u16, u16), [Span; 2]> = BTreeMap::new();
    let (mut at, mut local) = (24, None);
    while at < pcap.len() {
        let length = u32::from_le_bytes(pcap[at + 8..at + 12].try_into().unwrap()) as usize;
        let ip = at + 16;
        let tcp = ip + usize::from(pcap[ip] & 15) * 4;
        let header = usize::from(pcap[tcp + 12] >> 4) * 4;
        let payload = usize::from(be16(ip + 2)) - (tcp - ip) - header;
        let from = *local.get_or_insert(be(ip + 12));
        let (direction, key) =
            if be(ip + 12) == from { (0, (be16(tcp), be16(tcp + 2))) } else { (1, (be16(tcp + 2), be16(tcp))) };
        let flags = pcap[tcp + 13];
        if !ends.contains_key(&key) {
            order.push(key);
        }
        let end = &mut ends.entry(key).or_default()[direction];
        if flags & 2 != 0 {
            end.0 = Some(be(tcp + 4));
        }
        if flags & 1 != 0 {
            end.1 = Some(be(tcp + 4).wrapping_add(payload as u32));
        }
        at = ip + length;
    }
    let whole = |end: Span| Some(end.1?.wrapping_sub(end.0?) - 1);
    order.iter().map_while(|key| Some((whole(ends[key][0])?, whole(ends[key][1])?))).collect()
}

fn cellsim(set: &[(&str, &str)]) -> Scenario {
    let text = std::fs::read_to_string(repository("papers/cellsim/cellsim.toml")).unwrap();
    let mut all = vec![
        ("run.duration", "\"3000 rtt\""),
        ("run.warmup", "\"0 s\""),
        ("observe.interval", "\"100 rtt\""),
        ("observe.fairness-window", "\"100 rtt\""),
    ];
    all.extend_from_slice(set);
    scenario(&text, &all)
}

/// Checks that the messages of conversation k of a slot are the same under any other traffic.
fn assert_same_content(slot: &str, variations: &[Vec<(&str, &str)>]) {
    let told: Vec<_> = variations.iter().map(|set| connections(&capture(&cellsim(set), 11, slot))).collect();
    let common = told.iter().map(Vec::len).min().unwrap();
    assert!(common >= 3, "{slot}: {common} whole conversations are too few to compare");
    for other in &told[1..] {
        assert_eq!(other[..common], told[0][..common], "{slot}");
    }
    let total: u64 = told[0][..common].iter().map(|&(a, b)| u64::from(a) + u64::from(b)).sum();
    assert!(total > 1000, "{slot}: {total} bytes");
}

#[test]
fn the_conversations_are_the_same_under_every_policy() {
    let policies = ["\"per-conversation\"", "\"per-type\"", "\"per-destination\""];
    for slot in ["ftp-1", "ftp-4"] {
        assert_same_content(slot, &policies.map(|p| vec![("multiplexing.channel", p)]));
    }
}

#[test]
fn adding_sources_does_not_change_the_messages_of_another() {
    assert_same_content(
        "ftp-2",
        &[
            vec![],
            vec![("traffic.telnet.count", "0")],
            vec![("traffic.ftp.count", "2")],
            vec![("traffic.telnet.count", "3"), ("traffic.ftp.count", "8")],
            vec![("link.*.rate", "\"30 Mbit/s\""), ("buffer.size", "\"40 cell\"")],
        ],
    );
}

#[test]
fn another_seed_has_other_messages() {
    let [one, other] = [1, 2].map(|seed| connections(&capture(&cellsim(&[]), seed, "ftp-1")));
    assert_ne!(one[..2], other[..2]);
}
