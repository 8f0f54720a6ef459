//! A path whose round trip becomes much longer at once: late packets are not lost.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use cellway_sys::{Tun, TunConfig};
use rustix::event::PollFlags;

use crate::common;
use crate::common::pair::{Pair, Side, Wish};
use crate::common::relay::{Ills, Relay};
use crate::common::tcp::{errno, listen, ready, socket};
use crate::common::world::{SERVERS, Version, World, address, start};
use crate::load::{meet, never_down, patient, talk};

/// The delay of the path after the jump, both directions together (round trip before it: about 1 ms).
const DELAY: Duration = Duration::from_secs(2);
/// Connections that begin after the jump, one every `EVERY`.
const CONNECTIONS: u32 = 16;
const EVERY: Duration = Duration::from_millis(300);
/// The longest wait of a client: the second retransmission of its SYN, and a round trip, on a busy machine.
const LONGEST: Duration = Duration::from_secs(7);

/// A server that answers each request of four octets with the same; ends with its namespace.
fn serve(world: &World, version: Version) -> SocketAddr {
    let (listener, at) = world.server.run(move || listen((address(version, SERVERS, 2), 0).into(), 1_024));
    start(&world.server, move || {
        listener.set_read_timeout(None).unwrap();
        while let Ok((socket, _)) = listener.accept() {
            thread::spawn(move || {
                let (mut socket, mut request) = (socket, [0; 4]);
                while socket.read_exact(&mut request).is_ok() && socket.write_all(&request).is_ok() {}
            });
        }
    });
    at
}

/// Connects, and sends the server two requests. Returns the result, and the time of the connection setup.
fn ask(at: SocketAddr) -> (String, Duration) {
    let mut socket = socket(at.ip());
    patient(&socket);
    let begin = Instant::now();
    if let Err(error) = socket.connect(&at.into()) {
        return (format!("connect: {}", errno(&error)), begin.elapsed());
    }
    let took = begin.elapsed();
    for _ in 0..2 {
        let mut answer = [0; 4];
        if let Err(error) = socket.write_all(b"word").and_then(|()| socket.read_exact(&mut answer)) {
            return (errno(&error), took);
        }
        sleep(Duration::from_secs(2));
    }
    ("ok".into(), took)
}

/// Delays everything that passes the middle of the path, in both directions, by the value of the result (ms), until the
/// middle ends.
fn delayed(world: &World) -> Arc<AtomicU64> {
    let middle = world.middle.as_ref().unwrap();
    let tun = Tun::open(middle, &TunConfig::new("delay", 65_535)).unwrap();
    middle.run(|| {
        for version in ["-4", "-6"] {
            for rest in
                ["rule add iif near lookup 77", "rule add iif far lookup 77", "route add default dev delay table 77"]
            {
                let done = Command::new("ip").arg(version).args(rest.split(' ')).status().unwrap();
                assert!(done.success(), "ip {version} {rest}");
            }
        }
    });
    let delay = Arc::new(AtomicU64::new(0));
    let shared = Arc::clone(&delay);
    start(middle, move || {
        let (mut waiting, mut buffer) = (VecDeque::<(Instant, Vec<u8>)>::new(), vec![0; Tun::LARGEST]);
        loop {
            while let Some(octets) = tun.read(&mut buffer).unwrap() {
                let due = Instant::now() + Duration::from_millis(shared.load(Ordering::Relaxed));
                waiting.push_back((due, buffer[..octets].to_vec()));
            }
            while let Some((_, packet)) = waiting.front().filter(|(due, _)| *due <= Instant::now()) {
                tun.write(packet).unwrap();
                waiting.pop_front();
            }
            let next = waiting.front().map(|(due, _)| due.saturating_duration_since(Instant::now()));
            ready(&tun, PollFlags::IN, next.unwrap_or(Duration::from_millis(100)));
        }
    });
    delay
}

/// Connects clients, one every [`EVERY`], after `jump`: each must be connected and answered.
fn connect_after(world: &World, pair: Pair<'_>, jump: impl FnOnce()) {
    let carried = meet(world, Version::V4);
    let servers = [Version::V4, Version::V6].map(|version| serve(world, version));
    // Nothing is in flight.
    sleep(Duration::from_millis(500));
    jump();
    let asked: Vec<JoinHandle<(String, Duration)>> = (0..CONNECTIONS)
        .map(|number| {
            sleep(EVERY);
            let at = servers[(number % 2) as usize];
            start(&world.client, move || ask(at))
        })
        .collect();
    let seen: Vec<(String, Duration)> = asked.into_iter().map(|asked| asked.join().unwrap()).collect();
    assert!(seen.iter().all(|(how, _)| how == "ok"), "{seen:?}");
    // A client whose SYN is not answered in time retransmits it after 1 s and 3 s.
    assert!(seen.iter().all(|(_, took)| *took < LONGEST), "{seen:?}");
    assert!(pair.number(Side::Near, "/counters/passed") > 0, "no SYN went past the gateways");
    talk(&carried);
    never_down(&pair);
    pair.stop();
}

/// Delays the packets of the gateways alone.
fn jump(toward: &[Side]) {
    let world = World::routed(1_500);
    let relay = Relay::start(&world, Version::V4, 6);
    let pair = Pair::start(&world, &Wish { rate: "30 Mbit/s", through: Some(relay.door()), ..Wish::default() });
    connect_after(&world, pair, || {
        for &side in toward {
            relay.set(side, Ills { delay: DELAY / toward.len() as u32, ..Ills::NONE });
        }
    });
}

#[test]
fn a_path_that_becomes_slow_breaks_no_new_connection() {
    if !common::possible("jump::a_path_that_becomes_slow_breaks_no_new_connection") {
        return;
    }
    let _turn = common::turn();
    let world = World::routed(1_500);
    let delay = delayed(&world);
    let pair = Pair::start(&world, &Wish { rate: "30 Mbit/s", ..Wish::default() });
    connect_after(&world, pair, || delay.store(DELAY.as_millis() as u64 / 2, Ordering::Relaxed));
}

#[test]
fn a_round_trip_that_jumps_both_ways_breaks_no_new_connection() {
    if !common::possible("jump::a_round_trip_that_jumps_both_ways_breaks_no_new_connection") {
        return;
    }
    let _turn = common::turn();
    jump(&[Side::Near, Side::Far]);
}

#[test]
fn a_round_trip_that_jumps_towards_the_far_gateway_breaks_no_new_connection() {
    if !common::possible("jump::a_round_trip_that_jumps_towards_the_far_gateway_breaks_no_new_connection") {
        return;
    }
    let _turn = common::turn();
    jump(&[Side::Far]);
}

#[test]
fn a_round_trip_that_jumps_towards_the_near_gateway_breaks_no_new_connection() {
    if !common::possible("jump::a_round_trip_that_jumps_towards_the_near_gateway_breaks_no_new_connection") {
        return;
    }
    let _turn = common::turn();
    jump(&[Side::Near]);
}
