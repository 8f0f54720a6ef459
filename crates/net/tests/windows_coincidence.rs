//! Windows against the calendar: a cell of a rotation that comes to a faster line in the instant in which that has just sent
//! a cell of another queue.
#![allow(missing_docs, clippy::unwrap_used)]

use cellway_net::{
    Class, ConversationSpec, Encapsulation, Fabric, Framing, LinkSpec, Multiplexing, NodeId, NodeKind, Packet,
};
use cellway_units::{Ecn, Rate, Span, Time};

const OC3C: u64 = 149_760_000;
const OC12C: u64 = 599_040_000;

/// Returns the time of cells without a gap from an idle line (ps).
fn cells(count: u64, rate: u64) -> u64 {
    (u128::from(count) * 424 * 1_000_000_000_000 / u128::from(rate)) as u64
}

/// Hosts `a` and `b` send a frame of eight cells each over a line of OC-3c, by turns; behind it is a line of OC-12c to `d`, to
/// which `c` sends a cell that leaves it as cell `meets` of the rotation comes, counted from 1. Returns the instants at which
/// packets reach `d`, with their conversations.
fn arrivals(in_windows: bool, meets: u64) -> Vec<(Time, u32)> {
    let mut net = Fabric::new(Multiplexing::PerConversation, Encapsulation::None);
    let [a, b, c, d] = [(); 4].map(|()| net.add_node(NodeKind::Host));
    let [first, second] = [(); 2].map(|()| net.add_node(NodeKind::Switch));
    let mut link = |between: [NodeId; 2], bps, ms| {
        net.add_link(between, LinkSpec::new(Rate::from_bps(bps), Span::from_ms(ms), Framing::Atm))
    };
    let [[from_a, to_a], [from_b, to_b]] = [a, b].map(|host| link([host, first], OC3C, 0));
    let [shared, back] = link([first, second], OC3C, 1);
    let [from_c, to_c] = link([c, second], 42_400_000, 0);
    let [to_d, from_d] = link([second, d], OC12C, 1);
    for (conversation, host, there, return_path) in [
        (0, a, &[from_a, shared, to_d][..], &[from_d, back, to_a][..]),
        (1, b, &[from_b, shared, to_d], &[from_d, back, to_b]),
        (2, c, &[from_c, to_d], &[from_d, to_c]),
    ] {
        let (hosts, paths) = ([host, d], [there, return_path]);
        net.open(ConversationSpec { conversation, kind: 0, hosts, paths, share: None, class: Class::Ubr }).unwrap();
    }
    assert!(!in_windows || net.run_in_windows(Time::ZERO), "the network allows it");
    let end = Time::ZERO + Span::from_ms(10);
    // The rotation begins as the first cells have come, and is a cell time of the faster line and 10 us of the other behind.
    let comes = cells(1, OC3C) + cells(meets, OC3C) + 1_000_000_000;
    let sends = Time::from_ps(comes - cells(1, OC12C) - 10_000_000);
    let packet = |conversation, from, octets| Packet {
        conversation,
        from,
        to: d,
        flow: 0,
        octets,
        ecn: Ecn::NotEct,
        dscp: 0,
        body: conversation,
    };
    let (mut delivered, mut seen) = (Vec::new(), Vec::new());
    for (now, packets) in
        [(Time::ZERO, vec![packet(0, a, 376), packet(1, b, 376)]), (sends, vec![packet(2, c, 40)]), (end, Vec::new())]
    {
        net.set_horizon(end);
        while let Some(at) = net.run(now, &mut delivered) {
            seen.extend(delivered.drain(..).map(|delivery| (at, delivery.packet.body)));
            net.serve(at);
        }
        net.advance(now, &mut delivered);
        packets.into_iter().for_each(|packet| net.send(now, packet));
        net.serve(now);
    }
    seen
}

#[test]
fn a_cell_may_come_as_the_one_before_leaves() {
    for meets in 9..=16 {
        let [by_calendar, in_windows] = [false, true].map(|in_windows| arrivals(in_windows, meets));
        assert_eq!(by_calendar.len(), 3, "{by_calendar:?}");
        assert_eq!(by_calendar, in_windows, "cell {meets}");
    }
}
