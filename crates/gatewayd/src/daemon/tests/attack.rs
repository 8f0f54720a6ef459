//! A daemon with two peers: one attacks, while a host behind the other is served.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use cellway_gateway::{Excess, FlowId, Frame, Reason, Request, Server, TpPacket};
use cellway_units::Rate;
use tempfile::TempDir;

use super::PEER;
use crate::config::Config;
use crate::daemon::{Daemon, Handle};
use crate::peering::{PeerEvent, Peering};

/// A longer wait is a hang.
const HANG: Duration = Duration::from_secs(60);

/// A daemon on its own thread.
struct Running {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn start(config: Config) -> Running {
        let (tell, handle) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            let mut daemon = Daemon::new(config).unwrap();
            tell.send(daemon.handle()).unwrap();
            daemon.run().unwrap();
        });
        Running { handle: handle.recv().unwrap(), thread: Some(thread) }
    }
    fn error(&self, kind: &str) -> u64 {
        let snapshot = self.handle.snapshot(false);
        snapshot.and_then(|snapshot| snapshot.counters.errors.get(kind).copied()).unwrap_or(0)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.handle.stop();
        let ended = self.thread.take().is_none_or(|thread| thread.join().is_ok());
        assert!(ended || thread::panicking(), "the daemon panicked");
    }
}

/// Returns a port that is free for TCP and for UDP.
fn port() -> u16 {
    loop {
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = tcp.local_addr().unwrap().port();
        if UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}
/// Echoes the bytes of each connection.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || {
                let mut stream = stream?;
                std::io::copy(&mut stream.try_clone()?, &mut stream)
            });
        }
    });
    at
}

/// The daemon `far`, whose peers are the daemon `near`, with a forwarded port, and `evil`, which is the test.
struct Scene {
    far: Running,
    near: Running,
    evil: Peering,
    server: SocketAddr,
    port: SocketAddr,
    /// The number of the next packet of `evil`.
    number: u64,
    /// The reason for which it was disconnected since it was connected.
    cut: Option<String>,
    _folder: TempDir,
}

impl Scene {
    fn new(transport: &str) -> Scene {
        let folder = TempDir::new().unwrap();
        let names = ["far", "near", "evil"].map(str::to_owned);
        let identities = crate::make_identities(folder.path(), &names).unwrap();
        let (server, [far_port, port]) = (echo(), [port(), port()]);
        let config = |which: usize, more: &str| {
            let identity = &identities[which];
            let text = format!(
                "name = {:?}\nlocal = [\"127.0.0.0/8\"]\n[limits]\nmemory = \"128 MiB\"\n[identity]\nauthority = {:?}\n\
                 certificate = {:?}\nkey = {:?}\n{more}",
                names[which], identity.authority, identity.certificate, identity.key
            );
            Config::parse(&text, &folder.path().join("gateway.toml")).unwrap()
        };
        let peer = |name: &str, more: &str| {
            format!("[[peer]]\nname = {name:?}\nrate = \"1 Gbit/s\"\ntransport = {transport:?}\n{more}")
        };
        let dials = peer("far", &format!("address = \"127.0.0.1:{far_port}\"\n"));
        let far = config(
            0,
            &format!("[listen]\naddress = \"127.0.0.1:{far_port}\"\n{}{}", peer("near", ""), peer("evil", "")),
        );
        let forward = format!("[[forward]]\nlisten = \"127.0.0.1:{port}\"\npeer = \"far\"\nto = \"{server}\"\n");
        let far = Running::start(far);
        let near = Running::start(config(1, &format!("{dials}{forward}")));
        let evil = Peering::new(&config(2, &dials), None, Instant::now()).unwrap();
        let port = (Ipv4Addr::LOCALHOST, port).into();
        let mut scene = Scene { far, near, evil, server, port, number: 0, cut: None, _folder: folder };
        scene.dial();
        let end = Instant::now() + HANG;
        while scene.near.handle.snapshot(false).is_none_or(|snapshot| !snapshot.peers[0].up) {
            assert!(Instant::now() < end, "near and far do not meet");
            thread::sleep(Duration::from_millis(20));
        }
        scene
    }
    /// Runs the attacker's transport once; returns its events.
    fn turn(&mut self) -> Vec<PeerEvent> {
        self.evil.turn(Instant::now());
        let events: Vec<PeerEvent> = std::iter::from_fn(|| self.evil.next()).collect();
        self.evil.flush(Instant::now());
        for event in &events {
            if let PeerEvent::Down { why, .. } = event {
                self.cut.get_or_insert_with(|| why.clone());
            }
        }
        events
    }
    /// Runs until the attacker is connected (again).
    fn dial(&mut self) {
        let end = Instant::now() + HANG;
        while !self.turn().iter().any(|event| matches!(event, PeerEvent::Up { .. })) {
            assert!(Instant::now() < end, "far is not reached");
            thread::sleep(Duration::from_millis(1));
        }
        (self.number, self.cut) = (0, None);
    }
    fn send(&mut self, frames: Vec<Frame>) {
        let packet = TpPacket { number: self.number, frames };
        self.number += 1;
        let mut octets = BytesMut::new();
        packet.encode(&mut octets, |_, _, len, octets| octets.resize(octets.len() + len as usize, 7));
        self.evil.send(PEER, octets.freeze());
        let end = Instant::now() + HANG;
        while self.evil.backlog(PEER) > 64 << 10 {
            assert!(Instant::now() < end, "far takes nothing any more");
            drop(self.turn());
        }
    }
    /// Repeats `attack` until the daemon has disconnected the attacker for `excess`.
    fn until_cut(&mut self, excess: Excess, mut attack: impl FnMut(&mut Scene, u64)) {
        let end = Instant::now() + 4 * HANG;
        for n in 0.. {
            attack(self, n);
            if n % 64 == 0 {
                drop(self.turn());
                assert!(Instant::now() < end, "not cut after {n} packets");
            }
            if let Some(why) = &self.cut {
                assert!(why.contains(&excess.to_string()), "{why}");
                break;
            }
        }
        assert_eq!(self.far.error(excess.name()), 1);
    }
}

/// Runs a host behind `near` that opens one connection after the other, until `stop` is set.
fn served(port: SocketAddr) -> (Arc<AtomicBool>, JoinHandle<u64>) {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let host = thread::spawn(move || {
        let mut requests = 0_u64;
        while requests < 20 || !stopped.load(Ordering::Relaxed) {
            let mut stream = TcpStream::connect_timeout(&port, HANG).unwrap();
            stream.set_read_timeout(Some(HANG)).unwrap();
            stream.write_all(&requests.to_be_bytes()).unwrap();
            let mut answer = [0; 8];
            stream.read_exact(&mut answer).unwrap_or_else(|error| panic!("request {requests}: {error}"));
            assert_eq!(u64::from_be_bytes(answer), requests);
            requests += 1;
        }
        requests
    });
    (stop, host)
}

fn attacked(transport: &str) {
    let mut scene = Scene::new(transport);
    let (stop, host) = served(scene.port);
    // The gateway that dialled assigns the even identifiers.
    scene.until_cut(Excess::Identifiers, |scene, n| {
        let reset = |n: u64| Frame::Reset { flow: FlowId(4 * n), at: 0, reason: Reason::Reset };
        scene.send((0..100).map(|k| reset(100 * n + k)).collect());
    });
    scene.dial();
    // Nothing is acknowledged: the daemon answers frames about unknown flows.
    let credits = |n: u64| (0..100).map(|k| Frame::Credit { flow: FlowId(2 * (100 * n + k)), limit: 1 }).collect();
    let cut = [Excess::Answers, Excess::Unacknowledged];
    for n in 0..20_000 {
        scene.send(credits(n));
        if cut.iter().any(|excess| scene.far.error(excess.name()) > 0) {
            break;
        }
    }
    assert!(cut.iter().any(|excess| scene.far.error(excess.name()) == 1), "not cut");
    scene.dial();
    // Bytes with gaps, on connections to a server that reads them.
    let open = |n: u64, server| {
        let request = Request { client: None, server: Server::Address(server), early: false };
        Frame::Open { flow: FlowId(2 * n), limit: 1, lease: None, request: Arc::new(request) }
    };
    const FLOWS: u64 = 24;
    scene.send(vec![Frame::Rate { rate: Rate::from_bps(1 << 40) }]);
    let server = scene.server;
    scene.send((0..FLOWS).map(|n| open(n, server)).collect());
    // Its packets are small; those with bytes of flows that are not connected yet change nothing.
    let data = |n: u64| Frame::Data {
        flow: FlowId(2 * (n % FLOWS)),
        offset: 2 * (n / FLOWS) + 2,
        len: 1,
        fin: false,
        early: false,
        urgent: false,
    };
    thread::sleep(Duration::from_millis(500));
    for n in 0..30_000 {
        scene.send(vec![data(n)]);
    }
    stop.store(true, Ordering::Relaxed);
    let requests = host.join().unwrap();
    assert!(requests >= 20, "{requests} requests");
    assert_eq!(
        scene.near.handle.snapshot(false).map(|snapshot| snapshot.peers[0].downs),
        Some(0),
        "the other peer is lost"
    );
}

#[test]
fn over_quic() {
    attacked("quic");
}

#[test]
fn over_tls() {
    attacked("tls");
}
