//! What waits to be sent: control frames in order of arrival, and the token queue of flows.

use std::collections::VecDeque;

use crate::packet::{FlowId, Frame};

/// Control frames go first: they are few and small. Then every flow that has something to send
/// holds one token; the flow of the front token sends one data frame and goes to the back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scheduler {
    control: VecDeque<Frame>,
    tokens: VecDeque<FlowId>,
}

impl Scheduler {
    pub(crate) fn push(&mut self, frame: Frame) {
        self.control.push_back(frame);
    }
    pub(crate) fn push_reset(&mut self, flow: FlowId, at: u64) {
        let waits = self.control.iter().any(|f| matches!(f, Frame::Reset { flow: other, .. } if *other == flow));
        if !waits {
            self.push(Frame::Reset { flow, at });
        }
    }
    pub(crate) fn front(&self) -> Option<&Frame> {
        self.control.front()
    }
    pub(crate) fn pop(&mut self) -> Option<Frame> {
        self.control.pop_front()
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
