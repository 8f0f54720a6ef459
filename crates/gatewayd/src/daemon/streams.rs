//! The sockets of hosts: connecting, what they tell, what is written to them.

use std::net::SocketAddr;
use std::sync::Arc;

use cellway_gateway::{FlowId, Reason, Request, Server};
use cellway_sys::{Interest, Ready};

use super::flow::{Ending, Origin, Stage};
use super::machine::Later;
use super::{Daemon, Flow, route};
use crate::config::Source;
use crate::intercept;

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
    pub(crate) fn connect(&mut self, peer: usize, id: FlowId, request: Arc<Request>) {
        let mut flow = Flow::new(peer, id, request.clone(), Origin::Peer, self.now);
        if let Some(early) = self.links[peer].early.remove(&id) {
            flow.adopt(early);
        }
        let full = self.table.len() >= self.config.limits.connections as usize;
        let token = self.table.insert(flow);
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
                if let Some(flow) = self.table.get_mut(token) {
                    flow.stage = Stage::LookingUp;
                }
                super::route::look_up(self.orders.handle().clone(), token, name, *port);
            }
        }
    }
    /// The name of a server was looked up.
    pub(crate) fn found(&mut self, token: u64, addresses: &[SocketAddr]) {
        self.lookups = self.lookups.saturating_sub(1);
        let Some(flow) = self.table.get(token).filter(|flow| flow.stage == Stage::LookingUp) else { return };
        if addresses.is_empty() {
            self.later.push_back(Later::Refused(flow.peer, flow.id, Reason::NoName));
        } else {
            self.begin(token, addresses);
        }
    }
    /// Begins to connect to the first of `addresses` that may be.
    fn begin(&mut self, token: u64, addresses: &[SocketAddr]) {
        let Some(flow) = self.table.get_mut(token) else { return };
        let (peer, id) = (flow.peer, flow.id);
        // This machine's own answer to a client's address would leave it by the line.
        let allowed = addresses.iter().find(|server| self.routes.is_local(server.ip()));
        let from_client = self.config.intercept.as_ref().is_some_and(|i| i.source == Source::Client);
        // A peer speaks for its own hosts only.
        let client = flow.request.client.filter(|_| from_client && !allowed.is_some_and(|s| route::is_own(s.ip())));
        let foreign = flow
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
            self.readiness.add(&socket, token, Interest::Stream).map_err(std::io::Error::other)?;
            Ok(socket)
        });
        tracing::debug!(flow = id.0, %server, ?client, begun = ?begun.as_ref().map(|_| ()), "connecting");
        match begun {
            Ok(socket) => (flow.socket, flow.stage) = (Some(socket), Stage::Connecting),
            Err(e) => self.later.push_back(Later::Refused(peer, id, intercept::reason(&e))),
        }
    }

    /// A connection has its socket: it is watched, and what came meanwhile is told.
    pub(crate) fn attach(&mut self, token: u64, socket: socket2::Socket) {
        let Some(flow) = self.table.get_mut(token) else { return };
        let watched = intercept::prepare(&socket, self.config.limits.keepalive)
            .and_then(|()| self.readiness.add(&socket, token, Interest::Stream).map_err(std::io::Error::other));
        (flow.socket, flow.stage) = (Some(socket), Stage::Open);
        if watched.is_err() {
            self.tally.error("socket");
            self.later.push_back(Later::Gone(token, Reason::Busy));
            return;
        }
        if flow.ending.is_some() {
            self.list(token);
            return;
        }
        self.later.push_back(Later::Room(token, 0));
        self.later.push_back(Later::News(token, false));
        self.list(token);
    }

    /// Something happened at the socket of a connection.
    pub(crate) fn stream(&mut self, ready: Ready) {
        let token = ready.token;
        let Some(flow) = self.table.get_mut(token) else { return };
        match flow.stage {
            Stage::Connecting if ready.write || ready.failed || ready.ended => {
                let error = flow.socket.as_ref().and_then(|socket| socket.take_error().ok().flatten());
                let (peer, id) = (flow.peer, flow.id);
                tracing::debug!(flow = id.0, ?error, "the server has answered");
                // A reset is an end: an opening that is refused fails with another error.
                let reset = error.as_ref().is_some_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset);
                if let Some(e) = error.filter(|_| !reset) {
                    self.later.push_back(Later::Refused(peer, id, intercept::reason(&e)));
                    return;
                }
                flow.stage = Stage::Open;
                self.machine(peer, |machine, now, out| machine.connected(now, id, out));
                self.later.push_back(Later::Room(token, 0));
                self.later.push_back(Later::News(token, ready.ended && !reset));
                if reset {
                    self.later.push_back(Later::Gone(token, Reason::Reset));
                }
            }
            Stage::Opening | Stage::Open => {
                if ready.write {
                    flow.can_write();
                    self.list(token);
                }
                if ready.read || ready.ended || ready.failed {
                    self.later.push_back(Later::News(token, ready.ended && !ready.failed));
                }
                if ready.failed {
                    let flow = self.table.get(token).and_then(|flow| flow.socket.as_ref());
                    let error = flow.and_then(|socket| socket.take_error().ok().flatten());
                    self.later.push_back(Later::Gone(token, error.as_ref().map_or(Reason::Reset, loss)));
                }
            }
            // The host has given up as well.
            Stage::Silent if ready.failed => self.remove(token),
            _ => {}
        }
    }
    /// Tells the machine what came from the host.
    pub(crate) fn news(&mut self, token: u64, ended: bool) {
        let Some(flow) = self.table.get_mut(token) else { return };
        if flow.forgotten {
            return;
        }
        let (news, peer, id) = (flow.news(ended), flow.peer, flow.id);
        if let Some(at) = news.urgent {
            self.links[peer].machine.urgent(id, at);
        }
        if news.fresh > 0 {
            self.machine(peer, |machine, now, out| machine.received(now, id, news.fresh, out));
            if self.table.get(token).is_some_and(Flow::waits) {
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
            let Some(flow) = self.table.get_mut(token) else { continue };
            flow.listed = false;
            if flow.stage == Stage::Open {
                match flow.flush() {
                    Ok(0) => {}
                    Ok(bytes) => self.later.push_back(Later::Room(token, bytes)),
                    Err(error) => {
                        flow.ending = flow.ending.or(Some(Ending::Reset));
                        self.later.push_back(Later::Gone(token, loss(&error)));
                        if flow.forgotten {
                            self.remove(token);
                        }
                        continue;
                    }
                }
            }
            self.end_if_due(token);
        }
        self.writers.append(&mut writers);
    }
}
