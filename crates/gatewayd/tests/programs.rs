//! Real programs through the pair, and what happens to them when a gateway dies, is reloaded, or is asked for
//! more than it gives.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(target_os = "linux")]

mod common;

use std::fmt::Write as _;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::pair::{Pair, Side, Wish};
use common::programs::{curl, ended, file, iperf3, iperf3_server, is_whole, python_server, serve_files};
use common::tcp::{ALL, accept, errno, listen, outcome, peer, received, send, sent, socket};
use common::world::{CLIENTS, NO_ROUTE, SERVERS, Version, World, address, start};
use rustix::process::Signal;
use socket2::Socket;

const MEGA: u64 = 1_000_000;

fn server(version: Version) -> IpAddr {
    address(version, SERVERS, 2)
}

/// A connection of the client's.
fn connect(world: &World, to: SocketAddr) -> std::io::Result<Socket> {
    world.client.run(move || {
        let socket = socket(to.ip());
        socket.connect(&to.into()).map(|()| socket)
    })
}

/// Asks `curl` for `count` files of `size` octets, many at once, and looks at each octet of each.
fn download(world: &World, at: SocketAddr, count: u64, size: u64) {
    let folder = tempfile::tempdir().unwrap();
    let place = |seed: u64| folder.path().join(seed.to_string());
    let mut list = String::new();
    for seed in 1..=count {
        writeln!(list, "url = \"{}\"\noutput = {:?}", file(at, seed, size), place(seed)).unwrap();
    }
    let config = folder.path().join("curl");
    fs::write(&config, list).unwrap();
    let arguments = ["--fail", "--parallel", "--parallel-max", "50", "--config", config.to_str().unwrap()];
    let (code, complaint) = ended(curl(&world.client, arguments));
    assert_eq!(code, Some(0), "curl: {complaint}");
    let broken: Vec<u64> = (1..=count).filter(|&seed| !is_whole(&place(seed), seed, size)).collect();
    assert!(broken.is_empty(), "these of {count} files are not what was sent: {broken:?}");
}

#[test]
fn a_thousand_small_downloads_and_a_hundred_large_ones_are_whole() {
    if !common::possible("a_thousand_small_downloads_and_a_hundred_large_ones_are_whole") || !common::installed("curl")
    {
        return;
    }
    let _one = common::one_at_a_time();
    let world = World::new();
    let pair = Pair::start(&world, &Wish::default());
    for version in [Version::V4, Version::V6] {
        let at = serve_files(&world.server, server(version));
        download(&world, at, 500, 3_000);
        download(&world, at, 50, 4 * MEGA);
    }
    let intercepted = pair.number(Side::Near, "/counters/opened/intercepted");
    assert!(intercepted >= 1_100, "only {intercepted} connections went through the pair");
    pair.stop();
}

#[test]
fn servers_of_others_are_served() {
    if !common::possible("servers_of_others_are_served") {
        return;
    }
    let _one = common::one_at_a_time();
    let world = World::new();
    let pair = Pair::start(&world, &Wish::default());
    if common::installed("python3") && common::installed("curl") {
        let folder = tempfile::tempdir().unwrap();
        let content: Vec<u8> = (0..MEGA).map(|index| common::tcp::octet(7, index)).collect();
        fs::write(folder.path().join("file"), content).unwrap();
        let at = SocketAddr::from((server(Version::V4), 8_000));
        let _server = python_server(&world.server, at, folder.path());
        let got = folder.path().join("got");
        let url = format!("http://{at}/file");
        let (code, complaint) = ended(curl(&world.client, ["--fail", "--output", got.to_str().unwrap(), &url]));
        assert_eq!(code, Some(0), "curl: {complaint}");
        assert!(is_whole(&got, 7, MEGA));
        let url = format!("http://{at}/nothing");
        let (code, complaint) = ended(curl(&world.client, ["--fail", &url]));
        assert_eq!(code, Some(22), "an answer of 404: {complaint}");
    }
    if common::installed("iperf3") {
        for version in [Version::V4, Version::V6] {
            let at = SocketAddr::from((server(version), 5_201));
            let _server = iperf3_server(&world.server, at);
            for arguments in [&["--time", "1"][..], &["--time", "1", "--reverse", "--parallel", "8"]] {
                let report = iperf3(&world.client, at, arguments);
                let bits = report["end"]["sum_received"]["bits_per_second"].as_f64().unwrap();
                assert!(bits > 0.0, "{version:?} {arguments:?}: {report}");
            }
        }
    }
    pair.stop();
}

/// A gateway is killed while a file is on its way whose end only the end of the connection tells.
fn killed_in_the_middle(victim: Side) {
    let world = World::new();
    let mut pair = Pair::start(&world, &Wish { rate: "50 Mbit/s", peer: "outage = \"2 s\"".into(), ..Wish::default() });
    let at = serve_files(&world.server, server(Version::V4));
    let folder = tempfile::tempdir().unwrap();
    let got = folder.path().join("got");
    let url = format!("{}/open", file(at, 1, 200 * MEGA));
    let down = curl(&world.client, ["--output", got.to_str().unwrap(), &url]);

    // The other way: what a server is sent must not look whole, either.
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

    // What is asked for now goes direct: at once if the near one is dead, else when it knows.
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

    // And through the pair again when the other is back.
    pair.run(victim);
    pair.wait_until_up();
    let before = pair.number(Side::Near, "/counters/opened/intercepted");
    let _again = connect(&world, to).unwrap();
    assert!(pair.number(Side::Near, "/counters/opened/intercepted") > before);
    pair.stop();
}

#[test]
fn the_near_gateway_killed_cuts_transfers_and_lets_new_ones_pass() {
    let possible = common::possible("the_near_gateway_killed_cuts_transfers_and_lets_new_ones_pass");
    if possible && common::installed("curl") {
        let _one = common::one_at_a_time();
        killed_in_the_middle(Side::Near);
    }
}

#[test]
fn the_far_gateway_killed_cuts_transfers_and_lets_new_ones_pass() {
    let possible = common::possible("the_far_gateway_killed_cuts_transfers_and_lets_new_ones_pass");
    if possible && common::installed("curl") {
        let _one = common::one_at_a_time();
        killed_in_the_middle(Side::Far);
    }
}

#[test]
fn a_reload_under_load_drops_nothing() {
    if !common::possible("a_reload_under_load_drops_nothing") || !common::installed("curl") {
        return;
    }
    let _one = common::one_at_a_time();
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
    // A file with a mistake changes nothing but is told of.
    pair.edit(Side::Near, "rate = ", "rait = ");
    pair.signal(Side::Near, Signal::HUP);
    let begin = Instant::now();
    while !pair.written(Side::Near).contains("rait") {
        assert!(begin.elapsed() < Duration::from_secs(20), "the mistake is not told of");
        thread::sleep(Duration::from_millis(50));
    }
    pair.edit(Side::Near, "rait = ", "rate = ");
    download(&world, at, 2, MEGA);
    for side in Side::BOTH {
        assert_eq!(pair.number(side, "/peers/0/downs"), 0, "{side:?}");
    }
    pair.stop();
}

#[test]
fn a_slow_reader_holds_back_nobody_else_and_little_memory() {
    let possible = common::possible("a_slow_reader_holds_back_nobody_else_and_little_memory");
    if !possible || !common::installed("curl") {
        return;
    }
    let _one = common::one_at_a_time();
    let world = World::new();
    let pair = Pair::start(&world, &Wish { limits: "memory = \"64 MiB\"".into(), ..Wish::default() });
    let at = serve_files(&world.server, server(Version::V4));
    let idle = Side::BOTH.map(|side| pair.memory(side));
    let size = 100 * MEGA;
    let slow: Vec<Socket> = (0..20)
        .map(|_| {
            let socket = connect(&world, at).unwrap();
            std::io::Write::write_all(&mut &socket, format!("GET /1/{size}/open HTTP/1.0\r\n\r\n").as_bytes()).unwrap();
            socket
        })
        .collect();
    // Until nothing moves any more.
    let held = |pair: &Pair<'_>| pair.number(Side::Near, "/peers/0/received_bytes");
    let mut before = u64::MAX;
    while before != held(&pair) {
        before = held(&pair);
        thread::sleep(Duration::from_millis(500));
    }
    download(&world, at, 10, 5 * MEGA);
    for (side, idle) in Side::BOTH.into_iter().zip(idle) {
        let grown = pair.memory(side).saturating_sub(idle);
        assert!(grown < 128 << 20, "{side:?}: {grown} B more than at the start, with 64 MiB allowed for bytes");
    }
    // Slow is not broken: all of it is there when it is read.
    let first = slow.into_iter().next().unwrap();
    let mut head = [0; 19];
    std::io::Read::read_exact(&mut &first, &mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.0 200 OK\r\n\r\n");
    assert_eq!(received(&first, 1, ALL), format!("recv: {size} B, then end"));
    pair.stop();
}

#[test]
fn what_is_over_a_limit_is_refused_and_counted() {
    if !common::possible("what_is_over_a_limit_is_refused_and_counted") {
        return;
    }
    let _one = common::one_at_a_time();
    let world = World::new();
    let limits = "connections = 20\nper-source = 10\nopening = 5".into();
    let pair = Pair::start(&world, &Wish { limits, allowed: vec![SERVERS], ..Wish::default() });
    let at = serve_files(&world.server, server(Version::V4));
    let mut ten: Vec<Socket> = (0..10).map(|_| connect(&world, at).unwrap()).collect();
    let eleventh = connect(&world, at).map(drop);
    assert_eq!(outcome(&eleventh), "ECONNREFUSED", "only ten of one address are allowed");
    assert_eq!(pair.number(Side::Near, "/counters/refused/busy"), 1);
    // One less, one more.
    ten.pop();
    let begin = Instant::now();
    while let Err(error) = connect(&world, at) {
        assert!(begin.elapsed() < Duration::from_secs(20), "after one was closed: {}", errno(&error));
        thread::sleep(Duration::from_millis(50));
    }
    drop(ten);
    // The near gateway takes what the far one does not do for it.
    let outside = SocketAddr::from((address(Version::V4, NO_ROUTE, 99), 80));
    let begin = Instant::now();
    let refused = loop {
        let refused = pair.number(Side::Far, "/counters/refused/not-allowed");
        if refused > 0 || begin.elapsed() > Duration::from_secs(20) {
            break refused;
        }
        assert_eq!(outcome(&connect(&world, outside).map(drop)), "ECONNREFUSED");
    };
    assert!(refused > 0, "a connection outside of the far gateway's networks was not counted");
    pair.stop();
}
