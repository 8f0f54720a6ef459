//! A host that begins to read when no other event happens: the gateway must continue by itself.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(target_os = "linux")]

mod common;

use std::net::Shutdown;
use std::thread;
use std::time::{Duration, Instant};

use common::pair::{Pair, Wish};
use common::tcp::{ALL, accept, listen, received, send, socket};
use common::world::{SERVERS, Version, World, address, start};

const SIZE: u64 = 16_000_000;
/// After this time all bytes are at the near gateway, and both daemons are idle.
const PAUSE: Duration = Duration::from_secs(2);
/// Only turns a hang into a failure: idle gateways exchange keep-alives every five seconds.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn bytes_reach_a_late_reader_without_other_events() {
    if !common::possible("bytes_reach_a_late_reader_without_other_events") {
        return;
    }
    let world = World::new();
    // Room for more than the gateway writes at once: the socket is never full, and so never becomes writable.
    world.near.set("net/ipv4/tcp_wmem", "4194304 4194304 4194304").unwrap();
    let pair = Pair::start(&world, &Wish { limits: "window = \"32 MiB\"".into(), ..Wish::default() });
    let to = (address(Version::V4, SERVERS, 2), 0).into();
    let (listener, to) = world.server.run(move || listen(to, 1));
    let server = start(&world.server, move || {
        let socket = accept(&listener).unwrap();
        send(&socket, 1, SIZE).1.unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        received(&socket, 2, ALL)
    });
    let client = start(&world.client, move || {
        let socket = socket(to.ip());
        socket.connect(&to.into()).unwrap();
        thread::sleep(PAUSE);
        let begin = Instant::now();
        (received(&socket, 1, ALL), begin.elapsed())
    });
    let (got, took) = client.join().unwrap();
    println!("{got} in {took:.1?}");
    assert_eq!(got, format!("recv: {SIZE} B, then end"));
    assert_eq!(server.join().unwrap(), "recv: end");
    assert!(took < PATIENCE, "{took:.1?}");
    pair.stop();
}
