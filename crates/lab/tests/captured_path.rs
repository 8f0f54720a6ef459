//! Paths from captures of simulated transfers, beside the paths that were simulated.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;
#[path = "common/offload.rs"]
mod offload;

use std::path::Path;

use cellway_lab::captured::Next;
use cellway_lab::captured_path::{Doubt, Interval, PathEstimate, path_from_captures, scenario, warnings};
use common::plan;

/// A known path: rate (Mbit/s), one-way delay (ms), buffer (B), transfers from hosts of their own, a line for the link.
#[derive(Clone, Copy, Debug)]
struct Known {
    rate: f64,
    delay: f64,
    buffer: f64,
    transfers: u32,
    link: &'static str,
}

const PLAIN: Known = Known { rate: 10.0, delay: 20.0, buffer: 65_536.0, transfers: 1, link: "" };

impl Known {
    fn text(&self) -> String {
        let Known { rate, delay, buffer, transfers, link } = self;
        format!(
            r#"version = 1
name = "known"
node = [{{ name = "a", kind = "router" }}, {{ name = "b", kind = "router" }}]

[run]
duration = "30 s"
warmup = "0 s"

[buffer]
size = "{buffer} B"
per = "port"

[[link]]
between = ["a", "b"]
rate = "{rate} Mbit/s"
delay = "{delay} ms"
{link}

[[traffic]]
name = "bulk"
app = "bulk"
count = {transfers}
from = "a"
to = "b"
access = {{ rate = "{} Mbit/s", delay = "0 s" }}
"#,
            10.0 * rate
        )
    }

    fn estimate(&self, node: &str) -> PathEstimate {
        estimate(&self.text(), node)
    }
}

fn captured(text: &str, node: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcap");
    cellway_lab::capture(&plan(text, &[]), Path::new("."), node, &path, false, &mut || false).unwrap();
    std::fs::read(path).unwrap()
}

fn estimate_of(capture: &[u8]) -> PathEstimate {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcap");
    std::fs::write(&path, capture).unwrap();
    path_from_captures(&[path], &mut |_| Next::Continue).unwrap().0
}

fn estimate(text: &str, node: &str) -> PathEstimate {
    estimate_of(&captured(text, node))
}

fn near(found: f64, known: f64, error: f64) -> bool {
    (found / known - 1.0).abs() <= error
}

/// The link sends packets of IP without framing, so its rate is that of IP packets. The round trip that is measured is
/// that of the SYN, whose octets take time on the link. A packet in front of a lost one leaves room for less than one.
#[test]
fn known_paths_from_both_ends() {
    for known in [
        PLAIN,
        Known { rate: 50.0, delay: 10.0, buffer: 262_144.0, ..PLAIN },
        Known { rate: 2.0, delay: 100.0, ..PLAIN },
    ] {
        for node in ["bulk-1", "bulk-1-sink"] {
            let found = known.estimate(node);
            let is_near = near(found.rate.value, known.rate * 1e6, 0.01)
                && near(found.rtt.value, known.delay * 2e-3, 0.005)
                && near(found.buffer.unwrap().value, known.buffer, 0.05);
            assert!(is_near, "{known:?} at {node}: {found:?}");
            assert!(!found.has_random_loss && !found.is_lower_bound, "{known:?} at {node}: {found:?}");
            assert_eq!(warnings(&found), Vec::<String>::new());
        }
    }
}

/// The estimate as a scenario, simulated, gives the same estimate.
#[test]
fn the_scenario_of_an_estimate_has_the_same_path() {
    let found = PLAIN.estimate("bulk-1");
    let text = scenario(&found).replace("60 s", "30 s").replace("10 s", "0 s");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.pcap");
    cellway_lab::capture(&plan(&text, &[]), Path::new("."), "transfer-1", &path, false, &mut || false).unwrap();
    let again = path_from_captures(&[path], &mut |_| Next::Continue).unwrap().0;
    assert!(near(again.rate.value, found.rate.value, 0.01), "{again:?} for {found:?}");
    assert!(near(again.rtt.value, found.rtt.value, 0.01), "{again:?} for {found:?}");
    assert!(near(again.buffer.unwrap().value, found.buffer.unwrap().value, 0.05), "{again:?} for {found:?}");
}

/// Hosts capture segments of up to 64 kB that their cards divide, and ones that these have joined.
#[test]
fn joined_segments_count_as_their_packets() {
    for (node, time, is_first) in [("bulk-1", 2_000_000, true), ("bulk-1-sink", 5_000_000, false)] {
        let plain = captured(&PLAIN.text(), node);
        let (found, whole) = (estimate_of(&offload::joined(&plain, 44, time, is_first)), estimate_of(&plain));
        assert!(found.packets == whole.packets && found.mss == whole.mss, "{node}: {found:?} for {whole:?}");
        let is_near = near(found.rate.value, 10e6, 0.01)
            && near(found.rtt.value, 0.040, 0.005)
            && near(found.buffer.unwrap().value, 65_536.0, 0.08)
            && near(found.loss.value, whole.loss.value, 0.1);
        assert!(is_near, "{node}: {found:?} for {whole:?}");
    }
}

/// Captures of both ends are not one longer capture, and those of one end in two files are one.
#[test]
fn files_are_of_one_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, octets: &[u8]| {
        std::fs::write(folder.path().join(name), octets).unwrap();
        folder.path().join(name)
    };
    let sender = captured(&PLAIN.text(), "bulk-1");
    let both = [file("sender.pcap", &sender), file("receiver.pcap", &captured(&PLAIN.text(), "bulk-1-sink"))];
    let refused = path_from_captures(&both, &mut |_| Next::Continue).unwrap_err().to_string();
    assert!(refused.contains("receiver.pcap: a connection of it is in an earlier file at the same time"), "{refused}");
    let later = offload::from(&sender, 15_000_000_000);
    let earlier = &sender[..sender.len() - (later.len() - 24)];
    let parts = [file("1.pcap", earlier), file("2.pcap", &later)];
    let found = path_from_captures(&parts, &mut |_| Next::Continue).unwrap().0;
    assert_eq!(found, estimate_of(&sender));
}

/// A capture that begins within a transfer that keeps the link busy has no least round trip.
#[test]
fn a_queue_that_is_never_empty_is_no_round_trip() {
    let known = Known { buffer: 262_144.0, ..PLAIN };
    for node in ["bulk-1", "bulk-1-sink"] {
        let capture = captured(&known.text(), node);
        let found = estimate_of(&offload::from(&capture, 12_000_000_000));
        assert!(near(found.rate.value, 10e6, 0.01), "{node}: {found:?}");
        let Interval { low, high, .. } = found.rtt;
        assert!(low == 0.0 && high > 0.040, "{node}: {found:?}");
        assert!(found.doubts.contains(&Doubt::StandingQueue), "{node}: {found:?}");
        assert!(
            found.buffer.is_none_or(|buffer| buffer.low < 262_144.0 && buffer.high > 262_144.0),
            "{node}: {found:?}"
        );
    }
}

/// Acknowledgements that wait are no queue of data. Their link is narrow, or a transfer towards the sender fills it.
#[test]
fn a_queue_of_acknowledgements_is_no_buffer_of_data() {
    let narrow = Known { link: "back = { rate = \"150 kbit/s\" }", ..PLAIN };
    let other = "access = { rate = \"100 Mbit/s\", delay = \"0 s\" }";
    let other = format!("[[traffic]]\nname = \"other\"\napp = \"bulk\"\nfrom = \"b\"\nto = \"a\"\n{other}\n");
    for (name, text) in [("narrow", narrow.text()), ("loaded", PLAIN.text() + &other)] {
        for node in ["bulk-1", "bulk-1-sink"] {
            let found = estimate(&text, node);
            let is_near = near(found.rate.value, 10e6, 0.05)
                && near(found.rtt.value, 0.040, 0.10)
                && found.buffer.is_none_or(|buffer| near(buffer.value, 65_536.0, 0.10));
            assert!(is_near, "{name} at {node}: {found:?}");
        }
    }
}

/// A capture at one of four hosts that share the link has the share of that host. Its packets that left back to back
/// have the rate of the link.
#[test]
fn a_share_of_a_link_is_no_rate_of_it() {
    let known = Known { rate: 100.0, delay: 5.0, buffer: 500_000.0, transfers: 4, link: "" };
    let found = known.estimate("bulk-1");
    assert!(found.rate.value < 50e6 && near(found.dispersion, 100e6, 0.04), "{found:?}");
    assert!(found.rate.high >= 100e6 && found.doubts.contains(&Doubt::Shared), "{found:?}");
    let words = "traffic that is not in the capture may share the link";
    assert!(warnings(&found).iter().any(|warning| warning.contains(words)));
}

/// With losses at random the buffer is not known, and their share is. With many the link is seldom busy, and has its
/// rate when it is.
#[test]
fn random_losses_are_no_full_buffer() {
    for (link, share) in [("forward = { loss = \"0.2%\" }", 0.002), ("forward = { loss = \"0.02%\" }", 0.000_2)] {
        let known = Known { rate: 20.0, buffer: 1e6, link, ..PLAIN };
        for node in ["bulk-1", "bulk-1-sink"] {
            let found = known.estimate(node);
            let Interval { low, high, .. } = found.loss;
            assert!((low..=high).contains(&share), "{link} at {node}: {found:?}");
            assert!(near(found.rtt.value, 0.040, 0.01), "{link} at {node}: {found:?}");
            assert!(near(found.rate.value, 20e6, 0.01), "{link} at {node}: {found:?}");
            assert!(found.has_random_loss && found.buffer.is_none(), "{link} at {node}: {found:?}");
            assert!(near(found.random_loss, found.loss.value, 0.15), "{link} at {node}: {found:?}");
        }
    }
}
