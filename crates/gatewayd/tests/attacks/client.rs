//! A client that sends requests to a server, one after the other, during an attack.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::PollFlags;

use crate::common::tcp::{errno, listen, peer, ready, received, sent, socket};
use crate::common::world::{CLIENTS, SERVERS, Version, World, address, start};

/// The pause between two requests.
const PAUSE: Duration = Duration::from_millis(20);
/// Most connections that wait for the server.
const BACKLOG: i32 = 4_096;
/// Octets of a request.
const REQUEST: u64 = 100;

/// The results of the requests.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) requests: u64,
    pub(crate) failed: Vec<String>,
    /// Connections that the server got and that are not the client's.
    pub(crate) strangers: u64,
}

/// The client and its server.
#[derive(Debug)]
pub(crate) struct Client {
    server: SocketAddr,
    stop: Arc<AtomicBool>,
    strangers: Arc<AtomicU64>,
    asks: JoinHandle<Seen>,
    answers: JoinHandle<()>,
}

impl Client {
    /// Starts the server and the client.
    pub(crate) fn start(world: &World, version: Version) -> Client {
        let (listener, server) = world.server.run(move || listen((address(version, SERVERS, 2), 0).into(), BACKLOG));
        let stop = Arc::new(AtomicBool::new(false));
        let strangers = Arc::new(AtomicU64::new(0));
        let asks = {
            let stop = stop.clone();
            start(&world.client, move || {
                let mut seen = Seen::default();
                while !stop.load(Ordering::Relaxed) {
                    seen.failed.extend(ask(server).err());
                    seen.requests += 1;
                    thread::sleep(PAUSE);
                }
                seen
            })
        };
        let (count, stopped, own) = (strangers.clone(), stop.clone(), address(version, CLIENTS, 2));
        let answers = start(&world.server, move || {
            // Connections that still wait at the end are counted, too.
            while ready(&listener, PollFlags::IN, Duration::from_millis(500)) || !stopped.load(Ordering::Relaxed) {
                if !ready(&listener, PollFlags::IN, Duration::ZERO) {
                    continue;
                }
                let (socket, _) = listener.accept().unwrap();
                if peer(&socket).is_ok_and(|peer| peer.ip() == own) {
                    // On its own thread: others wait to be accepted.
                    thread::spawn(move || {
                        received(&socket, 1, REQUEST);
                        sent(&socket, 2, REQUEST)
                    });
                } else {
                    count.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        Client { server, stop, strangers, asks, answers }
    }

    /// Returns the address of the server.
    pub(crate) fn server(&self) -> SocketAddr {
        self.server
    }

    /// Stops both, and returns the results.
    pub(crate) fn stop(self) -> Seen {
        self.stop.store(true, Ordering::Relaxed);
        let seen = self.asks.join().unwrap();
        self.answers.join().unwrap();
        Seen { strangers: self.strangers.load(Ordering::Relaxed), ..seen }
    }
}

/// Connects, sends a request and receives the answer.
fn ask(server: SocketAddr) -> Result<(), String> {
    let socket = socket(server.ip());
    socket.connect(&server.into()).map_err(|error| format!("connect: {}", errno(&error)))?;
    let (asked, wanted) = (sent(&socket, 1, REQUEST), format!("recv: {REQUEST} B"));
    let answer = received(&socket, 2, REQUEST);
    if answer == wanted { Ok(()) } else { Err(format!("{asked}; {answer} instead of {wanted}")) }
}
