//! Memory that is promised and not used: the gateway that is short of it asks, and the other one gives back
//! what its idle flows may send. Nothing promised is ever taken back.

use cellway_units::{Span, Time};
use serde::{Deserialize, Serialize};

use super::Relay;
use crate::flow::{Flow, Origin, Stage};
use crate::packet::Frame;

/// A flow that has sent nothing for so long gives back. Also the least time between two requests, and between
/// two looks at all flows.
const IDLE: Span = Span::from_secs(1);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Reclaim {
    /// Whether a flow here got less than it could use since the last request.
    wanted: bool,
    /// Whether a request waits to be sent.
    queued: bool,
    /// When memory was asked for last.
    asked: Option<Time>,
    /// Whether the peer asks.
    recalled: bool,
    /// When the flows were looked at last.
    looked: Option<Time>,
}

impl Relay {
    /// A flow got less memory than it could use.
    pub(super) fn want_memory(&mut self) {
        self.reclaim.wanted = true;
    }
    /// True if memory is short because of granted limits: a flow needs more of it, and less than half is free.
    fn is_short(&self) -> bool {
        // Asked for every packet: what is seldom so comes first.
        self.free() < self.config.total_buffer.0.div_ceil(2)
            && (self.reclaim.wanted || self.waits_for_memory(Origin::Local) || self.waits_for_memory(Origin::Peer))
    }
    /// The peer is short of memory.
    pub(super) fn recalled(&mut self) {
        self.reclaim.recalled = true;
    }
    /// The request was lost: it is made again if memory is still short.
    pub(super) fn recall_lost(&mut self) -> bool {
        self.reclaim.asked = None;
        self.is_short()
    }
    /// The request leaves.
    pub(super) fn recall_leaves(&mut self) {
        self.reclaim.queued = false;
    }

    /// Asks the peer for memory, and gives back what it asks for, if it is time.
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
    /// When to call [`Relay::reclaim`].
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
    /// Gives back what it may send but for `keep`, if that is `step` or more and it has sent nothing for a while;
    /// whether it did.
    fn gives_back(&mut self, now: Time, keep: u64, step: u64) -> bool {
        let idle = now >= self.active + IDLE;
        let open = self.stage == Stage::Relaying && self.reset_at.is_none();
        let known = self.answered || self.origin == Origin::Peer;
        idle && open && known && self.out.give_back(keep, step)
    }
}
