//! How openings that wait on the device become connections, and how these are answered.

use std::io::Write;
use std::net::IpAddr;

use cellway_gateway::{FlowId, Reason, Request, Server};
use cellway_units::Span;
use socket2::Socket;

use super::connection::Origin;
use super::state::{Ending, State};
use super::table::Token;
use super::timers::Due;
use super::{Connection, Daemon};
use crate::config::Connect;
use crate::error::Error;
use crate::intercept::Opening;
use crate::peer_id::PeerId;

/// How long a client may take to acknowledge the answer to its opening: the kernel repeats the answer after 1 s and
/// 3 s.
const ACCEPT: Span = Span::from_secs(4);
/// Most that are let in before everything else has its turn.
pub(super) const AT_ONCE: usize = 256;

impl Daemon {
    /// Openings wait on the device.
    pub(crate) fn read_openings(&mut self) {
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
        if self.bypassed.contains(opening.key(), self.now) {
            // Sent again: its server may have answered the first.
            return self.pass(&opening);
        }
        if let Some(&token) = self.held.get(&key) {
            let lost = |connection: &Connection| self.links[connection.peer].machine.is_unresponsive();
            match self.table.get_mut(token) {
                // Sent again by a host that has waited a second.
                Some(Connection { state: State::Held(held), .. }) => {
                    *held = opening;
                    return;
                }
                Some(Connection { state: State::Silent(_), .. }) => self.remove(token),
                Some(connection) if connection.closed.is_some() || connection.is_over() && lost(connection) => {}
                // The far side has the port until it knows of the end.
                Some(connection) if connection.is_over() => {
                    connection.again = Some(opening);
                    return;
                }
                // The kernel knows what to answer.
                Some(_) => return self.release(&opening),
                None => {}
            }
        }
        let Some(peer) = self.routes.peer(opening.server.ip()) else {
            self.turn_away(&opening, Reason::NetUnreachable);
            return;
        };
        let Some(opening) = self.divert(peer, opening) else { return };
        if let Some(reason) = self.refusal(peer, opening.client.ip()) {
            self.turn_away(&opening, reason);
            return;
        }
        if self.must_prove() {
            return self.answer_first(&opening);
        }
        let early = self.config.peers[peer.place()].connect == Connect::Early;
        let request = Request { client: Some(opening.client), server: Server::Address(opening.server), early };
        let source = opening.client.ip();
        let token = self.open(peer, request, Origin::Intercepted, State::Held(opening));
        self.held.insert(key, token);
        self.begin_opening(token, source, "intercepted");
    }
    fn turn_away(&mut self, opening: &crate::intercept::Opening, reason: Reason) {
        self.tally.refused(reason);
        if let Some(hold) = &mut self.hold {
            let _ = hold.refuse(opening, reason);
        }
    }
    /// Returns the reason to refuse a new connection of a host now, if there is one.
    pub(crate) fn refusal(&self, peer: PeerId, source: IpAddr) -> Option<Reason> {
        let limits = &self.config.limits;
        if let Some(reason) = self.refuses_all() {
            Some(reason)
        } else if !self.links[peer].up || self.links[peer].machine.is_unresponsive() {
            Some(Reason::PeerLost)
        } else if self.table.len() >= limits.connections as usize
            || self.tally.of(source) >= limits.per_source
            || self.openings.len() >= limits.opening
        {
            Some(Reason::Busy)
        } else {
            None
        }
    }
    pub(crate) fn begin_opening(&mut self, token: Token, source: IpAddr, how: &'static str) {
        let Some(connection) = self.table.get_mut(token) else { return };
        connection.source = Some(source);
        self.openings.begin(connection);
        let (peer, id, request) = (connection.peer, connection.id, connection.request.clone());
        tracing::debug!(flow = id.0, peer = %self.links[peer].name, %source, server = ?request.server, how, "opening");
        self.tally.opened(how);
        self.tally.enters(source);
        self.machine(peer, |machine, now, out| machine.incoming(now, id, request, out));
        if !self.links[peer].machine.has_met(id) {
            self.links[peer].unname_flow(id);
        }
    }

    /// The far side has answered, or need not be waited for.
    pub(crate) fn accept(&mut self, peer: PeerId, id: FlowId) {
        let Some(&token) = self.links[peer].flows.get(&id) else { return };
        let Some(connection) = self.table.get_mut(token) else { return };
        if !connection.answered {
            connection.answered = true;
            self.tally.answered(self.now.since(connection.since));
        }
        tracing::debug!(flow = id.0, "answered");
        match &connection.state {
            State::Held(opening) => {
                let opening = opening.clone();
                connection.state.change(|_| State::Released(None));
                self.timers.add(self.now + ACCEPT, Due::Accept(token));
                self.release(&opening);
            }
            State::Arrived(stream) => {
                answer_socks(connection.origin, &stream.socket, None);
                connection.state.change(State::opened);
                self.opening_is_over(token);
                self.later.push_back(super::Later::Room(token, 0));
                self.later.push_back(super::Later::News(token, false));
            }
            _ => {}
        }
    }
    /// Lets the kernel answer an opening.
    pub(crate) fn release(&mut self, opening: &Opening) {
        if let Some(hold) = &mut self.hold
            && let Err(e) = hold.release(opening)
        {
            tracing::warn!("an opening cannot be let go: {e}");
            self.tally.error("device");
        }
    }
    /// The peer has refused a connection attempt.
    pub(crate) fn refuse(&mut self, peer: PeerId, id: FlowId, reason: Reason) {
        let Some(&token) = self.links[peer].flows.get(&id) else { return };
        let passes = self.passes_refused(peer, reason);
        let Some(connection) = self.table.get_mut(token) else { return };
        connection.passed = passes && matches!(connection.state, State::Held(_));
        if !connection.answered {
            connection.answered = true;
            if !connection.passed {
                self.tally.answered(self.now.since(connection.since));
            }
        }
        tracing::debug!(flow = id.0, %reason, passed = connection.passed, "refused");
        let (mut opening, passed, socks) = (None, connection.passed, connection.origin == Origin::Socks);
        match &connection.state {
            State::Held(held) => opening = Some(held.clone()),
            State::Arrived(stream) => answer_socks(connection.origin, &stream.socket, Some(reason)),
            _ => {}
        }
        // The same host may use the same port again before the peer knows of the end.
        connection.state.leave(if socks { Ending::Clean } else { Ending::Reset });
        self.opening_is_over(token);
        match opening {
            Some(opening) if passed => return self.pass(&opening),
            Some(opening) => self.answer_refused(&opening, reason),
            None => {}
        }
        self.tally.refused(reason);
        self.list(token);
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
            let known = token.and_then(|token| Some((token, &self.table.get(token)?.state)));
            match known {
                Some((token, State::Released(_))) => self.attach(token, socket),
                None => self.proved(socket, client, server),
                // Dropped with its reset: the opening is over, and the far side knows.
                Some(_) => tracing::debug!(%client, %server, "accepted too late"),
            }
            self.settle();
        }
    }
    /// A connection was let go and has not come.
    pub(crate) fn not_accepted(&mut self, token: Token) {
        let Some(Connection { state: State::Released(_), .. }) = self.table.get(token) else { return };
        self.opening_is_over(token);
        let Some(connection) = self.table.get_mut(token) else { return };
        tracing::debug!(flow = connection.id.0, "the client has not acknowledged the answer");
        connection.state.change(|_| State::Gone);
        if connection.closed.is_some() {
            self.remove(token);
        } else {
            self.later.push_back(super::Later::Gone(token, Reason::TimedOut));
        }
    }
}

/// Answers a SOCKS client for good or bad.
fn answer_socks(origin: Origin, mut socket: &Socket, refused: Option<Reason>) {
    if origin == Origin::Socks {
        let answer = refused.map_or_else(super::socks::connected, super::socks::refused);
        // Ten octets into an empty send buffer.
        let _ = socket.write_all(&answer);
    }
}
