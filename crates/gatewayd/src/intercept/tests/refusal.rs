//! SYNs that are refused, by this machine or by another one.

use std::net::SocketAddr;

use cellway_gateway::Reason;

use super::super::testbed::{Relay, Three, at, config, possible};
use super::errno;
use crate::config::PeerDown;

#[test]
fn a_refusal_is_what_it_would_be_without_a_gateway() {
    if !possible() {
        return;
    }
    let three = Three::new();
    // The clients are behind a peer too, as at a hub.
    let all = ["10.0.0.0/8", "fd00::/8"];
    let relay = Relay::start(&three, &config(&all, PeerDown::Direct, &[]));
    for (reason, v4, v6) in [
        (Reason::Refused, libc::ECONNREFUSED, libc::ECONNREFUSED),
        (Reason::HostUnreachable, libc::EHOSTUNREACH, libc::EHOSTUNREACH),
        (Reason::NetUnreachable, libc::ENETUNREACH, libc::ENETUNREACH),
        (Reason::Prohibited, libc::EHOSTUNREACH, libc::EACCES),
        (Reason::Busy, libc::ECONNREFUSED, libc::ECONNREFUSED),
    ] {
        for (version, expected) in [v4, v6].into_iter().enumerate() {
            let client = three.ask(at(version, 3, 81), 0);
            relay.refuse(relay.next_syn(), reason);
            assert_eq!(errno(client), Some(expected), "{reason}, IPv{}", 4 + 2 * version);
        }
    }
}

#[test]
fn the_far_sides_failure_is_the_clients() {
    if !possible() {
        return;
    }
    let three = Three::new();
    // Networks beyond the server, which is their router.
    let beyond = ["10.0.0.0/8", "fd00::/8"];
    let relay = Relay::start(&three, &config(&beyond, PeerDown::Direct, &["lan0"]));
    three
        .gateway
        .configure(
            "route add 10.2.0.0/16 via 10.0.1.2\nroute add fd02::/16 via fd01::2\n\
             route add unreachable 10.3.0.0/24\nroute add unreachable fd03::/64\n\
             route add prohibit 10.3.1.0/24\nroute add prohibit fd03:1::/64\n",
        )
        .unwrap();
    three
        .server
        .configure(
            "route add unreachable 10.2.1.0/24\nroute add unreachable fd02:1::/64\n\
             route add prohibit 10.2.2.0/24\nroute add prohibit fd02:2::/64\n",
        )
        .unwrap();
    for (server, expected) in [
        ("10.0.1.2:81", libc::ECONNREFUSED),
        ("[fd01::2]:81", libc::ECONNREFUSED),
        // Reported by a router beyond the gateway.
        ("10.2.1.1:80", libc::EHOSTUNREACH),
        ("[fd02:1::1]:80", libc::ENETUNREACH),
        ("10.2.2.1:80", libc::EHOSTUNREACH),
        ("[fd02:2::1]:80", libc::EACCES),
        // Known to the gateway.
        ("10.3.0.1:80", libc::EHOSTUNREACH),
        ("[fd03::1]:80", libc::ENETUNREACH),
        ("10.3.1.1:80", libc::EHOSTUNREACH),
        ("[fd03:1::1]:80", libc::EACCES),
        // No host has this address in the network of the gateway.
        ("10.0.1.77:80", libc::EHOSTUNREACH),
        ("[fd01::77]:80", libc::EHOSTUNREACH),
    ] {
        let server: SocketAddr = server.parse().unwrap();
        let client = three.ask(server, 0);
        let syn = relay.next_syn();
        relay.carry(syn);
        assert_eq!(errno(client), Some(expected), "through the gateway: {server}");
        while !relay.no_opening() {}
    }
    // The same without it.
    relay.set_networks(&three, false);
    for (server, expected) in [
        ("10.0.1.2:81", libc::ECONNREFUSED),
        ("[fd01::2]:81", libc::ECONNREFUSED),
        ("10.2.1.1:80", libc::EHOSTUNREACH),
        ("[fd02:1::1]:80", libc::ENETUNREACH),
        ("10.2.2.1:80", libc::EHOSTUNREACH),
        ("[fd02:2::1]:80", libc::EACCES),
        ("10.3.0.1:80", libc::EHOSTUNREACH),
        ("[fd03::1]:80", libc::ENETUNREACH),
        ("10.3.1.1:80", libc::EHOSTUNREACH),
        ("[fd03:1::1]:80", libc::EACCES),
        ("10.0.1.78:80", libc::EHOSTUNREACH),
        ("[fd01::78]:80", libc::EHOSTUNREACH),
    ] {
        assert_eq!(errno(three.ask(server.parse().unwrap(), 0)), Some(expected), "direct: {server}");
    }
}

#[test]
fn a_report_about_a_connection_that_is_not_ours_reaches_the_client() {
    if !possible() {
        return;
    }
    let three = Three::new();
    // Clients and servers are both behind peers, and no SYN is intercepted on this device: they are forwarded, and the
    // ICMP errors of the gateway about them pass the TUN device.
    let all = ["10.0.0.0/8", "fd00::/8"];
    let relay = Relay::start(&three, &config(&all, PeerDown::Direct, &["wan0"]));
    for version in 0..2 {
        let mut server = at(version, 3, 80);
        server.set_ip(if version == 0 { "10.0.1.79".parse().unwrap() } else { "fd01::79".parse().unwrap() });
        assert_eq!(errno(three.ask(server, 0)), Some(libc::EHOSTUNREACH));
    }
    assert!(relay.no_opening());
}
