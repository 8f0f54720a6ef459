//! Deletions of the rules that the gateway has set in the kernel.

use std::process::Command;

use super::client::Client;
use crate::common::pair::{Pair, Side, Wish};
use crate::common::world::{Version, World};
use crate::common::{possible, turn, until};

/// Commands of administrators, the gateway's table of nftables being `T`. The routing tables are 25463 and the next,
/// and the rules have priorities from 24630 on.
const DELETIONS: [&str; 9] = [
    "nft flush ruleset",
    "nft delete table T",
    "nft flush chain T arriving",
    "nft flush chain T opening",
    "nft flush set T taken4",
    "ip rule del pref 24633",
    "ip -6 rule del pref 24631",
    "ip route flush table 25463",
    "ip -6 route flush table 25464",
];

fn shell(line: String) {
    let output = Command::new("sh").args(["-c", &line]).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn rules_that_are_deleted_are_set_again() {
    if !possible("rules_that_are_deleted_are_set_again") {
        return;
    }
    let _turn = turn();
    let world = World::new();
    let pair = Pair::start(&world, &Wish { down: "refuse", ..Wish::default() });
    for version in [Version::V4, Version::V6] {
        let client = Client::start(&world, version);
        for deletion in DELETIONS {
            let restored = pair.number(Side::Near, "/counters/rules_restored");
            let line = deletion.replace('T', "inet cellway_gateway_cellway0");
            world.near.run(move || shell(line));
            until(deletion, || pair.number(Side::Near, "/counters/rules_restored") > restored);
            // New connections are relayed.
            let opened = pair.number(Side::Near, "/counters/opened/intercepted");
            until(deletion, || pair.number(Side::Near, "/counters/opened/intercepted") > opened);
            assert!(pair.written(Side::Near).contains("deleted by another program"), "the log says so");
        }
        let seen = client.stop();
        // Connections to guarded networks that are not intercepted are refused, as `down` selects; nothing else fails.
        let other: Vec<&String> = seen.failed.iter().filter(|why| *why != "connect: ECONNREFUSED").collect();
        assert!(
            other.is_empty() && (seen.failed.len() as u64) < seen.requests,
            "of {} requests: {other:?}",
            seen.requests
        );
    }
    assert_eq!(pair.number(Side::Near, "/counters/rules_restored"), 2 * DELETIONS.len() as u64, "once each");
    pair.stop();
}

#[test]
fn rules_that_cannot_be_set_again_are_reported_and_retried() {
    if !possible("rules_that_cannot_be_set_again_are_reported_and_retried") {
        return;
    }
    let _turn = turn();
    let world = World::new();
    let pair = Pair::start(&world, &Wish::default());
    // This deletes the route to the device, which cannot be set again until the device is up.
    world.near.run(|| shell("ip link set dev cellway0 down".into()));
    let near = || pair.status(Side::Near).unwrap()["peers"][0].clone();
    until("the peer counts as down", || near()["up"] == false);
    let why = near()["why_down"].to_string();
    assert!(why.contains("the rules of the kernel are lacking") && why.contains("ip "), "{why}");
    // There is an attempt every 5 s, although each attempt deletes something itself.
    std::thread::sleep(std::time::Duration::from_secs(3));
    let errors = pair.number(Side::Near, "/counters/errors/rules");
    assert!((1..=3).contains(&errors), "{errors} attempts");
    world.near.run(|| shell("ip link set dev cellway0 up".into()));
    until("the peer is up", || near()["up"] == true);
    let client = Client::start(&world, Version::V4);
    until("connections are carried", || pair.number(Side::Near, "/counters/opened/intercepted") > 0);
    let seen = client.stop();
    assert!(seen.failed.is_empty(), "{:?}", seen.failed);
    pair.stop();
}
