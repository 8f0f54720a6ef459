//! Connection teardown.

use std::io::Write;
use std::net::Shutdown;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use cellway_sys::Namespace;
use rustix::process::Signal;
use socket2::{Socket, TcpKeepalive};

use super::Event;
use super::scene::{Scene, Seen, both};
use crate::common::tcp::{ALL, accept, errno, failure, filled, outcome, peer, received, reset, send, sent, waiting};
use crate::common::world::{Filter, start};

pub(crate) const EVENTS: &[Event] = &[
    Event { name: "client ends its half, 100 000 B are answered", watch: half_close_of_client },
    Event { name: "server ends its half, 100 000 B follow", watch: half_close_of_server },
    Event { name: "both end at once", watch: both_at_once },
    Event { name: "server closes at once, client then sends", watch: closes_unread },
    Event { name: "server resets after 1000 B", watch: server_resets },
    Event { name: "client resets after 1000 B", watch: client_resets },
    Event { name: "server resets, client is sending", watch: resets_a_sender },
    Event { name: "server sends more than fits and resets, client only sends", watch: resets_unread },
    Event { name: "server closes with 1000 B unread", watch: server_unread },
    Event { name: "client closes with 1000 B unread", watch: client_unread },
    Event { name: "client's program is killed", watch: |scene| killed(scene, false) },
    Event { name: "client's program is killed with 1000 B unread", watch: |scene| killed(scene, true) },
    Event { name: "idle with keep-alive", watch: idle },
    Event { name: "server's host vanishes, client keeps alive", watch: |scene| vanishes(scene, true) },
    Event { name: "client's host vanishes, server keeps alive", watch: |scene| vanishes(scene, false) },
    Event {
        name: "server's host vanishes and comes back, client connects again from the same port",
        watch: comes_back,
    },
];

fn half_close_of_client(scene: &Scene<'_>) -> Seen {
    scene.meet(
        |socket| {
            let first = sent(&socket, 1, 1_000);
            let end = outcome(&socket.shutdown(Shutdown::Write));
            vec![first, format!("shutdown: {end}"), received(&socket, 2, ALL)]
        },
        |socket| vec![received(&socket, 1, ALL), sent(&socket, 2, 100_000)],
    )
}

fn half_close_of_server(scene: &Scene<'_>) -> Seen {
    scene.meet(
        |socket| vec![received(&socket, 2, ALL), sent(&socket, 1, 100_000)],
        |socket| {
            let first = sent(&socket, 2, 1_000);
            let end = outcome(&socket.shutdown(Shutdown::Write));
            vec![first, format!("shutdown: {end}"), received(&socket, 1, ALL)]
        },
    )
}

fn both_at_once(scene: &Scene<'_>) -> Seen {
    let barrier = Arc::new(Barrier::new(2));
    let end = |barrier: Arc<Barrier>, own: u64, other: u64| {
        move |socket: Socket| {
            let first = sent(&socket, own, 1_000);
            barrier.wait();
            let end = outcome(&socket.shutdown(Shutdown::Write));
            vec![first, format!("shutdown: {end}"), received(&socket, other, ALL)]
        }
    };
    scene.meet(end(barrier.clone(), 1, 2), end(barrier, 2, 1))
}

fn closes_unread(scene: &Scene<'_>) -> Seen {
    scene.meet(
        |socket| {
            let end = received(&socket, 2, ALL);
            let first = sent(&socket, 1, 1_000);
            let failed = failure(&socket);
            vec![end, first, format!("error after that: {failed}")]
        },
        |socket| {
            drop(socket);
            vec!["close".into()]
        },
    )
}

fn server_resets(scene: &Scene<'_>) -> Seen {
    scene.meet(
        |socket| {
            // Reports that it has arrived here: a reset that is faster than its program is another event.
            if waiting(&socket, 1_000) {
                (&socket).write_all(b"!").unwrap();
            }
            vec![received(&socket, 2, ALL)]
        },
        |socket| {
            let first = sent(&socket, 2, 1_000);
            waiting(&socket, 1);
            reset(socket);
            vec![first, "reset".into()]
        },
    )
}

fn client_resets(scene: &Scene<'_>) -> Seen {
    scene.meet(
        |socket| {
            let first = sent(&socket, 1, 1_000);
            reset(socket);
            vec![first, "reset".into()]
        },
        |socket| vec![received(&socket, 1, ALL)],
    )
}

fn resets_a_sender(scene: &Scene<'_>) -> Seen {
    scene.meet(
        |socket| match send(&socket, 1, 1 << 32) {
            (_, Ok(())) => vec!["send: 4 GiB".into()],
            (_, Err(error)) => vec![format!("send: {}", errno(&error))],
        },
        |socket| {
            let first = received(&socket, 1, 1_000_000);
            reset(socket);
            vec![first, "reset".into()]
        },
    )
}

/// The client never reads, so that the server's octets fill all buffers on the path, and the rest wait.
fn resets_unread(scene: &Scene<'_>) -> Seen {
    scene.meet(
        |socket| match send(&socket, 1, 1 << 32) {
            (_, Ok(())) => vec!["send: 4 GiB".into()],
            (_, Err(error)) => vec![format!("send: {}", errno(&error))],
        },
        |socket| {
            let filled = filled(&socket, 2);
            reset(socket);
            vec![format!("send: {filled}"), "reset".into()]
        },
    )
}

fn server_unread(scene: &Scene<'_>) -> Seen {
    scene.meet(
        |socket| vec![sent(&socket, 1, 1_000), received(&socket, 2, ALL)],
        |socket| {
            let there = waiting(&socket, 1_000);
            drop(socket);
            vec![format!("1000 B there: {there}"), "close".into()]
        },
    )
}

fn client_unread(scene: &Scene<'_>) -> Seen {
    scene.meet(
        |socket| {
            let there = waiting(&socket, 1_000);
            drop(socket);
            vec![format!("1000 B there: {there}"), "close".into()]
        },
        |socket| vec![sent(&socket, 2, 1_000), received(&socket, 1, ALL)],
    )
}

/// The client is another process that is killed by SIGKILL after it has sent 1000 B.
fn killed(scene: &Scene<'_>, unread: bool) -> Seen {
    let (listener, at) = scene.listen(0, 16);
    let server = start(&scene.world.server, move || match accept(&listener) {
        Ok(socket) => {
            let answer = if unread { sent(&socket, 2, 1_000) } else { "send: nothing".into() };
            vec![answer, received(&socket, 1, ALL)]
        }
        Err(error) => vec![format!("accept: {}", errno(&error))],
    });
    let client = match scene.mortal(at, unread) {
        Ok(mut client) => {
            client.signal(Signal::KILL).unwrap();
            client.wait().unwrap();
            vec!["killed after 1000 B sent".into()]
        }
        Err(error) => vec![error.to_string()],
    };
    both(client, server.join().unwrap())
}

/// Sets probes after a second without packets, one each second, and a timeout after two without an answer.
fn keep_alive(socket: &Socket) {
    let second = Duration::from_secs(1);
    let probes = TcpKeepalive::new().with_time(second).with_interval(second).with_retries(2);
    socket.set_tcp_keepalive(&probes).unwrap();
}

fn idle(scene: &Scene<'_>) -> Seen {
    let exchange = |own: u64, other: u64| {
        move |socket: Socket| {
            let before = [sent(&socket, own, 1), received(&socket, other, 1)];
            std::thread::sleep(Duration::from_secs(4));
            let after = [sent(&socket, own, 1), received(&socket, other, 1)];
            vec![format!("before: {}, {}", before[0], before[1]), format!("after 4 s: {}, {}", after[0], after[1])]
        }
    };
    scene.meet_with(keep_alive, exchange(1, 2), exchange(2, 1))
}

/// From some instant on, one of the hosts neither receives nor sends anything. Some octets arrived before that.
fn vanishes(scene: &Scene<'_>, server: bool) -> Seen {
    let (listener, at) = scene.listen(0, 16);
    let socket = scene.socket();
    let connected = socket.connect(&at.into());
    let taken = match accept(&listener) {
        Ok(taken) if connected.is_ok() => taken,
        taken => return vec![format!("connect: {}, accept: {}", outcome(&connected), outcome(&taken))],
    };
    let world = scene.world;
    let (goes, stays, names, from, [comes_to, leaves_by]) = if server {
        (&taken, &socket, ["server", "client"], &world.server, ["dport", "sport"])
    } else {
        (&socket, &taken, ["client", "server"], &world.client, ["sport", "dport"])
    };
    keep_alive(stays);
    let mut seen = vec![format!("{}: {}", names[0], sent(goes, 2, 1_000))];
    seen.push(format!("{}: {}", names[1], received(stays, 2, 1_000)));
    let _filters = cut_off(from, at.port(), [comes_to, leaves_by]);
    seen.push(format!("{}: {}", names[1], received(stays, 2, ALL)));
    seen
}

/// Drops all packets of the server's `port` at a host; the arguments name the side of the port in each direction.
fn cut_off<'a>(host: &'a Namespace, port: u16, [comes_to, leaves_by]: [&str; 2]) -> [Filter<'a>; 2] {
    [("input", comes_to), ("output", leaves_by)]
        .map(|(hook, which)| Filter::new(host, hook, &format!("tcp {which} {port} drop")))
}

/// The server's end of the first connection outlasts its absence.
fn comes_back(scene: &Scene<'_>) -> Seen {
    let (listener, at) = scene.listen(0, 16);
    let connect = || {
        let socket = scene.socket();
        socket.set_reuse_address(true).unwrap();
        socket.bind(&scene.client(6_669).into()).unwrap();
        keep_alive(&socket);
        let connected = socket.connect(&at.into());
        (socket, outcome(&connected))
    };
    let (first, connected) = connect();
    let mut seen = vec![format!("client: first connect: {connected}")];
    let old = accept(&listener);
    let filters = cut_off(&scene.world.server, at.port(), ["dport", "sport"]);
    seen.push(format!("client: {}", received(&first, 2, ALL)));
    drop((first, filters));
    let (second, connected) = connect();
    seen.push(format!("client: second connect: {connected}"));
    seen.push(match (old, accept(&listener)) {
        (Ok(old), Ok(new)) => {
            let same = if peer(&new).is_ok_and(|peer| peer == scene.client(6_669)) { "the same" } else { "different" };
            let exchange = [sent(&second, 1, 1_000), received(&new, 1, 1_000)].join(", ");
            format!("server: first: {}; second: client's port: {same}; {exchange}", received(&old, 1, ALL))
        }
        (old, new) => format!("server: accept: {}, {}", outcome(&old), outcome(&new)),
    });
    seen
}
