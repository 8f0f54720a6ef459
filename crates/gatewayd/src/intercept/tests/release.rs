//! SYNs that are released.

use cellway_gateway::Reason;

use super::super::testbed::{PATIENCE, Relay, Three, at, config, possible, until};
use super::{SERVER, errno};
use crate::config::PeerDown;

#[test]
fn a_released_syn_connects_and_bytes_flow() {
    if !possible() {
        return;
    }
    let three = Three::new();
    // With and without names of the devices of clients.
    for interfaces in [&[][..], &["lan0"], &["la*"]] {
        let mut relay = Relay::start(&three, &config(&SERVER, PeerDown::Direct, interfaces));
        for version in 0..2 {
            let server = at(version, 3, 80 + interfaces.len() as u16);
            if interfaces != ["la*"] {
                three.serve(server);
            }
            let client = three.ask(server, 0);
            let syn = relay.next_syn();
            assert_eq!((syn.client.ip(), syn.server), (at(version, 0, 0).ip(), server));
            // No answer was sent.
            let states = Three::output(&three.client, "ss -Htn state syn-sent");
            assert_eq!(states.lines().count(), 1, "{states}");
            relay.carry(syn.clone());
            let asked = client.join().unwrap().unwrap();
            assert_eq!(asked.own, syn.client);
            assert_eq!(asked.peer, server);
            assert_eq!(asked.seen, syn.client, "the server sees the client's address and port");
            assert_eq!(relay.accepted.recv_timeout(PATIENCE).unwrap(), (asked.own, server));
        }
        relay.die();
    }
}

#[test]
fn nothing_is_sent_for_a_timeout_and_the_client_continues() {
    if !possible() {
        return;
    }
    let three = Three::new();
    let relay = Relay::start(&three, &config(&SERVER, PeerDown::Direct, &[]));
    for version in 0..2 {
        let client = three.ask(at(version, 3, 81), 0);
        let first = relay.next_syn();
        relay.refuse(first.clone(), Reason::TimedOut);
        // The retransmission is recognised by its addresses and number.
        let again = relay.next_syn();
        assert_eq!(
            (again.client, again.server, again.acknowledgement),
            (first.client, first.server, first.acknowledgement)
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
        let (first, again) = (relay.next_syn(), relay.next_syn());
        assert_eq!(first.acknowledgement, again.acknowledgement);
        relay.carry(first);
        relay.release(again);
        client.join().unwrap().unwrap();
        assert!(relay.accepted.recv_timeout(PATIENCE).is_ok());
        assert!(relay.accepted.try_recv().is_err(), "one connection, not two");
    }
}

#[test]
fn a_client_may_use_its_port_again() {
    if !possible() {
        return;
    }
    let three = Three::new();
    // With it the kernel drops a SYN that finds a socket instead of forwarding it to the device.
    three.gateway.set("net/ipv4/tcp_early_demux", "0").unwrap();
    let relay = Relay::start(&three, &config(&SERVER, PeerDown::Direct, &[]));
    for version in 0..2 {
        let (own, server) = (at(version, 0, 4_000), at(version, 3, 80));
        three.serve(server);
        // The server closes each first: the local end, which is here, stays in TIME-WAIT and accepts no new SYN.
        for _ in 0..3 {
            let client = three.ask(server, own.port());
            let syn = relay.next_syn();
            assert_eq!(syn.client, own);
            relay.carry(syn);
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

#[test]
fn checks_of_the_reverse_path_do_no_harm() {
    if !possible() {
        return;
    }
    let three = Three::new();
    // An accepted connection would send with the mark of the segment that opened it.
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
            relay.carry(relay.next_syn());
            let asked = client.join().unwrap().unwrap();
            assert_eq!(asked.seen, asked.own);
        }
        // Also for a neighbour that does not answer.
        let client = three.ask("10.0.1.77:80".parse().unwrap(), 0);
        relay.carry(relay.next_syn());
        assert_eq!(errno(client), Some(libc::EHOSTUNREACH), "rp_filter={check}");
        while !relay.no_opening() {}
        relay.die();
    }
}
