//! Paths with a smaller MTU than the hosts' networks: packets of 1280 octets (the least that IPv6 allows, RFC 8200,
//! section 5), and hosts with 1500.

use crate::common::pair::{Pair, Side, Wish};
use crate::common::relay::{HOSTS, Ills, Relay};
use crate::common::world::{Version, World};
use crate::common::{self, until};
use crate::load::{Load, MEGA, never_down, over_both, until_crossed};

const SMALL: Ills = Ills { most: 1_280, ..Ills::NONE };

/// The most octets of a packet between gateways while datagrams have 1200 octets, as at first (RFC 9000, section 14.1):
/// QUIC adds an octet of flags, at least one of a packet number, one of a frame, and 16 of the authentication tag.
const FIRST: u64 = 1_200 - 19;

/// Returns the octets of IP and UDP.
fn headers(version: Version) -> u64 {
    if version == Version::V4 { 28 } else { 48 }
}

fn payload(pair: &Pair<'_>, side: Side) -> u64 {
    pair.number(side, "/peers/0/payload")
}

#[test]
fn packets_that_vanish_for_their_size_are_avoided() {
    if !common::possible("mtu::packets_that_vanish_for_their_size_are_avoided") {
        return;
    }
    let _turn = common::turn();
    over_both(|line| {
        let world = World::routed(1_500);
        let relay = Relay::start(&world, line, 2);
        relay.set_both(SMALL);
        let wish = Wish { rate: "100 Mbit/s", through: Some(relay.door()), line, ..Wish::default() };
        let pair = Pair::start(&world, &wish);
        Load::start(&world, 8, MEGA).whole();
        for side in Side::BOTH {
            // More than at first is found, and no more than there is.
            until("a larger size is found", || payload(&pair, side) > FIRST);
            assert!(payload(&pair, side) < 1_280 - headers(line));
            assert!(relay.counts(side).too_large > 0, "nothing was too large toward {side:?}");
        }
        never_down(&pair);
        pair.stop();
    });
}

#[test]
fn a_path_that_shrinks_in_the_middle_is_noticed() {
    if !common::possible("mtu::a_path_that_shrinks_in_the_middle_is_noticed") {
        return;
    }
    let _turn = common::turn();
    over_both(|line| {
        let world = World::routed(1_500);
        let relay = Relay::start(&world, line, 3);
        let wish = Wish { rate: "30 Mbit/s", through: Some(relay.door()), line, ..Wish::default() };
        let pair = Pair::start(&world, &wish);
        for side in Side::BOTH {
            until("the whole size is found", || payload(&pair, side) > 1_400 - headers(line));
        }
        let load = Load::start(&world, 6, 2 * MEGA);
        until_crossed(&pair, 3 * MEGA);
        relay.set_both(SMALL);
        load.whole();
        for side in Side::BOTH {
            assert!(relay.counts(side).too_large > 0, "nothing was too large toward {side:?}");
            assert!(payload(&pair, side) < 1_280 - headers(line), "{side:?}");
        }
        never_down(&pair);
        pair.stop();
    });
}

#[test]
fn an_interface_that_shrinks_in_the_middle_is_noticed() {
    if !common::possible("mtu::an_interface_that_shrinks_in_the_middle_is_noticed") {
        return;
    }
    let _turn = common::turn();
    over_both(|line| {
        let world = World::new();
        let pair = Pair::start(&world, &Wish { rate: "30 Mbit/s", line, ..Wish::default() });
        for side in Side::BOTH {
            until("the whole size is found", || payload(&pair, side) > 1_400 - headers(line));
        }
        let load = Load::start(&world, 6, 2 * MEGA);
        until_crossed(&pair, 3 * MEGA);
        for namespace in [&world.near, &world.far] {
            namespace.configure("link set dev line mtu 1280").unwrap();
        }
        load.whole();
        for side in Side::BOTH {
            assert!(payload(&pair, side) < 1_280 - headers(line), "{side:?}");
        }
        never_down(&pair);
        pair.stop();
    });
}

#[test]
fn another_route_with_a_smaller_mtu_is_detected() {
    if !common::possible("mtu::another_route_with_a_smaller_mtu_is_detected") {
        return;
    }
    let _turn = common::turn();
    over_both(|line| {
        let world = World::routed(1_500);
        let relay = Relay::start(&world, line, 7);
        let wish = Wish { rate: "30 Mbit/s", through: Some(relay.door()), line, ..Wish::default() };
        let pair = Pair::start(&world, &wish);
        for side in Side::BOTH {
            until("the whole size is found", || payload(&pair, side) > 1_400 - headers(line));
        }
        let load = Load::start(&world, 6, 2 * MEGA);
        until_crossed(&pair, 3 * MEGA);
        // The packets that the far gateway has not sent yet are too large for the new path.
        relay.set_both(SMALL);
        relay.rebind(HOSTS[1]);
        load.whole();
        for side in Side::BOTH {
            assert!(payload(&pair, side) < 1_280 - headers(line), "{side:?}");
        }
        never_down(&pair);
        pair.stop();
    });
}

#[test]
fn a_router_before_a_smaller_network_is_passed() {
    if !common::possible("mtu::a_router_before_a_smaller_network_is_passed") {
        return;
    }
    let _turn = common::turn();
    let over = |line, transport| {
        let world = World::routed(1_280);
        let peer = format!("transport = \"{transport}\"");
        let pair = Pair::start(&world, &Wish { rate: "100 Mbit/s", peer, line, ..Wish::default() });
        Load::start(&world, 8, MEGA).whole();
        for side in Side::BOTH {
            let status = pair.status(side).unwrap();
            assert_eq!(status["peers"][0]["transport"], transport);
            assert!(transport == "tls" || payload(&pair, side) < 1_280 - headers(line), "{side:?}: {status}");
        }
        never_down(&pair);
        pair.stop();
    };
    over_both(|line| ["quic", "tls"].into_iter().for_each(|transport| over(line, transport)));
}
