//! What is sent arrives.

use super::*;

/// Octets that tell number and length.
fn packet(number: usize, length: usize) -> Bytes {
    (0..length).map(|at| (number * 31 + at) as u8).collect::<Vec<_>>().into()
}

fn travels(transport: TransportChoice) {
    let keys = Keys::new();
    let mut near = keys.gateway("near", "far");
    near.peers[0].transport = transport;
    let (mut near, mut far) = dialing(&mut near, &keys.gateway("far", "near"));
    bring_up(&mut near, &mut far);
    let lengths: Vec<usize> = (1..200).map(|number| 1 + number * 37 % 1000).collect();
    for (number, &length) in lengths.iter().enumerate() {
        near.send(0, packet(number, length));
        far.send(0, packet(number + 1000, length));
    }
    assert!(near.backlog(0) >= lengths.iter().sum());
    let before = near.octets(0);
    run_until([&mut near, &mut far], |[near, far]| {
        assert!(whys(near).is_empty() && whys(far).is_empty());
        packets(near).len() == lengths.len() && packets(far).len() == lengths.len() && {
            let of = |base: usize| lengths.iter().enumerate().map(|(at, &length)| packet(at + base, length)).collect();
            let (mut expected, mut there): (Vec<Bytes>, Vec<Bytes>) = (of(0), of(1000));
            // Over loopback nothing is reordered, but datagrams promise no order.
            let (mut at_far, mut at_near): (Vec<_>, Vec<_>) =
                (packets(far).into_iter().cloned().collect(), packets(near).into_iter().cloned().collect());
            for list in [&mut expected, &mut there, &mut at_far, &mut at_near] {
                list.sort();
            }
            assert!(expected == at_far && there == at_near, "octets differ");
            true
        }
    });
    assert_eq!(near.backlog(0), 0);
    let octets = near.octets(0) - before;
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
    let (mut near, mut far) = dialing(&mut keys.gateway("near", "far"), &keys.gateway("far", "near"));
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
        near.send(0, packet(number, largest));
    }
    let before = near.backlog(0);
    near.send(0, packet(100, largest + 1));
    assert_eq!(near.backlog(0), before, "what is too large is dropped");
    run_until([&mut near, &mut far], |[_, far]| packets(far).len() == 100);
}

#[test]
fn a_packet_for_a_peer_that_is_down_is_dropped() {
    let keys = Keys::new();
    let mut alone = start(&keys.gateway("near", "far"));
    alone.send(0, packet(1, 100));
    alone.flush(Instant::now());
    assert_eq!((alone.backlog(0), alone.octets(0)), (0, 0));
}

#[test]
fn a_large_burst_over_tls_arrives_whole() {
    let keys = Keys::new();
    let mut near = keys.gateway("near", "far");
    near.peers[0].transport = TransportChoice::Tls;
    let (mut near, mut far) = dialing(&mut near, &keys.gateway("far", "near"));
    bring_up(&mut near, &mut far);
    for number in 0..500 {
        near.send(0, packet(number, tls::TlsLink::PAYLOAD));
    }
    near.flush(Instant::now());
    assert!(near.backlog(0) > 1 << 20, "the kernel is not to hold it all");
    run_until([&mut near, &mut far], |[_, far]| {
        packets(far).len() == 500 && packets(far).iter().enumerate().all(|(at, got)| **got == packet(at, got.len()))
    });
}

/// Over TLS nothing is sent again: a packet that is dropped would be missing for good.
#[test]
fn a_packet_too_long_for_tls_ends_the_connection() {
    let keys = Keys::new();
    let mut near = keys.gateway("near", "far");
    near.peers[0].transport = TransportChoice::Tls;
    let (mut near, mut far) = dialing(&mut near, &keys.gateway("far", "near"));
    bring_up(&mut near, &mut far);
    near.send(0, packet(0, tls::TlsLink::PAYLOAD + 1));
    run_until([&mut near, &mut far], |[near, _]| {
        near.iter().any(|event| matches!(event, PeerEvent::Down { why, .. } if why.contains("packet of 16383 octets")))
    });
}
