//! The network of `cellsim` section 2.4 in small, and a driver for tests.
#![allow(dead_code, unreachable_pub)]

use cellway_net::{
    BufferSpec, ChannelId, Class, ConversationSpec, Delivery, Direction, Discipline, Encapsulation, Fabric, Framing,
    LinkSpec, Loss, Multiplexing, NodeId, NodeKind, Packet, PortId, TapUnit,
};
use cellway_units::{Ecn, Rate, Span, Time};

/// Hosts - router - switch - router - hosts.
pub struct Rig {
    pub net: Fabric<u32>,
    /// Originator and responder of each conversation.
    pub hosts: Vec<[NodeId; 2]>,
    /// The far router.
    pub far: NodeId,
    /// Router to switch, switch to router: the forward path.
    pub there: [PortId; 2],
    /// The near router and the switch.
    pub near: NodeId,
    pub switch: NodeId,
    pub delivered: Vec<(Time, Packet<u32>)>,
    /// The ports of each conversation, in the two directions.
    pub paths: Vec<[Vec<PortId>; 2]>,
}

pub struct Shape {
    pub conversations: u32,
    pub multiplexing: Multiplexing,
    pub discipline: Discipline,
    pub core: Rate,
    pub access: Rate,
    pub delay: Span,
    pub buffers: [Option<BufferSpec>; 2],
}

impl Rig {
    pub fn new(shape: &Shape) -> Rig {
        Rig::of_classes(shape, &[])
    }

    /// Builds the rig with a class for each conversation; UBR if none is given.
    pub fn of_classes(shape: &Shape, classes: &[Class]) -> Rig {
        Rig::built(shape, classes, Vec::new())
    }

    /// Builds the rig with losses at these ports.
    pub fn losing(shape: &Shape, losses: Vec<(PortId, Loss)>) -> Rig {
        Rig::built(shape, &[], losses)
    }

    fn built(shape: &Shape, classes: &[Class], mut losses: Vec<(PortId, Loss)>) -> Rig {
        let mut net = Fabric::new(shape.multiplexing, Encapsulation::VcMux);
        let mut ports = 0;
        let mut join = |net: &mut Fabric<u32>, ends: [NodeId; 2], link: LinkSpec| {
            let mut link = link.with_discipline(shape.discipline);
            for port in &mut link.ports {
                if let Some(at) = losses.iter().position(|(id, _)| *id == PortId(ports)) {
                    port.loss = losses.swap_remove(at).1;
                }
                ports += 1;
            }
            net.add_link(ends, link)
        };
        let [r1, s1, r2] = [NodeKind::Router, NodeKind::Switch, NodeKind::Router].map(|kind| net.add_node(kind));
        let core = |delay, place: usize| {
            LinkSpec::new(shape.core, delay, Framing::Atm).with_buffers([shape.buffers[place], None])
        };
        let [a, back_b] = join(&mut net, [r1, s1], core(shape.delay, 0));
        let [b, back_a] = join(&mut net, [s1, r2], core(Span::ZERO, 1));
        let (mut hosts, mut all_paths) = (Vec::new(), Vec::new());
        for conversation in 0..shape.conversations {
            let pair = [net.add_node(NodeKind::Host), net.add_node(NodeKind::Host)];
            let [up, down] = join(&mut net, [pair[0], r1], LinkSpec::new(shape.access, Span::ZERO, Framing::Packet));
            let [far_up, far_down] =
                join(&mut net, [pair[1], r2], LinkSpec::new(shape.access, Span::ZERO, Framing::Packet));
            let paths: [&[PortId]; 2] = [&[up, a, b, far_down], &[far_up, back_a, back_b, down]];
            let kind = conversation % 2;
            let (share, class) = (None, classes.get(conversation as usize).copied().unwrap_or(Class::Ubr));
            net.open(ConversationSpec { conversation, kind, hosts: pair, paths, share, class }).unwrap();
            hosts.push(pair);
            all_paths.push(paths.map(<[PortId]>::to_vec));
        }
        Rig { net, hosts, far: r2, near: r1, switch: s1, there: [a, b], delivered: Vec::new(), paths: all_paths }
    }

    /// Opens a conversation that was closed, between the same hosts.
    pub fn open(&mut self, conversation: u32) {
        let [there, back] = &self.paths[conversation as usize];
        let (hosts, paths) = (self.hosts[conversation as usize], [&there[..], &back[..]]);
        let kind = conversation % 2;
        self.net.open(ConversationSpec { conversation, kind, hosts, paths, share: None, class: Class::Ubr }).unwrap();
    }

    /// Sends packet number `body` of the originator of `conversation` now.
    pub fn send(&mut self, now: Time, conversation: u32, octets: u32, body: u32) {
        let [from, to] = self.hosts[conversation as usize];
        self.net.send(now, Packet { conversation, from, to, flow: 0, octets, ecn: Ecn::NotEct, dscp: 0, body });
    }

    /// Returns the forward channel of a conversation.
    pub fn channel(&self, conversation: u32) -> ChannelId {
        self.net.channels(conversation, 0)[0].0
    }

    /// Returns the cells that have left the tapped node through `port`, with their conversations.
    pub fn left(&mut self, port: PortId) -> Vec<(Time, u32)> {
        let records = self.net.tapped().into_iter();
        let cells = records.filter(|r| r.port == port && r.direction == Direction::Out);
        cells
            .filter_map(|record| match record.unit {
                TapUnit::Cell(_, packet) => Some((record.at, packet.conversation)),
                TapUnit::Packet(_) => None,
            })
            .collect()
    }

    /// Runs the network up to and including `until`, with `sends` (in order of time).
    pub fn run(&mut self, sends: &[(Time, u32, u32)], until: Time) {
        let mut arrived: Vec<Delivery<u32>> = Vec::new();
        let mut next = 0;
        loop {
            let send = sends.get(next).map(|&(at, ..)| at);
            let Some(now) = [self.net.deadline(), send].into_iter().flatten().min().filter(|&t| t <= until) else {
                return;
            };
            self.net.advance(now, &mut arrived);
            self.delivered.extend(arrived.drain(..).map(|d| (now, *d.packet)));
            while let Some(&(_, conversation, octets)) = sends.get(next).filter(|&&(at, ..)| at == now) {
                self.send(now, conversation, octets, next as u32);
                next += 1;
            }
            self.net.serve(now);
        }
    }
}

/// Runs any network until no event is left, with `sends` in order of time; returns the delivered packets.
pub fn run(net: &mut Fabric<u32>, sends: Vec<(Time, Packet<u32>)>) -> Vec<(Time, u32)> {
    let (mut arrived, mut delivered) = (Vec::new(), Vec::new());
    let mut sends = sends.into_iter().peekable();
    while let Some(now) = [net.deadline(), sends.peek().map(|s| s.0)].into_iter().flatten().min() {
        net.advance(now, &mut arrived);
        delivered.extend(arrived.drain(..).map(|d| (now, d.packet.body)));
        while let Some((_, packet)) = sends.next_if(|s| s.0 == now) {
            net.send(now, packet);
        }
        net.serve(now);
    }
    delivered
}
