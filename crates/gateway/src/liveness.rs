//! Detects a peer that does not answer: a gateway that has died, or a path that carries nothing.
//!
//! The transport below keeps its connection for the whole `outage`, so that connections survive an interruption of the
//! path. For a host that waits for an answer to its SYN, a refusal at once is better. RFC 9002 probes within round
//! trips; [`Liveness`] measures the time for which the probes have no answer.

use cellway_units::{Span, Time};
use serde::{Deserialize, Serialize};

/// Checks that must pass without a packet of the peer. A caller that was suspended counts as one of them, however long
/// that took, because packets of the peer may wait in its socket.
const CHECKS: u32 = 4;

/// The time since which nothing has arrived from the peer although it owes an acknowledgement.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Liveness {
    /// The last check, packet of the peer, or first packet that awaits an acknowledgement. `None` if none does.
    since: Option<Time>,
    /// Checks since the last packet of the peer.
    checks: u32,
    unresponsive: bool,
}

impl Liveness {
    /// Records a packet of the peer.
    pub(crate) fn received(&mut self, now: Time) {
        (self.checks, self.unresponsive) = (0, false);
        self.since = self.since.map(|_| now);
    }
    /// Checks the time without a packet of the peer, where `awaits` is true while the peer owes an acknowledgement and
    /// `patience` is the longest acceptable time. Returns true when the peer becomes unresponsive.
    pub(crate) fn check(&mut self, now: Time, awaits: bool, patience: Span) -> bool {
        if !awaits {
            *self = Liveness::default();
            return false;
        }
        let since = *self.since.get_or_insert(now);
        if self.unresponsive || now < since + patience / CHECKS.into() {
            return false;
        }
        (self.since, self.checks) = (Some(now), self.checks + 1);
        self.unresponsive = self.checks >= CHECKS;
        self.unresponsive
    }
    /// Returns the earliest time at which a peer that sends nothing from now on can become unresponsive, if the patience
    /// does not shrink.
    pub(crate) fn earliest(&self, now: Time, patience: Span) -> Time {
        let left = if self.unresponsive { 0 } else { CHECKS - self.checks };
        (self.since.unwrap_or(now) + patience / CHECKS.into() * left.into()).max(now)
    }
    /// Returns the time of the next [`Liveness::check`].
    pub(crate) fn deadline(&self, patience: Span) -> Option<Time> {
        self.since.filter(|_| !self.unresponsive).map(|since| since + patience / CHECKS.into())
    }
    /// Returns true if the peer owed an acknowledgement at the last check.
    pub(crate) fn runs(&self) -> bool {
        self.since.is_some()
    }
    pub(crate) fn is_unresponsive(&self) -> bool {
        self.unresponsive
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Span = Span::from_secs(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }
    /// Checks at every deadline until the peer is unresponsive. Returns the time of the last check.
    fn until_unresponsive(peer: &mut Liveness) -> Time {
        loop {
            let next = peer.deadline(PATIENCE).unwrap();
            if peer.check(next, true, PATIENCE) {
                return next;
            }
        }
    }

    #[test]
    fn a_peer_is_unresponsive_after_the_patience_and_until_its_next_packet() {
        let mut peer = Liveness::default();
        assert_eq!(peer.deadline(PATIENCE), None);
        assert!(!peer.check(at(500), true, PATIENCE));
        assert_eq!(until_unresponsive(&mut peer), at(1_500));
        assert!(peer.is_unresponsive() && peer.deadline(PATIENCE).is_none());
        assert!(!peer.check(at(2_000), true, PATIENCE), "reported once");
        peer.received(at(3_000));
        assert!(!peer.is_unresponsive());
        assert_eq!(until_unresponsive(&mut peer), at(4_000));
    }

    #[test]
    fn any_packet_restarts_the_clock() {
        let mut peer = Liveness::default();
        peer.check(at(0), true, PATIENCE);
        for ms in (900..9_000).step_by(900) {
            while let Some(next) = peer.deadline(PATIENCE).filter(|&next| next <= at(ms)) {
                assert!(!peer.check(next, true, PATIENCE));
            }
            peer.received(at(ms));
        }
    }

    #[test]
    fn an_idle_peer_is_never_unresponsive() {
        let mut peer = Liveness::default();
        peer.check(at(0), true, PATIENCE);
        peer.check(at(300), true, PATIENCE);
        peer.check(at(310), false, PATIENCE);
        assert_eq!(peer.deadline(PATIENCE), None);
        // A packet that is sent later starts a new clock.
        peer.check(at(60_000), true, PATIENCE);
        assert_eq!(until_unresponsive(&mut peer), at(61_000));
    }

    #[test]
    fn a_caller_that_was_suspended_does_not_blame_the_peer() {
        let mut peer = Liveness::default();
        peer.check(at(0), true, PATIENCE);
        assert!(!peer.check(at(30_000), true, PATIENCE));
        assert_eq!(until_unresponsive(&mut peer), at(30_750));
    }
}
