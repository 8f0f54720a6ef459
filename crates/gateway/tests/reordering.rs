//! Paths that reorder packets: late packets are not losses, and the link stays full.
#![allow(clippy::unwrap_used)]

#[allow(unreachable_pub, dead_code, reason = "shared with other tests")]
mod common;

use cellway_units::{Bits, Rate, Span, Time};
use common::bulk::{CEILING, config, read, reader, sender, transfers};
use common::pair::Line;

const RATE: Rate = Rate::from_bps(30_000_000);
const ROUND_TRIP: Span = Span::from_ms(80);
const FLOWS: usize = 4;

/// Returns the share of the link that hosts receive from 5 s to 25 s, and the share of bytes that were retransmitted.
/// Each packet has a random additional delay of up to `jitter`.
fn over(jitter: Span, auto: bool) -> (f64, f64) {
    let at = |seconds| Time::ZERO + Span::from_secs(seconds);
    let holds = RATE.as_bps() * ROUND_TRIP.as_ps() / 1_000_000_000_000;
    let line = Line { queue: Some((RATE, Bits(holds))), jitter, ..Line::good(ROUND_TRIP / 2) };
    let rate = if auto { CEILING } else { RATE };
    let mut pair = transfers([config(rate, auto); 2], line, &[[sender(), reader()]; FLOWS]);
    pair.run(at(5));
    let before = read(&pair, 1, FLOWS);
    pair.run(at(25));
    let bits = (read(&pair, 1, FLOWS) - before) * 8;
    let stats = pair.gateways[0].stats();
    (bits as f64 / (RATE.as_bps() * 20) as f64, stats.resent_bytes as f64 / stats.data_bytes as f64)
}

#[test]
fn a_configured_rate_is_kept_on_a_path_that_reorders() {
    for ms in [2, 5, 10, 30] {
        let (share, resent) = over(Span::from_ms(ms), false);
        eprintln!("{ms} ms: {share:.3}, retransmitted {resent:.4}");
        // With the fixed thresholds of RFC 9002, section 6.1: 0.93, 0.73, 0.52 and 0.30, and up to 0.67 retransmitted.
        assert!(share > 0.945 && resent < 0.01, "{ms} ms: {share}, {resent} retransmitted");
    }
}

#[test]
fn the_bandwidth_is_estimated_on_a_path_that_reorders() {
    for (ms, least) in [(2, 0.94), (5, 0.94), (10, 0.93), (30, 0.9)] {
        let (share, resent) = over(Span::from_ms(ms), true);
        eprintln!("{ms} ms: {share:.3}, retransmitted {resent:.4}");
        // With the fixed thresholds: 0.92, 0.40 and 0.11.
        assert!(share > least && resent < 0.02, "{ms} ms: {share}, {resent} retransmitted");
    }
}
