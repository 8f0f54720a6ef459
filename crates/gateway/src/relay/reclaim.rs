//! Memory that is granted and not used: a gateway under memory pressure asks, and the other one returns the credit of
//! its idle flows. Granted memory is never withdrawn.

use cellway_units::{Span, Time};
use serde::{Deserialize, Serialize};

use super::Relay;
use crate::flow::{Flow, Origin, Stage};
use crate::packet::Frame;

/// A flow that has sent nothing for this time returns its credit. Also the least time between two requests, and between
/// two checks of all flows.
const IDLE: Span = Span::from_secs(1);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Reclaim {
    /// True if a flow here got less than it could use since the last request.
    wanted: bool,
    /// True if a request is queued.
    queued: bool,
    /// The time of the last request.
    asked: Option<Time>,
    /// True if the peer requests credit.
    recalled: bool,
    /// The time of the last check of the flows.
    looked: Option<Time>,
}

impl Relay {
    /// Records that a flow got less memory than it could use.
    pub(super) fn want_memory(&mut self) {
        self.reclaim.wanted = true;
    }
    /// Returns true if memory is short because of granted limits: a flow needs more of it, and less than half is free.
    fn is_short(&self) -> bool {
        // Evaluated for every packet: the condition that is rarely true comes first.
        self.free() < self.config.total_buffer.0.div_ceil(2)
            && (self.reclaim.wanted || self.waits_for_memory(Origin::Local) || self.waits_for_memory(Origin::Peer))
    }
    /// Records that the peer is under memory pressure.
    pub(super) fn recalled(&mut self) {
        self.reclaim.recalled = true;
    }
    /// Records that the request was lost. Returns true if it must be repeated, as memory is still short.
    pub(super) fn recall_lost(&mut self) -> bool {
        self.reclaim.asked = None;
        self.is_short()
    }
    /// Records that the request leaves.
    pub(super) fn recall_leaves(&mut self) {
        self.reclaim.queued = false;
    }

    /// Requests credit of the peer, and returns the credit that the peer requests, if it is time.
    pub(crate) fn reclaim(&mut self, now: Time) {
        self.now = now;
        self.forget_answered_openings();
        let due = |last: Option<Time>| last.is_none_or(|at| now >= at + IDLE);
        if due(self.reclaim.asked) && self.is_short() {
            (self.reclaim.asked, self.reclaim.wanted) = (Some(now), false);
            if !std::mem::replace(&mut self.reclaim.queued, true) {
                self.queue.push(Frame::Recall);
            }
        }
        if self.reclaim.recalled && due(self.reclaim.looked) {
            (self.reclaim.looked, self.reclaim.recalled) = (Some(now), false);
            self.give_back(now);
        }
    }
    /// Returns the time of the next [`Relay::reclaim`].
    pub(crate) fn reclaim_at(&self) -> Option<Time> {
        let ask = self.reclaim.asked.filter(|_| self.is_short());
        let look = self.reclaim.looked.filter(|_| self.reclaim.recalled);
        [ask, look].into_iter().flatten().min().map(|at| at + IDLE)
    }
    fn give_back(&mut self, now: Time) {
        let (keep, step) = (self.config.least(), self.config.payload.0);
        for flow in self.flows.values_mut() {
            let before = flow.out.returned;
            if flow.gives_back(now, keep, step) {
                flow.queue_return(&mut self.queue);
            }
            self.stats.given_back += flow.out.returned - before;
        }
    }
}

impl Flow {
    /// Returns the credit beyond `keep` to the peer, if that is `step` or more and the flow has sent nothing for a
    /// while. Returns true if it did.
    fn gives_back(&mut self, now: Time, keep: u64, step: u64) -> bool {
        let idle = now >= self.active + IDLE;
        let open = self.stage == Stage::Relaying && self.reset_at.is_none();
        let known = self.answered || self.origin == Origin::Peer;
        idle && open && known && self.out.give_back(keep, step)
    }
}
