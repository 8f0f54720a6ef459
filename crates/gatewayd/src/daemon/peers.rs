//! The peers: their state machines, and the transport to them.

mod call;
mod link;
mod receive;
mod settings;
mod status;
mod upkeep;

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use cellway_gateway::{FlowId, FlowState, Reason, Request};
use cellway_units::Span;
use serde::{Deserialize, Serialize};

use super::attempts::Attempt;
use super::context::Context;
use super::hosts::Hosts;
use super::moment::{Moment, duration};
use crate::config::Config;
use crate::error::Error;
use crate::peer_id::{PeerId, PerPeer};
use crate::peering::{Kept, PeerEvent, Peering};

use link::Link;

/// Longest wait for the peers to receive the reasons of their ends.
const LINGER: Span = Span::from_secs(1);
/// The interval between checks of that.
const PAUSE: Span = Span::from_ms(5);

/// The peers in the record of a handover.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PeersRecord {
    transport: Kept,
    links: Vec<Link>,
}

#[derive(Debug)]
pub(crate) struct Peers {
    transport: Peering,
    links: PerPeer<Link>,
    /// The buffer in which packets are encoded.
    packet: BytesMut,
    /// The same instant on the clocks of the daemon and of the transport.
    start: (Moment, Instant),
}

impl Peers {
    /// Opens the transport; peers are dialled at the first [`Peers::turn`].
    ///
    /// # Errors
    /// An address is in use, or a key or the configuration cannot be used.
    pub(crate) fn new(config: &Config, now: Moment) -> Result<Peers, Error> {
        Peers::with(config, None, now)
    }
    fn with(config: &Config, kept: Option<&Kept>, now: Moment) -> Result<Peers, Error> {
        let instant = Instant::now();
        let transport = Peering::new(config, kept, instant)?;
        let links = config.peers.iter().map(|peer| Link::new(peer, config)).collect::<Result<_, _>>()?;
        Ok(Peers { transport, links, packet: BytesMut::new(), start: (now, instant) })
    }
    /// Ends the connections to all peers, which keep the state of the flows. Returns the state here.
    pub(crate) fn hand_over(&mut self, now: Moment) -> PeersRecord {
        let instant = self.instant(now);
        let transport = self.transport.hand_over(instant);
        self.flush(now);
        PeersRecord { transport, links: std::mem::take(&mut self.links).into_values() }
    }
    /// Continues the peers of a record.
    ///
    /// # Errors
    /// As [`Peers::new`], or the configuration has other peers.
    pub(crate) fn resume(config: &Config, record: PeersRecord, now: Moment) -> Result<Peers, Error> {
        let names = record.links.iter().map(|link| &link.name);
        if !names.eq(config.peers.iter().map(|peer| &peer.name)) {
            return Err(Error::Config { what: "the peers differ from those that were handed over".into() });
        }
        let mut peers = Peers::with(config, Some(&record.transport), now)?;
        for ((_, link), kept) in peers.links.iter_mut().zip(record.links) {
            link.resume(kept);
        }
        Ok(peers)
    }
    pub(crate) fn ids(&self) -> impl Iterator<Item = PeerId> + use<> {
        self.links.ids()
    }
    /// Returns the time of the start.
    pub(crate) fn start(&self) -> Moment {
        self.start.0
    }
    /// Converts `now` to the clock of the transport.
    fn instant(&self, now: Moment) -> Instant {
        self.start.1 + duration(now.since(self.start.0))
    }

    /// Reads packets from the sockets; [`Peers::next`] returns them.
    pub(crate) fn turn(&mut self, now: Moment) {
        self.transport.turn(self.instant(now));
    }
    /// Returns the next event of the transport.
    pub(crate) fn next(&mut self) -> Option<PeerEvent> {
        self.transport.next()
    }
    /// Returns true if the last turn has left packets in the sockets.
    pub(crate) fn has_more(&self) -> bool {
        self.transport.has_more()
    }
    /// Returns true if the last turn may have left packets of this peer in the sockets.
    pub(crate) fn has_more_of(&self, peer: PeerId) -> bool {
        self.transport.has_more_of(peer)
    }
    /// Returns the time at which a state machine or the transport must be called.
    pub(crate) fn deadline(&mut self) -> Option<Moment> {
        let transport = self
            .transport
            .deadline()
            .map(|at| self.start.0 + Span::from_ns(at.saturating_duration_since(self.start.1).as_nanos() as u64));
        self.links.iter().filter_map(Link::deadline).chain(transport).min()
    }
    /// Returns the coalescing delay after a pass.
    pub(crate) fn rest(&self) -> Span {
        self.links.iter().filter(|link| link.up).map(Link::batch).min().unwrap_or(Span::ZERO)
    }
    /// Hands queued packets to the kernel.
    pub(crate) fn flush(&mut self, now: Moment) {
        self.transport.flush(self.instant(now));
    }
    /// Ends the connections to all peers.
    pub(crate) fn close(&mut self, now: Moment) {
        self.transport.close(self.instant(now), "the gateway stops");
        self.flush(now);
    }
    /// Waits until the peers have received the reasons of their ends, a second at most. To be called after
    /// [`Peers::close`].
    pub(crate) fn linger(&mut self) {
        let end = Moment::now() + LINGER;
        while !self.transport.has_notified(self.instant(Moment::now())) && Moment::now() < end {
            std::thread::sleep(duration(PAUSE));
        }
    }
    /// Returns the number of datagrams that the kernel has dropped.
    pub(crate) fn drops(&mut self) -> u64 {
        self.transport.drops()
    }

    /// Returns true if packets can be sent to the peer.
    pub(crate) fn is_up(&self, peer: PeerId) -> bool {
        self.links[peer].up
    }
    /// Returns true if the peer does not answer.
    pub(crate) fn is_unresponsive(&self, peer: PeerId) -> bool {
        self.links[peer].gateway.is_unresponsive()
    }

    /// Assigns the identifier of the next flow to a peer. [`Peers::request`] must follow.
    pub(crate) fn assign_flow(&mut self, peer: PeerId) -> FlowId {
        self.links[peer].assign_flow()
    }
    /// Requests a connection from a peer for a host here.
    pub(crate) fn request(
        &mut self,
        peer: PeerId,
        id: FlowId,
        request: Arc<Request>,
        hosts: &mut Hosts,
        cx: &mut Context,
    ) {
        self.call(peer, hosts, cx, |gateway, now, out| gateway.incoming(now, id, request, out));
        if !self.links[peer].gateway.has_met(id) {
            self.links[peer].unassign_flow(id);
        }
    }
    /// Decides on a connection attempt of a peer; `None` if its flow has ended. It is refused if the gateway drains.
    pub(crate) fn judge(&self, attempt: &Attempt, drains: bool, cx: &Context) -> Option<Result<(), Reason>> {
        let link = &self.links[attempt.peer];
        // The clock is read: this thread may have been suspended since the pass began.
        let now = || link.time(cx.now.max(Moment::now()));
        Some(match link.gateway.flow_stats(attempt.id)?.state {
            FlowState::Opening if drains => Err(Reason::Stopping),
            FlowState::Opening if link.gateway.lease_end(attempt.id).is_none_or(|end| now() < end) => Ok(()),
            // Its client may be on another path.
            FlowState::Opening => Err(Reason::PeerLost),
            // The peer has reset it after early data, which no host will receive.
            _ => Err(Reason::Reset),
        })
    }
}

impl AsFd for Peers {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.transport.as_fd()
    }
}

#[cfg(test)]
impl Peers {
    pub(crate) fn gateway(&self, peer: PeerId) -> &cellway_gateway::Gateway {
        &self.links[peer].gateway
    }
    pub(crate) fn machine_mut(&mut self, peer: PeerId) -> &mut cellway_gateway::Gateway {
        &mut self.links[peer].gateway
    }
    pub(crate) fn set_payload(&mut self, peer: PeerId, payload: usize) {
        self.links[peer].payload = payload;
    }
}
