//! The choice of the next frames, and the results of those that were sent.

use cellway_units::{Rate, Time};

use super::Relay;
use crate::flow::{Delivery, Origin, Stage};
use crate::outbound::Piece;
use crate::output::Action;
use crate::packet::{FlowId, Frame, NUMBER_OCTETS, data_octets};

impl Relay {
    /// Records that the peer has the content of `frame`.
    pub(crate) fn acked(&mut self, frame: &Frame, actions: &mut Vec<Action>) {
        let Some(flow) = frame.flow() else { return };
        if matches!(frame, Frame::Reset { .. } | Frame::Refused { .. }) && self.answers.remove(&flow) {
            self.reset_unused();
        }
        self.change(flow, actions, |flow, context| flow.acked(frame, context));
    }
    /// Records that the packet with `frame` was lost. Returns true if that must be retransmitted.
    pub(crate) fn lost(&mut self, frame: Frame, actions: &mut Vec<Action>) -> bool {
        let Some(flow) = frame.flow() else {
            return match frame {
                Frame::Recall => self.recall_lost(),
                Frame::Rate { rate } => self.rate_lost(rate),
                _ => false,
            };
        };
        let mut again = false;
        match frame {
            // The peer may still wait for it although the flow has ended here.
            Frame::Reset { at, reason, .. } => {
                again = true;
                self.queue.push_reset(flow, at, reason);
            }
            Frame::Refused { .. } if self.answers.contains(&flow) => {
                again = true;
                self.queue.push(frame);
            }
            _ => self.change(flow, actions, |flow, context| again = flow.lost(frame, context)),
        }
        again
    }
    /// Records that the packet with the rate was lost. Returns true if it must be announced again.
    fn rate_lost(&mut self, rate: Rate) -> bool {
        let again = self.windows.announcement_lost(rate);
        self.announce_rate();
        again
    }
    /// Returns the earliest instant at which there is something to send: later than now if ceilings of classes hold all
    /// of it.
    pub(crate) fn ready(&self) -> Option<Time> {
        self.queue.ready()
    }
    /// Returns true if there is something to send that no ceiling holds.
    pub(crate) fn has_frames(&self, now: Time) -> bool {
        self.ready().is_some_and(|at| at <= now)
    }
    /// Returns true if a flow that no ceiling holds has bytes to send, or had.
    pub(crate) fn has_data(&self, now: Time) -> bool {
        self.queue.has_data(now)
    }
    /// Records that all frames that may leave now have left.
    pub(crate) fn wait(&mut self, now: Time) {
        self.queue.wait(now);
    }
    /// Lets the frame that a probe sends again leave above the ceiling of its class, as probes are not subject to congestion
    /// control (RFC 9002, section 7.5): a class far below one packet in a probe timeout would make a peer that answers seem
    /// unresponsive.
    pub(crate) fn exempt(&mut self, frame: &Frame) {
        if let &Frame::Data { flow, .. } = frame
            && let Some(state) = self.flows.get(&flow)
        {
            self.queue.exempt(state.class);
        }
    }
    /// Returns the octets of the control frame that waits longest.
    pub(crate) fn next_control_octets(&self) -> u32 {
        self.queue.front().map_or(0, Frame::octets)
    }
    /// Returns the control frame to send next, if it fits into `room` octets.
    pub(crate) fn next_control(&mut self, room: u32) -> Option<Frame> {
        while let Some(frame) = self.queue.front() {
            if frame.octets() > room {
                return None;
            }
            let mut frame = self.queue.pop()?;
            if matches!(frame, Frame::Recall) {
                self.recall_leaves();
                return Some(frame);
            }
            if let Frame::Rate { rate } = &mut frame {
                self.rate_queued = false;
                *rate = self.windows.announce();
                return Some(frame);
            }
            let Some(state) = frame.flow().and_then(|flow| self.flows.get(&flow)) else {
                // The peer may wait for its end although the flow no longer exists here, or never did.
                if matches!(frame, Frame::Reset { .. } | Frame::Refused { .. }) {
                    return Some(frame);
                }
                continue;
            };
            let share = self.inbound_share(state);
            if matches!(frame, Frame::Credit { .. }) && share < self.inbound_window(state) {
                self.want_memory();
            }
            let Some(state) = frame.flow().and_then(|flow| self.flows.get_mut(&flow)) else { continue };
            let before = state.committed(&self.config);
            let wanted = state.leaves(&mut frame, share);
            self.committed = self.committed - before + state.committed(&self.config);
            if state.wants_token(&self.config) {
                state.token = true;
                self.queue.push_flow(state.id, state.class);
            }
            if wanted {
                return Some(frame);
            }
        }
        None
    }
    /// Returns the data frame to send next, of at most `payload` bytes, if it fits into `room` octets.
    pub(crate) fn next_data(&mut self, room: u32, actions: &mut Vec<Action>) -> Option<Frame> {
        while let Some(flow) = self.queue.next_flow(self.now) {
            let Some(state) = self.flows.get_mut(&flow) else {
                self.queue.drop_next(true);
                continue;
            };
            let Some(mut piece) = state.peek(&self.config) else {
                state.token = false;
                self.queue.drop_next(false);
                continue;
            };
            // The end of a flow may have no bytes, but it has a header.
            let room = room.checked_sub(data_octets(flow, piece.offset))?;
            if piece.len > room {
                // Half a packet next to other frames is better than a packet of its own for them.
                if u64::from(room) < self.config.payload.0 / 2 {
                    return None;
                }
                (piece.len, piece.fin, piece.urgent) = (room, false, false);
            }
            state.out.sent(piece);
            state.active = self.now;
            let octets = NUMBER_OCTETS + data_octets(flow, piece.offset) + piece.len;
            let bits = self.config.wire.bits(self.config.transport.overhead() + octets);
            self.queue.charge(self.now, bits, piece.len);
            self.take_more(flow, actions);
            let state = self.flows.get_mut(&flow)?;
            let more = state.peek(&self.config).is_some();
            let early = state.origin == Origin::Local && state.handshake != Delivery::Acked;
            self.stats.data_bytes += u64::from(piece.len);
            if piece.again {
                self.stats.resent_bytes += u64::from(piece.len);
                self.stats.retransmissions += 1;
            }
            state.token = more;
            self.queue.flow_sent(more);
            let Piece { offset, len, fin, urgent, .. } = piece;
            return Some(Frame::Data { flow, offset, len, fin, early, urgent });
        }
        None
    }
    /// Records that bytes of `flow` have left: more may be consumed from its host.
    fn take_more(&mut self, flow: FlowId, actions: &mut Vec<Action>) {
        let ahead = self.config.ahead();
        let Some(state) = self.flows.get(&flow) else { return };
        let (class, held) = (state.class, state.out.held());
        let share = self.outbound_share(class, held);
        let Some(state) = self.flows.get_mut(&flow).filter(|state| state.stage == Stage::Relaying) else { return };
        let committed = state.committed(&self.config);
        if state.reset_at.is_none() {
            state.take(share, ahead, actions);
        }
        let more = state.out.held() - held;
        self.committed = self.committed - committed + state.committed(&self.config);
        self.held += more;
        self.taken[class.0] += more;
        self.stats.buffered_max = self.stats.buffered_max.max(self.held);
    }
}
