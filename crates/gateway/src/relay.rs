//! All flows: what the local side and the peer say, turned into actions and frames. Knows nothing
//! of time or packets, so that any reliable transport of frames can carry it.

use std::collections::{BTreeMap, VecDeque};

use crate::config::GatewayConfig;
use crate::flow::{Context, Delivery, Flow, Origin, Stage};
use crate::output::Action;
use crate::packet::{DATA_OCTETS, FlowId, Frame};
use crate::ranges::Ranges;
use crate::scheduler::Scheduler;
use crate::stats::{FlowStats, GatewayStats};

#[derive(Clone, Debug)]
pub(crate) struct Relay {
    config: GatewayConfig,
    flows: BTreeMap<FlowId, Flow>,
    queue: Scheduler,
    /// Flows that wait for memory, by origin, in order.
    waiting: [VecDeque<FlowId>; 2],
    /// Flows that have memory, by origin.
    admitted: [u64; 2],
    /// Names of flows that have ended, even and odd ones apart and halved, so that names given out
    /// in steps of two join as well.
    ended: [Ranges; 2],
    held: u64,
    pub(crate) stats: GatewayStats,
}

impl Relay {
    pub(crate) fn new(config: GatewayConfig) -> Relay {
        Relay {
            config,
            flows: BTreeMap::new(),
            queue: Scheduler::default(),
            waiting: Default::default(),
            admitted: [0; 2],
            ended: Default::default(),
            held: 0,
            stats: GatewayStats::default(),
        }
    }

    /// A local host wants to connect.
    pub(crate) fn incoming(&mut self, flow: FlowId, actions: &mut Vec<Action>) {
        let live = self.flows.contains_key(&flow);
        if live || self.has_ended(flow) || !self.may_wait(Origin::Local) {
            self.stats.flows_refused += 1;
            actions.push(Action::Refuse { flow });
            if !live {
                actions.push(Action::Closed { flow });
            }
            return;
        }
        self.flows.insert(flow, Flow::new(flow, Origin::Local));
        self.enter(flow, Origin::Local, actions);
    }
    /// The local TCP is connected.
    pub(crate) fn connected(&mut self, flow: FlowId, actions: &mut Vec<Action>) {
        self.change(flow, actions, |flow, context| {
            if flow.stage == Stage::Connecting {
                flow.stage = Stage::Relaying;
                let limit = flow.inn.grant(context.config.window.0);
                flow.queue_handshake(Frame::Accepted { flow: flow.id, limit }, context);
            }
        });
    }
    /// The local TCP could not connect.
    pub(crate) fn refused(&mut self, flow: FlowId, actions: &mut Vec<Action>) {
        self.change(flow, actions, |flow, context| {
            if flow.stage == Stage::Connecting {
                flow.refuse(context);
            }
        });
    }
    /// The local host sent bytes.
    pub(crate) fn received(&mut self, flow: FlowId, bytes: u64, actions: &mut Vec<Action>) {
        self.change(flow, actions, |flow, _| {
            if flow.stage != Stage::Resetting && flow.reset_at.is_none() {
                flow.out.received += bytes;
            }
        });
    }
    /// The local TCP can take `room` bytes.
    pub(crate) fn writable(&mut self, flow: FlowId, room: u64, actions: &mut Vec<Action>) {
        self.change(flow, actions, |flow, _| flow.inn.room = room);
    }
    /// The local host sends no more.
    pub(crate) fn local_closed(&mut self, flow: FlowId, actions: &mut Vec<Action>) {
        self.change(flow, actions, |flow, _| {
            flow.out.ended = flow.stage != Stage::Resetting && flow.reset_at.is_none();
        });
    }
    /// The local connection is gone.
    pub(crate) fn local_reset(&mut self, flow: FlowId, actions: &mut Vec<Action>) {
        let Some(state) = self.flows.get(&flow) else { return };
        let unasked = matches!(state.handshake, Delivery::Idle | Delivery::Queued);
        match state.stage {
            Stage::Waiting => self.end(flow, actions),
            Stage::Opening if unasked => self.end(flow, actions),
            Stage::Connecting => self.refused(flow, actions),
            Stage::Opening | Stage::Relaying => {
                self.change(flow, actions, |flow, context| flow.lose_local_side(context));
            }
            Stage::Refusing | Stage::Resetting => {}
        }
    }

    /// The peer sent `frame`, which is no acknowledgement.
    pub(crate) fn arrived(&mut self, frame: &Frame, actions: &mut Vec<Action>) {
        let Some(flow) = frame.flow() else { return };
        match (self.flows.contains_key(&flow), frame) {
            (true, Frame::Data { offset, len, fin, .. }) => self.data(flow, *offset, *len, *fin, actions),
            (true, Frame::Refused { .. }) => self.refused_by_peer(flow, actions),
            (true, _) => self.change(flow, actions, |flow, context| flow.control(frame, context)),
            (false, _) if self.has_ended(flow) => {}
            (false, Frame::Open { limit, .. }) => self.opened(flow, *limit, actions),
            (false, Frame::Reset { .. }) => {}
            (false, _) => {
                self.stats.unknown_flows += 1;
                self.queue.push_reset(flow, 0);
            }
        }
    }
    fn refused_by_peer(&mut self, flow: FlowId, actions: &mut Vec<Action>) {
        match self.flows.get(&flow).filter(|state| state.origin == Origin::Local).map(|state| state.stage) {
            Some(Stage::Opening) => {
                self.stats.flows_refused += 1;
                actions.push(Action::Refuse { flow });
                self.end(flow, actions);
            }
            Some(Stage::Resetting) => self.end(flow, actions),
            _ => {}
        }
    }
    fn opened(&mut self, flow: FlowId, limit: u64, actions: &mut Vec<Action>) {
        let mut state = Flow::new(flow, Origin::Peer);
        state.out.limit = limit;
        self.flows.insert(flow, state);
        if self.may_wait(Origin::Peer) {
            self.enter(flow, Origin::Peer, actions);
        } else {
            self.stats.flows_refused += 1;
            self.change(flow, actions, |flow, context| flow.refuse(context));
        }
    }
    fn data(&mut self, flow: FlowId, offset: u64, len: u32, fin: bool, actions: &mut Vec<Action>) {
        let mut violation = None;
        self.change(flow, actions, |flow, _| {
            if flow.stage != Stage::Resetting && flow.inn.arrive(offset, len, fin).is_err() {
                violation = Some((flow.stage, flow.told));
            }
        });
        let Some((stage, told)) = violation else { return };
        self.stats.violations += 1;
        if told {
            actions.push(if stage == Stage::Opening { Action::Refuse { flow } } else { Action::Reset { flow } });
        }
        self.end(flow, actions);
        self.queue.push_reset(flow, 0);
    }

    /// The peer has what `frame` carried.
    pub(crate) fn acked(&mut self, frame: &Frame, actions: &mut Vec<Action>) {
        let Some(flow) = frame.flow() else { return };
        self.change(flow, actions, |flow, context| flow.acked(frame, context));
    }
    /// The packet with `frame` was lost; whether that must be sent again.
    pub(crate) fn lost(&mut self, frame: Frame, actions: &mut Vec<Action>) -> bool {
        let Some(flow) = frame.flow() else { return false };
        let mut again = false;
        match frame {
            // The peer may still wait for it although the flow has ended here.
            Frame::Reset { at, .. } => {
                again = true;
                self.queue.push_reset(flow, at);
            }
            _ => self.change(flow, actions, |flow, context| again = flow.lost(frame, context)),
        }
        again
    }

    pub(crate) fn has_frames(&self) -> bool {
        !self.queue.is_empty()
    }
    /// The control frame to send next if it fits into `room` octets.
    pub(crate) fn next_control(&mut self, room: u32) -> Option<Frame> {
        while let Some(frame) = self.queue.front() {
            if frame.octets() > room {
                return None;
            }
            let mut frame = self.queue.pop()?;
            let state = frame.flow().and_then(|flow| self.flows.get_mut(&flow));
            if state.map_or(matches!(frame, Frame::Reset { .. }), |state| state.leaves(&mut frame, &self.config)) {
                return Some(frame);
            }
        }
        None
    }
    /// The data frame to send next, of at most `payload` bytes, if it fits into `room` octets.
    pub(crate) fn next_data(&mut self, room: u32) -> Option<Frame> {
        let payload = self.config.payload.0;
        while let Some(flow) = self.queue.front_token() {
            let state = self.flows.get_mut(&flow);
            let Some((state, piece)) = state.and_then(|s| s.out.peek(payload).map(|piece| (s, piece))) else {
                self.drop_token(flow);
                continue;
            };
            if DATA_OCTETS + piece.len > room {
                return None;
            }
            state.out.sent(piece);
            let more = state.out.peek(payload).is_some();
            self.stats.data_bytes += u64::from(piece.len);
            if piece.again {
                self.stats.resent_bytes += u64::from(piece.len);
                self.stats.retransmissions += 1;
            }
            if more {
                self.queue.pop_token();
                self.queue.push_token(flow);
            } else {
                self.drop_token(flow);
            }
            return Some(Frame::Data { flow, offset: piece.offset, len: piece.len, fin: piece.fin });
        }
        None
    }
    fn drop_token(&mut self, flow: FlowId) {
        self.queue.pop_token();
        if let Some(state) = self.flows.get_mut(&flow) {
            state.token = false;
        }
    }

    pub(crate) fn stats(&self) -> GatewayStats {
        let waiting = self.waiting.iter().map(VecDeque::len).sum::<usize>() as u64;
        GatewayStats { buffered: self.held, flows: self.flows.len() as u64, flows_waiting: waiting, ..self.stats }
    }
    pub(crate) fn flow_stats(&self, flow: FlowId) -> Option<FlowStats> {
        self.flows.get(&flow).map(FlowStats::of)
    }

    fn has_ended(&self, flow: FlowId) -> bool {
        self.ended[(flow.0 & 1) as usize].contains(u64::from(flow.0 >> 1))
    }
    fn is_full(&self, origin: Origin) -> bool {
        self.admitted[origin as usize] >= self.config.flows_per_origin()
    }
    fn may_wait(&self, origin: Origin) -> bool {
        !self.is_full(origin) || self.waiting[origin as usize].len() < self.config.waiting as usize
    }
    /// A new flow gets its memory, or waits for it.
    fn enter(&mut self, flow: FlowId, origin: Origin, actions: &mut Vec<Action>) {
        self.waiting[origin as usize].push_back(flow);
        self.admit(origin, actions);
    }
    fn admit(&mut self, origin: Origin, actions: &mut Vec<Action>) {
        while !self.is_full(origin) {
            let Some(flow) = self.waiting[origin as usize].pop_front() else { return };
            self.admitted[origin as usize] += 1;
            self.stats.flows_opened += 1;
            self.change(flow, actions, Flow::admit);
        }
    }

    /// Changes a flow, does all that this makes possible, and ends the flow if that was all.
    fn change(&mut self, flow: FlowId, actions: &mut Vec<Action>, change: impl FnOnce(&mut Flow, &mut Context<'_>)) {
        let Some(state) = self.flows.get_mut(&flow) else { return };
        let before = state.held();
        let mut context = Context { config: &self.config, queue: &mut self.queue, actions };
        change(state, &mut context);
        // What is written at once was here all the same.
        let most = state.held();
        let over = state.settle(&mut context);
        let after = state.held();
        self.stats.buffered_max = self.stats.buffered_max.max(self.held - before + most.max(after));
        self.held = self.held - before + after;
        if over {
            self.end(flow, actions);
        }
    }
    /// Forgets a flow and gives its memory to the next.
    fn end(&mut self, flow: FlowId, actions: &mut Vec<Action>) {
        let Some(state) = self.flows.remove(&flow) else { return };
        self.held -= state.held();
        self.ended[(flow.0 & 1) as usize].insert(u64::from(flow.0 >> 1), u64::from(flow.0 >> 1) + 1);
        if state.told {
            actions.push(Action::Closed { flow });
        }
        let origin = state.origin;
        if state.admitted {
            self.admitted[origin as usize] -= 1;
            self.admit(origin, actions);
        } else {
            self.waiting[origin as usize].retain(|&other| other != flow);
        }
    }
}
