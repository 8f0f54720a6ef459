//! A far gateway that dies or is suspended: SYNs bypass the gateways soon, connections wait for it.

use std::net::SocketAddr;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::process::Signal;
use socket2::Socket;

use crate::common::pair::{Pair, Side, Wish};
use crate::common::tcp::{accept, errno, failure, listen, ready, socket};
use crate::common::world::{Filter, SERVERS, Version, World, address};
use crate::common::{self, until};
use crate::load::{Load, MEGA, meet, never_down, patient, talk, until_crossed};

/// The time that a busy machine may need for a second and some round trips; a host that retransmits its SYN instead
/// needs 3 s.
const SOON: Duration = Duration::from_millis(2_500);

/// Connects a client to a server. Returns the time that it took.
fn connect(world: &World, version: Version) -> (Result<[Socket; 2], String>, Duration) {
    let (listener, at) = world.server.run(move || listen((address(version, SERVERS, 2), 0).into(), 1));
    let begin = Instant::now();
    let client = world.client.run(move || attempt(at));
    let took = begin.elapsed();
    let both = client.map(|client| [client, accept(&listener).unwrap()]);
    if let Ok(both) = &both {
        both.iter().for_each(patient);
    }
    (both, took)
}
fn attempt(at: SocketAddr) -> Result<Socket, String> {
    let socket = socket(at.ip());
    socket.connect(&at.into()).map_err(|error| errno(&error))?;
    Ok(socket)
}
fn unresponsive(pair: &Pair<'_>) -> bool {
    pair.status(Side::Near).unwrap()["peers"][0]["unresponsive"] == true
}

#[test]
fn a_dead_far_gateway_delays_no_syn_and_no_new_connection() {
    if !common::possible("dead::a_dead_far_gateway_delays_no_syn_and_no_new_connection") {
        return;
    }
    let _turn = common::turn();
    let world = World::new();
    let mut pair = Pair::start(&world, &Wish { rate: "30 Mbit/s", ..Wish::default() });
    let carried = meet(&world, Version::V4);
    // Nothing is in flight, so that neither gateway detects it before the SYN.
    sleep(Duration::from_millis(500));
    pair.kill(Side::Far);
    thread::scope(|scope| {
        for version in [Version::V4, Version::V6] {
            let (world, pair) = (&world, &pair);
            scope.spawn(move || {
                let (held, took) = connect(world, version);
                assert!(took < SOON, "{version:?}: {took:?}");
                talk(&held.unwrap());
                assert!(unresponsive(pair));
                let (next, took) = connect(world, version);
                assert!(took < SOON, "{version:?}: {took:?}");
                talk(&next.unwrap());
            });
        }
    });
    let passed = pair.number(Side::Near, "/counters/passed");
    assert!(passed >= 2, "{passed}");
    assert_eq!(pair.number(Side::Near, "/peers/0/stalls"), 1);
    let answers = |pair: &Pair<'_>| -> u64 {
        let status = pair.status(Side::Near).unwrap();
        let classes = status["counters"]["connect_seconds"].as_array().unwrap();
        classes.iter().map(|class| class[1].as_u64().unwrap()).sum()
    };
    assert_eq!(answers(&pair), 1, "that of the one that is carried");
    never_down_here(&pair);
    assert!(pair.written(Side::Near).lines().any(|line| line.contains("WARN") && line.contains("unresponsive")));
    // The established one waits.
    assert!(!ready(&carried[0], PollFlags::IN, Duration::ZERO));
    pair.run(Side::Far);
    assert_eq!(failure(&carried[0]), "ECONNRESET");
    pair.wait_until_up();
    // Two were held when the peer was found to be unresponsive, at most; the others were never opened over the pair.
    assert!((1..=2).contains(&pair.number(Side::Near, "/counters/ended/passed")));
    assert_eq!(pair.number(Side::Near, "/counters/ended/peer-lost"), 1, "the one that was carried");
    until("connections are carried again", || {
        let before = pair.number(Side::Near, "/counters/opened/intercepted");
        talk(&meet(&world, Version::V4));
        pair.number(Side::Near, "/counters/opened/intercepted") > before
    });
    assert!(!unresponsive(&pair));
    pair.stop();
}

/// TCP between the gateways retransmits by itself, so that an answer may take longer; and it will deliver the request
/// to the far gateway, which uses the same port.
#[test]
fn over_tls_a_syn_is_released_as_well() {
    if !common::possible("dead::over_tls_a_syn_is_released_as_well") {
        return;
    }
    let _turn = common::turn();
    let world = World::routed(1_500);
    let peer = "transport = \"tls\"".into();
    let pair = Pair::start(&world, &Wish { rate: "30 Mbit/s", peer, ..Wish::default() });
    let carried = meet(&world, Version::V4);
    let silent = Filter::new(world.middle.as_ref().unwrap(), "forward", "tcp dport 4433 drop; tcp sport 4433 drop");
    let (held, took) = connect(&world, Version::V6);
    assert_eq!(held.unwrap_err(), "ECONNREFUSED");
    assert!(took < 3 * SOON, "{took:?}");
    assert!(unresponsive(&pair));
    let (next, took) = connect(&world, Version::V6);
    assert!(took < SOON, "{took:?}");
    drop(silent);
    until("it answers again", || !unresponsive(&pair));
    talk(&next.unwrap());
    talk(&carried);
    never_down(&pair);
    pair.stop();
}

fn never_down_here(pair: &Pair<'_>) {
    assert_eq!(pair.number(Side::Near, "/peers/0/downs"), 0);
}

#[test]
fn syns_are_refused_soon_if_the_policy_is_to_refuse() {
    if !common::possible("dead::syns_are_refused_soon_if_the_policy_is_to_refuse") {
        return;
    }
    let _turn = common::turn();
    let world = World::new();
    let mut pair = Pair::start(&world, &Wish { rate: "30 Mbit/s", ..Wish::default() });
    pair.edit(Side::Near, "down = \"direct\"", "down = \"refuse\"");
    pair.signal(Side::Near, Signal::HUP);
    until("it is reloaded", || pair.written(Side::Near).contains("reloaded"));
    pair.kill(Side::Far);
    for version in [Version::V4, Version::V6] {
        for _ in 0..2 {
            let (refused, took) = connect(&world, version);
            assert_eq!(refused.unwrap_err(), "ECONNREFUSED");
            assert!(took < SOON, "{version:?}: {took:?}");
        }
    }
    assert_eq!(pair.number(Side::Near, "/counters/passed"), 0);
    never_down_here(&pair);
    pair.run(Side::Far);
    pair.wait_until_up();
    pair.stop();
}

/// When the far gateway continues, it reads the requests of clients that have bypassed the gateways since.
#[test]
fn a_suspended_far_gateway_loses_no_connection_nor_breaks_a_direct_one() {
    if !common::possible("dead::a_suspended_far_gateway_loses_no_connection_nor_breaks_a_direct_one") {
        return;
    }
    let _turn = common::turn();
    let world = World::new();
    let pair = Pair::start(&world, &Wish { rate: "30 Mbit/s", ..Wish::default() });
    let idle = meet(&world, Version::V6);
    let load = Load::start(&world, 6, 4 * MEGA);
    until_crossed(&pair, MEGA);
    pair.signal(Side::Far, Signal::STOP);
    let begin = Instant::now();
    let direct = [Version::V4, Version::V6].map(|version| {
        let (direct, took) = connect(&world, version);
        assert!(took < SOON, "{version:?}: {took:?}");
        direct.unwrap()
    });
    direct.iter().for_each(talk);
    sleep(Duration::from_secs(3).saturating_sub(begin.elapsed()));
    pair.signal(Side::Far, Signal::CONT);
    load.whole();
    assert!(!unresponsive(&pair));
    // Connections that bypassed the gateways and established ones are unaffected.
    direct.iter().chain([&idle]).for_each(talk);
    never_down(&pair);
    assert!(pair.number(Side::Near, "/counters/passed") >= 1);
    pair.stop();
}
