//! Changes while two gateways run: ends, timeouts, addresses, keys.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicU16, Ordering};

use super::*;
use crate::peering::link::Stage;

#[test]
fn both_dial_and_one_connection_is_used() {
    let keys = Keys::new();
    for round in 0..5 {
        let (mut a, mut b) = (keys.gateway("a", "b"), keys.gateway("b", "a"));
        let ports: Vec<SocketAddr> = (0..2).map(|_| free_port()).collect();
        for (config, own, other) in [(&mut a, ports[0], ports[1]), (&mut b, ports[1], ports[0])] {
            config.listen = Some(Listen { address: own });
            config.peers[0].address = Some(other.to_string());
        }
        let (mut a, mut b) = (start(&a), start(&b));
        run_until([&mut a, &mut b], |[a, b]| is_up(a) && is_up(b));
        // Time for a second connection to do harm, and for both to end their attempts.
        run_until([&mut a, &mut b], |[a, b]| {
            assert!(whys(a).is_empty() && whys(b).is_empty(), "{round}: {a:?} {b:?}");
            a.is_empty() && b.is_empty() || is_up(a) == is_up(b)
        });
        let end = Instant::now() + Duration::from_millis(300);
        run_until([&mut a, &mut b], |[a, b]| {
            assert!(whys(a).is_empty() && whys(b).is_empty() && !is_up(a) && !is_up(b), "{round}: {a:?} {b:?}");
            Instant::now() > end
        });
        let live = |of: &Peering| of.links.values().filter(|link| link.stage != Stage::Over).count();
        assert_eq!((live(&a), live(&b)), (1, 1));
        a.send(PEER, Bytes::from_static(b"from a"));
        b.send(PEER, Bytes::from_static(b"from b"));
        run_until([&mut a, &mut b], |[a, b]| packets(a) == [&b"from b"[..]] && packets(b) == [&b"from a"[..]]);
    }
}

/// Returns an address with a port that was free a moment ago, for UDP and TCP. It is below the ephemeral ports (from
/// 32768 on), which other tests use by the thousand.
fn free_port() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let begin = 20_000 + (std::process::id() % 10_000) as u16;
    let mut all = std::iter::repeat_with(|| NEXT.fetch_add(1, Ordering::Relaxed));
    let address = |number| SocketAddr::from(([127, 0, 0, 1], begin + number));
    let is_free = |at: &SocketAddr| UdpSocket::bind(at).is_ok() && std::net::TcpListener::bind(at).is_ok();
    all.by_ref().take(1_000).map(address).find(is_free).unwrap()
}

#[test]
fn a_peer_that_stops_says_why() {
    for transport in [TransportChoice::Quic, TransportChoice::Tls] {
        let keys = Keys::new();
        let mut near = keys.gateway("near", "far");
        near.peers[0].transport = transport;
        let (mut near, mut far) = dialling(&mut near, &keys.gateway("far", "near"));
        bring_up(&mut near, &mut far);
        far.close(Instant::now(), "it is being updated");
        far.flush(Instant::now());
        run_until([&mut near], |[near]| whys(near) == ["it says: it is being updated"]);
        assert_eq!(near.status(PEER).transport, None);
    }
}

#[test]
fn an_abandoned_connection_is_followed_by_another() {
    for transport in [TransportChoice::Quic, TransportChoice::Tls] {
        let keys = Keys::new();
        let mut near = keys.gateway("near", "far");
        near.peers[0].transport = transport;
        let (mut near, mut far) = dialling(&mut near, &keys.gateway("far", "near"));
        // There is nothing to abandon yet.
        near.abandon(PEER, Instant::now(), "too early");
        bring_up(&mut near, &mut far);
        let before = near.octets(PEER);
        near.abandon(PEER, Instant::now(), "it makes no sense");
        run_until([&mut near, &mut far], |[near, far]| {
            let told = [whys(near), whys(far)] == [["it makes no sense"], ["it says: it makes no sense"]];
            told && is_up(near) && is_up(far)
        });
        assert!(near.octets(PEER) > before, "octets of all connections count");
    }
}

#[test]
fn a_timeout_ends_the_connection_and_it_is_made_again() {
    for transport in [TransportChoice::Quic, TransportChoice::Tls] {
        let keys = Keys::new();
        let mut near = keys.gateway("near", "far");
        near.peers[0].transport = transport;
        near.peers[0].outage = Span::from_secs(1);
        let mut far = keys.gateway("far", "near");
        far.peers[0].outage = Span::from_secs(1);
        let (mut near, mut far) = dialling(&mut near, &far);
        bring_up(&mut near, &mut far);
        // Longer than the outage: both send keep-alives.
        let end = Instant::now() + Duration::from_millis(2500);
        run_until([&mut near, &mut far], |[near, far]| {
            assert!(whys(near).is_empty() && whys(far).is_empty());
            Instant::now() > end
        });
        // The far one hangs.
        run_until([&mut near], |[near]| {
            whys(near).first().is_some_and(|why| {
                assert_eq!(*why, "nothing arrived from it for 1 s");
                true
            })
        });
        // When it continues it finds that its connection has ended, and both are up again.
        run_until([&mut near, &mut far], |[near, far]| is_up(near) && is_up(far) && !whys(far).is_empty());
    }
}

#[test]
fn a_peer_that_was_killed_and_started_again_is_noticed() {
    for (name, peer) in [("a", "b"), ("b", "a")] {
        let keys = Keys::new();
        let mut near = keys.gateway(name, peer);
        let mut far = keys.gateway(peer, name);
        far.listen = Some(Listen { address: free_port() });
        let config = far.clone();
        let (mut near, mut far) = dialling(&mut near, &far);
        bring_up(&mut near, &mut far);
        // No packet of it leaves: as when a process is killed.
        drop(far);
        let mut far = start(&config);
        near.send(PEER, Bytes::from_static(b"anybody there?"));
        let limit = Instant::now();
        run_until([&mut near, &mut far], |[near, far]| {
            is_up(far) && is_up(near) && whys(near) == ["it has restarted and has no state of this connection"]
        });
        assert!(limit.elapsed() < Duration::from_secs(30), "only the silence told");
        // And the dialler: it dials, while the other still holds the old connection.
        drop(near);
        let mut again = keys.gateway(name, peer);
        again.peers[0].address = Some(address(&far).to_string());
        let mut near = start(&again);
        run_until([&mut near, &mut far], |[near, far]| {
            is_up(near) && is_up(far) && whys(far) == ["it began another connection"]
        });
    }
}

#[test]
fn where_udp_is_blocked_tls_is_used_until_it_ends() {
    let keys = Keys::new();
    let mut near = keys.gateway("near", "far");
    near.peers[0].transport = TransportChoice::Auto;
    let far = keys.gateway("far", "near");
    let (mut near, mut far) = dialling(&mut near, &far);
    // The far one's UDP port changes: no socket receives the packets to the old one.
    far.sockets[0].rebind();
    run_until([&mut near, &mut far], |[near, far]| {
        assert!(
            near.iter()
                .chain(far.iter())
                .all(|event| !matches!(event, PeerEvent::Up { transport: Transport::Quic, .. }))
        );
        is_up(near) && is_up(far)
    });
    assert_eq!(near.status(PEER).transport, Some(Transport::Tls));
    assert_eq!(near.status(PEER).tried, format!("QUIC to {}: no answer; TLS is used", address(&far)));
    assert!(near.dial_deadline(PEER).is_some(), "QUIC is tried again");
}

#[test]
fn while_tls_is_used_quic_is_only_tried() {
    let keys = Keys::new();
    let mut near = keys.gateway("near", "far");
    near.peers[0].transport = TransportChoice::Tls;
    let (mut running, mut far) = dialling(&mut near, &keys.gateway("far", "near"));
    bring_up(&mut running, &mut far);
    near.peers[0].transport = TransportChoice::Auto;
    running.reload(&near, Instant::now()).unwrap();
    // The pause before the first trial is long: the test skips it.
    running.found(PEER, vec![address(&far)], Instant::now());
    let end = Instant::now() + HANG;
    while !running.status(PEER).tried.contains("; TLS is used until") && Instant::now() < end {
        let (mut near_told, mut far_told) = (Vec::new(), Vec::new());
        step(&mut running, &mut near_told);
        step(&mut far, &mut far_told);
        assert!(near_told.is_empty() && far_told.is_empty(), "a trial changes nothing: {near_told:?} {far_told:?}");
    }
    assert!(running.status(PEER).tried.contains("works; TLS is used until it ends"), "{:?}", running.status(PEER));
    assert_eq!(running.status(PEER).transport, Some(Transport::Tls));
}

#[test]
fn another_address_of_the_dialler_keeps_the_connection() {
    let keys = Keys::new();
    let (mut near, mut far) = dialling(&mut keys.gateway("near", "far"), &keys.gateway("far", "near"));
    bring_up(&mut near, &mut far);
    let before = far.status(PEER).address;
    near.sockets[0].rebind();
    near.ready.add(&near.sockets[0], SOCKETS, Interest::Read).unwrap();
    for number in 0..50_u8 {
        near.send(PEER, vec![number; 500].into());
    }
    near.flush(Instant::now());
    run_until([&mut near, &mut far], |[near, far]| {
        assert!(whys(near).is_empty() && whys(far).is_empty());
        packets(far).len() == 50
    });
    // The return path works once the new address is validated as the dialler's.
    far.send(PEER, Bytes::from_static(b"found you"));
    run_until([&mut near, &mut far], |[near, far]| {
        assert!(whys(near).is_empty() && whys(far).is_empty());
        packets(near) == [&b"found you"[..]]
    });
    assert_ne!(far.status(PEER).address, before);
    assert_eq!(far.status(PEER).address, Some(near.sockets[0].local()));
}

#[test]
fn new_keys_are_for_the_next_connection() {
    let (keys, others) = (Keys::new(), Keys::new());
    let mut config = keys.gateway("near", "far");
    let far_config = keys.gateway("far", "near");
    let (mut near, mut far) = dialling(&mut config, &far_config);
    bring_up(&mut near, &mut far);
    // Both get certificates of another authority, in the same files.
    std::fs::write(keys.path("ca.pem"), &others.authority.made.certificate).unwrap();
    for name in ["near", "far"] {
        write_pair(keys.folder.path(), name, &make_certificate(&others.authority, name, 30).unwrap());
    }
    near.reload(&config, Instant::now()).unwrap();
    near.send(PEER, Bytes::from_static(b"unmoved"));
    run_until([&mut near, &mut far], |[near, far]| {
        assert!(whys(near).is_empty() && whys(far).is_empty());
        packets(far) == [&b"unmoved"[..]]
    });
    // The next one fails: the far side still has the old keys.
    near.close(Instant::now(), "again");
    near.closed = false;
    near.peers[PEER].dial.lost(Instant::now());
    run_until([&mut near, &mut far], |[near, _]| whys(near).iter().any(|why| why.contains("not in")));
    far.reload(&far_config, Instant::now()).unwrap();
    run_until([&mut near, &mut far], |[near, far]| is_up(near) && is_up(far));
}

#[test]
fn changes_that_need_a_restart_are_reported() {
    let keys = Keys::new();
    let config = keys.gateway("near", "far");
    let mut near = start(&config);
    let mut error = |change: fn(&mut Config)| {
        let mut config = config.clone();
        change(&mut config);
        near.reload(&config, Instant::now()).unwrap_err().to_string()
    };
    assert_eq!(
        error(|config| config.name = "x".into()),
        "reload: the gateway's name has changed: this needs a restart"
    );
    assert!(error(|config| config.peers.clear()).contains("peers were removed"));
    assert!(error(|config| config.listen = None).contains("address to listen on"));
    assert!(error(|config| config.identity.key = "/nonexistent".into()).starts_with("key /nonexistent: "));
}
