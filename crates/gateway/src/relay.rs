//! All flows: events of the local side and frames of the peer become actions and frames. It does not depend on packets,
//! and uses the time only for idle flows and for the flows that share the last round trip.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use cellway_units::{Rate, Span, Time};
use serde::{Deserialize, Serialize};

use crate::class::{Class, ClassStats, Classes};
use crate::config::GatewayConfig;
use crate::excess::Excess;
use crate::flow::{Context, Flow, Origin, Stage};
use crate::output::Action;
use crate::packet::{FlowId, Frame};
use crate::ranges::Ranges;
use crate::reason::Reason;
use crate::request::Request;
use crate::scheduler::Scheduler;
use crate::stats::{FlowStats, GatewayStats};
use crate::varint;

mod abandon;
mod admission;
mod arrivals;
mod caps;
mod openings;
mod peer;
mod quota;
mod reclaim;
mod sending;
mod waiting;
mod windows;

use arrivals::Rounds;
use quota::Quota;
use waiting::Waiting;
use windows::Windows;

pub(crate) use arrivals::Arrivals;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Relay {
    pub(crate) config: GatewayConfig,
    windows: Windows,
    rounds: Rounds,
    flows: BTreeMap<FlowId, Flow>,
    queue: Scheduler,
    /// Flows that wait for memory, by origin.
    waiting: [Waiting; 2],
    /// Flows that have memory, by origin.
    admitted: [Quota; 2],
    /// Identifiers of flows that have ended, even and odd ones apart and halved, so that identifiers allocated in steps
    /// of two join as well.
    ended: [Ranges; 2],
    /// Flows that do not exist here, about which the peer has an answer to acknowledge.
    answers: BTreeSet<FlowId>,
    /// Identifiers, as in `ended`, of flows that ended before their `Open` was sent. The peer receives a `Reset` for
    /// each, so that the identifiers that it has seen have no gaps.
    unused: [Ranges; 2],
    /// Flows of local hosts that wait for an answer, and the end of the wait, in order of arrival. The first one still
    /// waits; others may have been answered.
    openings: VecDeque<(Time, FlowId)>,
    /// Gaps in the bytes received from the peer, over all flows.
    gaps: u64,
    /// The cap that the peer has exceeded, if any.
    pub(crate) excess: Option<Excess>,
    held: u64,
    /// The part of it that was consumed from local hosts, by class (bytes).
    taken: Vec<u64>,
    /// The bytes that flows hold, that were granted to the peer, and that are reserved.
    committed: u64,
    /// Memory (bytes) of flows that have ended here while the local TCP still accepts their last bytes.
    pub(crate) leftover: u64,
    reclaim: reclaim::Reclaim,
    /// True if a `Rate` frame is queued.
    rate_queued: bool,
    /// The time of the current call.
    pub(crate) now: Time,
    pub(crate) stats: GatewayStats,
}

impl Relay {
    pub(crate) fn new(config: GatewayConfig) -> Relay {
        Relay {
            config,
            windows: Windows::new(&config),
            rounds: Rounds::default(),
            flows: BTreeMap::new(),
            queue: Scheduler::default(),
            waiting: std::array::from_fn(|_| Waiting::new(config.waiting.into(), 1)),
            admitted: std::array::from_fn(|_| Quota::new(config.flows_per_origin(), 1)),
            ended: Default::default(),
            answers: BTreeSet::new(),
            unused: Default::default(),
            openings: VecDeque::new(),
            gaps: 0,
            excess: None,
            held: 0,
            taken: vec![0],
            committed: 0,
            leftover: 0,
            reclaim: reclaim::Reclaim::default(),
            rate_queued: false,
            now: Time::ZERO,
            stats: GatewayStats::default(),
        }
    }

    /// Opens a flow for a local host.
    pub(crate) fn incoming(&mut self, flow: FlowId, request: Arc<Request>, actions: &mut Vec<Action>) {
        let live = self.flows.contains_key(&flow);
        let class = self.queue.classes().of(&request);
        let refused = if live || self.has_ended(flow) || flow.0 > varint::MAX || !self.may_wait(Origin::Local, class) {
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
        self.enter(Flow::new(flow, Origin::Local, request, class, self.now), actions);
    }
    /// Records that the local TCP is connected.
    pub(crate) fn connected(&mut self, flow: FlowId, actions: &mut Vec<Action>) {
        self.change(flow, actions, |flow, context| {
            if flow.stage == Stage::Connecting {
                flow.stage = Stage::Relaying;
                let limit = flow.inn.grant(context.inbound);
                flow.queue_handshake(Frame::Accepted { flow: flow.id, limit }, context);
            }
        });
    }
    /// Records that the local TCP could not connect.
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
    /// Records that the local host sent bytes.
    pub(crate) fn received(&mut self, flow: FlowId, bytes: u64, actions: &mut Vec<Action>) {
        self.change(flow, actions, |flow, _| {
            if flow.stage != Stage::Resetting && flow.reset_at.is_none() {
                flow.out.received += bytes;
            }
        });
    }
    /// Marks the byte at `at` of the local host's, not received yet, as urgent.
    pub(crate) fn urgent(&mut self, flow: FlowId, at: u64) {
        if let Some(state) = self.flows.get_mut(&flow) {
            state.out.mark(at);
        }
    }
    /// Records that the local TCP can accept `room` bytes.
    pub(crate) fn writable(&mut self, flow: FlowId, room: u64, actions: &mut Vec<Action>) {
        self.change(flow, actions, |flow, _| flow.inn.room = room);
    }
    /// Records that the local TCP has accepted `bytes` of the requested writes, and can accept `room`.
    pub(crate) fn wrote(&mut self, flow: FlowId, bytes: u64, room: u64, actions: &mut Vec<Action>) {
        self.change(flow, actions, |flow, _| {
            flow.inn.wrote(bytes);
            flow.inn.room = room;
        });
    }
    /// Records the FIN of the local host.
    pub(crate) fn local_closed(&mut self, flow: FlowId, actions: &mut Vec<Action>) {
        self.change(flow, actions, |flow, _| {
            flow.out.ended = flow.stage != Stage::Resetting && flow.reset_at.is_none();
        });
    }
    /// Records that the local connection has ended.
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

    pub(crate) fn stats(&self) -> GatewayStats {
        let waiting = self.waiting.iter().map(Waiting::len).sum();
        let opening = self.flows.values().filter(|flow| flow.opening()).count() as u64;
        GatewayStats {
            buffered: self.held,
            flows: self.flows.len() as u64,
            flows_opening: opening,
            flows_waiting: waiting,
            gaps: self.gaps,
            identifiers: self.ended.iter().map(Ranges::len).max().unwrap_or(0) as u64,
            committed: self.committed + self.leftover,
            ..self.stats
        }
    }
    pub(crate) fn held(&self) -> [u64; 2] {
        let outbound = self.taken.iter().sum();
        [outbound, self.held - outbound]
    }
    pub(crate) fn flow_stats(&self, flow: FlowId) -> Option<FlowStats> {
        self.flows.get(&flow).map(FlowStats::of)
    }

    /// Puts every flow into its class of `classes`.
    pub(crate) fn set_classes(&mut self, classes: Classes, actions: &mut Vec<Action>) {
        self.flows.values_mut().for_each(|state| state.class = classes.of(&state.request));
        self.recount(classes.as_slice().len());
        let flows = &self.flows;
        self.queue.set_classes(classes, |flow| flows.get(&flow).map(|state| state.class));
        self.follow_packet();
        // A class may have more slots than before.
        self.admit_all(actions);
    }
    /// Adapts to another rate or another largest packet.
    pub(crate) fn follow_packet(&mut self) {
        let packet = self.config.wire.bits(self.config.mtu.0 as u32);
        self.queue.set_packet(packet, self.config.slack, self.windows.rate());
    }
    /// Prepares for a clock that starts again.
    pub(crate) fn restart(&mut self) {
        self.queue.restart();
    }
    /// Returns each class with its counters.
    pub(crate) fn class_stats(&self) -> impl Iterator<Item = (&Class, ClassStats)> {
        let mut stats = self.queue.class_stats();
        self.flows.values().for_each(|state| stats[state.class.0].flows += 1);
        self.queue.classes().as_slice().iter().zip(stats)
    }

    /// Returns the offsets of bytes that may arrive or are not written.
    pub(crate) fn wanted(&self, flow: FlowId) -> Option<Range<u64>> {
        let state = self.flows.get(&flow)?;
        (!matches!(state.stage, Stage::Refusing | Stage::Resetting)).then(|| state.inn.open())
    }
    /// Sets the sending rate of this gateway and the smoothed round-trip time.
    pub(crate) fn set_line(&mut self, rate: Rate, rtt: Span) {
        let before = self.windows.rate();
        self.windows.set_line(rate, rtt);
        if rate != before {
            self.follow_packet();
        }
        self.queue.set_round(self.windows.round(self.config.payload), self.config.turn);
        if !self.flows.is_empty() {
            self.announce_rate();
        }
    }
    /// Announces the rate to the peer, unless it has it.
    pub(crate) fn announce_rate(&mut self) {
        if self.config.tells_rate && self.windows.owes_rate() && !std::mem::replace(&mut self.rate_queued, true) {
            self.queue.push(Frame::Rate { rate: Rate::from_bps(varint::MAX) });
        }
    }
    /// Ends every flow, as the connection to the peer is lost.
    pub(crate) fn down(&mut self, reason: Reason, actions: &mut Vec<Action>) {
        for (flow, state) in std::mem::take(&mut self.flows) {
            self.leftover += state.leftover(&self.config);
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
        let queue = std::mem::take(&mut self.queue).cleared();
        *self = Relay { stats: self.stats, leftover: self.leftover, queue, ..Relay::new(self.config) };
        self.recount(self.queue.classes().as_slice().len());
    }

    /// Sets the memory (bytes) that the caller holds for flows that have ended.
    pub(crate) fn set_leftover(&mut self, bytes: u64, actions: &mut Vec<Action>) {
        if std::mem::replace(&mut self.leftover, bytes) > bytes {
            self.admit_all(actions);
        }
    }

    /// Changes a flow, takes all actions that this makes possible, and ends the flow if nothing is left to do.
    fn change(&mut self, flow: FlowId, actions: &mut Vec<Action>, change: impl FnOnce(&mut Flow, &mut Context<'_>)) {
        let Some(state) = self.flows.get(&flow) else { return };
        let held = state.out.held();
        let (outbound, inbound) = (self.outbound_share(state.class, held), self.inbound_share(state));
        let memory = self.memory_share();
        let Some(state) = self.flows.get_mut(&flow) else { return };
        let (before, committed, freed) = (state.held(), state.committed(&self.config), state.out.freed);
        let gaps = state.inn.gaps();
        let mut context = Context { config: &self.config, outbound, inbound, queue: &mut self.queue, actions };
        change(state, &mut context);
        let bytes = state.out.freed - freed;
        if bytes > 0 {
            release(flow, bytes, context.actions);
        }
        // Bytes that are written at once were held all the same.
        let most = state.held();
        let over = state.process_pending(&mut context);
        let after = state.held();
        self.stats.buffered_max = self.stats.buffered_max.max(self.held - before + most.max(after));
        self.held = self.held - before + after;
        let taken = &mut self.taken[state.class.0];
        *taken = *taken - held + state.out.held();
        self.gaps = self.gaps - gaps + state.inn.gaps();
        let now_committed = state.committed(&self.config);
        let short =
            state.stage == Stage::Relaying && state.out.received > state.out.consumed && memory < self.windows.outbound;
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
    /// Removes a flow and gives its memory to the next.
    fn end(&mut self, flow: FlowId, actions: &mut Vec<Action>) {
        let Some(state) = self.flows.remove(&flow) else { return };
        self.held -= state.held();
        self.taken[state.class.0] -= state.out.held();
        self.committed -= state.committed(&self.config);
        self.leftover += state.leftover(&self.config);
        self.gaps -= state.inn.gaps();
        self.has_now_ended(flow);
        if state.origin == Origin::Peer {
            self.check_identifiers(flow);
        } else if !state.asked {
            self.unused[(flow.0 & 1) as usize].insert(flow.0 >> 1, (flow.0 >> 1) + 1);
            self.reset_unused();
        }
        let flows = &self.flows;
        if state.token {
            self.queue.flow_ended(state.class, |flow| flows.contains_key(&flow));
        }
        // `Open` and `Credit` frames of flows that have ended would be skipped at their turn.
        self.queue.shrink(|frame| match frame {
            Frame::Reset { .. } | Frame::Refused { .. } => true,
            _ => frame.flow().is_none_or(|flow| flows.contains_key(&flow)),
        });
        if state.told {
            actions.push(Action::Closed { flow, reason: state.cause });
        }
        let origin = state.origin;
        if state.admitted {
            self.admitted[origin as usize].give_back(state.class);
            self.admit_all(actions);
        } else {
            self.waiting[origin as usize].remove(flow, state.class);
        }
    }
}

/// Reports released bytes; consecutive reports of one flow are joined.
fn release(flow: FlowId, more: u64, actions: &mut Vec<Action>) {
    match actions.last_mut() {
        Some(Action::Released { flow: last, bytes }) if *last == flow => *bytes += more,
        _ => actions.push(Action::Released { flow, bytes: more }),
    }
}
