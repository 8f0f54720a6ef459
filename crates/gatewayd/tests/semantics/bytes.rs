//! Events of the bytes in flight.

use std::io::{ErrorKind, Write};
use std::net::Shutdown;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use rustix::event::PollFlags;
use socket2::Socket;

use super::Event;
use super::scene::{Scene, Seen, both};
use crate::common::tcp::{ALL, accept, errno, octet, outcome, ready, received, sent};
use crate::common::world::start;

pub(crate) const EVENTS: &[Event] = &[
    Event { name: "20 MB each way at once", watch: large },
    Event { name: "200 connections at once, 64 KiB echoed on each", watch: parallel },
    Event { name: "server does not read for a while: the client must wait", watch: zero_window },
    Event { name: "urgent octet, receiver takes it in line", watch: |scene| urgent(scene, true) },
    Event { name: "urgent octet, receiver takes it apart", watch: |scene| urgent(scene, false) },
];

const LARGE: u64 = 20_000_000;

fn large(scene: &Scene<'_>) -> Seen {
    let exchange = |own: u64, other: u64| {
        move |socket: Socket| {
            let reader = socket.try_clone().unwrap();
            let got = thread::spawn(move || received(&reader, other, ALL));
            let gave = sent(&socket, own, LARGE);
            let end = outcome(&socket.shutdown(Shutdown::Write));
            vec![gave, format!("shutdown: {end}"), got.join().unwrap()]
        }
    };
    scene.meet(exchange(1, 2), exchange(2, 1))
}

const MANY: u64 = 200;

fn parallel(scene: &Scene<'_>) -> Seen {
    let (listener, at) = scene.listen(0, 256);
    let server = start(&scene.world.server, move || {
        let echoes: Vec<_> = (0..MANY)
            .map_while(|_| accept(&listener).ok())
            .map(|socket| thread::spawn(move || std::io::copy(&mut &socket, &mut &socket).is_ok_and(|n| n == 65_536)))
            .collect();
        let whole = echoes.into_iter().filter_map(|echo| echo.join().ok()).filter(|&whole| whole).count();
        vec![format!("{whole} of {MANY} echoed whole")]
    });
    let sockets: Vec<Socket> = (0..MANY).map(|_| scene.socket()).collect();
    let client = start(&scene.world.client, move || {
        let clients: Vec<_> = (0..)
            .zip(sockets)
            .map(|(seed, socket)| {
                thread::spawn(move || {
                    let connected = socket.connect(&at.into()).is_ok();
                    let gave = sent(&socket, seed, 65_536) == "send: 65536 B";
                    let ended = socket.shutdown(Shutdown::Write).is_ok();
                    connected && gave && ended && received(&socket, seed, ALL) == "recv: 65536 B, then end"
                })
            })
            .collect();
        let whole = clients.into_iter().filter_map(|client| client.join().ok()).filter(|&whole| whole).count();
        vec![format!("{whole} of {MANY} came back whole")]
    });
    both(client.join().unwrap(), server.join().unwrap())
}

/// More than all buffers on the path hold.
const MUCH: u64 = 32 << 20;

fn zero_window(scene: &Scene<'_>) -> Seen {
    let small = |socket: &Socket| {
        socket.set_recv_buffer_size(65_536).unwrap();
        socket.set_send_buffer_size(65_536).unwrap();
    };
    let (waits, waited) = channel();
    scene.meet_with(
        small,
        move |socket| {
            socket.set_nonblocking(true).unwrap();
            let (mut given, mut blocked) = (0, false);
            let failed = loop {
                if given == MUCH {
                    break None;
                }
                let piece: Vec<u8> = (given..MUCH.min(given + 65_536)).map(|index| octet(1, index)).collect();
                match (&socket).write(&piece) {
                    Ok(taken) => given += taken as u64,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        // A second without room: no byte moves any more. Then the server may read.
                        if !ready(&socket, PollFlags::OUT, Duration::from_secs(1)) && !blocked {
                            blocked = true;
                            waits.send(()).unwrap();
                        }
                    }
                    Err(error) => break Some(errno(&error)),
                }
            };
            drop((waits, socket));
            let end = failed.unwrap_or_else(|| "all taken".into());
            vec![format!("send: blocks while the server does not read: {blocked}"), format!("send: {end}")]
        },
        move |socket| {
            let told = waited.recv().is_ok();
            vec![format!("starts to read when the client is blocked: {told}"), received(&socket, 1, ALL)]
        },
    )
}

/// The client sends "abc", the urgent octet "U" and "def" (RFC 6093).
fn urgent(scene: &Scene<'_>, in_line: bool) -> Seen {
    let (listener, at) = scene.listen(0, 16);
    let socket = scene.socket();
    let mut seen = vec![format!("client: connect: {}", outcome(&socket.connect(&at.into())))];
    let taken = match accept(&listener) {
        Ok(taken) => taken,
        Err(error) => return vec![format!("server: accept: {}", errno(&error))],
    };
    taken.set_out_of_band_inline(in_line).unwrap();
    // A program that sends "abcU" as one urgent call sends three octets and an urgent one.
    let result = (&socket).write_all(b"abc").and_then(|()| socket.send_out_of_band(b"U").map(drop));
    seen.push(format!("client: send: {}", outcome(&result.and_then(|()| (&socket).write_all(b"def")))));
    socket.shutdown(Shutdown::Write).unwrap();
    let told = ready(&taken, PollFlags::PRI, Duration::from_secs(2));
    seen.push(format!("server: told that there is something urgent: {told}"));
    if !in_line {
        let mut apart = [std::mem::MaybeUninit::uninit()];
        let apart = taken.recv_out_of_band(&mut apart).map(|_| ());
        seen.push(format!("server: recv of the urgent octet: {}", outcome(&apart)));
    }
    let mut text = String::new();
    let read = std::io::Read::read_to_string(&mut &taken, &mut text);
    seen.push(format!("server: recv: \"{text}\", then {}", read.map_or_else(|error| errno(&error), |_| "end".into())));
    seen
}
