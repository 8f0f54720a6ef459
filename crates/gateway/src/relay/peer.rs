//! Frames of the peer about flows.

use std::sync::Arc;

use cellway_units::Time;

use super::Relay;
use crate::flow::{Flow, Origin, Stage};
use crate::inbound::{Inbound, Violation};
use crate::output::Action;
use crate::packet::{FlowId, Frame};
use crate::reason::Reason;
use crate::request::Request;

impl Relay {
    /// Processes `frame` of the peer, which is no acknowledgement.
    pub(crate) fn arrived(&mut self, frame: &Frame, actions: &mut Vec<Action>) {
        match frame {
            Frame::Recall => self.recalled(),
            Frame::Rate { rate } => self.windows.set_peer(*rate),
            _ => {}
        }
        let Some(flow) = frame.flow() else { return };
        match (self.flows.contains_key(&flow), frame) {
            (true, Frame::Data { offset, len, fin, urgent, .. }) => {
                self.note_arrival(flow, *len);
                self.arrive(flow, actions, |inn| {
                    inn.arrive(*offset, *len, *fin)?;
                    if *urgent { inn.mark(*offset, *len) } else { Ok(()) }
                });
            }
            (true, Frame::Return { total, at, .. }) => self.arrive(flow, actions, |inn| inn.take_back(*total, *at)),
            (true, Frame::Refused { reason, .. }) => self.refused_by_peer(flow, *reason, actions),
            (true, _) => self.change(flow, actions, |flow, context| flow.control(frame, context)),
            (false, _) if self.has_ended(flow) => {}
            (false, Frame::Open { limit, request, .. }) => self.opened(flow, *limit, request, actions),
            // The `Open` was cancelled, and may arrive late.
            (false, Frame::Reset { .. }) => {
                self.has_now_ended(flow);
                self.check_identifiers(flow);
            }
            (false, _) => {
                self.stats.unknown_flows += 1;
                self.answer(Frame::Reset { flow, at: 0, reason: Reason::Violation });
            }
        }
    }
    /// Processes an `Open` with a lease that ends at `end`. After that time it is refused: the client may use another
    /// path.
    pub(crate) fn leased(&mut self, flow: FlowId, open: &Frame, (now, end): (Time, Time), actions: &mut Vec<Action>) {
        if self.flows.contains_key(&flow) || self.has_ended(flow) {
            return;
        }
        if now < end {
            self.arrived(open, actions);
            if let Some(state) = self.flows.get_mut(&flow) {
                state.lease_end = Some(end);
            }
        } else {
            self.decline(flow, Reason::PeerLost);
        }
    }
    pub(crate) fn lease_end(&self, flow: FlowId) -> Option<Time> {
        self.flows.get(&flow)?.lease_end
    }
    fn refused_by_peer(&mut self, flow: FlowId, reason: Reason, actions: &mut Vec<Action>) {
        let Some(state) = self.flows.get_mut(&flow).filter(|state| state.origin == Origin::Local) else { return };
        match state.stage {
            Stage::Opening => actions.push(Action::Refuse { flow, reason }),
            // It was accepted early.
            Stage::Relaying => actions.push(Action::Reset { flow, reason }),
            Stage::Resetting => return self.end(flow, actions),
            Stage::Waiting | Stage::Connecting | Stage::Refusing => return,
        }
        state.cause.get_or_insert(reason);
        self.stats.count_refusal(reason);
        self.end(flow, actions);
    }
    fn opened(&mut self, flow: FlowId, limit: u64, request: &Arc<Request>, actions: &mut Vec<Action>) {
        // Early bytes need their memory at once.
        let (origin, class) = (Origin::Peer, self.queue.classes().of(request));
        let may_enter = if request.early { !self.is_full(origin, class) } else { self.may_wait(origin, class) };
        if may_enter {
            let mut state = Flow::new(flow, origin, request.clone(), class, self.now);
            state.out.limit = limit;
            self.enter(state, actions);
        } else {
            self.decline(flow, Reason::Busy);
        }
    }
    /// Refuses a flow that does not exist here. It takes no memory, however many the peer opens.
    fn decline(&mut self, flow: FlowId, reason: Reason) {
        self.stats.count_refusal(reason);
        self.stats.declined_by[reason.index()] += 1;
        self.has_now_ended(flow);
        self.check_identifiers(flow);
        self.answer(Frame::Refused { flow, reason });
    }
    /// Sends the peer a reset or a refusal of a flow that does not exist here.
    pub(super) fn answer(&mut self, frame: Frame) {
        let Some(flow) = frame.flow().filter(|_| self.excess.is_none()) else { return };
        if self.answers.insert(flow) {
            self.queue.push(frame);
        }
    }
    /// Returns true if bytes of a flow have arrived before its `Open`.
    pub(crate) fn is_ahead(&self, frames: &[Frame]) -> bool {
        let Some(&Frame::Data { flow, early: true, .. }) = frames.last() else { return false };
        let opens = |frame: &Frame| matches!(frame, Frame::Open { flow: other, .. } if *other == flow);
        !self.flows.contains_key(&flow) && !self.has_ended(flow) && !frames.iter().any(opens)
    }
    /// Processes a frame of the peer about an existing flow. A violation ends the flow.
    fn arrive(
        &mut self,
        flow: FlowId,
        actions: &mut Vec<Action>,
        take: impl FnOnce(&mut Inbound) -> Result<(), Violation>,
    ) {
        let (mut violation, mut fresh) = (None, 0);
        self.change(flow, actions, |flow, _| {
            if matches!(flow.stage, Stage::Refusing | Stage::Resetting) {
                return;
            }
            let before = flow.inn.arrived();
            if take(&mut flow.inn).is_err() {
                flow.cause = Some(Reason::Violation);
                violation = Some((flow.stage, flow.told));
            }
            fresh = flow.inn.arrived() - before;
        });
        self.stats.received_bytes += fresh;
        let Some((stage, told)) = violation else { return };
        self.stats.violations += 1;
        // The flow may have ended with that.
        if told && self.flows.contains_key(&flow) {
            let reason = Reason::Violation;
            let refuse = matches!(stage, Stage::Waiting | Stage::Opening);
            actions.push(if refuse { Action::Refuse { flow, reason } } else { Action::Reset { flow, reason } });
        }
        self.end(flow, actions);
        self.answer(Frame::Reset { flow, at: 0, reason: Reason::Violation });
    }
}
