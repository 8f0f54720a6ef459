//! Windows against the calendar: a burst comes to a policer and a buffer that it fills.
#![allow(missing_docs, clippy::unwrap_used)]

use cellway_net::{
    BufferSpec, Charge, Class, ConversationSpec, Discard, Encapsulation, Fabric, Framing, LinkSpec, Multiplexing,
    NodeKind, Packet, PolicerAction, PolicerSpec, PortCounters, Sharing,
};
use cellway_units::{Bits, Ecn, Rate, Span, Time};

/// Sends a frame of 192 cells over a line of 424 Mbit/s, a microsecond for each, to a switch whose next line takes ten. Its
/// buffer holds five cells. Its policer has 2 µs for each cell and lets them come 50 µs early. Returns its counters.
fn burst(in_windows: bool) -> PortCounters {
    let mut net = Fabric::new(Multiplexing::PerConversation, Encapsulation::None);
    let nodes = [NodeKind::Host, NodeKind::Switch, NodeKind::Host].map(|kind| net.add_node(kind));
    let link = |rate| LinkSpec::new(Rate::from_bps(rate), Span::from_us(1), Framing::Atm);
    let buffer = BufferSpec {
        size: Bits(5 * 424),
        whole_port: true,
        sharing: Sharing::Pool,
        charge: Charge::Cell,
        discard: Discard::Cell,
        threshold: None,
        clp_threshold: None,
    };
    let first = net.add_link([nodes[0], nodes[1]], link(424_000_000));
    let second = net.add_link([nodes[1], nodes[2]], link(42_400_000).with_buffers([Some(buffer), None]));
    let hosts = [nodes[0], nodes[2]];
    let paths: [&[_]; 2] = [&[first[0], second[0]], &[second[1], first[1]]];
    net.open(ConversationSpec { conversation: 0, kind: 0, hosts, paths, share: None, class: Class::Ubr }).unwrap();
    let (channel, _) = net.channels(0, 0)[0].clone();
    let (peak, cdvt, action) = (Rate::from_bps(212_000_000), Span::from_us(50), PolicerAction::Discard);
    net.police(second[0], channel, PolicerSpec { peak, cdvt, sustained: None, action });

    assert!(!in_windows || net.run_in_windows(Time::ZERO), "the network allows it");
    let (end, mut delivered) = (Time::ZERO + Span::from_ms(10), Vec::new());
    net.set_horizon(end);
    let [from, to] = hosts;
    let packet = Packet { conversation: 0, from, to, flow: 0, octets: 9180, ecn: Ecn::NotEct, dscp: 0, body: () };
    net.send(Time::ZERO, packet);
    net.serve(Time::ZERO);
    assert_eq!(net.run(end, &mut delivered), None, "the frame misses cells");
    net.port_counters(second[0], end)
}

#[test]
fn a_cell_that_finds_the_buffer_full_counts_once_at_its_policer() {
    let [by_calendar, in_windows] = [false, true].map(burst);
    assert!(by_calendar.policed_discarded > 0 && by_calendar.dropped_cells > 0, "{by_calendar:?}");
    assert_eq!(by_calendar, in_windows);
}
