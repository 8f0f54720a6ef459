//! Packet-hops per second through lines of packets alone, with a calendar and in windows.
//!
//! Flows share a line of 100 Mbit/s between two routers, 10 ms or, in a rack, 20 us long; their hosts have lines of 1 Gbit/s.
//! Each flow keeps a window of packets of 1500 octets under way, and its receiver answers every second one with 40 octets.
//!
//! `cargo bench -p cellway-net --bench packet_hops` prints a table. With `--once windows|cells FLOWS HOPS [rack]` it only runs
//! that many packet-hops, for a profiler.
#![allow(missing_docs, clippy::unwrap_used)]

use std::time::Instant;

use cellway_net::{
    BufferSpec, Charge, Class, ConversationSpec, Delivery, Discard, Encapsulation, Fabric, Framing, LinkSpec,
    Multiplexing, NodeId, NodeKind, Packet, Sharing,
};
use cellway_units::{Bits, Ecn, Rate, Span, Time};

/// The packets of one flow that are under way.
const WINDOW: u32 = 16;

/// The network, and the number of packets that each conversation's receiver has.
struct Load {
    net: Fabric<()>,
    received: Vec<u32>,
    in_windows: bool,
}

fn send(net: &mut Fabric<()>, now: Time, conversation: u32, [from, to]: [NodeId; 2], octets: u32) {
    net.send(now, Packet { conversation, from, to, flow: 0, octets, ecn: Ecn::NotEct, dscp: 0, body: () });
}

impl Load {
    fn new(flows: u32, delay: Span, in_windows: bool) -> Load {
        let mut net = Fabric::new(Multiplexing::PerConversation, Encapsulation::VcMux);
        let routers = [NodeKind::Router, NodeKind::Router].map(|kind| net.add_node(kind));
        let buffer = Some(BufferSpec {
            size: Bits(u64::from(flows * WINDOW) * 12_000),
            whole_port: true,
            sharing: Sharing::Pool,
            charge: Charge::Packet,
            discard: Discard::Frame,
            threshold: None,
            clp_threshold: None,
        });
        let link = |mbps: u64, delay| {
            LinkSpec::new(Rate::from_bps(mbps * 1_000_000), delay, Framing::Packet).with_buffers([buffer; 2])
        };
        let [there, back] = net.add_link(routers, link(100, delay));
        let mut pairs = Vec::new();
        for conversation in 0..flows {
            let hosts = [0, 1].map(|_| net.add_node(NodeKind::Host));
            let [[up, down], [far_up, far_down]] =
                [0, 1].map(|end| net.add_link([hosts[end], routers[end]], link(1000, Span::from_us(1))));
            let paths: [&[_]; 2] = [&[up, there, far_down], &[far_up, back, down]];
            let class = Class::Ubr;
            net.open(ConversationSpec { conversation, kind: 0, hosts, paths, share: None, class }).unwrap();
            pairs.push(hosts);
        }
        assert!(!in_windows || net.run_in_windows(Time::ZERO));
        for (conversation, hosts) in (0..).zip(pairs) {
            (0..WINDOW).for_each(|_| send(&mut net, Time::ZERO, conversation, hosts, 1500));
        }
        net.serve(Time::ZERO);
        Load { net, received: vec![0; flows as usize], in_windows }
    }

    /// Runs until at least `hops` more packets have left a line; returns their number.
    fn run(&mut self, from: &mut Time, hops: u64) -> u64 {
        let slice = Span::from_ms(100);
        let first = self.net.packet_hops(*from);
        let mut delivered: Vec<Delivery<()>> = Vec::new();
        while self.net.packet_hops(*from) - first < hops {
            *from += slice;
            if self.in_windows {
                self.net.set_horizon(*from);
            }
            while let Some(now) = self.net.run(*from, &mut delivered) {
                for delivery in &delivered {
                    let Packet { conversation, from, to, octets, .. } = *delivery.packet;
                    let received = &mut self.received[conversation as usize];
                    if octets == 40 {
                        (0..2).for_each(|_| send(&mut self.net, now, conversation, [to, from], 1500));
                        continue;
                    }
                    *received += 1;
                    if received.is_multiple_of(2) {
                        send(&mut self.net, now, conversation, [to, from], 40);
                    }
                }
                self.net.recycle(&mut delivered);
                self.net.serve(now);
            }
        }
        self.net.packet_hops(*from) - first
    }
}

fn delay(is_rack: bool) -> Span {
    if is_rack { Span::from_us(20) } else { Span::from_ms(10) }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--once") {
        let is_rack = arguments.iter().any(|argument| argument == "rack");
        let number = |place: usize| arguments[at + place].parse().unwrap();
        let mut load = Load::new(number(2), delay(is_rack), arguments[at + 1] == "windows");
        println!("{}", load.run(&mut Time::ZERO.clone(), u64::from(number(3))));
        return;
    }
    println!("{:>6} {:>6} {:>16} {:>16} {:>6}", "", "flows", "calendar", "windows", "ratio");
    for (name, is_rack) in [("10 ms", false), ("rack", true)] {
        for flows in [1, 8, 64, 1000] {
            let [calendar, windows] = [false, true].map(|in_windows| {
                let mut load = Load::new(flows, delay(is_rack), in_windows);
                let mut from = Time::ZERO;
                load.run(&mut from, 100_000);
                let begin = Instant::now();
                let hops = load.run(&mut from, 1_000_000);
                hops as f64 / begin.elapsed().as_secs_f64() / 1e6
            });
            let ratio = windows / calendar;
            println!("{name:>6} {flows:>6} {calendar:>12.2} M/s {windows:>12.2} M/s {ratio:>6.2}");
        }
    }
}
