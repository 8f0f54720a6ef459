//! Authentication of peers, and the messages about refusals.

use std::net::UdpSocket;
use std::time::SystemTime;

use super::*;
use crate::peering::handshake_slots::UNPROVEN;
use crate::peering::identity::{Identity, make_between};

const DAY: Duration = Duration::from_secs(86_400);

#[test]
fn both_are_up() {
    for transport in [TransportChoice::Quic, TransportChoice::Tls, TransportChoice::Auto] {
        let keys = Keys::new();
        let mut near = keys.gateway("near", "far");
        near.peers[0].transport = transport;
        let (mut near, mut far) = dialling(&mut near, &keys.gateway("far", "near"));
        run_until([&mut near, &mut far], |told| {
            assert_eq!((whys(&told[0]), whys(&told[1])), (vec![], vec![]));
            let ups = told.each_ref().map(|told| {
                told.iter().find_map(|event| match event {
                    PeerEvent::Up { peer: PEER, dialer, transport, payload, .. } => {
                        Some((*dialer, *transport, *payload))
                    }
                    _ => None,
                })
            });
            let [Some(near), Some(far)] = ups else { return false };
            assert_eq!((near.0, far.0), (true, false));
            let used = if transport == TransportChoice::Tls { Transport::Tls } else { Transport::Quic };
            assert_eq!((near.1, far.1), (used, used));
            assert!(near.2 >= 1100 && far.2 >= 1100);
            true
        });
        for of in [&mut near, &mut far] {
            let status = of.status(PEER);
            assert!(status.address.is_some() && status.rtt.is_some(), "{status:?}");
            // Certificates travel both ways; QUIC's first datagram has 1200 octets.
            let least = if transport == TransportChoice::Tls { 500 } else { 1200 };
            assert!(of.octets(PEER) > least, "the handshake counts: {}", of.octets(PEER));
        }
        assert_eq!(near.status(PEER).address, Some(address(&far)));
    }
}

#[test]
fn either_family_reaches_a_gateway() {
    for transport in [TransportChoice::Quic, TransportChoice::Tls] {
        for (listens, dials, own) in
            [("[::]:0", "127.0.0.1", None), ("[::]:0", "[::1]", Some("127.0.0.1:0")), ("[::]:0", "localhost", None)]
        {
            let keys = Keys::new();
            let (mut near, mut far) = (keys.gateway("near", "far"), keys.gateway("far", "near"));
            far.listen = Some(Listen { address: listens.parse().unwrap() });
            let Ok(mut far) = Peering::new(&far, None, Instant::now()) else {
                return crate::skipped::skip("no IPv6 on this machine");
            };
            near.listen = own.map(|own| Listen { address: own.parse().unwrap() });
            near.peers[0].address = Some(format!("{dials}:{}", address(&far).port()));
            near.peers[0].transport = transport;
            let mut near = start(&near);
            bring_up(&mut near, &mut far);
            let there = far.status(PEER).address.unwrap();
            assert!(dials == "localhost" || there.is_ipv4() == (dials == "127.0.0.1"), "{there}");
        }
    }
}

#[test]
fn unauthenticated_connections_are_bounded_and_all_are_answered() {
    let keys = Keys::new();
    let mut far = start(&keys.gateway("far", "near"));
    let mut crowd: Vec<_> = (0..UNPROVEN + 8)
        .map(|number| {
            let mut one = keys.gateway(&format!("stranger{number}"), "far");
            one.listen = None;
            one.peers[0].address = Some(address(&far).to_string());
            start(&one)
        })
        .collect();
    let mut told: Vec<Vec<PeerEvent>> = crowd.iter().map(|_| Vec::new()).collect();
    for (one, told) in crowd.iter_mut().zip(&mut told) {
        step(one, told);
    }
    // All have dialled and none has proved its address yet.
    step(&mut far, &mut Vec::new());
    assert_eq!(far.unauthenticated(), UNPROVEN);
    let end = Instant::now() + HANG;
    let refused = |told: &Vec<PeerEvent>| whys(told).iter().any(|why| why.contains("no peer there is called stranger"));
    while !told.iter().all(refused) {
        assert!(Instant::now() < end, "somebody hears nothing: {told:?}");
        step(&mut far, &mut Vec::new());
        for (one, told) in crowd.iter_mut().zip(&mut told) {
            step(one, told);
        }
    }
}

/// Whatever is wrong with the certificate of one, neither is up, and each reports its own view.
fn refused(transport: TransportChoice, near: &mut Config, far: &Config, near_says: &str, far_says: Option<&str>) {
    near.peers[0].transport = transport;
    let (mut near, mut far) = dialling(near, far);
    run_until([&mut near, &mut far], |[near, far]| {
        assert!(!is_up(near) && !is_up(far), "it must not get in");
        let says = |told: &[PeerEvent], words: &str| whys(told).iter().any(|why| why.contains(words));
        says(near, near_says) && far_says.is_none_or(|words| says(far, words))
    });
}

fn over_both(case: impl Fn(TransportChoice)) {
    case(TransportChoice::Quic);
    case(TransportChoice::Tls);
}

#[test]
fn another_authority() {
    over_both(|transport| {
        for others in ["another", "test"] {
            let (keys, others) = (Keys::new(), Keys::of(others));
            // The certificate of the gateway that is dialled is of another authority.
            let far = keys.with("far", "near", &make_certificate(&others.authority, "far", 30).unwrap());
            let authority = keys.path("ca.pem");
            let words =
                format!("its certificate is refused: it is from an authority that is not in {}", authority.display());
            refused(transport, &mut keys.gateway("near", "far"), &far, &words, None);
            // The dialler's is.
            let mut near = keys.with("near", "far", &make_certificate(&others.authority, "near", 30).unwrap());
            let told = "it refuses our certificate: it is from an authority that is not trusted there";
            refused(transport, &mut near, &keys.gateway("far", "near"), told, Some(&words));
        }
    });
}

#[test]
fn expired_or_too_early() {
    over_both(|transport| {
        let keys = Keys::new();
        let now = SystemTime::now();
        let old = |name| make_between(&keys.authority, name, now - DAY * 3, now - DAY).unwrap();
        let young = |name| make_between(&keys.authority, name, now + DAY, now + DAY * 3).unwrap();
        let says = "its certificate is refused: it expired on ";
        refused(transport, &mut keys.gateway("near", "far"), &keys.with("far", "near", &old("far")), says, None);
        let told = "it refuses our certificate: it has expired, or is not valid yet";
        refused(transport, &mut keys.with("near", "far", &old("near")), &keys.gateway("far", "near"), told, Some(says));
        let says = "its certificate is refused: it is not valid before ";
        refused(transport, &mut keys.gateway("near", "far"), &keys.with("far", "near", &young("far")), says, None);
    });
}

#[test]
fn another_name() {
    over_both(|transport| {
        let keys = Keys::new();
        let wrong = make_certificate(&keys.authority, "elsewhere", 30).unwrap();
        let says = "it is of elsewhere, where far is configured";
        refused(transport, &mut keys.gateway("near", "far"), &keys.with("far", "near", &wrong), says, None);
        let told = "it refuses: no peer there is called elsewhere";
        refused(transport, &mut keys.with("near", "far", &wrong), &keys.gateway("far", "near"), told, None);
    });
}

#[test]
fn problems_of_the_own_certificate_are_reported() {
    let keys = Keys::new();
    let of = |made: &Made| Identity::read(&keys.write("own", made)).unwrap().problems("near");
    assert_eq!(of(&make_certificate(&keys.authority, "near", 30).unwrap()), Vec::<String>::new());
    let problems = of(&make_certificate(&keys.authority, "other", 30).unwrap());
    assert!(
        problems.len() == 1 && problems[0].ends_with("it is of other, and this gateway is called near"),
        "{problems:?}"
    );
    let past = SystemTime::now() - DAY;
    let problems = of(&make_between(&keys.authority, "near", past - DAY, past).unwrap());
    assert!(problems.len() == 1 && problems[0].contains("own.pem: it expired on "), "{problems:?}");
    let problems = of(&make_certificate(&make_authority("test").unwrap(), "near", 30).unwrap());
    assert!(problems.len() == 1 && problems[0].contains("ca.pem"), "{problems:?}");
}

#[test]
fn files_that_are_wrong_are_named() {
    let keys = Keys::new();
    let made = make_certificate(&keys.authority, "near", 30).unwrap();
    let files = keys.write("near", &made);
    let error = |files: &Files| Identity::read(files).unwrap_err().to_string();
    let missing = Files { certificate: keys.path("none.pem"), ..files.clone() };
    assert!(error(&missing).starts_with(&format!("certificate {}: ", keys.path("none.pem").display())));
    let swapped = Files { authority: files.key.clone(), ..files.clone() };
    assert!(
        error(&swapped).contains("it holds no certificate; expected X.509 certificates in PEM"),
        "{}",
        error(&swapped)
    );
    let swapped = Files { key: files.certificate.clone(), ..files.clone() };
    assert!(error(&swapped).contains("it holds none; expected a private key in PEM"), "{}", error(&swapped));
    let other = keys.write("other", &make_certificate(&keys.authority, "other", 30).unwrap());
    let mixed = Files { key: other.key, ..files.clone() };
    assert!(error(&mixed).contains("it is not the key of certificate"), "{}", error(&mixed));
    let read = Identity::read(&files).unwrap();
    let secret = made.key.lines().nth(1).unwrap();
    assert!(!format!("{read:?} {made:?}").contains(secret), "a key is shown");
}

#[test]
fn garbage_is_counted_and_does_no_harm() {
    let keys = Keys::new();
    let (mut near, mut far) = dialling(&mut keys.gateway("near", "far"), &keys.gateway("far", "near"));
    bring_up(&mut near, &mut far);
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut state = 1_u64;
    let mut octet = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    let mut sent = 0;
    for length in (1..1400).step_by(7) {
        let mut datagram: Vec<u8> = (0..length).map(|_| octet()).collect();
        // Short headers, long headers with version 1, and others.
        match length % 3 {
            0 => datagram[0] = 0x40 | (datagram[0] & 0x3f),
            1 if length > 4 => datagram[..5].copy_from_slice(&[0xc3, 0, 0, 0, 1]),
            _ => {}
        }
        sent += 1;
        stranger.send_to(&datagram, address(&far)).unwrap();
        if sent % 20 == 0 {
            step(&mut far, &mut Vec::new());
        }
    }
    near.send(PEER, Bytes::from_static(b"still here"));
    near.flush(Instant::now());
    run_until([&mut near, &mut far], |[near, far]| {
        assert!(whys(near).is_empty() && whys(far).is_empty());
        packets(far) == [&b"still here"[..]]
    });
    assert_eq!(far.sockets[0].strays, sent);
    assert_eq!(far.unauthenticated(), 0);
}
