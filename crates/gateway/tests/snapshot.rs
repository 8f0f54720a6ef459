//! A gateway that is restored from a snapshot behaves like the original.
#![allow(clippy::unwrap_used)]

#[allow(unreachable_pub, dead_code, reason = "shared with other tests")]
mod common;

use std::collections::BTreeSet;
use std::sync::Arc;

use cellway_gateway::{Class, Classes, FlowId, Frame, Gateway, GatewayConfig, Request, Server, Transport};
use cellway_units::{Bytes, Rate, Span, Time};
use common::bulk::{config, sender};
use common::host::Plan;
use common::pair::{FlowPlan, Line, Pair};
use common::script::{self, FLOW, Script, WINDOW, asked};

fn octets(gateway: &Gateway) -> Vec<u8> {
    let mut octets = Vec::new();
    ciborium::into_writer(gateway, &mut octets).unwrap();
    octets
}

/// Runs flows in both directions over a line with loss and jitter. With `copied` both gateways are replaced by their copies
/// every 20 ms. Returns the snapshots at the end.
fn run(config: GatewayConfig, copied: bool) -> [Vec<u8>; 2] {
    let plan = |n: usize, hosts| FlowPlan {
        opener: n % 2,
        start: Time::ZERO + Span::from_ms(40 * n as u64),
        refuse: n % 5 == 4,
        early: n.is_multiple_of(3),
        hosts,
    };
    let plans: Vec<FlowPlan> = (0..10)
        .map(|n| if n < 4 { plan(n, [sender(), sender()]) } else { plan(n, [Plan::sender(30_000 * n as u64); 2]) })
        .collect();
    let line =
        Line { jitter: Span::from_ms(10), loss_per_mille: 20, losses: u32::MAX, ..Line::good(Span::from_ms(40)) };
    let mut pair = Pair::new([config; 2], line, &plans, 11);
    pair.ports.extend((0..20).map(|n| (FlowId(n), 80 + n as u16 % 3)));
    let ceiling = Some(Rate::from_bps(9_000_000));
    let classes = vec![Class { ports: vec![80..=80], ceiling, ..Class::new("a") }, Class::new("b")];
    let classes = Classes::new(classes).unwrap();
    [0, 1].into_iter().for_each(|side| pair.set_classes(side, classes.clone()));
    for step in 1..=100 {
        pair.run(Time::ZERO + Span::from_ms(20 * step));
        if copied {
            for gateway in &mut pair.gateways {
                let written = octets(gateway);
                *gateway = ciborium::from_reader(&*written).unwrap();
                assert!(octets(gateway) == written, "step {step}: what was read is not what was written");
            }
        }
    }
    for gateway in &pair.gateways {
        let stats = gateway.stats();
        assert!(stats.data_bytes > 1_000_000 && stats.packets_lost > 10 && stats.flows_opened > 5, "{stats:?}");
    }
    [octets(&pair.gateways[0]), octets(&pair.gateways[1])]
}

#[test]
fn a_copy_continues_where_the_original_was() {
    for auto in [false, true] {
        let config = config(Rate::from_bps(50_000_000), auto);
        assert!(run(config, true) == run(config, false), "auto {auto}");
    }
}

/// Creates a gateway with a flow to a peer that has acknowledged nothing of 3 packets with data, `reliable` or not.
fn under_way(reliable: bool) -> Script {
    let transport = if reliable { Transport::Tls { v6: false } } else { Transport::Quic { v6: false } };
    let mut s = Script::with(GatewayConfig { transport, reliable, ..script::config() });
    s.local(|g, now, out| g.incoming(now, FLOW, asked(), out));
    s.ack(0, 0);
    s.peer(&[Frame::Accepted { flow: FLOW, limit: WINDOW }]);
    s.local(|g, now, out| g.received(now, FLOW, 3_000, out));
    s
}

#[test]
fn packets_in_flight_are_retransmitted_over_the_next_transport() {
    let (tls, quic) = (Transport::Tls { v6: false }, Transport::Quic { v6: false });
    for (reliable, next, expected) in
        [(true, tls, 3_000), (true, quic, 3_000), (false, tls, 3_000), (false, quic, 2_000)]
    {
        let mut s = under_way(reliable);
        let (frames, actions) = s.local(|g, now, out| g.transport_replaced(now, next, next == tls, out));
        let (mut end, mut again) = (0, frames.iter());
        while let Some(&Frame::Data { offset, len, .. }) = again.next() {
            assert_eq!(offset, end);
            end += u64::from(len);
        }
        assert_eq!((end, actions), (expected, vec![]), "{reliable} {next:?}");
        assert_eq!((s.gateway.config().transport, s.gateway.config().reliable), (next, next == tls));
        let last = s.sent() - 1;
        s.ack(1, last);
        assert_eq!(s.gateway.flow_stats(FLOW).unwrap().held_outbound, 0);
    }
}

/// The peer drops bytes of a flow without its `Open`, and over TLS no packet is retransmitted. The `Open` frames fill
/// several packets, which have room for a few bytes that would overtake their own.
#[test]
fn bytes_wait_for_a_retransmitted_open() {
    const FLOWS: u64 = 200;
    // The last ones, so that their `Open` frames do not leave first.
    const SENDING: u64 = 10;
    for reliable in [true, false] {
        let transport = if reliable { Transport::Tls { v6: false } } else { Transport::Quic { v6: false } };
        let mut s = Script::with(GatewayConfig { transport, reliable, early: Bytes(500), ..script::config() });
        for n in 0..FLOWS {
            let server = Server::Name("s".repeat(1 + n as usize % 60).into(), 80);
            let request = Arc::new(Request { client: None, server, early: true });
            s.local(|g, now, out| g.incoming(now, FlowId(2 * n), request, out));
            if n >= FLOWS - SENDING {
                s.local(|g, now, out| g.received(now, FlowId(2 * n), 1, out));
            }
        }
        let other = if reliable { Transport::Quic { v6: false } } else { Transport::Tls { v6: false } };
        let (mut sent, _) = s.local(|g, now, out| g.transport_replaced(now, other, !reliable, out));
        sent.extend(s.run_until(s.now + Span::from_ms(100)).0);
        let mut opened = BTreeSet::new();
        let mut bytes = 0;
        for frame in &sent {
            match frame {
                Frame::Open { flow, .. } => drop(opened.insert(*flow)),
                Frame::Data { flow, len, .. } => {
                    assert!(opened.contains(flow), "{flow:?} after {} openings", opened.len());
                    bytes += u64::from(*len);
                }
                _ => {}
            }
        }
        assert_eq!((opened.len() as u64, bytes), (FLOWS, SENDING), "reliable: {reliable}");
    }
}
