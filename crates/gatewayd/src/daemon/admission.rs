//! Admission of new connections of hosts and of peers.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use cellway_gateway::{FlowId, Reason, Request, Server};
use socket2::Socket;

use super::Daemon;
use super::attempts::Attempt;
use super::hosts::{Accepted, Newcomer, Origin, State, Stream};
use super::interception::AT_ONCE;
use super::outbox::Event;
use super::port_listeners::Arrival;
use crate::config::{Connect, PeerDown};
use crate::error::Error;
use crate::intercept::Syn;
use crate::peer_id::PeerId;

impl Daemon {
    /// Reads SYNs from the device.
    pub(super) fn read_syns(&mut self) {
        for _ in 0..AT_ONCE {
            match self.interception.next() {
                Ok(Some(syn)) => self.admit(syn),
                Ok(None) => return,
                Err(source) => {
                    // The device was deleted: nothing can be intercepted.
                    self.failed = Some(Error::Io { what: "read SYNs from the TUN device".into(), source });
                    self.running = false;
                    return;
                }
            }
        }
    }
    /// Opens a connection for a SYN, unless the SYN belongs to a connection here, bypasses the gateways or is refused.
    pub(super) fn admit(&mut self, syn: Syn) {
        if self.interception.is_bypassed(&syn, &self.cx) {
            return self.interception.bypass(&syn, &mut self.cx);
        }
        let Daemon { hosts, peers, cx, .. } = self;
        let Some(syn) = hosts.classify(syn, |peer| peers.is_unresponsive(peer), cx) else { return };
        let (client, server) = (syn.client, syn.server);
        let Some(peer) = self.cx.routes.peer(server.ip()) else {
            return self.turn_away(&syn, Reason::NetUnreachable);
        };
        if self.bypasses(peer) {
            return self.interception.bypass(&syn, &mut self.cx);
        }
        if let Some(reason) = self.refusal(peer, client.ip()) {
            return self.turn_away(&syn, reason);
        }
        if self.interception.must_prove(self.hosts.waiting().unproven(), &self.cx) {
            return self.interception.answer_first(&syn, &mut self.cx);
        }
        let request = Request { client: Some(client), server: Server::Address(server), early: self.is_early(peer) };
        self.open(peer, request, Origin::Intercepted, State::Held(syn), client.ip());
    }
    fn turn_away(&mut self, syn: &Syn, reason: Reason) {
        self.cx.tally.refused(reason);
        self.interception.refuse(syn, reason);
    }
    /// Returns true if SYNs for a peer go to their servers past the gateways, because the peer cannot be reached.
    fn bypasses(&self, peer: PeerId) -> bool {
        let lost = if self.drain.is_on() {
            true
        } else if self.peers.is_up(peer) {
            self.peers.is_unresponsive(peer)
        } else {
            // The kernel still intercepts its networks.
            self.rules.is_behind()
        };
        lost && self.cx.config.peers[peer.index()].down == PeerDown::Direct
    }
    /// Returns the reason to refuse a new connection of a host now, if there is one.
    fn refusal(&self, peer: PeerId, source: IpAddr) -> Option<Reason> {
        if self.drain.is_on() {
            Some(Reason::Stopping)
        } else if !self.peers.is_up(peer) || self.peers.is_unresponsive(peer) {
            Some(Reason::PeerLost)
        } else {
            self.hosts.is_full(source, &self.cx.config.limits).then_some(Reason::Busy)
        }
    }
    fn is_early(&self, peer: PeerId) -> bool {
        self.cx.config.peers[peer.index()].connect == Connect::Early
    }

    /// Accepts connections that the kernel has answered.
    pub(super) fn accept(&mut self) {
        for _ in 0..AT_ONCE {
            let Some((socket, client, server)) = self.interception.accept(&mut self.cx) else { return };
            match self.hosts.accepted(client, server) {
                Accepted::Released(token) => self.hosts.attach(token, socket, &self.readiness, &mut self.cx),
                Accepted::Unknown => self.proved(socket, client, server),
                // Dropped with a reset: the connection has ended, also at the far side.
                Accepted::TooLate => tracing::debug!(%client, %server, "accepted too late"),
            }
        }
    }
    /// Opens a connection whose client has acknowledged a stateless answer: the SYN was answered first, or the client
    /// was slower than other clients may be.
    fn proved(&mut self, socket: Socket, client: SocketAddr, server: SocketAddr) {
        self.interception.count_proved();
        let Some(peer) = self.cx.routes.peer(server.ip()) else {
            // Dropped with a reset: the client has connected to the listener itself.
            return tracing::debug!(%client, %server, "accepted and unknown");
        };
        if let Some(reason) = self.refusal(peer, client.ip()) {
            return self.cx.tally.refused(reason);
        }
        let request = Request { client: Some(client), server: Server::Address(server), early: true };
        self.open(peer, request, Origin::Proved, State::Arrived(Stream::new(socket)), client.ip());
    }
    /// Begins a connection of a host that has connected to a port of the gateway.
    pub(super) fn arrive(&mut self, arrival: Arrival) {
        if let Some(reason) = self.refusal(arrival.peer, arrival.client.ip()) {
            self.cx.tally.refused(reason);
            return arrival.refuse(reason);
        }
        let Arrival { peer, socket, client, server, origin } = arrival;
        let request = Request { client: None, server, early: self.is_early(peer) };
        self.open(peer, request, origin, State::Arrived(Stream::new(socket)), client.ip());
    }
    pub(super) fn open(
        &mut self,
        peer: PeerId,
        request: Request,
        origin: Origin,
        state: State,
        source: IpAddr,
    ) -> FlowId {
        let (id, request) = (self.peers.assign_flow(peer), Arc::new(request));
        let newcomer = Newcomer { peer, id, request: request.clone(), origin, state, source };
        self.hosts.open(newcomer, &self.readiness, &mut self.cx);
        self.peers.request(peer, id, request, &mut self.hosts, &mut self.cx);
        id
    }

    /// Begins a connection that a peer requests, or refuses it.
    pub(super) fn attempt(&mut self, attempt: Attempt) {
        match self.peers.judge(&attempt, self.drain.is_on(), &self.cx) {
            Some(Ok(())) => self.hosts.connect(attempt, &mut self.lookups, &self.readiness, &mut self.cx),
            Some(Err(reason)) => self.cx.push(Event::Refused(attempt.peer, attempt.id, reason)),
            None => {}
        }
    }
}
