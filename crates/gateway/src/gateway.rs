//! The gateway: the relay of flows over the transport to the peer, at the aggregate rate.

use cellway_units::{Span, Time};

use crate::acknowledge::Acknowledger;
use crate::config::GatewayConfig;
use crate::error::ConfigError;
use crate::output::{Action, Output};
use crate::pacer::Pacer;
use crate::packet::{FlowId, Frame, HEADER_OCTETS, IP_OCTETS, TpPacket};
use crate::recovery::{Recovery, Sent};
use crate::relay::Relay;
use crate::stats::{FlowStats, GatewayStats};

/// One gateway towards one peer.
///
/// The caller holds the TCP connections to the local hosts and the line to the peer. It tells what
/// happens there and does what is appended to the [`Output`]; between calls it needs
/// [`Gateway::deadline`], the instant at which to call [`Gateway::wake`]. Calls about flows that
/// have ended, which events under way can cause, do nothing.
#[derive(Clone, Debug)]
pub struct Gateway {
    config: GatewayConfig,
    relay: Relay,
    recovery: Recovery,
    acknowledger: Acknowledger,
    pacer: Pacer,
    acked: Vec<Sent>,
    lost: Vec<Sent>,
}

impl Gateway {
    /// A gateway without flows.
    pub fn new(config: GatewayConfig) -> Result<Gateway, ConfigError> {
        config.validate()?;
        Ok(Gateway {
            config,
            relay: Relay::new(config),
            recovery: Recovery::new(&config),
            acknowledger: Acknowledger::new(&config),
            pacer: Pacer::new(config.rate),
            acked: Vec::new(),
            lost: Vec::new(),
        })
    }

    /// A local host wants to connect; its SYN is held until [`Action::Accept`] or [`Action::Refuse`].
    /// For `flow` see [`FlowId`]; one that was used before is refused.
    pub fn incoming(&mut self, now: Time, flow: FlowId, out: &mut Output) {
        self.relay.incoming(flow, &mut out.actions);
        self.send(now, out);
    }
    /// The connection that [`Action::Connect`] asked for is there.
    pub fn connected(&mut self, now: Time, flow: FlowId, out: &mut Output) {
        self.relay.connected(flow, &mut out.actions);
        self.send(now, out);
    }
    /// The connection that [`Action::Connect`] asked for failed.
    pub fn refused(&mut self, now: Time, flow: FlowId, out: &mut Output) {
        self.relay.refused(flow, &mut out.actions);
        self.send(now, out);
    }
    /// `bytes` more came in order from the local host and wait in the receive buffer of the local
    /// TCP until [`Action::Consume`].
    pub fn received(&mut self, now: Time, flow: FlowId, bytes: u64, out: &mut Output) {
        self.relay.received(flow, bytes, &mut out.actions);
        self.send(now, out);
    }
    /// The send buffer of the local TCP can take `room` bytes now. Each [`Action::Write`] takes from
    /// it; tell again when acknowledgements of the local host have made more.
    pub fn writable(&mut self, now: Time, flow: FlowId, room: u64, out: &mut Output) {
        self.relay.writable(flow, room, &mut out.actions);
        self.send(now, out);
    }
    /// The local host ends its direction, after all that was [`received`](Gateway::received).
    pub fn local_closed(&mut self, now: Time, flow: FlowId, out: &mut Output) {
        self.relay.local_closed(flow, &mut out.actions);
        self.send(now, out);
    }
    /// The local connection is gone: reset, timed out, or its SYN no longer there. What the gateway
    /// has taken from it still reaches the far host, then the reset does.
    pub fn local_reset(&mut self, now: Time, flow: FlowId, out: &mut Output) {
        self.relay.local_reset(flow, &mut out.actions);
        self.send(now, out);
    }

    /// A packet of the peer arrived.
    pub fn receive(&mut self, now: Time, packet: &TpPacket, out: &mut Output) {
        self.relay.stats.packets_received += 1;
        for frame in &packet.frames {
            match frame {
                Frame::Ack(ack) => {
                    self.recovery.acknowledged(now, ack, &mut self.acked, &mut self.lost);
                    self.take_news(&mut out.actions);
                }
                other => self.relay.arrived(other, &mut out.actions),
            }
        }
        self.acknowledger.arrived(now, packet.number, packet.ack_eliciting());
        self.send(now, out);
    }
    /// Time has come to [`Gateway::deadline`].
    pub fn wake(&mut self, now: Time, out: &mut Output) {
        self.acknowledger.wake(now);
        if self.recovery.wake(now, &mut self.lost) {
            self.probe(&mut out.actions);
        }
        self.take_news(&mut out.actions);
        self.send(now, out);
    }
    /// When to call [`Gateway::wake`] if nothing happens first, and why: `"pace"` (the next packet may
    /// leave), `"ack"` (an acknowledgement is due), `"loss"` or `"probe"` (packets may be lost).
    pub fn deadline(&self) -> Option<(Time, &'static str)> {
        let waits = self.relay.has_frames() || self.acknowledger.due();
        let pace = waits.then(|| (self.pacer.ready(), "pace"));
        let ack = self.acknowledger.deadline().map(|at| (at, "ack"));
        [pace, ack, self.recovery.deadline()].into_iter().flatten().min_by_key(|&(at, _)| at)
    }

    /// What was counted, and what is held now.
    pub fn stats(&self) -> GatewayStats {
        self.relay.stats()
    }
    /// What was counted of a flow that has not ended.
    pub fn flow_stats(&self, flow: FlowId) -> Option<FlowStats> {
        self.relay.flow_stats(flow)
    }
    /// The smoothed round-trip time to the peer (RFC 9002, section 5.3).
    pub fn rtt(&self) -> Span {
        self.recovery.rtt()
    }
    /// How it was configured.
    pub fn config(&self) -> &GatewayConfig {
        &self.config
    }

    /// Queues again what the oldest two packets under way carry, passing over those whose content
    /// nobody needs any more. RFC 9002, section 6.2.4, allows two.
    fn probe(&mut self, actions: &mut Vec<Action>) {
        self.relay.stats.probes += 1;
        let mut again = 0;
        while again < 2 {
            let Some(sent) = self.recovery.take_oldest() else { return };
            again += usize::from(self.give_up(sent, actions));
        }
    }
    fn take_news(&mut self, actions: &mut Vec<Action>) {
        let mut acked = std::mem::take(&mut self.acked);
        for sent in acked.drain(..) {
            if let Some(told) = sent.told {
                self.acknowledger.told(told);
            }
            sent.frames.iter().for_each(|frame| self.relay.acked(frame, actions));
        }
        self.acked = acked;
        let mut lost = std::mem::take(&mut self.lost);
        for sent in lost.drain(..) {
            self.give_up(sent, actions);
        }
        self.lost = lost;
    }
    /// A packet is taken for lost; whether anything of it must be sent again.
    fn give_up(&mut self, sent: Sent, actions: &mut Vec<Action>) -> bool {
        self.relay.stats.packets_lost += 1;
        sent.frames.into_iter().fold(false, |again, frame| self.relay.lost(frame, actions) | again)
    }

    /// Sends what may leave now.
    fn send(&mut self, now: Time, out: &mut Output) {
        while self.pacer.ready() <= now {
            let Some(frames) = self.next_frames(now) else { return };
            let packet = TpPacket { number: self.recovery.send(now, &frames), frames };
            let bits = self.config.wire.bits(packet.octets());
            self.pacer.send(now, bits);
            self.relay.stats.packets_sent += 1;
            self.relay.stats.line.0 += bits.0;
            out.packets.push(packet);
        }
    }
    /// The next packet: an acknowledgement if due, control frames, one data frame, as far as they
    /// fit into the MTU.
    fn next_frames(&mut self, now: Time) -> Option<Vec<Frame>> {
        let mut room = self.config.mtu.0 as u32 - IP_OCTETS - HEADER_OCTETS;
        let mut frames = Vec::with_capacity(2);
        let mut put = |frame: Frame, room: &mut u32| {
            *room -= frame.octets();
            frames.push(frame);
        };
        if let Some(ack) = self.acknowledger.take(now, room) {
            put(Frame::Ack(ack), &mut room);
        }
        while let Some(frame) = self.relay.next_control(room) {
            put(frame, &mut room);
        }
        if let Some(frame) = self.relay.next_data(room) {
            put(frame, &mut room);
        }
        (!frames.is_empty()).then_some(frames)
    }
}
