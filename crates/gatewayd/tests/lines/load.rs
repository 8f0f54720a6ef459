//! Connections whose every octet is known, in both directions at once.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use socket2::Socket;

use crate::common::pair::{Pair, Side};
use crate::common::tcp::{ALL, accept, listen, received, sent, socket};
use crate::common::until;
use crate::common::world::{SERVERS, Version, World, address, start};

pub(crate) const MEGA: u64 = 1_000_000;

/// The timeout of a host; only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(80);

/// Runs a test over both versions of IP, at once.
pub(crate) fn over_both(test: impl Fn(Version) + Sync) {
    thread::scope(|scope| {
        for line in [Version::V4, Version::V6] {
            let test = &test;
            scope.spawn(move || test(line));
        }
    });
}

/// Active connections: each side sends all its bytes, ends its half, and reads to the end.
#[derive(Debug)]
pub(crate) struct Load {
    size: u64,
    ends: Vec<JoinHandle<(String, String)>>,
}

impl Load {
    /// Starts `count` connections, every second one over IPv6, of `size` octets in each direction.
    pub(crate) fn start(world: &World, count: u64, size: u64) -> Load {
        let mut ends = Vec::new();
        for (turn, version) in (0..).zip([Version::V4, Version::V6]) {
            let (listener, at) = world.server.run(move || listen((address(version, SERVERS, 2), 0).into(), 1_024));
            listener.set_read_timeout(Some(PATIENCE)).unwrap();
            let numbers: Vec<u64> = (0..count).filter(|number| number % 2 == turn).collect();
            for _ in &numbers {
                let listener = listener.try_clone().unwrap();
                ends.push(start(&world.server, move || serve(&listener, size)));
            }
            for number in numbers {
                ends.push(start(&world.client, move || (format!("client {number}"), ask(at, number, size))));
            }
        }
        Load { size, ends }
    }

    /// Waits for the end of all. Each host must have received all of its octets, and then the end.
    pub(crate) fn whole(self) {
        let wanted = format!("send: {0} B; recv: {0} B, then end", self.size);
        let seen = self.ends.into_iter().map(|end| end.join().unwrap());
        let wrong: Vec<(String, String)> = seen.filter(|(_, seen)| *seen != wanted).collect();
        assert!(wrong.is_empty(), "these did not see \"{wanted}\": {wrong:#?}");
    }
}

fn ask(at: SocketAddr, number: u64, size: u64) -> String {
    let socket = socket(at.ip());
    match socket.connect(&at.into()).and_then(|()| (&socket).write_all(&number.to_be_bytes())) {
        Ok(()) => both_ways(socket, 2 * number, 2 * number + 1, size),
        Err(error) => format!("connect: {error}"),
    }
}

fn serve(listener: &Socket, size: u64) -> (String, String) {
    let mut octets = [0; 8];
    match accept(listener).and_then(|socket| (&socket).read_exact(&mut octets).map(|()| socket)) {
        Ok(socket) => {
            let number = u64::from_be_bytes(octets);
            (format!("server {number}"), both_ways(socket, 2 * number + 1, 2 * number, size))
        }
        Err(error) => ("a server".into(), format!("accept: {error}")),
    }
}

/// Sends the stream `own` and reads the stream `other`, at once.
fn both_ways(socket: Socket, own: u64, other: u64, size: u64) -> String {
    patient(&socket);
    let writer = socket.try_clone().unwrap();
    let sending = thread::spawn(move || {
        let said = sent(&writer, own, size);
        // If the connection has ended the reader reports it.
        let _ = writer.shutdown(Shutdown::Write);
        said
    });
    let got = received(&socket, other, ALL);
    format!("{}; {got}", sending.join().unwrap())
}

/// Sets a timeout longer than an outage.
pub(crate) fn patient(socket: &Socket) {
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.set_write_timeout(Some(PATIENCE)).unwrap();
}

/// Returns a connection: the client's end and the server's.
pub(crate) fn meet(world: &World, version: Version) -> [Socket; 2] {
    let (listener, at) = world.server.run(move || listen((address(version, SERVERS, 2), 0).into(), 1));
    let client = world.client.run(move || {
        let socket = socket(at.ip());
        socket.connect(&at.into()).unwrap();
        socket
    });
    let server = accept(&listener).unwrap();
    [&client, &server].into_iter().for_each(patient);
    [client, server]
}

/// Sends bytes in each direction of a connection, and receives them.
pub(crate) fn talk(ends: &[Socket; 2]) {
    for (from, to) in [(0, 1), (1, 0)] {
        assert_eq!(sent(&ends[from], 9, 1_000), "send: 1000 B");
        assert_eq!(received(&ends[to], 9, 1_000), "recv: 1000 B");
    }
}

/// Returns the bytes of connections that have been relayed so far, in both directions.
pub(crate) fn crossed(pair: &Pair<'_>) -> u64 {
    Side::BOTH.into_iter().map(|side| pair.number(side, "/peers/0/received_bytes")).sum()
}

/// Waits until this many more bytes have been relayed.
pub(crate) fn until_crossed(pair: &Pair<'_>, more: u64) {
    let before = crossed(pair);
    until("bytes cross the line", || crossed(pair) >= before + more);
}

/// Checks that the connection between the gateways was never lost.
pub(crate) fn never_down(pair: &Pair<'_>) {
    for side in Side::BOTH {
        assert_eq!(pair.number(side, "/peers/0/downs"), 0, "{side:?}: {}", pair.status(side).unwrap()["peers"][0]);
    }
}
