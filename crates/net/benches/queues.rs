//! The time of a packet-hop by queue discipline, relative to that with a FIFO.
//!
//! Conversations keep a line of 1 Gbit/s busy, each with four packets of 1500 octets: a new one is sent for each that is
//! delivered. Each packet takes three hops, of which the second is the queue's. Packets do not wait for long enough to be
//! dropped, so every discipline does the same work. The ratio is that of the second hop alone, if the three hops with a FIFO
//! take the same time.
//!
//! `cargo bench -p cellway-net --bench queues` prints a table.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Instant;

use cellway_net::{
    Class, ConversationSpec, Encapsulation, Fabric, Framing, LinkSpec, Multiplexing, NodeId, NodeKind, Packet, PortId,
    QdiscSpec, Stream,
};
use cellway_spec::{
    AredKeys, CodelKeys, DrrKeys, DualPi2Keys, Fifo, FqCodelKeys, PieKeys, PrioKeys, Queue, QueueDiscipline, RedKeys,
};
use cellway_units::{Bytes, Ecn, Rate, Span, Time};

const PACKETS: u64 = 400_000;
const ROUNDS: usize = 15;

/// The discipline with its defaults, but for targets that the waits of this benchmark do not reach.
fn queue(discipline: QueueDiscipline) -> Queue {
    let hour = Some(Span::from_secs(3600));
    match discipline {
        QueueDiscipline::Fifo => Queue::Fifo(Fifo::TAIL),
        QueueDiscipline::Red => {
            let length = |packets| Some(cellway_spec::QueueLength::Packets(packets));
            let keys = RedKeys { min: length(100_000), max: length(200_000), ..RedKeys::NONE };
            Queue::Red(keys.resolve().unwrap())
        }
        QueueDiscipline::Ared => Queue::Ared(AredKeys { target: hour, ..AredKeys::NONE }.resolve().unwrap()),
        QueueDiscipline::Codel => {
            Queue::Codel(CodelKeys { target: hour, interval: hour, ..CodelKeys::NONE }.resolve().unwrap())
        }
        QueueDiscipline::FqCodel => {
            Queue::FqCodel(FqCodelKeys { target: hour, interval: hour, ..FqCodelKeys::NONE }.resolve().unwrap())
        }
        QueueDiscipline::Pie => Queue::Pie(PieKeys { target: hour, ..PieKeys::NONE }.resolve().unwrap()),
        QueueDiscipline::DualPi2 => {
            Queue::DualPi2(DualPi2Keys { target: hour, ..DualPi2Keys::NONE }.resolve().unwrap())
        }
        QueueDiscipline::Drr => Queue::Drr(DrrKeys::NONE.resolve().unwrap()),
        QueueDiscipline::Prio => Queue::Prio(PrioKeys::NONE.resolve().unwrap()),
    }
}

/// Random bits, the same for the same seed.
fn random(mut state: u64) -> impl FnMut() -> u64 + Clone + Send + Sync + 'static {
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ (state >> 33)
    }
}

fn network(conversations: u32, discipline: QueueDiscipline) -> (Fabric<()>, PortId) {
    let mut net = Fabric::new(Multiplexing::PerConversation, Encapsulation::VcMux);
    let [near, far] = [NodeKind::Router, NodeKind::Router].map(|kind| net.add_node(kind));
    let spec = |seed: u64| {
        let stream = Stream::new(random(seed));
        Some(QdiscSpec { queue: queue(discipline), largest: Bytes(1500), stream })
    };
    let line = LinkSpec::new(Rate::from_bps(1_000_000_000), Span::from_ms(1), Framing::Packet);
    let [forward, back] = net.add_link([near, far], line.with_queues([spec(1), spec(2)]));
    let mut all_hosts = Vec::new();
    for conversation in 0..conversations {
        let hosts = [net.add_node(NodeKind::Host), net.add_node(NodeKind::Host)];
        let access = || LinkSpec::new(Rate::from_bps(10_000_000_000), Span::from_us(10), Framing::Packet);
        let [up, down] = net.add_link([hosts[0], near], access());
        let [far_up, far_down] = net.add_link([hosts[1], far], access());
        let paths: [&[_]; 2] = [&[up, forward, far_down], &[far_up, back, down]];
        net.open(ConversationSpec { conversation, kind: 0, hosts, paths, share: None, class: Class::Ubr }).unwrap();
        all_hosts.push(hosts);
    }
    // In a random order: neighbours in memory would be found in the cache as they never are in traffic.
    let mut order: Vec<(u32, [NodeId; 2])> = (0..4).flat_map(|_| (0..).zip(all_hosts.iter().copied())).collect();
    let mut draw = random(3);
    (1..order.len()).for_each(|last| order.swap(last, (draw() % (last as u64 + 1)) as usize));
    for (conversation, [from, to]) in order {
        let packet = Packet { conversation, from, to, flow: 0, octets: 1500, ecn: Ecn::NotEct, dscp: 0, body: () };
        net.send(Time::ZERO, packet);
    }
    net.serve(Time::ZERO);
    (net, forward)
}

/// Runs until so many packets have arrived; returns the time of a hop (ns).
fn run(net: &mut Fabric<()>, packets: u64) -> f64 {
    let (mut left, mut delivered) = (packets, Vec::new());
    let start = Instant::now();
    while left > 0 {
        let now = net.deadline().unwrap();
        net.advance(now, &mut delivered);
        for delivery in &delivered {
            left = left.saturating_sub(1);
            // The originator's number precedes that of the responder.
            net.send(now, Packet { from: NodeId(delivery.packet.to.0 - 1), ..*delivery.packet });
        }
        net.recycle(&mut delivered);
        net.serve(now);
    }
    start.elapsed().as_secs_f64() * 1e9 / (3 * packets) as f64
}

fn extremes(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [0, values.len() / 2, values.len() - 1].map(|place| values[place])
}

fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[values.len() * quarter / 4])
}

fn main() {
    println!("{:>10} {:>6}  ns per packet-hop (min to max)   relative to fifo (min to max)", "queue", "flows");
    for flows in [1, 8, 64, 1000] {
        let mut networks = QueueDiscipline::ALL.map(|discipline| network(flows, discipline));
        networks.iter_mut().for_each(|(net, _)| _ = run(net, PACKETS / 10));
        // In turns, so that all have the same machine.
        let rounds: Vec<Vec<f64>> =
            (0..ROUNDS).map(|_| networks.iter_mut().map(|(net, _)| black_box(run(net, PACKETS))).collect()).collect();
        for (place, discipline) in QueueDiscipline::ALL.into_iter().enumerate() {
            let (net, port) = &networks[place];
            let counters = net.port_counters(*port, net.deadline().unwrap());
            assert_eq!(counters.dropped_frames, 0, "{}: the benchmark drops packets", discipline.name());
            let [least, time, most] = extremes(rounds.iter().map(|round| round[place]).collect());
            let hop = |round: &Vec<f64>| 1.0 + 3.0 * (round[place] / round[0] - 1.0);
            let [low, ratio, high] = quartiles(rounds.iter().map(hop).collect());
            let range = format!("{time:.1} ({least:.1} to {most:.1})");
            println!("{:>10} {flows:>6}  {range:<31}  {ratio:.2} ({low:.2} to {high:.2})", discipline.name());
        }
    }
}
