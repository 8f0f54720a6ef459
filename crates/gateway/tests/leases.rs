//! A client that bypasses the gateways never collides with the connection that the far gateway opens in its name,
//! however long packets take.
#![allow(clippy::unwrap_used)]

#[allow(unreachable_pub, dead_code, reason = "shared with other tests")]
mod common;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use cellway_gateway::{
    Action, FlowId, Frame, Gateway, GatewayConfig, Lease, Output, Reason, Request, Server, TpPacket, Transport,
};
use cellway_units::{Rate, Span, Time};
use common::pair::Random;

const NEAR: usize = 0;
const FAR: usize = 1;
/// The clock of the far gateway is ahead by this time.
const AHEAD: Span = Span::from_secs(1_000);

fn config() -> GatewayConfig {
    GatewayConfig {
        patience: Some(Span::from_secs(1)),
        bypass: true,
        tells_rate: true,
        times_acks: true,
        ..GatewayConfig::new(Rate::from_bps(30_000_000))
    }
}
fn ms(ms: u64) -> Span {
    Span::from_ms(ms)
}

/// The outcome of a connection attempt.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    asked: Option<Time>,
    accepted: Option<Time>,
    /// The time at which its SYN bypassed the gateways.
    passed: Option<Time>,
    /// The time at which the far gateway began to connect.
    connected: Option<Time>,
}

/// Two gateways, and a path whose delay may change in each direction. It keeps the order of packets.
struct Scene {
    gateways: [Gateway; 2],
    /// The delay of a packet that leaves now, towards the near and the far gateway.
    delays: [Span; 2],
    /// The far gateway is suspended up to then: its packets wait.
    suspended: Time,
    arrivals: [VecDeque<(Time, TpPacket)>; 2],
    lost: fn(&Frame) -> bool,
    fates: BTreeMap<FlowId, Fate>,
    /// Servers that the far gateway connects to now.
    wanted: Vec<FlowId>,
    now: Time,
}

impl Scene {
    fn new(config: GatewayConfig, delay: Span) -> Scene {
        let mut scene = Scene {
            gateways: [0, 1].map(|_| Gateway::new(config).unwrap()),
            delays: [delay; 2],
            suspended: Time::ZERO,
            arrivals: Default::default(),
            lost: |_| false,
            fates: BTreeMap::new(),
            wanted: Vec::new(),
            now: Time::ZERO,
        };
        for side in [NEAR, FAR] {
            scene.call(side, |gateway, now, out| {
                gateway.set_transport(Transport::Ip, false, Some(delay * 2));
                gateway.wake(now, out);
            });
        }
        scene.run(ms(2_000));
        scene
    }
    fn time(&self, side: usize) -> Time {
        if side == FAR { self.now + AHEAD } else { self.now }
    }
    fn ask(&mut self, number: u64) {
        let flow = FlowId(2 * number);
        let request = Request {
            client: Some("192.0.2.1:5000".parse().unwrap()),
            server: Server::Address("198.51.100.1:80".parse().unwrap()),
            early: false,
        };
        self.fates.insert(flow, Fate { asked: Some(self.now), ..Fate::default() });
        self.call(NEAR, |gateway, now, out| gateway.incoming(now, flow, Arc::new(request), out));
    }
    fn call(&mut self, side: usize, act: impl FnOnce(&mut Gateway, Time, &mut Output)) {
        let mut out = Output::default();
        let now = self.time(side);
        act(&mut self.gateways[side], now, &mut out);
        for packet in out.packets {
            if !packet.frames.iter().any(self.lost) {
                let last = self.arrivals[1 - side].back().map_or(Time::ZERO, |&(at, _)| at);
                self.arrivals[1 - side].push_back((last.max(self.now + self.delays[1 - side]), packet));
            }
        }
        for action in out.actions {
            let Some(fate) = self.fates.get_mut(&action.flow()) else { continue };
            match action {
                Action::Accept { .. } => fate.accepted = Some(self.now),
                Action::Refuse { reason, .. } => {
                    assert_eq!(reason, Reason::PeerLost);
                    fate.passed = Some(self.now);
                }
                Action::Connect { flow, .. } => {
                    fate.connected = Some(self.now);
                    self.wanted.push(flow);
                }
                _ => {}
            }
        }
    }
    fn run(&mut self, time: Span) {
        let end = self.now + time;
        loop {
            let awake = |side, at: Time| if side == FAR { at.max(self.suspended) } else { at };
            let arrivals = [NEAR, FAR].map(|side| self.arrivals[side].front().map(|&(at, _)| (awake(side, at), side)));
            let wakes = [NEAR, FAR].map(|side| {
                let at = self.gateways[side].deadline()?.0;
                let ahead = if side == FAR { AHEAD } else { Span::ZERO };
                Some((awake(side, Time::ZERO + at.since(Time::ZERO + ahead)), side))
            });
            let first = |events: [Option<(Time, usize)>; 2]| events.into_iter().flatten().min();
            let (arrival, wake) = (first(arrivals), first(wakes));
            let Some((at, side)) = [arrival, wake].into_iter().flatten().min().filter(|&(at, _)| at <= end) else {
                break;
            };
            self.now = self.now.max(at);
            if arrival.is_some_and(|arrival| arrival <= (at, side)) {
                let (_, packet) = self.arrivals[side].pop_front().unwrap();
                self.call(side, |gateway, now, out| gateway.receive(now, &packet, out));
            } else {
                self.call(side, |gateway, now, out| gateway.wake(now, out));
            }
            while let Some(flow) = self.wanted.pop() {
                assert!(self.gateways[FAR].lease_end(flow).is_some_and(|end| self.time(FAR) < end));
                self.call(FAR, |gateway, now, out| gateway.connected(now, flow, out));
            }
        }
        self.now = end;
    }
    /// Checks that the far gateway has connected for no client after its SYN bypassed the gateways.
    fn check(&self) {
        for (flow, fate) in &self.fates {
            if let (Some(passed), Some(connected)) = (fate.passed, fate.connected) {
                assert!(connected < passed, "{flow:?}: {fate:?}");
            }
        }
    }
    fn fate(&self, number: u64) -> Fate {
        self.fates[&FlowId(2 * number)]
    }
}

#[test]
fn where_the_delay_stays_all_are_carried() {
    for delay in [0, 1, 40, 300, 2_000] {
        let mut scene = Scene::new(config(), ms(40));
        scene.delays = [ms(delay); 2];
        (1..20).for_each(|number| {
            scene.ask(number);
            scene.run(ms(500));
        });
        scene.run(ms(20_000));
        scene.check();
        // Each packet is retransmitted before its acknowledgement can arrive: the first measured round trip ends at 7
        // s.
        let late = if delay == 2_000 { 12 } else { 1 };
        assert!((late..20).all(|number| scene.fate(number).accepted.is_some()), "{delay} ms: {:#?}", scene.fates);
        scene.run(Span::from_secs(3_600));
        scene.ask(20);
        scene.run(ms(5_000));
        assert!(scene.fate(20).accepted.is_some(), "after an hour without a packet");
    }
}

#[test]
fn an_open_that_arrives_after_the_end_of_its_client_connects_nowhere() {
    for (near, far) in [(1_000, 1_000), (1, 2_000), (2_000, 1)] {
        let mut scene = Scene::new(config(), ms(1));
        scene.delays = [ms(near), ms(far)];
        for number in 1..40 {
            scene.ask(number);
            scene.run(ms(100));
        }
        scene.run(ms(20_000));
        scene.check();
        let fates: Vec<Fate> = (1..40).map(|number| scene.fate(number)).collect();
        assert!(fates.iter().all(|fate| fate.passed.is_some() != fate.accepted.is_some()), "{fates:#?}");
        let passed = fates.iter().filter(|fate| fate.passed.is_some()).count();
        assert!((5..30).contains(&passed), "{passed} of them went past the gateways");
        let soon = |fate: &Fate| fate.passed.is_none_or(|passed| passed.since(fate.asked.unwrap()) < ms(2_100));
        assert!(fates.iter().all(soon), "{fates:#?}");
    }
}

#[test]
fn a_suspended_far_gateway_connects_for_no_client_that_has_bypassed_it() {
    let mut scene = Scene::new(config(), ms(10));
    scene.suspended = scene.now + ms(5_000);
    (1..20).for_each(|number| {
        scene.ask(number);
        scene.run(ms(20));
    });
    scene.run(ms(10_000));
    scene.check();
    assert!((1..20).all(|number| scene.fate(number).passed.is_some() && scene.fate(number).connected.is_none()));
}

#[test]
fn an_open_that_is_lost_and_sent_again_has_a_new_lease() {
    let mut scene = Scene::new(config(), ms(10));
    scene.lost = |frame| matches!(frame, Frame::Open { .. });
    scene.ask(1);
    scene.run(ms(400));
    scene.lost = |_| false;
    scene.run(ms(1_000));
    assert!(scene.fate(1).accepted.is_some());
}

/// The patience decreases with the round trip and its variation, but not for a lease that was granted before.
#[test]
fn round_trips_that_become_shorter_shorten_no_lease() {
    let mut scene = Scene::new(config(), ms(60));
    let mut number = 1;
    let mut ask = |scene: &mut Scene, count: u64, every: u64| {
        for _ in 0..count {
            scene.ask(number);
            scene.run(ms(every));
            number += 1;
        }
    };
    scene.delays = [ms(700); 2];
    ask(&mut scene, 3, 400);
    scene.run(ms(10_000));
    scene.delays = [ms(60); 2];
    scene.run(ms(2_000));
    // Their answers arrive after the last of all `Open` frames has left.
    ask(&mut scene, 100, 1);
    scene.delays[FAR] = ms(2_500);
    let last = scene.now;
    ask(&mut scene, 1, 1);
    scene.run(ms(300));
    // Retransmissions of the far gateway are lost as well until then.
    scene.delays[NEAR] = ms(2_500);
    scene.run(ms(200));
    let rtt = scene.gateways[NEAR].rtt();
    assert!(rtt < ms(200), "{rtt:?}");
    scene.run(ms(20_000));
    scene.check();
    let fate = scene.fate(104);
    assert!(fate.asked == Some(last) && fate.connected.is_some(), "{fate:?}");
    assert!(fate.accepted.or(fate.passed).is_some_and(|end| end > last + ms(2_500)), "{fate:?}");
}

/// Whatever the delays: no connection of the far gateway begins after its client has taken another route.
#[test]
fn random_delays_let_no_client_collide_with_itself() {
    let (mut passed, mut accepted) = (0, 0);
    for seed in 0..300 {
        let mut random = Random(seed);
        let mut scene = Scene::new(config(), ms(random.next() % 50));
        for number in 1..60 {
            if random.next().is_multiple_of(8) {
                scene.delays[random.next() as usize % 2] = ms([1, 30, 600, 1_500, 4_000][random.next() as usize % 5]);
            }
            if random.next().is_multiple_of(40) {
                scene.suspended = scene.now + ms(random.next() % 3_000);
            }
            scene.ask(number);
            scene.run(ms(random.next() % 300));
        }
        scene.run(ms(40_000));
        scene.check();
        passed += scene.fates.values().filter(|fate| fate.passed.is_some()).count();
        accepted += scene.fates.values().filter(|fate| fate.accepted.is_some()).count();
    }
    assert!(passed > 1_000 && accepted > 1_000, "{passed} past the gateways, {accepted} carried");
}

#[test]
fn only_clients_that_can_take_another_route_have_a_lease() {
    let lease = |config: GatewayConfig, request: Request| {
        let mut near = Gateway::new(config).unwrap();
        let mut out = Output::default();
        let rate = Frame::Rate { rate: Rate::from_bps(1_000_000) };
        near.receive(Time::ZERO + ms(7), &TpPacket { number: 3, frames: vec![rate] }, &mut out);
        near.incoming(Time::ZERO + ms(10), FlowId(0), Arc::new(request), &mut out);
        near.wake(Time::ZERO + ms(500), &mut out);
        let frames = out.packets.iter().flat_map(|packet| &packet.frames);
        frames
            .filter_map(|frame| if let Frame::Open { lease, .. } = frame { Some(*lease) } else { None })
            .next()
            .unwrap()
    };
    let client = || Request { client: Some("192.0.2.1:5000".parse().unwrap()), ..Request::UNNAMED };
    // Three probe timeouts before the first measurement.
    let within = lease(config(), client()).unwrap().within;
    assert!(within > ms(3_000) && within < ms(3_100), "{within:?}");
    assert_eq!(lease(config(), client()).unwrap(), Lease { after: 3, within });
    assert_eq!(lease(config(), Request::UNNAMED), None);
    assert_eq!(lease(config(), Request { early: true, ..client() }), None);
    assert_eq!(lease(GatewayConfig { bypass: false, ..config() }, client()), None);
    assert_eq!(lease(GatewayConfig { patience: None, ..config() }, client()), None);
}
