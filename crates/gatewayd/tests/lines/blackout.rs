//! Paths that carry nothing for a while.

use std::net::Shutdown;
use std::thread::{self, sleep};
use std::time::Duration;

use crate::common::pair::{Pair, Side, Wish};
use crate::common::relay::{Ills, Relay};
use crate::common::tcp::{ALL, failure, outcome, received, send};
use crate::common::world::{Filter, Version, World};
use crate::common::{self, until};
use crate::load::{Load, MEGA, crossed, meet, never_down, talk, until_crossed};

const SILENT: Ills = Ills { silent: true, ..Ills::NONE };

#[test]
fn thirty_seconds_without_packets_lose_no_connection() {
    if !common::possible("blackout::thirty_seconds_without_packets_lose_no_connection") {
        return;
    }
    let _turn = common::turn();
    let world = World::routed(1_500);
    let relay = Relay::start(&world, Version::V4, 4);
    let pair = Pair::start(&world, &Wish { rate: "30 Mbit/s", through: Some(relay.door()), ..Wish::default() });
    let idle = [Version::V4, Version::V6].map(|version| meet(&world, version));
    let half = meet(&world, Version::V4);
    half[0].shutdown(Shutdown::Write).unwrap();
    assert_eq!(received(&half[1], 1, ALL), "recv: end");
    let load = Load::start(&world, 6, 2 * MEGA);
    until_crossed(&pair, 4 * MEGA);

    relay.set_both(SILENT);
    sleep(Duration::from_secs(1));
    let before = crossed(&pair);
    sleep(Duration::from_secs(24));
    // A client that connects now bypasses the gateways at once: there has been no answer for long.
    let late = meet(&world, Version::V6);
    sleep(Duration::from_secs(5));
    talk(&late);
    assert_eq!(crossed(&pair), before, "the line was not silent");
    relay.set_both(Ills::NONE);
    load.whole();
    idle.iter().chain([&late]).for_each(talk);
    assert_eq!(send(&half[1], 2, 5_000).0, 5_000);
    half[1].shutdown(Shutdown::Write).unwrap();
    assert_eq!(received(&half[0], 2, ALL), "recv: 5000 B, then end");
    never_down(&pair);
    pair.stop();
}

/// Returns true if the retransmission timeout of TCP can be bounded (Linux 6.15): otherwise it waits for up to the
/// duration of the outage.
fn waits_are_bounded() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split('.').map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(15))
}

#[test]
fn an_interruption_shorter_than_outage_loses_no_connection_over_tls() {
    if !common::possible("blackout::an_interruption_shorter_than_outage_loses_no_connection_over_tls") {
        return;
    }
    let _turn = common::turn();
    let world = World::routed(1_500);
    let peer = "transport = \"tls\"\noutage = \"12 s\"".into();
    let pair = Pair::start(&world, &Wish { rate: "30 Mbit/s", peer, ..Wish::default() });
    let idle = meet(&world, Version::V4);
    let load = Load::start(&world, 6, 2 * MEGA);
    until_crossed(&pair, 4 * MEGA);
    let silent = Filter::new(world.middle.as_ref().unwrap(), "forward", "drop");
    sleep(Duration::from_secs(1));
    let before = crossed(&pair);
    sleep(Duration::from_secs(if waits_are_bounded() { 7 } else { 3 }));
    assert_eq!(crossed(&pair), before, "the line was not silent");
    drop(silent);
    load.whole();
    talk(&idle);
    never_down(&pair);
    pair.stop();
}

#[test]
fn an_interruption_longer_than_outage_resets_both_hosts_and_is_reported() {
    if !common::possible("blackout::an_interruption_longer_than_outage_resets_both_hosts_and_is_reported") {
        return;
    }
    let _turn = common::turn();
    let world = World::routed(1_500);
    let relay = Relay::start(&world, Version::V4, 5);
    let wish =
        Wish { rate: "30 Mbit/s", peer: "outage = \"2 s\"".into(), through: Some(relay.door()), ..Wish::default() };
    let mut pair = Pair::start(&world, &wish);
    let idle = meet(&world, Version::V4);
    let half = meet(&world, Version::V6);
    half[0].shutdown(Shutdown::Write).unwrap();
    assert_eq!(received(&half[1], 1, ALL), "recv: end");
    // One that sends in each direction, over both versions.
    let bulk = [Version::V4, Version::V6].map(|version| {
        [false, true].map(|up| {
            let [client, server] = meet(&world, version);
            let (from, to) = if up { (client, server) } else { (server, client) };
            let sends = thread::spawn(move || outcome(&send(&from, 3, 100 * MEGA).1));
            let reads = thread::spawn(move || received(&to, 3, ALL));
            (sends, reads)
        })
    });
    until_crossed(&pair, 2 * MEGA);

    relay.set_both(SILENT);
    for (sends, reads) in bulk.into_iter().flatten() {
        assert_eq!(sends.join().unwrap(), "ECONNRESET");
        let seen = reads.join().unwrap();
        assert!(seen.ends_with(" B, then ECONNRESET"), "{seen}");
    }
    let [near_half, far_half] = half.each_ref().map(failure);
    // A host that has received the other's FIN gets a broken pipe (Linux, `tcp_reset`).
    assert_eq!([near_half.as_str(), far_half.as_str()], ["ECONNRESET", "EPIPE"]);
    assert_eq!(idle.each_ref().map(failure), ["ECONNRESET"; 2]);
    for side in Side::BOTH {
        let status = pair.status(side).unwrap();
        let told = "nothing arrived from it for 2 s";
        assert_eq!(status["peers"][0]["up"], false, "{side:?}");
        // The near one dials, and its reason may include the result.
        let why = status["peers"][0]["why_down"].as_str().unwrap();
        assert!(side == Side::Near && !why.is_empty() || why.contains(told), "{side:?}: {why}");
        assert!(pair.written(side).lines().any(|line| line.contains("WARN") && line.contains(told)), "{side:?}");
        assert_eq!(status["counters"]["ended"]["peer-lost"], 6, "{side:?}: {status}");
    }
    relay.set_both(Ills::NONE);
    pair.wait_until_up();
    until("the rules follow", || {
        let before = pair.number(Side::Near, "/counters/opened/intercepted");
        talk(&meet(&world, Version::V4));
        pair.number(Side::Near, "/counters/opened/intercepted") > before
    });
    Load::start(&world, 6, MEGA).whole();
    pair.stop();
}
