//! The connections of the hosts on this side: their sockets, states and bytes.

mod actions;
mod answer;
mod blackhole;
pub(crate) mod block;
mod connection;
mod ending;
mod halves;
mod handover;
mod leftover;
mod onward;
mod ring;
mod sockets;
mod state;
mod status;
mod table;
mod waiting;

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::BufMut;
use cellway_gateway::{FlowId, Reason, Request};
use cellway_sys::{Interest, Readiness};
use socket2::Socket;

use super::context::Context;
use super::outbox::Event;
use crate::config::Limits;
use crate::intercept::{self, Syn};
use crate::peer_id::{PeerId, PerPeer};

use connection::Connection;
use ring::Ring;
use table::Table;
use waiting::{Clients, Waiting};

pub(crate) use answer::Accepted;
pub(crate) use connection::Origin;
pub(crate) use halves::{Input, Stream};
pub(crate) use handover::HostsRecord;
pub(crate) use leftover::METADATA;
pub(crate) use state::State;
pub(crate) use table::Token;

/// A connection that a host here requests.
#[derive(Debug)]
pub(crate) struct Newcomer {
    pub(crate) peer: PeerId,
    pub(crate) id: FlowId,
    pub(crate) request: Arc<Request>,
    pub(crate) origin: Origin,
    pub(crate) state: State,
    /// The address of the client.
    pub(crate) source: IpAddr,
}

/// The flows of a peer.
#[derive(Debug, Default)]
struct Flows {
    /// The connections of the flows that the state machine has not closed.
    tokens: HashMap<FlowId, Token>,
    /// Bytes of flows for which there is no connection yet.
    early: HashMap<FlowId, Ring>,
    /// Memory (bytes) of connections that the state machine has closed while their hosts still read the last bytes.
    leftover: u64,
}

/// All connections, with their lists and counters.
#[derive(Debug)]
pub(crate) struct Hosts {
    table: Table,
    flows: PerPeer<Flows>,
    /// The tokens of intercepted connections, by client and server.
    intercepted: HashMap<(SocketAddr, SocketAddr), Token>,
    /// Connections with bytes to write or with an end to process.
    writers: Vec<Token>,
    waiting: Waiting,
    clients: Clients,
    /// Connections whose host gets no more answers.
    blackholed: u32,
}

impl Hosts {
    /// Creates an empty table for `peers` peers.
    pub(crate) fn new(peers: usize) -> Hosts {
        Hosts {
            table: Table::default(),
            flows: (0..peers).map(|_| Flows::default()).collect(),
            intercepted: HashMap::new(),
            writers: Vec::new(),
            waiting: Waiting::default(),
            clients: Clients::default(),
            blackholed: 0,
        }
    }
    /// Returns the number of connections.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }
    /// Returns the number of connections whose host gets no more answers.
    pub(crate) fn blackholed(&self) -> u32 {
        self.blackholed
    }
    /// Returns the counts of connections that wait for an answer.
    pub(crate) fn waiting(&self) -> &Waiting {
        &self.waiting
    }
    /// Returns true if a connection has something to write.
    pub(crate) fn has_writers(&self) -> bool {
        !self.writers.is_empty()
    }
    /// Returns true if the limits allow no further connection of the client `source`.
    pub(crate) fn is_full(&self, source: IpAddr, limits: &Limits) -> bool {
        self.table.len() >= limits.connections as usize
            || self.clients.connections(source) >= limits.per_source
            || self.waiting.len() >= limits.opening
    }

    /// Adds a connection that a host here requests.
    pub(crate) fn open(&mut self, newcomer: Newcomer, readiness: &Readiness, cx: &mut Context) {
        let Newcomer { peer, id, request, origin, state, source } = newcomer;
        let name = &cx.config.peers[peer.index()].name;
        tracing::debug!(flow = id.0, peer = %name, %source, server = ?request.server, how = origin.name(), "opening");
        let mut connection = Connection::new(peer, id, request, origin, state, cx.now);
        connection.source = Some(source);
        self.clients.enter(source);
        self.waiting.begin(&mut connection);
        cx.tally.opened(origin.name());
        let key = connection.intercepted();
        let token = self.insert(connection);
        if let Some(key) = key {
            self.intercepted.insert(key, token);
        }
        let stream = self.table.get(token).and_then(|connection| connection.state.stream());
        if stream.is_some_and(|stream| watch(&stream.socket, token, readiness, cx).is_err()) {
            cx.tally.error("socket");
            cx.push(Event::HostLost(token, Reason::Busy));
        }
    }
    fn insert(&mut self, connection: Connection) -> Token {
        let (peer, id) = (connection.peer, connection.id);
        let token = self.table.insert(connection);
        self.flows[peer].tokens.insert(id, token);
        token
    }
    /// Removes a connection.
    pub(crate) fn remove(&mut self, token: Token, cx: &mut Context) {
        let Some(mut connection) = self.table.remove(token) else { return };
        self.flows[connection.peer].leftover -= connection.closed.unwrap_or(0);
        if let Some(key) = connection.intercepted()
            && self.intercepted.get(&key) == Some(&token)
        {
            self.intercepted.remove(&key);
        }
        self.waiting.end(&mut connection);
        if matches!(connection.state, State::Blackholed(_)) {
            self.blackholed -= 1;
        }
        if let Some(source) = connection.source {
            self.clients.leave(source);
        }
        if let Some(again) = connection.again.take() {
            cx.push(Event::Again(Box::new(again)));
        }
    }

    /// Returns a SYN if it opens a new connection. Otherwise it belongs to a connection here: it is stored, or the
    /// kernel answers it. `is_unresponsive` is true for peers that do not answer.
    pub(crate) fn classify(
        &mut self,
        syn: Syn,
        is_unresponsive: impl Fn(PeerId) -> bool,
        cx: &mut Context,
    ) -> Option<Syn> {
        let Some(&token) = self.intercepted.get(&(syn.client, syn.server)) else { return Some(syn) };
        match self.table.get_mut(token) {
            // A retransmission.
            Some(Connection { state: State::Held(held), .. }) => {
                *held = syn;
                return None;
            }
            Some(Connection { state: State::Blackholed(_), .. }) => self.remove(token, cx),
            Some(of) if of.closed.is_some() || of.is_over() && is_unresponsive(of.peer) => {}
            // The far side uses the port until it has received the end.
            Some(connection) if connection.is_over() => {
                connection.again = Some(syn);
                return None;
            }
            Some(_) => {
                cx.push(Event::Release(Box::new(syn)));
                return None;
            }
            None => {}
        }
        Some(syn)
    }

    /// Holds bytes of a flow from the peer.
    pub(crate) fn place(&mut self, peer: PeerId, id: FlowId, offset: u64, bytes: &[u8]) {
        let Flows { tokens, early, .. } = &mut self.flows[peer];
        match tokens.get(&id).and_then(|token| self.table.get_mut(*token)) {
            Some(connection) => connection.to_host.place(offset, bytes),
            None => early.entry(id).or_default().place(offset, bytes),
        }
    }
    /// Appends `len` bytes of a flow from `offset` on to `out`; returns true if all of them are held.
    pub(crate) fn copy(&self, peer: PeerId, id: FlowId, offset: u64, len: usize, out: &mut impl BufMut) -> bool {
        let connection = self.flows[peer].tokens.get(&id).and_then(|token| self.table.get(*token));
        connection.is_some_and(|connection| connection.from_host.copy(offset, len, out))
    }
    /// Drops the bytes of flows of a peer that have no connection.
    pub(crate) fn drop_early(&mut self, peer: PeerId) {
        self.flows[peer].early.clear();
    }

    /// Adds a connection with bytes to write, or that is to end, to the list.
    fn list(&mut self, token: Token) {
        if let Some(connection) = self.table.get_mut(token)
            && !connection.listed
        {
            connection.listed = true;
            self.writers.push(token);
        }
    }
}

/// Sets the options of the socket of a connection, and adds it to the readiness that the loop polls.
fn watch(socket: &Socket, token: Token, readiness: &Readiness, cx: &Context) -> std::io::Result<()> {
    intercept::prepare(socket, cx.config.limits.keepalive)?;
    readiness.add(socket, token.ready(), Interest::Stream).map_err(std::io::Error::other)
}

#[cfg(test)]
impl Hosts {
    pub(crate) fn get(&self, token: Token) -> Option<&Connection> {
        self.table.get(token)
    }
    pub(crate) fn token(&self, peer: PeerId, id: FlowId) -> Option<Token> {
        self.flows[peer].tokens.get(&id).copied()
    }
    /// Returns true if bytes are held of flows of a peer that have no connection.
    pub(crate) fn has_early(&self, peer: PeerId) -> bool {
        !self.flows[peer].early.is_empty()
    }
}
