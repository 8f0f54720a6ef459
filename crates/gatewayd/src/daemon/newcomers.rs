//! How connections of hosts on this side come in: openings that wait on the device, forwarded ports,
//! SOCKS.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};

use cellway_gateway::{FlowId, Reason, Request, Server};
use cellway_sys::Interest;
use socket2::{Domain, Protocol, Socket, Type};

use super::flow::{Ending, Origin, Stage};
use super::socks::{Dialogue, Step};
use super::timers::Due;
use super::{DOORS, Daemon, Flow};
use crate::config::{Config, Connect};
use crate::error::Error;
use crate::intercept::Opening;

/// How long a connection that was let go may take until it is accepted (ns): what the kernel takes
/// to give up on an answered opening, in short.
const ACCEPT: u64 = 15_000_000_000;
/// How long a SOCKS client may take to say where to (ns).
const GREETING: u64 = 10_000_000_000;
/// Most clients that have not said where to.
const GREETINGS: usize = 1024;
/// Longest greeting (bytes): method list and request of RFC 1928.
const GREETING_BYTES: usize = 1024;
/// Most that are let in before everything else has its turn.
const AT_ONCE: usize = 256;
/// Connections that the kernel keeps until they are accepted.
const BACKLOG: i32 = 1024;

/// A port that hosts connect to knowingly.
#[derive(Debug)]
pub(crate) struct Door {
    pub(crate) socket: Socket,
    /// Where a forward leads; none for SOCKS.
    forward: Option<(usize, Server)>,
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
pub(crate) struct Newcomers {
    pub(crate) doors: Vec<Door>,
    /// The peer of names and of addresses in no peer's networks, for SOCKS.
    default: Option<usize>,
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

impl Newcomers {
    pub(crate) fn open(config: &Config) -> Result<Newcomers, Error> {
        let peer = |name: &str| {
            let found = config.peers.iter().position(|peer| peer.name == name);
            found.ok_or_else(|| Error::Config { what: format!("no peer is named `{name}`") })
        };
        let open = |address: SocketAddr| {
            listen(address).map_err(|source| Error::Io { what: format!("listen on {address}"), source })
        };
        let mut this = Newcomers::default();
        for forward in &config.forwards {
            let to = server(&forward.to).ok_or_else(|| Error::Config {
                what: format!("a forward leads to `{}`: write HOST:PORT", forward.to),
            })?;
            let door = Door { socket: open(forward.listen)?, forward: Some((peer(&forward.peer)?, to)) };
            this.doors.push(door);
        }
        if let Some(socks) = &config.socks {
            this.default = socks.peer.as_deref().map(peer).transpose()?;
            this.doors.push(Door { socket: open(socks.listen)?, forward: None });
        }
        this.next = DOORS + this.doors.len() as u64;
        Ok(this)
    }
    /// Gives up on a SOCKS client that says nothing.
    pub(crate) fn forget(&mut self, token: u64) {
        self.greetings.remove(&token);
    }
}

impl Daemon {
    /// Openings wait on the device.
    pub(crate) fn openings(&mut self) {
        for _ in 0..AT_ONCE {
            let next = self.hold.as_mut().map(super::super::intercept::Hold::next);
            let opening = match next {
                Some(Ok(Some(opening))) => opening,
                Some(Err(source)) => {
                    // It was deleted: nothing can be intercepted any more.
                    self.failed = Some(Error::Io { what: "read the device of openings".into(), source });
                    self.running = false;
                    return;
                }
                _ => return,
            };
            self.open_held(opening);
        }
    }
    /// An opening that waits becomes a connection, unless it is known or refused.
    pub(crate) fn open_held(&mut self, opening: Opening) {
        let key = (opening.client, opening.server);
        if let Some(&token) = self.held.get(&key) {
            match self.table.get_mut(token) {
                // Sent again by a host that has waited a second.
                Some(Flow { origin: Origin::Held(held), stage: Stage::Opening, .. }) => {
                    *held = opening;
                    return;
                }
                // The far side has the port until it knows of the end.
                Some(flow) if flow.is_over() && !flow.forgotten => {
                    flow.again = Some(opening);
                    return;
                }
                // The kernel knows what to answer.
                Some(flow) if !flow.forgotten => {
                    if let Some(hold) = &mut self.hold {
                        let _ = hold.release(&opening);
                    }
                    return;
                }
                _ => {}
            }
        }
        let Some(peer) = self.routes.peer(opening.server.ip()) else {
            self.turn_away(&opening, Reason::NetUnreachable);
            return;
        };
        if let Some(reason) = self.refusal(peer, opening.client.ip()) {
            self.turn_away(&opening, reason);
            return;
        }
        let early = self.config.peers[peer].connect == Connect::Early;
        let request = Request { client: Some(opening.client), server: Server::Address(opening.server), early };
        let source = opening.client.ip();
        let token = self.open(peer, request, Origin::Held(opening));
        self.held.insert(key, token);
        self.begin_opening(token, source, "intercepted");
    }
    fn turn_away(&mut self, opening: &crate::intercept::Opening, reason: Reason) {
        self.tally.refused(reason);
        if let Some(hold) = &mut self.hold {
            let _ = hold.refuse(opening, reason);
        }
    }
    /// Why a host may open no more now.
    fn refusal(&self, peer: usize, source: IpAddr) -> Option<Reason> {
        let limits = &self.config.limits;
        if !self.links[peer].up {
            Some(Reason::PeerLost)
        } else if self.table.len() >= limits.connections as usize
            || self.tally.of(source) >= limits.per_source
            || self.tally.opening >= limits.opening
        {
            Some(Reason::Busy)
        } else {
            None
        }
    }
    fn begin_opening(&mut self, token: u64, source: IpAddr, how: &'static str) {
        let Some(flow) = self.table.get_mut(token) else { return };
        (flow.counted, flow.source) = (true, Some(source));
        let (peer, id, request) = (flow.peer, flow.id, flow.request.clone());
        tracing::debug!(flow = id.0, peer = %self.links[peer].name, %source, server = ?request.server, how, "opening");
        self.tally.opened(how);
        self.tally.enters(source);
        self.machine(peer, |machine, now, out| machine.incoming(now, id, request, out));
    }

    /// The far side has answered, or need not be waited for.
    pub(crate) fn accept(&mut self, peer: usize, id: FlowId) {
        let Some(&token) = self.links[peer].flows.get(&id) else { return };
        let Some(flow) = self.table.get_mut(token) else { return };
        if !flow.answered {
            flow.answered = true;
            self.tally.answered(self.now - flow.since);
        }
        tracing::debug!(flow = id.0, "answered");
        match &flow.origin {
            Origin::Held(opening) => {
                flow.stage = Stage::Accepting;
                self.timers.add(self.now + ACCEPT, Due::Accept(token));
                if let Some(hold) = &mut self.hold
                    && let Err(e) = hold.release(opening)
                {
                    tracing::warn!("an opening cannot be let go: {e}");
                    self.tally.error("device");
                }
            }
            _ => {
                flow.answer_socks(None);
                flow.stage = Stage::Open;
                self.later.push_back(super::Later::Room(token));
                self.later.push_back(super::Later::News(token, false));
            }
        }
    }
    /// The far side has said no.
    pub(crate) fn refuse(&mut self, peer: usize, id: FlowId, reason: Reason) {
        let Some(&token) = self.links[peer].flows.get(&id) else { return };
        let Some(flow) = self.table.get_mut(token) else { return };
        if !flow.answered {
            flow.answered = true;
            self.tally.answered(self.now - flow.since);
        }
        tracing::debug!(flow = id.0, %reason, "refused");
        flow.ending = Some(Ending::Reset);
        flow.answer_socks(Some(reason));
        if matches!(flow.origin, Origin::Socks) {
            // The answer must arrive.
            flow.ending = Some(Ending::Clean);
        }
        self.tally.refused(reason);
        if let (Origin::Held(opening), Some(hold)) = (&flow.origin, &mut self.hold) {
            let _ = hold.refuse(opening, reason);
        }
    }
    /// Connections have been accepted that were let go.
    pub(crate) fn accepted(&mut self) {
        for _ in 0..AT_ONCE {
            let Some(listeners) = &self.listeners else { return };
            let (socket, client, server) = match listeners.accept() {
                Ok(Some(accepted)) => accepted,
                Ok(None) => return,
                Err(e) => {
                    tracing::warn!("a connection cannot be accepted: {e}");
                    self.tally.error("accept");
                    self.listen(false);
                    return;
                }
            };
            let token = self.held.get(&(client, server)).copied();
            let known = token.filter(|&token| self.table.get(token).is_some_and(|f| f.stage == Stage::Accepting));
            match known {
                Some(token) => self.attach(token, socket),
                None => {
                    // Dropped with its reset: nobody knows of it any more.
                    tracing::debug!(%client, %server, "accepted and unknown");
                    let _ = socket.set_linger(Some(std::time::Duration::ZERO));
                }
            }
            self.settle();
        }
    }
    /// A connection was let go and has not come.
    pub(crate) fn not_accepted(&mut self, token: u64) {
        let Some(flow) = self.table.get_mut(token) else { return };
        if flow.stage == Stage::Accepting {
            flow.stage = Stage::Open;
            flow.ending = Some(Ending::Reset);
            if flow.forgotten {
                self.remove(token);
            } else {
                self.later.push_back(super::Later::Gone(token, Reason::TimedOut));
            }
        }
    }

    /// Somebody is at a door, or says something there.
    pub(crate) fn newcomer(&mut self, token: u64) {
        let Some(door) = usize::try_from(token - DOORS).ok().filter(|&d| d < self.newcomers.doors.len()) else {
            return self.greeting(token);
        };
        for _ in 0..AT_ONCE {
            let accepted = self.newcomers.doors[door].socket.accept();
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
            match self.newcomers.doors[door].forward.clone() {
                Some((peer, to)) => self.walk_in(socket, from, peer, to, Origin::Forward),
                None if self.newcomers.greetings.len() >= GREETINGS => self.tally.refused(Reason::Busy),
                None => {
                    let token = self.newcomers.next;
                    self.newcomers.next += 1;
                    if self.readiness.add(&socket, token, Interest::Read).is_ok() {
                        let greeting = Greeting { socket, from, dialogue: Dialogue::default(), bytes: Vec::new() };
                        self.newcomers.greetings.insert(token, greeting);
                        self.timers.add(self.now + GREETING, Due::Greeting(token));
                    }
                }
            }
        }
    }
    fn greeting(&mut self, token: u64) {
        let Some(greeting) = self.newcomers.greetings.get_mut(&token) else { return };
        let mut buffer = [0; GREETING_BYTES];
        match (&greeting.socket).read(&mut buffer) {
            Ok(n) if n > 0 && greeting.bytes.len() + n <= GREETING_BYTES => greeting.bytes.extend(&buffer[..n]),
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return,
            _ => return self.newcomers.forget(token),
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
                    return self.newcomers.forget(token);
                }
                Step::Connect(used, to) => {
                    let Some(greeting) = self.newcomers.greetings.remove(&token) else { return };
                    // RFC 1928 lets a client send nothing before it has the answer.
                    if used != greeting.bytes.len() || self.readiness.remove(&greeting.socket).is_err() {
                        return;
                    }
                    let peer = match &to {
                        Server::Address(address) => self.routes.peer(address.ip()),
                        Server::Name(..) => None,
                    };
                    let Some(peer) = peer.or(self.newcomers.default) else {
                        let _ = (&greeting.socket).write_all(&super::socks::refused(Reason::NetUnreachable));
                        return self.tally.refused(Reason::NetUnreachable);
                    };
                    return self.walk_in(greeting.socket, greeting.from, peer, to, Origin::Socks);
                }
            }
        }
    }
    /// A host's connection to a door becomes a flow.
    fn walk_in(&mut self, socket: Socket, from: SocketAddr, peer: usize, to: Server, origin: Origin) {
        if let Some(reason) = self.refusal(peer, from.ip()) {
            self.tally.refused(reason);
            if matches!(origin, Origin::Socks) {
                let _ = (&socket).write_all(&super::socks::refused(reason));
            } else {
                let _ = socket.set_linger(Some(std::time::Duration::ZERO));
            }
            return;
        }
        let how = if matches!(origin, Origin::Socks) { "socks" } else { "forward" };
        let early = self.config.peers[peer].connect == Connect::Early;
        let token = self.open(peer, Request { client: None, server: to, early }, origin);
        let ready = crate::intercept::prepare(&socket, self.config.limits.keepalive)
            .and_then(|()| self.readiness.add(&socket, token, Interest::Stream).map_err(std::io::Error::other));
        if let Some(flow) = self.table.get_mut(token) {
            flow.socket = Some(socket);
        }
        self.begin_opening(token, from.ip(), how);
        if ready.is_err() {
            self.tally.error("socket");
            self.later.push_back(super::Later::Gone(token, Reason::Busy));
        }
        self.settle();
    }
}
