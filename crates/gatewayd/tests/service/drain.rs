//! A gateway that accepts no new connections and lets the others end.

use std::process::Command;
use std::time::Duration;

use rustix::event::PollFlags;
use rustix::process::Signal;
use socket2::Socket;

use super::{at, connect};
use crate::common::pair::{PROGRAM, Pair, Side, Wish};
use crate::common::tcp::{ALL, PATIENCE, accept, listen, ready, received, sent};
use crate::common::world::{SERVERS, Version, World};
use crate::common::{possible, turn, until};

/// Connects a client to its server.
fn meet(world: &World, listener: &Socket, server: std::net::SocketAddr) -> [Socket; 2] {
    let client = connect(world, server).unwrap();
    [client, accept(listener).unwrap()]
}

/// Sends bytes in both directions.
fn talk([client, server]: &[Socket; 2]) {
    for (from, to) in [(client, server), (server, client)] {
        assert_eq!(sent(from, 1, 1_000), "send: 1000 B");
        assert_eq!(received(to, 1, 1_000), "recv: 1000 B");
    }
}

fn drain(world: &World, pair: &Pair<'_>, side: Side) -> String {
    let mut command = Command::new(PROGRAM);
    command.args(["drain", "--no-wait", "--socket"]).arg(pair.socket(side));
    let namespace = if side == Side::Near { &world.near } else { &world.far };
    let output = namespace.run(move || command.output().unwrap());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn connections_end_by_themselves_and_new_ones_go_direct() {
    if !possible("drain::connections_end_by_themselves_and_new_ones_go_direct") {
        return;
    }
    let _turn = turn();
    let world = World::new();
    for side in Side::BOTH {
        let mut pair = Pair::start(&world, &Wish::default());
        let (listener, server) = world.server.run(|| listen(at(Version::V4, SERVERS, 0), 8));
        let old = meet(&world, &listener, server);
        talk(&old);
        assert_eq!(drain(&world, &pair, side), "1 connections left\n");
        let new = meet(&world, &listener, server);
        talk(&new);
        talk(&old);
        assert_eq!(pair.number(side, "/draining"), 1);
        assert_eq!(pair.number(Side::Far, "/counters/opened/peer"), 1, "the new one is direct");
        let [client, server] = old;
        drop(client);
        assert_eq!(received(&server, 2, ALL), "recv: end");
        drop(server);
        pair.wait(side);
        talk(&new);
        assert!(pair.written(side).contains("drained"), "{side:?}");
        pair.stop();
    }
}

#[test]
fn one_without_connections_ends_and_says_so() {
    if !possible("drain::one_without_connections_ends_and_says_so") {
        return;
    }
    let _turn = turn();
    let world = World::new();
    let mut pair = Pair::start(&world, &Wish::default());
    let mut command = Command::new(PROGRAM);
    command.args(["drain", "--socket"]).arg(pair.socket(Side::Near));
    let output = world.near.run(move || command.output().unwrap());
    let [said, complained] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{said}{complained}");
    assert_eq!(said, "0 connections left\nthe gateway has ended\n");
    pair.wait(Side::Near);
    pair.stop();
}

#[test]
fn a_signal_drains_for_as_long_as_the_file_says() {
    if !possible("drain::a_signal_drains_for_as_long_as_the_file_says") {
        return;
    }
    let _turn = turn();
    let world = World::new();
    for again in [false, true] {
        let time = if again { "1 h" } else { "2 s" };
        let mut pair = Pair::start(&world, &Wish { control: format!("drain = \"{time}\""), ..Wish::default() });
        let (listener, server) = world.server.run(|| listen(at(Version::V4, SERVERS, 0), 8));
        let old = meet(&world, &listener, server);
        talk(&old);
        pair.signal(Side::Near, Signal::TERM);
        until("it drains", || pair.status(Side::Near).is_some_and(|status| status["draining"] == 1));
        talk(&old);
        if again {
            pair.signal(Side::Near, Signal::TERM);
        }
        for end in &old {
            assert!(ready(end, PollFlags::IN, PATIENCE), "it is reset");
            let seen = received(end, 1, ALL);
            assert!(seen.ends_with("ECONNRESET"), "{seen}");
        }
        pair.wait(Side::Near);
        std::thread::sleep(Duration::from_millis(100));
        pair.stop();
    }
}
