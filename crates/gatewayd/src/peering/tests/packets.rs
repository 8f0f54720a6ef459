//! Sent packets arrive.

use super::*;

/// Returns octets that encode number and length.
fn packet(number: usize, length: usize) -> Bytes {
    (0..length).map(|at| (number * 31 + at) as u8).collect::<Vec<_>>().into()
}

fn travels(transport: TransportChoice) {
    let (_keys, mut near, mut far) = connected(transport);
    let lengths: Vec<usize> = (1..200).map(|number| 1 + number * 37 % 1000).collect();
    for (number, &length) in lengths.iter().enumerate() {
        near.send(PEER, packet(number, length));
        far.send(PEER, packet(number + 1000, length));
    }
    assert!(near.backlog(PEER) >= lengths.iter().sum());
    let before = near.octets(PEER);
    run_until([&mut near, &mut far], |[near, far]| {
        assert!(whys(near).is_empty() && whys(far).is_empty());
        packets(near).len() == lengths.len() && packets(far).len() == lengths.len() && {
            let of = |base: usize| lengths.iter().enumerate().map(|(at, &length)| packet(at + base, length)).collect();
            let (mut expected, mut there): (Vec<Bytes>, Vec<Bytes>) = (of(0), of(1000));
            // Loopback reorders nothing, but datagrams have no guaranteed order.
            let (mut at_far, mut at_near): (Vec<_>, Vec<_>) =
                (packets(far).into_iter().cloned().collect(), packets(near).into_iter().cloned().collect());
            for list in [&mut expected, &mut there, &mut at_far, &mut at_near] {
                list.sort();
            }
            assert!(expected == at_far && there == at_near, "octets differ");
            true
        }
    });
    assert_eq!(near.backlog(PEER), 0);
    let octets = near.octets(PEER) - before;
    let least = lengths.iter().sum::<usize>() as u64 + 40;
    assert!(octets > least, "{octets} octets sent, at least {least} expected");
}

#[test]
fn over_quic() {
    travels(TransportChoice::Quic);
}

#[test]
fn over_tls() {
    travels(TransportChoice::Tls);
}

#[test]
fn the_largest_packet_grows_with_the_path_and_fits() {
    let keys = Keys::new();
    let (mut near, mut far) = dialling(&mut keys.gateway("near", "far"), &keys.gateway("far", "near"));
    let mut largest = 0;
    run_until([&mut near, &mut far], |[near, _]| {
        for event in near.iter() {
            if let PeerEvent::Up { payload, .. } | PeerEvent::Payload { payload, .. } = event {
                largest = *payload;
            }
        }
        // Loopback carries more than is ever used.
        largest + 60 > usize::from(settings::MOST_PAYLOAD)
    });
    for number in 0..100 {
        near.send(PEER, packet(number, largest));
    }
    let before = near.backlog(PEER);
    near.send(PEER, packet(100, largest + 1));
    assert_eq!(near.backlog(PEER), before, "what is too large is dropped");
    run_until([&mut near, &mut far], |[_, far]| packets(far).len() == 100);
}

#[test]
fn a_packet_for_a_peer_that_is_down_is_dropped() {
    let keys = Keys::new();
    let mut alone = start(&keys.gateway("near", "far"));
    alone.send(PEER, packet(1, 100));
    alone.flush(Instant::now());
    assert_eq!((alone.backlog(PEER), alone.octets(PEER)), (0, 0));
}

#[test]
fn a_large_burst_over_tls_arrives_whole() {
    let (_keys, mut near, mut far) = connected(TransportChoice::Tls);
    for number in 0..500 {
        near.send(PEER, packet(number, tls::TlsLink::PAYLOAD));
    }
    near.flush(Instant::now());
    assert!(near.backlog(PEER) > 1 << 20, "the kernel is not to hold it all");
    run_until([&mut near, &mut far], |[_, far]| {
        packets(far).len() == 500 && packets(far).iter().enumerate().all(|(at, got)| **got == packet(at, got.len()))
    });
}

/// Nothing is retransmitted over TLS: a packet that is dropped would be missing for good.
#[test]
fn a_packet_too_long_for_tls_ends_the_connection() {
    let (_keys, mut near, mut far) = connected(TransportChoice::Tls);
    let length = tls::TlsLink::PAYLOAD + 1;
    near.send(PEER, packet(0, length));
    let told = format!("packet of {length} octets");
    run_until([&mut near, &mut far], |[near, _]| {
        near.iter().any(|event| matches!(event, PeerEvent::Down { why, .. } if why.contains(&told)))
    });
}

#[test]
fn packets_of_an_abandoned_connection_that_were_read_are_dropped() {
    let (_keys, mut near, mut far) = connected(TransportChoice::Tls);
    let packets = |far: &Peering| far.events.iter().filter(|event| matches!(event, PeerEvent::Packet { .. })).count();
    (0..3).for_each(|number| near.send(PEER, packet(number, 100)));
    near.flush(Instant::now());
    let end = Instant::now() + HANG;
    while packets(&far) < 3 {
        assert!(Instant::now() < end, "they do not arrive");
        far.turn(Instant::now());
    }
    far.abandon(PEER, Instant::now(), "enough");
    assert_eq!(packets(&far), 0);
    assert!(far.events.iter().any(|event| matches!(event, PeerEvent::Down { why, .. } if why == "enough")));
}
