//! Failures that must not stop the others, or keep them busy.

use socket2::{Domain, Type};

use super::*;

#[test]
fn an_attempt_that_fails_at_once_is_repeated() {
    let keys = Keys::new();
    for transport in [TransportChoice::Quic, TransportChoice::Tls, TransportChoice::Auto] {
        let mut near = keys.gateway("near", "far");
        near.listen = None;
        // QUIC refuses port 0, and the kernel a connection over TCP to a broadcast address.
        near.peers[0].address = Some("255.255.255.255:0".to_owned());
        near.peers[0].transport = transport;
        let mut now = Instant::now();
        let mut near = Peering::new(&near, None, now).unwrap();
        let (mut rounds, end) = (0, now + Duration::from_secs(60));
        while now < end {
            let before = near.peers[PEER].dial.round.is_some();
            near.turn(now);
            rounds += usize::from(!before && near.peers[PEER].dial.round.is_some());
            assert!(near.links.is_empty(), "it did not fail at once");
            let next = near.deadline().expect("nothing dials again");
            now = now.max(next);
        }
        // Pauses of 0.2 s, doubled up to 10 s, each up to a quarter longer or shorter.
        assert!((6..20).contains(&rounds), "{transport:?}: {rounds} rounds in 60 s");
        let told: Vec<_> = std::iter::from_fn(|| near.next()).collect();
        assert_eq!(whys(&told).len(), 1, "the same reason is told once: {told:?}");
        assert!(!near.status(PEER).tried.is_empty());
    }
}

#[test]
fn tls_does_not_wait_for_udp_that_cannot_be_sent() {
    let keys = Keys::new();
    let mut near = keys.gateway("near", "far");
    near.peers[0].transport = TransportChoice::Auto;
    let (mut near, mut far) = dialling(&mut near, &keys.gateway("far", "near"));
    // A socket that was shut down sends nothing. The kernel reports that it was not connected, and shuts it down.
    let _ = rustix::net::shutdown(&near.sockets[0], rustix::net::Shutdown::Write);
    let begun = Instant::now();
    near.turn(begun);
    near.flush(begun);
    let tls = |near: &Peering| near.links.values().any(|link| link.transport() == Transport::Tls);
    assert!(near.deadline().is_some_and(|at| at <= begun) && !tls(&near), "it is not to be waited for");
    near.turn(begun);
    assert!(tls(&near));
    bring_up(&mut near, &mut far);
    let status = near.status(PEER);
    assert_eq!(status.transport, Some(Transport::Tls));
    let why = format!("QUIC to {}: sending failed: Broken pipe (os error 32); TLS is used", address(&far));
    assert_eq!(status.tried, why);
}

#[test]
fn tls_does_not_wait_for_quic_that_has_not_begun() {
    let keys = Keys::new();
    let mut near = keys.gateway("near", "far");
    near.peers[0].transport = TransportChoice::Auto;
    let (mut near, far) = dialling(&mut near, &keys.gateway("far", "near"));
    let now = Instant::now();
    near.peers[PEER].dial.begin(vec![address(&far)], true, true, now);
    assert!(near.dial_deadline(PEER).is_some_and(|at| at > now));
    near.not_begun(PEER, "QUIC to there: no socket", now);
    assert_eq!(near.dial_deadline(PEER), Some(now));
}

#[test]
fn a_listener_that_fails_is_left_alone_for_a_while() {
    let keys = Keys::new();
    let mut near = keys.gateway("near", "far");
    near.peers[0].transport = TransportChoice::Tls;
    let (mut near, mut far) = dialling(&mut near, &keys.gateway("far", "near"));
    // A socket that does not listen is ready, and accepts nothing: like a listener without free descriptors.
    let listener = far.listener.take().unwrap();
    far.ready.remove(&listener).unwrap();
    let broken = Socket::new(Domain::IPV4, Type::STREAM.nonblocking(), None).unwrap();
    far.ready.add(&broken, LISTENER, Interest::Read).unwrap();
    far.listener = Some(broken);
    let is_ready = |far: &Peering| {
        let mut fds = [PollFd::from_borrowed_fd(far.as_fd(), PollFlags::IN)];
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() > 0
    };
    assert!(is_ready(&far));
    let now = Instant::now();
    far.turn(now);
    assert!(!is_ready(&far), "it would be asked again and again");
    assert_eq!(far.deadline(), Some(now + Duration::from_millis(100)));
    far.listener = Some(listener);
    bring_up(&mut near, &mut far);
}

#[test]
fn a_hello_without_an_end_is_none() {
    let keys = Keys::new();
    let (mut near, mut far) = dialling(&mut keys.gateway("near", "far"), &keys.gateway("far", "near"));
    let (mut told, end) = (Vec::new(), Instant::now() + HANG);
    let says =
        |told: &[PeerEvent]| whys(told).iter().any(|why| why.contains("near received a malformed hello from far"));
    while !says(&told) {
        assert!(Instant::now() < end, "it listens for ever: {told:?}");
        step(&mut near, &mut told);
        far.turn(Instant::now());
        for link in far.links.values_mut() {
            if let Wire::Quic(quic) = &mut link.wire {
                quic.ramble();
            }
        }
        far.flush(Instant::now());
        assert!(!is_up(&told));
    }
}
