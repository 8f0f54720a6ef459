//! A gateway that hands over to another program, and its peer.

use super::*;

/// Returns the single `Up` event of a peer among the events: `Some(true)` if its flows continue.
fn resumed(told: &[PeerEvent]) -> Option<bool> {
    told.iter().find_map(|event| if let PeerEvent::Up { resumed, .. } = event { Some(*resumed) } else { None })
}

fn is_detached(told: &[PeerEvent]) -> bool {
    told.iter().any(|event| matches!(event, PeerEvent::Detached { .. }))
}

/// Two gateways over `transport` that are up with each other, and their configurations: `near` dials.
fn pair(keys: &Keys, names: [&str; 2], transport: TransportChoice) -> ([Peering; 2], [Config; 2]) {
    let mut configs = [keys.gateway(names[0], names[1]), keys.gateway(names[1], names[0])];
    configs[0].peers[0].transport = transport;
    let mut far = start(&configs[1]);
    let address = far.listens().unwrap();
    configs[1].listen = Some(Listen { address });
    configs[0].peers[0].address = Some(address.to_string());
    let mut near = start(&configs[0]);
    bring_up(&mut near, &mut far);
    ([near, far], configs)
}

/// Exchanges a packet in each direction.
fn exchange([near, far]: &mut [Peering; 2]) {
    near.send(PEER, Bytes::from_static(b"from near"));
    far.send(PEER, Bytes::from_static(b"from far"));
    run_until([near, far], |[near, far]| packets(near) == [&b"from far"[..]] && packets(far) == [&b"from near"[..]]);
}

#[test]
fn flows_continue_whichever_gateway_is_upgraded() {
    for transport in [TransportChoice::Quic, TransportChoice::Tls] {
        // The gateway whose name is first decides; either of them dials.
        for names in [["a", "b"], ["b", "a"]] {
            for upgraded in [0, 1] {
                for told in [true, false] {
                    let keys = Keys::new();
                    let (mut both, configs) = pair(&keys, names, transport);
                    let kept = if told { both[upgraded].hand_over(Instant::now()) } else { both[upgraded].kept() };
                    if told {
                        run_until([&mut both[1 - upgraded]], |[other]| is_detached(other));
                    }
                    let octets = both[upgraded].octets(PEER);
                    let now = Instant::now();
                    // Sockets of the old program are closed before the new one makes its own.
                    both[upgraded] = Peering::new(&keys.gateway("c", "d"), None, now).unwrap();
                    both[upgraded] = Peering::new(&configs[upgraded], Some(&kept), now).unwrap();
                    let [near, far] = &mut both;
                    run_until([near, far], |[near, far]| {
                        assert!(whys(near).is_empty() && whys(far).is_empty(), "{near:?} {far:?}");
                        resumed(near) == Some(true) && resumed(far) == Some(true)
                    });
                    assert!(both[upgraded].octets(PEER) > octets);
                    exchange(&mut both);
                }
            }
        }
    }
}

/// The reason of the end waits behind packets for which TCP has no room, and is lost with the program.
#[test]
fn flows_continue_if_the_reason_of_the_end_is_lost() {
    for upgraded in [0, 1] {
        let keys = Keys::new();
        let (mut both, configs) = pair(&keys, ["a", "b"], TransportChoice::Tls);
        let packet = Bytes::from(vec![0; 1_400]);
        for _ in 0..100_000 {
            both[upgraded].send(PEER, packet.clone());
        }
        let now = Instant::now();
        both[upgraded].flush(now);
        assert!(both[upgraded].backlog(PEER) > 0, "TCP takes all of it");
        let kept = both[upgraded].hand_over(now);
        both[upgraded].flush(now);
        both[upgraded] = Peering::new(&keys.gateway("c", "d"), None, now).unwrap();
        both[upgraded] = Peering::new(&configs[upgraded], Some(&kept), now).unwrap();
        let [near, far] = &mut both;
        run_until([near, far], |[near, far]| {
            assert!(whys(near).is_empty() && whys(far).is_empty(), "{:?} {:?}", whys(near), whys(far));
            resumed(near) == Some(true) && resumed(far) == Some(true)
        });
    }
}

/// The reason of a gateway that stops waits behind packets as well, and the gateway waits for its delivery.
#[test]
fn a_stop_is_reported_behind_a_backlog() {
    let keys = Keys::new();
    let ([mut near, mut far], _) = pair(&keys, ["a", "b"], TransportChoice::Tls);
    let packet = Bytes::from(vec![0; 1_400]);
    for peering in [&mut near, &mut far] {
        (0..100_000).for_each(|_| peering.send(PEER, packet.clone()));
        peering.flush(Instant::now());
        assert!(peering.backlog(PEER) > 0, "TCP takes all of it");
    }
    near.close(Instant::now(), "it stops");
    let mut told = Vec::new();
    let end = Instant::now() + HANG;
    while !near.has_notified(Instant::now()) || whys(&told).is_empty() {
        step(&mut far, &mut told);
        assert!(Instant::now() < end, "{:?}", whys(&told));
    }
    assert_eq!((whys(&told), is_detached(&told)), (vec!["it says: it stops"], false));
}

#[test]
fn a_peer_that_has_started_anew_meanwhile_continues_nothing() {
    for names in [["a", "b"], ["b", "a"]] {
        for upgraded in [0, 1] {
            let keys = Keys::new();
            let (mut both, configs) = pair(&keys, names, TransportChoice::Quic);
            let kept = both[upgraded].hand_over(Instant::now());
            let now = Instant::now();
            for side in [0, 1] {
                both[side] = Peering::new(&keys.gateway("c", "d"), None, now).unwrap();
            }
            for side in [1, 0] {
                let kept = (side == upgraded).then_some(&kept);
                both[side] = Peering::new(&configs[side], kept, now).unwrap();
            }
            let [near, far] = &mut both;
            run_until([near, far], |told| {
                let [kept, anew] = if upgraded == 0 { [&told[0], &told[1]] } else { [&told[1], &told[0]] };
                assert!(
                    whys(anew).is_empty() && resumed(kept) != Some(true) && resumed(anew) != Some(true),
                    "{told:?}"
                );
                resumed(anew).is_some() && resumed(kept).is_some() && whys(kept).len() == 1
            });
            exchange(&mut both);
        }
    }
}

#[test]
fn a_peer_that_does_not_return_is_down_after_the_outage() {
    const GONE: &str = "it says: another program takes over; nothing arrived from it for 1 s";
    let keys = Keys::new();
    let mut near = keys.gateway("near", "far");
    near.peers[0].outage = Span::from_secs(1);
    let (mut near, mut far) = dialling(&mut near, &keys.gateway("far", "near"));
    bring_up(&mut near, &mut far);
    far.hand_over(Instant::now());
    drop(far);
    run_until([&mut near], |[near]| is_detached(near) && whys(near) == [GONE]);
}

#[test]
fn an_upgrade_before_the_decision_of_the_peer_has_arrived_loses_nothing() {
    for transport in [TransportChoice::Quic, TransportChoice::Tls] {
        let keys = Keys::new();
        // The second one decides.
        let (mut both, configs) = pair(&keys, ["b", "a"], transport);
        let now = Instant::now();
        let again = |kept: &Kept| Peering::new(&configs[0], Some(kept), now).unwrap();
        let kept = both[0].hand_over(now);
        both[0] = Peering::new(&keys.gateway("c", "d"), None, now).unwrap();
        both[0] = again(&kept);
        let [near, far] = &mut both;
        let mut seen = Vec::new();
        run_until([near, far], |[_, far]| {
            seen.append(far);
            resumed(&seen) == Some(true)
        });
        let kept = near.hand_over(now);
        run_until([far], |[far]| {
            assert!(whys(far).is_empty(), "{far:?}");
            is_detached(far)
        });
        *near = Peering::new(&keys.gateway("c", "d"), None, now).unwrap();
        *near = again(&kept);
        run_until([near, far], |[near, far]| resumed(near) == Some(true) && resumed(far) == Some(true));
        exchange(&mut both);
    }
}
