//! The sockets of hosts: connecting, what they tell, what is written to them, how they end.

use std::net::SocketAddr;
use std::sync::Arc;

use cellway_gateway::{FlowId, Reason, Request, Server};
use cellway_sys::{Interest, Ready};

use super::flow::{Ending, Origin, Stage};
use super::machine::Later;
use super::timers::Due;
use super::{Daemon, Flow, route};
use crate::config::Source;
use crate::intercept;

/// Most names that are looked up at once, each on a thread.
const LOOKUPS: u32 = 64;
/// First wait for a host to acknowledge the last bytes before its connection is reset (ns); doubled each time.
const DRAIN_FIRST: u64 = 1_000_000;
/// Looks until it is reset all the same: 16 s.
const DRAIN_LOOKS: u32 = 14;

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
        if flow.ending == Some(Ending::Reset) {
            self.list(token);
            return;
        }
        self.later.push_back(Later::Room(token));
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
                self.later.push_back(Later::Room(token));
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
                    let reason = error.map_or(Reason::Reset, |e| match intercept::reason(&e) {
                        Reason::TimedOut => Reason::TimedOut,
                        _ => Reason::Reset,
                    });
                    self.later.push_back(Later::Gone(token, reason));
                }
            }
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
                    Ok(_) => self.later.push_back(Later::Room(token)),
                    Err(_) => {
                        flow.ending = flow.ending.or(Some(Ending::Reset));
                        self.later.push_back(Later::Gone(token, Reason::Reset));
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
    /// Ends a connection that shall end if its host has what it was to get.
    fn end_if_due(&mut self, token: u64) {
        let Some(flow) = self.table.get(token) else { return };
        let Some(ending) = flow.ending else { return };
        let done = match (flow.stage, ending) {
            // Nobody has accepted it: that which will be accepted is reset at once.
            (Stage::Accepting, _) => return,
            (Stage::Open, Ending::Clean) => flow.is_flushed(),
            (Stage::Open, Ending::Reset) => flow.is_flushed() && flow.is_delivered(),
            _ => true,
        };
        if !done {
            // A host that takes its time has it; only what is to be reset does not wait for ever.
            if ending == Ending::Reset
                && let Some(flow) = self.table.get_mut(token)
                && !flow.draining
            {
                flow.draining = true;
                self.timers.add(self.now + DRAIN_FIRST, Due::Drain(token, 1));
            }
        } else if flow.forgotten {
            self.remove(token);
        } else if ending == Ending::Reset
            && let Some(flow) = self.table.get_mut(token)
        {
            flow.close(Ending::Reset);
        }
    }
    /// A connection that ends is looked at again.
    pub(crate) fn drain(&mut self, token: u64, looks: u32) {
        let Some(flow) = self.table.get(token) else { return };
        let done = flow.is_flushed() && flow.is_delivered();
        if !done && looks < DRAIN_LOOKS {
            let wait = DRAIN_FIRST << looks;
            self.timers.add(self.now + wait, Due::Drain(token, looks + 1));
        } else if flow.forgotten {
            self.remove(token);
        } else if let Some(flow) = self.table.get_mut(token) {
            flow.close(Ending::Reset);
        }
    }
    /// A connection is over.
    pub(crate) fn remove(&mut self, token: u64) {
        let Some(mut flow) = self.table.remove(token) else { return };
        if let Origin::Held(opening) = &flow.origin {
            let key = (opening.client, opening.server);
            if self.held.get(&key) == Some(&token) {
                self.held.remove(&key);
            }
        }
        if flow.counted {
            if !flow.answered {
                self.tally.unanswered();
            }
        }
        self.tally.leaves(flow.source);
        if let Some(again) = flow.again.take() {
            self.open_held(again);
        }
        flow.close(flow.ending.unwrap_or(Ending::Reset));
    }
}
