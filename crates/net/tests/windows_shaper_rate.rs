//! Windows against the calendar: a cell that a shaper holds back leaves at its old time after the rate has decreased.
#![allow(missing_docs, clippy::unwrap_used)]

use cellway_net::{
    Class, ConversationSpec, Encapsulation, Fabric, Framing, LinkSpec, Multiplexing, NodeId, NodeKind, Packet,
    ShaperSpec,
};
use cellway_units::{Ecn, Rate, Span, Time};

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn packet(conversation: u32, from: NodeId, to: NodeId, octets: u32) -> Packet<u32> {
    Packet { conversation, from, to, flow: 0, octets, ecn: Ecn::NotEct, dscp: 0, body: conversation }
}

/// Host `a` sends two cells to `b` through a shaper of 1 Mbit/s, whose rate is a tenth of that from 100 µs on: the second cell
/// keeps its release at 424 µs, where the next could leave at 3340 µs. `b` answers, while a long frame comes to `a` from `c`.
/// Returns the instants at which packets reach `a` and `b`, with their conversations.
fn exchange(in_windows: bool) -> Vec<(Time, u32)> {
    let mut net = Fabric::new(Multiplexing::PerConversation, Encapsulation::None);
    let [a, b, c] = [(); 3].map(|()| net.add_node(NodeKind::Host));
    let switch = net.add_node(NodeKind::Switch);
    let [[from_a, to_a], [from_b, to_b], [from_c, to_c]] =
        [(a, 42_400_000), (b, 424_000_000), (c, 424_000_000)].map(|(host, rate)| {
            net.add_link([host, switch], LinkSpec::new(Rate::from_bps(rate), Span::ZERO, Framing::Atm))
        });
    for (conversation, hosts, paths) in
        [(0, [a, b], [[from_a, to_b], [from_b, to_a]]), (1, [c, a], [[from_c, to_a], [from_a, to_c]])]
    {
        let paths: [&[_]; 2] = [&paths[0], &paths[1]];
        net.open(ConversationSpec { conversation, kind: 0, hosts, paths, share: None, class: Class::Ubr }).unwrap();
    }
    let (channel, _) = net.channels(0, 0)[0].clone();
    net.shape(from_a, channel, ShaperSpec { peak: Rate::from_bps(1_000_000), sustained: None });

    let (mut delivered, mut seen) = (Vec::new(), Vec::new());
    assert!(!in_windows || net.run_in_windows(Time::ZERO), "the network allows it");
    for (limit, horizon) in [(us(0), us(100)), (us(100), us(100)), (us(150), us(9000)), (us(9000), us(9000))] {
        net.set_horizon(horizon);
        while let Some(now) = net.run(limit, &mut delivered) {
            for delivery in delivered.drain(..) {
                seen.push((now, delivery.packet.body));
                if delivery.packet.to == b && seen.len() == 2 {
                    net.send(now, packet(0, b, a, 40));
                }
            }
            net.serve(now);
        }
        if limit == us(100) {
            net.leave_windows(limit);
        }
        net.advance(limit, &mut delivered);
        match limit.as_ps() / 1_000_000 {
            0 => (0..2).for_each(|_| net.send(limit, packet(0, a, b, 40))),
            100 => assert!(net.set_shaper_rate(limit, from_a, channel, Rate::from_bps(100_000))),
            150 => net.send(limit, packet(1, c, a, 9180)),
            _ => {}
        }
        net.serve(limit);
        if limit == us(100) && in_windows {
            assert!(net.run_in_windows(limit), "the network allows it again");
        }
    }
    seen
}

#[test]
fn a_held_cell_may_be_the_first_to_reach_a_host() {
    let [by_calendar, in_windows] = [false, true].map(exchange);
    assert_eq!(by_calendar.len(), 4, "{by_calendar:?}");
    assert_eq!(by_calendar, in_windows);
}
