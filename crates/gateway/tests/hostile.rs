//! One authenticated peer that tries to exhaust a gateway: the memory that it can take is bounded, and it is
//! disconnected.
#![allow(clippy::unwrap_used, unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use cellway_gateway::{
    Ack, Action, Excess, FlowId, Frame, Gateway, GatewayConfig, Output, Reason, Request, TpPacket, Transport, Window,
};
use cellway_units::{Bytes, Rate, Span, Time};

thread_local! {
    /// Memory (bytes) allocated by this thread.
    static HELD: Cell<i64> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn add(bytes: i64) {
    // At the end of a thread the counter no longer exists.
    let _ = HELD.try_with(|held| held.set(held.get() + bytes));
}

// SAFETY: every call goes to the system's allocator unchanged; counting needs no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as i64);
        // SAFETY: the caller's layout.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        add(-(layout.size() as i64));
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Packets after which an attack counts as not stopped.
const PATIENCE: u64 = 3_000_000;
const MIB: i64 = 1 << 20;

/// A gateway configured by the daemon's settings, with 64 MiB for connections, and its peer.
struct Victim {
    gateway: Gateway,
    now: Time,
    number: u64,
    out: Output,
    /// Its memory before the attack.
    before: i64,
}

impl Victim {
    fn new(reliable: bool) -> Victim {
        let config = GatewayConfig {
            window: Window::Line { most: Bytes(64 << 20) },
            floor: Bytes(12 << 10),
            cost: Bytes(11 << 10),
            total_buffer: Bytes(64 << 20),
            transport: Transport::Quic { v6: false },
            reliable,
            payload: Bytes(1_325),
            mtu: Bytes(1_400),
            tells_rate: true,
            ack_every: 8,
            ..GatewayConfig::new(Rate::from_bps(1_000_000_000))
        };
        let before = HELD.get();
        let (gateway, out) = (Gateway::new(config).unwrap(), Output::default());
        Victim { gateway, now: Time::ZERO, number: 0, out, before }
    }
    /// Sends `frames` of the peer, 10 us after its last packet. Returns the packets that left and the actions for the
    /// local side.
    fn send(&mut self, frames: Vec<Frame>) -> (Vec<TpPacket>, Vec<Action>) {
        self.now += Span::from_us(10);
        self.gateway.receive(self.now, &TpPacket { number: self.number, frames }, &mut self.out);
        self.number += 1;
        while let Some((at, _)) = self.gateway.deadline().filter(|d| d.0 <= self.now) {
            self.gateway.wake(at, &mut self.out);
        }
        (std::mem::take(&mut self.out.packets), std::mem::take(&mut self.out.actions))
    }
    /// Repeats `attack` until the peer is disconnected; returns the cap that it has exceeded.
    fn until_cut(&mut self, mut attack: impl FnMut(&mut Victim, u64)) -> Excess {
        for n in 0..PATIENCE {
            attack(self, n);
            if let Some(excess) = self.gateway.excess() {
                return excess;
            }
        }
        panic!("not cut after {PATIENCE} packets, {} MiB: {:?}", self.memory() / MIB, self.gateway.stats());
    }
    /// Returns the memory that the attack has taken (bytes).
    fn memory(&self) -> i64 {
        HELD.get() - self.before
    }
    /// Opens a flow of the peer and connects it; its host accepts no bytes.
    fn connected(&mut self, flow: FlowId) {
        let open = Frame::Open { flow, limit: 1 << 20, lease: None, request: Request::UNNAMED.into() };
        self.send(vec![open]);
        self.gateway.connected(self.now, flow, &mut self.out);
    }
    /// Checks that packets of the peer are ignored and no timer is due, and that all memory is released with the
    /// connection to it.
    fn check_cut(mut self) {
        assert!(self.send(vec![Frame::Recall]).0.is_empty());
        assert_eq!(self.gateway.deadline(), None);
        self.gateway.down(self.now, Reason::Violation, &mut self.out);
        self.out = Output::default();
        assert_eq!((self.gateway.excess(), self.gateway.stats().flows), (None, 0));
        assert!(self.memory() < MIB / 4, "{} bytes are left", self.memory());
    }
}

fn ack(first: u64, last: u64) -> Frame {
    Frame::Ack(Ack { ranges: vec![(first, last)], delay: Span::ZERO, sent: None })
}
fn early(n: u64) -> Frame {
    // An early flow does not wait for memory: without memory it is refused.
    Frame::Open { flow: FlowId(n), limit: 0, lease: None, request: Request { early: true, ..Request::UNNAMED }.into() }
}
fn data(flow: FlowId, offset: u64) -> Frame {
    Frame::Data { flow, offset, len: 1, fin: false, early: false, urgent: false }
}
/// Acknowledges all packets that leave.
fn confirm(victim: &mut Victim, packets: &[TpPacket]) {
    if let Some(last) = packets.last().map(|packet| packet.number) {
        victim.send(vec![ack(0, last)]);
    }
}

#[test]
fn pieces_with_gaps_between_them() {
    let mut victim = Victim::new(false);
    let flow = FlowId(1);
    victim.gateway.set_transport(Transport::Quic { v6: false }, false, Some(Span::from_ms(600)));
    victim.connected(flow);
    let excess = victim.until_cut(|victim, n| {
        // Every second byte, so that no two join; backwards and forwards in turn.
        let place = if n % 2 == 0 { n } else { 1_000_000 - n };
        let (packets, _) = victim.send(vec![data(flow, 2 * place + 2)]);
        confirm(victim, &packets);
    });
    assert_eq!(excess, Excess::Gaps);
    assert!(victim.memory() < 12 * MIB, "{} MiB", victim.memory() / MIB);
    victim.check_cut();
}

#[test]
fn gaps_count_over_all_flows_and_go_with_them() {
    let mut victim = Victim::new(false);
    for n in 0..4 {
        victim.connected(FlowId(2 * n + 1));
    }
    for n in 0..400 {
        victim.send(vec![data(FlowId(2 * (n % 4) + 1), 2 * n + 2)]);
    }
    assert_eq!(victim.gateway.stats().gaps, 400);
    victim.send(vec![Frame::Reset { flow: FlowId(1), at: 0, reason: Reason::Reset }]);
    assert_eq!(victim.gateway.stats().gaps, 300);
    // All bytes that are missing in one of them.
    victim.send(vec![Frame::Data { flow: FlowId(3), offset: 0, len: 1_000, fin: false, early: false, urgent: false }]);
    assert_eq!(victim.gateway.stats().gaps, 200);
}

#[test]
fn refused_opens_with_chosen_identifiers() {
    let mut victim = Victim::new(false);
    // The memory for flows of the peer is full: more flows are refused.
    let full = victim.gateway.config().flows_per_origin();
    let frames: Vec<Frame> = (0..full).map(|n| early(2 * n + 1)).collect();
    frames.chunks(100).for_each(|frames| drop(victim.send(frames.to_vec())));
    let excess = victim.until_cut(|victim, n| {
        let place = if n % 2 == 0 { n } else { 1 << 40 };
        let (packets, _) = victim.send(vec![early(4 * (place + n + full) + 1)]);
        confirm(victim, &packets);
    });
    assert_eq!(excess, Excess::Identifiers);
    assert!(victim.memory() < 4 * MIB, "{} MiB", victim.memory() / MIB);
    let refused = victim.gateway.stats().declined_by[Reason::Busy.index()];
    let most = Excess::MOST_IDENTIFIERS as u64;
    // Each refusal leaves a gap behind it; open flows count in addition to the cap.
    assert!((most..=most + full + 1).contains(&refused), "{refused} of {most} and {full}");
    victim.check_cut();
}

#[test]
fn names_that_the_peer_resets_before_it_opens_them() {
    let mut victim = Victim::new(false);
    let excess = victim.until_cut(|victim, n| {
        let reset = |n: u64| Frame::Reset { flow: FlowId(4 * n + 1), at: 0, reason: Reason::Reset };
        let (packets, _) = victim.send((0..50).map(|k| reset(50 * n + k)).collect());
        confirm(victim, &packets);
    });
    assert_eq!(excess, Excess::Identifiers);
    victim.check_cut();
}

#[test]
fn refusals_that_are_never_acknowledged() {
    let mut victim = Victim::new(true);
    let excess = victim.until_cut(|victim, n| {
        // Credits for flows that never existed, each answered with a reset; the identifiers are in sequence.
        victim.send(vec![Frame::Credit { flow: FlowId(2 * n + 1), limit: 1 }]);
    });
    assert!(matches!(excess, Excess::Answers | Excess::Unacknowledged), "{excess:?}");
    assert!(victim.memory() < 16 * MIB, "{} MiB", victim.memory() / MIB);
    victim.check_cut();
}

#[test]
fn limits_that_are_never_acknowledged() {
    for reliable in [false, true] {
        let mut victim = Victim::new(reliable);
        let flow = FlowId(1);
        victim.connected(flow);
        victim.gateway.writable(victim.now, flow, 1 << 40, &mut victim.out);
        let mut sent = 0;
        let excess = victim.until_cut(|victim, _| {
            // A full packet; the host accepts it at once, and more is granted.
            let len = 1_300;
            let data = Frame::Data { flow, offset: sent, len, fin: false, early: false, urgent: false };
            sent += u64::from(len);
            victim.send(vec![data]);
        });
        assert_eq!(excess, Excess::Unacknowledged, "reliable: {reliable}");
        let most = victim.gateway.config().most_unacknowledged() as i64;
        assert!(victim.memory() < most * 3 / 2, "{} MiB of {}", victim.memory() / MIB, most / MIB);
        victim.check_cut();
    }
}

/// Flows that are reset before their `Open` can leave: the queue does not grow with them.
#[test]
fn short_connections_while_the_transport_accepts_nothing() {
    let mut victim = Victim::new(true);
    victim.gateway.hold(victim.now, true, &mut victim.out);
    let mut most = 0;
    for n in 0..300_000 {
        let (flow, now) = (FlowId(2 * n), victim.now + Span::from_us(10));
        victim.now = now;
        victim.gateway.incoming(now, flow, Request::UNNAMED.into(), &mut victim.out);
        victim.gateway.local_reset(now, flow, Reason::Reset, &mut victim.out);
        victim.out.clear();
        most = most.max(victim.memory());
    }
    assert!(most < 16 * MIB, "{} MiB", most / MIB);
    // The identifiers that the peer has received have no gap.
    victim.gateway.hold(victim.now, false, &mut victim.out);
    let after = FlowId(2 * 300_000);
    victim.gateway.incoming(victim.now, after, Request::UNNAMED.into(), &mut victim.out);
    for _ in 0..5_000 {
        victim.now += Span::from_us(100);
        victim.gateway.wake(victim.now, &mut victim.out);
    }
    let frames = || victim.out.packets.iter().flat_map(|packet| &packet.frames);
    assert_eq!(frames().filter(|frame| matches!(frame, Frame::Open { .. })).count(), 1);
    let resets: Vec<u64> =
        frames().filter(|f| matches!(f, Frame::Reset { .. })).filter_map(|f| Some(f.flow()?.0)).collect();
    let gaps = resets.windows(2).filter(|pair| pair[1] != pair[0] + 2).count();
    assert!(gaps == 0 && resets.first() == Some(&0), "{gaps} gaps in {} names", resets.len());
}

#[test]
fn all_but_the_oldest_packet_acknowledged() {
    let mut victim = Victim::new(true);
    let flow = FlowId(1);
    victim.connected(flow);
    victim.gateway.writable(victim.now, flow, 1 << 40, &mut victim.out);
    let (mut sent, mut newest) = (0, 0);
    let excess = victim.until_cut(|victim, _| {
        let len = 1_300;
        let data = Frame::Data { flow, offset: sent, len, fin: false, early: false, urgent: false };
        sent += u64::from(len);
        let mut frames = vec![data];
        if newest > 0 {
            frames.insert(0, ack(1, newest));
        }
        let (packets, _) = victim.send(frames);
        newest = packets.last().map_or(newest, |packet| packet.number);
    });
    assert_eq!(excess, Excess::Unacknowledged);
    let most = victim.gateway.config().most_unacknowledged() as i64;
    assert!(victim.memory() < most * 3 / 2, "{} MiB of {}", victim.memory() / MIB, most / MIB);
    victim.check_cut();
}

#[test]
fn one_unanswered_flow_keeps_no_later_ones_in_the_list() {
    let mut victim = Victim::new(false);
    let request: Arc<Request> = Request { early: false, ..Request::UNNAMED }.into();
    let open = |victim: &mut Victim, n: u64| {
        victim.now += Span::from_us(10);
        victim.gateway.incoming(victim.now, FlowId(2 * n), request.clone(), &mut victim.out);
        victim.send(vec![])
    };
    open(&mut victim, 0);
    for n in 1..100_000 {
        open(&mut victim, n);
        let (packets, _) = victim.send(vec![Frame::Refused { flow: FlowId(2 * n), reason: Reason::Refused }]);
        confirm(&mut victim, &packets);
    }
    assert_eq!(victim.gateway.stats().flows, 1);
    assert!(victim.memory() < MIB, "{} bytes", victim.memory());
}
