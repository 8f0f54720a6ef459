//! The listeners of ports to which hosts connect deliberately: forwarded ports and SOCKS.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use cellway_gateway::{Reason, Server};
use cellway_sys::{Interest, Parcel, Readiness};
use cellway_units::Span;
use serde::{Deserialize, Serialize};
use socket2::{Domain, Protocol, Socket, Type};

use super::context::Context;
use super::hosts::Origin;
use super::interception::AT_ONCE;
use super::outbox::Event;
use super::socks::{self, Dialogue, Step};
use super::timers::Due;
use crate::config::Config;
use crate::error::Error;
use crate::peer_id::PeerId;

/// The time within which a SOCKS client must send its request.
const GREETING: Span = Span::from_secs(10);
/// Most SOCKS clients that have not sent their requests.
const GREETINGS: usize = 1024;
/// Longest greeting (bytes): method list and request of RFC 1928.
const GREETING_BYTES: usize = 1024;
/// Connections that the kernel keeps until they are accepted.
const BACKLOG: i32 = 1024;

/// A host that has connected to a port, and the server that it requests.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) peer: PeerId,
    pub(crate) socket: Socket,
    pub(crate) client: SocketAddr,
    pub(crate) server: Server,
    pub(crate) origin: Origin,
}

#[derive(Debug)]
struct PortListener {
    socket: Socket,
    /// The destination of a forwarded port; none for SOCKS.
    forward: Option<(PeerId, Server)>,
}

/// A SOCKS client that has not sent its request.
#[derive(Debug)]
struct Greeting {
    socket: Socket,
    client: SocketAddr,
    dialogue: Dialogue,
    bytes: Vec<u8>,
}

/// The ports in the record of a handover: the indices of their sockets, and the clients of the SOCKS port that have not
/// sent their requests.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PortListenersRecord {
    ports: Vec<u32>,
    greetings: Vec<(u32, SocketAddr, Dialogue, Vec<u8>)>,
}

/// The ports, and the clients of the SOCKS port that have not sent their requests. The tokens of the ports begin at
/// `first`, and those of the clients follow.
#[derive(Debug, Default)]
pub(crate) struct PortListeners {
    first: u64,
    all: Vec<PortListener>,
    /// The peer of names, and of addresses in no peer's networks, for SOCKS.
    default: Option<PeerId>,
    greetings: HashMap<u64, Greeting>,
    /// The token of the next client.
    next: u64,
}

impl PortListeners {
    /// Opens the ports.
    ///
    /// # Errors
    /// An address is in use, or the configuration is wrong.
    pub(crate) fn open(config: &Config, first: u64) -> Result<PortListeners, Error> {
        PortListeners::with(config, first, |address| {
            listen(address).map_err(|source| Error::Io { what: format!("listen on {address}"), source })
        })
    }
    fn with(
        config: &Config,
        first: u64,
        mut open: impl FnMut(SocketAddr) -> Result<Socket, Error>,
    ) -> Result<PortListeners, Error> {
        let peer = |name: &str| {
            let found = config.peers.iter().position(|peer| peer.name == name);
            found.map(PeerId::at).ok_or_else(|| Error::Config { what: format!("no peer is named `{name}`") })
        };
        let (mut all, mut default) = (Vec::new(), None);
        for forward in &config.forwards {
            let to = server(&forward.to).ok_or_else(|| Error::Config {
                what: format!("a forward leads to `{}`: write HOST:PORT", forward.to),
            })?;
            all.push(PortListener { socket: open(forward.listen)?, forward: Some((peer(&forward.peer)?, to)) });
        }
        if let Some(socks) = &config.socks {
            default = socks.peer.as_deref().map(peer).transpose()?;
            all.push(PortListener { socket: open(socks.listen)?, forward: None });
        }
        let next = first + all.len() as u64;
        Ok(PortListeners { first, all, default, greetings: HashMap::new(), next })
    }
    /// Moves the sockets of ports and clients into `parcel`.
    pub(crate) fn hand_over(&mut self, parcel: &mut Parcel) -> PortListenersRecord {
        let ports = self.all.drain(..).map(|listener| parcel.add(listener.socket)).collect();
        let mut greeting = |greeting: Greeting| {
            let Greeting { socket, client, dialogue, bytes } = greeting;
            (parcel.add(socket), client, dialogue, bytes)
        };
        PortListenersRecord { ports, greetings: self.greetings.drain().map(|(_, of)| greeting(of)).collect() }
    }
    /// Continues the ports of a record, which are in the order of `config`.
    ///
    /// # Errors
    /// A socket is missing in `parcel`, or the configuration has other ports.
    pub(crate) fn resume(
        config: &Config,
        first: u64,
        record: PortListenersRecord,
        parcel: &mut Parcel,
        readiness: &Readiness,
        cx: &mut Context,
    ) -> Result<PortListeners, Error> {
        let failed = |source| Error::Io { what: "take over the ports".into(), source };
        let mut ports = record.ports.into_iter();
        let mut next = |_| {
            let place = ports.next().ok_or_else(|| io::Error::from(ErrorKind::InvalidData))?;
            parcel.take(place).map(Socket::from)
        };
        let mut listeners = PortListeners::with(config, first, |address| next(address).map_err(failed))?;
        for (place, client, dialogue, bytes) in record.greetings {
            let socket = Socket::from(parcel.take(place).map_err(failed)?);
            listeners.greet(Greeting { socket, client, dialogue, bytes }, readiness, cx);
        }
        Ok(listeners)
    }
    /// Returns the descriptors of the ports with their tokens.
    pub(crate) fn fds(&self) -> impl Iterator<Item = (BorrowedFd<'_>, u64)> {
        self.all.iter().map(|listener| listener.socket.as_fd()).zip(self.first..)
    }
    /// Closes the connection of a SOCKS client that has not sent its request.
    pub(crate) fn forget(&mut self, token: u64) {
        self.greetings.remove(&token);
    }

    /// Accepts connections at a port, or reads from a SOCKS client.
    pub(crate) fn ready(&mut self, token: u64, readiness: &Readiness, cx: &mut Context) {
        match token.checked_sub(self.first).and_then(|index| usize::try_from(index).ok()) {
            Some(index) if index < self.all.len() => self.accept(index, readiness, cx),
            _ => self.read(token, readiness, cx),
        }
    }
    fn accept(&mut self, index: usize, readiness: &Readiness, cx: &mut Context) {
        for _ in 0..AT_ONCE {
            let PortListener { socket: listener, forward } = &self.all[index];
            let (socket, client) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                Err(e) => {
                    tracing::warn!("a connection cannot be accepted: {e}");
                    cx.tally.error("accept");
                    return cx.push(Event::NoDescriptors);
                }
            };
            let Some(client) = client.as_socket().filter(|_| socket.set_nonblocking(true).is_ok()) else { continue };
            if let Some((peer, server)) = forward {
                let (peer, server, origin) = (*peer, server.clone(), Origin::Forward);
                cx.push(Event::Arrival(Box::new(Arrival { peer, socket, client, server, origin })));
            } else if self.greetings.len() >= GREETINGS {
                cx.tally.refused(Reason::Busy);
            } else {
                let greeting = Greeting { socket, client, dialogue: Dialogue::default(), bytes: Vec::new() };
                self.greet(greeting, readiness, cx);
            }
        }
    }
    /// Adds a client of the SOCKS port.
    fn greet(&mut self, greeting: Greeting, readiness: &Readiness, cx: &mut Context) {
        if readiness.add(&greeting.socket, self.next, Interest::Read).is_ok() {
            self.greetings.insert(self.next, greeting);
            cx.timer(GREETING, Due::Greeting(self.next));
            self.next += 1;
        }
    }
    fn read(&mut self, token: u64, readiness: &Readiness, cx: &mut Context) {
        let Some(greeting) = self.greetings.get_mut(&token) else { return };
        let mut buffer = [0; GREETING_BYTES];
        match (&greeting.socket).read(&mut buffer) {
            Ok(n) if n > 0 && greeting.bytes.len() + n <= GREETING_BYTES => greeting.bytes.extend(&buffer[..n]),
            Err(e) if e.kind() == ErrorKind::WouldBlock => return,
            _ => return self.forget(token),
        }
        loop {
            match greeting.dialogue.next(&greeting.bytes) {
                Step::Wait => return,
                Step::Answer(used, answer) => {
                    greeting.bytes.drain(..used);
                    let _ = (&greeting.socket).write_all(&answer);
                }
                Step::Refuse(answer) => {
                    let _ = (&greeting.socket).write_all(&answer);
                    return self.forget(token);
                }
                Step::Connect(used, server) => {
                    let Some(greeting) = self.greetings.remove(&token) else { return };
                    // RFC 1928 forbids a client to send anything before it has the answer.
                    if used == greeting.bytes.len() && readiness.remove(&greeting.socket).is_ok() {
                        self.request(greeting, server, cx);
                    }
                    return;
                }
            }
        }
    }
    fn request(&self, greeting: Greeting, server: Server, cx: &mut Context) {
        let Greeting { socket, client, .. } = greeting;
        let peer = match &server {
            Server::Address(address) => cx.routes.peer(address.ip()),
            Server::Name(..) => None,
        };
        let Some(peer) = peer.or(self.default) else {
            let _ = (&socket).write_all(&socks::refused(Reason::NetUnreachable));
            return cx.tally.refused(Reason::NetUnreachable);
        };
        let arrival = Arrival { peer, socket, client, server, origin: Origin::Socks };
        cx.push(Event::Arrival(Box::new(arrival)));
    }
}

impl Arrival {
    /// Refuses the host.
    pub(crate) fn refuse(self, reason: Reason) {
        if self.origin == Origin::Socks {
            let _ = (&self.socket).write_all(&socks::refused(reason));
        } else {
            let _ = self.socket.set_linger(Some(std::time::Duration::ZERO));
        }
    }
}

fn listen(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}
/// Parses a server: address or name, and port.
fn server(text: &str) -> Option<Server> {
    if let Ok(address) = text.parse() {
        return Some(Server::Address(address));
    }
    let (name, port) = text.rsplit_once(':')?;
    Some(Server::Name(name.into(), port.parse().ok()?))
}
