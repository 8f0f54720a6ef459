//! Attacks of neighbours on a pair of daemons, and their effect on a well-behaved host.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(target_os = "linux")]

#[path = "attacks/client.rs"]
mod client;
mod common;
#[path = "attacks/flood.rs"]
mod flood;
#[path = "attacks/rules.rs"]
mod rules;

use cellway_gatewayd::Limits;
use common::pair::{Pair, Side, Wish};
use common::world::{Version, World};
use common::{possible, turn, until};

use client::Client;
use flood::Flood;

#[test]
fn forged_syns_do_not_become_connections() {
    if possible("forged_syns_do_not_become_connections") {
        flood("quic");
    }
}

#[test]
fn forged_syns_do_not_become_connections_over_tls() {
    if possible("forged_syns_do_not_become_connections_over_tls") {
        flood("tls");
    }
}

fn flood(transport: &str) {
    let _turn = turn();
    for version in [Version::V4, Version::V6] {
        let world = World::new();
        let pair = Pair::start(&world, &Wish::over(transport));
        let client = Client::start(&world, version);
        let flood = Flood::start(&world, version, client.server());
        until("the flood is over", || flood.is_over());
        let seen = client.stop();
        let (sent, accepted) = (flood.sent(), seen.strangers);
        assert!(sent > 10_000, "{sent} forged openings were sent");
        assert!(
            accepted <= u64::from(Limits::default().unproven),
            "{accepted} of {sent} forged openings became connections at the server"
        );
        // A request fails if it takes longer than the patience of the sockets.
        assert!(
            seen.failed.is_empty(),
            "{} of {} requests failed: {:?}",
            seen.failed.len(),
            seen.requests,
            seen.failed
        );
        assert!(seen.requests > 1, "{} requests in the time of the flood", seen.requests);
        until("what was opened has timed out", || pair.number(Side::Near, "/opening") == 0);
        pair.stop();
    }
}
