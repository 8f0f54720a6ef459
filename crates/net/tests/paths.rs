//! Forwarding by hand: LAN routers, framing overhead, several ATM segments, refusals.
#![allow(missing_docs, clippy::unwrap_used)]

mod rig;

use cellway_net::{
    Class, ConversationSpec, Encapsulation, Fabric, FabricError, Framing, LinkSpec, Multiplexing, NodeId, NodeKind,
};
use cellway_net::{Packet, PortId};
use cellway_units::{Ecn, Rate, Span, Time};
use rig::run;

const MBIT: u64 = 1_000_000;

/// Returns a chain of nodes over links of these framings and rates, without delay, and its ports in the two directions.
fn chain(kinds: &[NodeKind], links: &[(Framing, u64)]) -> (Fabric<u32>, Vec<NodeId>, Vec<PortId>, Vec<PortId>) {
    let link = |&(framing, rate): &(Framing, u64)| LinkSpec::new(Rate::from_bps(rate), Span::ZERO, framing);
    chain_of(kinds, links.iter().map(link))
}

fn chain_of(
    kinds: &[NodeKind],
    links: impl IntoIterator<Item = LinkSpec>,
) -> (Fabric<u32>, Vec<NodeId>, Vec<PortId>, Vec<PortId>) {
    let mut net = Fabric::new(Multiplexing::PerConversation, Encapsulation::LlcSnap);
    let nodes: Vec<NodeId> = kinds.iter().map(|&kind| net.add_node(kind)).collect();
    let (mut there, mut back) = (Vec::new(), Vec::new());
    for (ends, link) in nodes.windows(2).zip(links) {
        let [out, home] = net.add_link([ends[0], ends[1]], link);
        there.push(out);
        back.insert(0, home);
    }
    (net, nodes, there, back)
}

fn spec<'a>(hosts: [NodeId; 2], there: &'a [PortId], back: &'a [PortId]) -> ConversationSpec<'a> {
    ConversationSpec { conversation: 0, kind: 0, hosts, paths: [there, back], share: None, class: Class::Ubr }
}

use NodeKind::{Host, Router, Switch};

/// 1460 octets over Ethernet (1498 on the line, 10 Mbit/s), FDDI (1496, 100 Mbit/s), Ethernet (100 Mbit/s),
/// with 50 us of work for each packet at the second router; 20 octets are padded to 84.
#[test]
fn lan_routers_forward_and_frames_take_their_octets() {
    let mut links = [(Framing::Ethernet, 10), (Framing::Fddi, 100), (Framing::Ethernet, 100)]
        .map(|(framing, rate)| LinkSpec::new(Rate::from_bps(rate * MBIT), Span::ZERO, framing));
    links[2].ports[0].packet_cost = Span::from_us(50);
    let (mut net, nodes, there, back) = chain_of(&[Host, Router, Router, Host], links);
    let hosts = [nodes[0], nodes[3]];
    net.open(spec(hosts, &there, &back)).unwrap();
    let packet = |octets, body| Packet {
        conversation: 0,
        from: hosts[0],
        to: hosts[1],
        flow: 0,
        octets,
        ecn: Ecn::NotEct,
        dscp: 0,
        body,
    };
    let delivered = run(&mut net, vec![(Time::ZERO, packet(1460, 0)), (Time::ZERO, packet(20, 1))]);
    let ns = |octets: u64, mbit: u64| octets * 8 * 1000 / mbit;
    let first = ns(1498, 10) + ns(1496, 100) + ns(1498, 100) + 50_000;
    // The second packet finds the last line busy: it leaves one processing and 84 octets later.
    assert!(ns(1498, 10) + ns(84, 10) + ns(56, 100) < first);
    let second = first + 50_000 + ns(84, 100);
    assert_eq!(delivered, [(first, 0), (second, 1)].map(|(at, body)| (Time::ZERO + Span::from_ns(at), body)));
    assert_eq!(net.packets_held(), 0);
}

/// 552 octets with LLC/SNAP are 12 cells: cut at the first router, reassembled at the second, sent over FDDI, cut
/// again, reassembled by a host with an ATM card.
#[test]
fn a_packet_is_cut_again_on_each_atm_stretch() {
    let cell_ms = 424_000;
    let links = [
        (Framing::Packet, 552 * 8 * 1000),
        (Framing::Atm, cell_ms),
        (Framing::Atm, cell_ms),
        (Framing::Fddi, 588 * 8 * 1000),
        (Framing::Atm, cell_ms),
    ];
    let (mut net, nodes, there, back) = chain(&[Host, Router, Switch, Router, Router, Host], &links);
    let hosts = [nodes[0], nodes[5]];
    net.open(spec(hosts, &there, &back)).unwrap();
    let stretches: Vec<Vec<PortId>> = net.channels(0, 0).iter().map(|(_, ports)| ports.clone()).collect();
    assert_eq!(stretches, [vec![there[1], there[2]], vec![there[4]]]);
    assert_eq!(net.channels(0, 1)[0].1, [back[0]]);
    let delivered = run(
        &mut net,
        vec![(
            Time::ZERO,
            Packet {
                conversation: 0,
                from: hosts[0],
                to: hosts[1],
                flow: 0,
                octets: 552,
                ecn: Ecn::NotEct,
                dscp: 0,
                body: 7,
            },
        )],
    );
    assert_eq!(delivered, [(Time::ZERO + Span::from_ms(1 + 12 + 1 + 1 + 12), 7)]);
    // The host with the ATM card cuts its own packets.
    let back_again = Packet {
        conversation: 0,
        from: hosts[1],
        to: hosts[0],
        flow: 0,
        octets: 552,
        ecn: Ecn::NotEct,
        dscp: 0,
        body: 8,
    };
    let sent = Time::ZERO + Span::from_secs(1);
    assert_eq!(run(&mut net, vec![(sent, back_again)]), [(sent + Span::from_ms(12 + 1 + 12 + 1 + 1), 8)]);
    assert_eq!(net.packets_held(), 0);
}

/// Conversations of one `share` use one channel under every policy, and none with others.
#[test]
fn shared_channels_are_shared_whatever_the_policy() {
    let links = [(Framing::Packet, MBIT), (Framing::Atm, MBIT), (Framing::Packet, MBIT)];
    let (mut net, nodes, there, back) = chain(&[Host, Router, Router, Host], &links);
    let of = |net: &Fabric<u32>, conversation| net.channels(conversation, 0)[0].0;
    let cases = [(Some(3), Class::Ubr), (Some(3), Class::Ubr), (Some(4), Class::Ubr), (None, Class::Ubr)];
    for (conversation, (share, class)) in cases.into_iter().chain([(Some(3), Class::Cbr)]).enumerate() {
        let conversation = conversation as u32;
        net.open(ConversationSpec { conversation, share, class, ..spec([nodes[0], nodes[3]], &there, &back) }).unwrap();
    }
    assert_eq!(of(&net, 0), of(&net, 1));
    for other in [2, 3, 4] {
        assert_ne!(of(&net, 0), of(&net, other), "conversation {other}");
    }
}

#[test]
fn paths_that_lead_nowhere_are_refused() {
    let links = [(Framing::Packet, MBIT), (Framing::Packet, MBIT), (Framing::Atm, MBIT)];
    let (mut net, nodes, there, back) = chain(&[Host, Host, Switch, Host], &links);
    let mut why = |hosts: [usize; 2], there: &[PortId], back: &[PortId]| match net
        .open(spec(hosts.map(|i| nodes[i]), there, back))
        .unwrap_err()
    {
        FabricError::BrokenPath { why, .. } => why,
        _ => "no path",
    };
    assert_eq!(why([0, 2], &there[..2], &back[1..]), "hosts do not forward");
    assert_eq!(why([1, 3], &there[1..], &back[..2]), "a switch speaks cells only");
    assert_eq!(why([0, 3], &there[..1], &back), "it does not end at its host");
    assert_eq!(why([0, 2], &[there[0], there[2]], &back), "it does not start where the last one ended");
    assert_eq!(why([0, 1], &[], &back), "no path");
    let (mut net, nodes, there, back) = chain(&[Host, Router, Router], &[(Framing::Ethernet, MBIT); 2]);
    let circle = net.open(spec([nodes[0], nodes[2]], &[there[0], there[1], back[0], there[1]], &back)).unwrap_err();
    assert!(circle.to_string().ends_with("it comes to a node for the second time"), "{circle}");
}
