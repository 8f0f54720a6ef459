//! The send queue: control frames in order of arrival, and flows with data by turns.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::packet::{FlowId, Frame};
use crate::reason::Reason;

/// Control frames go first: they are few and small. Then flows with data take turns. A turn is several data frames of
/// one flow, bounded by the time that the turns of all flows take together, so that both gateways access few sockets in
/// each pass. A flow that has just received data sends its first frame before the turns, alternating with their frames,
/// as the sparse flows of FQ-CoDel do (RFC 8290, section 4.2). If a turn is one frame, flows send in the order in which
/// they received data.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Scheduler {
    control: VecDeque<Frame>,
    /// The flows whose reset is among the control frames.
    resets: BTreeSet<FlowId>,
    /// Flows that have received data and not sent since.
    fresh: VecDeque<FlowId>,
    /// Flows with data in the order of their turns.
    turns: VecDeque<FlowId>,
    /// Data frames that the first of `turns` has sent in its turn.
    sent: u32,
    /// True if the first of `turns` sends before the first of `fresh`.
    turn_first: bool,
    /// The most data frames of all turns together, and of one turn.
    round: (u32, u32),
    /// The number of control frames at which those are dropped that nobody wants any more.
    shrink_at: usize,
}

/// The least [`Scheduler::shrink_at`].
const SHRINK: usize = 4096;

impl Scheduler {
    pub(crate) fn push(&mut self, frame: Frame) {
        self.control.push_back(frame);
    }
    /// Adds a reset, unless one of the flow waits already.
    pub(crate) fn push_reset(&mut self, flow: FlowId, at: u64, reason: Reason) {
        if self.resets.insert(flow) {
            self.push(Frame::Reset { flow, at, reason });
        }
    }
    /// Drops the control frames that are not `wanted`, if there are many: twice as many as the last time, at least.
    pub(crate) fn shrink(&mut self, wanted: impl Fn(&Frame) -> bool) {
        if self.control.len() > self.shrink_at.max(SHRINK) {
            self.control.retain(wanted);
            self.control.shrink_to(2 * self.control.len());
            self.shrink_at = 2 * self.control.len();
        }
    }
    pub(crate) fn front(&self) -> Option<&Frame> {
        self.control.front()
    }
    pub(crate) fn pop(&mut self) -> Option<Frame> {
        let frame = self.control.pop_front();
        if let Some(Frame::Reset { flow, .. }) = &frame {
            self.resets.remove(flow);
        }
        frame
    }

    /// Sets the most data frames of the turns of all flows together, `all`, and of one turn, `one`. A turn is at least
    /// one frame.
    pub(crate) fn set_round(&mut self, all: u32, one: u32) {
        self.round = (all, one);
    }
    /// Returns the data frames of one turn.
    fn turn(&self) -> u32 {
        let flows = (self.fresh.len() + self.turns.len()).max(1) as u32;
        (self.round.0 / flows).min(self.round.1).max(1)
    }
    /// Adds a flow that has received data.
    pub(crate) fn push_flow(&mut self, flow: FlowId) {
        if self.turn() > 1 {
            self.fresh.push_back(flow);
        } else {
            self.turns.push_back(flow);
        }
    }
    fn is_fresh_next(&self) -> bool {
        !self.fresh.is_empty() && (self.turns.is_empty() || !self.turn_first)
    }
    /// Returns the flow that sends next.
    pub(crate) fn next_flow(&self) -> Option<FlowId> {
        let queue = if self.is_fresh_next() { &self.fresh } else { &self.turns };
        queue.front().copied()
    }
    /// The flow that was next has sent a data frame; `more` is true if it has more data.
    pub(crate) fn flow_sent(&mut self, more: bool) {
        self.turn_first = self.is_fresh_next();
        if self.turn_first {
            self.turns.extend(self.fresh.pop_front().filter(|_| more));
            return;
        }
        self.sent += 1;
        if !more || self.sent >= self.turn() {
            self.sent = 0;
            let flow = self.turns.pop_front();
            self.turns.extend(flow.filter(|_| more));
        }
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.control.is_empty() && self.fresh.is_empty() && self.turns.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the flows that send the next `count` frames; all of them have more data.
    fn next(queue: &mut Scheduler, count: usize) -> Vec<u64> {
        let mut sent = |_| {
            let flow = queue.next_flow().unwrap();
            queue.flow_sent(true);
            flow.0
        };
        (0..count).map(&mut sent).collect()
    }
    fn with(flows: u64, round: (u32, u32)) -> Scheduler {
        let mut queue = Scheduler::default();
        queue.set_round(round.0, round.1);
        (0..flows).for_each(|flow| queue.push_flow(FlowId(flow)));
        queue
    }

    #[test]
    fn a_turn_of_one_frame_is_the_order_of_arrival() {
        let mut queue = with(3, (0, 1));
        assert_eq!(next(&mut queue, 4), [0, 1, 2, 0]);
        queue.push_flow(FlowId(9));
        assert_eq!(next(&mut queue, 5), [1, 2, 0, 9, 1]);
    }

    #[test]
    fn the_round_is_divided_among_the_flows() {
        let mut queue = with(2, (6, 16));
        assert_eq!(next(&mut queue, 3), [0, 0, 1], "the second flow's first frame interrupts the first flow's turn");
        assert_eq!(next(&mut queue, 8), [0, 0, 1, 1, 1, 0, 0, 0]);
        let mut queue = with(2, (100, 4));
        assert_eq!(next(&mut queue, 14)[3..], [0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0]);
        // More flows than the round has frames.
        let mut queue = with(8, (6, 16));
        next(&mut queue, 16);
        let mut sent = next(&mut queue, 16);
        assert!(sent[..8] == sent[8..], "{sent:?}");
        sent.sort_unstable();
        assert_eq!(sent, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]);
    }

    #[test]
    fn a_sparse_flow_waits_for_one_frame_and_sparse_flows_send_at_most_every_second_frame() {
        let mut queue = with(2, (32, 16));
        next(&mut queue, 5);
        for flow in 10..14 {
            queue.push_flow(FlowId(flow));
        }
        let mut sent = Vec::new();
        for _ in 0..8 {
            let flow = queue.next_flow().unwrap();
            queue.flow_sent(flow.0 < 10);
            sent.push(flow.0);
        }
        assert_eq!(sent, [10, 0, 11, 0, 12, 0, 13, 0]);
    }

    #[test]
    fn a_flow_without_more_data_ends_its_turn() {
        let mut queue = with(2, (8, 16));
        next(&mut queue, 3);
        assert_eq!(queue.next_flow(), Some(FlowId(0)));
        queue.flow_sent(false);
        assert_eq!(next(&mut queue, 3), [1, 1, 1]);
        queue.flow_sent(false);
        assert!(queue.is_empty() && queue.next_flow().is_none());
    }
}
