//! The sockets of hosts: connecting, what they tell, what is written to them.

use std::net::SocketAddr;
use std::sync::Arc;

use cellway_gateway::{FlowId, Reason, Request, Server};
use cellway_sys::{Interest, Ready};

use super::connection::Origin;
use super::halves::Stream;
use super::machine::Later;
use super::state::{Ending, State};
use super::table::Token;
use super::{Connection, Daemon, route};
use crate::config::Source;
use crate::intercept;
use crate::peer_id::PeerId;

/// Most names that are looked up at once, each on a thread.
const LOOKUPS: u32 = 64;

/// Why a connection that stood is gone. A host that is silent for too long is reported as such, or as what was last heard
/// of the way to it.
fn loss(error: &std::io::Error) -> Reason {
    match intercept::reason(error) {
        Reason::TimedOut | Reason::HostUnreachable | Reason::NetUnreachable | Reason::Prohibited => Reason::Vanished,
        _ => Reason::Reset,
    }
}

impl Daemon {
    /// The peer wants a server connected to.
    pub(crate) fn connect(&mut self, peer: PeerId, id: FlowId, request: Arc<Request>) {
        let mut connection = Connection::new(peer, id, request.clone(), Origin::Peer, State::LookingUp, self.now);
        if let Some(early) = self.links[peer].early.remove(&id) {
            connection.adopt(early);
        }
        let full = self.table.len() >= self.config.limits.connections as usize;
        let token = self.table.insert(connection);
        self.links[peer].flows.insert(id, token);
        self.tally.opened("peer");
        if full {
            self.later.push_back(Later::Refused(peer, id, Reason::Busy));
            return;
        }
        match &request.server {
            Server::Address(server) => self.begin(token, &[*server]),
            Server::Name(..) if self.lookups >= LOOKUPS => {
                self.later.push_back(Later::Refused(peer, id, Reason::Busy));
            }
            Server::Name(name, port) => {
                self.lookups += 1;
                super::route::look_up(self.orders.handle().clone(), token, name, *port);
            }
        }
    }
    /// The name of a server was looked up.
    pub(crate) fn found(&mut self, token: Token, addresses: &[SocketAddr]) {
        self.lookups = self.lookups.saturating_sub(1);
        let Some(connection) = self.table.get(token).filter(|connection| matches!(connection.state, State::LookingUp))
        else {
            return;
        };
        if addresses.is_empty() {
            self.later.push_back(Later::Refused(connection.peer, connection.id, Reason::NoName));
        } else {
            self.begin(token, addresses);
        }
    }
    /// Begins to connect to the first of `addresses` that may be.
    fn begin(&mut self, token: Token, addresses: &[SocketAddr]) {
        let Some(connection) = self.table.get_mut(token) else { return };
        let (peer, id) = (connection.peer, connection.id);
        // This machine's own answer to a client's address would leave it by the line.
        let allowed = addresses.iter().find(|server| self.routes.is_local(server.ip()));
        let from_client = self.config.intercept.as_ref().is_some_and(|i| i.source == Source::Client);
        // A peer speaks for its own hosts only.
        let client =
            connection.request.client.filter(|_| from_client && !allowed.is_some_and(|s| route::is_own(s.ip())));
        let foreign = connection
            .request
            .client
            .filter(|_| from_client)
            .is_some_and(|client| self.routes.peer(client.ip()) != Some(peer));
        let Some(&server) = allowed.filter(|_| !foreign) else {
            tracing::debug!(peer = %self.links[peer].name, ?addresses, ?client, "not allowed to connect");
            self.later.push_back(Later::Refused(peer, id, Reason::NotAllowed));
            return;
        };
        let begun = intercept::connect(client, server).and_then(|socket| {
            intercept::prepare(&socket, self.config.limits.keepalive)?;
            self.readiness.add(&socket, token.ready(), Interest::Stream).map_err(std::io::Error::other)?;
            Ok(socket)
        });
        tracing::debug!(flow = id.0, %server, ?client, begun = ?begun.as_ref().map(|_| ()), "connecting");
        match begun {
            Ok(socket) => connection.state.change(|_| State::Connecting(Stream::new(socket))),
            Err(e) => self.later.push_back(Later::Refused(peer, id, intercept::reason(&e))),
        }
    }

    /// A connection has its socket: it is watched, and what came meanwhile is told.
    pub(crate) fn attach(&mut self, token: Token, socket: socket2::Socket) {
        self.opening_is_over(token);
        let Some(connection) = self.table.get_mut(token) else { return };
        let watched = intercept::prepare(&socket, self.config.limits.keepalive)
            .and_then(|()| self.readiness.add(&socket, token.ready(), Interest::Stream).map_err(std::io::Error::other));
        connection.state.change(|state| match (state, Stream::new(socket)) {
            (State::Released(Some(how)), stream) => State::Leaving { stream, how },
            (_, stream) => State::Open(stream),
        });
        if watched.is_err() {
            self.tally.error("socket");
            self.later.push_back(Later::Gone(token, Reason::Busy));
            return;
        }
        if connection.state.is_leaving() {
            self.list(token);
            return;
        }
        self.later.push_back(Later::Room(token, 0));
        self.later.push_back(Later::News(token, false));
        self.list(token);
    }

    /// Something happened at the socket of a connection.
    pub(crate) fn stream(&mut self, token: Token, ready: Ready) {
        let Some(connection) = self.table.get_mut(token) else { return };
        let error = |connection: &Connection| {
            connection.state.stream().and_then(|stream| stream.socket.take_error().ok().flatten())
        };
        match &mut connection.state {
            State::Connecting(_) if ready.write || ready.failed || ready.ended => {
                let (peer, id, error) = (connection.peer, connection.id, error(connection));
                tracing::debug!(flow = id.0, ?error, "the server has answered");
                // A reset is an end: an opening that is refused fails with another error.
                let reset = error.as_ref().is_some_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset);
                if let Some(e) = error.filter(|_| !reset) {
                    self.later.push_back(Later::Refused(peer, id, intercept::reason(&e)));
                    return;
                }
                connection.state.change(State::opened);
                self.machine(peer, |machine, now, out| machine.connected(now, id, out));
                self.later.push_back(Later::Room(token, 0));
                self.later.push_back(Later::News(token, ready.ended && !reset));
                if reset {
                    self.later.push_back(Later::Gone(token, Reason::Reset));
                }
            }
            State::Arrived(stream) | State::Open(stream) | State::Leaving { stream, .. } => {
                if ready.write {
                    stream.can_write();
                }
                if ready.read || ready.ended || ready.failed {
                    self.later.push_back(Later::News(token, ready.ended && !ready.failed));
                }
                if ready.failed {
                    let reason = error(connection).as_ref().map_or(Reason::Reset, loss);
                    self.later.push_back(Later::Gone(token, reason));
                }
                if ready.write {
                    self.list(token);
                }
            }
            // The host has given up as well.
            State::Silent(_) if ready.failed => self.remove(token),
            _ => {}
        }
    }
    /// Tells the machine what came from the host.
    pub(crate) fn news(&mut self, token: Token, ended: bool) {
        let Some(connection) = self.table.get_mut(token) else { return };
        if connection.closed.is_some() {
            return;
        }
        let (news, peer, id) = (connection.news(ended), connection.peer, connection.id);
        if let Some(at) = news.urgent {
            self.links[peer].machine.urgent(id, at);
        }
        if news.fresh > 0 {
            self.machine(peer, |machine, now, out| machine.received(now, id, news.fresh, out));
            if self.table.get(token).is_some_and(|connection| connection.from_host.waits()) {
                self.tally.held_back += 1;
            }
        }
        if news.ended {
            self.machine(peer, |machine, now, out| machine.local_closed(now, id, out));
        }
    }

    /// Writes to hosts what waits and fits, and ends connections that are to end.
    pub(crate) fn write(&mut self) {
        let mut writers = std::mem::take(&mut self.writers);
        for token in writers.drain(..) {
            let Some(connection) = self.table.get_mut(token) else { continue };
            connection.listed = false;
            match connection.flush() {
                Ok(0) => {}
                Ok(bytes) => self.later.push_back(Later::Room(token, bytes)),
                Err(error) => {
                    if !connection.state.is_leaving() {
                        connection.state.leave(Ending::Reset);
                    }
                    self.later.push_back(Later::Gone(token, loss(&error)));
                    if connection.closed.is_some() {
                        self.remove(token);
                    }
                    continue;
                }
            }
            self.end_if_due(token);
        }
        self.writers.append(&mut writers);
    }
}
