//! Properties of two gateways over a lossy link.
#![allow(clippy::unwrap_used)]

#[allow(unreachable_pub, dead_code, reason = "shared with other tests")]
mod common;

use cellway_gateway::{DATA_OVERHEAD, GatewayConfig, Transport, Window, Wire};
use cellway_units::{Bytes, Rate, Span, Time};
use common::host::Plan;
use common::pair::{FlowPlan, Line, Pair};
use proptest::prelude::*;

/// Generates any reasonable configuration; the delay of acknowledgements and the early bytes are common to both.
fn config(ack_delay: Span, early: u64) -> impl Strategy<Value = GatewayConfig> {
    let wire = prop_oneof![Just(Wire::Packet), Just(Wire::Atm { llc: false }), Just(Wire::Atm { llc: true })];
    let transport =
        prop_oneof![Just(Transport::Ip), Just(Transport::Quic { v6: false }), Just(Transport::Quic { v6: true })];
    let size = (64u64..3000, 1u64..20, 0u64..64, 0u64..600);
    (size, 200_000u64..50_000_000, wire, transport, 1u32..4, prop_oneof![Just(1u64), 1u64..12], 0u64..5, any::<bool>())
        .prop_map(move |((payload, windows, part, spare), rate, wire, transport, ack_every, dynamic, slack, auto)| {
            let floor = payload * windows + part;
            GatewayConfig {
                window: Window::Fixed(Bytes(floor * dynamic)),
                floor: Bytes(floor),
                wire,
                transport,
                payload: Bytes(payload),
                mtu: Bytes(payload + u64::from(transport.overhead() + DATA_OVERHEAD) + spare),
                // Three flows of each origin; more wait. If the window exceeds the floor they share little.
                total_buffer: Bytes(12 * floor),
                early: Bytes(early),
                slack: Span::from_ms(slack),
                ack_every,
                ack_delay,
                auto,
                times_acks: auto,
                ..GatewayConfig::new(Rate::from_bps(rate))
            }
        })
}

fn plan() -> impl Strategy<Value = Plan> {
    let bytes = prop_oneof![Just(0u64), 1u64..200, 1u64..60_000];
    let resets = prop_oneof![9 => Just(None), 1 => (0u64..20_000).prop_map(Some)];
    let pause = prop_oneof![3 => Just((u64::MAX, 0)), 1 => (8_000u64..40_000, 100u32..800)];
    (bytes, 1u64..20_000, 1u64..20_000, 1u64..30_000, any::<bool>(), pause, resets).prop_map(
        |(bytes, sends, reads, buffer, waits_for_peer, pause, resets_after)| Plan {
            bytes,
            sends: sends.max(bytes / 200),
            // Not so slow that the run takes for ever.
            reads: reads.max(60_000 / 400),
            buffer: buffer.max(60_000 / 400),
            waits_for_peer,
            pause,
            resets_after: resets_after.map(|after| after.min(bytes)),
        },
    )
}

fn flow() -> impl Strategy<Value = FlowPlan> {
    (0usize..2, 0u64..2000, prop_oneof![9 => Just(false), 1 => Just(true)], any::<bool>(), [plan(), plan()]).prop_map(
        |(opener, start, refuse, early, mut hosts)| {
            // One of them has to close first.
            hosts[1].waits_for_peer &= !hosts[0].waits_for_peer;
            FlowPlan { opener, start: Time::ZERO + Span::from_ms(start), refuse, early, hosts }
        },
    )
}

fn line() -> impl Strategy<Value = Line> {
    let per_mille = |most: u64| prop_oneof![Just(0u64), 0..most];
    (1u64..150, prop_oneof![Just(0u64), 1u64..100], per_mille(300), per_mille(200)).prop_map(
        |(delay, jitter, loss_per_mille, duplicate_per_mille)| Line {
            delay: Span::from_ms(delay),
            jitter: Span::from_ms(jitter),
            loss_per_mille,
            duplicate_per_mille,
            losses: 300,
            outage: None,
            queue: None,
            queue_back: None,
        },
    )
}

fn configs() -> impl Strategy<Value = [GatewayConfig; 2]> {
    (1u64..100, 0u64..64).prop_flat_map(|(ms, early)| [(); 2].map(|()| config(Span::from_ms(ms), early)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_and_in_order_and_every_flow_ends(
        configs in configs(),
        line in line(),
        flows in prop::collection::vec(flow(), 1..9),
        seed in any::<u64>(),
        late in 0u64..4,
        marks in any::<bool>(),
    ) {
        let mut pair = Pair::new(configs, line, &flows, seed);
        pair.late = Span::from_ms(late);
        pair.marks = marks;
        pair.tick = Span::from_ms(5);
        pair.run(Time::ZERO + Span::from_secs(900));
        pair.check_ends();
    }

    #[test]
    fn nothing_is_resent_over_a_good_line(config in config(Span::from_ms(25), 64), flows in prop::collection::vec(flow(), 1..5), delay in 1u64..150) {
        let mut pair = Pair::new([config; 2], Line::good(Span::from_ms(delay)), &flows, 0);
        pair.tick = Span::from_ms(5);
        pair.run(Time::ZERO + Span::from_secs(900));
        pair.check_ends();
        let resent = pair.gateways.map(|g| g.stats().packets_lost);
        prop_assert_eq!(resent, [0, 0]);
    }

    #[test]
    fn the_same_inputs_give_the_same_outputs(configs in configs(), line in line(), flows in prop::collection::vec(flow(), 1..5), seed in any::<u64>()) {
        let runs = [0, 1].map(|_| {
            let mut pair = Pair::new(configs, line, &flows, seed);
            pair.tick = Span::from_ms(5);
            pair.run(Time::ZERO + Span::from_secs(5));
            (format!("{:?}", pair.departures), pair.gateways.map(|g| g.stats()))
        });
        prop_assert_eq!(&runs[0], &runs[1]);
    }
}
