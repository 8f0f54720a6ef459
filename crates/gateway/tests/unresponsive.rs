//! An unresponsive peer: waiting connections are released, established ones are kept.
#![allow(clippy::unwrap_used)]

#[allow(unreachable_pub, dead_code, reason = "shared with other tests")]
mod common;

use cellway_gateway::{Action, FlowId, Frame, GatewayConfig, Reason, Window};
use cellway_units::{Bytes, Span};
use common::script::{FLOW, NOTHING, Script, WINDOW, asked, closed, config, connect, data, open, reset};

const LOST: Reason = Reason::PeerLost;

fn watchful() -> GatewayConfig {
    GatewayConfig { patience: Some(Span::from_secs(1)), ..config() }
}
/// Creates a gateway that has measured a round trip of 100 ms on another flow, which stays open.
fn met() -> Script {
    let mut s = Script::with(watchful());
    let other = FlowId(40);
    s.local(|g, now, out| g.incoming(now, other, asked(), out));
    s.now += Span::from_ms(98);
    s.ack(0, 0);
    s.peer(&[Frame::Accepted { flow: other, limit: WINDOW }]);
    assert!(s.gateway.rtt() >= Span::from_ms(99) && s.gateway.rtt() <= Span::from_ms(101));
    s
}

#[test]
fn a_held_syn_is_released_within_a_second_and_some_round_trips() {
    let mut s = met();
    let idle = s.now + Span::from_secs(30);
    assert_eq!(s.run_until(idle), NOTHING, "nothing awaits an answer: no probe is sent");
    assert!(!s.gateway.is_unresponsive());
    s.local(|g, now, out| g.incoming(now, FLOW, asked(), out));
    let asked_at = s.now;
    let (frames, actions) = s.run_until(asked_at + Span::from_ms(1_000));
    assert!(!frames.is_empty() && frames.iter().all(|frame| *frame == open(FLOW, WINDOW)), "probes: {frames:?}");
    assert_eq!(actions, []);
    let (frames, actions) = s.run_until(asked_at + Span::from_ms(1_300));
    assert_eq!(actions, [Action::Refuse { flow: FLOW, reason: LOST }]);
    assert!(s.gateway.is_unresponsive());
    // The peer may have the `Open`: it receives the reset, and the `Open` is never retransmitted.
    assert!(frames.contains(&reset(FLOW, 0, LOST)), "{frames:?}");
    let later = s.now + Span::from_secs(20);
    let (frames, actions) = s.run_until(later);
    assert!(frames.len() > 10 && frames.iter().all(|frame| *frame == reset(FLOW, 0, LOST)), "{frames:?}");
    assert_eq!(actions, []);
    // The peer answers: the state is as before.
    let sent = s.sent();
    assert_eq!(s.ack(sent - 1, sent - 1).1, [closed(FLOW, Some(LOST))]);
    assert!(!s.gateway.is_unresponsive());
    let (frames, _) = s.local(|g, now, out| g.incoming(now, FlowId(4), asked(), out));
    assert_eq!(frames, [open(FlowId(4), WINDOW)]);
}

/// The connection between idle gateways is lost, and nothing can be sent: a connection attempt waits no longer than on
/// a path without answers.
#[test]
fn a_syn_without_a_transport_is_released_as_well() {
    let mut s = met();
    s.local(|g, now, out| g.hold(now, true, out));
    let idle = s.now + Span::from_secs(30);
    assert_eq!(s.run_until(idle), NOTHING);
    assert!(!s.gateway.is_unresponsive(), "nothing waits");
    s.local(|g, now, out| g.incoming(now, FLOW, asked(), out));
    let asked_at = s.now;
    assert_eq!(s.run_until(asked_at + Span::from_ms(1_000)), NOTHING);
    // It was never sent: no reset of it is needed.
    let (frames, actions) = s.run_until(asked_at + Span::from_ms(1_300));
    assert_eq!(
        (frames, actions),
        (vec![], vec![Action::Refuse { flow: FLOW, reason: LOST }, closed(FLOW, Some(LOST))])
    );
    assert!(s.gateway.is_unresponsive());
}

#[test]
fn established_flows_are_kept_and_continue() {
    let mut s = Script::with(watchful());
    s.local(|g, now, out| g.incoming(now, FLOW, asked(), out));
    s.ack(0, 0);
    s.peer(&[Frame::Accepted { flow: FLOW, limit: WINDOW }]);
    assert_eq!(s.local(|g, now, out| g.received(now, FLOW, 1000, out)).0, [data(0, 1000, false)]);
    let silent = s.now + Span::from_secs(50);
    let (frames, actions) = s.run_until(silent);
    assert!(frames.iter().all(|frame| *frame == data(0, 1000, false)) && actions.is_empty());
    assert!(s.gateway.is_unresponsive());
    // Any packet of the peer is sufficient.
    assert_eq!(s.peer(&[data(0, 500, false)]).1, []);
    assert!(!s.gateway.is_unresponsive());
    assert_eq!(s.gateway.flow_stats(FLOW).unwrap().held_outbound, 1000);
    let sent = s.sent();
    s.ack(1, sent - 1);
    assert_eq!(s.gateway.flow_stats(FLOW).unwrap().held_outbound, 0);
}

#[test]
fn a_peer_that_sends_anything_is_there() {
    let mut s = met();
    s.local(|g, now, out| g.incoming(now, FLOW, asked(), out));
    for n in 0..100 {
        let next = s.now + Span::from_ms(200);
        s.run_until(next);
        s.peer(&[Frame::Credit { flow: FlowId(40), limit: WINDOW + n }]);
        assert!(!s.gateway.is_unresponsive());
    }
}

#[test]
fn a_late_open_whose_reset_arrived_first_connects_nowhere() {
    let mut s = Script::new();
    assert_eq!(s.peer(&[reset(FLOW, 0, LOST)]), NOTHING);
    assert_eq!(s.peer(&[open(FLOW, WINDOW)]), NOTHING);
    assert_eq!(s.peer(&[open(FlowId(4), WINDOW)]).1, [connect(FlowId(4))]);
}

#[test]
fn the_connection_to_the_peer_is_new_after_it_was_lost() {
    let mut s = met();
    s.local(|g, now, out| g.incoming(now, FLOW, asked(), out));
    let silent = s.now + Span::from_secs(2);
    s.run_until(silent);
    assert!(s.gateway.is_unresponsive());
    let (_, actions) = s.local(|g, now, out| g.down(now, LOST, out));
    assert!(actions.contains(&closed(FLOW, Some(LOST))), "{actions:?}");
    assert!(!s.gateway.is_unresponsive());
}

#[test]
fn an_outage_while_hosts_send_little_at_a_time_is_no_fault_of_the_peer() {
    const BYTES: u64 = 60_000;
    let window = Window::Fixed(Bytes(1 << 20));
    let small = GatewayConfig { window, total_buffer: Bytes(8 << 20), ..watchful() };
    let mut s = Script::with(small);
    s.local(|g, now, out| g.incoming(now, FLOW, asked(), out));
    s.ack(0, 0);
    s.peer(&[Frame::Accepted { flow: FLOW, limit: 1 << 20 }]);
    let most = s.gateway.config().most_unacknowledged();
    let first = s.sent();
    for _ in 0..BYTES {
        s.local(|g, now, out| g.received(now, FLOW, 1, out));
        assert!(s.gateway.stats().unacknowledged < most);
    }
    assert!(s.gateway.is_unresponsive() && s.gateway.excess().is_none());
    assert!(s.sent() - first > 1_000, "packets leave as long as the path may only be slow");
    // The path works again: everything reaches the peer.
    let mut acked = first;
    while s.gateway.flow_stats(FLOW).unwrap().held_outbound > 0 || s.sent() > acked {
        let last = s.sent() - 1;
        s.ack(acked, last);
        acked = last + 1;
        let soon = s.now + Span::from_ms(10);
        s.run_until(soon);
    }
    assert_eq!(s.gateway.flow_stats(FLOW).unwrap().consumed, BYTES);
    assert!(!s.gateway.is_unresponsive() && s.gateway.excess().is_none());
}
