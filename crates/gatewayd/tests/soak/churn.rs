//! Connections of all kinds, without end: several threads each open one after the other and check each octet.

use std::fmt;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use socket2::Socket;

use crate::common::numbers::Numbers;
use crate::common::tcp::{ALL, errno, listen, received, reset, send, socket};
use crate::common::world::{SERVERS, Version, World, address, start};

/// Threads that open connections, which is the number of simultaneous ones.
const CLIENTS: u64 = 24;

/// The kind of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A small answer.
    Short,
    /// Megabytes.
    Long,
    /// The client ends its direction, then the server answers.
    HalfClosed,
    /// The client resets it during an answer.
    ClientResets,
    /// The server resets it during an answer.
    ServerResets,
    /// The client reads in small steps, and closes before the end.
    SlowReader,
    /// No socket listens.
    Refused,
    /// No bytes for seconds.
    Idle,
}

impl Kind {
    const ALL: [Kind; 8] = [
        Kind::Short,
        Kind::Long,
        Kind::HalfClosed,
        Kind::ClientResets,
        Kind::ServerResets,
        Kind::SlowReader,
        Kind::Refused,
        Kind::Idle,
    ];

    /// Returns the kind of a number: most often a short one.
    fn of(number: u64) -> Kind {
        match number % 100 {
            0..52 => Kind::Short,
            52..54 => Kind::Long,
            54..68 => Kind::HalfClosed,
            68..76 => Kind::ClientResets,
            76..84 => Kind::ServerResets,
            84..87 => Kind::SlowReader,
            87..97 => Kind::Refused,
            _ => Kind::Idle,
        }
    }
}

/// The number of connections by kind, and the failures.
#[derive(Debug, Default)]
struct Counts {
    done: [AtomicU64; Kind::ALL.len()],
    stop: AtomicBool,
    wrong: Mutex<Vec<String>>,
}

/// The result.
#[derive(Debug)]
pub(crate) struct Done {
    text: String,
    pub(crate) wrong: Vec<String>,
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The threads.
#[derive(Debug)]
pub(crate) struct Churn {
    counts: Arc<Counts>,
    clients: Vec<JoinHandle<()>>,
}

impl fmt::Display for Churn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = self.counts.done.each_ref().map(|count| count.load(Ordering::Relaxed));
        write!(f, "{} connections (", done.iter().sum::<u64>())?;
        for (kind, count) in Kind::ALL.iter().zip(done) {
            write!(f, "{}{kind:?} {count}", if *kind == Kind::Short { "" } else { ", " })?;
        }
        write!(f, "), {} wrong", self.counts.wrong.lock().unwrap().len())
    }
}

impl Churn {
    pub(crate) fn start(world: &World) -> Churn {
        let servers = [Version::V4, Version::V6].map(|version| serve(world, version));
        let counts = Arc::new(Counts::default());
        let client = |number| {
            let counts = Arc::clone(&counts);
            start(&world.client, move || run(Numbers(number), servers, &counts))
        };
        Churn { clients: (0..CLIENTS).map(client).collect(), counts }
    }

    /// Lets the connections end, and begins no more.
    pub(crate) fn stop(mut self) -> Done {
        self.counts.stop.store(true, Ordering::Relaxed);
        self.clients.drain(..).for_each(|client| client.join().unwrap());
        Done { text: self.to_string(), wrong: std::mem::take(&mut self.counts.wrong.lock().unwrap()) }
    }
}

fn run(mut numbers: Numbers, servers: [SocketAddr; 2], counts: &Counts) {
    while !counts.stop.load(Ordering::Relaxed) {
        let kind = Kind::of(numbers.next());
        let to = servers[numbers.below(2) as usize];
        if let Err(why) = connection(kind, to, &mut numbers) {
            let why = format!("{kind:?} to {to}: {why}");
            println!("wrong: {why}");
            counts.wrong.lock().unwrap().push(why);
        }
        counts.done[kind as usize].fetch_add(1, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(numbers.below(100)));
    }
}

/// Runs one connection. Returns an error for anything unexpected.
fn connection(kind: Kind, to: SocketAddr, numbers: &mut Numbers) -> Result<(), String> {
    let client = socket(to.ip());
    if kind == Kind::SlowReader {
        client.set_recv_buffer_size(16 << 10).unwrap();
    }
    if kind == Kind::Refused {
        return match client.connect(&SocketAddr::new(to.ip(), 1).into()) {
            Err(error) if errno(&error) == "ECONNREFUSED" => Ok(()),
            other => Err(format!("connect: {other:?}")),
        };
    }
    client.connect(&to.into()).map_err(|error| format!("connect: {error}"))?;
    let from = client.local_addr().unwrap().as_socket().unwrap().port();
    talk(kind, client, numbers).map_err(|why| format!("from port {from}: {why}"))
}

/// Exchanges its bytes.
fn talk(kind: Kind, client: Socket, numbers: &mut Numbers) -> Result<(), String> {
    let seed = numbers.next();
    let (up, down) = match kind {
        Kind::Long => (0, 1_000_000 + numbers.below(8_000_000)),
        Kind::HalfClosed => (numbers.below(60_000), numbers.below(60_000)),
        Kind::ClientResets | Kind::SlowReader => (0, 2_000_000),
        _ => (0, 1 + numbers.below(20_000)),
    };
    let expect = |end: &str| if down == 0 { format!("recv: {end}") } else { format!("recv: {down} B, then {end}") };
    let is = |got: String, wanted: String| if got == wanted { Ok(()) } else { Err(format!("{got}, not {wanted}")) };
    let ask = Ask { resets: kind == Kind::ServerResets, seed, up, down };
    (&client).write_all(&ask.encode()).map_err(|error| format!("ask: {error}"))?;
    match kind {
        Kind::Short | Kind::Long => is(received(&client, seed, ALL), expect("end")),
        Kind::HalfClosed => {
            send(&client, seed, up).1.map_err(|error| format!("send: {error}"))?;
            client.shutdown(Shutdown::Write).map_err(|error| format!("shutdown: {error}"))?;
            is(received(&client, seed, ALL), expect("end"))
        }
        Kind::ClientResets => {
            let part = numbers.below(down);
            is(received(&client, seed, part), format!("recv: {part} B"))?;
            reset(client);
            Ok(())
        }
        // Bytes before the reset may be lost with it.
        Kind::ServerResets => {
            let got = received(&client, seed, ALL);
            if got.ends_with("ECONNRESET") { Ok(()) } else { Err(got) }
        }
        Kind::SlowReader => {
            let mut buffer = [0; 4_096];
            for _ in 0..20 {
                (&client).read_exact(&mut buffer).map_err(|error| format!("recv: {error}"))?;
                thread::sleep(Duration::from_millis(100));
            }
            Ok(())
        }
        Kind::Idle => {
            thread::sleep(Duration::from_millis(numbers.below(5_000)));
            is(received(&client, seed, ALL), expect("end"))
        }
        Kind::Refused => Ok(()),
    }
}

/// The request of a client: the octets that it will send, and those that it requests.
#[derive(Clone, Copy, Debug)]
struct Ask {
    resets: bool,
    seed: u64,
    up: u64,
    down: u64,
}

impl Ask {
    const OCTETS: usize = 25;

    fn encode(self) -> Vec<u8> {
        let numbers = [self.seed, self.up, self.down].map(u64::to_be_bytes);
        [&[u8::from(self.resets)][..], numbers.as_flattened()].concat()
    }
    fn read(mut socket: &Socket) -> Option<Ask> {
        let mut octets = [0; Ask::OCTETS];
        socket.read_exact(&mut octets).ok()?;
        let number = |at: usize| octets[at..at + 8].iter().fold(0, |value, &octet| value << 8 | u64::from(octet));
        Some(Ask { resets: octets[0] != 0, seed: number(1), up: number(9), down: number(17) })
    }
}

/// Starts a server that ends with its namespace.
fn serve(world: &World, version: Version) -> SocketAddr {
    let at = (address(version, SERVERS, 2), 0).into();
    let (listener, at) = world.server.run(move || listen(at, 1_024));
    start(&world.server, move || {
        listener.set_read_timeout(None).unwrap();
        while let Ok((socket, _)) = listener.accept() {
            thread::spawn(move || answer(socket));
        }
    });
    at
}

/// Answers one connection; `None` if the client has closed it.
fn answer(socket: Socket) -> Option<()> {
    let ask = Ask::read(&socket)?;
    if ask.up > 0 {
        let got = received(&socket, ask.seed, ALL);
        // The client gets a reset instead of its answer.
        if got != format!("recv: {} B, then end", ask.up) {
            reset(socket);
            return None;
        }
    }
    send(&socket, ask.seed, ask.down).1.ok()?;
    if ask.resets {
        reset(socket);
    }
    Some(())
}
