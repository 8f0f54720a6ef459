//! The gateway: the relay of flows over the transport to the peer, at the aggregate rate.

use std::ops::Range;
use std::sync::Arc;

use cellway_units::{Bits, Bytes, Rate, Span, Time};
use serde::{Deserialize, Serialize};

use crate::acknowledge::Acknowledger;
use crate::class::{Class, ClassStats, Classes};
use crate::config::GatewayConfig;
use crate::error::ConfigError;
use crate::excess::Excess;
use crate::guard::Guard;
use crate::lease::Departures;
use crate::liveness::Liveness;
use crate::output::{Action, Output};
use crate::pacer::Pacers;
use crate::packet::{FlowId, Frame, NUMBER_OCTETS, TpPacket};
use crate::reason::Reason;
use crate::recovery::{Recovery, Sent};
use crate::relay::Relay;
use crate::request::Request;
use crate::stats::{FlowStats, GatewayStats};
use crate::wire::Transport;
use cellway_delivery::Bottleneck;

mod peer;
mod rate;

/// A gateway, with its connection to one peer.
///
/// The caller holds the TCP connections to the local hosts and the transport to the peer. It reports their events, and
/// executes the actions and sends the packets in the [`Output`]. It also calls [`Gateway::wake`] at
/// [`Gateway::deadline`]. Calls about flows that have ended, which events in flight can cause, have no effect.
///
/// It can be serialised at any time between two calls: the copy continues from the state of the original.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gateway {
    relay: Relay,
    recovery: Recovery,
    acknowledger: Acknowledger,
    pacers: Pacers,
    liveness: Liveness,
    /// The end of the last lease that was granted, and the patience that must not shrink before it.
    leased: (Time, Span),
    departures: Departures,
    /// The estimate of the bottleneck link, if the rate is estimated.
    line: Option<Bottleneck>,
    /// The guard of a configured rate, unless it is off.
    guard: Option<Guard>,
    /// The number of packets that may leave although the window is full, as probes (RFC 9002, section 6.2.4).
    owed: u32,
    /// True if frames may not leave because too much is in flight.
    full: bool,
    /// True while the transport accepts no packets.
    held: bool,
    /// True if data waited and the last packet had no room for them: they go first in the next one.
    data_first: bool,
    acked: Vec<Sent>,
    lost: Vec<Sent>,
}

impl Gateway {
    /// Creates a gateway without flows.
    pub fn new(config: GatewayConfig) -> Result<Gateway, ConfigError> {
        config.validate()?;
        let line = rate::unknown(&config);
        Ok(Gateway {
            relay: Relay::new(config),
            recovery: Recovery::new(&config),
            acknowledger: Acknowledger::new(&config),
            pacers: Pacers::new(config.rate, line.as_ref().map(Bottleneck::rate), config.slack),
            liveness: Liveness::default(),
            leased: (Time::ZERO, Span::ZERO),
            departures: Departures::default(),
            line,
            guard: rate::guard(&config),
            owed: 0,
            full: false,
            held: false,
            data_first: false,
            acked: Vec::new(),
            lost: Vec::new(),
        })
    }

    /// Opens a flow for a local host, whose SYN is held until [`Action::Accept`] or [`Action::Refuse`]. For `flow` see
    /// [`FlowId`]; one that was used before is refused. With `request.early` it is accepted as soon as there is memory;
    /// a later refusal becomes a reset.
    pub fn incoming(&mut self, now: Time, flow: FlowId, request: Arc<Request>, out: &mut Output) {
        self.relay.now = now;
        self.relay.incoming(flow, request, &mut out.actions);
        self.send(now, out);
    }
    /// Reports that the connection of an [`Action::Connect`] is established.
    pub fn connected(&mut self, now: Time, flow: FlowId, out: &mut Output) {
        self.relay.connected(flow, &mut out.actions);
        self.send(now, out);
    }
    /// Reports that the connection attempt of an [`Action::Connect`] failed.
    pub fn refused(&mut self, now: Time, flow: FlowId, reason: Reason, out: &mut Output) {
        self.relay.refused(flow, reason, &mut out.actions);
        self.send(now, out);
    }
    /// Reports `bytes` more that arrived in order from the local host. They stay in the receive buffer of the local TCP
    /// until [`Action::Consume`].
    pub fn received(&mut self, now: Time, flow: FlowId, bytes: u64, out: &mut Output) {
        self.relay.received(flow, bytes, &mut out.actions);
        self.send(now, out);
    }
    /// Marks the byte at offset `at` of all that the local host sends as urgent. To be called before it is
    /// [`received`](Gateway::received), so that it does not leave without its mark. A later mark replaces that of a
    /// byte that has not left, as in TCP.
    pub fn urgent(&mut self, flow: FlowId, at: u64) {
        self.relay.urgent(flow, at);
    }
    /// Sets the free space of the send buffer of the local TCP to `room` bytes. Each [`Action::Write`] reduces it; call
    /// again when acknowledgements of the local host have freed more.
    pub fn writable(&mut self, now: Time, flow: FlowId, room: u64, out: &mut Output) {
        self.relay.writable(flow, room, &mut out.actions);
        self.send(now, out);
    }
    /// Reports that the local TCP has accepted `bytes` of an [`Action::Write`], and can accept `room` more. To be
    /// called if [`GatewayConfig::confirmed_writes`] is set.
    pub fn wrote(&mut self, now: Time, flow: FlowId, bytes: u64, room: u64, out: &mut Output) {
        self.relay.wrote(flow, bytes, room, &mut out.actions);
        self.send(now, out);
    }
    /// Reports the FIN of the local host, after all bytes that were [`received`](Gateway::received).
    pub fn local_closed(&mut self, now: Time, flow: FlowId, out: &mut Output) {
        self.relay.local_closed(flow, &mut out.actions);
        self.send(now, out);
    }
    /// Reports that the local connection was reset or timed out, or that the SYN of its client is no longer held. The
    /// far host still receives the bytes that the gateway has consumed, then the reset.
    pub fn local_reset(&mut self, now: Time, flow: FlowId, reason: Reason, out: &mut Output) {
        self.relay.local_reset(flow, reason, &mut out.actions);
        self.send(now, out);
    }

    /// Processes a packet of the peer.
    pub fn receive(&mut self, now: Time, packet: &TpPacket, out: &mut Output) {
        if self.excess().is_some() {
            return;
        }
        self.relay.now = now;
        self.relay.stats.packets_received += 1;
        self.liveness.received(now);
        // Bytes that have overtaken the `Open` of their flow: the packet counts as lost, and the peer retransmits its
        // content.
        if self.relay.is_ahead(&packet.frames) {
            self.relay.stats.ahead += 1;
            return;
        }
        for frame in &packet.frames {
            match frame {
                Frame::Ack(ack) => {
                    let round_trip = self.recovery.acknowledged(now, ack, &mut self.acked, &mut self.lost);
                    self.take_results(&mut out.actions);
                    self.take_late(now);
                    self.learn(now, round_trip);
                    self.update_windows();
                }
                Frame::Open { flow, lease: Some(lease), .. } => {
                    let end = self.departures.end(*lease);
                    self.relay.leased(*flow, frame, (now, end), &mut out.actions);
                }
                other => self.relay.arrived(other, &mut out.actions),
            }
        }
        self.acknowledger.arrived(now, packet.number, packet.ack_eliciting());
        self.send(now, out);
    }
    /// Processes timers. To be called at [`Gateway::deadline`].
    pub fn wake(&mut self, now: Time, out: &mut Output) {
        self.acknowledger.wake(now);
        if self.recovery.wake(now, &mut self.lost) {
            self.probe(&mut out.actions);
        }
        self.take_results(&mut out.actions);
        self.check_peer(now, &mut out.actions);
        self.relay.expire_openings(now, &mut out.actions);
        self.send(now, out);
    }
    /// Returns the time of the next [`Gateway::wake`], unless another call comes first, and its cause: `"pace"` (the
    /// next packet may leave), `"ack"` (an acknowledgement is due), `"memory"` (under memory pressure), `"loss"` or
    /// `"probe"` (packets may be lost), `"peer"` (it may be unresponsive), `"opening"` (a local host has waited for too
    /// long).
    pub fn deadline(&self) -> Option<(Time, &'static str)> {
        if self.excess().is_some() {
            return None;
        }
        let frames = self.relay.ready().filter(|_| self.may_send()).map(|at| at.max(self.pacers.ready()));
        let due = self.acknowledger.due().then(|| self.pacers.ack_ready());
        let pace = frames.into_iter().chain(due).min().filter(|_| !self.held).map(|at| (at, "pace"));
        let ack = self.acknowledger.deadline().map(|at| (at, "ack"));
        let memory = self.relay.reclaim_at().map(|at| (at, "memory"));
        let peer = self.patience().and_then(|patience| self.liveness.deadline(patience)).map(|at| (at, "peer"));
        let opening = self.relay.opening_at().map(|at| (at, "opening"));
        [pace, ack, memory, self.recovery.deadline(), peer, opening].into_iter().flatten().min_by_key(|&(at, _)| at)
    }

    /// Returns the counters and the current use of memory.
    pub fn stats(&self) -> GatewayStats {
        GatewayStats { unacknowledged: self.recovery.unacknowledged(), ..self.relay.stats() }
    }
    /// Returns the cap that the peer has exceeded, if any. From then on nothing is sent and its packets are ignored,
    /// until the caller ends the connection to it and calls [`Gateway::down`].
    pub fn excess(&self) -> Option<Excess> {
        self.relay.excess
    }
    /// Returns true if `flow` is open here or has been; otherwise another flow may use the identifier.
    pub fn has_met(&self, flow: FlowId) -> bool {
        self.relay.has_met(flow)
    }
    /// Returns the bytes of all flows that it holds: those of local hosts that the peer has not acknowledged, and those
    /// of the peer that local hosts have not taken.
    pub fn held(&self) -> [u64; 2] {
        self.relay.held()
    }
    /// Returns the counters of a flow that has not ended.
    pub fn flow_stats(&self, flow: FlowId) -> Option<FlowStats> {
        self.relay.flow_stats(flow)
    }
    /// Sets the classes of flows, before there are any. The two gateways of a pair may have different classes: each
    /// divides its own sending rate.
    #[must_use]
    pub fn with_classes(mut self, classes: Classes) -> Gateway {
        self.relay.set_classes(classes, &mut Vec::new());
        self
    }
    /// Replaces the classes of flows. Flows that are open change to their new classes with what they have to send, and
    /// counters of classes with an earlier name continue.
    pub fn set_classes(&mut self, now: Time, classes: Classes, out: &mut Output) {
        self.relay.now = now;
        self.relay.set_classes(classes, &mut out.actions);
        self.send(now, out);
    }
    /// Returns each class, that of all other flows last, with its counters up to the last call.
    pub fn classes(&self) -> impl Iterator<Item = (&Class, ClassStats)> {
        self.relay.class_stats()
    }
    /// Returns the smoothed round-trip time to the peer (RFC 9002, section 5.3).
    pub fn rtt(&self) -> Span {
        self.recovery.rtt()
    }
    /// Returns the current configuration.
    pub fn config(&self) -> &GatewayConfig {
        &self.relay.config
    }
    /// Returns the expected number of the next packet, for [`TpPacket::decode`].
    pub fn expected(&self) -> u64 {
        self.acknowledger.expected()
    }
    /// Returns the range of offsets of a flow that the peer may send and that were not written. The caller must keep
    /// the bytes of a data frame that lie in it until [`Action::Write`], and can drop others. `None` if there are none.
    pub fn wanted(&self, flow: FlowId) -> Option<Range<u64>> {
        self.relay.wanted(flow)
    }

    /// Refuses or resets every flow, as the connection to the peer is lost, and returns to the initial state, except
    /// for counters and [`Gateway::leftover`]. The peer must do the same before either sends again.
    pub fn down(&mut self, now: Time, reason: Reason, out: &mut Output) {
        self.relay.down(reason, &mut out.actions);
        self.recovery = Recovery::new(self.config());
        self.acknowledger = Acknowledger::new(self.config());
        self.forget_peer();
        (self.data_first, self.held) = (false, false);
        self.forget_line();
        self.update_windows();
        self.pacers.wait(now, false, false);
    }
    /// Sets the memory that the caller holds for flows that have ended, while local hosts still read the bytes of
    /// [`Action::Write`]. It counts against [`GatewayConfig::total_buffer`]. The gateway itself adds to it when a flow
    /// ends or the connection to the peer is lost.
    pub fn set_leftover(&mut self, now: Time, bytes: Bytes, out: &mut Output) {
        self.relay.set_leftover(bytes.0, &mut out.actions);
        self.send(now, out);
    }
    /// Returns the memory held for flows that have ended.
    pub fn leftover(&self) -> Bytes {
        Bytes(self.relay.leftover)
    }
    /// Adapts the windows to the current estimate of the bottleneck link.
    fn update_windows(&mut self) {
        self.relay.set_line(self.rate(), self.recovery.rtt());
    }
    /// Sets the protocol that carries the packets from now on, `reliable` if it neither loses nor reorders them, and
    /// the round-trip time of its handshake, which counts as the first measurement. To be called while nothing is in
    /// flight: after [`Gateway::new`] or [`Gateway::down`]; the clock may start again.
    pub fn set_transport(&mut self, transport: Transport, reliable: bool, rtt: Option<Span>) {
        self.carry_over(transport, reliable);
        self.relay.restart();
        self.recovery = Recovery::new(self.config());
        self.forget_peer();
        self.forget_line();
        if let Some(rtt) = rtt {
            self.recovery.measured(rtt);
            self.measured(rtt);
        }
        self.update_windows();
        // A lease needs a packet to count from: each side sends this one first.
        self.relay.announce_rate();
    }
    fn carry_over(&mut self, transport: Transport, reliable: bool) {
        let capacity = self.config().capacity() as usize;
        let config = &mut self.relay.config;
        (config.transport, config.reliable) = (transport, reliable);
        config.set_capacity(capacity);
        self.relay.follow_packet();
    }
    /// Reports that another connection to the same gateway, which has kept its state as well, has replaced the
    /// transport: packets in flight may be lost. If either transport is `reliable`, nothing detects which, and all of
    /// them are sent again; otherwise two of them are, as a probe.
    pub fn transport_replaced(&mut self, now: Time, transport: Transport, reliable: bool, out: &mut Output) {
        let was_reliable = self.config().reliable;
        if was_reliable || reliable {
            for sent in self.recovery.take_all() {
                self.give_up(sent, &mut out.actions);
            }
        } else {
            self.probe(&mut out.actions);
        }
        self.carry_over(transport, reliable);
        if was_reliable != reliable {
            self.recovery.set_reliable(reliable);
            self.forget_line();
            self.update_windows();
        }
        self.send(now, out);
    }
    /// Reports that the transport accepts no more packets (`held`), because packets wait in it, or that it accepts them
    /// again. While held nothing is sent, and the time counts as lateness.
    pub fn hold(&mut self, now: Time, held: bool, out: &mut Output) {
        self.held = held;
        self.send(now, out);
    }
    /// Sets the largest packet of the transport, in octets ([`TpPacket::octets`]). Larger ones that are lost are
    /// retransmitted in pieces. Sizes below 314 octets, which are too small for some frames, count as 314.
    pub fn set_payload(&mut self, now: Time, octets: usize, out: &mut Output) {
        self.relay.config.set_capacity(octets);
        self.relay.follow_packet();
        self.configure_line(now);
        self.send(now, out);
    }
    /// Sets the sending rate, more than 0; if the rate is estimated, its upper bound.
    pub fn set_rate(&mut self, now: Time, rate: Rate, out: &mut Output) {
        self.relay.config.rate = Rate::from_bps(rate.as_bps().max(1));
        self.configure_line(now);
        self.update_windows();
        self.send(now, out);
    }
    /// Counts `bits` that the transport has sent of its own against the configured or highest rate.
    pub fn charge(&mut self, now: Time, bits: Bits) {
        self.pacers.send(now, bits, false);
        self.relay.stats.line.0 += bits.0;
    }

    /// Queues again what the oldest two packets under way carry, skipping those whose content is no longer needed. RFC
    /// 9002, section 6.2.4, allows two.
    fn probe(&mut self, actions: &mut Vec<Action>) {
        self.relay.stats.probes += 1;
        if let Some(line) = &mut self.line {
            line.timed_out();
        }
        let mut again = 0;
        while again < 2 {
            let Some(sent) = self.recovery.take_oldest() else { return };
            sent.frames().for_each(|frame| self.relay.exempt(frame));
            again += usize::from(self.give_up(sent, actions));
            self.owed = 2;
        }
    }
    fn take_results(&mut self, actions: &mut Vec<Action>) {
        let mut acked = std::mem::take(&mut self.acked);
        if let Some(number) = acked.iter().filter_map(|sent| sent.told).max() {
            self.acknowledger.acknowledged(number);
        }
        for sent in acked.drain(..) {
            self.arrived(&sent);
            sent.frames().for_each(|frame| self.relay.acked(frame, actions));
        }
        self.acked = acked;
        let mut lost = std::mem::take(&mut self.lost);
        for sent in lost.drain(..) {
            self.give_up(sent, actions);
        }
        self.lost = lost;
    }
    /// Declares a packet lost. Returns true if any of its frames must be retransmitted.
    fn give_up(&mut self, sent: Sent, actions: &mut Vec<Action>) -> bool {
        self.relay.stats.packets_lost += 1;
        self.missing(&sent);
        sent.into_frames().fold(false, |again, frame| self.relay.lost(frame, actions) | again)
    }

    /// Sends all packets that may leave now.
    fn send(&mut self, now: Time, out: &mut Output) {
        if !self.full && self.pacers.idle(now) {
            self.nothing_left();
        }
        self.relay.reclaim(now);
        while !self.held && self.excess().is_none() {
            let Some(frames) = self.next_frames(now, &mut out.actions) else { break };
            let packet = TpPacket { number: self.recovery.send(now, &frames), frames };
            self.departures.sent(now, packet.number);
            let bits = self.config().wire.bits(self.config().transport.overhead() + packet.octets());
            self.pacers.send(now, bits, packet.ack_eliciting());
            if packet.ack_eliciting() {
                self.asked(now, bits);
            }
            self.relay.stats.packets_sent += 1;
            self.relay.stats.line.0 += bits.0;
            out.packets.push(packet);
        }
        self.relay.check_caps(self.recovery.unacknowledged());
        self.check_peer(now, &mut out.actions);
        let waits = self.relay.has_frames(now);
        self.full = waits && !self.may_send();
        self.pacers.wait(now, waits && self.may_send(), self.acknowledger.due());
        self.relay.wait(now);
    }
    /// True if more than acknowledgements may leave: the window has room, or a probe is due. While the peer is
    /// unresponsive only half of the cap for unacknowledged packets is used, as an outage is no fault of the peer.
    fn may_send(&self) -> bool {
        let half = self.config().most_unacknowledged() / 2;
        let is_stopped = self.liveness.is_unresponsive() && self.recovery.unacknowledged() > half;
        self.owed > 0 || !is_stopped && self.line.as_ref().is_none_or(Bottleneck::may_send)
    }
    /// Returns the frames of the next packet that may leave now: an acknowledgement if due, control frames, one data
    /// frame, as far as they fit into the MTU. If they do not fit together, data go first every second time, and an
    /// acknowledgement leaves room for the next control frame, so that none starves another.
    fn next_frames(&mut self, now: Time, actions: &mut Vec<Action>) -> Option<Vec<Frame>> {
        if now < self.pacers.ready() {
            return self.ack_alone(now);
        }
        let mut room = self.config().capacity() - NUMBER_OCTETS;
        let mut frames = Vec::with_capacity(2);
        let mut put = |frame: Frame, room: &mut u32| {
            *room -= frame.octets();
            frames.push(frame);
        };
        let may_send = self.may_send();
        let mut data = if self.data_first && may_send { self.relay.next_data(room, actions) } else { None };
        let had_data = data.is_some();
        room -= data.as_ref().map_or(0, Frame::octets);
        // An estimated rate has better samples if acknowledgements leave at their own time.
        if self.line.is_none() && (had_data || self.relay.has_data(now)) {
            self.acknowledger.hurry();
        }
        let reserved = if may_send { self.relay.next_control_octets() } else { 0 };
        if let Some(ack) = self.acknowledger.take(now, room.saturating_sub(reserved)) {
            put(Frame::Ack(ack), &mut room);
        }
        while may_send && let Some(mut frame) = self.relay.next_control(room) {
            if let Frame::Open { lease, .. } = &mut frame
                && lease.is_some()
            {
                *lease = self.lease(now);
            }
            put(frame, &mut room);
        }
        if !had_data
            && may_send
            && let Some(frame) = self.relay.next_data(room, actions)
        {
            data = Some(frame);
        }
        self.data_first = data.is_none() && self.relay.has_data(now);
        frames.extend(data);
        (!frames.is_empty()).then_some(frames)
    }
    /// Returns a packet with an acknowledgement only, which may leave before others.
    fn ack_alone(&mut self, now: Time) -> Option<Vec<Frame>> {
        let room = self.config().capacity() - NUMBER_OCTETS;
        let due = self.acknowledger.due() && self.pacers.ack_ready() <= now;
        due.then(|| self.acknowledger.take(now, room)).flatten().map(|ack| vec![Frame::Ack(ack)])
    }
}
