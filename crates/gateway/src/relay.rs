//! All flows: what the local side and the peer say, turned into actions and frames. Knows nothing
//! of packets, and of time only who has been idle.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use cellway_units::{Span, Time};

use crate::config::GatewayConfig;
use crate::flow::{Context, Delivery, Flow, Origin, Stage};
use crate::inbound::{Inbound, Violation};
use crate::outbound::Piece;
use crate::output::Action;
use crate::packet::{FlowId, Frame, NUMBER_OCTETS, data_octets};
use crate::ranges::Ranges;
use crate::reason::Reason;
use crate::request::Request;
use crate::scheduler::Scheduler;
use crate::stats::{FlowStats, GatewayStats};
use crate::varint;

mod reclaim;

/// Most answers about flows that are not here that the peer may leave unacknowledged: it gets no more.
const ANSWERS: usize = 1 << 16;
/// Most runs of names that have ended, of even and of odd ones. Names given out in sequence make one run more
/// than there are flows; for others, what is between the lowest counts as ended, too.
const ENDED: usize = 1 << 16;

#[derive(Clone, Debug)]
pub(crate) struct Relay {
    pub(crate) config: GatewayConfig,
    /// The window now (bytes).
    window: u64,
    flows: BTreeMap<FlowId, Flow>,
    queue: Scheduler,
    /// Flows that wait for memory, by origin, in order.
    waiting: [VecDeque<FlowId>; 2],
    /// Flows that have memory, by origin.
    admitted: [u64; 2],
    /// Names of flows that have ended, even and odd ones apart and halved, so that names given out
    /// in steps of two join as well.
    ended: [Ranges; 2],
    /// Flows that are not here, about which the peer has an answer to acknowledge.
    answers: BTreeSet<FlowId>,
    held: u64,
    /// What flows hold, what was promised them, and what is kept for them (bytes).
    committed: u64,
    reclaim: reclaim::Reclaim,
    /// The time of the call that is dealt with; only who idles is told from it.
    pub(crate) now: Time,
    pub(crate) stats: GatewayStats,
}

impl Relay {
    pub(crate) fn new(config: GatewayConfig) -> Relay {
        Relay {
            config,
            window: config.window.at(config.rate, config.initial_rtt),
            flows: BTreeMap::new(),
            queue: Scheduler::default(),
            waiting: Default::default(),
            admitted: [0; 2],
            ended: Default::default(),
            answers: BTreeSet::new(),
            held: 0,
            committed: 0,
            reclaim: reclaim::Reclaim::default(),
            now: Time::ZERO,
            stats: GatewayStats::default(),
        }
    }

    /// A local host wants to connect.
    pub(crate) fn incoming(&mut self, flow: FlowId, request: Arc<Request>, actions: &mut Vec<Action>) {
        let live = self.flows.contains_key(&flow);
        let refused = if live || self.has_ended(flow) || flow.0 > varint::MAX || !self.may_wait(Origin::Local) {
            Some(Reason::Busy)
        } else if !self.has_room_for(&request) {
            Some(Reason::NoName)
        } else {
            None
        };
        if let Some(reason) = refused {
            self.stats.count_refusal(reason);
            actions.push(Action::Refuse { flow, reason });
            if !live {
                actions.push(Action::Closed { flow, reason: Some(reason) });
            }
            return;
        }
        self.flows.insert(flow, Flow::new(flow, Origin::Local, request, self.now));
        self.enter(flow, Origin::Local, actions);
    }
    /// The local TCP is connected.
    pub(crate) fn connected(&mut self, flow: FlowId, actions: &mut Vec<Action>) {
        self.change(flow, actions, |flow, context| {
            if flow.stage == Stage::Connecting {
                flow.stage = Stage::Relaying;
                let limit = flow.inn.grant(context.share);
                flow.queue_handshake(Frame::Accepted { flow: flow.id, limit }, context);
            }
        });
    }
    /// The local TCP could not connect.
    pub(crate) fn refused(&mut self, flow: FlowId, reason: Reason, actions: &mut Vec<Action>) {
        let mut counted = false;
        self.change(flow, actions, |flow, context| {
            if flow.stage == Stage::Connecting {
                flow.refuse(reason, context);
                counted = true;
            }
        });
        if counted {
            self.stats.count_refusal(reason);
        }
    }
    /// The local host sent bytes.
    pub(crate) fn received(&mut self, flow: FlowId, bytes: u64, actions: &mut Vec<Action>) {
        self.change(flow, actions, |flow, _| {
            if flow.stage != Stage::Resetting && flow.reset_at.is_none() {
                flow.out.received += bytes;
            }
        });
    }
    /// The byte at `at` of what the local host sends, not received yet, is urgent.
    pub(crate) fn urgent(&mut self, flow: FlowId, at: u64) {
        if let Some(state) = self.flows.get_mut(&flow) {
            state.out.mark(at);
        }
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
    pub(crate) fn local_reset(&mut self, flow: FlowId, reason: Reason, actions: &mut Vec<Action>) {
        let Some(state) = self.flows.get_mut(&flow) else { return };
        let unasked = state.origin == Origin::Local && !state.asked;
        if unasked {
            state.cause = Some(reason);
        }
        match state.stage {
            Stage::Waiting => self.end(flow, actions),
            Stage::Opening | Stage::Relaying if unasked => self.end(flow, actions),
            Stage::Connecting => self.refused(flow, reason, actions),
            Stage::Opening | Stage::Relaying => {
                self.change(flow, actions, |flow, context| flow.lose_local_side(reason, context));
            }
            Stage::Refusing | Stage::Resetting => {}
        }
    }

    /// The peer sent `frame`, which is no acknowledgement.
    pub(crate) fn arrived(&mut self, frame: &Frame, actions: &mut Vec<Action>) {
        if matches!(frame, Frame::Recall) {
            self.recalled();
        }
        let Some(flow) = frame.flow() else { return };
        match (self.flows.contains_key(&flow), frame) {
            (true, Frame::Data { offset, len, fin, urgent, .. }) => self.arrive(flow, actions, |inn| {
                inn.arrive(*offset, *len, *fin)?;
                if *urgent { inn.mark(*offset, *len) } else { Ok(()) }
            }),
            (true, Frame::Return { total, at, .. }) => self.arrive(flow, actions, |inn| inn.take_back(*total, *at)),
            (true, Frame::Refused { reason, .. }) => self.refused_by_peer(flow, *reason, actions),
            (true, _) => self.change(flow, actions, |flow, context| flow.control(frame, context)),
            (false, _) if self.has_ended(flow) => {}
            (false, Frame::Open { limit, request, .. }) => self.opened(flow, *limit, request, actions),
            (false, Frame::Reset { .. }) => {}
            (false, _) => {
                self.stats.unknown_flows += 1;
                self.answer(Frame::Reset { flow, at: 0, reason: Reason::Violation });
            }
        }
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
        // What is sent early needs its memory at once.
        let may_enter = if request.early { !self.is_full(Origin::Peer) } else { self.may_wait(Origin::Peer) };
        if may_enter {
            let mut state = Flow::new(flow, Origin::Peer, request.clone(), self.now);
            state.out.limit = limit;
            self.flows.insert(flow, state);
            self.enter(flow, Origin::Peer, actions);
        } else {
            // It takes no memory here, however many the peer opens.
            self.stats.count_refusal(Reason::Busy);
            self.has_now_ended(flow);
            self.answer(Frame::Refused { flow, reason: Reason::Busy });
        }
    }
    /// Tells the peer what becomes of a flow that is not here: a reset, or a refusal.
    fn answer(&mut self, frame: Frame) {
        let Some(flow) = frame.flow().filter(|_| self.answers.len() < ANSWERS) else { return };
        if self.answers.insert(flow) {
            self.queue.push(frame);
        }
    }
    /// Whether bytes of a flow have come before its opening.
    pub(crate) fn is_ahead(&self, frames: &[Frame]) -> bool {
        let Some(&Frame::Data { flow, early: true, .. }) = frames.last() else { return false };
        let opens = |frame: &Frame| matches!(frame, Frame::Open { flow: other, .. } if *other == flow);
        !self.flows.contains_key(&flow) && !self.has_ended(flow) && !frames.iter().any(opens)
    }
    /// Something of the other end of a flow has come, which ends it if the peer must not send that.
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
        // It may have ended with that.
        if told && self.flows.contains_key(&flow) {
            let reason = Reason::Violation;
            let refuse = matches!(stage, Stage::Waiting | Stage::Opening);
            actions.push(if refuse { Action::Refuse { flow, reason } } else { Action::Reset { flow, reason } });
        }
        self.end(flow, actions);
        self.answer(Frame::Reset { flow, at: 0, reason: Reason::Violation });
    }

    /// The peer has what `frame` carried.
    pub(crate) fn acked(&mut self, frame: &Frame, actions: &mut Vec<Action>) {
        let Some(flow) = frame.flow() else { return };
        if matches!(frame, Frame::Reset { .. } | Frame::Refused { .. }) {
            self.answers.remove(&flow);
        }
        self.change(flow, actions, |flow, context| flow.acked(frame, context));
    }
    /// The packet with `frame` was lost; whether that must be sent again.
    pub(crate) fn lost(&mut self, frame: Frame, actions: &mut Vec<Action>) -> bool {
        let Some(flow) = frame.flow() else { return matches!(frame, Frame::Recall) && self.recall_lost() };
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

    pub(crate) fn has_frames(&self) -> bool {
        !self.queue.is_empty()
    }
    /// Whether a flow has bytes to send, or had.
    pub(crate) fn has_data(&self) -> bool {
        self.queue.front_token().is_some()
    }
    /// Octets of the control frame that waits longest.
    pub(crate) fn next_control_octets(&self) -> u32 {
        self.queue.front().map_or(0, Frame::octets)
    }
    /// The control frame to send next if it fits into `room` octets.
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
            let share = self.share();
            if matches!(frame, Frame::Credit { .. }) && share < self.window {
                self.want_memory();
            }
            let Some(state) = frame.flow().and_then(|flow| self.flows.get_mut(&flow)) else {
                // The peer may wait for its end although the flow is not here any more, or never was.
                if matches!(frame, Frame::Reset { .. } | Frame::Refused { .. }) {
                    return Some(frame);
                }
                continue;
            };
            let least = self.config.least();
            let before = state.committed(least);
            let wanted = state.leaves(&mut frame, share);
            self.committed = self.committed - before + state.committed(least);
            if state.wants_token(&self.config) {
                state.token = true;
                self.queue.push_token(state.id);
            }
            if wanted {
                return Some(frame);
            }
        }
        None
    }
    /// The data frame to send next, of at most `payload` bytes, if it fits into `room` octets.
    pub(crate) fn next_data(&mut self, room: u32) -> Option<Frame> {
        while let Some(flow) = self.queue.front_token() {
            let state = self.flows.get_mut(&flow);
            let Some((state, mut piece)) = state.and_then(|s| s.peek(&self.config).map(|piece| (s, piece))) else {
                self.drop_token(flow);
                continue;
            };
            let room = room.saturating_sub(data_octets(flow, piece.offset));
            if piece.len > room {
                // Half a packet beside other frames is better than one of its own for them.
                if u64::from(room) < self.config.payload.0 / 2 {
                    return None;
                }
                (piece.len, piece.fin, piece.urgent) = (room, false, false);
            }
            state.out.sent(piece);
            state.active = self.now;
            let more = state.peek(&self.config).is_some();
            let early = state.origin == Origin::Local && state.handshake != Delivery::Acked;
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
            let Piece { offset, len, fin, urgent, .. } = piece;
            return Some(Frame::Data { flow, offset, len, fin, early, urgent });
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
        let opening = self.flows.values().filter(|flow| flow.opening()).count() as u64;
        GatewayStats {
            buffered: self.held,
            flows: self.flows.len() as u64,
            flows_opening: opening,
            flows_waiting: waiting,
            committed: self.committed,
            ..self.stats
        }
    }
    pub(crate) fn flow_stats(&self, flow: FlowId) -> Option<FlowStats> {
        self.flows.get(&flow).map(FlowStats::of)
    }

    /// The places of bytes that may come and are not written.
    pub(crate) fn wanted(&self, flow: FlowId) -> Option<Range<u64>> {
        let state = self.flows.get(&flow)?;
        (!matches!(state.stage, Stage::Refusing | Stage::Resetting)).then(|| state.inn.open())
    }
    /// The rate is configured, and the round-trip time is `rtt`.
    pub(crate) fn set_rtt(&mut self, rtt: Span) {
        self.window = self.config.window.at(self.config.rate, rtt);
    }
    /// Ends every flow: the way to the peer is lost.
    pub(crate) fn down(&mut self, reason: Reason, actions: &mut Vec<Action>) {
        for (flow, state) in std::mem::take(&mut self.flows) {
            match state.stage {
                Stage::Waiting | Stage::Opening if state.told => {
                    self.stats.count_refusal(reason);
                    actions.push(Action::Refuse { flow, reason });
                }
                Stage::Connecting | Stage::Relaying => actions.push(Action::Reset { flow, reason }),
                _ => {}
            }
            if state.told {
                actions.push(Action::Closed { flow, reason: state.cause.or(Some(reason)) });
            }
        }
        *self = Relay { stats: self.stats, ..Relay::new(self.config) };
    }

    /// What a direction of a flow may hold now (bytes): the window, but no more than a quarter of the
    /// memory that nothing is promised of, so that some is always left for the others. This is
    /// the dynamic threshold of Choudhury and Hahne, IEEE/ACM Trans. Networking 6 (2), 1998, section III.
    /// An eighth of the memory is left out of it: promises stay when shares shrink, and those that come need
    /// what is certain at once.
    fn share(&self) -> u64 {
        let kept = self.config.total_buffer.0 / 8;
        (self.free().saturating_sub(kept) / 4).max(self.config.least()).min(self.window)
    }
    /// Memory that is neither held nor promised (bytes).
    fn free(&self) -> u64 {
        self.config.total_buffer.0.saturating_sub(self.committed)
    }
    /// Whether the opening with `request` fits into a packet.
    fn has_room_for(&self, request: &Request) -> bool {
        const NUMBERS: u32 = NUMBER_OCTETS + 1 + 8 + 8;
        request.is_valid() && NUMBERS + request.octets() <= self.config.capacity()
    }
    fn has_ended(&self, flow: FlowId) -> bool {
        self.ended[(flow.0 & 1) as usize].contains(flow.0 >> 1)
    }
    fn has_now_ended(&mut self, flow: FlowId) {
        let ended = &mut self.ended[(flow.0 & 1) as usize];
        ended.insert(flow.0 >> 1, (flow.0 >> 1) + 1);
        ended.join_lowest(ENDED);
    }
    fn is_full(&self, origin: Origin) -> bool {
        self.admitted[origin as usize] >= self.config.flows_per_origin() || self.free() < 2 * self.config.least()
    }
    fn may_wait(&self, origin: Origin) -> bool {
        !self.is_full(origin) || self.waiting[origin as usize].len() < self.config.waiting as usize
    }
    /// A new flow gets its memory, or waits for it.
    fn enter(&mut self, flow: FlowId, origin: Origin, actions: &mut Vec<Action>) {
        self.waiting[origin as usize].push_back(flow);
        self.admit(origin, actions);
    }
    fn admit_all(&mut self, actions: &mut Vec<Action>) {
        [Origin::Local, Origin::Peer].into_iter().for_each(|origin| self.admit(origin, actions));
    }
    fn admit(&mut self, origin: Origin, actions: &mut Vec<Action>) {
        while !self.is_full(origin) {
            let Some(flow) = self.waiting[origin as usize].pop_front() else { return };
            self.admitted[origin as usize] += 1;
            self.stats.flows_opened += 1;
            let early = self.flows.get(&flow).is_some_and(|state| state.request.early);
            self.stats.flows_early += u64::from(early);
            self.change(flow, actions, Flow::admit);
        }
    }

    /// Changes a flow, does all that this makes possible, and ends the flow if that was all.
    fn change(&mut self, flow: FlowId, actions: &mut Vec<Action>, change: impl FnOnce(&mut Flow, &mut Context<'_>)) {
        let share = self.share();
        let Some(state) = self.flows.get_mut(&flow) else { return };
        let least = self.config.least();
        let (before, committed, freed) = (state.held(), state.committed(least), state.out.freed);
        let mut context = Context { config: &self.config, share, queue: &mut self.queue, actions };
        change(state, &mut context);
        let bytes = state.out.freed - freed;
        if bytes > 0 {
            release(flow, bytes, context.actions);
        }
        // What is written at once was here all the same.
        let most = state.held();
        let over = state.settle(&mut context);
        let after = state.held();
        self.stats.buffered_max = self.stats.buffered_max.max(self.held - before + most.max(after));
        self.held = self.held - before + after;
        let now_committed = state.committed(least);
        let short = state.stage == Stage::Relaying && state.out.received > state.out.consumed && share < self.window;
        self.committed = self.committed - committed + now_committed;
        if short {
            self.want_memory();
        }
        if over {
            self.end(flow, actions);
        } else if now_committed < committed {
            self.admit_all(actions);
        }
    }
    /// Forgets a flow and gives its memory to the next.
    fn end(&mut self, flow: FlowId, actions: &mut Vec<Action>) {
        let Some(state) = self.flows.remove(&flow) else { return };
        self.held -= state.held();
        self.committed -= state.committed(self.config.least());
        self.has_now_ended(flow);
        if state.told {
            actions.push(Action::Closed { flow, reason: state.cause });
        }
        let origin = state.origin;
        if state.admitted {
            self.admitted[origin as usize] -= 1;
            self.admit_all(actions);
        } else {
            self.waiting[origin as usize].retain(|&other| other != flow);
        }
    }
}

/// Tells of released bytes; more of the same flow join what was told last.
fn release(flow: FlowId, more: u64, actions: &mut Vec<Action>) {
    match actions.last_mut() {
        Some(Action::Released { flow: last, bytes }) if *last == flow => *bytes += more,
        _ => actions.push(Action::Released { flow, bytes: more }),
    }
}
