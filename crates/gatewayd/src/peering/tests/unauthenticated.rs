//! Connections of unauthenticated clients, idle or many, next to a peer that must be accepted.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use socket2::{Domain, Type};
use tracing_subscriber::fmt::MakeWriter;

use super::*;
use crate::peering::connection_limit;
use crate::peering::handshake_slots;
use crate::peering::link::{LinkEvent, Stage};
use crate::peering::tls::TlsLink;

/// TCP connections that send nothing and are opened again after each end.
struct Idle {
    stop: Arc<AtomicBool>,
    opened_again: Arc<AtomicU32>,
    thread: Option<JoinHandle<()>>,
}

fn connect(from: IpAddr, to: SocketAddr) -> Socket {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::new(from, 0).into()).unwrap();
    socket.set_nonblocking(true).unwrap();
    let _ = socket.connect(&to.into());
    socket
}

impl Idle {
    fn start(to: SocketAddr, sources: Vec<IpAddr>) -> Idle {
        let stop = Arc::new(AtomicBool::new(false));
        let opened_again = Arc::new(AtomicU32::new(0));
        let (stopped, again) = (Arc::clone(&stop), Arc::clone(&opened_again));
        let work = move || {
            let mut all: Vec<_> = sources.into_iter().map(|from| (from, connect(from, to))).collect();
            while !stopped.load(Ordering::SeqCst) {
                for (from, socket) in &mut all {
                    let open = matches!((&*socket).read(&mut [0]), Err(error) if matches!(
                        error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::NotConnected));
                    if !open {
                        again.fetch_add(1, Ordering::SeqCst);
                        *socket = connect(*from, to);
                    }
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        };
        Idle { stop, opened_again, thread: Some(std::thread::spawn(work)) }
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Returns `count` addresses: all the same, 250 different ones of one network, or each of another network.
fn sources(count: u32, spread: &str) -> Vec<IpAddr> {
    let address = |n: u32| match spread {
        "one address" => Ipv4Addr::new(127, 9, 9, 9),
        "the peer's address" => Ipv4Addr::LOCALHOST,
        "one network" => Ipv4Addr::new(127, 9, 9, (n % 250) as u8 + 1),
        _ => Ipv4Addr::new(127, 10 + (n >> 8) as u8, n as u8, 1),
    };
    (0..count).map(|n| address(n).into()).collect()
}

#[test]
fn idle_connections_keep_no_peer_out() {
    for (count, spread) in [
        (160, "one address"),
        (1000, "one address"),
        (160, "the peer's address"),
        (1000, "one network"),
        (160, "many networks"),
        (1000, "many networks"),
    ] {
        for transport in [TransportChoice::Tls, TransportChoice::Quic] {
            let keys = Keys::new();
            let mut far = start(&keys.gateway("far", "near"));
            let idle = Idle::start(address(&far), sources(count, spread));
            // Until no slot is free for one of them.
            let full = Instant::now() + HANG;
            while idle.opened_again.load(Ordering::SeqCst) < 50 {
                assert!(Instant::now() < full, "{} connections only", far.unauthenticated());
                step(&mut far, &mut Vec::new());
            }
            let mut near = keys.gateway("near", "far");
            near.listen = None;
            near.peers[0].transport = transport;
            near.peers[0].address = Some(address(&far).to_string());
            let mut near = start(&near);
            run_until([&mut near, &mut far], |[near, far]| is_up(near) && is_up(far));
            drop(idle);
        }
    }
}

/// Many clients that begin the handshake of QUIC and do not complete it: of one network, next to a peer at an unknown
/// address; and of more networks than there are slots, next to a peer at a known one.
#[test]
fn stalled_handshakes_lock_out_no_peer() {
    for (spread, known) in [("one network", false), ("many networks", true)] {
        let keys = Keys::new();
        let mut far = keys.gateway("far", "near");
        // Nothing listens there; the address still counts as the peer's.
        far.peers[0].address = known.then(|| "127.0.0.1:1".to_owned());
        let mut far = start(&far);
        let dials = |(number, from): (usize, IpAddr)| {
            let mut one = keys.gateway(&format!("stranger{number}"), "far");
            one.listen = Some(Listen { address: SocketAddr::new(from, 0) });
            one.peers[0].address = Some(address(&far).to_string());
            start(&one)
        };
        let mut crowd: Vec<_> = sources(200, spread).into_iter().enumerate().map(dials).collect();
        let read_all = |far: &mut Peering| (0..20).for_each(|_| step(far, &mut Vec::new()));
        // They answer a Retry, and nothing else.
        for _ in 0..2 {
            crowd.iter_mut().for_each(|one| step(one, &mut Vec::new()));
            read_all(&mut far);
        }
        let full = if known { handshake_slots::SLOTS } else { handshake_slots::PER_NETWORK };
        assert_eq!(far.unauthenticated(), full);
        let mut near = keys.gateway("near", "far");
        near.listen = None;
        near.peers[0].address = Some(address(&far).to_string());
        let mut near = start(&near);
        run_until([&mut near, &mut far], |[near, far]| is_up(near) && is_up(far));
        assert_eq!(far.unauthenticated(), full, "it had to wait until they were given up");
    }
}

/// The log of this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(octets);
        Ok(octets.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Log;
    fn make_writer(&self) -> Log {
        self.clone()
    }
}

impl Log {
    fn lines(&self) -> Vec<String> {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap().lines().map(str::to_owned).collect()
    }
}

fn logged(work: impl FnOnce()) -> Vec<String> {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false).finish();
    tracing::subscriber::with_default(subscriber, work);
    log.lines()
}

#[test]
fn clients_that_connect_and_close_are_logged_once() {
    let keys = Keys::new();
    let mut far = start(&keys.gateway("far", "near"));
    let lines = logged(|| {
        for _ in 0..300 {
            drop(std::net::TcpStream::connect(address(&far)).unwrap());
            step(&mut far, &mut Vec::new());
            step(&mut far, &mut Vec::new());
        }
    });
    assert!((1..=2).contains(&lines.len()), "{} lines: {:?}", lines.len(), lines.first());
    assert!(lines[0].contains("127.0.0.1") && lines[0].contains("without a reason"), "{}", lines[0]);
}

#[test]
fn a_peer_that_cannot_be_reached_is_logged_once() {
    let keys = Keys::new();
    let mut near = keys.gateway("near", "far");
    // Refused at once.
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    near.peers[0].address = Some(unused.to_string());
    near.peers[0].transport = TransportChoice::Tls;
    let mut near = start(&near);
    let lines = logged(|| {
        let mut rounds = 0;
        let end = Instant::now() + HANG;
        while rounds < 4 && Instant::now() < end {
            let before = near.peers[PEER].dial.round.is_some();
            step(&mut near, &mut Vec::new());
            rounds += usize::from(before && near.peers[PEER].dial.round.is_none());
        }
        assert_eq!(rounds, 4);
    });
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("far") && lines[0].contains("refused"), "{lines:?}");
}

/// A verified peer that opens connection after connection, and sends no hello on any.
#[test]
fn a_peer_has_a_bounded_number_of_connections() {
    let keys = Keys::new();
    let mut far = start(&keys.gateway("far", "near"));
    let near = keys.gateway("near", "far");
    let identity = Identity::read(&near.identity).unwrap();
    let mut all: Vec<TlsLink> = Vec::new();
    let mut greeting = 0;
    for _ in 0..60 {
        let now = Instant::now();
        let outage = Duration::from_secs(30);
        all.push(TlsLink::dial(&identity, "far", address(&far), None, outage, now).unwrap());
        let mut ready = false;
        let end = Instant::now() + HANG;
        while !ready && Instant::now() < end {
            let link = all.last_mut().unwrap();
            let mut told = VecDeque::new();
            link.turn(identity.authority(), super::link::Share::ALL, Instant::now(), &mut told);
            link.flush(Instant::now());
            ready = told.iter().any(|one| matches!(one, LinkEvent::Ready(_) | LinkEvent::Lost(_)));
            step(&mut far, &mut Vec::new());
        }
        for _ in 0..3 {
            step(&mut far, &mut Vec::new());
        }
        greeting = greeting.max(far.links.values().filter(|link| link.stage == Stage::Greeting).count());
    }
    assert_eq!(greeting, connection_limit::GREETING, "connections of one peer that wait for its hello");
    assert!(far.peers[PEER].connection_limit.surplus > 0);
    let mut near = near;
    near.peers[0].address = Some(address(&far).to_string());
    let mut near = start(&near);
    run_until([&mut near, &mut far], |[near, far]| is_up(near) && is_up(far));
}
