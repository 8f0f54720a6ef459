mod view;

use cellway_spec::{Charge, Discard, Encapsulation, Framing, Multiplexing, PolicerAction, Sharing};
use cellway_units::{Bits, Ecn, Rate, Span, Time};

use super::*;
use crate::abr::AbrParameters;
use crate::buffer::BufferSpec;
use crate::packet::{Delivery, Packet};
use crate::policer::PolicerSpec;
use crate::shaper::ShaperSpec;

/// Two hosts, two routers with a switch between them; buffers of `sharing` and `discard` at all ports of those.
struct Line {
    net: Fabric<u32>,
    hosts: [NodeId; 2],
    there: Vec<PortId>,
    back: Vec<PortId>,
    now: Time,
    delivered: Vec<Delivery<u32>>,
}

impl Line {
    fn new(multiplexing: Multiplexing, sharing: Sharing, discard: Discard) -> Line {
        let mut net = Fabric::new(multiplexing, Encapsulation::LlcSnap);
        let kinds = [NodeKind::Host, NodeKind::Router, NodeKind::Switch, NodeKind::Router, NodeKind::Host];
        let nodes = kinds.map(|kind| net.add_node(kind));
        let buffer = BufferSpec {
            size: Bits(40 * 424),
            whole_port: sharing != Sharing::Pool,
            sharing,
            charge: Charge::Packet,
            discard,
            threshold: Some(Bits(30 * 424)),
            clp_threshold: None,
        };
        let (mut there, mut back) = (Vec::new(), Vec::new());
        for (i, pair) in nodes.windows(2).enumerate() {
            let (framing, rate) = match i {
                0 | 3 => (Framing::Packet, 20_000_000),
                1 => (Framing::Atm, 8_000_000),
                _ => (Framing::Atm, 4_000_000),
            };
            let buffers = [i > 0, i < 3].map(|inner| inner.then_some(buffer));
            let [a, b] = net.add_link(
                [pair[0], pair[1]],
                LinkSpec::new(Rate::from_bps(rate), Span::from_us(300), framing).with_buffers(buffers),
            );
            there.push(a);
            back.insert(0, b);
        }
        let (now, delivered) = (Time::ZERO, Vec::new());
        Line { net, hosts: [nodes[0], nodes[4]], there, back, now, delivered }
    }

    fn open(&mut self, conversation: u32, class: Class) {
        let (hosts, paths) = (self.hosts, [&self.there[..], &self.back[..]]);
        self.net.open(ConversationSpec { conversation, kind: 0, hosts, paths, share: None, class }).unwrap();
    }

    fn send(&mut self, conversation: u32, octets: u32) {
        let [from, to] = self.hosts;
        self.net.send(
            self.now,
            Packet { conversation, from, to, flow: 0, octets, ecn: Ecn::NotEct, dscp: 0, body: conversation },
        );
        self.net.serve(self.now);
    }

    /// Processes one instant; returns true if there was one.
    fn step(&mut self) -> bool {
        let Some(now) = self.net.deadline() else { return false };
        self.now = now;
        self.net.advance(now, &mut self.delivered);
        self.net.serve(now);
        true
    }

    fn channel(&self, conversation: u32, direction: usize) -> ChannelId {
        self.net.channels(conversation, direction)[0].0
    }

    /// Returns the lengths of everything that could grow.
    fn lengths(&self) -> Vec<usize> {
        let net = &self.net;
        let mut all = vec![
            net.conversations.len(),
            net.channels.len(),
            net.circuits.iter().filter(|c| c.is_open).count() + net.free.values().map(Vec::len).sum::<usize>(),
            net.free.len(),
            net.circuits.len(),
            net.joined.values().map(Vec::len).sum(),
            net.reassembly.len(),
        ];
        all.extend(net.packets.lengths());
        all.extend(net.rms.lengths());
        all.extend(net.ports.iter().flat_map(Port::lengths));
        all
    }
}

/// Sets ABR in both directions, a shaper and a policer: the settings that a driver may make for a conversation.
fn set_up(line: &mut Line, conversation: u32, abr: bool) {
    let channels = [0, 1].map(|direction| line.channel(conversation, direction));
    let [there, back] = [&line.there, &line.back].map(|path| [path[1], path[2]]);
    let peak = Rate::from_bps(3_000_000);
    if abr {
        for (ports, channel, reverse) in [(there, channels[0], channels[1]), (back, channels[1], channels[0])] {
            line.net.abr(ports[0], channel, reverse, ports[1], AbrParameters::new(peak)).unwrap();
        }
    } else {
        line.net.shape(there[0], channels[0], ShaperSpec { peak, sustained: None });
    }
    let action = PolicerAction::Discard;
    line.net.police(there[1], channels[0], PolicerSpec { peak, cdvt: Span::from_ms(1), sustained: None, action });
}

fn come_and_go(multiplexing: Multiplexing, sharing: Sharing, discard: Discard, abr: bool, rounds: u32) {
    let mut line = Line::new(multiplexing, sharing, discard);
    let class = if abr { Class::Abr } else { Class::Ubr };
    let mut grown_up = None;
    let mut open: Vec<u32> = Vec::new();
    for round in 0..rounds {
        // Ten numbers, used repeatedly; numbers are closed in another order than they are opened.
        let number = round * 7 % 10;
        while let Some(place) = open.iter().position(|&c| c == number) {
            if line.net.close(number) {
                open.remove(place);
            } else {
                assert!(line.step(), "a conversation with nothing under way cannot be closed");
            }
        }
        line.open(number, class);
        open.push(number);
        let first_on_channel = open.len() == 1 || multiplexing == Multiplexing::PerConversation;
        if first_on_channel {
            set_up(&mut line, number, abr);
        }
        if round % 4 != 3 {
            line.send(number, 40 + round * 37 % 1400);
        }
        line.delivered.clear();
        if round == rounds / 2 {
            grown_up = Some(line.lengths());
        }
    }
    let before = grown_up.unwrap();
    let after = line.lengths();
    assert_eq!(before.len(), after.len());
    // Slabs are as long as the most that were ever held at once, which need not come in the first half.
    for (place, (before, after)) in before.iter().zip(&after).enumerate() {
        assert!(after <= &(before + 40), "length {place} grew from {before} to {after}");
    }
    while line.step() {}
    assert!(open.iter().all(|&c| line.net.close(c)), "nothing is under way");
    assert_eq!((line.net.packets_held(), line.net.rm_cells_held()), (0, 0));
    assert!(line.net.channels.is_empty() && line.net.circuits.iter().all(|circuit| !circuit.is_open));
}

#[test]
fn a_hundred_thousand_conversations_leave_nothing_behind() {
    come_and_go(Multiplexing::PerConversation, Sharing::Conversation, Discard::Cell, false, 100_000);
}

#[test]
fn nor_do_those_with_control_loops_or_shared_channels() {
    for discard in [Discard::Frame, Discard::Epd] {
        for sharing in [Sharing::Pool, Sharing::Channel, Sharing::Conversation] {
            come_and_go(Multiplexing::PerConversation, sharing, discard, true, 3_000);
            come_and_go(Multiplexing::PerDestination, sharing, discard, false, 3_000);
        }
    }
}

#[test]
fn a_channel_that_comes_back_is_as_good_as_new() {
    let mut line = Line::new(Multiplexing::PerConversation, Sharing::Channel, Discard::Epd);
    line.open(0, Class::Abr);
    set_up(&mut line, 0, true);
    let channel = line.channel(0, 0);
    (0..5).for_each(|_| line.send(0, 1500));
    assert!(!line.net.close(0), "packets are inside");
    while line.step() {}
    assert!(line.net.close(0));
    assert!(line.net.channels(0, 0).is_empty());
    // Another number, the same ports and class: the same channel, without settings.
    line.open(3, Class::Abr);
    assert_eq!(line.channel(3, 0), channel);
    assert_eq!(line.net.abr_rate(line.there[1], channel), None);
    assert!(!line.net.set_shaper_rate(line.now, line.there[1], channel, Rate::from_bps(1)));
    set_up(&mut line, 3, true);
    line.delivered.clear();
    line.send(3, 1500);
    while line.step() {}
    assert_eq!(line.delivered.len(), 1);
    let counters = line.net.conversation_counters(3);
    assert_eq!((counters.sent, counters.delivered, counters.inside()), (1, 1, 0));
}

#[test]
fn a_frame_without_end_is_lost_at_the_close() {
    for shared in [false, true] {
        let multiplexing = if shared { Multiplexing::PerDestination } else { Multiplexing::PerConversation };
        let mut line = Line::new(multiplexing, Sharing::Pool, Discard::Cell);
        line.open(0, Class::Ubr);
        line.open(1, Class::Ubr);
        // The policer passes the first cells and drops all that follow too fast.
        line.net.police(
            line.there[2],
            line.channel(0, 0),
            PolicerSpec {
                peak: Rate::from_bps(1_000_000),
                cdvt: Span::from_us(50),
                sustained: None,
                action: PolicerAction::Discard,
            },
        );
        line.send(0, 1480);
        while line.step() {}
        assert_eq!(line.delivered.len(), 0);
        assert_eq!(line.net.packets_held(), 1, "its first cells stand in reassembly");
        let router = line.net.port(line.there[2]).to;
        assert_eq!(line.net.losses(router).total(), 0);
        assert!(line.net.close(0));
        assert_eq!(line.net.packets_held(), 0);
        assert_eq!(line.net.losses(router), LossCounters { length: 1, ..LossCounters::default() });
        assert_eq!(line.net.conversation_counters(0).damaged, 1);
        assert_eq!(
            line.net.open(ConversationSpec {
                conversation: 1,
                kind: 0,
                hosts: line.hosts,
                paths: [&line.there, &line.back],
                share: None,
                class: Class::Ubr,
            }),
            Err(FabricError::AlreadyOpen { conversation: 1 })
        );
        // The next cells on a channel that is still in use are part of the damaged frame, which has been counted.
        line.send(1, 30);
        while line.step() {}
        line.send(1, 30);
        while line.step() {}
        assert_eq!(line.delivered.len(), if shared { 1 } else { 2 });
        assert_eq!(line.net.losses(router).total(), 1);
    }
}
