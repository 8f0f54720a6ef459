//! Ladders of the connection to the peer: reasons, its loss, other packets and rates, a transport without loss, memory.
#![allow(clippy::unwrap_used)]

#[allow(unreachable_pub, dead_code, reason = "shared with other tests")]
mod common;

use cellway_gateway::{Action, FlowId, Frame, GatewayConfig, Reason, Transport, Window};
use cellway_units::{Bits, Bytes, Rate, Span};
use common::script::{FLOW, NOTHING, Script, WINDOW, asked, closed, config, connect, data, open, refused, reset};

#[test]
fn reasons_reach_the_other_side() {
    let flow = FLOW;
    for reason in Reason::ALL {
        let mut far = Script::new();
        far.peer(&[open(flow, WINDOW)]);
        let (frames, _) = far.local(|g, now, out| g.refused(now, flow, reason, out));
        assert_eq!(frames, [refused(flow, reason)]);
        assert_eq!(far.ack(0, far.sent() - 1).1, [closed(flow, Some(reason))]);
        let mut near = Script::new();
        near.local(|g, now, out| g.incoming(now, flow, asked(), out));
        assert_eq!(near.peer(&frames).1, [Action::Refuse { flow, reason }, closed(flow, Some(reason))]);
        assert_eq!([near, far].map(|s| s.gateway.stats().refused(reason)), [1, 1]);

        let [mut near, mut far] = [Script::opened(), Script::accepted()];
        let (frames, _) = near.local(|g, now, out| g.local_reset(now, flow, reason, out));
        assert_eq!(frames, [reset(flow, 0, reason)]);
        assert_eq!(near.ack(0, near.sent() - 1).1, [closed(flow, Some(reason))]);
        assert_eq!(far.peer(&frames).1, [Action::Reset { flow, reason }, closed(flow, Some(reason))]);
    }
}

#[test]
fn every_flow_ends_with_the_connection_to_the_peer() {
    let ids = [2, 4, 6, 8].map(FlowId);
    let [relaying, opening, leaving, connecting] = ids;
    let mut s = Script::opened();
    s.local(|g, now, out| g.received(now, relaying, 3000, out));
    s.local(|g, now, out| g.incoming(now, opening, asked(), out));
    s.local(|g, now, out| g.incoming(now, leaving, asked(), out));
    s.local(|g, now, out| g.local_reset(now, leaving, Reason::TimedOut, out));
    s.peer(&[open(connecting, WINDOW)]);
    let before = s.gateway.stats();
    let reason = Reason::PeerLost;
    let (frames, actions) = s.local(|g, now, out| g.down(now, reason, out));
    assert_eq!(frames, []);
    assert_eq!(
        actions,
        [
            Action::Reset { flow: relaying, reason },
            closed(relaying, Some(reason)),
            Action::Refuse { flow: opening, reason },
            closed(opening, Some(reason)),
            closed(leaving, Some(Reason::TimedOut)),
            Action::Reset { flow: connecting, reason },
            closed(connecting, Some(reason)),
        ]
    );
    // Late calls about them have no effect, and no frame of them is left to send.
    for flow in ids {
        assert_eq!(s.local(|g, now, out| g.local_reset(now, flow, Reason::Reset, out)), NOTHING);
    }
    let stats = s.gateway.stats();
    assert_eq!((stats.flows, stats.buffered, stats.packets_sent), (0, 0, before.packets_sent));
    assert_eq!((s.gateway.expected(), s.gateway.deadline(), stats.refused(reason)), (0, None, 1));
    // As new: numbers begin at 0, and identifiers can be used again.
    s.local(|g, now, out| {
        g.incoming(now, relaying, asked(), out);
        assert_eq!(out.packets[0].number, 0);
    });
    s.next = 0;
    let (_, actions) = s.peer(&[Frame::Accepted { flow: relaying, limit: WINDOW }]);
    assert_eq!(actions, [Action::Accept { flow: relaying }]);
    assert_eq!(s.peer(&[open(connecting, WINDOW)]).1, [connect(connecting)]);
}

#[test]
fn where_nothing_is_lost_nothing_is_sent_again() {
    let lost = [false, true].map(|reliable| {
        let mut s = Script::with(GatewayConfig { reliable, ..config() });
        s.peer(&[open(FLOW, WINDOW)]);
        s.local(|g, now, out| g.connected(now, FLOW, out));
        s.local(|g, now, out| g.received(now, FLOW, 4000, out));
        // Only the newest is acknowledged; then a minute passes.
        s.ack(s.sent() - 1, s.sent() - 1);
        s.now += Span::from_secs(60);
        s.local(|g, now, out| g.wake(now, out));
        let lost = s.gateway.stats().packets_lost;
        // Acknowledgements free memory all the same.
        s.ack(0, s.sent() - 1);
        assert_eq!(s.released, 4000);
        if reliable {
            assert_eq!((s.gateway.stats().probes, s.gateway.deadline()), (0, None));
        }
        lost
    });
    assert!(lost[0] > 0 && lost[1] == 0, "{lost:?}");
}

#[test]
fn bytes_are_released_in_order_once() {
    let mut s = Script::opened();
    let first = s.sent();
    s.local(|g, now, out| g.received(now, FLOW, 4000, out));
    s.ack(first + 1, first + 1);
    assert_eq!(s.released, 0);
    // The one before was retransmitted meanwhile.
    s.ack(first + 1, s.sent() - 1);
    assert_eq!(s.released, 4000);
    s.peer(&[Frame::Credit { flow: FLOW, limit: 6000 }]);
    s.local(|g, now, out| g.received(now, FLOW, 2000, out));
    // A reset of the peer frees the rest, though the flow continues.
    assert_eq!(s.peer(&[reset(FLOW, 10, Reason::Reset)]), (vec![], vec![Action::Ending { flow: FLOW }]));
    assert_eq!(s.released, 6000);
}

#[test]
fn smaller_packets_retransmit_the_content_of_larger_ones() {
    let mut s = Script::opened();
    let first = s.sent();
    s.local(|g, now, out| g.received(now, FLOW, 4000, out));
    s.local(|g, now, out| g.set_payload(now, 400, out));
    let (frames, _) = s.ack(first + 3, first + 3);
    // 4 of number, 3 or 4 before the bytes.
    assert_eq!(frames[..3], [data(0, 393, false), data(393, 392, false), data(785, 215, false)]);
    assert!(frames.len() == 9 && frames.iter().all(|frame| frame.octets() <= 396));
    s.local(|g, now, out| g.set_payload(now, 1, out));
    assert_eq!(s.gateway.config().mtu, Bytes(314 + 22));
}

#[test]
fn the_rate_is_shared_with_other_octets_of_the_transport() {
    let mut s = Script::opened();
    s.now += Span::from_secs(1);
    s.local(|g, now, out| g.wake(now, out));
    s.now += Span::from_ms(1);
    // Ten milliseconds at 1 Gbit/s, then at a tenth of that.
    s.gateway.charge(s.now, Bits(10_000_000));
    let mut out = cellway_gateway::Output::default();
    s.gateway.received(s.now, FLOW, 2000, &mut out);
    assert_eq!((out.packets.len(), s.gateway.deadline()), (0, Some((s.now + Span::from_ms(10), "pace"))));
    s.now += Span::from_ms(10);
    s.gateway.set_rate(s.now, Rate::from_bps(100_000_000), &mut out);
    assert_eq!(out.packets.len(), 1);
    // 1008 and 22 octets and a trailer of 8 fill 22 cells.
    assert_eq!(s.gateway.deadline(), Some((s.now + Span::from_ns(22 * 424 * 10), "pace")));
}

#[test]
fn another_transport_has_other_headers() {
    let mut s = Script::new();
    s.gateway.set_transport(Transport::Quic { v6: true }, false, None);
    s.local(|g, now, out| g.set_payload(now, 1200, out));
    assert_eq!(s.gateway.config().mtu, Bytes(1274));
    s.gateway.set_transport(Transport::Quic { v6: false }, false, None);
    assert_eq!(s.gateway.config().mtu, Bytes(1254));
}

#[test]
fn the_round_trip_of_the_handshake_counts_from_the_start() {
    let most = Bytes(8 << 20);
    let line = |rtt| {
        let window = Window::Line { most };
        let mut s = Script::with(GatewayConfig { window, floor: Bytes(65_536), ..config() });
        s.gateway.set_transport(Transport::Quic { v6: false }, false, rtt);
        s.local(|g, now, out| g.incoming(now, FLOW, asked(), out));
        s.peer(&[Frame::Accepted { flow: FLOW, limit: 1 << 40 }]);
        let (_, actions) = s.local(|g, now, out| g.received(now, FLOW, 1 << 40, out));
        (s.gateway.rtt(), actions[0].clone())
    };
    // 1 Gbit/s and 10 ms are 1.25 MB; an unmeasured round trip is long.
    let ms = Span::from_ms;
    assert_eq!(line(None), (ms(333), Action::Consume { flow: FLOW, bytes: most.0 }));
    assert_eq!(line(Some(ms(10))), (ms(10), Action::Consume { flow: FLOW, bytes: 5_000_000 }));
}

#[test]
fn nothing_leaves_while_the_transport_holds() {
    let mut s = Script::opened();
    let sent = s.sent();
    s.local(|g, now, out| g.hold(now, true, out));
    let (frames, actions) = s.local(|g, now, out| g.received(now, FLOW, 2000, out));
    assert_eq!((frames, actions), (vec![], vec![Action::Consume { flow: FLOW, bytes: 2000 }]));
    // An acknowledgement becomes due, and there is no deadline.
    s.peer(&[data(0, 100, false)]);
    s.now += Span::from_ms(30);
    assert_eq!(s.local(|g, now, out| g.wake(now, out)), NOTHING);
    assert_eq!((s.sent(), s.gateway.deadline()), (sent, None));
    assert_eq!(s.local(|g, now, out| g.hold(now, false, out)).0, [data(0, 1000, false), data(1000, 1000, false)]);
    // The loss of the peer ends it.
    s.local(|g, now, out| g.hold(now, true, out));
    s.local(|g, now, out| g.down(now, Reason::PeerLost, out));
    assert_eq!(s.local(|g, now, out| g.incoming(now, FlowId(4), asked(), out)).0, [open(FlowId(4), WINDOW)]);
}

#[test]
fn memory_is_shared_by_the_flows_that_use_it() {
    let config = GatewayConfig {
        window: Window::Fixed(Bytes(100_000)),
        floor: Bytes(1000),
        total_buffer: Bytes(40_000),
        ..config()
    };
    let mut s = Script::with(config);
    // The guaranteed bytes are granted in the `Open`, the rest when the peer has memory as well.
    let limit = |s: &mut Script, id| {
        let flow = FlowId(id);
        let (frames, _) = s.local(|g, now, out| g.incoming(now, flow, asked(), out));
        assert_eq!(frames[0], open(flow, 1000));
        match s.peer(&[Frame::Accepted { flow, limit: WINDOW }]).0[..] {
            [Frame::Credit { limit, .. }] => limit,
            [] => 1000,
            ref other => panic!("{other:?}"),
        }
    };
    // A quarter of the free memory except 5000; each leaves a thousand less for its other direction.
    assert_eq!([0, 2, 4, 6].map(|id| limit(&mut s, id)), [8250, 5937, 4203, 2902]);
    // A flow that ends makes room; one with a large grant keeps it.
    s.peer(&[refused(FlowId(0), Reason::Refused)]);
    assert_eq!(limit(&mut s, 8), (40_000 - 6937 - 5203 - 3902 - 2000 - 5000) / 4);
    // The last ones get the minimum (a small increase is not announced); one more waits until another ends.
    assert_eq!([10, 12, 14, 16, 18, 20].map(|id| limit(&mut s, id)), [2929, 1000, 1000, 1000, 1000, 1000]);
    assert_eq!(s.local(|g, now, out| g.incoming(now, FlowId(22), asked(), out)), NOTHING);
    assert_eq!(s.peer(&[refused(FlowId(2), Reason::Refused)]).0, [open(FlowId(22), 1000)]);
}

#[test]
fn a_connection_attempt_with_an_invalid_answer_is_refused() {
    // Before an answer there is nothing to reset and nothing to send.
    for (frame, reason) in
        [(reset(FLOW, 0, Reason::Violation), Reason::Violation), (data(1 << 30, 1, false), Reason::Violation)]
    {
        let mut near = Script::new();
        near.local(|g, now, out| g.incoming(now, FLOW, asked(), out));
        let (_, actions) = near.peer(&[frame]);
        assert_eq!(actions, [Action::Refuse { flow: FLOW, reason }, closed(FLOW, Some(reason))]);
        assert_eq!(near.gateway.stats().flows, 0);
    }
    // A host that answers and resets at once: its reset may come first.
    let mut near = Script::new();
    near.local(|g, now, out| g.incoming(now, FLOW, asked(), out));
    assert_eq!(near.peer(&[reset(FLOW, 0, Reason::Reset)]).1, []);
    let actions = near.peer(&[Frame::Accepted { flow: FLOW, limit: WINDOW }]).1;
    let reset = Action::Reset { flow: FLOW, reason: Reason::Reset };
    assert_eq!(actions, [Action::Accept { flow: FLOW }, reset, closed(FLOW, Some(Reason::Reset))]);
}

#[test]
fn a_flow_refused_for_lack_of_memory_takes_none() {
    let mut far = Script::with(GatewayConfig { total_buffer: Bytes(4 * WINDOW), waiting: 1, ..config() });
    let flows: Vec<FlowId> = (0..40).map(|n| FlowId(2 * n + 1)).collect();
    let opens: Vec<Frame> = flows.iter().map(|&flow| open(flow, WINDOW)).collect();
    let frames = far.peer(&opens).0;
    // One connects, one waits; of the others only an answer is kept.
    assert_eq!((far.gateway.stats().flows, far.gateway.stats().refused(Reason::Busy)), (2, 38));
    let busy: Vec<Frame> = flows[2..].iter().map(|&flow| refused(flow, Reason::Busy)).collect();
    assert!(busy.iter().all(|frame| frames.contains(frame)), "{frames:?}");
}

/// The end of a flow without bytes needs room for its header: next to control frames that fill a packet it had none.
#[test]
fn no_packet_is_longer_than_the_transport_accepts() {
    for octets in 400..440 {
        let mut s = Script::accepted();
        s.gateway.set_payload(s.now, octets, &mut s.out);
        s.gateway.hold(s.now, true, &mut s.out);
        s.out.packets.clear();
        for n in 1..100 {
            s.gateway.incoming(s.now, FlowId(1000 * n + FLOW.0), asked(), &mut s.out);
        }
        s.gateway.local_closed(s.now, FLOW, &mut s.out);
        s.gateway.hold(s.now, false, &mut s.out);
        while let Some((at, _)) = s.gateway.deadline().filter(|_| s.out.packets.len() < 8) {
            s.gateway.wake(at, &mut s.out);
        }
        let most = s.gateway.config().mtu.0 - 22;
        let longest = s.out.packets.iter().map(|packet| u64::from(packet.octets())).max();
        assert!(longest.is_some_and(|longest| longest <= most), "{longest:?} of {most}");
    }
}
