//! Paths from captures of simulated transfers, beside the paths that were simulated.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::path::Path;

use cellway_lab::captured::Next;
use cellway_lab::captured_path::{Interval, PathEstimate, path_from_captures, scenario, warnings};
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
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pcap");
        cellway_lab::capture(&plan(&self.text(), &[]), Path::new("."), node, &path, false, &mut || false).unwrap();
        path_from_captures(&[path], &mut |_| Next::Continue).unwrap().0
    }
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

/// A capture at one of four hosts that share the link has the share of that host. Its packets that left back to back
/// have the rate of the link.
#[test]
fn a_share_of_a_link_is_no_rate_of_it() {
    let known = Known { rate: 100.0, delay: 5.0, buffer: 500_000.0, transfers: 4, link: "" };
    let found = known.estimate("bulk-1");
    assert!(found.rate.value < 50e6 && near(found.dispersion, 100e6, 0.04), "{found:?}");
    assert!(warnings(&found)[0].contains("traffic that is not in the capture may share the link"));
}

/// With losses at random the buffer is not known, and their share is. With many the link is not busy.
#[test]
fn random_losses_are_no_full_buffer() {
    for (link, share, is_busy) in
        [("forward = { loss = \"0.2%\" }", 0.002, false), ("forward = { loss = \"0.02%\" }", 0.000_2, true)]
    {
        let known = Known { rate: 20.0, buffer: 1e6, link, ..PLAIN };
        for node in ["bulk-1", "bulk-1-sink"] {
            let found = known.estimate(node);
            let Interval { low, high, .. } = found.loss;
            assert!((low..=high).contains(&share), "{link} at {node}: {found:?}");
            assert!(near(found.rtt.value, 0.040, 0.01), "{link} at {node}: {found:?}");
            assert!(found.has_random_loss && found.is_lower_bound != is_busy, "{link} at {node}: {found:?}");
            assert!(!is_busy || near(found.rate.value, 20e6, 0.01), "{link} at {node}: {found:?}");
        }
    }
}
