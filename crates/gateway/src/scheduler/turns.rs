//! The turns of the flows of one class.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::packet::FlowId;

/// Flows with data take turns. A turn is several data frames of one flow. A flow that has just received data sends its first
/// frame before the turns, alternating with their frames, as the sparse flows of FQ-CoDel do (RFC 8290, section 4.2). If a
/// turn is one frame, flows send in the order in which they received data.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Turns {
    /// Flows that have received data and not sent since.
    fresh: VecDeque<FlowId>,
    /// Flows with data in the order of their turns.
    turns: VecDeque<FlowId>,
    /// Data frames that the first of `turns` has sent in its turn.
    sent: u32,
    /// True if the first of `turns` sends before the first of `fresh`.
    turn_first: bool,
}

impl Turns {
    /// Adds a flow that has received data, where a turn is `turn` frames.
    pub(super) fn push(&mut self, flow: FlowId, turn: u32) {
        if turn > 1 {
            self.fresh.push_back(flow);
        } else {
            self.turns.push_back(flow);
        }
    }
    fn is_fresh_next(&self) -> bool {
        !self.fresh.is_empty() && (self.turns.is_empty() || !self.turn_first)
    }
    /// Returns the flow that sends next.
    pub(super) fn next(&self) -> Option<FlowId> {
        let queue = if self.is_fresh_next() { &self.fresh } else { &self.turns };
        queue.front().copied()
    }
    /// Records that the flow that was next has sent a data frame, where a turn is `turn` frames; `more` is true if it
    /// has more data.
    pub(super) fn sent(&mut self, more: bool, turn: u32) {
        self.turn_first = self.is_fresh_next();
        if self.turn_first {
            self.turns.extend(self.fresh.pop_front().filter(|_| more));
            return;
        }
        self.sent += 1;
        if !more || self.sent >= turn {
            self.sent = 0;
            let flow = self.turns.pop_front();
            self.turns.extend(flow.filter(|_| more));
        }
    }
    /// Removes the flow that was next, which has nothing to send. It takes no part in the turns: the next flow is the
    /// one that would have followed if this flow had not been there.
    pub(super) fn drop_next(&mut self) {
        if self.is_fresh_next() {
            self.fresh.pop_front();
        } else {
            self.sent = 0;
            self.turns.pop_front();
        }
    }
    /// Drops the flows for which `lives` returns false.
    pub(super) fn retain(&mut self, lives: impl Fn(FlowId) -> bool) {
        let first = self.turns.front().copied();
        self.fresh.retain(|&flow| lives(flow));
        self.turns.retain(|&flow| lives(flow));
        if self.turns.front().copied() != first {
            self.sent = 0;
        }
    }
    pub(super) fn len(&self) -> usize {
        self.fresh.len() + self.turns.len()
    }
    pub(super) fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.turns.is_empty()
    }
    /// Returns all flows, about in the order in which they would send.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = FlowId> + '_ {
        self.sent = 0;
        self.fresh.drain(..).chain(self.turns.drain(..))
    }
}
