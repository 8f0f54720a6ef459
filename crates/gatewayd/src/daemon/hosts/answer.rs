//! The answer of the far side to a connection that a host here has requested.

use std::io::Write;
use std::net::SocketAddr;

use cellway_gateway::{FlowId, Reason};
use cellway_sys::Readiness;
use cellway_units::Span;
use socket2::Socket;

use super::connection::{Connection, Origin};
use super::halves::Stream;
use super::state::{Ending, State};
use super::{Hosts, Token};
use crate::daemon::context::Context;
use crate::daemon::outbox::Event;
use crate::daemon::socks;
use crate::daemon::timers::Due;
use crate::peer_id::PeerId;

/// The time within which a client must acknowledge the answer to its SYN: the kernel repeats the answer after 1 s and
/// 3 s.
pub(super) const ACCEPT: Span = Span::from_secs(4);

/// The connection to which an accepted socket belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accepted {
    /// Its SYN was released to the kernel.
    Released(Token),
    /// It has ended meanwhile.
    TooLate,
    /// There is no connection between these addresses.
    Unknown,
}

impl Hosts {
    /// Answers the host here: the far side has answered, or the connection is opened early.
    pub(super) fn answer(&mut self, token: Token, cx: &mut Context) {
        let Some(connection) = self.table.get_mut(token) else { return };
        if !connection.answered {
            connection.answered = true;
            cx.tally.answered(cx.now.since(connection.since));
        }
        tracing::debug!(flow = connection.id.0, "answered");
        if let Some(syn) = connection.state.take_held(State::Released(None)) {
            cx.timer(ACCEPT, Due::Accept(token));
            return cx.push(Event::Release(Box::new(syn)));
        }
        if let State::Arrived(stream) = &connection.state {
            answer_socks(connection.origin, &stream.socket, None);
            connection.state.change(State::opened);
            self.waiting.end(connection);
            cx.push(Event::Written(token, 0));
            cx.push(Event::Readable(token, false));
        }
    }
    /// Refuses the host here, as the far side has refused the connection. If `bypasses`, a SYN that waits is forwarded
    /// to its server past the gateways.
    pub(crate) fn refuse(&mut self, peer: PeerId, id: FlowId, reason: Reason, bypasses: bool, cx: &mut Context) {
        let Some(&token) = self.flows[peer].tokens.get(&id) else { return };
        let Some(connection) = self.table.get_mut(token) else { return };
        connection.passed = bypasses && matches!(connection.state, State::Held(_));
        if !connection.answered {
            connection.answered = true;
            if !connection.passed {
                cx.tally.answered(cx.now.since(connection.since));
            }
        }
        tracing::debug!(flow = id.0, %reason, passed = connection.passed, "refused");
        if let State::Arrived(stream) = &connection.state {
            answer_socks(connection.origin, &stream.socket, Some(reason));
        }
        let syn = connection.state.take_held(State::Closed);
        if syn.is_none() {
            connection.state.close(if connection.origin == Origin::Socks { Ending::Clean } else { Ending::Reset });
        }
        self.waiting.end(connection);
        match syn {
            // The connection is listed when the state machine closes it.
            Some(syn) if connection.passed => return cx.push(Event::Bypass(Box::new(syn))),
            Some(syn) => cx.push(Event::Refuse(Box::new(syn), reason)),
            None => {}
        }
        cx.tally.refused(reason);
        self.list(token);
    }

    /// Finds the connection that the listener has accepted from `client` to `server`.
    pub(crate) fn accepted(&self, client: SocketAddr, server: SocketAddr) -> Accepted {
        let token = self.intercepted.get(&(client, server)).copied();
        match token.and_then(|token| Some((token, &self.table.get(token)?.state))) {
            Some((token, State::Released(_))) => Accepted::Released(token),
            Some(_) => Accepted::TooLate,
            None => Accepted::Unknown,
        }
    }
    /// Assigns its socket to a connection whose SYN was released.
    pub(crate) fn attach(&mut self, token: Token, socket: Socket, readiness: &Readiness, cx: &mut Context) {
        let Some(connection) = self.table.get_mut(token) else { return };
        self.waiting.end(connection);
        let watched = super::watch(&socket, token, readiness, cx);
        connection.state.change(|state| match (state, Stream::new(socket)) {
            (State::Released(Some(how)), stream) => State::Closing { stream, how },
            (_, stream) => State::Open(stream),
        });
        if watched.is_err() {
            cx.tally.error("socket");
            return cx.push(Event::HostLost(token, Reason::Busy));
        }
        if !connection.state.is_closing() {
            cx.push(Event::Written(token, 0));
            cx.push(Event::Readable(token, false));
        }
        self.list(token);
    }
    /// Ends a connection whose client has not acknowledged the answer to its SYN in time.
    pub(crate) fn not_accepted(&mut self, token: Token, cx: &mut Context) {
        let Some(connection) = self.table.get_mut(token) else { return };
        let Connection { state: State::Released(_), .. } = connection else { return };
        self.waiting.end(connection);
        tracing::debug!(flow = connection.id.0, "the client has not acknowledged the answer");
        connection.state.change(|_| State::Closed);
        if connection.closed.is_some() {
            self.remove(token, cx);
        } else {
            cx.push(Event::HostLost(token, Reason::TimedOut));
        }
    }
}

/// Sends the answer to a SOCKS client.
fn answer_socks(origin: Origin, mut socket: &Socket, refused: Option<Reason>) {
    if origin == Origin::Socks {
        let answer = refused.map_or_else(socks::connected, socks::refused);
        // Ten octets into an empty send buffer.
        let _ = socket.write_all(&answer);
    }
}
