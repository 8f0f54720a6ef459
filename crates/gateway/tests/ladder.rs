//! Ladders: the frames and actions of one gateway, one by one.
#![allow(clippy::unwrap_used)]

#[allow(unreachable_pub, dead_code, reason = "shared with other tests")]
mod common;

use cellway_gateway::{Action, FlowId, Frame, Gateway, GatewayConfig, Output, Reason, TpPacket, Window};
use cellway_units::{Bytes, Rate, Span};
use common::script::{FLOW, NOTHING, Script, WINDOW, asked, closed, config, connect, data, open, refused, reset};

#[test]
fn near_side_opens_sends_receives_and_ends() {
    let flow = FLOW;
    let mut s = Script::new();
    // The SYN is held until the far host has answered.
    assert_eq!(s.local(|g, now, out| g.incoming(now, flow, asked(), out)), (vec![open(flow, WINDOW)], vec![]));
    assert_eq!(s.ack(0, 0), NOTHING);
    assert_eq!(s.peer(&[Frame::Accepted { flow, limit: WINDOW }]), (vec![], vec![Action::Accept { flow }]));
    assert_eq!(s.local(|g, now, out| g.writable(now, flow, 600, out)), NOTHING);
    // Bytes of the host are consumed at once and leave in full packets; the last of them at once too.
    let (frames, actions) = s.local(|g, now, out| g.received(now, flow, 2500, out));
    assert_eq!(actions, [Action::Consume { flow, bytes: 2500 }]);
    assert_eq!(frames, [data(0, 1000, false), data(1000, 1000, false), data(2000, 500, false)]);
    // Bytes of the peer are written as far as there is room.
    assert_eq!(s.peer(&[data(0, 1000, false)]).1, [Action::Write { flow, bytes: 600 }]);
    assert_eq!(s.local(|g, now, out| g.writable(now, flow, 5000, out)).1, [Action::Write { flow, bytes: 400 }]);
    // The host ends its direction; the other goes on.
    assert_eq!(s.local(|g, now, out| g.local_closed(now, flow, out)), (vec![data(2500, 0, true)], vec![]));
    let (frames, actions) = s.peer(&[data(1000, 1000, false)]);
    assert_eq!(actions, [Action::Write { flow, bytes: 1000 }]);
    // Two payloads are written: the limit is announced again.
    assert_eq!(frames, [Frame::Credit { flow, limit: WINDOW + 2000 }]);
    assert_eq!(s.ack(0, s.sent() - 1), NOTHING);
    let (_, actions) = s.peer(&[data(2000, 7, true)]);
    assert_eq!(actions, [Action::Write { flow, bytes: 7 }, Action::Shutdown { flow }, closed(flow, None)]);
    assert!(s.gateway.flow_stats(flow).is_none());
    assert_eq!(s.gateway.stats().buffered, 0);
}

#[test]
fn far_side_connects_and_answers() {
    let flow = FLOW;
    let mut s = Script::new();
    assert_eq!(s.peer(&[open(flow, 1500)]).1, [connect(flow)]);
    // The same again changes nothing.
    assert_eq!(s.peer(&[open(flow, 1500)]), NOTHING);
    let (frames, actions) = s.local(|g, now, out| g.connected(now, flow, out));
    assert_eq!((frames, actions), (vec![Frame::Accepted { flow, limit: WINDOW }], vec![]));
    // The opener's limit holds: half a packet of credit is not used while more is in flight.
    let (frames, actions) = s.local(|g, now, out| g.received(now, flow, 9000, out));
    assert_eq!((frames, actions), (vec![data(0, 1000, false)], vec![Action::Consume { flow, bytes: 1500 }]));
    assert_eq!(s.peer(&[Frame::Credit { flow, limit: 3000 }]).0, [data(1000, 1000, false), data(2000, 1000, false)]);
    // An old limit that arrives late changes nothing.
    assert_eq!(s.peer(&[Frame::Credit { flow, limit: 1500 }]), NOTHING);
}

#[test]
fn refusals_reach_the_client() {
    let flow = FLOW;
    let mut near = Script::new();
    near.local(|g, now, out| g.incoming(now, flow, asked(), out));
    let (frames, actions) = near.peer(&[refused(flow, Reason::Refused)]);
    assert_eq!(
        (frames, actions),
        (vec![], vec![Action::Refuse { flow, reason: Reason::Refused }, closed(flow, Some(Reason::Refused))])
    );

    let mut far = Script::new();
    far.peer(&[open(flow, WINDOW)]);
    assert_eq!(
        far.local(|g, now, out| g.refused(now, flow, Reason::Refused, out)),
        (vec![refused(flow, Reason::Refused)], vec![])
    );
    assert_eq!(far.ack(0, far.sent() - 1).1, [closed(flow, Some(Reason::Refused))]);
    // An identifier is used once.
    assert_eq!(far.peer(&[open(flow, WINDOW)]), NOTHING);
    let (_, actions) = far.local(|g, now, out| g.incoming(now, flow, asked(), out));
    assert_eq!(actions, [Action::Refuse { flow, reason: Reason::Busy }, closed(flow, Some(Reason::Busy))]);
}

#[test]
fn a_reset_leaves_after_the_consumed_bytes_and_ends_both_directions() {
    for mut s in [Script::opened(), Script::accepted()] {
        let flow = FLOW;
        let first = s.sent();
        let (frames, _) = s.local(|g, now, out| g.received(now, flow, 5000, out));
        assert_eq!(frames.len(), 4);
        // 1000 B were still in the receive buffer: they are lost, as they are without a gateway.
        let (frames, actions) = s.local(|g, now, out| g.local_reset(now, flow, Reason::Reset, out));
        assert_eq!((frames, actions), (vec![reset(flow, 4000, Reason::Reset)], vec![]));
        // No host is left to read bytes that still arrive.
        assert_eq!(s.peer(&[data(0, 1000, true)]), NOTHING);
        assert_eq!(s.ack(first, first + 2), NOTHING);
        assert_eq!(s.ack(first, s.sent() - 1).1, [closed(flow, Some(Reason::Reset))]);
    }
}

#[test]
fn a_reset_that_arrives_waits_for_the_bytes_before_it() {
    for mut s in [Script::opened(), Script::accepted()] {
        let flow = FLOW;
        s.local(|g, now, out| g.writable(now, flow, 700, out));
        assert_eq!(s.peer(&[reset(flow, 1000, Reason::Reset)]).1, [Action::Ending { flow }]);
        assert_eq!(s.peer(&[reset(flow, 1000, Reason::Reset)]), NOTHING);
        // Bytes of the local host are dropped.
        assert_eq!(s.local(|g, now, out| g.received(now, flow, 10, out)), NOTHING);
        assert_eq!(s.peer(&[data(0, 1000, false)]).1, [Action::Write { flow, bytes: 700 }]);
        let (_, actions) = s.local(|g, now, out| g.writable(now, flow, 1000, out));
        assert_eq!(
            actions,
            [
                Action::Write { flow, bytes: 300 },
                Action::Reset { flow, reason: Reason::Reset },
                closed(flow, Some(Reason::Reset))
            ]
        );
        assert_eq!(s.gateway.stats().buffered, 0);
    }
}

#[test]
fn a_host_that_accepts_nothing_is_reset_and_the_peer_notified() {
    for mut s in [Script::opened(), Script::accepted()] {
        let flow = FLOW;
        s.peer(&[data(0, 1000, false)]);
        assert_eq!(s.peer(&[reset(flow, 3000, Reason::Vanished)]).1, [Action::Ending { flow }]);
        // The peer need not keep the bytes that it could not send.
        let (frames, actions) = s.local(|g, now, out| g.local_reset(now, flow, Reason::Reset, out));
        assert_eq!(frames, [reset(flow, 0, Reason::Vanished)]);
        assert_eq!(actions, [closed(flow, Some(Reason::Vanished))]);
        assert_eq!((s.gateway.stats().buffered, s.gateway.stats().flows), (0, 0));
    }
}

#[test]
fn an_urgent_byte_leaves_and_arrives_with_its_mark() {
    for mut s in [Script::opened(), Script::accepted()] {
        let flow = FLOW;
        let urgent = |offset, len| Frame::Data { flow, offset, len, fin: false, early: false, urgent: true };
        s.gateway.urgent(flow, 3);
        // It leaves at once, though more bytes follow; these wait for an acknowledgement no longer than otherwise.
        let (frames, _) = s.local(|g, now, out| g.received(now, flow, 10, out));
        assert_eq!(frames, [urgent(0, 4), data(4, 6, false)]);
        s.local(|g, now, out| g.writable(now, flow, 5, out));
        assert_eq!(s.peer(&[urgent(0, 8)]).1, [Action::Write { flow, bytes: 5 }]);
        let (_, actions) = s.local(|g, now, out| g.writable(now, flow, 5, out));
        assert_eq!(actions, [Action::Write { flow, bytes: 3 }, Action::Urgent { flow, at: 7 }]);
        // A frame without bytes cannot be urgent.
        let (frames, actions) = s.peer(&[urgent(8, 0)]);
        assert_eq!(frames, [reset(flow, 0, Reason::Violation)]);
        let reason = Reason::Violation;
        assert_eq!(actions, [Action::Reset { flow, reason }, closed(flow, Some(reason))]);
    }
}

#[test]
fn resets_that_cross_end_the_flow_at_both_sides() {
    let flow = FLOW;
    let mut s = Script::opened();
    s.local(|g, now, out| g.local_reset(now, flow, Reason::Reset, out));
    assert_eq!(s.peer(&[reset(flow, 1000, Reason::Reset)]).1, [closed(flow, Some(Reason::Reset))]);

    // Our reset is sent even if the peer's was received: the peer may have bytes that it cannot send.
    let mut s = Script::opened();
    s.peer(&[reset(flow, 1000, Reason::Reset)]);
    let (frames, actions) = s.local(|g, now, out| g.local_reset(now, flow, Reason::Reset, out));
    assert_eq!((frames, actions), (vec![reset(flow, 0, Reason::Reset)], vec![closed(flow, Some(Reason::Reset))]));
}

#[test]
fn a_client_that_resets_while_opening() {
    let flow = FLOW;
    // The reset waits until the peer has the `Open`: it must not overtake it.
    let mut s = Script::new();
    s.local(|g, now, out| g.incoming(now, flow, asked(), out));
    assert_eq!(s.local(|g, now, out| g.local_reset(now, flow, Reason::Reset, out)), NOTHING);
    assert_eq!(s.ack(0, 0).0, [reset(flow, 0, Reason::Reset)]);
    // The answer that crosses it is no longer for the client.
    assert_eq!(s.peer(&[Frame::Accepted { flow, limit: WINDOW }]), NOTHING);
    assert_eq!(s.ack(1, s.sent() - 1).1, [closed(flow, Some(Reason::Reset))]);

    // A reset that crosses the server's reset is sent all the same, though no host waits for it here.
    let mut s = Script::new();
    s.local(|g, now, out| g.incoming(now, flow, asked(), out));
    s.local(|g, now, out| g.local_reset(now, flow, Reason::Reset, out));
    let (frames, actions) = s.peer(&[reset(flow, 9, Reason::Reset)]);
    assert_eq!((frames, actions), (vec![reset(flow, 0, Reason::Reset)], vec![closed(flow, Some(Reason::Reset))]));

    // At the far side the connection attempt is cancelled.
    let mut s = Script::new();
    s.peer(&[open(flow, WINDOW)]);
    assert_eq!(
        s.peer(&[reset(flow, 0, Reason::Reset)]).1,
        [Action::Reset { flow, reason: Reason::Reset }, closed(flow, Some(Reason::Reset))]
    );
    assert_eq!(s.local(|g, now, out| g.connected(now, flow, out)), NOTHING);
}

#[test]
fn frames_of_flows_that_never_were_are_answered_with_a_reset() {
    let flow = FLOW;
    let mut s = Script::new();
    assert_eq!(s.peer(&[data(0, 10, false)]), (vec![reset(flow, 0, Reason::Violation)], vec![]));
    // But never a reset, or there would be no end.
    assert_eq!(s.peer(&[reset(flow, 0, Reason::Reset)]), NOTHING);
    assert_eq!(s.gateway.stats().unknown_flows, 1);
}

#[test]
fn bytes_beyond_the_limit_end_their_flow() {
    let flow = FLOW;
    let mut s = Script::opened();
    let (frames, actions) = s.peer(&[data(3500, 501, false)]);
    assert_eq!(actions, [Action::Reset { flow, reason: Reason::Violation }, closed(flow, Some(Reason::Violation))]);
    assert_eq!(frames, [reset(flow, 0, Reason::Violation)]);
    assert_eq!((s.gateway.stats().violations, s.gateway.stats().buffered), (1, 0));
    // While opening the client is refused, and without an `Open` the peer is not notified.
    let mut s = Script::new();
    s.local(|g, now, out| g.incoming(now, flow, asked(), out));
    assert_eq!(
        s.peer(&[data(WINDOW, 1, false)]).1,
        [Action::Refuse { flow, reason: Reason::Violation }, closed(flow, Some(Reason::Violation))]
    );
    let config = GatewayConfig { total_buffer: Bytes(4 * WINDOW), ..config() };
    let mut s = Script { gateway: Gateway::new(config).unwrap(), ..Script::new() };
    s.peer(&[open(FlowId(4), 0)]);
    assert_eq!(s.peer(&[open(flow, 0), data(0, 1, false)]), (vec![reset(flow, 0, Reason::Violation)], vec![]));
    assert_eq!((s.gateway.stats().flows, s.gateway.stats().flows_waiting), (1, 0));
}

#[test]
fn bytes_beyond_the_end_and_a_moved_end_end_their_flow() {
    let flow = FLOW;
    for wrong in [data(1000, 1, false), data(1000, 1, true), data(0, 999, true)] {
        for mut s in [Script::opened(), Script::accepted()] {
            // There is no room yet, so that the flow has to wait for the local TCP.
            assert_eq!(s.peer(&[data(0, 1000, true), data(500, 500, true)]), NOTHING);
            let (frames, actions) = s.peer(std::slice::from_ref(&wrong));
            assert_eq!(
                actions,
                [Action::Reset { flow, reason: Reason::Violation }, closed(flow, Some(Reason::Violation))],
                "{wrong:?}"
            );
            assert_eq!(frames, [reset(flow, 0, Reason::Violation)]);
            assert_eq!((s.gateway.stats().violations, s.gateway.stats().buffered), (1, 0));
        }
    }
}

#[test]
fn flows_wait_for_memory_in_order() {
    let config = GatewayConfig { total_buffer: Bytes(8 * WINDOW), waiting: 1, ..config() };
    let mut s = Script { gateway: Gateway::new(config).unwrap(), ..Script::new() };
    let open = |id| open(FlowId(id), WINDOW);
    let mut incoming = |id| s.local(|g, now, out| g.incoming(now, FlowId(id), asked(), out));
    assert_eq!(incoming(0).0, [open(0)]);
    assert_eq!(incoming(2).0, [open(2)]);
    assert_eq!(incoming(4), NOTHING);
    assert_eq!(
        incoming(6).1,
        [Action::Refuse { flow: FlowId(6), reason: Reason::Busy }, closed(FlowId(6), Some(Reason::Busy))]
    );
    // Flows that the peer opens have the other half.
    assert_eq!(s.peer(&[open(1)]).1, [connect(FlowId(1))]);
    assert_eq!(s.peer(&[open(3)]).1, [connect(FlowId(3))]);
    assert_eq!(s.peer(&[open(5)]), NOTHING);
    assert_eq!(s.peer(&[open(7)]).0, [refused(FlowId(7), Reason::Busy)]);
    assert_eq!(s.gateway.stats().flows_waiting, 2);
    let (_, actions) = s.peer(&[reset(FlowId(1), 0, Reason::Reset)]);
    let [gone, over] =
        [Action::Reset { flow: FlowId(1), reason: Reason::Reset }, closed(FlowId(1), Some(Reason::Reset))];
    assert_eq!(actions, [gone, over, connect(FlowId(5))]);
    assert_eq!(s.peer(&[refused(FlowId(0), Reason::Refused)]).0, [open(4)]);
    // For a flow that is reset while it waits the peer receives only a reset: the identifiers that it has received have
    // no gap.
    assert_eq!(s.local(|g, now, out| g.incoming(now, FlowId(8), asked(), out)), NOTHING);
    let (frames, actions) = s.local(|g, now, out| g.local_reset(now, FlowId(8), Reason::Reset, out));
    let over = closed(FlowId(8), Some(Reason::Reset));
    assert_eq!((frames, actions), (vec![reset(FlowId(8), 0, Reason::Reset)], vec![over]));
}

#[test]
fn an_ack_and_a_full_packet_share_a_packet_only_within_the_mtu() {
    let mut packets = Vec::new();
    for mtu in [1043, 1500] {
        let config = GatewayConfig { mtu: Bytes(mtu), ..config() };
        let mut s = Script { gateway: Gateway::new(config).unwrap(), ..Script::opened() };
        s.local(|g, now, out| g.incoming(now, FLOW, asked(), out));
        s.peer(&[Frame::Accepted { flow: FLOW, limit: WINDOW }]);
        s.local(|g, now, out| g.received(now, FLOW, 1000, out));
        s.now += Span::from_ms(5);
        // The second packet since the last acknowledgement makes one due while data waits.
        let mut out = Output::default();
        let credit = Frame::Credit { flow: FLOW, limit: 2 * WINDOW };
        s.gateway.received(s.now, FLOW, 2000, &mut out);
        // Every second one is missing, so that the acknowledgement is long.
        for number in (11..41).step_by(2) {
            s.gateway.receive(s.now, &TpPacket { number, frames: vec![credit.clone()] }, &mut out);
        }
        while let Some((at, "pace")) = s.gateway.deadline() {
            s.gateway.wake(at, &mut out);
        }
        assert!(out.packets.iter().all(|p| p.octets() + 22 <= mtu as u32));
        packets.push(out.packets.len());
    }
    assert_eq!(packets, [3, 2]);
}

#[test]
fn configurations_that_cannot_work_are_refused() {
    let error = |config: GatewayConfig| Gateway::new(config).err().unwrap().to_string();
    assert_eq!(
        error(GatewayConfig { mtu: Bytes(1042), ..config() }),
        "the payload is 1000 B with an MTU of 1042 B; it must be from 64 B to the MTU less 43 B of headers, and the \
         MTU at most 65535 B"
    );
    assert_eq!(
        error(GatewayConfig { window: Window::Fixed(Bytes(999)), ..config() }),
        "the window is 999 B, less than the payload of one packet, 1000 B"
    );
    assert_eq!(
        error(GatewayConfig { total_buffer: Bytes(15_999), ..config() }),
        "the memory for all flows is 15999 B; it must be at least four windows of 4000 B"
    );
    assert_eq!(error(GatewayConfig { ack_every: 0, ..config() }), "ack_every is zero; it must be more");
    assert!(error(GatewayConfig::new(Rate::from_bps(0))).contains("0 bit/s"));
}
