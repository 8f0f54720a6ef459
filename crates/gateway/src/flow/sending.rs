//! The next frames of a flow, and the results of the frames that it has sent.

use super::{Context, Delivery, Flow, LATER, Origin, Stage};
use crate::config::GatewayConfig;
use crate::lease::Lease;
use crate::outbound::Piece;
use crate::packet::{Frame, NUMBER_OCTETS, data_octets};

impl Flow {
    /// Sets the final content of `frame`, which is about to leave, where `share` is the number of bytes that the flow
    /// may hold. Returns false if the frame is not needed any more.
    pub(crate) fn leaves(&mut self, frame: &mut Frame, share: u64) -> bool {
        match frame {
            // The peer has it, or must not receive it any more.
            Frame::Open { .. } if self.stage == Stage::Resetting && self.handshake == Delivery::Acked => return false,
            Frame::Open { .. } | Frame::Accepted { .. } | Frame::Refused { .. } => {
                (self.handshake, self.asked) = (Delivery::Sent, true);
            }
            Frame::Reset { .. } => self.reset = Delivery::Sent,
            Frame::Credit { limit, .. } => {
                self.credit_queued = false;
                let wanted = self.stage == Stage::Relaying;
                if wanted {
                    *limit = self.inn.grant(share);
                }
                return wanted;
            }
            Frame::Return { total, at, .. } => {
                self.return_queued = false;
                (*total, *at) = (self.out.returned, self.out.returned_at);
                return self.stage == Stage::Relaying;
            }
            Frame::Data { .. } | Frame::Ack(_) | Frame::Recall | Frame::Rate { .. } => {}
        }
        true
    }
    /// Records that the peer has the content of `frame`.
    pub(crate) fn acked(&mut self, frame: &Frame, context: &mut Context<'_>) {
        match *frame {
            Frame::Data { offset, len, fin, .. } if self.reset_at.is_none() => {
                self.out.acked(offset, offset + u64::from(len), fin);
            }
            Frame::Open { .. } => self.peer_knows(context),
            Frame::Accepted { .. } | Frame::Refused { .. } => self.handshake = Delivery::Acked,
            Frame::Reset { .. } => self.reset = Delivery::Acked,
            _ => {}
        }
    }
    /// Records that the packet with `frame`, which is no reset, was lost. Returns true if its content must be
    /// retransmitted.
    pub(crate) fn lost(&mut self, mut frame: Frame, context: &mut Context<'_>) -> bool {
        if let Frame::Open { lease: Some(lease), .. } = &mut frame {
            *lease = Lease::PENDING;
        }
        match frame {
            Frame::Data { offset, len, fin, .. } => {
                if self.reset_at.is_none() {
                    self.out.lose(offset, offset + u64::from(len), fin);
                }
                self.piece(context.config).is_some()
            }
            Frame::Open { .. } | Frame::Accepted { .. } | Frame::Refused { .. } => {
                let again = self.handshake == Delivery::Sent;
                if again {
                    self.queue_handshake(frame, context);
                }
                again
            }
            // A later limit is in flight or queued.
            Frame::Credit { limit, .. } => {
                let again = limit == self.inn.announced() && !self.credit_queued && self.stage == Stage::Relaying;
                if again {
                    self.credit_queued = true;
                    context.queue.push(Frame::Credit { flow: self.id, limit: LATER });
                }
                again
            }
            Frame::Return { total, .. } => {
                let again = total == self.out.returned && !self.return_queued && self.stage == Stage::Relaying;
                if again {
                    self.queue_return(context.queue);
                }
                again
            }
            Frame::Reset { .. } | Frame::Ack(_) | Frame::Recall | Frame::Rate { .. } => false,
        }
    }
    /// Returns the piece that may be sent now. There is none while the `Open` is queued, also for retransmission: a
    /// peer without the flow would drop the packet.
    pub(crate) fn peek(&self, config: &GatewayConfig) -> Option<Piece> {
        let waits = self.origin == Origin::Local && self.handshake == Delivery::Queued;
        if waits { None } else { self.piece(config) }
    }
    /// Returns the next piece: as much as fits into a packet.
    fn piece(&self, config: &GatewayConfig) -> Option<Piece> {
        let room = config.capacity() - NUMBER_OCTETS - data_octets(self.id, self.out.offset());
        self.out.peek(config.payload.0.min(room.into()))
    }
    /// Returns true if it has something to send and no token. Bytes do not leave before the `Open`.
    pub(crate) fn wants_token(&self, config: &GatewayConfig) -> bool {
        let sends = matches!(self.stage, Stage::Relaying | Stage::Resetting);
        sends && !self.token && (self.asked || self.origin == Origin::Peer) && self.peek(config).is_some()
    }
}
