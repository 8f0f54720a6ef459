//! A path that reorders: reductions of the window for segments that were only late are undone.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_record::RunRecord;
use common::{figure, run, scenario};

/// A transfer at 20 Mbit/s with a round trip of 42 ms, of which 2 ms vary: packets are 0.6 ms apart, so that some
/// overtake several others.
fn transfer(tcp: &str) -> RunRecord {
    let text = format!(
        r#"version = 1
name = "reordering"
node = [{{ name = "r1", kind = "router" }}, {{ name = "r2", kind = "router" }}]
run = {{ duration = "40 s", warmup = "10 s" }}
buffer = {{ size = "200 kB" }}
link = [{{ between = ["r1", "r2"], rate = "20 Mbit/s", delay = "20 ms", framing = "packet", forward = {{ jitter = {{ deviation = "2 ms" }}, reorder = true }} }}]
tcp = {{ mss = "1460 B", {tcp} }}

[[traffic]]
name = "bulk"
app = "bulk"
from = "r1"
to = "r2"
access = {{ rate = "100 Mbit/s", delay = "1 ms", framing = "packet" }}
"#
    );
    run(&scenario(&text, &[]), 1)
}

/// Without evidence each late segment costs half of the window, or 0.3. Retransmissions that were not needed are found and
/// undone, so the window is back after a round trip; RFC 6675 does not adapt, so each late segment reduces it again.
#[test]
fn a_window_that_reordering_has_reduced_is_restored() {
    for variant in ["sack", "cubic"] {
        let [without, dsack, timestamps] = [(false, false), (true, false), (false, true)].map(|(dsack, timestamps)| {
            transfer(&format!("variant = \"{variant}\", dsack = {dsack}, timestamps = {timestamps}"))
        });
        let of = |record: &RunRecord, name| figure(record, "bulk-1", name);
        assert_eq!((of(&without, "undone_recoveries"), of(&without, "spurious_retransmissions")), (0.0, 0.0));
        assert!(of(&without, "fast_retransmits") > 50.0, "{variant}");
        // All that was sent again was late, and reported.
        let resent = of(&dsack, "retransmissions");
        assert!((of(&dsack, "spurious_retransmissions") / resent - 1.0).abs() < 0.02, "{variant}");
        for record in [&dsack, &timestamps] {
            let (fast, undone) = (of(record, "fast_retransmits"), of(record, "undone_recoveries"));
            assert!(undone > 0.8 * fast, "{variant}: {undone} of {fast}");
            let gain = of(record, "throughput") / of(&without, "throughput");
            println!("{variant}: {gain:.2} times {:.3}, {undone} of {fast}", of(&without, "throughput"));
            assert!(gain > 1.5, "{variant}: {gain}");
        }
    }
}

/// RACK waits longer for late segments once D-SACK has shown that they come.
#[test]
fn rack_with_dsack_fills_a_path_that_reorders() {
    for control in ["reno", "cubic"] {
        let [without, with] = [false, true].map(|dsack| {
            let tcp = format!("variant = \"{control}\", recovery = \"rack\", timestamps = false, dsack = {dsack}");
            figure(&transfer(&tcp), "bulk-1", "throughput")
        });
        println!("{control}: {without:.3}, with D-SACK {with:.3}");
        assert!(without < 0.5 && with > 0.95, "{control}: {without}, {with}");
    }
}
