//! Two gateways and their hosts, event by event.

use std::collections::BTreeMap;
use std::sync::Arc;

use cellway_gateway::{Action, FlowId, Gateway, GatewayConfig, Output, Reason, Request, Server, TpPacket};
use cellway_units::{Bytes, Span, Time};

use super::case::{Answer, Case, Fault, FlowPlan, PORTS};
use super::host::{Deeds, Host, Stage};
use super::line::Line;
use super::spec;

/// The interval between two ticks of a host.
const TICK: Span = Span::from_ms(20);
/// Most wakes that may be needed at one instant: for a packet, an acknowledgement, a loss, a probe, and timeouts of
/// connection attempts.
const WAKES: u32 = 64;
/// The time for which a kernel tries to connect, longer than any client of a case waits.
const PATIENCE: Span = Span::from_secs(40);
/// Everything must have ended within this time after the last planned event.
const REST: Span = Span::from_secs(1_200);

#[derive(Clone, Debug)]
enum Event {
    Start(usize),
    GivesUp(usize),
    Connect(usize, Option<Reason>),
    Tick(usize, usize),
    Packet {
        to: usize,
        epoch: u64,
        octets: Vec<u8>,
    },
    Fault(usize),
    /// A side notices the end of the connection with this number.
    Notice(usize, u64),
    Hold(usize, bool),
    /// The transport of a side was replaced while the connection had this number.
    Replaced(usize, u64),
}

/// One gateway, and the state of its caller.
pub(crate) struct Side {
    pub(crate) gateway: Gateway,
    /// Numbers the connections between the gateways; odd while it is down.
    pub(crate) epoch: u64,
    next: u64,
    /// The connection of each flow.
    pub(crate) flows: BTreeMap<FlowId, usize>,
}

pub(crate) struct World {
    pub(crate) case: Case,
    pub(crate) sides: [Side; 2],
    /// Hosts by connection: the client and the server, once they exist.
    pub(crate) hosts: Vec<[Option<Host>; 2]>,
    pub(crate) started: Vec<Option<Time>>,
    events: BTreeMap<(Time, u64), Event>,
    count: u64,
    pub(crate) now: Time,
    line: Line,
    /// The events of the case; the message of a failure has the last ones.
    pub(crate) trace: Vec<String>,
}

/// Returns the gateway as another program reads it from a snapshot.
fn copy(gateway: &Gateway) -> Gateway {
    let mut octets = Vec::new();
    ciborium::into_writer(gateway, &mut octets).unwrap();
    ciborium::from_reader(&*octets).unwrap()
}

impl World {
    pub(crate) fn new(case: &Case) -> World {
        let side = |n: usize| {
            let mut gateway = Gateway::new(case.configs[n]).unwrap().with_classes(case.classes[n].clone());
            gateway.set_transport(case.configs[n].transport, case.configs[n].reliable, None);
            Side { gateway, epoch: 0, next: n as u64, flows: BTreeMap::new() }
        };
        let mut world = World {
            case: case.clone(),
            sides: [side(0), side(1)],
            hosts: vec![[None, None]; case.flows.len()],
            started: vec![None; case.flows.len()],
            events: BTreeMap::new(),
            count: 0,
            now: Time::ZERO,
            line: Line::new(case),
            trace: Vec::new(),
        };
        for (n, plan) in case.flows.iter().enumerate() {
            world.at(Time::ZERO + plan.start, Event::Start(n));
        }
        for (n, fault) in case.faults.iter().enumerate() {
            let (Fault::Kill { at, .. }
            | Fault::Outage { from: at, .. }
            | Fault::Full { from: at, .. }
            | Fault::Upgrade { at, .. }
            | Fault::Payload { at, .. }) = *fault;
            world.at(Time::ZERO + at, Event::Fault(n));
        }
        world
    }
    fn at(&mut self, time: Time, event: Event) {
        self.count += 1;
        self.events.insert((time, self.count), event);
    }
    /// Returns the plan of a connection; [`World::which`] returns which of its hosts is at `side`, 0 for the client.
    pub(crate) fn plan(&self, n: usize) -> &FlowPlan {
        &self.case.flows[n]
    }
    pub(crate) fn which(&self, n: usize, side: usize) -> usize {
        usize::from(self.plan(n).opener != side)
    }

    /// Runs to the end, and checks that all connections have ended and all memory is free.
    pub(crate) fn run(&mut self) {
        let mut end = Time::ZERO + REST;
        let (mut wakes, mut last) = (0, None);
        loop {
            let event = self.events.first_key_value().map(|(&(at, _), _)| at);
            let wake = [0, 1].map(|side| self.sides[side].gateway.deadline().map(|(at, _)| at.max(self.now)));
            let Some(next) = [event, wake[0], wake[1]].into_iter().flatten().min() else { break };
            assert!(next < end, "not over after {:?}: {:?}, {:?}", next, self.events.first_key_value(), wake);
            (wakes, last) = if last == Some(next) { (wakes + 1, last) } else { (0, Some(next)) };
            assert!(wakes < 100_000, "for ever at {next:?}");
            self.now = next;
            if event == Some(next) {
                let Some((_, event)) = self.events.pop_first() else { break };
                if !matches!(event, Event::Tick(..) | Event::Packet { .. }) {
                    end = self.now + REST;
                    self.note(format!("{event:?}"));
                }
                self.happen(event);
            } else {
                self.wake(usize::from(wake[0] != Some(next)));
            }
        }
        spec::check_over(self);
    }
    fn note(&mut self, what: String) {
        self.trace.push(format!("{:?} {what}", self.now));
    }
    /// Wakes a gateway until nothing is due at this instant.
    fn wake(&mut self, side: usize) {
        for _ in 0..WAKES {
            self.call(side, |gateway, now, out| gateway.wake(now, out));
            let due = self.sides[side].gateway.deadline().is_some_and(|(at, _)| at <= self.now);
            if !due {
                return;
            }
        }
        panic!("{:?} is due for ever at {:?}", self.sides[side].gateway.deadline(), self.now);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Start(n) => self.start(n),
            Event::GivesUp(n) => {
                let side = self.plan(n).opener;
                let Some(host) = self.hosts[n][0].as_mut().filter(|host| host.stage == Stage::Held) else { return };
                (host.stage, host.closed_by) = (Stage::Closed, Some(Reason::TimedOut));
                self.about(side, n, |gateway, now, flow, out| gateway.local_reset(now, flow, Reason::TimedOut, out));
            }
            Event::Connect(n, refusal) => self.connected(n, refusal),
            Event::Tick(side, n) => self.tick(side, n),
            Event::Packet { to, epoch, octets } if self.sides[to].epoch == epoch => self.packet(to, &octets),
            Event::Packet { .. } => {}
            Event::Fault(n) => self.fault(self.case.faults[n]),
            Event::Notice(side, epoch) => {
                if self.sides[side].epoch != epoch {
                    return;
                }
                self.sides[side].epoch += 1;
                self.call(side, |gateway, now, out| gateway.down(now, Reason::PeerLost, out));
                assert!(self.sides[side].flows.is_empty(), "not told of their end: {:?}", self.sides[side].flows);
                // The last side to notice begins the next connection.
                if self.sides.iter().all(|side| side.epoch % 2 == 1) {
                    self.begin();
                }
            }
            Event::Replaced(side, epoch) => {
                if self.sides[side].epoch == epoch {
                    let GatewayConfig { transport, reliable, .. } = *self.sides[side].gateway.config();
                    self.call(side, |gateway, now, out| gateway.transport_replaced(now, transport, reliable, out));
                }
                self.call(side, |gateway, now, out| gateway.hold(now, false, out));
            }
            Event::Hold(side, held) => self.call(side, |gateway, now, out| gateway.hold(now, held, out)),
        }
    }
    fn begin(&mut self) {
        self.line.is_dead = false;
        for (n, side) in self.sides.iter_mut().enumerate() {
            (side.epoch, side.next) = (side.epoch + 1, n as u64);
            let config = *side.gateway.config();
            side.gateway.set_transport(config.transport, config.reliable, Some(self.case.line.delay * 2));
        }
    }
    fn fault(&mut self, fault: Fault) {
        match fault {
            Fault::Outage { from, lasts, at } => self.line.breaks(Time::ZERO + from + lasts, at),
            Fault::Kill { .. } if self.line.is_dead => {}
            Fault::Kill { noticed, .. } => {
                // All packets in flight are lost.
                self.events.retain(|_, event| !matches!(event, Event::Packet { .. }));
                self.line.is_dead = true;
                for side in [0, 1] {
                    self.at(self.now + noticed[side], Event::Notice(side, self.sides[side].epoch));
                }
            }
            Fault::Full { lasts, side, .. } => {
                self.call(side, |gateway, now, out| gateway.hold(now, true, out));
                self.at(self.now + lasts, Event::Hold(side, false));
            }
            Fault::Upgrade { .. } if self.line.is_dead || self.sides[0].epoch != self.sides[1].epoch => {}
            Fault::Upgrade { side, lasts, .. } => {
                self.sides[side].gateway = copy(&self.sides[side].gateway);
                self.events.retain(|_, event| !matches!(event, Event::Packet { .. }));
                for side in [0, 1] {
                    self.call(side, |gateway, now, out| gateway.hold(now, true, out));
                    self.at(self.now + lasts, Event::Replaced(side, self.sides[side].epoch));
                }
            }
            Fault::Payload { side, octets, .. } => {
                self.call(side, |gateway, now, out| gateway.set_payload(now, octets, out));
            }
        }
    }

    fn start(&mut self, n: usize) {
        let FlowPlan { opener, early, named, patience, hosts, .. } = *self.plan(n);
        let side = &mut self.sides[opener];
        // Like the daemon, which refuses a host while there is no peer.
        if side.epoch % 2 == 1 || side.gateway.is_unresponsive() {
            return;
        }
        let flow = FlowId(side.next);
        side.next += 2;
        side.flows.insert(flow, n);
        self.started[n] = Some(self.now);
        self.hosts[n][0] = Some(Host::new(hosts[0], n, 0, Stage::Held));
        let client = named.then(|| ([192, 0, 2, 1], 1000 + n as u16).into());
        let request = Request {
            client,
            server: Server::Name(format!("s{n}").into(), PORTS.start + n as u16 % PORTS.len() as u16),
            early,
        };
        self.call(opener, |gateway, now, out| gateway.incoming(now, flow, Arc::new(request), out));
        if !self.sides[opener].gateway.has_met(flow) {
            self.sides[opener].next -= 2;
        }
        if let Some(patience) = patience {
            self.at(self.now + patience, Event::GivesUp(n));
        }
    }
    fn connected(&mut self, n: usize, refusal: Option<Reason>) {
        let side = 1 - self.plan(n).opener;
        let now = self.now;
        let Some(host) = self.hosts[n][1].as_mut().filter(|host| host.stage == Stage::Connecting) else { return };
        if let Some(reason) = refusal {
            (host.stage, host.closed_by) = (Stage::Closed, Some(reason));
            return self.about(side, n, |gateway, now, flow, out| gateway.refused(now, flow, reason, out));
        }
        host.connect(now);
        self.about(side, n, |gateway, now, flow, out| gateway.connected(now, flow, out));
        self.tick(side, n);
    }
    fn tick(&mut self, side: usize, n: usize) {
        let (now, which) = (self.now, self.which(n, side));
        let confirmed = self.case.configs[side].confirmed_writes;
        let Some(host) = self.hosts[n][which].as_mut() else { return };
        let Deeds { took, room, sent, closed, reset } = host.tick(now, confirmed);
        let is_known = host.stage != Stage::Over;
        if took > 0 && !is_known {
            self.count_leftover(side);
        } else if took > 0 {
            let room = self.hosts[n][which].as_ref().map_or(0, |host| host.room);
            self.about(side, n, |gateway, now, flow, out| gateway.wrote(now, flow, took, room, out));
        } else if let Some(room) = room {
            self.about(side, n, |gateway, now, flow, out| gateway.writable(now, flow, room, out));
        }
        if sent > 0 {
            self.about(side, n, |gateway, now, flow, out| gateway.received(now, flow, sent, out));
        }
        if closed {
            self.about(side, n, |gateway, now, flow, out| gateway.local_closed(now, flow, out));
        }
        if reset {
            self.about(side, n, |gateway, now, flow, out| gateway.local_reset(now, flow, Reason::Reset, out));
        }
        if self.hosts[n][which].as_ref().is_some_and(Host::is_busy) {
            self.at(self.now + TICK, Event::Tick(side, n));
        }
    }
    /// Reports the memory of connections that have ended while their hosts still read.
    fn count_leftover(&mut self, side: usize) {
        let cost = self.case.configs[side].cost.0;
        let at_side =
            |(n, hosts): (usize, &[Option<Host>; 2])| hosts[self.which(n, side)].as_ref().map(|h| h.leftover(cost));
        let bytes = self.hosts.iter().enumerate().filter_map(at_side).sum();
        self.call(side, |gateway, now, out| gateway.set_leftover(now, Bytes(bytes), out));
    }

    fn packet(&mut self, side: usize, octets: &[u8]) {
        let expected = self.sides[side].gateway.expected();
        let decoded = TpPacket::decode(octets, expected).unwrap();
        let kept = self.keep(side, &decoded.packet, &octets[decoded.payload.clone()]);
        self.call(side, |gateway, now, out| gateway.receive(now, &decoded.packet, out));
        if !kept {
            // An `Open` in the same packet may have made the bytes acceptable.
            self.keep(side, &decoded.packet, &octets[decoded.payload]);
        }
    }
    /// Stores the bytes that the gateway accepts, before it writes them.
    fn keep(&mut self, side: usize, packet: &TpPacket, bytes: &[u8]) -> bool {
        let Some(cellway_gateway::Frame::Data { flow, offset, .. }) = packet.frames.last() else { return true };
        let Some(wanted) = self.sides[side].gateway.wanted(*flow) else { return false };
        if *offset + bytes.len() as u64 <= wanted.end
            && let Some(&n) = self.sides[side].flows.get(flow)
        {
            let which = self.which(n, side);
            if let Some(host) = &mut self.hosts[n][which] {
                host.place(*offset, bytes);
            }
        }
        true
    }

    /// Calls a gateway with the flow of a connection, if that has not ended.
    fn about(&mut self, side: usize, n: usize, act: impl FnOnce(&mut Gateway, Time, FlowId, &mut Output)) {
        let flow = self.sides[side].flows.iter().find(|&(_, &other)| other == n).map(|(&flow, _)| flow);
        let Some(flow) = flow else { return };
        self.call(side, |gateway, now, out| act(gateway, now, flow, out));
    }
    fn call(&mut self, side: usize, act: impl FnOnce(&mut Gateway, Time, &mut Output)) {
        let mut out = Output::default();
        let unresponsive = self.sides[side].gateway.is_unresponsive();
        act(&mut self.sides[side].gateway, self.now, &mut out);
        let unresponsive = unresponsive || self.sides[side].gateway.is_unresponsive();
        for action in &out.actions {
            if !matches!(action, Action::Consume { .. } | Action::Released { .. } | Action::Write { .. }) {
                self.note(format!("{side}: {action:?}"));
            }
            self.obey(side, action, unresponsive);
        }
        for packet in &out.packets {
            self.send(side, packet);
        }
        spec::check_side(self, side);
    }
    fn send(&mut self, side: usize, packet: &TpPacket) {
        let Side { gateway, flows, epoch, .. } = &self.sides[side];
        let most = gateway.config().mtu.0 as u32 - gateway.config().transport.overhead();
        assert!(packet.octets() <= most, "{} octets of {most}: {packet:?}", packet.octets());
        let mut octets = Vec::new();
        packet.encode(&mut octets, |flow, offset, len, out| {
            let host = flows.get(&flow).and_then(|&n| self.hosts[n][self.which(n, side)].as_ref());
            host.unwrap_or_else(|| panic!("bytes of {flow:?}")).copy_out(offset, len, out);
        });
        let epoch = *epoch;
        if epoch != self.sides[1 - side].epoch {
            // The other side is down, or has another connection.
            return;
        }
        for at in self.line.carry(self.now, side) {
            self.at(at, Event::Packet { to: 1 - side, epoch, octets: octets.clone() });
        }
    }
    fn obey(&mut self, side: usize, action: &Action, unresponsive: bool) {
        if let Action::Connect { flow, request } = action {
            return self.connect(side, *flow, request);
        }
        let flow = action.flow();
        let Some(&n) = self.sides[side].flows.get(&flow) else { panic!("{action:?} of no connection") };
        spec::check_reason(self, side, n, action, unresponsive);
        let (which, now) = (self.which(n, side), self.now);
        let confirmed = self.case.configs[side].confirmed_writes;
        let other = self.hosts[n][1 - which].clone();
        let absent = || panic!("{action:?} without another host");
        let host = self.hosts[n][which].as_mut().unwrap_or_else(|| panic!("{action:?} without a host"));
        match *action {
            Action::Accept { .. } => {
                assert_eq!(host.stage, Stage::Held);
                host.connect(now);
                self.at(now, Event::Tick(side, n));
            }
            Action::Refuse { reason, .. } => host.refuse(reason),
            Action::Consume { bytes, .. } => host.consume(bytes),
            Action::Released { bytes, .. } => host.release(bytes),
            Action::Write { bytes, .. } => host.write(bytes, &other.unwrap_or_else(absent), confirmed),
            Action::Shutdown { .. } => host.shutdown(&other.unwrap_or_else(absent)),
            Action::Ending { .. } => host.will_be_reset(),
            Action::Reset { reason, .. } => host.reset(reason),
            Action::Closed { reason, .. } => {
                host.end(reason, other.as_ref());
                self.sides[side].flows.remove(&flow);
            }
            ref other => panic!("{other:?}"),
        }
    }
    fn connect(&mut self, side: usize, flow: FlowId, request: &Request) {
        let Server::Name(name, _) = &request.server else { panic!("{request:?}") };
        let n: usize = name[1..].parse().unwrap();
        let FlowPlan { opener, early, answer, hosts, .. } = *self.plan(n);
        assert!(opener != side && request.early == early && self.hosts[n][1].is_none(), "{request:?} at {side}");
        self.sides[side].flows.insert(flow, n);
        self.hosts[n][1] = Some(Host::new(hosts[1], n, 1, Stage::Connecting));
        let lease = self.sides[side].gateway.lease_end(flow);
        if lease.is_some_and(|end| end <= self.now) {
            // It has waited for memory, and its client may be on another path.
            return self.at(self.now, Event::Connect(n, Some(Reason::PeerLost)));
        }
        match answer {
            Answer::Accept(after) => self.at(self.now + after, Event::Connect(n, None)),
            Answer::Refuse(after, reason) => self.at(self.now + after, Event::Connect(n, Some(reason))),
            // The kernel times out.
            Answer::Never => self.at(self.now + PATIENCE, Event::Connect(n, Some(Reason::TimedOut))),
        }
    }
}
