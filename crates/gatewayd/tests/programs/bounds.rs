//! The limits of the gateway: memory for slow readers, the number of connections, and the permitted destinations.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use socket2::Socket;

use crate::common::pair::{Pair, Side, Wish};
use crate::common::programs::serve_files;
use crate::common::tcp::{ALL, errno, outcome, received};
use crate::common::world::{NO_ROUTE, SERVERS, Version, World, address};
use crate::downloads::download;
use crate::{MEGA, common, connect, server};

#[test]
fn a_slow_reader_delays_no_other_and_takes_little_memory() {
    let possible = common::possible("bounds::a_slow_reader_delays_no_other_and_takes_little_memory");
    if !possible || !common::installed("curl") {
        return;
    }
    let _turn = common::turn();
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
    // Until no byte moves any more.
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
    // A slow connection is intact: all bytes are there when they are read.
    let first = slow.into_iter().next().unwrap();
    let mut head = [0; 19];
    std::io::Read::read_exact(&mut &first, &mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.0 200 OK\r\n\r\n");
    assert_eq!(received(&first, 1, ALL), format!("recv: {size} B, then end"));
    pair.stop();
}

#[test]
fn connections_over_a_limit_are_refused_and_counted() {
    if !common::possible("bounds::connections_over_a_limit_are_refused_and_counted") {
        return;
    }
    let _turn = common::turn();
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
    // The near gateway accepts a connection that the far one refuses.
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
