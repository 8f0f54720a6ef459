//! An upgrade of either gateway while connections are active: none of them is reset, and every byte arrives.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(target_os = "linux")]

mod common;

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use common::pair::{Pair, Side, Wish};
use common::tcp::{accept, listen, socket};
use common::world::{SERVERS, Version, World, address, start};
use common::{possible, turn, until};
use socket2::Socket;

/// Active transfers, half of them from the client, and the bytes of each before and after the upgrades.
const TRANSFERS: usize = 1_000;
const BYTES: usize = 40_000;
/// The stack of a thread (bytes), which does little.
const STACK: usize = 128 << 10;

/// Returns the byte at offset `place` of transfer `n` in one direction.
fn byte(n: usize, place: usize) -> u8 {
    (n.wrapping_mul(31) ^ place ^ (place >> 8)) as u8
}

/// Bytes that have arrived, over all transfers.
#[derive(Debug, Default)]
struct Progress {
    bytes: AtomicU64,
    /// Set when the upgrades are complete: the senders send the rest.
    go_on: AtomicBool,
}

/// Sends the bytes of a transfer: half of them at once, the rest when the upgrades are complete.
fn send(mut socket: &Socket, n: usize, progress: &Progress) {
    let all: Vec<u8> = (0..2 * BYTES).map(|place| byte(n, place)).collect();
    socket.write_all(&all[..BYTES]).unwrap_or_else(|error| panic!("transfer {n}: {error}"));
    while !progress.go_on.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(20));
    }
    socket.write_all(&all[BYTES..]).unwrap_or_else(|error| panic!("transfer {n} after the upgrades: {error}"));
    socket.shutdown(std::net::Shutdown::Write).unwrap();
}
/// Receives the bytes of a transfer to their end.
fn receive(mut socket: &Socket, n: usize, progress: &Progress) {
    let (mut place, mut buffer) = (0, [0; 4096]);
    loop {
        let octets = socket.read(&mut buffer).unwrap_or_else(|error| panic!("transfer {n} at {place}: {error}"));
        if octets == 0 {
            return assert_eq!(place, 2 * BYTES, "transfer {n}");
        }
        for &octet in &buffer[..octets] {
            assert_eq!(octet, byte(n, place), "transfer {n} at {place}");
            place += 1;
        }
        progress.bytes.fetch_add(octets as u64, Ordering::Relaxed);
    }
}
/// Runs one end of a transfer; the client sends in every second one.
fn end(socket: &Socket, n: usize, client: bool, progress: &Progress) {
    socket.set_read_timeout(Some(Duration::from_secs(90))).unwrap();
    socket.set_write_timeout(Some(Duration::from_secs(90))).unwrap();
    if client == n.is_multiple_of(2) {
        send(socket, n, progress);
        // The other host ends its direction when it has all bytes.
        assert_eq!({ socket }.read(&mut [0]).unwrap(), 0, "transfer {n}");
    } else {
        receive(socket, n, progress);
        socket.shutdown(std::net::Shutdown::Write).unwrap();
    }
}

/// Runs `count` transfers to the server; returns the threads of both ends.
fn transfers(world: &World, count: usize, progress: &Arc<Progress>) -> Vec<JoinHandle<()>> {
    let (listener, server) = world.server.run(|| listen((address(Version::V4, SERVERS, 2), 0).into(), 4_096));
    let (accepted, connected) = (progress.clone(), progress.clone());
    let thread = |work: Box<dyn FnOnce() + Send>| Builder::new().stack_size(STACK).spawn(work).unwrap();
    let servers = start(&world.server, move || {
        let all = (0..count).map(|_| {
            let socket = accept(&listener).unwrap();
            let progress = accepted.clone();
            thread(Box::new(move || {
                let mut number = [0; 4];
                { &socket }.read_exact(&mut number).unwrap();
                end(&socket, u32::from_be_bytes(number) as usize, false, &progress);
            }))
        });
        all.collect::<Vec<_>>()
    });
    let clients = start(&world.client, move || {
        let all = (0..count).map(|n| {
            let socket = socket(server.ip());
            socket.connect(&server.into()).unwrap_or_else(|error| panic!("transfer {n}: {error}"));
            { &socket }.write_all(&(n as u32).to_be_bytes()).unwrap();
            let progress = connected.clone();
            thread(Box::new(move || end(&socket, n, true, &progress)))
        });
        all.collect::<Vec<_>>()
    });
    [servers, clients].into_iter().flat_map(|side| side.join().unwrap()).collect()
}

/// Upgrades one gateway, by the command.
fn upgrade(pair: &Pair, side: Side) {
    let output = pair.command(side, "upgrade");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{side:?} gateway: {said}");
    assert!(said.starts_with("upgraded: "), "{said}");
}

/// Limits the rate of the link in both directions. Returns false if the kernel cannot.
fn slow_down(world: &World, rate: &'static str) -> bool {
    [&world.near, &world.far].into_iter().all(|end| {
        end.run(move || {
            let mut command = std::process::Command::new("tc");
            command.args([
                "qdisc", "replace", "dev", "line", "root", "tbf", "latency", "100ms", "burst", "64kb", "rate", rate,
            ]);
            command.status().is_ok_and(|status| status.success())
        })
    })
}

/// Returns the lines of both logs about peers and upgrades.
fn states(pair: &Pair) -> String {
    let mut lines = Vec::new();
    for side in [Side::Near, Side::Far] {
        let log = pair.written(side);
        let levels = [" INFO ", " WARN ", " ERROR "];
        let of_peers = log.lines().filter(|line| levels.iter().any(|level| line.contains(level)));
        lines.extend(of_peers.map(|line| format!("{line} ({side:?})")));
    }
    lines.sort_unstable();
    lines.join("\n")
}

#[test]
fn a_thousand_transfers_survive_upgrades_of_either_gateway() {
    if !possible("a_thousand_transfers_survive_upgrades_of_either_gateway") {
        return;
    }
    let _turn = turn();
    let world = World::new();
    for (transport, line) in [("quic", None), ("tls", None), ("tls", Some("40mbit"))] {
        if let Some(rate) = line {
            // Slower than the gateways send: TCP is behind, and the reasons of their ends wait behind bytes.
            if !slow_down(&world, rate) {
                println!("left out over a slow line: the kernel has no token bucket filter (tbf)");
                continue;
            }
        }
        // The bytes of either half take 3 s at this rate.
        let wish = Wish { rate: "100 Mbit/s", peer: format!("transport = \"{transport}\""), ..Wish::default() };
        let pair = Pair::start(&world, &wish);
        let progress = Arc::new(Progress::default());
        let ends = transfers(&world, TRANSFERS, &progress);
        until("bytes of most transfers are under way", || {
            progress.bytes.load(Ordering::Relaxed) > (TRANSFERS * BYTES / 4) as u64
        });
        for side in [Side::Near, Side::Far] {
            upgrade(&pair, side);
        }
        progress.go_on.store(true, Ordering::Relaxed);
        for side in [Side::Far, Side::Near] {
            upgrade(&pair, side);
        }
        let failed = ends.into_iter().map(JoinHandle::join).filter(Result::is_err).count();
        assert_eq!(failed, 0, "ends of transfers failed over {transport} {line:?}:\n{}", states(&pair));
        assert_eq!(progress.bytes.load(Ordering::Relaxed), (2 * TRANSFERS * BYTES) as u64);
        until("all connections have ended", || pair.number(Side::Near, "/peers/0/connections") == 0);
        // It is the same process, and relays new connections.
        let again = Arc::new(Progress { go_on: AtomicBool::new(true), ..Progress::default() });
        transfers(&world, 4, &again).into_iter().for_each(|end| end.join().unwrap());
        pair.stop();
    }
}
