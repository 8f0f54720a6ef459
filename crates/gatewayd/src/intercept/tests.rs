//! Interception live, between three namespaces. Each test asks of both versions of IP.

use std::io;
use std::net::SocketAddr;

use cellway_gateway::Reason;

use super::obstacles;
use super::testbed::{ADDRESSES, Asked, PATIENCE, Relay, Three, at, config, possible, until};
use crate::config::PeerDown;

const SERVER: [&str; 2] = [ADDRESSES[0][4], ADDRESSES[1][4]];

fn errno(result: std::thread::JoinHandle<io::Result<Asked>>) -> Option<i32> {
    result.join().unwrap().unwrap_err().raw_os_error()
}

#[test]
fn what_is_released_connects_and_bytes_flow() {
    if !possible() {
        return;
    }
    let three = Three::new();
    // Whether or not the devices of clients are named.
    for interfaces in [&[][..], &["lan0"], &["la*"]] {
        let mut relay = Relay::start(&three, &config(&SERVER, PeerDown::Direct, interfaces));
        for version in 0..2 {
            let server = at(version, 3, 80 + interfaces.len() as u16);
            if interfaces != ["la*"] {
                three.serve(server);
            }
            let client = three.ask(server, 0);
            let opening = relay.opening();
            assert_eq!((opening.client.ip(), opening.server), (at(version, 0, 0).ip(), server));
            // Nobody has answered.
            let states = Three::output(&three.client, "ss -Htn state syn-sent");
            assert_eq!(states.lines().count(), 1, "{states}");
            relay.carry(opening.clone());
            let asked = client.join().unwrap().unwrap();
            assert_eq!(asked.own, opening.client);
            assert_eq!(asked.peer, server);
            assert_eq!(asked.seen, opening.client, "the server sees the client's address and port");
            assert_eq!(relay.accepted.recv_timeout(PATIENCE).unwrap(), (asked.own, server));
        }
        relay.die();
    }
}

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
            relay.refuse(relay.opening(), reason);
            assert_eq!(errno(client), Some(expected), "{reason}, IPv{}", 4 + 2 * version);
        }
    }
}

#[test]
fn nothing_is_sent_for_a_time_out_and_the_client_goes_on() {
    if !possible() {
        return;
    }
    let three = Three::new();
    let relay = Relay::start(&three, &config(&SERVER, PeerDown::Direct, &[]));
    for version in 0..2 {
        let client = three.ask(at(version, 3, 81), 0);
        let first = relay.opening();
        relay.refuse(first.clone(), Reason::TimedOut);
        // The same segment comes again, and can be told by its addresses and number.
        let again = relay.opening();
        assert_eq!(
            (again.client, again.server, again.acknowledgment),
            (first.client, first.server, first.acknowledgment)
        );
        assert!(!client.is_finished());
        relay.refuse(again, Reason::Refused);
        assert_eq!(errno(client), Some(libc::ECONNREFUSED));
    }
}

#[test]
fn a_release_may_be_repeated() {
    if !possible() {
        return;
    }
    let three = Three::new();
    let relay = Relay::start(&three, &config(&SERVER, PeerDown::Direct, &[]));
    for version in 0..2 {
        three.serve(at(version, 3, 80));
        let client = three.ask(at(version, 3, 80), 0);
        let (first, again) = (relay.opening(), relay.opening());
        assert_eq!(first.acknowledgment, again.acknowledgment);
        relay.carry(first);
        relay.release(again);
        client.join().unwrap().unwrap();
        assert!(relay.accepted.recv_timeout(PATIENCE).is_ok());
        assert!(relay.accepted.try_recv().is_err(), "one connection, not two");
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
        // Nobody has this address in the network of the gateway.
        ("10.0.1.77:80", libc::EHOSTUNREACH),
        ("[fd01::77]:80", libc::EHOSTUNREACH),
    ] {
        let server: SocketAddr = server.parse().unwrap();
        let client = three.ask(server, 0);
        let opening = relay.opening();
        relay.carry(opening);
        assert_eq!(errno(client), Some(expected), "through the gateway: {server}");
        while !relay.no_opening() {}
    }
    // And the same without it.
    relay.in_gateway(&three, |rules| rules.peer(0, false)).unwrap();
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
    // Clients and servers are both behind peers, and no opening is taken on this device: those pass direct, and
    // what the gateway reports of them takes the way through the device.
    let all = ["10.0.0.0/8", "fd00::/8"];
    let relay = Relay::start(&three, &config(&all, PeerDown::Direct, &["wan0"]));
    for version in 0..2 {
        let mut server = at(version, 3, 80);
        server.set_ip(if version == 0 { "10.0.1.79".parse().unwrap() } else { "fd01::79".parse().unwrap() });
        assert_eq!(errno(three.ask(server, 0)), Some(libc::EHOSTUNREACH));
    }
    assert!(relay.no_opening());
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
                let socket = super::connect(Some(client), server).unwrap();
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

#[test]
fn checks_of_the_reverse_path_do_no_harm() {
    if !possible() {
        return;
    }
    let three = Three::new();
    // What is accepted would send with the mark of the segment that it came with.
    three.gateway.set("net/ipv4/tcp_fwmark_accept", "1").unwrap();
    three.gateway.set("net/ipv4/conf/all/src_valid_mark", "1").unwrap();
    for version in 0..2 {
        three.serve(at(version, 3, 80));
    }
    for check in ["1", "2", "0"] {
        for device in ["all", "default", "lan0", "wan0"] {
            three.gateway.set(&format!("net/ipv4/conf/{device}/rp_filter"), check).unwrap();
        }
        let both = ["10.0.0.0/8", "fd00::/8"];
        let mut relay = Relay::start(&three, &config(&both, PeerDown::Direct, &["lan0"]));
        for version in 0..2 {
            let client = three.ask(at(version, 3, 80), 0);
            relay.carry(relay.opening());
            let asked = client.join().unwrap().unwrap();
            assert_eq!(asked.seen, asked.own);
        }
        // And a neighbour that does not answer.
        let client = three.ask("10.0.1.77:80".parse().unwrap(), 0);
        relay.carry(relay.opening());
        assert_eq!(errno(client), Some(libc::EHOSTUNREACH), "rp_filter={check}");
        while !relay.no_opening() {}
        relay.die();
    }
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
        relay.carry(relay.opening());
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
fn guarded_networks_are_refused_when_the_peer_is_down_or_the_daemon_gone() {
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
    relay.in_gateway(&three, |rules| rules.peer(0, false)).unwrap();
    refused();
    assert!(relay.no_opening());
    relay.in_gateway(&three, |rules| rules.peer(0, true)).unwrap();
    for version in 0..2 {
        let client = three.ask(at(version, 3, 80), 0);
        relay.carry(relay.opening());
        client.join().unwrap().unwrap();
    }
    relay.die();
    refused();
}

#[test]
fn other_networks_devices_and_this_machine_are_left_alone() {
    if !possible() {
        return;
    }
    let three = Three::new();
    // An answer of this machine has the mark of what it answers.
    three.gateway.set("net/ipv4/fwmark_reflect", "1").unwrap();
    three.gateway.set("net/ipv6/fwmark_reflect", "1").unwrap();
    // All of the world is behind the peer, for clients on lan0.
    let all = ["0.0.0.0/0", "::/0"];
    let mut relay = Relay::start(&three, &config(&all, PeerDown::Refuse, &["lan0"]));
    for version in 0..2 {
        // This machine, from the client; also the port of the listeners, where nobody is from outside.
        assert_eq!(errno(three.ask(at(version, 1, 22), 0)), Some(libc::ECONNREFUSED));
        assert_eq!(errno(three.ask(at(version, 1, relay.intercept().port), 0)), Some(libc::ECONNREFUSED));
        // Another device: the server to the client.
        let client = at(version, 0, 99);
        let back = Three::thread(&three.server, move || std::net::TcpStream::connect(client).unwrap_err());
        assert_eq!(back.join().unwrap().raw_os_error(), Some(libc::ECONNREFUSED));
        // A server on the port of the listeners is a server as any other.
        three.serve(at(version, 3, relay.intercept().port));
        assert!(relay.no_opening());
        let client = three.ask(at(version, 3, relay.intercept().port), 0);
        relay.carry(relay.opening());
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

/// All that can be seen of rules, routes and settings.
fn everything(three: &Three) -> String {
    Three::output(
        &three.gateway,
        "nft list ruleset; ip rule; ip -6 rule; ip route show table all; ip -6 route show table all; \
         cat /proc/sys/net/ipv4/conf/*/rp_filter /proc/sys/net/ipv4/ip_forward",
    )
}

#[test]
fn rules_are_applied_twice_and_removed_without_a_trace() {
    if !possible() {
        return;
    }
    let three = Three::new();
    // Things of others, one of them in the way.
    Three::output(
        &three.gateway,
        "nft add table inet others; ip rule add pref 11603 fwmark 0x6a0 lookup 99; ip -6 rule add pref 500 lookup 98",
    );
    let before = everything(&three);
    // The prefixes overlap, as the sets' may not.
    let config = config(&["10.0.1.0/24", "10.0.1.0/25", "fd01::/64"], PeerDown::Refuse, &["lan0"]);
    let [first, second, moved, again, removed] = {
        let config = config.clone();
        let (g, three) = (three.gateway.handle(), &three);
        let step = |work: fn(&mut super::Rules)| {
            let config = config.clone();
            g.run(move || work(&mut super::Rules::of(&config)));
            everything(three)
        };
        [
            step(|rules| rules.apply().unwrap()),
            step(|rules| rules.apply().unwrap()),
            step(|rules| rules.peer(0, true).unwrap()),
            step(|rules| rules.apply().unwrap()),
            step(|rules| (rules.remove().unwrap(), rules.remove().unwrap()).0),
        ]
    };
    assert_ne!(first, before);
    assert_eq!(first, second);
    assert_ne!(moved, second, "10.0.1.0/24 is taken");
    assert_eq!(again, moved, "what is taken stays when the rules are applied again");
    assert_eq!(removed, before);
    // The script that is printed does the same.
    let text = super::Rules::of(&config).text();
    Three::output(&three.gateway, &text);
    assert_eq!(everything(&three), first);
    // A daemon that is there before the rules.
    three.gateway.run(move || {
        let mut rules = super::Rules::of(&config);
        rules.remove().unwrap();
        rules.peer(0, true).unwrap();
        rules.apply().unwrap();
    });
    assert_eq!(everything(&three), moved);
}

#[test]
fn obstacles_are_named() {
    if !possible() {
        return;
    }
    let three = Three::new();
    let intercept = config(&SERVER, PeerDown::Direct, &["lan0", "eth*"]).intercept.unwrap();
    let ask = |intercept: &crate::config::Intercept| {
        let intercept = intercept.clone();
        three.gateway.run(move || obstacles(&intercept))
    };
    let said = ask(&intercept);
    assert!(said.len() == 1 && said[0].contains("net.ipv4.tcp_early_demux=0"), "{said:?}");
    three.gateway.set("net/ipv4/tcp_early_demux", "0").unwrap();
    assert_eq!(ask(&intercept), Vec::<String>::new());
    assert!(!everything(&three).contains("cellway"), "asking changes nothing");
    three.gateway.set("net/ipv4/ip_forward", "0").unwrap();
    three.gateway.set("net/ipv6/conf/all/forwarding", "0").unwrap();
    let mut wrong = intercept;
    wrong.interfaces = vec!["lan7".into()];
    let said = ask(&wrong);
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].contains("net.ipv4.ip_forward=1") && said[1].contains("net.ipv6.conf.all.forwarding=1"));
    assert!(said[2].contains("`lan7`"));
}

#[test]
fn the_device_goes_with_the_hold() {
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
fn a_client_may_use_its_port_again() {
    if !possible() {
        return;
    }
    let three = Three::new();
    // With it the kernel drops an opening that finds a socket, rather than forward it to the device.
    three.gateway.set("net/ipv4/tcp_early_demux", "0").unwrap();
    let relay = Relay::start(&three, &config(&SERVER, PeerDown::Direct, &[]));
    for version in 0..2 {
        let (own, server) = (at(version, 0, 4_000), at(version, 3, 80));
        three.serve(server);
        // The server ends each first: what the client reached, here, stays in TIME-WAIT, and takes no new opening.
        for _ in 0..3 {
            let client = three.ask(server, own.port());
            let opening = relay.opening();
            assert_eq!(opening.client, own);
            relay.carry(opening);
            let asked = client.join().unwrap().unwrap();
            assert_eq!((asked.own, asked.seen), (own, own));
            until(|| {
                let all = Three::output(&three.gateway, "ss -Htan state all");
                let one = |state: &str| all.lines().any(|line| line.starts_with(state) && line.contains(":4000"));
                one("TIME-WAIT") && !one("LAST-ACK") && !one("ESTAB") && !one("FIN-WAIT")
            });
        }
    }
}
