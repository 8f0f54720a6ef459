//! What a flow sends next, and what becomes of the frames that it has sent.

use super::{Context, Delivery, Flow, LATER, Origin, Stage};
use crate::config::GatewayConfig;
use crate::lease::Lease;
use crate::outbound::Piece;
use crate::packet::{Frame, NUMBER_OCTETS, data_octets};

impl Flow {
    /// `frame` is about to leave, and gets its final content, where `share` is what the flow may hold;
    /// whether it is still wanted.
    pub(crate) fn leaves(&mut self, frame: &mut Frame, share: u64) -> bool {
        match frame {
            // The peer has it, or must not get it any more.
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
    /// The peer has what `frame` carried.
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
    /// The packet with `frame`, which is no reset, was lost; whether its content must be sent again.
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
            // A later limit is under way or waits.
            Frame::Credit { limit, .. } => {
                let again = limit == self.inn.told() && !self.credit_queued && self.stage == Stage::Relaying;
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
    /// The piece that may be sent now. None while the `Open` waits, also one that is sent again: a peer that does not know the
    /// flow drops the packet.
    pub(crate) fn peek(&self, config: &GatewayConfig) -> Option<Piece> {
        let waits = self.origin == Origin::Local && self.handshake == Delivery::Queued;
        if waits { None } else { self.piece(config) }
    }
    /// The next piece: as much as fits into a packet.
    fn piece(&self, config: &GatewayConfig) -> Option<Piece> {
        let room = config.capacity() - NUMBER_OCTETS - data_octets(self.id, self.out.place());
        self.out.peek(config.payload.0.min(room.into()))
    }
    /// Whether it has something to send and no token. Bytes do not leave before the `Open`.
    pub(crate) fn wants_token(&self, config: &GatewayConfig) -> bool {
        let sends = matches!(self.stage, Stage::Relaying | Stage::Resetting);
        sends && !self.token && (self.asked || self.origin == Origin::Peer) && self.peek(config).is_some()
    }
}
