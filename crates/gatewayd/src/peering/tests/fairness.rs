//! A peer that sends without end, next to one that sends little.

use super::link::Share;
use super::*;

/// Returns a gateway with two peers over `transport`, and the peers.
fn hub(transport: TransportChoice) -> (Keys, Peering, [Peering; 2]) {
    let keys = Keys::new();
    let mut config = keys.gateway("hub", "loud");
    (config.peers[0].transport, config.peers[0].rate) =
        (transport, LineRate::Fixed { rate: Rate::from_bps(10_000_000_000), atm: false });
    let quiet = config::Peer { name: "quiet".into(), ..config.peers[0].clone() };
    config.peers.push(quiet);
    let mut hub = start(&config);
    let address = hub.listens().unwrap().to_string();
    let mut spokes = ["loud", "quiet"].map(|name| {
        let mut config = keys.gateway(name, "hub");
        (config.peers[0].transport, config.peers[0].address) = (transport, Some(address.clone()));
        start(&config)
    });
    let [loud, quiet] = &mut spokes;
    run_until([&mut hub, loud, quiet], |[hub, loud, quiet]| {
        is_up(loud) && is_up(quiet) && hub.iter().filter(|event| matches!(event, PeerEvent::Up { .. })).count() == 2
    });
    (keys, hub, spokes)
}

/// Returns the packets of each peer in one turn.
fn turn(hub: &mut Peering) -> [Vec<Bytes>; 2] {
    let mut came = [Vec::new(), Vec::new()];
    hub.turn(Instant::now());
    while let Some(event) = hub.next() {
        if let PeerEvent::Packet { peer, packet } = event {
            came[peer.index()].push(packet);
        }
    }
    hub.flush(Instant::now());
    came
}

fn a_flood_leaves_each_its_turn(transport: TransportChoice, packets: usize, length: usize) {
    let (_keys, mut hub, [mut loud, mut quiet]) = hub(transport);
    // Less than TCP's windows hold.
    hub.turn = Share { packets: 512, octets: 512 << 10 };
    let mut told = Vec::new();
    // As much as the kernel and QUIC accept without being read.
    for _ in 0..packets {
        loud.send(PEER, Bytes::from(vec![1; length]));
    }
    for _ in 0..20 {
        step(&mut loud, &mut told);
    }
    quiet.send(PEER, Bytes::from(vec![2; 10]));
    step(&mut quiet, &mut told);
    let (mut first, mut quiet_at, mut floods, mut after) = (None, None, 0, 0);
    let end = Instant::now() + HANG;
    // Until the packet of the idle peer has arrived, and for some turns more.
    let mut turns = 0;
    while quiet_at.is_none() || after < 3 {
        assert!(Instant::now() < end, "{floods} full turns of {turns}, and none of the other peer");
        let [of_loud, of_quiet] = turn(&mut hub);
        let share = hub.share;
        assert!(of_loud.len() <= share.packets, "{} packets in one turn", of_loud.len());
        let octets: usize = of_loud.iter().map(Bytes::len).sum();
        assert!(octets < share.octets + length, "{octets} octets in one turn");
        if of_loud.len() == share.packets || octets >= share.octets {
            floods += 1;
            assert!(hub.has_more() && hub.has_more_of(PEER), "what is left is dealt with at once");
            // Over QUIC both share one socket.
            assert!(
                transport == TransportChoice::Quic || !hub.has_more_of(PeerId::at(1)),
                "the other peer does not wait for it"
            );
        }
        first = first.or((!of_loud.is_empty()).then_some(turns));
        quiet_at = quiet_at.or((!of_quiet.is_empty()).then_some(turns));
        after += usize::from(quiet_at.is_some());
        turns += 1;
        step(&mut loud, &mut told);
        step(&mut quiet, &mut told);
    }
    assert!(floods > 0, "no turn was full");
    let (first, quiet_at) = (first.unwrap(), quiet_at.unwrap());
    assert!(quiet_at <= first + 2, "the loud one from turn {first} on, the quiet one in turn {quiet_at}");
}

#[test]
fn small_packets_over_tls() {
    a_flood_leaves_each_its_turn(TransportChoice::Tls, 20_000, 20);
}

#[test]
fn large_packets_over_tls() {
    a_flood_leaves_each_its_turn(TransportChoice::Tls, 200, tls::TlsLink::PAYLOAD);
}

#[test]
fn small_packets_over_quic() {
    a_flood_leaves_each_its_turn(TransportChoice::Quic, 5_000, 20);
}

#[test]
fn connections_share_a_turn() {
    assert_eq!(Share::ALL.among(0), Share::ALL);
    assert_eq!(Share::ALL.among(1), Share::ALL);
    assert_eq!(Share::ALL.among(4), Share { packets: 512, octets: 512 << 10 });
    // Each of very many still delivers something.
    assert_eq!(Share::ALL.among(100_000), Share { packets: 64, octets: 64 << 10 });
}

/// All packets that were sent arrive in the end, in turns.
#[test]
fn nothing_is_lost_over_tls() {
    let (_keys, mut hub, [mut loud, _quiet]) = hub(TransportChoice::Tls);
    for number in 0..5_000_u32 {
        loud.send(PEER, Bytes::copy_from_slice(&number.to_be_bytes()));
    }
    let (mut told, mut came) = (Vec::new(), Vec::new());
    let end = Instant::now() + HANG;
    while came.len() < 5_000 && Instant::now() < end {
        step(&mut loud, &mut told);
        came.extend(std::mem::take(&mut turn(&mut hub)[0]));
    }
    let numbers: Vec<u32> = came.iter().map(|octets| u32::from_be_bytes(octets[..].try_into().unwrap())).collect();
    assert!(numbers.iter().copied().eq(0..5_000), "{} packets", numbers.len());
    assert!(!hub.has_more());
}

/// A peer whose packets arrive faster than they are processed, as from a fast link, loses none: the receiver holds 200
/// ms of the rate.
#[test]
fn nothing_is_lost_over_quic() {
    let (_keys, mut hub, [mut loud, _quiet]) = hub(TransportChoice::Quic);
    let (length, mut sent, mut came, mut told) = (1_000, 0, 0, Vec::new());
    // 2 MB at a time, 16 MB in all.
    while sent < 16 << 10 {
        for _ in 0..2_000 {
            loud.send(PEER, Bytes::from(vec![1; length]));
            sent += 1;
        }
        step(&mut loud, &mut told);
        came += turn(&mut hub)[0].len();
    }
    let end = Instant::now() + HANG;
    while came < sent && Instant::now() < end {
        step(&mut loud, &mut told);
        came += turn(&mut hub)[0].len();
    }
    assert_eq!(came, sent);
    assert!(hub.sockets.iter_mut().all(|udp| udp.drops() == 0), "the kernel has dropped some");
}
