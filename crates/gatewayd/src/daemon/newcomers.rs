//! How openings that wait on the device become connections, and how these are answered.

use std::net::IpAddr;

use cellway_gateway::{FlowId, Reason, Request, Server};

use super::flow::{Ending, Origin, Stage};
use super::timers::Due;
use super::{Daemon, Flow};
use crate::config::Connect;
use crate::error::Error;
use crate::intercept::Opening;

/// How long a connection that was let go may take until it is accepted (ns): what the kernel takes
/// to give up on an answered opening, in short.
const ACCEPT: u64 = 15_000_000_000;
/// Most that are let in before everything else has its turn.
pub(super) const AT_ONCE: usize = 256;

impl Daemon {
    /// Openings wait on the device.
    pub(crate) fn openings(&mut self) {
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
            match self.table.get_mut(token) {
                // Sent again by a host that has waited a second.
                Some(Flow { origin: Origin::Held(held), stage: Stage::Opening, .. }) => {
                    *held = opening;
                    return;
                }
                Some(flow) if flow.stage == Stage::Silent => self.remove(token),
                // The far side has the port until it knows of the end.
                Some(flow) if flow.is_over() && !flow.forgotten && self.links[flow.peer].machine.is_unresponsive() => {}
                Some(flow) if flow.is_over() && !flow.forgotten => {
                    flow.again = Some(opening);
                    return;
                }
                // The kernel knows what to answer.
                Some(flow) if !flow.forgotten => {
                    if let Some(hold) = &mut self.hold {
                        let _ = hold.release(&opening);
                    }
                    return;
                }
                _ => {}
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
        let early = self.config.peers[peer].connect == Connect::Early;
        let request = Request { client: Some(opening.client), server: Server::Address(opening.server), early };
        let source = opening.client.ip();
        let token = self.open(peer, request, Origin::Held(opening));
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
    pub(crate) fn refusal(&self, peer: usize, source: IpAddr) -> Option<Reason> {
        let limits = &self.config.limits;
        if !self.links[peer].up || self.links[peer].machine.is_unresponsive() {
            Some(Reason::PeerLost)
        } else if self.table.len() >= limits.connections as usize
            || self.tally.of(source) >= limits.per_source
            || self.tally.opening >= limits.opening
        {
            Some(Reason::Busy)
        } else {
            None
        }
    }
    pub(crate) fn begin_opening(&mut self, token: u64, source: IpAddr, how: &'static str) {
        let Some(flow) = self.table.get_mut(token) else { return };
        (flow.counted, flow.source) = (true, Some(source));
        let (peer, id, request) = (flow.peer, flow.id, flow.request.clone());
        tracing::debug!(flow = id.0, peer = %self.links[peer].name, %source, server = ?request.server, how, "opening");
        self.tally.opened(how);
        self.tally.enters(source);
        self.machine(peer, |machine, now, out| machine.incoming(now, id, request, out));
    }

    /// The far side has answered, or need not be waited for.
    pub(crate) fn accept(&mut self, peer: usize, id: FlowId) {
        let Some(&token) = self.links[peer].flows.get(&id) else { return };
        let Some(flow) = self.table.get_mut(token) else { return };
        if !flow.answered {
            flow.answered = true;
            self.tally.answered(self.now - flow.since);
        }
        tracing::debug!(flow = id.0, "answered");
        match &flow.origin {
            Origin::Held(opening) => {
                flow.stage = Stage::Accepting;
                self.timers.add(self.now + ACCEPT, Due::Accept(token));
                if let Some(hold) = &mut self.hold
                    && let Err(e) = hold.release(opening)
                {
                    tracing::warn!("an opening cannot be let go: {e}");
                    self.tally.error("device");
                }
            }
            _ => {
                flow.answer_socks(None);
                flow.stage = Stage::Open;
                self.later.push_back(super::Later::Room(token, 0));
                self.later.push_back(super::Later::News(token, false));
            }
        }
    }
    /// The peer has refused a connection attempt.
    pub(crate) fn refuse(&mut self, peer: usize, id: FlowId, reason: Reason) {
        let Some(&token) = self.links[peer].flows.get(&id) else { return };
        let passes = self.passes_refused(peer, reason);
        let Some(flow) = self.table.get_mut(token) else { return };
        flow.passed = passes && matches!(flow.origin, Origin::Held(_));
        if !flow.answered {
            flow.answered = true;
            match flow.passed {
                true => self.tally.unanswered(),
                false => self.tally.answered(self.now - flow.since),
            }
        }
        tracing::debug!(flow = id.0, %reason, passed = flow.passed, "refused");
        flow.ending = Some(Ending::Reset);
        flow.answer_socks(Some(reason));
        if matches!(flow.origin, Origin::Socks) {
            // The answer must arrive.
            flow.ending = Some(Ending::Clean);
        }
        self.answer_refused(token, reason);
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
            let known = token.filter(|&token| self.table.get(token).is_some_and(|f| f.stage == Stage::Accepting));
            match known {
                Some(token) => self.attach(token, socket),
                None => {
                    // Dropped with its reset: nobody knows of it any more.
                    tracing::debug!(%client, %server, "accepted and unknown");
                    let _ = socket.set_linger(Some(std::time::Duration::ZERO));
                }
            }
            self.settle();
        }
    }
    /// A connection was let go and has not come.
    pub(crate) fn not_accepted(&mut self, token: u64) {
        let Some(flow) = self.table.get_mut(token) else { return };
        if flow.stage == Stage::Accepting {
            flow.stage = Stage::Open;
            flow.ending = Some(Ending::Reset);
            if flow.forgotten {
                self.remove(token);
            } else {
                self.later.push_back(super::Later::Gone(token, Reason::TimedOut));
            }
        }
    }
}
