//! Ladders of flows whose client is answered before the server has answered.
#![allow(clippy::unwrap_used)]

#[allow(unreachable_pub, dead_code, reason = "shared with other tests")]
mod common;

use std::sync::Arc;

use cellway_gateway::{Action, FlowId, Frame, GatewayConfig, Reason, Request, Window};
use cellway_units::{Bits, Bytes, Span};
use common::script::{FLOW, NOTHING, Script, WINDOW, closed, config, data, refused, reset};

const EARLY: u64 = 2500;

fn early() -> Arc<Request> {
    Arc::new(Request { early: true, ..Request::UNNAMED })
}
fn open() -> Frame {
    Frame::Open { flow: FLOW, limit: WINDOW, lease: None, request: early() }
}
fn ahead(offset: u64, len: u32, fin: bool) -> Frame {
    Frame::Data { flow: FLOW, offset, len, fin, early: true, urgent: false }
}
fn script() -> Script {
    Script::with(GatewayConfig { early: Bytes(EARLY), ..config() })
}

#[test]
fn the_client_is_answered_and_read_at_once() {
    let mut s = script();
    let flow = FLOW;
    let opened = s.local(|g, now, out| g.incoming(now, flow, early(), out));
    assert_eq!(opened, (vec![open()], vec![Action::Accept { flow }]));
    let (frames, actions) = s.local(|g, now, out| g.received(now, flow, 4000, out));
    // No more than was agreed on; half a packet waits while others are under way.
    assert_eq!(
        (frames, actions),
        (vec![ahead(0, 1000, false), ahead(1000, 1000, false)], vec![Action::Consume { flow, bytes: EARLY }])
    );
    assert_eq!(s.gateway.stats().flows_opening, 1);
    // Once the peer has the `Open`, bytes cannot overtake it.
    assert_eq!(s.ack(0, 2).0, [data(2000, 500, false)]);
    assert_eq!(
        s.peer(&[Frame::Accepted { flow, limit: WINDOW }]),
        (vec![data(2500, 1000, false), data(3500, 500, false)], vec![Action::Consume { flow, bytes: 1500 }])
    );
    let stats = s.gateway.stats();
    assert_eq!((stats.flows_early, stats.flows_opening), (1, 0));
}

#[test]
fn the_open_and_the_first_bytes_share_a_packet() {
    let mut s = script();
    s.gateway.charge(s.now + Span::from_ms(1), Bits(100_000));
    s.local(|g, now, out| {
        g.incoming(now, FLOW, early(), out);
        g.received(now, FLOW, 300, out);
        g.local_closed(now, FLOW, out);
        assert!(out.packets.is_empty(), "the line is taken");
        let (at, _) = g.deadline().unwrap();
        g.wake(at, out);
        assert_eq!(out.packets.iter().map(|p| p.frames.clone()).collect::<Vec<_>>(), [[open(), ahead(0, 300, true)]]);
    });
}

#[test]
fn a_refusal_becomes_a_reset() {
    let mut s = script();
    let flow = FLOW;
    s.local(|g, now, out| g.incoming(now, flow, early(), out));
    s.local(|g, now, out| g.received(now, flow, 10, out));
    let reason = Reason::HostUnreachable;
    assert_eq!(
        s.peer(&[refused(flow, reason)]),
        (vec![], vec![Action::Reset { flow, reason }, closed(flow, Some(reason))])
    );
    assert_eq!((s.gateway.stats().refused(reason), s.gateway.stats().buffered), (1, 0));
}

#[test]
fn of_a_client_that_resets_before_its_open_the_peer_receives_the_identifier_only() {
    let mut s = script();
    s.gateway.charge(s.now + Span::from_ms(1), Bits(100_000));
    let (frames, actions) = s.local(|g, now, out| {
        g.incoming(now, FLOW, early(), out);
        g.received(now, FLOW, 300, out);
        g.local_reset(now, FLOW, Reason::Reset, out);
    });
    let over = closed(FLOW, Some(Reason::Reset));
    assert_eq!((frames, actions.last()), (vec![reset(FLOW, 0, Reason::Reset)], Some(&over)));
}

#[test]
fn early_bytes_are_held_until_the_server_answers() {
    let flow = FLOW;
    let mut s = script();
    // Bytes that overtake the `Open` count as lost: not acknowledged, not answered with a reset.
    assert_eq!(s.peer(&[ahead(1000, 500, true)]), NOTHING);
    assert_eq!((s.gateway.stats().ahead, s.gateway.deadline()), (1, None));
    let connect = Action::Connect { flow, request: early() };
    assert_eq!(s.peer(&[open(), ahead(0, 1000, false)]).1, [connect]);
    assert_eq!(s.peer(&[ahead(1000, 500, true)]), NOTHING);
    assert_eq!(s.gateway.wanted(flow), Some(0..EARLY));
    assert_eq!(s.gateway.stats().buffered, 1500);
    let (frames, actions) = s.local(|g, now, out| g.connected(now, flow, out));
    assert_eq!((frames, actions), (vec![Frame::Accepted { flow, limit: WINDOW }], vec![]));
    let (_, actions) = s.local(|g, now, out| g.writable(now, flow, 5000, out));
    assert_eq!(actions, [Action::Write { flow, bytes: 1500 }, Action::Shutdown { flow }]);
}

#[test]
fn a_refusal_by_the_server_frees_the_bytes_held_for_it() {
    let mut s = script();
    s.peer(&[open(), ahead(0, 1000, false)]);
    let (frames, _) = s.local(|g, now, out| g.refused(now, FLOW, Reason::TimedOut, out));
    assert_eq!(frames, [refused(FLOW, Reason::TimedOut)]);
    // Packets that are still in flight have no effect.
    assert_eq!(s.peer(&[ahead(1000, 1000, false)]), NOTHING);
    let stats = s.gateway.stats();
    assert_eq!((stats.buffered, stats.violations, stats.refused(Reason::TimedOut)), (0, 0, 1));
    // Bytes beyond the limit are a violation.
    let mut s = script();
    s.peer(&[open()]);
    assert_eq!(s.peer(&[ahead(2000, 501, false)]).0, [reset(FLOW, 0, Reason::Violation)]);
}

#[test]
fn a_flow_without_memory_is_refused_at_once() {
    let config = GatewayConfig { early: Bytes(EARLY), total_buffer: Bytes(4 * WINDOW), ..config() };
    let mut s = Script::with(config);
    s.peer(&[open()]);
    let other = FlowId(8);
    let frames = s.peer(&[Frame::Open { flow: other, limit: WINDOW, lease: None, request: early() }]).0;
    assert_eq!(frames, [refused(other, Reason::Busy)]);
}

#[test]
fn credit_does_not_overtake_the_open() {
    let window = Window::Fixed(Bytes(100_000));
    let config = GatewayConfig { window, floor: Bytes(1000), total_buffer: Bytes(40_000), ..config() };
    let mut s = Script::with(config);
    let others = [8, 10, 12].map(FlowId);
    for flow in others {
        s.local(|g, now, out| g.incoming(now, flow, early(), out));
    }
    s.local(|g, now, out| g.incoming(now, FLOW, early(), out));
    // The others end: the last could hold more, but the peer may not know it yet.
    s.peer(&others.map(|flow| refused(flow, Reason::Refused)));
    let (frames, _) = s.local(|g, now, out| g.writable(now, FLOW, 10, out));
    assert_eq!(frames, []);
    let (frames, _) = s.peer(&[Frame::Accepted { flow: FLOW, limit: WINDOW }]);
    assert!(matches!(frames[..], [Frame::Credit { flow: FLOW, limit }] if limit > 3640 + 2000), "{frames:?}");
}

#[test]
fn a_client_that_resets_after_its_open_waits_for_the_refusal() {
    let mut s = script();
    s.peer(&[open(), ahead(0, 1000, false)]);
    let (frames, _) = s.local(|g, now, out| g.refused(now, FLOW, Reason::Refused, out));
    assert_eq!(frames, [refused(FLOW, Reason::Refused)]);
    let lost = s.sent() - 1;
    // Its reset crosses the refusal, which is lost and so retransmitted.
    assert_eq!(s.peer(&[reset(FLOW, 3000, Reason::Reset)]), NOTHING);
    s.now += Span::from_secs(2);
    let (frames, _) = s.local(|g, now, out| g.wake(now, out));
    assert_eq!(frames, [refused(FLOW, Reason::Refused)]);
    assert!(s.sent() - 1 > lost);
    assert_eq!(s.ack(s.sent() - 1, s.sent() - 1).1, [closed(FLOW, Some(Reason::Refused))]);
}
