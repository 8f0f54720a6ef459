//! Gateways over the worst of links stay below the caps on the state that a gateway keeps for its peer.
//!
//! The link has a hundredth of the 10 Gbit/s that the caps are for: a hundred times the measured number must stay below
//! each.
#![allow(clippy::unwrap_used)]

#[allow(unreachable_pub, dead_code, reason = "shared with other tests")]
mod common;

use cellway_gateway::{Excess, GatewayConfig, GatewayStats};
use cellway_units::{Bytes, Rate, Span, Time};
use common::bulk::{config, reader, sender};
use common::host::Plan;
use common::pair::{FlowPlan, Line, Pair};

const SCALE: u64 = 100;

/// Returns a link with a round trip of 600 ms, packets that overtake others by up to 100 ms, and a loss of a quarter.
fn line() -> Line {
    Line { jitter: Span::from_ms(100), loss_per_mille: 250, losses: u32::MAX, ..Line::good(Span::from_ms(300)) }
}
/// Returns the configuration with a hundredth of the memory that the bytes in flight take at 10 Gbit/s.
fn gateway() -> GatewayConfig {
    GatewayConfig { total_buffer: Bytes(64 << 20), ..config(Rate::from_bps(100_000_000), false) }
}
/// Runs for `seconds`. Returns the largest of each number over both gateways; runs of identifiers count beyond its
/// flows.
fn most(plans: &[FlowPlan], seconds: u64) -> GatewayStats {
    let mut pair = Pair::new([gateway(); 2], line(), plans, 7);
    let mut most = GatewayStats::default();
    for step in 0..seconds * 50 {
        pair.run(Time::ZERO + Span::from_ms(20 * step));
        for gateway in &pair.gateways {
            let stats = gateway.stats();
            most.gaps = most.gaps.max(stats.gaps);
            most.identifiers = most.identifiers.max(stats.identifiers.saturating_sub(stats.flows));
            most.unacknowledged = most.unacknowledged.max(stats.unacknowledged);
            most.flows_opened = most.flows_opened.max(stats.flows_opened);
            most.packets_lost = most.packets_lost.max(stats.packets_lost);
            assert_eq!(gateway.excess(), None);
        }
    }
    most
}
fn check(most: &GatewayStats) {
    assert!(most.gaps * SCALE < Excess::MOST_GAPS, "{most:?}");
    assert!(most.identifiers * SCALE < Excess::MOST_IDENTIFIERS as u64, "{most:?}");
    // The fraction of the memory is not scaled, as the memory is that of a gateway with this rate.
    let part = gateway().most_unacknowledged() - Excess::MOST_UNACKNOWLEDGED;
    assert!(most.unacknowledged < part + Excess::MOST_UNACKNOWLEDGED / SCALE, "{most:?}");
}

#[test]
fn transfers_in_both_directions() {
    let plan = |n: usize, hosts| FlowPlan { opener: n % 2, start: Time::ZERO, refuse: false, early: false, hosts };
    let plans: Vec<FlowPlan> = (0..8).map(|n| plan(n, [sender(), sender()])).collect();
    let both = most(&plans, 8);
    assert!(both.gaps > 100 && both.packets_lost > 5_000, "{both:?}");
    check(&both);
    let plans: Vec<FlowPlan> = (0..8).map(|n| plan(n, [sender(), reader()])).collect();
    check(&most(&plans, 8));
}

#[test]
fn short_connections() {
    let small = Plan { bytes: 3_000, ..Plan::sender(3_000) };
    let start = |n: usize| Time::ZERO + Span::from_us(3_000 * n as u64);
    // One gateway opens all, so that their identifiers are in sequence.
    let plan = |n| FlowPlan { opener: 0, start: start(n), refuse: n % 5 == 0, early: n % 3 == 0, hosts: [small; 2] };
    let plans: Vec<FlowPlan> = (0..2_000).map(plan).collect();
    let many = most(&plans, 10);
    assert!(many.flows_opened > 1_500 && many.identifiers > 0, "{many:?}");
    check(&many);
}
