//! Clients that open connections to the port for peers and send nothing, next to hosts with relayed connections.

use std::io::{ErrorKind, Read};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use crate::common::pair::{Pair, Side, Wish};
use crate::common::world::{Version, World, start};
use crate::common::{self, until};
use crate::load::{meet, talk};

/// Connections that are open at the same time.
const COUNT: usize = 1_000;

fn begin(to: SocketAddr) -> Socket {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, None).unwrap();
    socket.set_nonblocking(true).unwrap();
    let _ = socket.connect(&to.into());
    socket
}

/// Keeps [`COUNT`] connections open, and opens each again after its end.
fn idle(to: SocketAddr, stop: &AtomicBool, again: &AtomicU64) {
    let mut all: Vec<Socket> = (0..COUNT).map(|_| begin(to)).collect();
    while !stop.load(Ordering::SeqCst) {
        for socket in &mut all {
            let waits = |kind| matches!(kind, ErrorKind::WouldBlock | ErrorKind::NotConnected);
            if !(&*socket).read(&mut [0]).is_err_and(|error| waits(error.kind())) {
                *socket = begin(to);
                again.fetch_add(1, Ordering::SeqCst);
            }
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn idle_clients_lock_out_no_peer_and_delay_no_client() {
    if common::possible("unauthenticated::idle_clients_lock_out_no_peer_and_delay_no_client") {
        with_idle_clients("quic");
    }
}

/// Over TCP, like those clients.
#[test]
fn idle_clients_lock_out_no_peer_and_delay_no_client_over_tls() {
    if common::possible("unauthenticated::idle_clients_lock_out_no_peer_and_delay_no_client_over_tls") {
        with_idle_clients("tls");
    }
}

fn with_idle_clients(transport: &str) {
    let _turn = common::turn();
    let (stop, again) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let world = World::new();
    // Only the near gateway dials; the far one has no address of it.
    let to = Side::Far.address(Version::V4);
    let wish = Wish { rate: "30 Mbit/s", through: Some(to), ..Wish::over(transport) };
    let mut pair = Pair::start(&world, &wish);
    let carried = meet(&world, Version::V4);
    let flood = {
        let (stop, again) = (stop.clone(), again.clone());
        start(&world.server, move || idle(to, &stop, &again))
    };
    until("no slot is free for them", || again.load(Ordering::SeqCst) > 200);
    // Relayed connections continue, and new ones are accepted.
    talk(&carried);
    for version in [Version::V4, Version::V6] {
        talk(&meet(&world, version));
    }
    drop(carried);
    // A peer connects again that was verified recently, and then one that was never verified, as the far gateway has
    // been restarted.
    pair.end(Side::Near);
    pair.run(Side::Near);
    pair.wait_until_up();
    talk(&meet(&world, Version::V4));
    pair.end(Side::Far);
    pair.run(Side::Far);
    let before = again.load(Ordering::SeqCst);
    until("the strangers are back", || again.load(Ordering::SeqCst) > before + 200);
    pair.wait_until_up();
    talk(&meet(&world, Version::V6));
    assert!(pair.number(Side::Far, "/counters/strangers/replaced") > 100);
    stop.store(true, Ordering::SeqCst);
    flood.join().unwrap();
    let log = pair.written(Side::Far);
    let lines = log.lines().filter(|line| line.contains("a connection from")).count();
    assert!((1..=20).contains(&lines), "{lines} lines about strangers");
    pair.stop();
}
