//! One TCP connection that is relayed: its two directions and how it opens and ends.

use crate::config::GatewayConfig;
use crate::inbound::Inbound;
use crate::outbound::Outbound;
use crate::output::Action;
use crate::packet::{FlowId, Frame};
use crate::scheduler::Scheduler;

/// At which gateway the client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Local,
    Peer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// No memory is free yet.
    Waiting,
    /// Near: the peer was asked and has not answered.
    Opening,
    /// Far: the local TCP connects.
    Connecting,
    Relaying,
    /// Far: until the peer knows that the flow was refused.
    Refusing,
    /// The local connection is gone: until the peer knows, and has what was taken before.
    Resetting,
}

/// How far a frame that a flow sends once has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Delivery {
    #[default]
    Idle,
    Queued,
    Sent,
    Acked,
}

/// What a flow needs to act.
pub(crate) struct Context<'a> {
    pub(crate) config: &'a GatewayConfig,
    pub(crate) queue: &'a mut Scheduler,
    pub(crate) actions: &'a mut Vec<Action>,
}

#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) id: FlowId,
    pub(crate) origin: Origin,
    pub(crate) stage: Stage,
    /// Whether the local side knows of it, and so has to be told of its end.
    pub(crate) told: bool,
    /// Whether it has memory.
    pub(crate) admitted: bool,
    pub(crate) out: Outbound,
    pub(crate) inn: Inbound,
    /// `Open` at the near gateway, `Accepted` or `Refused` at the far one.
    pub(crate) handshake: Delivery,
    pub(crate) reset: Delivery,
    /// The peer's side is gone: reset the local one when so many bytes are written.
    pub(crate) reset_at: Option<u64>,
    pub(crate) credit_queued: bool,
    pub(crate) token: bool,
}

impl Flow {
    pub(crate) fn new(id: FlowId, origin: Origin) -> Flow {
        Flow {
            id,
            origin,
            stage: Stage::Waiting,
            told: origin == Origin::Local,
            admitted: false,
            out: Outbound::default(),
            inn: Inbound::default(),
            handshake: Delivery::Idle,
            reset: Delivery::Idle,
            reset_at: None,
            credit_queued: false,
            token: false,
        }
    }
    /// The bytes held in both directions.
    pub(crate) fn held(&self) -> u64 {
        self.out.held() + self.inn.held()
    }
    /// Memory is free: asks the peer, or the local TCP.
    pub(crate) fn admit(&mut self, context: &mut Context<'_>) {
        self.admitted = true;
        match self.origin {
            Origin::Local => {
                self.stage = Stage::Opening;
                let limit = self.inn.grant(context.config.window.0);
                self.queue_handshake(Frame::Open { flow: self.id, limit }, context);
            }
            Origin::Peer => {
                (self.stage, self.told) = (Stage::Connecting, true);
                context.actions.push(Action::Connect { flow: self.id });
            }
        }
    }
    pub(crate) fn queue_handshake(&mut self, frame: Frame, context: &mut Context<'_>) {
        self.handshake = Delivery::Queued;
        context.queue.push(frame);
    }
    fn queue_reset(&mut self, context: &mut Context<'_>) {
        self.reset = Delivery::Queued;
        context.queue.push_reset(self.id, self.out.consumed);
    }
    /// The far host cannot be reached, or is not asked.
    pub(crate) fn refuse(&mut self, context: &mut Context<'_>) {
        self.stage = Stage::Refusing;
        self.queue_handshake(Frame::Refused { flow: self.id }, context);
    }
    /// The local connection is gone. What was taken from it is still delivered, then the reset.
    pub(crate) fn lose_local_side(&mut self, context: &mut Context<'_>) {
        self.stage = Stage::Resetting;
        self.out.cut();
        self.inn.abandon();
        // A reset that overtakes its `Open` would find no flow.
        if self.origin == Origin::Peer || self.handshake == Delivery::Acked {
            self.queue_reset(context);
        }
    }

    /// What a control frame of the peer changes.
    pub(crate) fn control(&mut self, frame: &Frame, context: &mut Context<'_>) {
        match *frame {
            Frame::Accepted { limit, .. } => {
                self.out.limit = self.out.limit.max(limit);
                if self.origin == Origin::Local {
                    self.handshake = Delivery::Acked;
                }
                if self.stage == Stage::Opening {
                    self.stage = Stage::Relaying;
                    context.actions.push(Action::Accept { flow: self.id });
                }
            }
            Frame::Credit { limit, .. } => self.out.limit = self.out.limit.max(limit),
            Frame::Reset { at, .. } => {
                // The peer may wait for ours as well.
                if self.stage == Stage::Resetting && self.reset == Delivery::Idle {
                    self.queue_reset(context);
                }
                self.reset_at.get_or_insert(at);
                self.out.abandon();
            }
            Frame::Open { .. } | Frame::Refused { .. } | Frame::Data { .. } | Frame::Ack(_) => {}
        }
    }

    /// `frame` is about to leave, and gets its final content; whether it is still wanted.
    pub(crate) fn leaves(&mut self, frame: &mut Frame, config: &GatewayConfig) -> bool {
        match frame {
            Frame::Open { .. } | Frame::Accepted { .. } | Frame::Refused { .. } => self.handshake = Delivery::Sent,
            Frame::Reset { .. } => self.reset = Delivery::Sent,
            Frame::Credit { limit, .. } => {
                self.credit_queued = false;
                let wanted = self.stage == Stage::Relaying;
                if wanted {
                    *limit = self.inn.grant(config.window.0);
                }
                return wanted;
            }
            Frame::Data { .. } | Frame::Ack(_) => {}
        }
        true
    }
    /// The peer has what `frame` carried.
    pub(crate) fn acked(&mut self, frame: &Frame, context: &mut Context<'_>) {
        match *frame {
            Frame::Data { offset, len, fin, .. } if self.reset_at.is_none() => {
                self.out.acked(offset, offset + u64::from(len), fin);
            }
            Frame::Open { .. } => {
                self.handshake = Delivery::Acked;
                if self.stage == Stage::Resetting && self.reset == Delivery::Idle {
                    self.queue_reset(context);
                }
            }
            Frame::Accepted { .. } | Frame::Refused { .. } => self.handshake = Delivery::Acked,
            Frame::Reset { .. } => self.reset = Delivery::Acked,
            Frame::Data { .. } | Frame::Credit { .. } | Frame::Ack(_) => {}
        }
    }
    /// The packet with `frame`, which is no reset, was lost; whether its content must be sent again.
    pub(crate) fn lost(&mut self, frame: Frame, context: &mut Context<'_>) -> bool {
        match frame {
            Frame::Data { offset, len, fin, .. } => {
                if self.reset_at.is_none() {
                    self.out.lose(offset, offset + u64::from(len), fin);
                }
                self.out.peek(context.config.payload.0).is_some()
            }
            Frame::Open { .. } | Frame::Accepted { .. } | Frame::Refused { .. } => {
                let again = self.handshake == Delivery::Sent;
                if again {
                    self.queue_handshake(frame, context);
                }
                again
            }
            // A later limit is under way or waits.
            Frame::Credit { limit, .. } => {
                let again = limit == self.inn.granted && !self.credit_queued && self.stage == Stage::Relaying;
                if again {
                    self.credit_queued = true;
                    context.queue.push(frame);
                }
                again
            }
            Frame::Reset { .. } | Frame::Ack(_) => false,
        }
    }

    /// Does all that has become possible; whether the flow has ended.
    pub(crate) fn settle(&mut self, context: &mut Context<'_>) -> bool {
        let flow = self.id;
        if self.stage == Stage::Relaying {
            self.relay(context);
        }
        let sends = matches!(self.stage, Stage::Relaying | Stage::Resetting);
        if sends && !self.token && self.out.peek(context.config.payload.0).is_some() {
            self.token = true;
            context.queue.push_token(flow);
        }
        match self.stage {
            Stage::Waiting => self.reset_at.is_some(),
            Stage::Opening => false,
            Stage::Connecting | Stage::Relaying => {
                let reset = self.reset_at.is_some_and(|at| at <= self.inn.written);
                if reset {
                    context.actions.push(Action::Reset { flow });
                }
                reset || (self.out.finished() && self.inn.shut)
            }
            Stage::Refusing => self.handshake == Delivery::Acked || self.reset_at.is_some(),
            Stage::Resetting => {
                let told = self.reset == Delivery::Acked && self.out.delivered();
                self.reset_at.is_some() || (told && self.handshake == Delivery::Acked)
            }
        }
    }

    fn relay(&mut self, context: &mut Context<'_>) {
        let (flow, window) = (self.id, context.config.window.0);
        if self.reset_at.is_none() {
            let bytes = self.out.consume(window);
            if bytes > 0 {
                context.actions.push(Action::Consume { flow, bytes });
            }
        }
        let bytes = self.inn.write();
        if bytes > 0 {
            context.actions.push(Action::Write { flow, bytes });
        }
        if self.inn.shut() {
            context.actions.push(Action::Shutdown { flow });
        }
        // Also for a peer whose side is gone: it has to deliver what it took before.
        if self.inn.owes_credit(window, context.config.credit_step()) && !self.credit_queued {
            self.credit_queued = true;
            context.queue.push(Frame::Credit { flow, limit: 0 });
        }
    }
}
