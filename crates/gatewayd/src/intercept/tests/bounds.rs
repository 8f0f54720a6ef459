//! The connections that are intercepted and those that are not, while a gateway runs and after its end.

use std::net::SocketAddr;

use super::super::connect;
use super::super::testbed::{Relay, Three, at, config, possible, until};
use super::{SERVER, errno};
use crate::config::PeerDown;

#[test]
fn other_networks_devices_and_this_machine_are_left_alone() {
    if !possible() {
        return;
    }
    let three = Three::new();
    // An answer of this machine has the mark of the packet that it answers.
    three.gateway.set("net/ipv4/fwmark_reflect", "1").unwrap();
    three.gateway.set("net/ipv6/fwmark_reflect", "1").unwrap();
    // All of the world is behind the peer, for clients on lan0.
    let all = ["0.0.0.0/0", "::/0"];
    let mut relay = Relay::start(&three, &config(&all, PeerDown::Refuse, &["lan0"]));
    for version in 0..2 {
        // This machine, from the client; also the port of the listeners, to which no client can connect from outside.
        assert_eq!(errno(three.ask(at(version, 1, 22), 0)), Some(libc::ECONNREFUSED));
        assert_eq!(errno(three.ask(at(version, 1, relay.intercept().port), 0)), Some(libc::ECONNREFUSED));
        // Another device: the server to the client.
        let client = at(version, 0, 99);
        let back = Three::thread(&three.server, move || std::net::TcpStream::connect(client).unwrap_err());
        assert_eq!(back.join().unwrap().raw_os_error(), Some(libc::ECONNREFUSED));
        // A server on the port of the listeners is a server like any other.
        three.serve(at(version, 3, relay.intercept().port));
        assert!(relay.no_opening());
        let client = three.ask(at(version, 3, relay.intercept().port), 0);
        relay.carry(relay.next_syn());
        client.join().unwrap().unwrap();
    }
    relay.die();
    // A network that is no peer's.
    let other = Relay::start(&three, &config(&["10.99.0.0/16", "fd99::/16"], PeerDown::Refuse, &[]));
    for version in 0..2 {
        three.serve(at(version, 3, 80));
        three.ask(at(version, 3, 80), 0).join().unwrap().unwrap();
    }
    assert!(other.no_opening());
}

#[test]
fn without_the_daemon_connections_go_direct() {
    if !possible() {
        return;
    }
    let three = Three::new();
    let mut relay = Relay::start(&three, &config(&SERVER, PeerDown::Direct, &[]));
    for version in 0..2 {
        three.serve(at(version, 3, 80));
        let client = three.ask(at(version, 3, 80), 0);
        relay.carry(relay.next_syn());
        client.join().unwrap().unwrap();
    }
    relay.die();
    for version in 0..2 {
        let asked = three.ask(at(version, 3, 80), 0).join().unwrap().unwrap();
        assert_eq!(asked.seen, asked.own);
        assert_eq!(
            three.ask(at(version, 3, 81), 0).join().unwrap().unwrap_err().raw_os_error(),
            Some(libc::ECONNREFUSED)
        );
    }
}

#[test]
fn guarded_networks_are_refused_without_the_peer_or_the_daemon() {
    if !possible() {
        return;
    }
    let three = Three::new();
    let mut relay = Relay::start(&three, &config(&SERVER, PeerDown::Refuse, &[]));
    for version in 0..2 {
        three.serve(at(version, 3, 80));
    }
    let refused = || {
        for version in 0..2 {
            assert_eq!(errno(three.ask(at(version, 3, 80), 0)), Some(libc::ECONNREFUSED));
        }
    };
    relay.set_networks(&three, false);
    refused();
    assert!(relay.no_opening());
    relay.set_networks(&three, true);
    for version in 0..2 {
        let client = three.ask(at(version, 3, 80), 0);
        relay.carry(relay.next_syn());
        client.join().unwrap().unwrap();
    }
    relay.die();
    refused();
}

#[test]
fn the_device_is_removed_with_the_hold() {
    if !possible() {
        return;
    }
    let three = Three::new();
    let mut relay = Relay::start(&three, &config(&SERVER, PeerDown::Direct, &[]));
    let devices = || Three::output(&three.gateway, "ip -o link; ip route show table 161; ip -6 route show table 161");
    assert!(devices().matches("hold0").count() >= 3, "{}", devices());
    relay.die();
    until(|| !devices().contains("hold0"));
}

#[test]
fn a_port_that_is_taken_is_replaced() {
    if !possible() {
        return;
    }
    let three = Three::new();
    for version in 0..2 {
        let (client, server) = (at(version, 0, 4_321), at(version, 3, 80));
        three.serve(server);
        let seen = three.gateway.run(move || {
            let connected = |client: SocketAddr| {
                let socket = connect(Some(client), server).unwrap();
                let from = socket.local_addr().unwrap().as_socket().unwrap();
                (socket, from)
            };
            let (_one, first) = connected(client);
            let (_two, second) = connected(client);
            let (_any, third) = connected(SocketAddr::new(client.ip(), 0));
            (first, second, third)
        });
        assert_eq!(seen.0, client);
        for other in [seen.1, seen.2] {
            assert_eq!(other.ip(), client.ip());
            assert!(other.port() != client.port() && other.port() != 0);
        }
    }
}
