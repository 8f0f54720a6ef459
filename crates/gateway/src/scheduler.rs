//! What waits to be sent: control frames in order of arrival, and the token queue of flows.

use std::collections::{BTreeSet, VecDeque};

use crate::packet::{FlowId, Frame};
use crate::reason::Reason;

/// Control frames go first: they are few and small. Then every flow that has something to send
/// holds one token; the flow of the front token sends one data frame and goes to the back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scheduler {
    control: VecDeque<Frame>,
    /// The flows whose reset is among the control frames.
    resets: BTreeSet<FlowId>,
    tokens: VecDeque<FlowId>,
}

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
    pub(crate) fn push_token(&mut self, flow: FlowId) {
        self.tokens.push_back(flow);
    }
    pub(crate) fn front_token(&self) -> Option<FlowId> {
        self.tokens.front().copied()
    }
    pub(crate) fn pop_token(&mut self) {
        self.tokens.pop_front();
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.control.is_empty() && self.tokens.is_empty()
    }
}
