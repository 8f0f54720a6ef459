//! Packet lines with and without an event for each departure: the fast paths must not change anything that can be read.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "rig/numbers.rs"]
mod numbers;

use cellway_net::{
    BufferSpec, Charge, Class, ConversationSpec, Delivery, Discard, Encapsulation, Fabric, Framing, LinkSpec,
    Multiplexing, NodeId, NodeKind, Packet, PortCounters, PortId, Sharing,
};
use cellway_units::{Bits, Ecn, Rate, Span, Time};
use numbers::Numbers;

const PAIRS: u32 = 3;
/// Round lengths at round rates, so that events often meet in one instant.
const STEP: Span = Span::from_us(500);

struct Network {
    net: Fabric<u32>,
    ports: Vec<PortId>,
    hosts: Vec<[NodeId; 2]>,
}

/// Three pairs of hosts, each attached to the first or the last of two or three routers in a row.
fn network(numbers: &mut Numbers) -> Network {
    let mut net = Fabric::new(Multiplexing::PerConversation, Encapsulation::LlcSnap);
    let mut ports = Vec::new();
    let mut link = |net: &mut Fabric<u32>, numbers: &mut Numbers, ends: [NodeId; 2], mbit: u64| {
        let delay = STEP * numbers.below(4);
        let memory = |numbers: &mut Numbers| {
            let sharing = [Sharing::Pool, Sharing::Conversation][numbers.below(2) as usize];
            (numbers.below(2) == 0).then_some(BufferSpec {
                size: Bits(8000 * (1 + numbers.below(4))),
                whole_port: true,
                sharing,
                charge: Charge::Packet,
                discard: Discard::Frame,
                threshold: None,
                clp_threshold: None,
            })
        };
        let buffers = [memory(numbers), memory(numbers)];
        let both = net.add_link(
            ends,
            LinkSpec::new(Rate::from_bps(mbit * 1_000_000), delay, Framing::Packet).with_buffers(buffers),
        );
        ports.extend(both);
        both
    };
    let routers: Vec<NodeId> = (0..2 + numbers.below(2)).map(|_| net.add_node(NodeKind::Router)).collect();
    let (mut there, mut back) = (Vec::new(), Vec::new());
    for ends in routers.windows(2) {
        let [out, home] = link(&mut net, numbers, [ends[0], ends[1]], 8);
        there.push(out);
        back.insert(0, home);
    }
    let mut hosts = Vec::new();
    for conversation in 0..PAIRS {
        let [near, far] = [net.add_node(NodeKind::Host), net.add_node(NodeKind::Host)];
        let [near_out, near_home] = link(&mut net, numbers, [near, routers[0]], 16);
        let [far_home, far_out] = link(&mut net, numbers, [routers[routers.len() - 1], far], 16);
        let paths = [[&[near_out], &there[..], &[far_home]].concat(), [&[far_out], &back[..], &[near_home]].concat()];
        let paths = [&paths[0][..], &paths[1][..]];
        let spec =
            ConversationSpec { conversation, kind: 0, hosts: [near, far], paths, share: None, class: Class::Ubr };
        net.open(spec).unwrap();
        hosts.push([near, far]);
    }
    Network { net, ports, hosts }
}

/// Everything that can be read at an instant, before any of its events.
type Reading = (Vec<PortCounters>, Vec<u32>, u64, u64);

#[derive(Debug, PartialEq)]
struct Played {
    arrivals: Vec<(Time, u32)>,
    readings: Vec<Reading>,
    queues: Vec<(Time, PortId, u32)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Runs instant by instant with a tap, which keeps an event for each departure.
    Tapped,
    /// Runs instant by instant.
    Steps,
    /// Runs by [`Fabric::run`], like a simulation without observers.
    Runs,
}

fn play(mut network: Network, sends: &[(Time, Packet<u32>)], way: Way) -> Played {
    let Network { net, ports, hosts } = &mut network;
    if way == Way::Tapped {
        net.tap(hosts[0][0]);
    }
    ports.iter().for_each(|&port| net.watch(port));
    let mut played = Played { arrivals: Vec::new(), readings: Vec::new(), queues: Vec::new() };
    let mut sends = sends.iter().peekable();
    let mut read_at = Time::ZERO + STEP;
    let end = Time::ZERO + STEP * 600;
    let mut delivered: Vec<Delivery<u32>> = Vec::new();
    while read_at < end {
        let send = sends.peek().map_or(end, |(at, _)| *at);
        let mut reached = None;
        if way == Way::Runs {
            reached = net.run(send.min(read_at), &mut delivered);
        }
        let now = match reached {
            Some(now) => now,
            None => {
                let now = net.deadline().unwrap_or(end).min(send);
                if read_at <= now {
                    let counters = ports.iter().map(|&port| net.port_counters(port, read_at)).collect();
                    let waiting = ports.iter().map(|&port| net.waiting(port)).collect();
                    played.readings.push((counters, waiting, net.events(read_at), net.packet_hops(read_at)));
                    read_at += STEP;
                    continue;
                }
                net.advance(now, &mut delivered);
                now
            }
        };
        played.arrivals.extend(delivered.drain(..).map(|delivery| (now, delivery.packet.body)));
        while let Some((_, packet)) = sends.next_if(|(at, _)| *at == now) {
            net.send(now, packet.clone());
        }
        net.serve(now);
    }
    assert_eq!(net.packets_held(), 0, "all has arrived or is lost");
    played.queues = net.watched();
    played
}

#[test]
fn a_departure_without_an_event_shows_in_nothing() {
    let (mut arrived, mut lost) = (0, 0);
    for seed in 0..200 {
        let sends: Vec<(Time, Packet<u32>)> = {
            let mut numbers = Numbers(seed + 1000);
            let mut at = Time::ZERO;
            let hosts = network(&mut Numbers(seed)).hosts;
            (0..150)
                .map(|body| {
                    at += STEP * numbers.below(4);
                    let conversation = numbers.below(u64::from(PAIRS)) as u32;
                    let [from, to] = hosts[conversation as usize];
                    let [from, to] = if numbers.below(3) == 0 { [to, from] } else { [from, to] };
                    let octets = 500 * (1 + numbers.below(3) as u32);
                    (at, Packet { conversation, from, to, flow: 0, octets, ecn: Ecn::NotEct, dscp: 0, body })
                })
                .collect()
        };
        let [tapped, steps, runs] =
            [Way::Tapped, Way::Steps, Way::Runs].map(|way| play(network(&mut Numbers(seed)), &sends, way));
        assert_eq!(tapped, steps, "seed {seed}");
        assert_eq!(tapped, runs, "seed {seed}");
        arrived += tapped.arrivals.len();
        lost += sends.len() - tapped.arrivals.len();
    }
    assert!(arrived > 10_000 && lost > 1_000, "{arrived} arrived, {lost} lost");
}

/// The sojourn times of all packets add up to the integral of the queue length (Little's law, exactly), with every
/// method of driving the network.
#[test]
fn sojourn_times_add_up_to_the_integral_of_the_queue() {
    let mut waited = 0;
    for seed in 0..20 {
        let mut numbers = Numbers(seed + 5000);
        let hosts = network(&mut Numbers(seed)).hosts;
        let sends: Vec<(Time, Packet<u32>)> = (0..150)
            .map(|body| {
                let conversation = numbers.below(u64::from(PAIRS)) as u32;
                let [from, to] = hosts[conversation as usize];
                let at = Time::ZERO + STEP * u64::from(body / 2);
                (at, Packet { conversation, from, to, flow: 0, octets: 1500, ecn: Ecn::NotEct, dscp: 0, body })
            })
            .collect();
        for way in [Way::Tapped, Way::Steps, Way::Runs] {
            let played = play(network(&mut Numbers(seed)), &sends, way);
            let (last, ..) = played.readings.last().unwrap();
            for counters in last {
                assert_eq!(counters.sojourn, counters.queue_area, "seed {seed}");
                waited += counters.sojourn;
            }
        }
    }
    assert!(waited > 1_000_000_000_000, "{waited} ps");
}
