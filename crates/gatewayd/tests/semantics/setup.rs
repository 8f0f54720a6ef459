//! Connection setup, and its failures.

use std::io;
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;

use rustix::event::PollFlags;

use super::Event;
use super::scene::{Scene, Seen, both};
use crate::common::tcp::{ALL, accept, errno, listen, local, outcome, peer, ready, received, reset, sent, socket};
use crate::common::world::{
    Filter, NO_ROUTE, NO_ROUTE_BEYOND, PROHIBITED, PROHIBITED_BEYOND, SERVERS, UNREACHABLE, World, address,
};

pub(crate) const EVENTS: &[Event] = &[
    Event { name: "connected", watch: connected },
    Event { name: "connected from a bound port", watch: |scene| bound(scene, 0) },
    Event { name: "connected, both ports the same", watch: |scene| bound(scene, 7_777) },
    Event { name: "connected again from the same port, server ended first", watch: |scene| again(scene, false) },
    Event { name: "connected again from the same port after a reset", watch: |scene| again(scene, true) },
    Event { name: "connected the other way, server's host to client's (as FTP does)", watch: other_way },
    Event { name: "connected and closed, no byte sent", watch: empty },
    Event { name: "refused: nobody listens", watch: refused },
    Event { name: "refused by a filter, by ICMP port unreachable", watch: |scene| filtered(scene, "port-unreachable") },
    Event { name: "prohibited by a filter", watch: |scene| filtered(scene, "admin-prohibited") },
    Event { name: "no such host", watch: |scene| to(scene, SERVERS) },
    Event { name: "no route to the network", watch: |scene| to(scene, NO_ROUTE) },
    Event { name: "no route to the network, one router further", watch: |scene| to(scene, NO_ROUTE_BEYOND) },
    Event { name: "network declared unreachable", watch: |scene| to(scene, UNREACHABLE) },
    Event { name: "network prohibited", watch: |scene| to(scene, PROHIBITED) },
    Event { name: "network prohibited, one router further", watch: |scene| to(scene, PROHIBITED_BEYOND) },
    Event { name: "no answer", watch: no_answer },
    Event { name: "answer held back: connect completes only with it", watch: held_back },
    Event { name: "client gives up before the answer", watch: gives_up },
    Event { name: "accept queue full", watch: queue_full },
    Event { name: "largest segment", watch: largest_segment },
];

/// Returns the addresses of both ends.
fn ends(socket: &socket2::Socket) -> Seen {
    let [here, there] = [Ok(local(socket)), peer(socket)].map(|address: io::Result<SocketAddr>| match address {
        Ok(address) => World::who(address.ip()),
        Err(error) => errno(&error),
    });
    vec![format!("own address: {here}"), format!("peer's address: {there}")]
}

fn connected(scene: &Scene<'_>) -> Seen {
    let (listener, at) = scene.listen(0, 16);
    let socket = scene.socket();
    if let Err(error) = socket.connect(&at.into()) {
        return vec![format!("client: connect: {}", errno(&error))];
    }
    let taken = match accept(&listener) {
        Ok(taken) => taken,
        Err(error) => return vec![format!("server: accept: {}", errno(&error))],
    };
    let mut seen = both(ends(&socket), ends(&taken));
    let same = |is: bool| if is { "the same" } else { "different" };
    let client_port = peer(&taken).is_ok_and(|peer| peer == local(&socket));
    let server_port = peer(&socket).is_ok_and(|peer| peer == local(&taken));
    seen.push(format!("client's address and port at both: {}", same(client_port)));
    seen.push(format!("server's address and port at both: {}", same(server_port)));
    seen
}

/// Binds the client to `port`; `port` 0: an unused one, and any at the server.
fn bound(scene: &Scene<'_>, port: u16) -> Seen {
    let (listener, at) = scene.listen(port, 16);
    let from = scene.client(if port == 0 { 6_666 } else { port });
    let socket = scene.socket();
    socket.set_reuse_address(true).unwrap();
    socket.bind(&from.into()).unwrap();
    let connect = socket.connect(&at.into());
    let mut seen = vec![format!("client: connect: {}", outcome(&connect))];
    if connect.is_ok() {
        let sees = match accept(&listener).and_then(|taken| peer(&taken)) {
            Ok(peer) if peer == from => "the client's, and its port".into(),
            Ok(peer) => format!("{}, port {}", World::who(peer.ip()), peer.port()),
            Err(error) => errno(&error),
        };
        seen.push(format!("server: peer's address: {sees}"));
    }
    seen
}

/// Connects twice with the same addresses and ports, one after the other.
fn again(scene: &Scene<'_>, with_reset: bool) -> Seen {
    let (listener, at) = scene.listen(0, 16);
    let from = scene.client(if with_reset { 6_668 } else { 6_667 });
    let mut seen = Vec::new();
    for time in ["first", "second"] {
        let socket = scene.socket();
        socket.set_reuse_address(true).unwrap();
        socket.bind(&from.into()).unwrap();
        let connect = socket.connect(&at.into());
        seen.push(format!("client: {time} connect: {}", outcome(&connect)));
        let taken = match accept(&listener) {
            Ok(taken) => taken,
            Err(error) => {
                seen.push(format!("server: {time} accept: {}", errno(&error)));
                break;
            }
        };
        let same = if peer(&taken).is_ok_and(|peer| peer == from) { "the same" } else { "different" };
        seen.push(format!("server: client's address and port: {same}"));
        if with_reset {
            reset(socket);
            seen.push(format!("server: {}", received(&taken, 1, ALL)));
        } else {
            drop(taken);
            seen.push(format!("client: {}", received(&socket, 2, ALL)));
        }
        // A client is not at once back on the same port.
        std::thread::sleep(Duration::from_millis(300));
    }
    seen
}

fn other_way(scene: &Scene<'_>) -> Seen {
    let at = scene.client(0);
    let (listener, at) = scene.world.client.run(move || listen(at, 16));
    let from = scene.server(20);
    let connect = scene.world.server.run(move || {
        let socket = socket(from.ip());
        socket.set_reuse_address(true)?;
        socket.bind(&from.into())?;
        socket.connect(&at.into()).map(|()| socket)
    });
    let mut seen = vec![format!("server: connect: {}", outcome(&connect))];
    if let (Ok(socket), Ok(taken)) = (connect, accept(&listener)) {
        let same = if peer(&taken).is_ok_and(|peer| peer == from) { "the same" } else { "different" };
        seen.push(format!("client: server's address and port: {same}"));
        seen.push(format!("server: {}", sent(&socket, 1, 1_000)));
        drop(socket);
        seen.push(format!("client: {}", received(&taken, 1, ALL)));
    }
    seen
}

fn empty(scene: &Scene<'_>) -> Seen {
    scene.meet(
        |socket| {
            drop(socket);
            vec!["connect: ok".into()]
        },
        |socket| vec![received(&socket, 1, ALL)],
    )
}

fn refused(scene: &Scene<'_>) -> Seen {
    let (listener, at) = scene.listen(0, 1);
    // Shut down, not only closed: a child process that another thread is starting holds a copy of the descriptor until
    // its exec.
    listener.shutdown(Shutdown::Both).unwrap();
    scene.try_to(at)
}

fn filtered(scene: &Scene<'_>, complaint: &str) -> Seen {
    let (_listener, at) = scene.listen(0, 16);
    let rule = format!("tcp dport {} reject with icmpx type {complaint}", at.port());
    let _filter = Filter::new(&scene.world.server, "input", &rule);
    scene.try_to(at)
}

/// Connects to a host that does not exist.
fn to(scene: &Scene<'_>, network: u8) -> Seen {
    scene.try_to((address(scene.version, network, 99), 80).into())
}

fn no_answer(scene: &Scene<'_>) -> Seen {
    let (_listener, at) = scene.listen(0, 16);
    let rule = format!("tcp dport {} drop", at.port());
    let _filter = Filter::new(&scene.world.server, "input", &rule);
    let socket = scene.socket();
    socket.set_tcp_user_timeout(Some(Duration::from_secs(3))).unwrap();
    socket.set_write_timeout(None).unwrap();
    vec![format!("client: connect (gives up after 3 s): {}", outcome(&socket.connect(&at.into())))]
}

/// Drops the server's answers to SYNs at `port`.
fn hold<'a>(scene: &Scene<'a>, port: u16) -> Filter<'a> {
    let rule = format!("tcp sport {port} tcp flags & (syn | ack) == syn | ack drop");
    Filter::new(&scene.world.server, "output", &rule)
}

fn held_back(scene: &Scene<'_>) -> Seen {
    let (listener, at) = scene.listen(0, 16);
    let held = hold(scene, at.port());
    let socket = scene.socket();
    socket.set_nonblocking(true).unwrap();
    let mut seen = vec![format!("client: connect: {}", outcome(&socket.connect(&at.into())))];
    let writable = |time| if ready(&socket, PollFlags::OUT, time) { "writable" } else { "not writable" };
    seen.push(format!("client: while the answer is held back: {}", writable(Duration::from_millis(1_500))));
    drop(held);
    seen.push(format!("client: when it is let go: {}", writable(Duration::from_secs(20))));
    let error = socket.take_error().unwrap().map_or("none".into(), |error| errno(&error));
    seen.push(format!("client: error: {error}"));
    seen.push(format!("server: accept: {}", outcome(&accept(&listener))));
    seen
}

fn gives_up(scene: &Scene<'_>) -> Seen {
    let (listener, at) = scene.listen(0, 16);
    let held = hold(scene, at.port());
    let socket = scene.socket();
    socket.set_nonblocking(true).unwrap();
    let mut seen = vec![format!("client: connect: {}", outcome(&socket.connect(&at.into())))];
    ready(&socket, PollFlags::OUT, Duration::from_millis(500));
    drop(socket);
    drop(held);
    // The server retransmits its answer after 1 s and 3 s.
    let accepted = ready(&listener, PollFlags::IN, Duration::from_secs(5));
    seen.push(match accepted.then(|| accept(&listener)) {
        None => "server: accept: nothing".into(),
        Some(Err(error)) => format!("server: accept: {}", errno(&error)),
        Some(Ok(taken)) => format!("server: accept: ok, {}", received(&taken, 1, ALL)),
    });
    seen
}

fn queue_full(scene: &Scene<'_>) -> Seen {
    // A queue of length 0 accepts one (Linux: it is full when it is longer).
    let (listener, at) = scene.listen(0, 0);
    let [first, second] = [0, 1].map(|_| scene.socket());
    let mut seen = vec![format!("client: first connect: {}", outcome(&first.connect(&at.into())))];
    second.set_nonblocking(true).unwrap();
    seen.push(format!("client: second connect: {}", outcome(&second.connect(&at.into()))));
    let writable = |time| if ready(&second, PollFlags::OUT, time) { "writable" } else { "not writable" };
    seen.push(format!("client: second, while nobody accepts: {}", writable(Duration::from_millis(1_500))));
    seen.push(format!("server: accept: {}", outcome(&accept(&listener))));
    seen.push(format!("client: second, after that: {}", writable(Duration::from_secs(20))));
    seen.push(format!("server: accept: {}", outcome(&accept(&listener))));
    seen
}

fn largest_segment(scene: &Scene<'_>) -> Seen {
    let segment = |socket: &socket2::Socket| format!("TCP_MAXSEG: {}", socket.tcp_mss().unwrap());
    // After some exchange: the negotiated options, with those in each segment.
    scene.meet(
        move |socket| vec![sent(&socket, 1, 1_000), received(&socket, 2, 1_000), segment(&socket)],
        move |socket| vec![received(&socket, 1, 1_000), sent(&socket, 2, 1_000), segment(&socket)],
    )
}
