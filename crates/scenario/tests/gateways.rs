//! Gateways on a route, and what stands at their ends.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_scenario::*;
use cellway_units::{Bytes, Rate, Span};
use common::{RICH, enriched, scenario};

const H: NodeIndex = NodeIndex(0);
const G1: NodeIndex = NodeIndex(1);
const G2: NodeIndex = NodeIndex(4);

#[test]
fn a_pair_on_the_path_splits_the_connections() {
    let s = scenario(RICH);
    let g1 = s.nodes[G1.0].gateway.as_ref().unwrap();
    assert_eq!((g1.peer, g1.window, g1.packet, g1.rate.as_bps()), (G2, Bytes(1 << 20), Bytes(8192), 30_000_000));
    let costs = HostSpec { rate: Some(Rate::from_bps(145_000_000)), send: Span::from_ms(1), receive: Span::from_ms(2) };
    assert_eq!(g1.host, costs);
    let g2 = s.nodes[G2.0].gateway.as_ref().unwrap();
    assert_eq!((g2.peer, g2.window, g2.packet, g2.host), (G1, Bytes(1 << 20), Bytes(8192), HostSpec::default()));
    assert_eq!(s.nodes[H.0].host.send, Span::from_us(200));
    let split = &s.traffic[0];
    assert_eq!(split.tcp().unwrap().gateways, Some([G1, G2]));
    // The node's own keys go before the group's, and bring a send buffer as large as its window.
    let [near, far] = split.tcp().unwrap().gateway_tcp;
    assert_eq!((near.window, near.send_buffer, near.mss), (Bytes(64_000), Bytes(64_000), Bytes(1460)));
    assert_eq!(far, split.tcp().unwrap().tcp);
    // Only the Ethernet and the FDDI link carry TCP segments: the ATM links between the gateways do not count.
    assert_eq!(split.mtu, Bytes(1500));
    let cells = &s.traffic[1];
    assert_eq!(
        (cells.tcp().unwrap().gateways, cells.tcp().unwrap().gateway_tcp),
        (None, [cells.tcp().unwrap().tcp; 2])
    );
}

#[test]
fn the_pair_is_told_in_the_direction_of_the_group() {
    let s = scenario(&enriched(&[("from = \"h\"\nto = \"g2\"", "from = \"g2\"\nto = \"h\"")]));
    assert_eq!(s.traffic[0].tcp().unwrap().gateways, Some([G2, G1]));
    assert_eq!(s.traffic[0].tcp().unwrap().gateway_tcp.map(|tcp| tcp.window.0), [32 << 10, 64_000]);
}

#[test]
fn a_gateway_whose_peer_is_elsewhere_or_not_wanted_is_a_router() {
    let s =
        scenario(&enriched(&[("to = \"g2\"\naccess = { rate = \"fddi\"", "to = \"s2\"\naccess = { rate = \"oc3c\"")]));
    assert_eq!(s.traffic[0].tcp().unwrap().gateways, None);
    let s = scenario(&enriched(&[("to = \"g2\"", "to = \"g2\"\ngateway = false")]));
    assert_eq!(s.traffic[0].tcp().unwrap().gateways, None);
    assert_eq!(s.traffic[0].tcp().unwrap().gateway_tcp, [s.traffic[0].tcp().unwrap().tcp; 2]);
}

/// The links between gateways need not take the segments of the hosts.
#[test]
fn segments_need_not_fit_between_gateways() {
    let narrow = ("rate = \"oc3c\"\ndelay = \"0 s\"", "rate = \"oc3c\"\ndelay = \"0 s\"\nmtu = \"1000 B\"");
    let packet = [
        ("packet = \"8192 B\"", "packet = \"956 B\""),
        ("rate = \"20 Mbit/s\"", "rate = \"20 Mbit/s\", packet = \"956 B\""),
    ];
    let s = scenario(&enriched(&[narrow, packet[0], packet[1]]));
    assert_eq!((s.links[1].mtu, s.traffic[0].mtu), (Bytes(1000), Bytes(1500)));
    // To a group that does not use the gateways they count.
    let direct = enriched(&[narrow, packet[0], packet[1], ("to = \"g2\"", "to = \"g2\"\ngateway = false")]);
    let error = common::refusal(&direct).to_string();
    assert!(error.contains("link \"g1-s1\" takes 1000 B"), "{error}");
}

/// Both gateways of a pair use the same transport, and its headers count.
#[test]
fn what_carries_the_packets_is_the_same_at_both() {
    let quic = [
        ("packet = \"8192 B\"", "packet = \"8192 B\", transport = \"quic\""),
        ("rate = \"20 Mbit/s\"", "rate = \"20 Mbit/s\", transport = \"quic\""),
    ];
    let packet = |text: &str| scenario(text).nodes[G1.0].gateway.as_ref().unwrap().packet_octets();
    assert_eq!((packet(RICH), packet(&enriched(&quic))), (8192 + 43, 8192 + 75));
    for one in quic {
        let error = common::refusal(&enriched(&[one])).to_string();
        assert!(error.contains("\"g2\" and its peer \"g1\" have different transports"), "{error}");
    }
}

/// A profile at a gateway is of that machine: it goes before what hosts have, and yields to its own keys only.
#[test]
fn a_gateway_may_be_of_another_system_than_the_hosts() {
    let s = scenario(&enriched(&[(
        "tcp = { window = \"64 kB\" }",
        "tcp = { profile = \"solaris-2.5\", window = \"64 kB\" }",
    )]));
    let [near, far] = s.traffic[0].tcp().unwrap().gateway_tcp;
    assert_eq!((near.window, near.rto_min, near.profile), (Bytes(64_000), Span::from_ms(200), TcpProfile::Solaris25));
    assert_eq!(near.mss, Bytes(1460), "as large as the Ethernet before it takes");
    assert_eq!((far.rto_min, far.profile), (Span::from_secs(1), TcpProfile::Classic));
    assert_eq!(scenario(&s.to_toml()), s);
}

/// As many connections as the memory of the smaller gateway holds; a buffer of just a packet between the two.
#[test]
fn the_limits_of_gateways_are_accepted() {
    let s = scenario(&enriched(&[
        ("rate = \"20 Mbit/s\"", "rate = \"149.76 Mbit/s\", total-buffer = \"12 MiB\", packet = \"64 B\""),
        ("from = \"h\"", "count = 3\nfrom = \"h\""),
        ("size = \"512 cell\"\nper = \"port\"", "size = \"172 cell\"\nper = \"port\""),
    ]));
    let [g1, g2] = [G1, G2].map(|g| s.nodes[g.0].gateway.as_ref().unwrap().total_buffer);
    assert_eq!([g1, g2], [Bytes(1 << 30), Bytes(12 << 20)]);
    let window = scenario(&enriched(&[("window = \"1 MiB\"", "window = \"256 MiB\"")]));
    assert_eq!(window.nodes[G1.0].gateway.as_ref().unwrap().window, Bytes(256 << 20));
}
