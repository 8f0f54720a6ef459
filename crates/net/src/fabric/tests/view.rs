//! The view of a network: every unit that it holds is in one place.

mod places;

use std::collections::BTreeMap;

use cellway_spec::{
    AredKeys, CodelKeys, Discipline, DropFrom, DrrKeys, Dscp, DualPi2Keys, Fifo, FqCodelKeys, Jitter,
    JitterDistribution, PieKeys, PrioKeys, Queue, RedKeys, Train, Trains,
};
use cellway_units::{Bytes, Probability};

use super::*;
use crate::abr::AbrParameters;
use crate::delay::DelaySpec;
use crate::faults::Share;
use crate::light::LightLoad;
use crate::link_spec::PortSpec;
use crate::loss::{Loss, Stream};
use crate::qdisc::QdiscSpec;
use crate::qdisc::testing::xorshift;
use crate::rate_schedule::RateSchedule;
use crate::schedule::Schedule;

/// A row of nodes, of which the first and the last are hosts.
struct Row {
    net: Fabric<u32>,
    hosts: [NodeId; 2],
    there: Vec<PortId>,
    back: Vec<PortId>,
    now: Time,
    delivered: Vec<Delivery<u32>>,
    sent: u32,
}

impl Row {
    /// `links` are between the nodes; a node between two of cells is a switch, any other a router.
    fn new(multiplexing: Multiplexing, links: Vec<LinkSpec>) -> Row {
        let mut net = Fabric::new(multiplexing, Encapsulation::LlcSnap);
        let mut last = net.add_node(NodeKind::Host);
        let first = last;
        let (mut there, mut back) = (Vec::new(), Vec::new());
        let framings: Vec<Framing> = links.iter().map(|link| link.framing).collect();
        for (i, link) in links.into_iter().enumerate() {
            let kind = match framings.get(i + 1) {
                None => NodeKind::Host,
                Some(Framing::Atm) if framings[i] == Framing::Atm => NodeKind::Switch,
                Some(_) => NodeKind::Router,
            };
            let next = net.add_node(kind);
            let [out, home] = net.add_link([last, next], link);
            there.push(out);
            back.insert(0, home);
            last = next;
        }
        Row { net, hosts: [first, last], there, back, now: Time::ZERO, delivered: Vec::new(), sent: 0 }
    }

    fn open(&mut self, conversations: u32, class: Class) {
        for conversation in 0..conversations {
            let (hosts, paths) = (self.hosts, [&self.there[..], &self.back[..]]);
            self.net.open(ConversationSpec { conversation, kind: 0, hosts, paths, share: None, class }).unwrap();
        }
    }

    /// Sends a packet, whose body is its number; it is not served yet.
    fn send(&mut self, conversation: u32, octets: u32, ecn: Ecn, dscp: Dscp) {
        let ([from, to], body, flow) = (self.hosts, self.sent, conversation);
        self.sent += 1;
        self.net.send(self.now, Packet { conversation, from, to, flow, octets, ecn, dscp: dscp.bits(), body });
    }

    /// Processes one instant before `limit`; returns true if there was one.
    fn step(&mut self, limit: Time) -> bool {
        let Some(now) = self.net.deadline().filter(|&at| at < limit) else { return false };
        self.now = now;
        self.net.advance(now, &mut self.delivered);
        self.net.serve(now);
        true
    }

    fn waiting(&self, port: PortId) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        let more = self.net.waiting_units(port, usize::MAX, |unit| {
            found.push((unit.packet.unwrap().body, unit.units));
        });
        assert_eq!(more, 0);
        found
    }

    /// Every packet of the network is in one place, or each of its cells is; and so are RM cells.
    fn check(&self, now: Time) {
        let (mut packets, mut cells, mut rms) = (BTreeMap::new(), BTreeMap::new(), 0);
        let mut see = |unit: UnitView<'_, u32>| {
            let frame = unit.piece.frame.0;
            assert!(unit.units > 0 && unit.octets > 0);
            match (unit.packet, unit.channel) {
                (None, channel) => {
                    assert!(channel.is_some() && unit.units == 1);
                    rms += 1;
                }
                (Some(packet), None) => {
                    assert_eq!(unit.octets, u64::from(packet.octets));
                    *packets.entry(frame).or_insert(0) += unit.units;
                }
                (Some(_), Some(_)) => *cells.entry(frame).or_insert(0) += unit.units,
            }
        };
        for port in self.net.ports() {
            let mut waiting = 0;
            let more = self.net.waiting_units(port, usize::MAX, |unit| {
                waiting += unit.units;
                see(unit);
            });
            assert_eq!(more, 0);
            assert!(waiting >= self.net.waiting(port), "packets before the queue wait, too");
            if let Some((unit, part)) = self.net.unit_on_line(port, now) {
                assert!((0.0..=1.0).contains(&part) && unit.units == 1, "{part}");
                see(unit);
            }
            let mut last = 1.0;
            let more = self.net.units_on_link(port, now, usize::MAX, |unit, [head, tail]| {
                assert!(1.0 >= last && last >= head && head >= tail && tail >= 0.0, "{last} {head} {tail}");
                last = tail;
                see(unit);
            });
            assert_eq!(more, 0);
        }
        for (frame, count) in self.net.reassembly.iter().filter_map(|reassembly| reassembly.cells()) {
            *cells.entry(frame.0).or_insert(0) += u32::from(count);
        }
        for (frame, packet, gone) in self.net.packets.held() {
            match (packets.remove(&frame.0), cells.remove(&frame.0)) {
                (Some(found), None) => assert_eq!((found, gone), (1, 0), "packet {frame:?} at {now}"),
                (None, Some(found)) => {
                    let all = self.net.encapsulation.cells(Bytes(packet.octets.into())).0 as u32;
                    assert_eq!(found + u32::from(gone), all, "cells of {frame:?} at {now}");
                }
                other => panic!("{other:?} of {frame:?} at {now}"),
            }
        }
        assert!(packets.is_empty() && cells.is_empty(), "{packets:?} {cells:?} have left the network");
        assert_eq!(rms, self.net.rm_cells_held());
    }

    /// Sends packets at random, and checks the view in each instant, between it and the next, and at departures that
    /// need no event. Returns the longest queue.
    fn play(&mut self, seed: u64, conversations: u32, packets: u32) -> u32 {
        let mut bits = xorshift(seed);
        let mut longest = 0;
        while self.sent < packets {
            let burst = if bits().is_multiple_of(8) { 12 } else { bits() % 2 };
            for _ in 0..burst {
                let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][bits() as usize % 3];
                let dscp = [Dscp::Cs0, Dscp::Cs1, Dscp::Ef][bits() as usize % 3];
                self.send(bits() as u32 % conversations, 40 + bits() as u32 % 1460, ecn, dscp);
            }
            self.net.serve(self.now);
            let until = self.now + Span::from_us(bits() % 8000);
            self.check(self.now);
            while self.step(until) {
                self.check(self.now);
                let next = self.net.next_move(self.now).unwrap_or(until).min(until);
                self.check(self.now + (next - self.now) / 2);
                // A departure without an event is a move, too.
                if self.net.deadline().is_none_or(|at| next < at) {
                    self.check(next);
                }
                longest = longest.max(self.there.iter().map(|&port| self.net.waiting(port)).max().unwrap());
            }
            self.now = until;
            self.check(until);
        }
        while self.step(Time::MAX) {
            self.check(self.now);
        }
        longest
    }
}

fn mbit(rate: u64, ms: u64, framing: Framing) -> LinkSpec {
    LinkSpec::new(Rate::from_bps(rate * 1_000_000), Span::from_ms(ms), framing)
}

fn buffer(octets: u64, charge: Charge, discard: Discard) -> Option<BufferSpec> {
    let size = Bits(8 * octets);
    let threshold = Some(Bits(6 * octets));
    Some(BufferSpec { size, whole_port: true, sharing: Sharing::Pool, charge, discard, threshold, clp_threshold: None })
}

/// Packets, a router, cells, a switch, cells, a router, packets.
fn cells(multiplexing: Multiplexing, discipline: Discipline, discard: Discard) -> Row {
    let slow = || {
        let spec = mbit(4, 3, Framing::Atm).with_discipline(discipline);
        spec.with_buffers([buffer(53 * 150, Charge::Cell, discard); 2])
    };
    let mut second = mbit(3, 1, Framing::Atm).with_discipline(discipline);
    second = second.with_buffers([buffer(53 * 90, Charge::Cell, discard); 2]);
    Row::new(multiplexing, vec![mbit(20, 0, Framing::Packet), slow(), second, mbit(20, 1, Framing::Packet)])
}

#[test]
fn each_cell_is_in_one_place() {
    for (multiplexing, discipline, discard) in [
        (Multiplexing::PerConversation, Discipline::RoundRobin, Discard::Cell),
        (Multiplexing::PerDestination, Discipline::RoundRobin, Discard::Epd),
        (Multiplexing::PerConversation, Discipline::Fifo, Discard::Frame),
    ] {
        for controls in ["none", "shaper", "abr", "losses"] {
            let mut row = cells(multiplexing, discipline, discard);
            row.open(4, if controls == "abr" { Class::Abr } else { Class::Ubr });
            let first = row.there[1];
            let channels = [0, 1].map(|direction| row.net.channels(0, direction)[0].0);
            let peak = Rate::from_bps(1_500_000);
            match controls {
                "shaper" => row.net.shape(first, channels[0], ShaperSpec { peak, sustained: None }),
                "abr" => row.net.abr(first, channels[0], channels[1], row.there[2], AbrParameters::new(peak)).unwrap(),
                "losses" => {
                    let chance: Probability = "2 %".parse().unwrap();
                    row.there.clone().into_iter().for_each(|port| {
                        row.net.set_link_loss(Time::ZERO, port, chance, xorshift(5));
                    });
                }
                _ => {}
            }
            let longest = row.play(7, 4, 400);
            assert!(longest > 60, "{controls}: {longest} cells wait at most");
            assert!(row.delivered.len() > 100, "{controls}: {} arrive", row.delivered.len());
        }
    }
}

fn queues() -> Vec<Queue> {
    vec![
        Queue::Fifo(Fifo::TAIL),
        Queue::Fifo(Fifo { drop: DropFrom::Head }),
        Queue::Red(RedKeys::NONE.resolve().unwrap()),
        Queue::Ared(AredKeys::NONE.resolve().unwrap()),
        Queue::Codel(CodelKeys::NONE.resolve().unwrap()),
        Queue::FqCodel(FqCodelKeys { flows: Some(2), ..FqCodelKeys::NONE }.resolve().unwrap()),
        Queue::Pie(PieKeys::NONE.resolve().unwrap()),
        Queue::DualPi2(DualPi2Keys::NONE.resolve().unwrap()),
        Queue::Drr(DrrKeys { flows: Some(3), ..DrrKeys::NONE }.resolve().unwrap()),
        Queue::Prio(PrioKeys::NONE.resolve().unwrap()),
    ]
}

fn with_queue(mut link: LinkSpec, queue: Queue, octets: u64) -> LinkSpec {
    link = link.with_buffers([buffer(octets, Charge::Packet, Discard::Frame); 2]);
    let spec = || Some(QdiscSpec { queue, largest: Bytes(1500), stream: Stream::new(xorshift(3)) });
    link.with_queues([spec(), spec()])
}

#[test]
fn each_packet_of_every_discipline_is_in_one_place() {
    for queue in queues() {
        let slow = with_queue(mbit(2, 10, Framing::Ethernet), queue, 20_000);
        let mut row = Row::new(
            Multiplexing::PerConversation,
            vec![mbit(50, 0, Framing::Packet), slow, mbit(10, 1, Framing::Packet)],
        );
        row.open(5, Class::Ubr);
        let longest = row.play(9, 5, 600);
        assert!(longest > 8, "{queue:?}: {longest} packets wait at most");
        let counters = row.net.port_counters(row.there[1], row.now);
        assert!(counters.dropped_frames > 0, "{queue:?} drops none");
        assert_eq!(row.net.packets_held(), 0);
    }
}

/// Delays that vary, outages, duplicates, losses, and packets before the queue.
#[test]
fn each_packet_of_every_link_is_in_one_place() {
    let jitter = |reorder| {
        let parameters = Jitter {
            deviation: Span::from_ms(3),
            distribution: JitterDistribution::Normal,
            correlation: "0 %".parse().unwrap(),
        };
        let changes = vec![(Time::ZERO + Span::from_ms(40), Span::from_ms(30))];
        Some(DelaySpec {
            schedule: Schedule::once(changes),
            jitter: Some((parameters, Stream::new(xorshift(4)))),
            values: None,
            reorder,
        })
    };
    let share = || Share::new("20 %".parse().unwrap(), xorshift(8));
    let at = |ms| Time::ZERO + Span::from_ms(ms);
    let outages = || Schedule::once((1..9).flat_map(|n| [(at(n * 30), true), (at(n * 30 + 9), false)]).collect());
    let rates = || Schedule::once((1..20).map(|n| (at(n * 13), Rate::from_bps(n % 3 * 1_500_000 + 500_000))).collect());
    let trains = || {
        let train = |ms: u64, delay| Train {
            at: at(ms),
            delay: Span::from_ms(delay),
            opportunities: [0, 0, 1, 3].map(Span::from_ms).to_vec(),
        };
        Some(LightLoad { trains: Trains::new(vec![train(0, 20), train(100, 30)]), repeats: true })
    };
    let base = || PortSpec::new(Rate::from_bps(3_000_000), Span::from_ms(12));
    let ports: [(&str, PortSpec); 7] = [
        ("jitter", PortSpec { varying: jitter(false), ..base() }),
        ("reordering", PortSpec { varying: jitter(true), ..base() }),
        ("outages", PortSpec { schedule: Some(RateSchedule::new(rates(), outages())), ..base() }),
        ("duplicates", PortSpec { duplicate: share(), varying: jitter(true), ..base() }),
        ("loss", PortSpec { loss: Loss::random("10 %".parse().unwrap(), xorshift(2)), corrupt: share(), ..base() }),
        ("light", PortSpec { light: trains(), ..base() }),
        ("cost", PortSpec { packet_cost: Span::from_us(300), flushes: outages(), ..base() }),
    ];
    for (name, port) in ports {
        let mut link = mbit(3, 12, Framing::Packet);
        link.ports[0] = port;
        let mut row = Row::new(Multiplexing::PerConversation, vec![link, mbit(10, 0, Framing::Packet)]);
        row.open(3, Class::Ubr);
        row.play(11, 3, 500);
        assert!(row.delivered.len() > 100, "{name}: {} arrive", row.delivered.len());
        assert_eq!(row.net.packets_held(), 0);
    }
}
