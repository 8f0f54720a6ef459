//! The send queue: control frames in order of arrival, and flows with data by classes and turns.

use std::collections::{BTreeSet, VecDeque};

use cellway_units::{Bits, Rate, Span, Time};
use serde::{Deserialize, Serialize};

use crate::class::{ClassId, ClassStats, Classes};
use crate::packet::{FlowId, Frame};
use crate::reason::Reason;

mod ceiling;
mod sharing;
mod turns;

use sharing::Sharing;

/// Control frames go first: they are few and small. Then classes share the rate (`sharing`), and in a class flows with data
/// take turns (`turns`). A turn is bounded by the time that the turns of all flows take together, so that both gateways
/// access few sockets in each pass.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Scheduler {
    control: VecDeque<Frame>,
    /// The flows whose reset is among the control frames.
    resets: BTreeSet<FlowId>,
    data: Sharing,
    /// The most data frames of all turns together, and of one turn.
    round: (u32, u32),
    /// The number of control frames at which those that are no longer needed are dropped.
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
        let flows = self.data.tokens().max(1);
        (self.round.0 / flows).min(self.round.1).max(1)
    }
    /// Adds a flow of `class` that has received data.
    pub(crate) fn push_flow(&mut self, flow: FlowId, class: ClassId) {
        let turn = self.turn();
        self.data.push(flow, class, turn);
    }
    /// Returns the flow that sends next at `now`.
    pub(crate) fn next_flow(&mut self, now: Time) -> Option<FlowId> {
        self.data.next(now)
    }
    /// Records that the flow that was next sends `bytes` in a data frame that takes `bits` of the rate.
    pub(crate) fn charge(&mut self, now: Time, bits: Bits, bytes: u32) {
        self.data.sent(now, bits, bytes);
    }
    /// Removes the flow that was next, which has nothing to send; `ended` is true if it has ended.
    pub(crate) fn drop_next(&mut self, ended: bool) {
        self.data.drop_next(ended);
    }
    /// Records that a flow of `class` that was added and has not been dropped has ended. `lives` returns true for flows
    /// that have not.
    pub(crate) fn flow_ended(&mut self, class: ClassId, lives: impl Fn(FlowId) -> bool) {
        self.data.flow_ended(class, lives);
    }
    /// Records that the flow that was next has sent a data frame; `more` is true if it has more data.
    pub(crate) fn flow_sent(&mut self, more: bool) {
        let turn = self.turn();
        self.data.turn_over(more, turn);
    }
    /// Returns the earliest instant at which something waits that classes let leave.
    pub(crate) fn ready(&self) -> Option<Time> {
        if self.control.is_empty() { self.data.ready() } else { Some(Time::ZERO) }
    }
    /// Returns true if a flow has data that its class lets leave at `now`.
    pub(crate) fn has_data(&self, now: Time) -> bool {
        self.data.ready().is_some_and(|at| at <= now)
    }
    /// Records that all frames that may leave at `now` have left.
    pub(crate) fn wait(&mut self, now: Time) {
        self.data.wait(now);
    }
    /// Lets the next frame of `class` leave above its ceiling.
    pub(crate) fn exempt(&mut self, class: ClassId) {
        self.data.exempt(class);
    }
    /// Sets the size of a full packet on the link, the lateness of packets that is made up for, and the rate.
    pub(crate) fn set_packet(&mut self, packet: Bits, slack: Span, line: Rate) {
        self.data.set_packet(packet, slack, line);
    }
    pub(crate) fn classes(&self) -> &Classes {
        self.data.classes()
    }
    /// Returns the counters of each class, without its flows.
    pub(crate) fn class_stats(&self) -> Vec<ClassStats> {
        (0..self.classes().as_slice().len()).map(|place| self.data.stats(place)).collect()
    }
    /// Replaces the classes, where `class_of` gives the new class of each flow that has not ended.
    pub(crate) fn set_classes(&mut self, classes: Classes, class_of: impl Fn(FlowId) -> Option<ClassId>) {
        let turn = self.turn();
        self.data.set_classes(classes, turn, class_of);
    }
    /// Returns the queue without frames and flows.
    pub(crate) fn cleared(mut self) -> Scheduler {
        self.data.clear();
        Scheduler { data: self.data, ..Scheduler::default() }
    }
    /// Prepares for a clock that starts again.
    pub(crate) fn restart(&mut self) {
        self.data.restart();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: ClassId = ClassId(0);
    const NOW: Time = Time::ZERO;

    /// Returns the flows that send the next `count` frames; all of them have more data.
    fn next(queue: &mut Scheduler, count: usize) -> Vec<u64> {
        let mut sent = |_| {
            let flow = queue.next_flow(NOW).unwrap();
            queue.flow_sent(true);
            flow.0
        };
        (0..count).map(&mut sent).collect()
    }
    fn with(flows: u64, round: (u32, u32)) -> Scheduler {
        let mut queue = Scheduler::default();
        queue.set_round(round.0, round.1);
        (0..flows).for_each(|flow| queue.push_flow(FlowId(flow), ALL));
        queue
    }

    #[test]
    fn a_turn_of_one_frame_is_the_order_of_arrival() {
        let mut queue = with(3, (0, 1));
        assert_eq!(next(&mut queue, 4), [0, 1, 2, 0]);
        queue.push_flow(FlowId(9), ALL);
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
            queue.push_flow(FlowId(flow), ALL);
        }
        let mut sent = Vec::new();
        for _ in 0..8 {
            let flow = queue.next_flow(NOW).unwrap();
            queue.flow_sent(flow.0 < 10);
            sent.push(flow.0);
        }
        assert_eq!(sent, [10, 0, 11, 0, 12, 0, 13, 0]);
    }

    #[test]
    fn a_flow_without_more_data_ends_its_turn() {
        let mut queue = with(2, (8, 16));
        next(&mut queue, 3);
        assert_eq!(queue.next_flow(NOW), Some(FlowId(0)));
        queue.flow_sent(false);
        assert_eq!(next(&mut queue, 3), [1, 1, 1]);
        queue.flow_sent(false);
        assert!(queue.ready().is_none() && queue.next_flow(NOW).is_none());
    }
}
