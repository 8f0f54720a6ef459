//! The end of connections to peers, and of attempts to connect.

use std::time::Instant;

use tracing::warn;

use super::attachment::Attachment;
use super::link::{Link, Loss, Stage};
use super::peers::Peer;
use super::unreachable::{Report, UnreachableLog};
use super::{PeerEvent, Peering, Transport};
use crate::peer_id::PeerId;

fn over(transport: Transport) -> &'static str {
    match transport {
        Transport::Quic => "QUIC",
        Transport::Tls => "TLS over TCP",
    }
}

impl Peering {
    /// Processes the end of a connection, or of an attempt to connect.
    pub(super) fn lost(&mut self, number: u64, link: &mut Link, loss: &Loss, now: Instant) {
        if link.stage == Stage::Over {
            return;
        }
        let was_up = link.stage == Stage::Up;
        let without_hello = link.lacks_client_hello();
        link.stage = Stage::Over;
        let current = link.peer.filter(|&peer| self.peers[peer].attachment == Attachment::Attached(number));
        if let Some(peer) = current {
            let why = if loss.no_answer {
                format!("nothing arrived from it for {} s", self.peers[peer].outage.as_secs_f64())
            } else if loss.spare {
                "it began another connection".to_owned()
            } else {
                loss.why.clone()
            };
            self.peers[peer].saw(link.remote().ip(), now);
            if loss.kept {
                let since = link.last_received().unwrap_or(now);
                self.detach(peer, &why, since, now);
            } else {
                self.down(peer, &why, now);
            }
        } else if let (true, Some(peer)) = (link.trial, link.dialled) {
            let of = &mut self.peers[peer];
            let why = if loss.no_answer { "no answer" } else { &loss.why };
            of.tried = format!("QUIC to {}: {why}; TLS is used", link.address);
            of.dial.tried(now);
        } else if !was_up && !loss.spare {
            let why = match link.unsent() {
                Some(error) if loss.no_answer => format!("no answer, and sending failed: {error}"),
                None if loss.no_answer => "no answer".to_owned(),
                _ => loss.why.clone(),
            };
            if link.peer.is_none() {
                self.reject(if without_hello { "silent" } else { "failed" });
            }
            self.attempt_failed(link, &why, loss.no_answer, now);
            if let (true, None) = (loss.refused, link.dialled) {
                let names = self.identity.refused_names();
                if let Some(peer) = self.peers.find(|peer| names.contains(&peer.name)) {
                    self.still_down(peer, &format!("it dialled from {}, and {why}", link.address.ip()), now);
                }
            }
        }
    }

    /// Records the failure of one connection before it was up.
    pub(super) fn attempt_failed(&mut self, link: &Link, why: &str, no_answer: bool, now: Instant) {
        let transport = link.transport();
        let Some(peer) = link.dialled else {
            self.log_failure(link.address, &format!(" over {}", over(transport)), why, now);
            if let Some(peer) = link.peer {
                self.still_down(peer, why, now);
            }
            return;
        };
        let of = &mut self.peers[peer];
        of.tried = format!("{} to {}: {why}", over(transport), link.address);
        if let Some(round) = &mut of.dial.round {
            round.failures.push(of.tried.clone());
            if transport == Transport::Quic {
                // An answer shows that UDP gets through: TLS would fail for the same reason.
                round.tls_at = round.tls_at.filter(|_| no_answer).map(|_| link.began);
            }
        }
    }

    /// Makes the peer [`Attachment::Detached`] for up to `outage`, counted from `since`.
    fn detach(&mut self, peer: PeerId, why: &str, since: Instant, now: Instant) {
        let of = &mut self.peers[peer];
        of.attachment = Attachment::Detached(since + of.outage);
        of.dial.lost(now);
        why.clone_into(&mut of.why);
        self.events.push_back(PeerEvent::Detached { peer, why: why.to_owned() });
    }

    /// Marks peers that have been detached for too long as down.
    pub(super) fn expire_detached(&mut self, now: Instant) {
        for peer in self.peers.ids() {
            if self.peers[peer].attachment.deadline().is_some_and(|until| until <= now) {
                let Peer { why, outage, .. } = &self.peers[peer];
                let why = format!("{why}; nothing arrived from it for {} s", outage.as_secs_f64());
                self.down(peer, &why, now);
            }
        }
    }

    pub(super) fn down(&mut self, peer: PeerId, why: &str, now: Instant) {
        let of = &mut self.peers[peer];
        of.attachment = Attachment::Down;
        of.session += 1;
        of.tried.clear();
        why.clone_into(&mut of.why);
        of.dial.lost(now);
        of.unreached = UnreachableLog::default();
        self.events.push_back(PeerEvent::Down { peer, why: why.to_owned() });
    }

    /// Reports the reason for which a peer is still down: to the log as [`UnreachableLog`] decides, and as an event if
    /// it has changed.
    pub(super) fn still_down(&mut self, peer: PeerId, why: &str, now: Instant) {
        let of = &mut self.peers[peer];
        if of.attachment != Attachment::Down {
            return;
        }
        match of.unreached.add(why, now) {
            Some(Report::Reason) => warn!(peer = %of.name, %why, "cannot be reached"),
            Some(Report::Summary(attempts, within)) => {
                let seconds = within.as_secs();
                warn!(peer = %of.name, %why, "still cannot be reached: {attempts} attempts in {seconds} s have failed");
            }
            None => {}
        }
        if of.why != why {
            why.clone_into(&mut of.why);
            self.events.push_back(PeerEvent::Down { peer, why: why.to_owned() });
        }
    }
}
