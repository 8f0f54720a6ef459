//! One gateway between a correct caller and a malicious peer.
//!
//! The input is a list of steps: events of local connections, frames of the peer (any octets that are a packet, or
//! frames about flows that exist), its acknowledgements, and time. After each step all actions of the gateway must be
//! possible for a TCP connection in its state, all frames that it sends must fit its packets and the limits that it
//! received, and the bytes that it holds must stay within its memory.

use std::collections::{BTreeMap, VecDeque};

use cellway_gateway::{
    Ack, Action, FlowId, Frame, Gateway, GatewayConfig, Output, Reason, TpPacket, Transport, Window,
};
use cellway_units::{Bits, Bytes, Rate, Span, Time};

#[path = "input.rs"]
mod input;

pub(crate) use input::Input;

/// Steps of one input; more are ignored.
pub(crate) const STEPS: usize = 4096;
/// Most packets that are kept for the peer.
const WAITING: usize = 64;
/// Most wakes that may be needed at one instant: for a packet, an acknowledgement, a loss and a probe.
const WAKES: usize = 8;

/// The state of a local connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Its SYN is held.
    Held,
    Connecting,
    Open,
    /// Refused or reset by either side: only its end is missing.
    Closed,
}

/// The local TCP's view of a flow.
#[derive(Clone, Debug)]
struct Local {
    stage: Stage,
    received: u64,
    consumed: u64,
    released: u64,
    room: u64,
    written: u64,
    /// The offset after the last urgent byte that was reported.
    urgent: u64,
    closed: bool,
    shut: bool,
    /// A reset will follow.
    ending: bool,
}

impl Local {
    fn new(stage: Stage) -> Local {
        let (closed, shut, ending) = (false, false, false);
        Local { stage, received: 0, consumed: 0, released: 0, room: 0, written: 0, urgent: 0, closed, shut, ending }
    }
}

pub(crate) struct World {
    pub(crate) gateway: Gateway,
    pub(crate) now: Time,
    out: Output,
    /// The last packets that it has sent, encoded, the newest first: for a peer that reads them.
    pub(crate) sends: VecDeque<Vec<u8>>,
    locals: BTreeMap<FlowId, Local>,
    /// The next packet number of the gateway.
    sent: u64,
    /// The peer's next packet number.
    number: u64,
}

/// Returns the configuration of a gateway of three flows in each direction; two more may wait.
fn config(input: &mut Input<'_>) -> GatewayConfig {
    let choice = input.octet();
    let payload = 64 + u64::from(input.octet()) * 8;
    let floor = payload * (1 + u64::from(choice & 7));
    let transport = match choice >> 3 & 3 {
        0 => Transport::Ip,
        1 => Transport::Tls { v6: true },
        v6 => Transport::Quic { v6: v6 == 3 },
    };
    let most = Bytes(floor * if choice & 0x20 == 0 { 1 } else { 8 });
    GatewayConfig {
        window: if choice & 0x40 == 0 { Window::Fixed(most) } else { Window::Line { most } },
        floor: Bytes(floor),
        transport,
        reliable: choice & 0x80 != 0,
        payload: Bytes(payload),
        mtu: Bytes(payload + u64::from(transport.overhead()) + 400),
        total_buffer: Bytes(12 * floor),
        waiting: 2,
        early: Bytes(payload),
        ..GatewayConfig::new(Rate::from_bps(1_000_000))
    }
}

/// Runs the steps of `data`.
pub(crate) fn run(data: &[u8]) {
    let mut input = Input(data);
    let mut world = World::new(&mut input);
    for _ in 0..STEPS {
        if input.0.is_empty() {
            break;
        }
        world.step(&mut input);
        world.check();
    }
    world.down(Reason::Stopping);
    world.check();
}

impl World {
    pub(crate) fn new(input: &mut Input<'_>) -> World {
        let gateway = Gateway::new(config(input)).unwrap();
        let (out, sends, locals) = (Output::default(), VecDeque::new(), BTreeMap::new());
        World { gateway, now: Time::ZERO, out, sends, locals, sent: 0, number: 0 }
    }
    /// Opens a flow for a local host. The caller uses an unused identifier; one of the peer may collide with it.
    pub(crate) fn incoming(&mut self, flow: FlowId, input: &mut Input<'_>) {
        let request = input.request();
        if self.gateway.flow_stats(flow).is_none() && !self.locals.contains_key(&flow) {
            self.locals.insert(flow, Local::new(Stage::Held));
            self.gateway.incoming(self.now, flow, request, &mut self.out);
        }
    }
    /// Receives octets of the peer.
    pub(crate) fn receive(&mut self, octets: &[u8]) {
        if let Ok(decoded) = TpPacket::decode(octets, self.gateway.expected()) {
            self.gateway.receive(self.now, &decoded.packet, &mut self.out);
        }
    }
    fn step(&mut self, input: &mut Input<'_>) {
        let (now, out) = (self.now, &mut self.out);
        let kind = input.octet();
        match kind % 16 {
            0 => {
                let flow = input.flow();
                self.incoming(flow, input);
            }
            1..=6 => self.local(kind % 16, input),
            7 => {
                self.now += Span::from_us(input.number().min(60_000_000));
                self.wake();
            }
            8 => {
                let len = usize::from(input.octet()).min(input.0.len());
                let (octets, rest) = input.0.split_at(len);
                input.0 = rest;
                self.receive(octets);
            }
            9..=11 => {
                let frames = (0..=kind >> 6).map(|_| input.frame()).collect();
                self.number += u64::from(kind >> 4 & 3);
                self.gateway.receive(now, &TpPacket { number: self.number, frames }, out);
            }
            12 => {
                let newest = self.sent.saturating_sub(1 + input.number());
                let len = input.number().min(newest);
                let (ranges, delay) = (vec![(newest - len, newest)], Span::from_us(input.number().min(1 << 40)));
                let sent = (kind & 16 != 0).then(|| Time::ZERO + delay * u64::from(kind >> 4));
                self.number += 1;
                let frames = vec![Frame::Ack(Ack { ranges, delay, sent })];
                self.gateway.receive(now, &TpPacket { number: self.number, frames }, out);
            }
            13 => {
                for _ in 0..=kind >> 4 {
                    let Some((at, _)) = self.gateway.deadline() else { break };
                    self.now = self.now.max(at);
                    self.wake();
                }
            }
            14 if kind >> 4 == 0 => {
                self.down(input.reason());
                let transport = Transport::Quic { v6: input.octet() & 1 != 0 };
                self.gateway.set_transport(transport, input.octet() & 1 != 0, None);
            }
            14 => self.gateway.set_payload(now, input.number().min(1 << 20) as usize, out),
            _ if kind >> 4 == 0 => self.gateway.charge(now, Bits(input.number().min(1 << 20))),
            _ => self.gateway.set_rate(now, Rate::from_bps(input.number().max(1 << 16)), out),
        }
    }

    /// Makes a local connection do something that is possible in its state.
    pub(crate) fn local(&mut self, kind: u8, input: &mut Input<'_>) {
        let (now, out, flow) = (self.now, &mut self.out, input.flow());
        let Some(local) = self.locals.get_mut(&flow) else { return };
        match (kind, local.stage) {
            (1, Stage::Connecting) => {
                local.stage = Stage::Open;
                self.gateway.connected(now, flow, out);
            }
            (2, Stage::Connecting) => {
                local.stage = Stage::Closed;
                self.gateway.refused(now, flow, input.reason(), out);
            }
            (3, Stage::Open) if !local.closed => {
                let bytes = input.number().min(1 << 20);
                if bytes & 1 != 0 {
                    self.gateway.urgent(flow, local.received + bytes / 2);
                }
                local.received += bytes;
                self.gateway.received(now, flow, bytes, out);
            }
            (4, Stage::Open) => {
                local.room = input.number();
                self.gateway.writable(now, flow, local.room, out);
            }
            (5, Stage::Open) => {
                local.closed = true;
                self.gateway.local_closed(now, flow, out);
            }
            (6, Stage::Held | Stage::Connecting | Stage::Open) => {
                local.stage = Stage::Closed;
                self.gateway.local_reset(now, flow, input.reason(), out);
            }
            _ => {}
        }
    }

    /// Wakes it until nothing is due at this instant.
    pub(crate) fn wake(&mut self) {
        for _ in 0..WAKES {
            self.gateway.wake(self.now, &mut self.out);
            if self.gateway.deadline().is_none_or(|(at, _)| at > self.now) {
                return;
            }
        }
        panic!("{:?} is due for ever at {:?}", self.gateway.deadline(), self.now);
    }

    /// Advances to `at`, where another gateway may be due instead. A wake before the deadline must then have no effect:
    /// a caller wakes it at its deadline only, so an effect of this wake would be late. The first request for memory is
    /// an exception: it leaves with the next call, whichever that is.
    pub(crate) fn advance(&mut self, at: Time) {
        self.now = self.now.max(at);
        let deadline = self.gateway.deadline();
        self.wake();
        let mut frames = self.out.packets.iter().flat_map(|packet| &packet.frames);
        let nothing = self.out.actions.is_empty() && frames.all(|frame| *frame == Frame::Recall);
        let early = deadline.is_none_or(|(at, _)| at > self.now);
        assert!(nothing || !early, "{deadline:?}, at {:?}: {:?}", self.now, self.out);
    }

    pub(crate) fn down(&mut self, reason: Reason) {
        self.gateway.down(self.now, reason, &mut self.out);
        self.check();
        assert!(self.locals.is_empty(), "not told of their end: {:?}", self.locals);
        let stats = self.gateway.stats();
        assert_eq!((stats.flows, stats.flows_waiting, stats.buffered), (0, 0, 0));
        assert_eq!(self.gateway.deadline(), None);
        (self.sent, self.number) = (0, 0);
        self.sends.clear();
    }

    /// Executes the actions of the gateway, and checks the frames that it sent and the bytes that it holds.
    pub(crate) fn check(&mut self) {
        let out = std::mem::take(&mut self.out);
        for action in &out.actions {
            self.act(action);
        }
        for packet in &out.packets {
            self.packet(packet);
        }
        let (config, stats) = (self.gateway.config(), self.gateway.stats());
        assert!(stats.buffered_max <= config.total_buffer.0, "{} bytes were held", stats.buffered_max);
        let each = config.flows_per_origin() + u64::from(config.waiting);
        assert!(stats.flows <= 2 * each, "{} flows of at most {}", stats.flows, 2 * each);
        let most = config.window.most().0;
        // The memory of unacknowledged packets is bounded for every input.
        assert!(stats.unacknowledged <= 2 * config.most_unacknowledged(), "{stats:?}");
        assert!(self.gateway.excess().is_none() || self.gateway.deadline().is_none());
        for (flow, local) in &self.locals {
            let Some(flow) = self.gateway.flow_stats(*flow) else {
                panic!("{flow:?} ended without an event: {local:?}")
            };
            assert!(flow.held_outbound <= most && flow.held_inbound <= most, "{flow:?} with a window of {most}");
        }
    }

    fn act(&mut self, action: &Action) {
        let flow = action.flow();
        if matches!(action, Action::Connect { .. }) {
            let before = self.locals.insert(flow, Local::new(Stage::Connecting));
            assert!(before.is_none(), "{flow:?} connects again: {before:?}");
            return;
        }
        let Some(local) = self.locals.get_mut(&flow) else { panic!("{action:?} of no connection") };
        let stage = local.stage;
        match *action {
            Action::Accept { .. } if stage == Stage::Held => local.stage = Stage::Open,
            Action::Refuse { .. } if stage == Stage::Held => local.stage = Stage::Closed,
            Action::Consume { bytes, .. } if stage == Stage::Open && bytes > 0 => {
                local.consumed += bytes;
                assert!(local.consumed <= local.received, "{action:?}: {local:?}");
            }
            Action::Released { bytes, .. } if bytes > 0 => {
                local.released += bytes;
                assert!(local.released <= local.consumed, "{action:?}: {local:?}");
            }
            Action::Write { bytes, .. } if stage == Stage::Open && !local.shut && (1..=local.room).contains(&bytes) => {
                local.room -= bytes;
                local.written += bytes;
            }
            Action::Urgent { at, .. } if stage == Stage::Open && (local.urgent..local.written).contains(&at) => {
                local.urgent = at + 1;
            }
            Action::Ending { .. } if matches!(stage, Stage::Connecting | Stage::Open) && !local.ending => {
                local.ending = true;
            }
            Action::Shutdown { .. } if stage == Stage::Open && !local.shut => local.shut = true,
            Action::Reset { .. } if matches!(stage, Stage::Connecting | Stage::Open) => local.stage = Stage::Closed,
            Action::Closed { reason, .. } => {
                let clean = stage == Stage::Open && local.closed && local.shut && local.released == local.received;
                assert!(reason.is_some() || clean, "{action:?}: {local:?}");
                assert!(clean || stage == Stage::Closed, "{action:?} without a word before: {local:?}");
                self.locals.remove(&flow);
            }
            _ => panic!("{action:?}: {local:?}"),
        }
    }

    fn packet(&mut self, packet: &TpPacket) {
        assert_eq!(packet.number, self.sent);
        self.sent += 1;
        let config = self.gateway.config();
        let most = config.mtu.0 as u32 - config.transport.overhead();
        assert!(packet.octets() <= most, "{} octets of {most}: {packet:?}", packet.octets());
        for frame in &packet.frames {
            if let Frame::Data { flow, offset, len, .. } = *frame
                && let Some(flow) = self.gateway.flow_stats(flow)
            {
                let end = offset + u64::from(len);
                assert!(end <= flow.consumed && (flow.limit == 0 || end <= flow.limit), "{frame:?} of {flow:?}");
            }
        }
        let mut octets = Vec::new();
        packet.encode(&mut octets, |_, _, len, out| out.resize(out.len() + len as usize, 0));
        assert_eq!(TpPacket::decode(&octets, packet.number).map(|decoded| decoded.packet).as_ref(), Ok(packet));
        self.sends.truncate(WAITING - 1);
        self.sends.push_front(octets);
    }
}
