//! The responsiveness of the peer, and the leases that follow from it.

use cellway_units::{Span, Time};

use super::Gateway;
use crate::lease::{Departures, Lease};
use crate::liveness::Liveness;
use crate::output::Action;
use crate::packet::FlowId;
use crate::reason::Reason;

impl Gateway {
    /// True if the peer has sent nothing for longer than [`crate::GatewayConfig::patience`] although it owes an
    /// acknowledgement. Connections that wait for the far host's answer are refused when this becomes true, and none
    /// should be opened while it is; established ones wait. The next packet of the peer ends it.
    pub fn is_unresponsive(&self) -> bool {
        self.liveness.is_unresponsive()
    }
    pub(super) fn patience(&self) -> Option<Span> {
        self.config().patience.map(|least| self.recovery.patience(least).max(self.leased.1))
    }
    /// Grants a lease up to the earliest time at which the peer can become unresponsive; `None` before its first packet.
    pub(super) fn lease(&mut self, now: Time) -> Option<Lease> {
        let (after, arrived) = self.acknowledger.newest()?;
        let patience = self.patience()?;
        let end = self.liveness.earliest(now, patience);
        self.leased = (self.leased.0.max(end), patience);
        Some(Lease { after, within: end.since(arrived) })
    }
    /// Returns the end of the lease of a flow that the peer opens: the connection to its server must not begin later.
    /// `None` if it may begin at any time.
    pub fn lease_end(&self, flow: FlowId) -> Option<Time> {
        self.relay.lease_end(flow)
    }
    /// Sets [`crate::GatewayConfig::bypass`] for flows that are opened from now on.
    pub fn set_bypass(&mut self, bypass: bool) {
        self.relay.config.bypass = bypass;
    }
    /// Refuses the connections that wait for an answer if the peer has become unresponsive.
    pub(super) fn check_peer(&mut self, now: Time, actions: &mut Vec<Action>) {
        // Until the end of a lease the patience must not shrink.
        if now >= self.leased.0 {
            self.leased.1 = Span::ZERO;
        }
        let Some(patience) = self.patience() else { return };
        if now < self.leased.0 {
            self.leased.1 = patience;
        }
        // Frames that a probe retransmits can wait for the pacer, and all frames for a transport that takes none.
        let waits = (self.held || self.liveness.runs()) && self.relay.has_frames(now);
        let awaits = self.recovery.awaits() || waits;
        if self.liveness.check(now, awaits, patience) {
            self.relay.abandon_openings(Reason::PeerLost, actions);
        }
    }
    /// Drops the state of the peer, when the connection to it is new or lost.
    pub(super) fn forget_peer(&mut self) {
        self.liveness = Liveness::default();
        self.leased = (Time::ZERO, Span::ZERO);
        self.departures = Departures::default();
    }
}
