//! Two gateways, hosts behind them, and a link between that delays, reorders, loses and duplicates. Every guarantee of
//! a gateway is checked at every step.

use std::collections::{BTreeMap, BTreeSet};

use std::sync::Arc;

use cellway_gateway::{
    Action, Classes, FlowId, Frame, Gateway, GatewayConfig, Output, Reason, Request, Server, TpPacket,
};
use cellway_units::{Bits, Rate, Span, Time};

use super::host::{Host, Plan};

/// SplitMix64: small, seeded, the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn per_mille(&mut self, n: u64) -> bool {
        self.next() % 1000 < n
    }
}

/// The treatment of packets by the link, in both directions.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    pub delay: Span,
    /// Added at random to each packet, so that later ones overtake.
    pub jitter: Span,
    pub loss_per_mille: u64,
    pub duplicate_per_mille: u64,
    /// Most losses, so that every run ends.
    pub losses: u32,
    /// Packets sent from the first instant up to the second are lost.
    pub outage: Option<(Time, Time)>,
    /// A queue before it in each direction: its service rate and its size.
    pub queue: Option<(Rate, Bits)>,
    /// The same from the second gateway to the first, if it differs.
    pub queue_back: Option<(Rate, Bits)>,
}

impl Line {
    pub fn good(delay: Span) -> Line {
        Line {
            delay,
            jitter: Span::ZERO,
            loss_per_mille: 0,
            duplicate_per_mille: 0,
            losses: 0,
            outage: None,
            queue: None,
            queue_back: None,
        }
    }
}

/// One flow: its opener, its start, and the plans of the hosts (the opener first).
#[derive(Clone, Copy, Debug)]
pub struct FlowPlan {
    pub opener: usize,
    pub start: Time,
    pub refuse: bool,
    /// Set if the client is answered at once.
    pub early: bool,
    pub hosts: [Plan; 2],
}

/// A packet that left a gateway.
#[derive(Clone, Debug)]
pub struct Departure {
    pub at: Time,
    pub side: usize,
    pub packet: TpPacket,
}

enum Event {
    Start(FlowId),
    Packet(usize, TpPacket),
    Connect(usize, FlowId),
    Tick(usize, FlowId),
}

/// The bytes of one direction of one flow that have reached the far gateway.
#[derive(Default)]
struct Arrived {
    prefix: u64,
    beyond: BTreeSet<(u64, u64)>,
}

impl Arrived {
    fn add(&mut self, start: u64, end: u64) {
        self.beyond.insert((start, end));
        while let Some(&(_, end)) = self.beyond.first().filter(|r| r.0 <= self.prefix) {
            self.beyond.pop_first();
            self.prefix = self.prefix.max(end);
        }
    }
}

pub struct Pair {
    pub gateways: [Gateway; 2],
    configs: [GatewayConfig; 2],
    pub line: Line,
    pub hosts: BTreeMap<(usize, FlowId), Host>,
    flows: BTreeMap<FlowId, FlowPlan>,
    arrived: BTreeMap<(usize, FlowId), Arrived>,
    events: BTreeMap<(Time, u64), Event>,
    pub now: Time,
    count: u64,
    random: Random,
    lost: u32,
    pub departures: Vec<Departure>,
    /// The times at which the queues before the link are empty, and the waits of packets in them (side, sent at, wait).
    free: [Time; 2],
    pub waits: Vec<(usize, Time, Span)>,
    /// The bits that passed them.
    pub carried: [u64; 2],
    /// The least of (bits sent before) x 10^12 - rate x time over all departures so far.
    rate_floor: [i128; 2],
    bits_sent: [i128; 2],
    pub tick: Span,
    /// The delay with which the gateways are woken.
    pub late: Span,
    /// The clocks of the gateways are ahead by this time.
    pub clocks: [Span; 2],
    /// The gateways are woken and receive packets at multiples of this time, as a daemon that sleeps between its
    /// passes.
    pub pass: Span,
    /// Ports of servers; 0 for a flow that does not exist here.
    pub ports: BTreeMap<FlowId, u16>,
    /// Set if hosts mark the last byte of each third burst as urgent.
    pub marks: bool,
    /// The marks of each host, and the last one that was reported to it.
    marked: BTreeMap<(usize, FlowId), BTreeSet<u64>>,
    told: BTreeMap<(usize, FlowId), u64>,
}

impl Pair {
    pub fn new(configs: [GatewayConfig; 2], line: Line, plans: &[FlowPlan], seed: u64) -> Pair {
        let mut pair = Pair {
            gateways: configs.map(|config| Gateway::new(config).unwrap()),
            configs,
            line,
            hosts: BTreeMap::new(),
            flows: BTreeMap::new(),
            arrived: BTreeMap::new(),
            events: BTreeMap::new(),
            now: Time::ZERO,
            count: 0,
            random: Random(seed),
            lost: 0,
            departures: Vec::new(),
            free: [Time::ZERO; 2],
            waits: Vec::new(),
            carried: [0; 2],
            rate_floor: [i128::MAX; 2],
            bits_sent: [0; 2],
            tick: Span::from_ms(1),
            late: Span::ZERO,
            clocks: [Span::ZERO; 2],
            pass: Span::ZERO,
            ports: BTreeMap::new(),
            marks: false,
            marked: BTreeMap::new(),
            told: BTreeMap::new(),
        };
        for (n, plan) in plans.iter().enumerate() {
            // Even identifiers at side 0, odd ones at side 1.
            let flow = FlowId((2 * n + plan.opener) as u64);
            pair.flows.insert(flow, *plan);
            pair.hosts.insert((plan.opener, flow), Host::new(plan.hosts[0]));
            pair.hosts.insert((1 - plan.opener, flow), Host::new(plan.hosts[1]));
            pair.at(plan.start, Event::Start(flow));
        }
        pair
    }
    fn at(&mut self, time: Time, event: Event) {
        self.count += 1;
        self.events.insert((time, self.count), event);
    }

    /// Returns the start of the pass that processes an event of the time `at`.
    fn next_pass(&self, at: Time) -> Time {
        if self.pass == Span::ZERO { at } else { Time::from_ps(at.as_ps().next_multiple_of(self.pass.as_ps())) }
    }

    /// Runs up to and including `until`, or until no event is left.
    pub fn run(&mut self, until: Time) {
        loop {
            let event = self.events.first_key_value().map(|(&(at, _), _)| at);
            let wakes = [0, 1].map(|side| {
                let deadline =
                    self.gateways[side].deadline().map(|(at, _)| Time::ZERO + at.since(Time::ZERO + self.clocks[side]));
                deadline.map(|at| self.next_pass(at + self.late))
            });
            let Some(next) = [event, wakes[0], wakes[1]].into_iter().flatten().min().filter(|&at| at <= until) else {
                return;
            };
            self.now = self.now.max(next);
            if event == Some(next) {
                let (_, event) = self.events.pop_first().unwrap();
                self.happen(event);
            } else {
                let side = usize::from(wakes[0] != Some(next));
                self.call(side, |gateway, now, out| gateway.wake(now, out));
            }
        }
    }
    fn happen(&mut self, event: Event) {
        match event {
            Event::Start(flow) => {
                let FlowPlan { opener, early, .. } = self.flows[&flow];
                let port = self.ports.get(&flow).copied().unwrap_or(0);
                let server = Server::Address(([0; 4], port).into());
                let request = Arc::new(Request { early, server, ..Request::UNNAMED });
                self.call(opener, |gateway, now, out| gateway.incoming(now, flow, request, out))
            }
            Event::Packet(side, packet) => {
                for frame in &packet.frames {
                    if let Frame::Data { flow, offset, len, .. } = *frame {
                        self.arrived.entry((side, flow)).or_default().add(offset, offset + u64::from(len));
                    }
                }
                self.call(side, |gateway, now, out| gateway.receive(now, &packet, out));
            }
            Event::Connect(side, flow) => {
                if self.flows[&flow].refuse {
                    self.call(side, |gateway, now, out| gateway.refused(now, flow, Reason::Refused, out));
                } else {
                    self.hosts.get_mut(&(side, flow)).unwrap().connected = true;
                    self.call(side, |gateway, now, out| gateway.connected(now, flow, out));
                    self.tick(side, flow);
                }
            }
            Event::Tick(side, flow) => self.tick(side, flow),
        }
    }
    fn tick(&mut self, side: usize, flow: FlowId) {
        let host = self.hosts.get_mut(&(side, flow)).unwrap();
        let deeds = host.tick();
        let done = host.over && host.read == host.written;
        if let Some(room) = deeds.room {
            self.call(side, |gateway, now, out| gateway.writable(now, flow, room, out));
        }
        if deeds.sent > 0 {
            let last = self.hosts[&(side, flow)].sent - 1;
            if self.marks && last.is_multiple_of(3) {
                self.gateways[side].urgent(flow, last);
                self.marked.entry((side, flow)).or_default().insert(last);
            }
            self.call(side, |gateway, now, out| gateway.received(now, flow, deeds.sent, out));
        }
        if deeds.closed {
            self.call(side, |gateway, now, out| gateway.local_closed(now, flow, out));
        }
        if deeds.reset {
            self.call(side, |gateway, now, out| gateway.local_reset(now, flow, Reason::Reset, out));
        } else if !done {
            self.at(self.now + self.tick, Event::Tick(side, flow));
        }
    }

    pub fn set_classes(&mut self, side: usize, classes: Classes) {
        self.call(side, |gateway, now, out| gateway.set_classes(now, classes, out));
    }
    fn call(&mut self, side: usize, call: impl FnOnce(&mut Gateway, Time, &mut Output)) {
        let mut out = Output::default();
        call(&mut self.gateways[side], self.now + self.clocks[side], &mut out);
        out.actions.iter().for_each(|action| self.act(side, action));
        out.packets.into_iter().for_each(|packet| self.depart(side, packet));
        self.check_buffers(side);
    }
    fn act(&mut self, side: usize, action: &Action) {
        let flow = action.flow();
        let (now, tick) = (self.now, self.tick);
        let host = self.hosts.get_mut(&(side, flow)).unwrap();
        assert!(!host.over, "{action:?} after the end");
        match *action {
            Action::Connect { .. } => self.at(now + tick, Event::Connect(side, flow)),
            Action::Accept { .. } => {
                assert!(!host.connected);
                host.connected = true;
                self.at(now + tick, Event::Tick(side, flow));
            }
            Action::Refuse { reason, .. } => {
                assert_eq!(reason, Reason::Refused);
                host.refused = true;
            }
            Action::Consume { bytes, .. } => host.consume(bytes),
            Action::Released { bytes, .. } => host.release(bytes),
            Action::Write { bytes, .. } => {
                host.write(bytes);
                let written = host.written;
                let prefix = self.arrived[&(side, flow)].prefix;
                assert!(written <= prefix, "wrote up to {written}, in order up to {prefix}");
            }
            Action::Urgent { at, .. } => {
                assert!(at < host.written && self.marked[&(1 - side, flow)].contains(&at), "{action:?}");
                let before = self.told.insert((side, flow), at);
                assert!(before < Some(at), "{action:?} after {before:?}");
            }
            Action::Ending { .. } => assert!(!host.was_reset),
            Action::Shutdown { .. } => {
                assert!(!host.peer_closed);
                host.peer_closed = true;
            }
            Action::Reset { .. } => host.was_reset = true,
            Action::Closed { reason, .. } => (host.over, host.ended_by) = (true, reason),
            ref other => panic!("{other:?}"),
        }
    }
    fn depart(&mut self, side: usize, packet: TpPacket) {
        let config = &self.configs[side];
        let octets = config.transport.overhead() + packet.octets();
        assert!(u64::from(octets) <= config.mtu.0);
        // Over any interval: the bits that left before its last packet are at most rate x length. A picosecond of the
        // rate is the resolution of the clock.
        let bps = i128::from(config.rate.as_bps());
        let level = self.bits_sent[side] * 1_000_000_000_000 - bps * i128::from(self.now.as_ps());
        self.rate_floor[side] = self.rate_floor[side].min(level);
        let made_up = bps * i128::from(config.slack.as_ps());
        assert!(level - self.rate_floor[side] <= bps + made_up, "the rate was exceeded");
        self.bits_sent[side] += i128::from(config.wire.bits(octets).0);

        let line = self.line;
        let lost = self.lost < line.losses && self.random.per_mille(line.loss_per_mille);
        let out = line.outage.is_some_and(|(from, to)| (from..to).contains(&self.now));
        self.lost += u32::from(lost);
        let through = self.queue(side, config.wire.bits(octets)).filter(|_| !lost && !out);
        if let Some(wait) = through {
            let copies = 1 + u32::from(self.random.per_mille(line.duplicate_per_mille));
            for _ in 0..copies {
                let jitter = Span::from_ps(self.random.next() % line.jitter.as_ps().max(1));
                let at = self.next_pass(self.now + wait + line.delay + jitter);
                self.at(at, Event::Packet(1 - side, packet.clone()));
            }
        }
        self.departures.push(Departure { at: self.now, side, packet });
    }
    /// Returns the time that a packet of `bits` takes through the queue; `None` if it is full.
    fn queue(&mut self, side: usize, bits: Bits) -> Option<Span> {
        let queue = if side == 1 { self.line.queue_back.or(self.line.queue) } else { self.line.queue };
        let Some((rate, room)) = queue else { return Some(Span::ZERO) };
        let wait = self.free[side].since(self.now);
        let (service, _) = rate.time_for(bits, 0);
        if wait + service > rate.time_for(room, 0).0 {
            return None;
        }
        self.waits.push((side, self.now, wait));
        self.carried[side] += bits.0;
        self.free[side] = self.now + wait + service;
        Some(wait + service)
    }
    fn check_buffers(&self, side: usize) {
        let (gateway, config) = (&self.gateways[side], &self.configs[side]);
        let mut held = 0;
        for &flow in self.flows.keys() {
            if let Some(stats) = gateway.flow_stats(flow) {
                assert!(stats.held_outbound <= config.window.most().0, "{stats:?}");
                assert!(stats.held_inbound <= config.window.most().0, "{stats:?}");
                held += stats.held_outbound + stats.held_inbound;
            }
        }
        let stats = gateway.stats();
        assert_eq!(stats.buffered, held);
        assert!(held <= stats.committed && stats.committed <= config.total_buffer.0, "{stats:?}");
        assert!(stats.buffered <= stats.buffered_max && stats.buffered_max <= config.total_buffer.0);
        assert_eq!(stats.violations, 0);
    }

    pub fn host(&self, side: usize, flow: FlowId) -> &Host {
        &self.hosts[&(side, flow)]
    }
    /// Checks that each flow ended as its hosts planned, and that the gateways hold nothing.
    pub fn check_ends(&self) {
        for (&flow, plan) in &self.flows {
            let [near, far] = [plan.opener, 1 - plan.opener].map(|side| self.host(side, flow));
            // The far side had no memory for a client that was answered early.
            if plan.early && near.ended_by == Some(Reason::Busy) {
                assert!(near.over && near.was_reset && !far.connected, "{flow:?} {near:?} {far:?}");
                assert!(self.gateways[1 - plan.opener].stats().refused(Reason::Busy) > 0);
                continue;
            }
            if plan.refuse {
                // A client that was answered early is reset.
                let told = near.refused != (near.was_reset || near.did_reset) && near.refused != near.connected;
                assert!(told && near.over && near.connected <= plan.early, "{flow:?} {near:?} {far:?}");
                assert!(near.did_reset || near.ended_by == Some(Reason::Refused), "{flow:?} {near:?}");
                assert!(near.did_reset || far.over, "{flow:?} {near:?} {far:?}");
                continue;
            }
            // A client that was answered early and reset before the `Open` left.
            if near.did_reset && plan.early && !far.over && !far.connected {
                assert!(near.over, "{flow:?} {near:?}");
                continue;
            }
            let resets = plan.hosts.iter().any(|host| host.resets_after.is_some());
            for side in [0, 1] {
                let last = self.marked.get(&(side, flow)).and_then(BTreeSet::last);
                assert!(resets || self.told.get(&(1 - side, flow)) == last, "{flow:?}: the mark at {last:?} is lost");
            }
            for (own, other) in [(near, far), (far, near)] {
                assert!(own.over, "{flow:?} has not ended: {own:?} {other:?}");
                let reasons = [None, Some(Reason::Reset)];
                assert!(reasons[..=usize::from(resets)].contains(&own.ended_by), "{flow:?} {own:?}");
                if resets {
                    assert!(own.was_reset || own.did_reset || own.peer_closed, "{flow:?} {own:?} {other:?}");
                } else {
                    assert!(!own.was_reset, "{flow:?} was reset: {own:?}");
                    assert_eq!((own.read, own.peer_closed), (other.plan.bytes, true), "{flow:?} {own:?} {other:?}");
                }
                // A reset arrived after all bytes that were consumed before it.
                if own.was_reset && other.did_reset {
                    assert_eq!(own.written, other.consumed, "{flow:?} {own:?} {other:?}");
                }
            }
        }
        for gateway in &self.gateways {
            let stats = gateway.stats();
            assert_eq!((stats.flows, stats.buffered), (0, 0), "{stats:?}");
        }
    }
}
