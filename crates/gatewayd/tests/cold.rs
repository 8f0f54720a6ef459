//! Cold bulk transfers over rate-limited links: the short form of `make bench-gateway`.
//!
//! Bounds are shares and counts that hold on a busy machine. Each has a margin to the defect that it detects.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(target_os = "linux")]

mod common;

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use common::pair::{Pair, Side, Wish};
use common::relay::{Ills, Relay};
use common::tcp::{accept, listen, socket};
use common::world::{SERVERS, Version, World, address, start};
use socket2::Socket;

const MBIT: u64 = 1_000_000;
/// The duration of the measurement, from the first `connect`.
const SECONDS: u64 = 8;

/// The longest wait of a packet for the link.
const QUEUE: Duration = Duration::from_millis(200);

/// A link and its traffic.
struct Trial {
    /// Towards the far gateway and towards the near one (bit/s).
    rates: [u64; 2],
    /// One way.
    delay: Duration,
    /// The rates configured at the near gateway and at the far one.
    configured: [&'static str; 2],
    streams: u64,
    /// True if the server sends, false if the client does.
    download: bool,
}

/// The results of a trial.
#[derive(Debug)]
struct Seen {
    /// Goodput as a share of the link's rate.
    share: f64,
    /// The peak of resident memory, near and far (bytes).
    memory: [u64; 2],
    /// Packets that the gateways themselves lost.
    own_drops: [u64; 2],
    /// Packets that were dropped at the queue of the link, towards the receiver.
    dropped: u64,
}

impl Trial {
    /// Starts new daemons, a new link, and connections that send without limit.
    fn run(&self) -> Seen {
        let world = World::routed(1_500);
        let relay = Relay::start(&world, Version::V4, 1);
        for (toward, rate) in [(Side::Far, self.rates[0]), (Side::Near, self.rates[1])] {
            relay.set(toward, Ills { delay: self.delay, carries: Some((rate / 8, QUEUE)), ..Ills::NONE });
        }
        let [rate, back] = self.configured;
        let wish = Wish { rate, back: Some(back), through: Some(relay.door()), ..Wish::default() };
        let mut pair = Pair::start(&world, &wish);
        let received = Arc::new(AtomicU64::new(0));
        let (listener, at) = world.server.run(move || listen((address(Version::V4, SERVERS, 2), 0).into(), 64));
        let mut ends = Vec::new();
        for _ in 0..self.streams {
            let (listener, download) = (listener.try_clone().unwrap(), self.download);
            let [server, client] = [received.clone(), received.clone()];
            let accepted = move || accept(&listener).map_or((), |socket| carry(socket, download, &server));
            ends.push(start(&world.server, accepted));
            let connected = move || {
                let socket = socket(at.ip());
                socket.connect(&at.into()).unwrap();
                carry(socket, !download, &client);
            };
            ends.push(start(&world.client, connected));
        }
        thread::sleep(Duration::from_secs(SECONDS));
        let bits = received.load(Ordering::Relaxed) * 8;
        let [near, far] = Side::BOTH;
        let (line, receiver) = if self.download { (self.rates[1], near) } else { (self.rates[0], far) };
        let seen = Seen {
            share: bits as f64 / (line * SECONDS) as f64,
            memory: [near, far].map(|side| pair.peak_memory(side)),
            own_drops: [near, far].map(|side| pair.number(side, "/receive_drops")),
            dropped: relay.counts(receiver).crowded,
        };
        // The end of both daemons ends the connections.
        [near, far].into_iter().for_each(|side| pair.kill(side));
        ends.into_iter().for_each(|end| end.join().unwrap());
        seen
    }
}

/// Sends until the connection ends, or counts what arrives.
fn carry(mut socket: Socket, sends: bool, received: &AtomicU64) {
    let mut buffer = vec![b'x'; 1 << 16];
    if sends {
        while socket.write_all(&buffer).is_ok() {}
        return;
    }
    while let Ok(octets @ 1..) = socket.read(&mut buffer) {
        received.fetch_add(octets as u64, Ordering::Relaxed);
    }
}

/// The window of each flow follows the link in its own direction. When it was that of the other direction, one stream
/// had 0.44 of this link; of packets of 1500 octets with 1432 of data it can have 0.93.
#[test]
fn a_download_fills_the_fast_direction_of_an_asymmetric_line() {
    if !common::possible("a_download_fills_the_fast_direction_of_an_asymmetric_line") {
        return;
    }
    let _turn = common::alone();
    for streams in [1, 8] {
        let delay = Duration::from_millis(50);
        let trial =
            Trial { rates: [MBIT, 10 * MBIT], delay, configured: ["1 Mbit/s", "10 Mbit/s"], streams, download: true };
        let seen = trial.run();
        println!("{streams} streams: {seen:?}");
        assert!(seen.share >= 0.6, "{streams} streams: {seen:?}");
        assert_eq!(seen.own_drops, [0, 0], "{streams} streams");
    }
}

/// The bound on the resident memory (bytes) of a gateway with eight streams over 30 Mbit/s and 175 ms. The process
/// takes 10 MB without traffic. The bandwidth-delay product is 0.66 MB; one and a half windows are read from hosts, 3.9
/// MB, and metadata of packets takes a third more. Measured: 10.0 to 12.0 MB, whatever the load of the host.
const MEMORY: u64 = 16_000_000;

/// The bandwidth-delay product bounds the bytes read from hosts, whatever rate is configured. When the upper bound of
/// `rate = "auto"` was used, these eight streams took 570 MB.
#[test]
fn eight_cold_streams_take_no_more_memory_than_the_link_needs() {
    if !common::possible("eight_cold_streams_take_no_more_memory_than_the_link_needs") {
        return;
    }
    let _turn = common::alone();
    for configured in ["30 Mbit/s", "auto"] {
        let delay = Duration::from_micros(87_500);
        let rates = [30 * MBIT; 2];
        let trial = Trial { rates, delay, configured: [configured; 2], streams: 8, download: false };
        let seen = trial.run();
        println!("{configured}: {seen:?}");
        assert!(seen.memory.iter().all(|&memory| memory <= MEMORY), "{configured}: {seen:?}");
        assert_eq!(seen.own_drops, [0, 0], "{configured}");
        assert!(seen.share >= 0.4, "{configured}: {seen:?}");
        // With a configured rate no queue builds before the link.
        assert!(configured == "auto" || seen.dropped == 0, "{configured}: {seen:?}");
    }
}
