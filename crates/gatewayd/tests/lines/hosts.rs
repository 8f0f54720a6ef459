//! Hosts that read slowly, and hosts that disconnect with bytes pending.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use socket2::Socket;

use crate::common::pair::{Pair, Side, Wish};
use crate::common::programs::serve_files;
use crate::common::tcp::{ALL, accept, listen, octet, received, reset, sent, socket};
use crate::common::world::{SERVERS, Version, World, address};
use crate::common::{self, until};
use crate::load::{MEGA, meet, never_down, patient, talk};

/// Reads in small steps, so that `size` octets take `time`, after a rest. Returns the result.
fn slowly(mut socket: &Socket, seed: u64, size: u64, rest: Duration, time: Duration) -> String {
    let (mut piece, mut at) = (vec![0; 32 << 10], 0);
    sleep(rest);
    loop {
        match socket.read(&mut piece) {
            Ok(0) => return format!("{at} B, then end"),
            Ok(count) => {
                if (at..).zip(&piece[..count]).any(|(index, &value)| octet(seed, index) != value) {
                    return format!("a wrong octet behind {at}");
                }
                at += count as u64;
                sleep(time.mul_f64(count as f64 / size as f64));
            }
            Err(error) => return format!("{at} B, then {error}"),
        }
    }
}

#[test]
fn a_host_that_ends_its_half_and_reads_slowly_gets_all() {
    if !common::possible("hosts::a_host_that_ends_its_half_and_reads_slowly_gets_all") {
        return;
    }
    let _turn = common::turn();
    let world = World::new();
    let pair = Pair::start(&world, &Wish::default());
    // Rests longer than the patience of a gateway with a host that is to be reset, with more bytes than buffers hold.
    let (size, rest, time) = (12 * MEGA, Duration::from_secs(7), Duration::from_secs(5));
    let (mut readers, mut writers) = (Vec::new(), Vec::new());
    for version in [Version::V4, Version::V6] {
        for slow in [0, 1] {
            let ends = meet(&world, version);
            ends[slow].set_recv_buffer_size(16 << 10).unwrap();
            ends[slow].shutdown(Shutdown::Write).unwrap();
            let [client, server] = ends;
            let (reader, writer) = if slow == 0 { (client, server) } else { (server, client) };
            readers.push(thread::spawn(move || slowly(&reader, 1, size, rest, time)));
            // It sends all, and closes at once.
            writers.push(thread::spawn(move || (received(&writer, 1, ALL), sent(&writer, 1, size))));
        }
    }
    for writer in writers {
        assert_eq!(writer.join().unwrap(), ("recv: end".into(), format!("send: {size} B")));
    }
    for reader in readers {
        assert_eq!(reader.join().unwrap(), format!("{size} B, then end"));
    }
    never_down(&pair);
    pair.stop();
}

/// The number of clients, and the limit of connections.
const CLIENTS: u64 = 200;

/// Returns a world with small buffers, which fill soon.
fn crowd(transport: &str, limits: &str) -> (World, Wish) {
    let world = World::new();
    for namespace in [&world.client, &world.near, &world.far, &world.server] {
        namespace.set("net/ipv4/tcp_wmem", "4096 65536 131072").unwrap();
        namespace.set("net/ipv4/tcp_rmem", "4096 65536 131072").unwrap();
    }
    let limits = format!("connections = {CLIENTS}\nper-source = {CLIENTS}\n{limits}");
    (world, Wish { limits, ..Wish::over(transport) })
}

fn connect(world: &World, to: SocketAddr) -> std::io::Result<Socket> {
    world.client.run(move || {
        let socket = socket(to.ip());
        socket.connect(&to.into()).map(|()| socket)
    })
}

/// Waits until no byte moves any more, and some are held.
fn until_full(pair: &Pair<'_>) {
    let numbers = |pair: &Pair<'_>| {
        Side::BOTH.map(|side| {
            let number = |name: &str| pair.number(side, &format!("/peers/0/{name}"));
            (number("received_bytes"), number("buffered_bytes"))
        })
    };
    let mut before = numbers(pair);
    until("nothing moves", || {
        sleep(Duration::from_millis(500));
        let now = numbers(pair);
        let full = now == before && now.iter().any(|&(_, held)| held > MEGA);
        before = now;
        full
    });
}

fn memory(pair: &Pair<'_>) -> [u64; 2] {
    Side::BOTH.map(|side| pair.memory(side))
}

/// The growth of a process since `before` that is permitted (octets): 4 MiB of blocks for the next connections, and the
/// allocator's own.
const SLACK: u64 = 12 << 20;

/// Waits until neither gateway has a connection or a byte of one, and each has returned its memory.
fn until_free(pair: &Pair<'_>, before: [u64; 2]) {
    for (side, before) in Side::BOTH.into_iter().zip(before) {
        until(&format!("{side:?} has nothing left"), || {
            let status = pair.status(side).unwrap();
            let peer = &status["peers"][0];
            status["connections"].as_array().unwrap().is_empty()
                && peer["connections"] == 0
                && peer["buffered_bytes"] == 0
        });
        until_given_back(pair, side, before);
    }
}

fn until_given_back(pair: &Pair<'_>, side: Side, before: u64) {
    let begin = pair.memory(side);
    until(&format!("{side:?} gives back what it took: {begin} B without connections, {before} B before them"), || {
        pair.memory(side) <= before + SLACK
    });
}

#[test]
fn clients_that_reset_with_answers_pending_leave_nothing() {
    if common::possible("hosts::clients_that_reset_with_answers_pending_leave_nothing") {
        answers_pending("quic");
    }
}

#[test]
fn clients_that_reset_with_answers_pending_leave_nothing_over_tls() {
    if common::possible("hosts::clients_that_reset_with_answers_pending_leave_nothing_over_tls") {
        answers_pending("tls");
    }
}

fn answers_pending(transport: &str) {
    let _turn = common::turn();
    let (world, wish) = crowd(transport, "window = \"256 KiB\"");
    let pair = Pair::start(&world, &wish);
    talk(&meet(&world, Version::V4));
    let before = memory(&pair);
    let at = [Version::V4, Version::V6].map(|version| serve_files(&world.server, address(version, SERVERS, 2)));
    // Three times: earlier ones must have freed their slots.
    for _ in 0..3 {
        let clients: Vec<Socket> = (0..CLIENTS)
            .map(|number| {
                let to = at[(number % 2) as usize];
                connect(&world, to).unwrap_or_else(|error| panic!("client {number}: {error}"))
            })
            .collect();
        for mut client in &clients {
            client.write_all(format!("GET /1/{}/open HTTP/1.0\r\n\r\n", 50 * MEGA).as_bytes()).unwrap();
        }
        until_full(&pair);
        assert_eq!(pair.number(Side::Far, "/peers/0/connections"), CLIENTS);
        clients.into_iter().for_each(reset);
        until_free(&pair, before);
    }
    talk(&meet(&world, Version::V4));
    pair.stop();
}

#[test]
fn clients_that_reset_with_requests_pending_leave_nothing() {
    if common::possible("hosts::clients_that_reset_with_requests_pending_leave_nothing") {
        requests_pending("quic");
    }
}

#[test]
fn clients_that_reset_with_requests_pending_leave_nothing_over_tls() {
    if common::possible("hosts::clients_that_reset_with_requests_pending_leave_nothing_over_tls") {
        requests_pending("tls");
    }
}

fn requests_pending(transport: &str) {
    let _turn = common::turn();
    let (world, wish) = crowd(transport, "window = \"256 KiB\"");
    let pair = Pair::start(&world, &wish);
    talk(&meet(&world, Version::V4));
    let before = memory(&pair);
    for version in [Version::V4, Version::V6] {
        let (listener, at) = world.server.run(move || listen((address(version, SERVERS, 2), 0).into(), 1_024));
        let ends: Vec<[Socket; 2]> = (0..CLIENTS)
            .map(|number| {
                let client = connect(&world, at).unwrap_or_else(|error| panic!("client {number}: {error}"));
                let server = accept(&listener).unwrap();
                patient(&server);
                // As many octets as fit without a reader, or a megabyte.
                client.set_nonblocking(true).unwrap();
                [client, server]
            })
            .collect();
        let mut places = vec![0_u64; ends.len()];
        for _ in 0..64 {
            for ([client, _], place) in ends.iter().zip(&mut places) {
                let piece: Vec<u8> = (*place..*place + (16 << 10)).map(|index| octet(1, index)).collect();
                let mut client = client;
                match client.write(&piece) {
                    Ok(taken) => *place += taken as u64,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
        until_full(&pair);
        let ends = ends.into_iter().map(|[client, server]| (client, server));
        let (clients, servers): (Vec<Socket>, Vec<Socket>) = ends.unzip();
        clients.into_iter().for_each(reset);
        // The servers have read nothing, and do not.
        until_free(&pair, before);
        for server in servers {
            let seen = received(&server, 1, ALL);
            assert!(seen.ends_with("ECONNRESET"), "{seen}");
        }
    }
    talk(&meet(&world, Version::V4));
    pair.stop();
}

#[test]
fn the_process_takes_no_more_than_its_memory_limit() {
    if common::possible("hosts::the_process_takes_no_more_than_its_memory_limit") {
        nobody_reads("quic");
    }
}

#[test]
fn the_process_takes_no_more_than_its_memory_limit_over_tls() {
    if common::possible("hosts::the_process_takes_no_more_than_its_memory_limit_over_tls") {
        nobody_reads("tls");
    }
}

/// Measures the memory that hosts without a reader leave at the gateways: windows that together are ten times the
/// memory.
fn nobody_reads(transport: &str) {
    let _turn = common::turn();
    const MEMORY: u64 = 24 << 20;
    let (world, wish) = crowd(transport, "memory = \"24 MiB\"\nwindow = \"1 MiB\"");
    let pair = Pair::start(&world, &wish);
    talk(&meet(&world, Version::V4));
    let before = memory(&pair);
    let at = [Version::V4, Version::V6].map(|version| serve_files(&world.server, address(version, SERVERS, 2)));
    let clients: Vec<Socket> = (0..CLIENTS)
        .map(|number| {
            let to = at[(number % 2) as usize];
            connect(&world, to).unwrap_or_else(|error| panic!("client {number}: {error}"))
        })
        .collect();
    for mut client in &clients {
        client.write_all(format!("GET /1/{}/open HTTP/1.0\r\n\r\n", 50 * MEGA).as_bytes()).unwrap();
    }
    until_full(&pair);
    let of = |name: &str| Side::BOTH.map(|side| pair.number(side, &format!("/peers/0/{name}")));
    println!("{:?} held, {:?} received", of("buffered_bytes"), of("received_bytes"));
    for (side, (full, before)) in Side::BOTH.into_iter().zip(memory(&pair).into_iter().zip(before)) {
        println!("{side:?}: {} B more than before", full - before);
        assert!(full - before <= MEMORY, "{side:?}: {full} B, {before} B before");
    }
    // And it is used: no limit applies before the memory is short.
    let held: u64 = Side::BOTH.map(|side| pair.number(side, "/peers/0/buffered_bytes")).into_iter().max().unwrap();
    assert!(held >= MEMORY / 4, "{held} B are held");
    drop(clients);
    pair.stop();
}

/// Connects to a file server, requests more than any buffer holds, and reads a kilobyte a second.
fn crawl(world: &World, to: SocketAddr, stop: &Arc<AtomicBool>) -> JoinHandle<()> {
    let mut client = connect(world, to).unwrap();
    let stop = Arc::clone(stop);
    client.set_recv_buffer_size(4 << 10).unwrap();
    client.write_all(format!("GET /1/{}/open HTTP/1.0\r\n\r\n", 50 * MEGA).as_bytes()).unwrap();
    thread::spawn(move || {
        let mut piece = [0; 512];
        while !stop.load(Ordering::Relaxed) && client.read(&mut piece).is_ok_and(|count| count > 0) {
            sleep(Duration::from_millis(500));
        }
        reset(client);
    })
}

#[test]
fn bytes_for_slow_hosts_count_after_the_peer_is_lost() {
    if common::possible("hosts::bytes_for_slow_hosts_count_after_the_peer_is_lost") {
        slow_hosts("quic");
    }
}

#[test]
fn bytes_for_slow_hosts_count_after_the_peer_is_lost_over_tls() {
    if common::possible("hosts::bytes_for_slow_hosts_count_after_the_peer_is_lost_over_tls") {
        slow_hosts("tls");
    }
}

/// Hosts still read their buffered bytes when the peer is lost, at their own pace. These count against the memory of
/// connections over the next connection to the peer.
fn slow_hosts(transport: &str) {
    let _turn = common::turn();
    const MEMORY: u64 = 24 << 20;
    const AT_ONCE: usize = 45;
    let (world, wish) = crowd(transport, "memory = \"24 MiB\"\nwindow = \"1 MiB\"");
    let mut pair = Pair::start(&world, &wish);
    talk(&meet(&world, Version::V4));
    let before = pair.memory(Side::Near);
    let at = [Version::V4, Version::V6].map(|version| serve_files(&world.server, address(version, SERVERS, 2)));
    let stop = Arc::new(AtomicBool::new(false));
    let mut hosts = Vec::new();
    for round in 0..4 {
        hosts.extend((0..AT_ONCE).map(|number| crawl(&world, at[number % 2], &stop)));
        until_full(&pair);
        let full = pair.memory(Side::Near);
        println!("{round}: {} B more than before", full - before);
        assert!(full - before <= MEMORY, "lost {round} times: {full} B, {before} B before");
        if round < 3 {
            pair.end(Side::Far);
            pair.run(Side::Far);
            pair.wait_until_up();
        }
    }
    assert!(pair.number(Side::Near, "/peers/0/buffered_bytes") >= MEMORY / 4);
    stop.store(true, Ordering::Relaxed);
    hosts.into_iter().for_each(|host| host.join().unwrap());
    until_given_back(&pair, Side::Near, before);
    pair.stop();
}
