//! Forwards look-ups from behind a path to a resolver that only this machine can reach.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::addresses::Block;

/// Look-ups in flight; a further one replaces the oldest. A power of two.
const PENDING: usize = 1024;
/// TCP connections at once.
const CONNECTIONS: usize = 32;
/// The interval at which threads check that they should end.
const TICK: Duration = Duration::from_millis(100);
/// The time without an octet after which a TCP connection is closed, more than resolvers take (RFC 7766, section 6.2.3,
/// recommends a few seconds).
const IDLE: Duration = Duration::from_secs(20);
/// The largest message: its length in TCP has 16 bits (RFC 1035, section 4.2.2).
const LARGEST: usize = 65_535;

/// A forwarder of DNS, over UDP and TCP. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Forwarder {
    udp: u16,
    tcp: u16,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Forwarder {
    /// Starts it on free ports of `at`, for clients in `block`, towards the resolver `to`.
    ///
    /// # Errors
    /// No socket or thread can be had.
    pub(crate) fn start(at: Ipv4Addr, block: Block, to: SocketAddr) -> io::Result<Forwarder> {
        let near = Arc::new(UdpSocket::bind((at, 0))?);
        let any: IpAddr = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let far = Arc::new(UdpSocket::bind((any, 0))?);
        far.connect(to)?;
        let listener = TcpListener::bind((at, 0))?;
        near.set_read_timeout(Some(TICK))?;
        far.set_read_timeout(Some(TICK))?;
        // An accept has the timeout of a read.
        socket2::SockRef::from(&listener).set_read_timeout(Some(TICK))?;
        let (udp, tcp) = (near.local_addr()?.port(), listener.local_addr()?.port());
        let mut this = Forwarder { udp, tcp, stop: Arc::default(), threads: Vec::new() };
        // The keys of a hasher are random.
        let key = RandomState::new().build_hasher().finish() as u16;
        let pending = Arc::new(Mutex::new(Pending::new(key)));
        let (near_too, far_too, pending_too) = (near.clone(), far.clone(), pending.clone());
        this.run(move |stop| queries(stop, &near, &far, block, &pending))?;
        this.run(move |stop| answers(stop, &near_too, &far_too, &pending_too))?;
        this.run(move |stop| connections(stop, &listener, block, to))?;
        Ok(this)
    }

    /// Returns its port for UDP.
    pub(crate) fn udp(&self) -> u16 {
        self.udp
    }

    /// Returns its port for TCP.
    pub(crate) fn tcp(&self) -> u16 {
        self.tcp
    }

    fn run(&mut self, work: impl FnOnce(&AtomicBool) + Send + 'static) -> io::Result<()> {
        let stop = self.stop.clone();
        self.threads.push(std::thread::Builder::new().name("dns".to_owned()).spawn(move || work(&stop))?);
        Ok(())
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// The clients of look-ups over UDP, by the number that the forwarder has put into the query.
#[derive(Debug)]
struct Pending {
    clients: Vec<Option<Client>>,
    /// The number of the next query, and what distinguishes it from that in the message: others who would answer cannot
    /// derive it from earlier ones.
    next: u16,
    key: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Client {
    address: SocketAddr,
    /// The number in its query.
    id: [u8; 2],
    /// The number in the forwarded query.
    forwarded: u16,
}

impl Pending {
    fn new(key: u16) -> Pending {
        Pending { clients: vec![None; PENDING], next: 0, key }
    }

    fn place(forwarded: u16) -> usize {
        usize::from(forwarded) % PENDING
    }

    /// Replaces the number of a query of a client; false if this is no message.
    fn forward(&mut self, query: &mut [u8], address: SocketAddr) -> bool {
        let Some(id) = query.first_chunk_mut::<2>() else { return false };
        // All numbers occur before one is used again, and so do all places, as the factor is odd.
        let forwarded = self.next.wrapping_mul(25_173) ^ self.key;
        self.next = self.next.wrapping_add(1);
        self.clients[Self::place(forwarded)] = Some(Client { address, id: *id, forwarded });
        *id = forwarded.to_be_bytes();
        true
    }

    /// Restores the number in an answer, and returns the client that is to get it, once.
    fn answer(&mut self, answer: &mut [u8]) -> Option<SocketAddr> {
        let id = answer.first_chunk_mut::<2>()?;
        let forwarded = u16::from_be_bytes(*id);
        let client = self.clients[Self::place(forwarded)].take_if(|client| client.forwarded == forwarded)?;
        *id = client.id;
        Some(client.address)
    }
}

fn queries(stop: &AtomicBool, near: &UdpSocket, far: &UdpSocket, block: Block, pending: &Mutex<Pending>) {
    let mut buffer = vec![0; LARGEST];
    while !stop.load(Ordering::Relaxed) {
        let Ok((octets, from)) = near.recv_from(&mut buffer) else { continue };
        let query = &mut buffer[..octets];
        if block.contains(from.ip()) && pending.lock().unwrap_or_else(PoisonError::into_inner).forward(query, from) {
            // A resolver that does not exist refuses it; the client asks again.
            let _ = far.send(query);
        }
    }
}

fn answers(stop: &AtomicBool, near: &UdpSocket, far: &UdpSocket, pending: &Mutex<Pending>) {
    let mut buffer = vec![0; LARGEST];
    while !stop.load(Ordering::Relaxed) {
        let Ok(octets) = far.recv(&mut buffer) else { continue };
        let answer = &mut buffer[..octets];
        if let Some(client) = pending.lock().unwrap_or_else(PoisonError::into_inner).answer(answer) {
            let _ = near.send_to(answer, client);
        }
    }
}

fn connections(stop: &AtomicBool, listener: &TcpListener, block: Block, to: SocketAddr) {
    let open = Arc::new(AtomicUsize::new(0));
    while !stop.load(Ordering::Relaxed) {
        let Ok((client, from)) = listener.accept() else { continue };
        if !block.contains(from.ip()) || open.load(Ordering::Relaxed) >= CONNECTIONS {
            continue;
        }
        open.fetch_add(1, Ordering::Relaxed);
        let counted = open.clone();
        let work = move || {
            let _ = join(&client, to);
            counted.fetch_sub(1, Ordering::Relaxed);
        };
        if std::thread::Builder::new().name("dns-tcp".to_owned()).spawn(work).is_err() {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Copies both directions until each has ended.
fn join(client: &TcpStream, to: SocketAddr) -> io::Result<()> {
    let server = TcpStream::connect_timeout(&to, IDLE)?;
    for stream in [client, &server] {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(IDLE))?;
        stream.set_write_timeout(Some(IDLE))?;
    }
    std::thread::scope(|scope| {
        scope.spawn(|| copy(client, &server));
        copy(&server, client);
    });
    Ok(())
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let mut buffer = vec![0; 1 << 14];
    while let Ok(octets @ 1..) = from.read(&mut buffer)
        && to.write_all(&buffer[..octets]).is_ok()
    {}
    let _ = to.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_goes_to_its_client_once() {
        let mut pending = Pending::new(0x1234);
        let client = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let query = |pending: &mut Pending, id: [u8; 2], port: u16| {
            let mut message = [id[0], id[1], 1, 0];
            assert!(pending.forward(&mut message, client(port)));
            message
        };
        let mut one = query(&mut pending, [7, 7], 1);
        let mut two = query(&mut pending, [7, 7], 2);
        let second = two;
        assert_ne!(one, two, "equal numbers of two clients are distinguished");
        assert_eq!((pending.answer(&mut two), two), (Some(client(2)), [7, 7, 1, 0]));
        let mut again = second;
        assert_eq!(pending.answer(&mut again), None);
        // The oldest is forgotten after as many others as there is room for.
        for _ in 1..PENDING {
            query(&mut pending, [1, 1], 3);
        }
        assert_eq!(pending.answer(&mut one), None);
        assert!(!pending.forward(&mut [1], client(1)) && pending.answer(&mut []).is_none());
    }
}
