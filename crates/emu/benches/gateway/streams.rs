//! Bulk transfers: programs that send until they are stopped, and programs that count the bytes that arrive each
//! second.
//!
//! The receiver measures the time: at a server it begins with the first accepted connection, at a client with its first
//! `connect`. Nothing is exchanged before, so every transfer is cold.

use std::io::Write;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt::set_tcp_congestion;
use rustix::net::{RecvFlags, recv};
use serde::{Deserialize, Serialize};

use crate::programs::Done;

/// Servers that receive, and servers that send.
pub(crate) const SINK: u16 = 7009;
pub(crate) const SOURCE: u16 = 7019;
/// Bytes that one call reads or writes at most.
const CHUNK: usize = 128 << 10;

/// The counts of a receiver.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Received {
    /// Bytes of all streams in each second.
    pub(crate) seconds: Vec<u64>,
    /// Bytes of each stream in all seconds.
    pub(crate) streams: Vec<u64>,
}

impl Received {
    pub(crate) fn bytes(&self) -> u64 {
        self.seconds.iter().sum()
    }
}

/// `ROLE SERVER PORT SECONDS STREAMS CONTROL`: the role is `send` or `receive`; the server is an address, or `-` to be one;
/// the congestion control is of senders, `-` for the default.
pub(crate) fn main(role: &str, server: &str, port: &str, seconds: &str, streams: &str, control: &str) -> Done {
    let port: u16 = port.parse()?;
    let (seconds, count): (u64, usize) = (seconds.parse()?, streams.parse()?);
    let (begun, sockets): (Instant, Box<dyn Iterator<Item = std::io::Result<TcpStream>>>) = if server == "-" {
        let listener = TcpListener::bind(("0.0.0.0", port))?;
        let first = listener.accept()?.0;
        let rest = (1..count).map(move |_| Ok(listener.accept()?.0));
        (Instant::now(), Box::new(std::iter::once(Ok(first)).chain(rest)))
    } else {
        let server = SocketAddr::from((server.parse::<IpAddr>()?, port));
        // At once: the second does not wait for the handshake of the first.
        let connecting: Vec<_> = (0..count).map(|_| std::thread::spawn(move || TcpStream::connect(server))).collect();
        let joined = connecting.into_iter().map(|one| one.join().expect("a connecting thread does not panic"));
        (Instant::now(), Box::new(joined))
    };
    if role == "send" {
        let mut sending = Vec::new();
        for socket in sockets {
            let socket = socket?;
            // Not by sysctl: a namespace may only choose among those that the host allows to everyone.
            if control != "-" {
                set_tcp_congestion(&socket, control)?;
            }
            sending.push(std::thread::spawn(move || send(socket)));
        }
        for thread in sending {
            // It ends when the receiver does.
            let _ = thread.join();
        }
        return Ok(());
    }
    let counters: Arc<Vec<AtomicU64>> = Arc::new((0..count).map(|_| AtomicU64::new(0)).collect());
    let counting = counters.clone();
    // Streams are counted while later ones still connect.
    let sampling = std::thread::spawn(move || sample(begun, seconds, &counting));
    for (stream, socket) in sockets.enumerate() {
        let (socket, counters) = (socket?, counters.clone());
        std::thread::spawn(move || receive(&socket, &counters[stream]));
    }
    let received = sampling.join().map_err(|_| "the sampling thread panicked")?;
    println!("{}", serde_json::to_string(&received)?);
    Ok(())
}

fn sample(begun: Instant, seconds: u64, counters: &[AtomicU64]) -> Received {
    let mut received = Received::default();
    let mut before = 0;
    for second in 1..=seconds {
        std::thread::sleep((begun + Duration::from_secs(second)).saturating_duration_since(Instant::now()));
        received.streams = counters.iter().map(|counter| counter.load(Ordering::Relaxed)).collect();
        let now: u64 = received.streams.iter().sum();
        received.seconds.push(now - before);
        before = now;
    }
    received
}

fn send(mut socket: TcpStream) {
    let chunk = vec![b'x'; CHUNK];
    while socket.write_all(&chunk).is_ok() {}
}

/// Counts the bytes that arrive, which the kernel discards (`MSG_TRUNC`, tcp(7)): the hosts share their processors with
/// the gateways here.
fn receive(socket: &TcpStream, counter: &AtomicU64) {
    let mut chunk = vec![0; 8 * CHUNK];
    loop {
        match recv(socket, chunk.as_mut_slice(), RecvFlags::TRUNC) {
            Ok((_, 0)) => return,
            Ok((_, bytes)) => _ = counter.fetch_add(bytes as u64, Ordering::Relaxed),
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}
