//! A killed gateway cuts transfers visibly; a reload drops nothing.

use std::fs;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::common::pair::{Pair, Side, Wish};
use crate::common::programs::{curl, ended, file, serve_files};
use crate::common::tcp::{ALL, accept, errno, listen, outcome, peer, received, send, sent, socket};
use crate::common::world::{CLIENTS, Version, World, address, start};
use crate::downloads::download;
use crate::{MEGA, VERSIONS, common, connect, server};

/// Kills a gateway during the transfer of a file whose end is that of the connection.
fn killed_in_the_middle(victim: Side) {
    let world = World::new();
    let mut pair = Pair::start(&world, &Wish { rate: "50 Mbit/s", peer: "outage = \"2 s\"".into(), ..Wish::default() });
    let at = serve_files(&world.server, server(Version::V4));
    let folder = tempfile::tempdir().unwrap();
    let got = folder.path().join("got");
    let url = format!("{}/open", file(at, 1, 200 * MEGA));
    let down = curl(&world.client, ["--output", got.to_str().unwrap(), &url]);

    // The other direction: an upload must not seem complete, either.
    let (listener, to) = world.server.run(|| listen((server(Version::V4), 0).into(), 1));
    let up = connect(&world, to).unwrap();
    let stored = start(&world.server, move || received(&accept(&listener).unwrap(), 2, ALL));
    let upload = thread::spawn(move || {
        let (count, result) = send(&up, 2, 200 * MEGA);
        (count, outcome(&result))
    });

    let begin = Instant::now();
    while fs::metadata(&got).map_or(0, |file| file.len()) < MEGA {
        assert!(begin.elapsed() < Duration::from_secs(20), "nothing comes");
        thread::sleep(Duration::from_millis(20));
    }
    pair.kill(victim);
    let (code, complaint) = ended(down);
    assert_eq!(code, Some(56), "curl must say that receiving failed: {complaint}");
    assert!(fs::metadata(&got).unwrap().len() < 200 * MEGA);
    let stored = stored.join().unwrap();
    assert!(stored.ends_with(" B, then ECONNRESET"), "the server took for an end: {stored}");
    let (_, error) = upload.join().unwrap();
    assert_eq!(error, "ECONNRESET");

    // A request now bypasses the gateways: at once if the near one is dead, else when it has detected the loss.
    let begin = Instant::now();
    let (listener, to) = world.server.run(|| listen((server(Version::V4), 0).into(), 1));
    let direct = loop {
        match connect(&world, to) {
            Ok(socket) => break socket,
            Err(error) => assert!(begin.elapsed() < Duration::from_secs(20), "not direct: {}", errno(&error)),
        }
    };
    let taken = accept(&listener).unwrap();
    assert_eq!(peer(&taken).unwrap().ip(), address(Version::V4, CLIENTS, 2));
    assert_eq!(sent(&direct, 3, 1_000), "send: 1000 B");
    assert_eq!(received(&taken, 3, 1_000), "recv: 1000 B");

    // And over the pair again when the other is up.
    pair.run(victim);
    pair.wait_until_up();
    let before = pair.number(Side::Near, "/counters/opened/intercepted");
    let _again = connect(&world, to).unwrap();
    assert!(pair.number(Side::Near, "/counters/opened/intercepted") > before);
    pair.stop();
}

#[test]
fn the_near_gateway_killed_cuts_transfers_and_lets_new_ones_pass() {
    let possible = common::possible("failures::the_near_gateway_killed_cuts_transfers_and_lets_new_ones_pass");
    if possible && common::installed("curl") {
        let _turn = common::turn();
        killed_in_the_middle(Side::Near);
    }
}

#[test]
fn the_far_gateway_killed_cuts_transfers_and_lets_new_ones_pass() {
    let possible = common::possible("failures::the_far_gateway_killed_cuts_transfers_and_lets_new_ones_pass");
    if possible && common::installed("curl") {
        let _turn = common::turn();
        killed_in_the_middle(Side::Far);
    }
}

/// The end of one connection and the SYN of the next reach a busy gateway together, the SYN first.
#[test]
fn a_port_used_again_while_the_gateway_was_busy_is_a_new_connection() {
    if !common::possible("failures::a_port_used_again_while_the_gateway_was_busy_is_a_new_connection") {
        return;
    }
    let _turn = common::turn();
    let world = World::new();
    let pair = Pair::start(&world, &Wish::default());
    for version in VERSIONS {
        let (listener, to) = world.server.run(move || listen((server(version), 0).into(), 16));
        let begun = |from: SocketAddr| {
            world.client.run(move || {
                let socket = socket(to.ip());
                socket.set_reuse_address(true).unwrap();
                socket.bind(&from.into()).unwrap();
                socket.set_nonblocking(true).unwrap();
                assert_eq!(outcome(&socket.connect(&to.into())), "EINPROGRESS");
                socket.set_nonblocking(false).unwrap();
                socket
            })
        };
        let [from, other] = [6_667, 6_668].map(|port| SocketAddr::from((address(version, CLIENTS, 2), port)));
        let first = begun(from);
        drop(accept(&listener).unwrap());
        assert_eq!(received(&first, 1, ALL), "recv: end");
        // The gateway has finished with it.
        thread::sleep(Duration::from_millis(50));
        pair.signal(Side::Near, Signal::STOP);
        let status = format!("/proc/{}/status", pair.daemon(Side::Near).id());
        let begin = Instant::now();
        while !fs::read_to_string(&status).unwrap().contains("State:\tT") {
            assert!(begin.elapsed() < Duration::from_secs(20), "the daemon does not stop");
        }
        // The device is ready before the socket is.
        let beside = begun(other);
        drop(first);
        let again = begun(from);
        // All of it has arrived by then.
        thread::sleep(Duration::from_millis(50));
        pair.signal(Side::Near, Signal::CONT);
        for _ in 0..2 {
            let taken = accept(&listener).unwrap_or_else(|error| panic!("{version:?}: accept: {}", errno(&error)));
            let client = if peer(&taken).unwrap() == from { &again } else { &beside };
            assert_eq!(sent(&taken, 3, 1_000), "send: 1000 B");
            assert_eq!(received(client, 3, 1_000), "recv: 1000 B", "{version:?}, {:?}", peer(&taken));
        }
    }
    pair.stop();
}

#[test]
fn a_reload_under_load_drops_nothing() {
    if !common::possible("failures::a_reload_under_load_drops_nothing") || !common::installed("curl") {
        return;
    }
    let _turn = common::turn();
    let world = World::new();
    let pair = Pair::start(&world, &Wish { rate: "200 Mbit/s", ..Wish::default() });
    let at = serve_files(&world.server, server(Version::V4));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            download(&world, at, 20, 5 * MEGA);
            done.store(true, Ordering::Release);
        });
        let rates = ["200 Mbit/s", "100 Mbit/s"];
        for turn in (0..).take_while(|_| !done.load(Ordering::Acquire)).take(400) {
            for side in Side::BOTH {
                pair.edit(side, rates[turn % 2], rates[(turn + 1) % 2]);
                pair.signal(side, Signal::HUP);
            }
            thread::sleep(Duration::from_millis(250));
        }
    });
    // An invalid file changes nothing and is reported.
    pair.edit(Side::Near, "rate = ", "rait = ");
    pair.signal(Side::Near, Signal::HUP);
    let begin = Instant::now();
    while !pair.written(Side::Near).contains("rait") {
        assert!(begin.elapsed() < Duration::from_secs(20), "the mistake is not reported");
        thread::sleep(Duration::from_millis(50));
    }
    pair.edit(Side::Near, "rait = ", "rate = ");
    download(&world, at, 2, MEGA);
    for side in Side::BOTH {
        assert_eq!(pair.number(side, "/peers/0/downs"), 0, "{side:?}");
    }
    pair.stop();
}
