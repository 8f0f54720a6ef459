//! Memory that was granted to idle flows returns to those that need it.
#![allow(clippy::unwrap_used)]

#[allow(unreachable_pub, dead_code, reason = "shared with other tests")]
mod common;

use std::collections::BTreeMap;

use cellway_gateway::{Action, FlowId, Frame, Gateway, GatewayConfig, Output, Reason, TpPacket, Window};
use cellway_units::{Bytes, Rate, Span, Time};
use common::script::{FLOW, NOTHING, Script, WINDOW, asked, config, data, open};

const DELAY: Span = Span::from_ms(50);

/// Two gateways and a link of 1 Gbit/s; hosts that read everything at once.
struct Line {
    gateways: [Gateway; 2],
    packets: BTreeMap<(Time, u64), (usize, TpPacket)>,
    count: u64,
    now: Time,
}

impl Line {
    fn new(config: GatewayConfig) -> Line {
        let gateways = [(); 2].map(|()| Gateway::new(config).unwrap());
        Line { gateways, packets: BTreeMap::new(), count: 0, now: Time::ZERO }
    }
    fn call(&mut self, side: usize, call: impl FnOnce(&mut Gateway, Time, &mut Output)) {
        let mut out = Output::default();
        call(&mut self.gateways[side], self.now, &mut out);
        while let Some(action) = out.actions.pop() {
            let gateway = &mut self.gateways[side];
            match action {
                Action::Connect { flow, .. } => {
                    gateway.connected(self.now, flow, &mut out);
                    gateway.writable(self.now, flow, 1 << 40, &mut out);
                }
                Action::Accept { flow } => gateway.writable(self.now, flow, 1 << 40, &mut out),
                Action::Reset { .. } | Action::Refuse { .. } => panic!("{action:?}"),
                _ => {}
            }
        }
        let stats = self.gateways[side].stats();
        assert!(stats.committed <= self.gateways[side].config().total_buffer.0, "{stats:?}");
        for packet in out.packets {
            self.count += 1;
            self.packets.insert((self.now + DELAY, self.count), (1 - side, packet));
        }
    }
    fn run(&mut self, until: Time) {
        loop {
            let arrival = self.packets.first_key_value().map(|(key, _)| key.0);
            let wakes = [0, 1].map(|side| self.gateways[side].deadline().map(|(at, _)| at));
            let Some(next) = [arrival, wakes[0], wakes[1]].into_iter().flatten().min().filter(|&at| at <= until) else {
                self.now = until;
                return;
            };
            self.now = self.now.max(next);
            if arrival == Some(next) {
                let (_, (side, packet)) = self.packets.pop_first().unwrap();
                self.call(side, |gateway, now, out| gateway.receive(now, &packet, out));
            } else {
                self.call(usize::from(wakes[0] != Some(next)), |gateway, now, out| gateway.wake(now, out));
            }
        }
    }
    /// Returns the remaining credit of the near host for a flow, as the far gateway has announced it.
    fn credit(&self, flow: FlowId) -> u64 {
        let stats = self.gateways[0].flow_stats(flow).unwrap();
        stats.limit - (stats.consumed - stats.held_outbound)
    }
}

#[test]
fn ten_thousand_idle_flows_leave_a_busy_one_its_window() {
    let (window, floor) = (1 << 20, 2048);
    let config = GatewayConfig {
        window: Window::Fixed(Bytes(window)),
        floor: Bytes(floor),
        total_buffer: Bytes(1 << 30),
        credit_every: 8,
        payload: Bytes(1200),
        mtu: Bytes(1300),
        ..GatewayConfig::new(Rate::from_bps(1_000_000_000))
    };
    let mut line = Line::new(config);
    let idle: Vec<FlowId> = (0..10_000).map(|n| FlowId(2 * n)).collect();
    for &flow in &idle {
        line.call(0, |gateway, now, out| gateway.incoming(now, flow, asked(), out));
        line.call(0, |gateway, now, out| gateway.received(now, flow, 100, out));
    }
    line.run(Time::ZERO + Span::from_ms(900));
    // The first ones were granted a window, the last ones the guaranteed bytes; most of the memory is granted.
    assert_eq!(line.credit(idle[0]), window - 100);
    assert!(line.credit(idle[9_999]) <= floor);
    let stats = line.gateways.each_ref().map(Gateway::stats);
    assert!(stats.iter().all(|s| s.committed > 850 << 20 && s.given_back == 0), "{stats:?}");

    // One has much to send. When the others have idled for a second they return its window, within these round trips:
    // for the `Open`, for the request of memory, for the credit, and the rest of the second.
    let busy = FlowId(20_000);
    line.call(0, |gateway, now, out| gateway.incoming(now, busy, asked(), out));
    line.call(0, |gateway, now, out| gateway.received(now, busy, 1 << 40, out));
    line.run(line.now + DELAY * 3);
    assert!(line.credit(busy) <= floor);
    line.run(Time::ZERO + Span::from_secs(1) + DELAY * 8);
    let held = line.gateways[0].flow_stats(busy).unwrap().held_outbound;
    // All but the bytes that the peer has received and for which it has not granted new credit.
    assert!(held >= window * 15 / 16, "{held}");
    assert!(line.credit(busy) >= window / 2, "{}", line.credit(busy));
    let stats = line.gateways.each_ref().map(Gateway::stats);
    assert!(stats.iter().all(|s| s.given_back > 300 << 20 && s.committed < 1 << 29), "{stats:?}");

    // A flow that idled has the guaranteed bytes at once, and its window a round trip later.
    line.call(0, |gateway, now, out| gateway.received(now, idle[0], 1 << 40, out));
    line.run(line.now + DELAY * 6);
    assert!(line.gateways[0].flow_stats(busy).unwrap().held_outbound >= window * 15 / 16);
}

#[test]
fn flows_that_wait_for_memory_get_it_without_traffic() {
    let config = GatewayConfig {
        window: Window::Fixed(Bytes(1 << 20)),
        floor: Bytes(4_000),
        total_buffer: Bytes(1 << 20),
        payload: Bytes(1200),
        mtu: Bytes(1300),
        ..GatewayConfig::new(Rate::from_bps(1_000_000_000))
    };
    // Memory for 65 flows of each origin, all opened by one side, as far as granted memory permits.
    let mut line = Line::new(config);
    let flows: Vec<FlowId> = (0..65).map(|n| FlowId(2 * n)).collect();
    for &flow in &flows {
        line.call(0, |gateway, now, out| gateway.incoming(now, flow, asked(), out));
    }
    for n in 0..65 {
        line.call(1, |gateway, now, out| gateway.incoming(now, FlowId(2 * n + 1), asked(), out));
    }
    line.run(Time::ZERO + Span::from_secs(10));
    let stats = line.gateways.each_ref().map(Gateway::stats);
    assert!(stats.iter().any(|s| s.given_back > 0), "{stats:?}");
    assert!(stats.iter().all(|s| s.flows == 130 && s.flows_opening == 0), "{stats:?}");
}

/// Creates a gateway with one flow that was granted a window, and the peer's view of it.
fn relaying() -> Script {
    let floor = Bytes(1000);
    let window = Window::Fixed(Bytes(WINDOW));
    let mut s = Script::with(GatewayConfig { window, floor, total_buffer: Bytes(40_000), ..config() });
    s.local(|g, now, out| g.incoming(now, FLOW, asked(), out));
    s.ack(0, 0);
    s.peer(&[Frame::Accepted { flow: FLOW, limit: 10_000 }]);
    s.local(|g, now, out| g.received(now, FLOW, 500, out));
    s.ack(0, s.sent() - 1);
    s
}
fn credit(limit: u64) -> Frame {
    Frame::Credit { flow: FLOW, limit }
}

#[test]
fn a_flow_idle_for_a_second_returns_credit_on_request() {
    let mut s = relaying();
    assert_eq!(s.peer(&[Frame::Recall]), NOTHING, "it has just sent");
    s.now += Span::from_ms(980);
    assert_eq!(s.peer(&[Frame::Recall]).0, []);
    // Not within a second of the last check, but then.
    assert_eq!(s.gateway.deadline().map(|(_, why)| why), Some("memory"));
    s.now += Span::from_secs(1);
    let back = |total, at| Frame::Return { flow: FLOW, total, at };
    assert_eq!(s.local(|g, now, out| g.wake(now, out)).0, [back(8500, 500)]);
    let sent = s.sent();
    assert_eq!(s.gateway.deadline().map(|(_, why)| why), Some("probe"));
    // A limit that was announced before the peer received the return counts on top, an old one does not.
    s.peer(&[credit(10_000), credit(10_500)]);
    assert_eq!(s.gateway.flow_stats(FLOW).unwrap().limit, 2000);
    // If lost, it is retransmitted as long as it is the last one.
    s.peer(&[Frame::Recall]);
    s.local(|g, now, out| g.received(now, FLOW, 1, out));
    s.local(|g, now, out| g.received(now, FLOW, 1, out));
    s.local(|g, now, out| g.received(now, FLOW, 1, out));
    let (frames, _) = s.ack(sent + 1, s.sent() - 1);
    assert_eq!(frames, [back(8500, 500)]);
    s.ack(0, s.sent() - 1);
    s.now += Span::from_ms(1100);
    assert_eq!(s.peer(&[Frame::Recall]).0, []);
    s.now += Span::from_ms(1100);
    s.peer(&[credit(12_000)]);
    assert_eq!(s.peer(&[Frame::Recall]).0, [back(8500 + 1997, 503)]);
}

#[test]
fn using_returned_credit_is_a_violation() {
    let mut far = Script::accepted();
    assert_eq!(far.peer(&[Frame::Return { flow: FLOW, total: WINDOW - 1000, at: 0 }]), NOTHING);
    assert_eq!(far.gateway.wanted(FLOW), Some(0..1000));
    far.peer(&[data(1, 1000, false)]);
    assert_eq!(far.gateway.stats().violations, 1);
    let mut far = Script::accepted();
    far.peer(&[data(0, 1000, false)]);
    far.peer(&[Frame::Return { flow: FLOW, total: WINDOW - 999, at: 999 }]);
    assert_eq!(far.gateway.stats().violations, 1);
}

/// Creates a gateway with memory for four windows, and a host that has accepted 100 of the 3,000 bytes that it was
/// asked to write.
fn slow_host() -> Script {
    let cost = Bytes(500);
    let mut s = Script::with(GatewayConfig { total_buffer: Bytes(20_000), confirmed_writes: true, cost, ..config() });
    s.peer(&[open(FLOW, WINDOW)]);
    s.local(|g, now, out| g.connected(now, FLOW, out));
    s.local(|g, now, out| g.writable(now, FLOW, 3000, out));
    for n in 0..4 {
        s.peer(&[data(1000 * n, 1000, false)]);
    }
    s.local(|g, now, out| g.wrote(now, FLOW, 100, 0, out));
    s
}

#[test]
fn unwritten_bytes_count_as_memory_after_the_peer_is_lost() {
    let mut s = slow_host();
    s.local(|g, now, out| g.down(now, Reason::PeerLost, out));
    // Bytes that it was not asked to write are discarded.
    assert_eq!((s.gateway.stats().committed, s.gateway.leftover()), (3400, Bytes(3400)));
    // The memory stays in use each time: 16,600 B are not enough for two flows with guaranteed windows.
    for _ in 0..2 {
        s.local(|g, now, out| g.incoming(now, FlowId(3), asked(), out));
        assert_eq!(s.peer(&[open(FLOW, WINDOW)]).1, []);
        s.local(|g, now, out| g.down(now, Reason::PeerLost, out));
        assert_eq!(s.gateway.leftover(), Bytes(3400));
    }
    s.local(|g, now, out| g.incoming(now, FlowId(3), asked(), out));
    assert_eq!(s.peer(&[open(FLOW, WINDOW)]).1, []);
    // The host accepts more bytes, and the flow that waits is admitted.
    let (_, actions) = s.local(|g, now, out| g.set_leftover(now, Bytes(3000), out));
    assert!(matches!(actions[..], [Action::Connect { flow: FLOW, .. }]), "{actions:?}");
    s.local(|g, now, out| g.set_leftover(now, Bytes(0), out));
    assert_eq!(s.gateway.stats().committed, 2 * (2 * WINDOW + 500));
}

#[test]
fn unwritten_bytes_count_as_memory_after_a_violation_of_the_peer() {
    let mut s = slow_host();
    s.peer(&[data(1 << 40, 1, false)]);
    assert_eq!(s.gateway.stats().violations, 1);
    assert_eq!((s.gateway.stats().committed, s.gateway.leftover()), (3400, Bytes(3400)));
}
