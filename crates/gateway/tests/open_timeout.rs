//! The time limit for a local host that waits for the far host's answer.
#![allow(clippy::unwrap_used)]

#[allow(unreachable_pub, dead_code, reason = "shared with other tests")]
mod common;

use std::sync::Arc;

use cellway_gateway::{Action, FlowId, Frame, GatewayConfig, Reason, Request};
use cellway_units::{Bytes, Span};
use common::script::{FLOW, NOTHING, Script, WINDOW, asked, closed, config, open, refused, reset};

const OVER: Reason = Reason::TimedOut;

/// Creates a gateway over a transport without loss, so that nothing is retransmitted, and no other timer is ever due.
fn script() -> Script {
    Script::with(GatewayConfig { reliable: true, opening: Span::from_secs(10), ..config() })
}

#[test]
fn an_unanswered_connection_attempt_is_refused_and_the_peer_notified() {
    let mut s = script();
    assert_eq!(s.local(|g, now, out| g.incoming(now, FLOW, asked(), out)).0, [open(FLOW, WINDOW)]);
    // The peer has it, and its server does not answer.
    s.ack(0, 0);
    let end = s.now + Span::from_secs(9);
    assert_eq!(s.run_until(end), NOTHING);
    let (frames, actions) = s.run_until(end + Span::from_secs(1));
    assert_eq!(actions, [Action::Refuse { flow: FLOW, reason: OVER }]);
    assert_eq!(frames, [reset(FLOW, 0, OVER)]);
    assert_eq!(s.gateway.stats().refused(OVER), 1);
    // Its memory is free when the peer has acknowledged the reset; a late answer changes nothing.
    assert_eq!(s.peer(&[Frame::Accepted { flow: FLOW, limit: WINDOW }]).1, []);
    assert_eq!(s.ack(1, 1).1, [closed(FLOW, Some(OVER))]);
    assert_eq!((s.gateway.stats().flows, s.gateway.deadline().map(|d| d.1)), (0, Some("ack")));
}

#[test]
fn a_connection_attempt_without_any_answer_does_not_hold_its_host() {
    let mut s = script();
    s.local(|g, now, out| g.incoming(now, FLOW, asked(), out));
    // The transport has lost it although it is configured as reliable.
    let end = s.now + Span::from_secs(10);
    let (frames, actions) = s.run_until(end);
    assert_eq!((frames, actions), (vec![reset(FLOW, 0, OVER)], vec![Action::Refuse { flow: FLOW, reason: OVER }]));
    assert_eq!(s.gateway.deadline(), None, "it is refused once");
}

#[test]
fn one_that_was_accepted_early_is_reset() {
    let mut s = script();
    let request = Arc::new(Request { early: true, ..Request::UNNAMED });
    s.local(|g, now, out| g.incoming(now, FLOW, request, out));
    s.local(|g, now, out| g.received(now, FLOW, 300, out));
    s.ack(0, s.sent() - 1);
    let end = s.now + Span::from_secs(10);
    let (frames, actions) = s.run_until(end);
    assert_eq!(actions, [Action::Reset { flow: FLOW, reason: OVER }]);
    assert_eq!(frames, [reset(FLOW, 300, OVER)]);
}

#[test]
fn a_flow_that_waits_for_memory_waits_no_longer_either() {
    let mut s =
        Script::with(GatewayConfig { total_buffer: Bytes(4 * WINDOW), waiting: 3, ..*script().gateway.config() });
    s.local(|g, now, out| g.incoming(now, FLOW, asked(), out));
    s.peer(&[Frame::Accepted { flow: FLOW, limit: WINDOW }]);
    for n in [4, 6, 8] {
        assert_eq!(s.local(|g, now, out| g.incoming(now, FlowId(n), asked(), out)), NOTHING);
    }
    // One of them is reset. The others are refused in their order, 1 ms apart; the peer has received none of them.
    s.local(|g, now, out| g.local_reset(now, FlowId(6), Reason::Reset, out));
    let end = s.now + Span::from_secs(11);
    let (frames, actions) = s.run_until(end);
    let gone = |n| [Action::Refuse { flow: FlowId(n), reason: OVER }, closed(FlowId(n), Some(OVER))];
    assert_eq!(actions, [gone(4), gone(8)].concat());
    assert_eq!(frames, [4, 8].map(|n| reset(FlowId(n), 0, Reason::Reset)));
    assert_eq!((s.gateway.stats().flows, s.gateway.stats().flows_waiting), (1, 0));
}

#[test]
fn an_answer_in_time_ends_the_wait() {
    let mut s = script();
    for n in [2, 4, 6] {
        s.local(|g, now, out| g.incoming(now, FlowId(n), asked(), out));
    }
    s.peer(&[Frame::Accepted { flow: FlowId(4), limit: WINDOW }, refused(FlowId(2), Reason::Refused)]);
    let end = s.now + Span::from_secs(30);
    let (_, actions) = s.run_until(end);
    assert_eq!(actions, [Action::Refuse { flow: FlowId(6), reason: OVER }]);
    assert_eq!(s.gateway.flow_stats(FlowId(4)).map(|stats| stats.limit), Some(WINDOW));
}
