//! A peer that does not answer: new connections for it go the way that its `down` says, until it answers again.

use std::sync::Arc;

use cellway_gateway::{FlowId, FlowState, Reason, Request};
use cellway_units::Span;

use super::Daemon;
use super::attempts::Attempt;
use super::link::Findings;
use super::machine::Later;
use super::moment::Moment;
use crate::config::PeerDown;
use crate::intercept::Opening;
use crate::peer_id::PeerId;

/// The longest time that a connection attempt of a peer waits while more of its packets can be read.
const LONGEST_WAIT: Span = Span::from_ms(50);

/// Most connections that are begun in one pass: about 2 ms of work, at 30 us for each.
const ATTEMPTS: usize = 64;

impl Daemon {
    /// Reports changes since `before`, the findings of a peer's state machine before the last call into it.
    pub(crate) fn follow(&mut self, peer: PeerId, before: Findings) {
        let link = &mut self.links[peer];
        let Findings { unresponsive, too_high } = link.findings();
        if too_high != before.too_high {
            link.report_rate();
        }
        if unresponsive == before.unresponsive {
            return;
        }
        if unresponsive {
            link.stalls += 1;
            tracing::warn!(
                peer = %link.name,
                "unresponsive: nothing has arrived that must be answered; new connections go as `down` says, carried ones \
                 wait for `outage`"
            );
        } else {
            tracing::info!(peer = %link.name, "responsive again");
        }
    }
    /// Whether a connection for a peer that cannot be reached passes this gateway untouched.
    fn passes(&self, peer: PeerId) -> bool {
        self.config.peers[peer.place()].down == PeerDown::Direct
    }
    /// Lets an opening go to its server without the pair.
    pub(crate) fn pass(&mut self, opening: &Opening) {
        self.tally.passed += 1;
        self.bypassed.add(opening.key(), self.now);
        if let Some(hold) = &self.hold
            && let Err(error) = hold.pass(opening)
        {
            // Its host sends it again.
            tracing::debug!("an opening cannot be sent on: {error}");
        }
    }
    /// Deals with an opening for a peer that cannot be reached; returns it if the peer can be.
    pub(crate) fn divert(&mut self, peer: PeerId, opening: Opening) -> Option<Opening> {
        let link = &self.links[peer];
        let passes = if self.drains() {
            self.passes(peer)
        } else if link.up {
            link.machine.is_unresponsive() && self.passes(peer)
        } else {
            self.will_pass(peer)
        };
        if passes {
            self.pass(&opening);
            return None;
        }
        Some(opening)
    }
    /// True if an attempt that was refused for this reason bypasses the gateways, because the peer is lost. Not over
    /// TLS: TCP delivers the request before its reset, so the far gateway would connect from a port that the client's
    /// direct connection uses. The client is refused instead, and its next attempt goes directly, from another port.
    pub(crate) fn passes_refused(&self, peer: PeerId, reason: Reason) -> bool {
        let lost = matches!(reason, Reason::PeerLost | Reason::Stopping);
        lost && self.passes(peer) && !self.links[peer].machine.config().reliable
    }
    /// Answers a host whose attempt was refused.
    pub(crate) fn answer_refused(&mut self, opening: &Opening, reason: Reason) {
        if let Some(hold) = &mut self.hold {
            // Its host sends it again.
            let _ = hold.refuse(opening, reason);
        }
    }

    /// The peer wants a server connected to. Nothing leaves before all packets are read that have arrived: one of them may
    /// take it back.
    pub(crate) fn attempt(&mut self, peer: PeerId, id: FlowId, request: Arc<Request>) {
        self.attempts.add(Attempt { peer, id, request, since: self.now });
    }
    /// Returns true if the server of a flow that a peer has opened may be connected to now. The clock is read: this thread may
    /// have been suspended since the pass began.
    fn is_leased(&self, peer: PeerId, id: FlowId) -> bool {
        let link = &self.links[peer];
        link.machine.lease_end(id).is_none_or(|end| link.time(self.now.max(Moment::now())) < end)
    }
    /// Begins the connections that peers want, if no more packets of the peer wait.
    pub(crate) fn begin_attempts(&mut self) {
        for _ in 0..ATTEMPTS {
            let Some(first) = self.attempts.first() else { return };
            if self.peering.has_more_of(first.peer) && self.now < first.since + LONGEST_WAIT {
                return;
            }
            let Some(Attempt { peer, id, request, .. }) = self.attempts.take_first() else { return };
            match self.links[peer].machine.flow_stats(id).map(|stats| stats.state) {
                Some(FlowState::Opening) if self.drains() => {
                    self.later.push_back(Later::Refused(peer, id, Reason::Stopping));
                }
                Some(FlowState::Opening) if self.is_leased(peer, id) => self.connect(peer, id, request),
                // Its client may be on another path.
                Some(FlowState::Opening) => self.later.push_back(Later::Refused(peer, id, Reason::PeerLost)),
                // The peer has reset it after early data, which no host will receive.
                Some(_) => self.later.push_back(Later::Refused(peer, id, Reason::Reset)),
                None => {}
            }
            self.settle();
        }
    }
}
