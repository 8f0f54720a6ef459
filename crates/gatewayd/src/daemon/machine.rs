//! Calling a state machine, and doing what it asks for.

use std::sync::Arc;

use cellway_gateway::{Action, Excess, FlowId, Gateway, Output, Reason, Request};
use cellway_units::Time;

use super::connection::Origin;
use super::state::{Ending, State};
use super::table::Token;
use super::tally::PASSED;
use super::{Connection, Daemon};
use crate::peer_id::PeerId;

/// Octets of packets that are written one behind the other.
const GATHERED: usize = 64 * 1024;

/// What a machine is told when it has finished with what it is at.
#[derive(Debug)]
pub(crate) enum Later {
    /// The server cannot be connected to.
    Refused(PeerId, FlowId, Reason),
    /// Bytes or the end may have come from the host.
    News(Token, bool),
    /// The host's connection is gone.
    Gone(Token, Reason),
    /// The socket of the host has taken so many bytes.
    Room(Token, u64),
    /// What the machine sent cannot be carried.
    Broken(PeerId),
    /// A peer makes this gateway keep more than an honest one does.
    Cut(PeerId, Excess),
}

impl Daemon {
    /// Calls the machine of `peer`, does what it asks for, and sends what it sends.
    pub(crate) fn machine(&mut self, peer: PeerId, act: impl FnOnce(&mut Gateway, Time, &mut Output)) {
        let before = self.links[peer].findings();
        self.call(peer, act, |daemon| daemon.follow(peer, before));
    }
    /// As [`Daemon::machine`]; calls `follow` before the actions are executed.
    pub(crate) fn call(
        &mut self,
        peer: PeerId,
        act: impl FnOnce(&mut Gateway, Time, &mut Output),
        follow: impl FnOnce(&mut Daemon),
    ) {
        let now = self.links[peer].time(self.now);
        let mut output = std::mem::take(&mut self.links[peer].output);
        act(&mut self.links[peer].machine, now, &mut output);
        follow(self);
        // Bytes are taken from hosts before the packets that carry them are written.
        for action in output.actions.drain(..) {
            self.obey(peer, action);
        }
        let mut broken = false;
        for packet in output.packets.drain(..) {
            let octets = packet.octets() as usize;
            if self.packet.capacity() < octets {
                // What was there before has left, and is used again.
                self.packet.reserve(octets.max(GATHERED));
            }
            let (table, flows) = (&self.table, &self.links[peer].flows);
            packet.encode(&mut self.packet, |flow, offset, len, out| {
                let held = flows.get(&flow).and_then(|token| table.get(*token));
                broken |= !held.is_some_and(|held| held.from_host.copy(offset, len as usize, out));
            });
            if !broken {
                if self.links[peer].machine.config().reliable && octets > self.links[peer].payload {
                    self.tally.error("packet-too-long");
                }
                let overhead = self.links[peer].machine.config().transport.overhead();
                self.links[peer].uncounted -= octets as i64 + i64::from(overhead);
                self.peering.send(peer, self.packet.split().freeze());
            }
            self.packet.clear();
        }
        if broken {
            self.later.push_back(Later::Broken(peer));
        }
        if let Some(excess) = self.links[peer].machine.excess() {
            self.later.push_back(Later::Cut(peer, excess));
        }
        self.links[peer].output = output;
    }

    /// Tells the machines what follows, until nothing does.
    pub(crate) fn settle(&mut self) {
        while let Some(later) = self.later.pop_front() {
            match later {
                Later::Refused(peer, id, reason) => {
                    self.tally.refused(reason);
                    self.machine(peer, |machine, now, out| machine.refused(now, id, reason, out));
                }
                Later::News(token, ended) => self.news(token, ended),
                Later::Gone(token, reason) => {
                    if let Some(connection) = self.table.get(token)
                        && connection.closed.is_none()
                    {
                        let (peer, id) = (connection.peer, connection.id);
                        self.machine(peer, |machine, now, out| machine.local_reset(now, id, reason, out));
                    }
                    if let Some(connection) = self.table.get_mut(token) {
                        connection.lose_host();
                        self.list(token);
                    }
                }
                Later::Room(token, bytes) => {
                    self.count_leftover(token);
                    if let Some(connection) = self.table.get(token)
                        && connection.closed.is_none()
                    {
                        let (peer, id, room) = (connection.peer, connection.id, connection.to_host.room());
                        self.machine(peer, |machine, now, out| machine.wrote(now, id, bytes, room, out));
                    }
                }
                Later::Broken(peer) => {
                    // Bytes that a host's socket held are gone from it: nothing false may pass on.
                    self.tally.error("lost-bytes");
                    self.lose(peer, Reason::Violation);
                    self.peering.abandon(peer, self.instant(), "bytes of a host were lost");
                }
                // Told with each call until it is cut.
                Later::Cut(peer, excess) if self.links[peer].machine.excess().is_some() => {
                    let why = format!("{} is cut: {excess}", self.links[peer].name);
                    tracing::warn!(peer = %self.links[peer].name, cap = excess.name(), "{why}");
                    self.tally.error(excess.name());
                    self.lose(peer, Reason::Violation);
                    self.peering.abandon(peer, self.instant(), &why);
                }
                Later::Cut(..) => {}
            }
        }
    }

    fn obey(&mut self, peer: PeerId, action: Action) {
        let (id, what) = match action {
            Action::Connect { flow, request } => return self.attempt(peer, flow, request),
            Action::Accept { flow } => return self.accept(peer, flow),
            Action::Refuse { flow, reason } => return self.refuse(peer, flow, reason),
            Action::Consume { flow, bytes } => (flow, What::Consume(bytes)),
            Action::Released { flow, bytes } => (flow, What::Released(bytes)),
            Action::Write { flow, bytes } => (flow, What::Write(bytes)),
            Action::Urgent { flow, at } => (flow, What::Urgent(at)),
            Action::Shutdown { flow } => (flow, What::Shutdown),
            Action::Ending { flow } => (flow, What::Ending),
            Action::Reset { flow, reason } => (flow, What::Reset(reason)),
            Action::Closed { flow, reason } => (flow, What::Closed(reason)),
            _ => return,
        };
        let Some(&token) = self.links[peer].flows.get(&id) else {
            // The peer has reset the flow before its connection attempt began.
            if matches!(what, What::Reset(_) | What::Closed(_)) {
                self.links[peer].early.remove(&id);
                self.attempts.remove(peer, id);
            }
            return;
        };
        let Some(connection) = self.table.get_mut(token) else { return };
        match what {
            What::Consume(bytes) => {
                if !connection.consume(bytes) {
                    self.later.push_back(Later::Broken(peer));
                }
            }
            What::Released(bytes) => connection.from_host.released(bytes),
            What::Write(bytes) => {
                connection.to_host.allow(bytes);
                self.list(token);
            }
            What::Urgent(at) => connection.to_host.mark(at),
            What::Shutdown => {
                connection.to_host.shutdown();
                self.list(token);
            }
            What::Ending => self.watch(token),
            What::Reset(reason) => {
                // Looked at again from now on.
                connection.watch = None;
                connection.state.leave(if reason == Reason::Vanished { Ending::Silence } else { Ending::Reset });
                self.list(token);
            }
            What::Closed(reason) => {
                tracing::debug!(flow = id.0, ?reason, "closed");
                connection.close(reason.is_some());
                self.tally.ended(if connection.passed { PASSED } else { reason.map_or("clean", Reason::name) });
                self.links[peer].flows.remove(&id);
                self.links[peer].early.remove(&id);
                self.count_leftover(token);
                self.list(token);
            }
        }
    }

    /// Notes a connection that has something to write or to end.
    pub(crate) fn list(&mut self, token: Token) {
        if let Some(connection) = self.table.get_mut(token)
            && !connection.listed
        {
            connection.listed = true;
            self.writers.push(token);
        }
    }

    /// A new connection that a host here asks for.
    pub(crate) fn open(&mut self, peer: PeerId, request: Request, origin: Origin, state: State) -> Token {
        let request = Arc::new(request);
        let id = self.links[peer].name_flow();
        let token = self.table.insert(Connection::new(peer, id, request.clone(), origin, state, self.now));
        self.links[peer].flows.insert(id, token);
        token
    }
}

enum What {
    Consume(u64),
    Released(u64),
    Write(u64),
    Urgent(u64),
    Shutdown,
    Ending,
    Reset(Reason),
    Closed(Option<Reason>),
}
