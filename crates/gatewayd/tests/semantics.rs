//! Every host-visible event of TCP, directly and through the pair: hosts must observe the same. The table is
//! `docs/gateway/semantics.md`; `UPDATE_GOLDEN=1` writes it again.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(target_os = "linux")]

#[path = "semantics/bytes.rs"]
mod bytes;
mod common;
#[path = "semantics/proxy.rs"]
mod proxy;
#[path = "semantics/scene.rs"]
mod scene;
#[path = "semantics/setup.rs"]
mod setup;
#[path = "semantics/table.rs"]
mod table;
#[path = "semantics/teardown.rs"]
mod teardown;

use std::path::Path;
use std::thread;

use common::pair::{Pair, Side, Wish};
use common::tcp::{sent, socket, waiting};
use common::world::{Version, World};
use scene::{DIES, Scene, Seen};
use table::{Row, table};

/// An event of a connection.
#[derive(Clone, Copy, Debug)]
struct Event {
    name: &'static str,
    /// Causes it and returns the observations of the hosts.
    watch: fn(&Scene<'_>) -> Seen,
}

/// An accepted difference, and its reason.
#[derive(Clone, Copy, Debug)]
struct Known {
    event: &'static str,
    reason: &'static str,
}

const KNOWN: &[Known] = &[Known {
    event: "client gives up before the answer",
    reason: "a client that gives up says so only when an answer comes, with a reset; the far gateway's kernel completes \
             the handshake as soon as the server answers, before the client can have been asked, and resets the \
             connection one round trip of the line later",
}];

fn events() -> Vec<Event> {
    let only = std::env::var("ONLY").unwrap_or_default();
    let all = [setup::EVENTS, teardown::EVENTS, bytes::EVENTS].concat();
    all.into_iter().filter(|event| event.name.contains(&only)).collect()
}

/// One event; with `SHOW` set, also on the terminal.
fn watch(event: &Event, scene: &Scene<'_>) -> Seen {
    let start = std::time::Instant::now();
    let seen = (event.watch)(scene);
    if std::env::var_os("SHOW").is_some() {
        eprintln!("{:?} {} ({:.1} s): {seen:#?}", scene.version, event.name, start.elapsed().as_secs_f64());
    }
    seen
}

/// Observes all events, both versions of IP at once.
fn observe(world: &World) -> Vec<[Seen; 2]> {
    let [v4, v6] = thread::scope(|scope| {
        [Version::V4, Version::V6]
            .map(|version| {
                scope.spawn(move || {
                    let scene = Scene { world, version };
                    events().iter().map(|event| watch(event, &scene)).collect::<Vec<Seen>>()
                })
            })
            .map(|events| events.join().unwrap())
    });
    v4.into_iter().zip(v6).map(|(v4, v6)| [v4, v6]).collect()
}

#[test]
fn direct_tcp_gives_the_same_each_time() {
    if !common::possible("direct_tcp_gives_the_same_each_time") {
        return;
    }
    let _turn = common::turn();
    let [first, second] = thread::scope(|scope| {
        [0, 1].map(|_| scope.spawn(|| observe(&World::new()))).map(|observed| observed.join().unwrap())
    });
    for ((event, first), second) in events().iter().zip(first).zip(second) {
        assert_eq!(first, second, "{}: what is observed here is not stable", event.name);
    }
}

#[test]
fn a_proxy_that_answers_first_differs_from_a_direct_connection() {
    if !common::possible("a_proxy_that_answers_first_differs_from_a_direct_connection") {
        return;
    }
    let _turn = common::turn();
    let worlds = [World::new(), World::new()];
    proxy::begin(&worlds[1]);
    for name in [
        "connected",
        "connected from a bound port",
        "refused: nobody listens",
        "no such host",
        "answer held back: connect completes only with it",
        "client ends its half, 100 000 B are answered",
        "server resets after 1000 B",
        "client closes with 1000 B unread",
    ] {
        let event = *events().iter().find(|event| event.name == name).unwrap();
        let [direct, proxied] = worlds.each_ref().map(|world| watch(&event, &Scene { world, version: Version::V4 }));
        assert_ne!(direct, proxied, "{name}");
    }
    // Keep-alive is not proved by an event that breaks.
    let event = *events().iter().find(|event| event.name == "idle with keep-alive").unwrap();
    let [direct, proxied] = worlds.each_ref().map(|world| watch(&event, &Scene { world, version: Version::V4 }));
    assert_eq!(direct, proxied);
}

/// Not a test of its own: the client of some events, in a process that can be killed.
#[test]
fn a_host_that_is_killed() {
    let Some(task) = std::env::var(DIES).ok() else { return };
    let (at, unread) = task.split_once(' ').unwrap();
    let at: std::net::SocketAddr = at.parse().unwrap();
    let socket = socket(at.ip());
    socket.connect(&at.into()).unwrap();
    assert_eq!(sent(&socket, 1, 1_000), "send: 1000 B");
    if unread == "true" {
        assert!(waiting(&socket, 1_000));
    }
    println!("ready to die");
    thread::sleep(std::time::Duration::from_secs(60));
}

#[test]
fn hosts_see_the_same_through_the_pair() {
    if !common::possible("hosts_see_the_same_through_the_pair") {
        return;
    }
    let _turn = common::turn();
    let worlds = [World::new(), World::new()];
    let pair =
        Pair::start(&worlds[1], &Wish { limits: "keepalive = \"1 s\"\nwindow = \"1 MiB\"".into(), ..Wish::default() });
    // It would also be equal if the pair relayed nothing, which this filter excludes.
    let _filter = worlds[1].carried_only();
    let [direct, through] =
        thread::scope(|scope| worlds.each_ref().map(|world| scope.spawn(|| observe(world))).map(|o| o.join().unwrap()));
    let intercepted = pair.number(Side::Near, "/counters/opened/intercepted");
    assert!(intercepted >= 2 * events().len() as u64, "only {intercepted} connections went through the pair");
    let rows: Vec<Row> = events()
        .iter()
        .zip(direct.into_iter().zip(through))
        .map(|(event, (direct, pair))| Row { event: event.name, direct, pair })
        .collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gateway/semantics.md");
    let text = table(&rows, KNOWN);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let known = |row: &Row| KNOWN.iter().any(|known| known.event == row.event);
    let wrong: Vec<&Row> = rows.iter().filter(|row| row.equal() == known(row)).collect();
    assert!(wrong.is_empty(), "these differ, or are said to and do not: {wrong:#?}");
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(golden == text, "docs/gateway/semantics.md is not what was observed (UPDATE_GOLDEN=1 writes it):\n{text}");
    pair.stop();
}
