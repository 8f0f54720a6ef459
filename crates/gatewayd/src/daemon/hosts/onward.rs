//! Connections to servers here, requested by peers.

use std::net::SocketAddr;
use std::sync::Arc;

use cellway_gateway::{FlowId, Reason, Request, Server};
use cellway_sys::Readiness;

use super::connection::{Connection, Origin};
use super::halves::Stream;
use super::state::State;
use super::{Hosts, Token};
use crate::config::Source;
use crate::daemon::attempts::Attempt;
use crate::daemon::context::Context;
use crate::daemon::lookup::Lookups;
use crate::daemon::outbox::Event;
use crate::daemon::route;
use crate::intercept;
use crate::peer_id::PeerId;

impl Hosts {
    /// Begins a connection to the server that a peer requests.
    pub(crate) fn connect(&mut self, attempt: Attempt, lookups: &mut Lookups, readiness: &Readiness, cx: &mut Context) {
        let Attempt { peer, id, request, .. } = attempt;
        let full = self.table.len() >= cx.config.limits.connections as usize;
        let token = self.insert_requested(peer, id, request.clone(), cx);
        cx.tally.opened(Origin::Peer.name());
        match &request.server {
            _ if full => cx.push(Event::Refused(peer, id, Reason::Busy)),
            Server::Address(server) => self.connect_to(token, &[*server], readiness, cx),
            Server::Name(name, port) => {
                if !lookups.start(token, name, *port) {
                    cx.push(Event::Refused(peer, id, Reason::Busy));
                }
            }
        }
    }
    fn insert_requested(&mut self, peer: PeerId, id: FlowId, request: Arc<Request>, cx: &Context) -> Token {
        let mut connection = Connection::new(peer, id, request, Origin::Peer, State::LookingUp, cx.now);
        if let Some(early) = self.flows[peer].early.remove(&id) {
            connection.adopt(early);
        }
        self.insert(connection)
    }
    /// Continues with the addresses of the server's name.
    pub(crate) fn found(&mut self, token: Token, addresses: &[SocketAddr], readiness: &Readiness, cx: &mut Context) {
        let Some(connection) = self.table.get(token).filter(|connection| matches!(connection.state, State::LookingUp))
        else {
            return;
        };
        if addresses.is_empty() {
            cx.push(Event::Refused(connection.peer, connection.id, Reason::NoName));
        } else {
            self.connect_to(token, addresses, readiness, cx);
        }
    }
    /// Begins to connect to the first of `addresses` that is allowed.
    fn connect_to(&mut self, token: Token, addresses: &[SocketAddr], readiness: &Readiness, cx: &mut Context) {
        let Some(connection) = self.table.get_mut(token) else { return };
        let (peer, id) = (connection.peer, connection.id);
        let allowed = addresses.iter().find(|server| cx.routes.is_local(server.ip()));
        let from_client = cx.config.intercept.as_ref().is_some_and(|i| i.source == Source::Client);
        let client = connection.request.client.filter(|_| from_client);
        // A peer may use the addresses of its own networks only.
        let foreign = client.is_some_and(|client| cx.routes.peer(client.ip()) != Some(peer));
        let Some(&server) = allowed.filter(|_| !foreign) else {
            let name = &cx.config.peers[peer.index()].name;
            tracing::debug!(peer = %name, ?addresses, ?client, "not allowed to connect");
            return cx.push(Event::Refused(peer, id, Reason::NotAllowed));
        };
        // The kernel would route its own answers to a client's address over the line.
        let client = client.filter(|_| !route::is_own(server.ip()));
        let begun = intercept::connect(client, server).and_then(|socket| {
            super::watch(&socket, token, readiness, cx)?;
            Ok(socket)
        });
        tracing::debug!(flow = id.0, %server, ?client, begun = ?begun.as_ref().map(|_| ()), "connecting");
        match begun {
            Ok(socket) => connection.state.change(|_| State::Connecting(Stream::new(socket))),
            Err(e) => cx.push(Event::Refused(peer, id, intercept::reason(&e))),
        }
    }
}
