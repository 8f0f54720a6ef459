//! A relayed TCP connection: its two directions, its setup and its teardown.

use std::sync::Arc;

use cellway_units::Time;
use serde::{Deserialize, Serialize};

use crate::class::ClassId;
use crate::config::GatewayConfig;
use crate::inbound::Inbound;
use crate::lease::Lease;
use crate::outbound::Outbound;
use crate::output::Action;
use crate::packet::{FlowId, Frame};
use crate::reason::Reason;
use crate::relay::Arrivals;
use crate::request::Request;
use crate::scheduler::Scheduler;
use crate::varint;

mod sending;

/// A number whose value is set when its frame leaves; until then it takes the space of the longest.
const LATER: u64 = varint::MAX;

/// The gateway of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Origin {
    Local,
    Peer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stage {
    /// No memory is free yet.
    Waiting,
    /// Near: the `Open` is queued or sent, and not answered.
    Opening,
    /// Far: the local TCP connects.
    Connecting,
    Relaying,
    /// Far: until the peer has acknowledged the refusal.
    Refusing,
    /// The local connection has ended: until the peer has acknowledged the reset and all bytes before it.
    Resetting,
}

/// The progress of a frame that a flow sends once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Delivery {
    #[default]
    Idle,
    Queued,
    Sent,
    Acked,
}

/// The data that a flow needs to process an event.
pub(crate) struct Context<'a> {
    pub(crate) config: &'a GatewayConfig,
    /// The most bytes that may be held from the local host, and that may be granted to the peer.
    pub(crate) outbound: u64,
    pub(crate) inbound: u64,
    pub(crate) queue: &'a mut Scheduler,
    pub(crate) actions: &'a mut Vec<Action>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Flow {
    pub(crate) id: FlowId,
    pub(crate) origin: Origin,
    pub(crate) request: Arc<Request>,
    pub(crate) class: ClassId,
    pub(crate) stage: Stage,
    /// True if the local side must be notified of its end.
    pub(crate) told: bool,
    /// True if the flow has memory.
    pub(crate) admitted: bool,
    pub(crate) out: Outbound,
    pub(crate) inn: Inbound,
    pub(crate) arrivals: Arrivals,
    /// `Open` at the near gateway, `Accepted` or `Refused` at the far one.
    pub(crate) handshake: Delivery,
    /// True if the `Open` was sent, so that the peer may have the flow.
    pub(crate) asked: bool,
    /// Far: the latest time at which the connection to the server may begin.
    pub(crate) lease_end: Option<Time>,
    /// Near: true if the peer has accepted.
    pub(crate) answered: bool,
    pub(crate) reset: Delivery,
    /// The reason, if it does not end cleanly.
    pub(crate) cause: Option<Reason>,
    /// The offset at which to reset the local connection, as that of the peer has ended.
    pub(crate) reset_at: Option<u64>,
    /// True if the local side was notified of the reset to come.
    ending_told: bool,
    pub(crate) credit_queued: bool,
    pub(crate) return_queued: bool,
    /// The time at which it last sent bytes, or began.
    pub(crate) active: Time,
    pub(crate) token: bool,
}

impl Flow {
    pub(crate) fn new(id: FlowId, origin: Origin, request: Arc<Request>, class: ClassId, now: Time) -> Flow {
        Flow {
            id,
            origin,
            request,
            class,
            stage: Stage::Waiting,
            told: origin == Origin::Local,
            admitted: false,
            out: Outbound::default(),
            inn: Inbound::default(),
            arrivals: Arrivals::default(),
            handshake: Delivery::Idle,
            asked: false,
            lease_end: None,
            answered: false,
            cause: None,
            reset: Delivery::Idle,
            reset_at: None,
            ending_told: false,
            credit_queued: false,
            return_queued: false,
            active: now,
            token: false,
        }
    }
    /// Returns the bytes held in both directions.
    pub(crate) fn held(&self) -> u64 {
        self.out.held() + self.inn.held()
    }
    /// Returns the memory that it takes, granted windows included: at least `least` for each direction.
    pub(crate) fn committed(&self, config: &GatewayConfig) -> u64 {
        let least = config.least();
        let bytes = self.out.held().max(least) + self.inn.promised().max(least);
        if self.admitted { bytes + config.cost.0 } else { 0 }
    }
    /// Returns the memory (bytes) that the flow takes after its end: the local TCP still receives the bytes that it was
    /// asked to write.
    pub(crate) fn leftover(&self, config: &GatewayConfig) -> u64 {
        match self.inn.asked() {
            0 => 0,
            bytes => bytes + config.cost.0,
        }
    }
    /// Returns true if it waits for an answer of the far host.
    pub(crate) fn opening(&self) -> bool {
        match self.stage {
            Stage::Waiting | Stage::Opening | Stage::Connecting => true,
            Stage::Relaying => self.origin == Origin::Local && !self.answered,
            Stage::Refusing | Stage::Resetting => false,
        }
    }
    /// Gives it memory: sends the `Open` to the peer, or connects the local TCP.
    pub(crate) fn admit(&mut self, context: &mut Context<'_>) {
        self.admitted = true;
        match self.origin {
            Origin::Local => {
                self.stage = Stage::Opening;
                // No more until the peer has memory for it as well: it could not be returned, and two gateways that
                // open many flows could block each other for ever. An early flow does not wait there.
                let limit = self.inn.grant(if self.request.early { context.inbound } else { context.config.least() });
                let lease = context.config.leases(&self.request).then_some(Lease::PENDING);
                let open = Frame::Open { flow: self.id, limit, lease, request: self.request.clone() };
                self.queue_handshake(open, context);
                if self.request.early {
                    self.stage = Stage::Relaying;
                    self.out.limit = context.config.early();
                    context.actions.push(Action::Accept { flow: self.id });
                }
            }
            Origin::Peer => {
                (self.stage, self.told) = (Stage::Connecting, true);
                if self.request.early {
                    self.inn.grant(context.config.early());
                }
                context.actions.push(Action::Connect { flow: self.id, request: self.request.clone() });
            }
        }
    }
    pub(crate) fn queue_handshake(&mut self, frame: Frame, context: &mut Context<'_>) {
        self.handshake = Delivery::Queued;
        context.queue.push(frame);
    }
    pub(crate) fn queue_return(&mut self, queue: &mut Scheduler) {
        if !std::mem::replace(&mut self.return_queued, true) {
            queue.push(Frame::Return { flow: self.id, total: LATER, at: LATER });
        }
    }
    fn queue_reset(&mut self, context: &mut Context<'_>) {
        self.reset = Delivery::Queued;
        let reason = self.cause.unwrap_or(Reason::Reset);
        context.queue.push_reset(self.id, self.out.consumed, reason);
    }
    /// Refuses the flow, as the far host cannot be reached or the peer is not asked.
    pub(crate) fn refuse(&mut self, reason: Reason, context: &mut Context<'_>) {
        (self.stage, self.cause) = (Stage::Refusing, Some(reason));
        self.inn.abandon();
        self.queue_handshake(Frame::Refused { flow: self.id, reason }, context);
    }
    /// Ends the local side. The far host still receives the bytes that were consumed, then the reset.
    pub(crate) fn lose_local_side(&mut self, reason: Reason, context: &mut Context<'_>) {
        self.stage = Stage::Resetting;
        self.cause.get_or_insert(reason);
        self.out.cut();
        self.inn.abandon();
        // A reset that overtakes its `Open` would find no flow.
        if self.origin == Origin::Peer || self.handshake == Delivery::Acked {
            self.queue_reset(context);
        }
    }

    /// Records that the peer has the `Open`: a reset cannot overtake it any more.
    fn peer_knows(&mut self, context: &mut Context<'_>) {
        self.handshake = Delivery::Acked;
        if self.stage == Stage::Resetting && self.reset == Delivery::Idle {
            self.queue_reset(context);
        }
    }
    /// Applies a control frame of the peer.
    pub(crate) fn control(&mut self, frame: &Frame, context: &mut Context<'_>) {
        match *frame {
            Frame::Accepted { limit, .. } => {
                self.out.raise(limit);
                if self.origin == Origin::Local {
                    self.answered = true;
                    self.peer_knows(context);
                }
                if self.stage == Stage::Opening {
                    self.stage = Stage::Relaying;
                    context.actions.push(Action::Accept { flow: self.id });
                }
            }
            Frame::Credit { limit, .. } => self.out.raise(limit),
            Frame::Reset { at, reason, .. } => {
                // The peer may wait for our reset as well.
                if self.stage == Stage::Resetting && self.reset == Delivery::Idle {
                    self.queue_reset(context);
                }
                self.reset_at.get_or_insert(at);
                self.cause.get_or_insert(reason);
                self.out.abandon();
            }
            _ => {}
        }
    }
    /// Takes all actions that have become possible. Returns true if the flow has ended.
    pub(crate) fn process_pending(&mut self, context: &mut Context<'_>) -> bool {
        let flow = self.id;
        if self.stage == Stage::Relaying {
            self.relay(context);
        }
        if self.wants_token(context.config) {
            self.token = true;
            context.queue.push_flow(flow, self.class);
        }
        match self.stage {
            Stage::Waiting | Stage::Opening => {
                // The peer sends a host's reset after its answer: the packet with the answer was late or lost and is
                // retransmitted.
                let answered = self.stage == Stage::Opening && self.cause != Some(Reason::Violation);
                let reset = self.reset_at.is_some() && !answered;
                if reset && self.told {
                    context.actions.push(Action::Refuse { flow, reason: self.cause.unwrap_or(Reason::Reset) });
                }
                reset
            }
            Stage::Connecting | Stage::Relaying => {
                let reset = self.reset_at.is_some_and(|at| at <= self.inn.written);
                if reset {
                    context.actions.push(Action::Reset { flow, reason: self.cause.unwrap_or(Reason::Reset) });
                } else if self.reset_at.is_some() && !std::mem::replace(&mut self.ending_told, true) {
                    context.actions.push(Action::Ending { flow });
                }
                reset || (self.out.finished() && self.inn.finished())
            }
            // Also if the peer's side has ended: the answer lets the peer drop the bytes that it could not send.
            Stage::Refusing => self.handshake == Delivery::Acked,
            Stage::Resetting => {
                let told = self.reset == Delivery::Acked && self.out.delivered();
                self.reset_at.is_some() || (told && self.handshake == Delivery::Acked)
            }
        }
    }

    /// Consumes bytes of the local host that may be held and will leave soon.
    pub(crate) fn take(&mut self, window: u64, ahead: u64, actions: &mut Vec<Action>) {
        let bytes = self.out.consume(window, ahead);
        if bytes > 0 {
            actions.push(Action::Consume { flow: self.id, bytes });
        }
    }
    fn relay(&mut self, context: &mut Context<'_>) {
        let (flow, share) = (self.id, context.inbound);
        if self.reset_at.is_none() {
            self.take(context.outbound, context.config.ahead(), context.actions);
        }
        let bytes = self.inn.write();
        if bytes > 0 {
            context.actions.push(Action::Write { flow, bytes });
            if !context.config.confirmed_writes {
                self.inn.wrote(bytes);
            }
        }
        if let Some(at) = self.inn.marked() {
            context.actions.push(Action::Urgent { flow, at });
        }
        if self.inn.shut() {
            context.actions.push(Action::Shutdown { flow });
        }
        // Also for a peer whose side has ended: it has to deliver the bytes that it consumed before. A credit that
        // overtakes its `Open` would find no flow.
        let known = self.origin == Origin::Peer || self.handshake == Delivery::Acked;
        if known && !self.credit_queued && self.inn.owes_credit(share, context.config.credit_step(share)) {
            self.credit_queued = true;
            context.queue.push(Frame::Credit { flow, limit: LATER });
        }
    }
}
