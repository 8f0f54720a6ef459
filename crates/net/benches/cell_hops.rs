//! Cell-hops per second through segmentation, cell-by-cell round robin and reassembly.
//!
//! A cell-hop is one cell leaving one output line. The network is that of Cáceres 1993, section 2.4
//! (router, 22.5 ms, switch, router) on OC-3c lines, kept saturated in one direction by
//! conversations that send a new 552-octet packet for each one delivered.
//!
//! `cargo bench -p cellway-net` prints tables. With `--once CONVERSATIONS HOPS` it only runs that many cell-hops, for a
//! profiler.
#![allow(missing_docs, clippy::unwrap_used)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::time::Instant;

use cellway_net::{
    AbrParameters, AbrSwitchSpec, BufferSpec, Charge, Class, ConversationSpec, Discard, Encapsulation, Fabric,
    Fraction, Framing, LinkSpec, Multiplexing, NodeKind, Packet, PolicerAction, PolicerSpec, PortId, ShaperSpec,
    Sharing,
};
use cellway_units::{Bits, Cells, Ecn, Rate, Span, Time};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};

const HOPS: u64 = 1_000_000;

const LINE: Rate = Rate::from_bps(149_760_000);

/// The element at both lines, for each channel.
#[derive(Clone, Copy, PartialEq)]
enum Element {
    Plain,
    Spacer,
    GcraShaper,
    Policer,
    Epd,
    Priorities,
    AbrEfci,
    AbrErica,
}

fn network(conversations: u32, multiplexing: Multiplexing, element: Element) -> Fabric<()> {
    let mut net = Fabric::new(multiplexing, Encapsulation::VcMux);
    let [r1, s1, r2] = [NodeKind::Router, NodeKind::Switch, NodeKind::Router].map(|kind| net.add_node(kind));
    let buffer = Some(BufferSpec {
        size: Bits(100 * 424 * 12),
        whole_port: false,
        sharing: Sharing::Pool,
        charge: Charge::Cell,
        discard: if element == Element::Epd { Discard::Epd } else { Discard::Frame },
        threshold: Some(Bits(80 * 424 * 12)),
        clp_threshold: None,
    });
    let (core, edge) = (LINE, Rate::from_bps(10_000_000_000));
    let [a, back_b] =
        net.add_link([r1, s1], LinkSpec::new(core, Span::from_us(22_500), Framing::Atm).with_buffers([buffer; 2]));
    let [b, back_a] = net.add_link([s1, r2], LinkSpec::new(core, Span::ZERO, Framing::Atm).with_buffers([buffer; 2]));
    for conversation in 0..conversations {
        let hosts = [net.add_node(NodeKind::Host), net.add_node(NodeKind::Host)];
        let [up, down] = net.add_link([hosts[0], r1], LinkSpec::new(edge, Span::ZERO, Framing::Packet));
        let [far_up, far_down] = net.add_link([hosts[1], r2], LinkSpec::new(edge, Span::ZERO, Framing::Packet));
        let paths: [&[_]; 2] = [&[up, a, b, far_down], &[far_up, back_a, back_b, down]];
        let classes = [Class::Cbr, Class::Vbr, Class::Abr, Class::Ubr];
        let class = if element == Element::Priorities { classes[conversation as usize % 4] } else { Class::Ubr };
        net.open(ConversationSpec { conversation, kind: 0, hosts, paths, share: None, class }).unwrap();
        add(&mut net, conversation, [a, b], element, Rate::from_bps(LINE.as_bps() / u64::from(conversations)));
        for _ in 0..(8000 / conversations / 12).max(2) {
            net.send(
                Time::ZERO,
                Packet {
                    conversation,
                    from: hosts[0],
                    to: hosts[1],
                    flow: 0,
                    octets: 552,
                    ecn: Ecn::NotEct,
                    dscp: 0,
                    body: (),
                },
            );
        }
    }
    net.serve(Time::ZERO);
    net
}

/// Adds the element at the ports of a conversation's channel, whose share of the line is `rate`.
fn add(net: &mut Fabric<()>, conversation: u32, ports: [PortId; 2], element: Element, rate: Rate) {
    let channel = net.channels(conversation, 0)[0].0;
    let third = Rate::from_bps(LINE.as_bps() / 3);
    for port in ports {
        match element {
            Element::Plain | Element::Epd | Element::Priorities | Element::AbrEfci | Element::AbrErica => {}
            Element::Spacer => net.shape(port, channel, ShaperSpec { peak: rate, sustained: None }),
            Element::GcraShaper => net.shape(port, channel, ShaperSpec { peak: third, sustained: Some((rate, 32)) }),
            Element::Policer => {
                let sustained = Some((third, Span::from_ms(50), 32));
                let action = PolicerAction::Discard;
                net.police(port, channel, PolicerSpec { peak: LINE, cdvt: Span::from_ms(50), sustained, action });
            }
        }
    }
    let marking = match element {
        Element::AbrEfci => AbrSwitchSpec::Efci { threshold: Cells(64) },
        Element::AbrErica => {
            AbrSwitchSpec::Erica { target: Fraction::new(19, 20).unwrap(), interval: Span::from_ms(1) }
        }
        _ => return,
    };
    net.set_abr_switch(marking);
    let reverse = net.channels(conversation, 1)[0].0;
    let parameters = AbrParameters { icr: rate, ..AbrParameters::new(LINE) };
    net.abr(ports[0], channel, reverse, ports[1], parameters).unwrap();
}

/// Runs until `hops` more cells have left a line.
fn run(net: &mut Fabric<()>, hops: u64) -> u64 {
    let until = net.cell_hops() + hops;
    let mut delivered = Vec::new();
    while net.cell_hops() < until {
        let now = net.deadline().unwrap();
        net.advance(now, &mut delivered);
        for delivery in &delivered {
            net.send(now, Packet { from: host_before(delivery.packet.to), ..*delivery.packet });
        }
        net.recycle(&mut delivered);
        net.serve(now);
    }
    net.cell_hops()
}

/// Returns the originator, whose number precedes that of its responder.
fn host_before(responder: cellway_net::NodeId) -> cellway_net::NodeId {
    cellway_net::NodeId(responder.0 - 1)
}

const CASES: [(&str, u32, Multiplexing); 3] = [
    ("per-conversation", 6, Multiplexing::PerConversation),
    ("per-conversation", 100, Multiplexing::PerConversation),
    ("per-destination", 6, Multiplexing::PerDestination),
];

fn cell_hops(c: &mut Criterion) {
    let mut group = c.benchmark_group("cell_hops");
    group.throughput(Throughput::Elements(HOPS));
    group.sample_size(20);
    for (name, conversations, multiplexing) in CASES {
        let mut net = network(conversations, multiplexing, Element::Plain);
        run(&mut net, HOPS); // fill the pipe
        group.bench_function(BenchmarkId::new(name, conversations), |b| b.iter(|| run(&mut net, HOPS)));
    }
    group.bench_function("yardstick", |b| b.iter(|| yardstick(HOPS)));
    group.finish();
    summary();
    elements();
}

/// The least work of an event-driven simulator per event: removes the earliest of 16 pending events from a binary heap
/// and adds another.
fn yardstick(events: u64) -> u64 {
    let mut heap: BinaryHeap<Reverse<(u64, u32)>> = (0..16).map(|i| Reverse((u64::from(i), i))).collect();
    for _ in 0..events {
        let Reverse((at, i)) = heap.pop().unwrap();
        // Spacings that differ from source to source, so that the order keeps changing.
        heap.push(Reverse((at + 101 + u64::from(i) * 7, i)));
    }
    heap.len() as u64
}

/// Prints the figures: the median of nine measurements, each with the reference load measured right before it, so that
/// their ratio holds when the computer's speed drifts.
fn summary() {
    let rate = |work: &mut dyn FnMut() -> u64| {
        let start = Instant::now();
        black_box(work());
        HOPS as f64 / start.elapsed().as_secs_f64()
    };
    println!(
        "\n{:<22}{:>14}  million cell-hops per second per core (min to max)   heap operations each",
        "policy", "conversations"
    );
    for (name, conversations, multiplexing) in CASES {
        let mut net = network(conversations, multiplexing, Element::Plain);
        run(&mut net, HOPS);
        let mut pairs: Vec<(f64, f64)> = (0..9)
            .map(|_| {
                let heap = rate(&mut || yardstick(HOPS));
                let hops = rate(&mut || run(&mut net, HOPS));
                (hops / 1e6, heap / hops)
            })
            .collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let hops = pairs[4].0;
        let range = format!("{hops:.1} ({:.1} to {:.1})", pairs[0].0, pairs[8].0);
        pairs.sort_by(|a, b| a.1.total_cmp(&b.1));
        println!("{name:<22}{conversations:>14}  {range:<51}{:>21.2}", pairs[4].1);
    }
}

const ELEMENTS: [(&str, Element); 7] = [
    ("spacer", Element::Spacer),
    ("GCRA shaper", Element::GcraShaper),
    ("GCRA policer", Element::Policer),
    ("early packet discard", Element::Epd),
    ("service classes", Element::Priorities),
    ("ABR, EFCI", Element::AbrEfci),
    ("ABR, ERICA", Element::AbrErica),
];

/// Prints the cost of a hop if each channel has the element at both its lines, in plain hops: the median of the ratios
/// of short runs that take turns, so that it holds on a busy computer.
fn elements() {
    const SLICE: u64 = 100_000;
    println!("\n{:<22}{:>14}  plain hops each", "element", "conversations");
    let time = |net: &mut Fabric<()>| {
        let start = Instant::now();
        black_box(run(net, SLICE));
        start.elapsed().as_secs_f64()
    };
    for conversations in [6, 100] {
        let mut plain = network(conversations, Multiplexing::PerConversation, Element::Plain);
        run(&mut plain, HOPS);
        for (name, element) in ELEMENTS {
            let mut net = network(conversations, Multiplexing::PerConversation, element);
            run(&mut net, HOPS);
            let mut ratios: Vec<f64> = (0..41).map(|_| time(&mut net) / time(&mut plain)).collect();
            ratios.sort_by(f64::total_cmp);
            println!("{name:<22}{conversations:>14}  {:>15.2}", ratios[20]);
        }
    }
}

criterion_group!(benches, cell_hops);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--once") {
        let number = |place: usize| arguments[at + place].parse().unwrap();
        let mut net = network(number(1), Multiplexing::PerConversation, Element::Plain);
        println!("{} cell-hops", run(&mut net, u64::from(number(2))));
        return;
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
