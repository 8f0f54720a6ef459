//! How hosts come in that connect to the gateway knowingly: forwarded ports, SOCKS.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};

use cellway_gateway::{Reason, Request, Server};
use cellway_sys::Interest;
use cellway_units::Span;
use socket2::{Domain, Protocol, Socket, Type};

use super::connection::Origin;
use super::halves::Stream;
use super::newcomers::AT_ONCE;
use super::socks::{Dialogue, Step};
use super::state::State;
use super::table::Token;
use super::timers::Due;
use super::{DOORS, Daemon};
use crate::config::{Config, Connect};
use crate::error::Error;
use crate::peer_id::PeerId;

/// How long a SOCKS client may take to say where to.
const GREETING: Span = Span::from_secs(10);
/// Most clients that have not said where to.
const GREETINGS: usize = 1024;
/// Longest greeting (bytes): method list and request of RFC 1928.
const GREETING_BYTES: usize = 1024;
/// Connections that the kernel keeps until they are accepted.
const BACKLOG: i32 = 1024;

/// A port that hosts connect to knowingly.
#[derive(Debug)]
pub(crate) struct Door {
    pub(crate) socket: Socket,
    /// Where a forward leads; none for SOCKS.
    forward: Option<(PeerId, Server)>,
}

#[derive(Debug)]
struct Greeting {
    socket: Socket,
    from: SocketAddr,
    dialogue: Dialogue,
    bytes: Vec<u8>,
}

/// The doors, and who stands in them.
#[derive(Debug, Default)]
pub(crate) struct Doors {
    pub(crate) all: Vec<Door>,
    /// The peer of names and of addresses in no peer's networks, for SOCKS.
    default: Option<PeerId>,
    greetings: HashMap<u64, Greeting>,
    next: u64,
}

fn listen(address: SocketAddr) -> std::io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}
/// A server as written: address or name, and port.
fn server(text: &str) -> Option<Server> {
    if let Ok(address) = text.parse() {
        return Some(Server::Address(address));
    }
    let (name, port) = text.rsplit_once(':')?;
    Some(Server::Name(name.into(), port.parse().ok()?))
}

impl Doors {
    pub(crate) fn open(config: &Config) -> Result<Doors, Error> {
        let peer = |name: &str| {
            let found = config.peers.iter().position(|peer| peer.name == name);
            found.map(PeerId::at).ok_or_else(|| Error::Config { what: format!("no peer is named `{name}`") })
        };
        let open = |address: SocketAddr| {
            listen(address).map_err(|source| Error::Io { what: format!("listen on {address}"), source })
        };
        let mut this = Doors::default();
        for forward in &config.forwards {
            let to = server(&forward.to).ok_or_else(|| Error::Config {
                what: format!("a forward leads to `{}`: write HOST:PORT", forward.to),
            })?;
            let door = Door { socket: open(forward.listen)?, forward: Some((peer(&forward.peer)?, to)) };
            this.all.push(door);
        }
        if let Some(socks) = &config.socks {
            this.default = socks.peer.as_deref().map(peer).transpose()?;
            this.all.push(Door { socket: open(socks.listen)?, forward: None });
        }
        this.next = DOORS + this.all.len() as u64;
        Ok(this)
    }
    /// Gives up on a SOCKS client that says nothing.
    pub(crate) fn forget(&mut self, token: u64) {
        self.greetings.remove(&token);
    }
}

impl Daemon {
    /// Somebody is at a door, or says something there.
    pub(crate) fn newcomer(&mut self, token: u64) {
        let Some(door) = usize::try_from(token - DOORS).ok().filter(|&d| d < self.doors.all.len()) else {
            return self.greeting(token);
        };
        for _ in 0..AT_ONCE {
            let accepted = self.doors.all[door].socket.accept();
            let (socket, from) = match accepted {
                Ok((socket, from)) => (socket, from),
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(e) => {
                    tracing::warn!("a connection cannot be accepted: {e}");
                    self.tally.error("accept");
                    self.listen(false);
                    return;
                }
            };
            let Some(from) = from.as_socket().filter(|_| socket.set_nonblocking(true).is_ok()) else { continue };
            match self.doors.all[door].forward.clone() {
                Some((peer, to)) => self.walk_in(socket, from, peer, to, Origin::Forward),
                None if self.doors.greetings.len() >= GREETINGS => self.tally.refused(Reason::Busy),
                None => {
                    let token = self.doors.next;
                    self.doors.next += 1;
                    if self.readiness.add(&socket, token, Interest::Read).is_ok() {
                        let greeting = Greeting { socket, from, dialogue: Dialogue::default(), bytes: Vec::new() };
                        self.doors.greetings.insert(token, greeting);
                        self.timers.add(self.now + GREETING, Due::Greeting(token));
                    }
                }
            }
        }
    }
    fn greeting(&mut self, token: u64) {
        let Some(greeting) = self.doors.greetings.get_mut(&token) else { return };
        let mut buffer = [0; GREETING_BYTES];
        match (&greeting.socket).read(&mut buffer) {
            Ok(n) if n > 0 && greeting.bytes.len() + n <= GREETING_BYTES => greeting.bytes.extend(&buffer[..n]),
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return,
            _ => return self.doors.forget(token),
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
                    return self.doors.forget(token);
                }
                Step::Connect(used, to) => {
                    let Some(greeting) = self.doors.greetings.remove(&token) else { return };
                    // RFC 1928 lets a client send nothing before it has the answer.
                    if used != greeting.bytes.len() || self.readiness.remove(&greeting.socket).is_err() {
                        return;
                    }
                    let peer = match &to {
                        Server::Address(address) => self.routes.peer(address.ip()),
                        Server::Name(..) => None,
                    };
                    let Some(peer) = peer.or(self.doors.default) else {
                        let _ = (&greeting.socket).write_all(&super::socks::refused(Reason::NetUnreachable));
                        return self.tally.refused(Reason::NetUnreachable);
                    };
                    return self.walk_in(greeting.socket, greeting.from, peer, to, Origin::Socks);
                }
            }
        }
    }
    /// A host's connection to a door becomes a flow.
    fn walk_in(&mut self, socket: Socket, from: SocketAddr, peer: PeerId, to: Server, origin: Origin) {
        if let Some(reason) = self.refusal(peer, from.ip()) {
            self.tally.refused(reason);
            if origin == Origin::Socks {
                let _ = (&socket).write_all(&super::socks::refused(reason));
            } else {
                let _ = socket.set_linger(Some(std::time::Duration::ZERO));
            }
            return;
        }
        let how = if origin == Origin::Socks { "socks" } else { "forward" };
        let early = self.config.peers[peer.place()].connect == Connect::Early;
        let request = Request { client: None, server: to, early };
        let token = self.open(peer, request, origin, State::Arrived(Stream::new(socket)));
        self.carry(token, from.ip(), how);
    }
    /// A connection begins whose host is connected already.
    pub(crate) fn carry(&mut self, token: Token, source: IpAddr, how: &'static str) {
        let stream = self.table.get(token).and_then(|connection| connection.state.stream());
        let ready = stream.is_some_and(|stream| {
            crate::intercept::prepare(&stream.socket, self.config.limits.keepalive).is_ok()
                && self.readiness.add(&stream.socket, token.ready(), Interest::Stream).is_ok()
        });
        self.begin_opening(token, source, how);
        if !ready {
            self.tally.error("socket");
            self.later.push_back(super::Later::Gone(token, Reason::Busy));
        }
        self.settle();
    }
}
