//! The plan of one case: the two gateways, the line between them, its faults, and the hosts.
//!
//! A case is generated from its seed. Each part has its own random numbers, so that the others do not change without
//! it: a case that fails is reduced by leaving out parts as long as it still fails.

use std::num::NonZeroU16;

use cellway_gateway::{Class, Classes, GatewayConfig, Reason, Transport, Window, Wire};
use cellway_units::{Bytes, Rate, Span};

/// SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
    /// Returns a number up to `most`, mostly a small one.
    pub(crate) fn amount(&mut self, most: u64) -> u64 {
        let bits = self.below(64 - u64::from(most.leading_zeros()) + 1);
        self.below(1 << bits).min(most)
    }
    fn ms(&mut self, most: u64) -> Span {
        Span::from_ms(self.amount(most))
    }
}

/// The plan of one host of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostPlan {
    /// Bytes that it sends in all, and at most between two ticks.
    pub(crate) bytes: u64,
    pub(crate) sends: u64,
    /// Bytes that it reads between two ticks, and the time after connecting in which it reads nothing.
    pub(crate) reads: u64,
    pub(crate) rests: Span,
    /// Bytes that its socket holds in each direction.
    pub(crate) buffer: u64,
    /// The time after connecting at which it resets the connection, if it does.
    pub(crate) resets: Option<Span>,
    /// Set if it ends its direction only after the other host has.
    pub(crate) waits: bool,
}

/// The answer to a request to connect, and the time that it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    Accept(Span),
    Refuse(Span, Reason),
    Never,
}

/// One connection: the side that opens it, the time, and the plans of its hosts (the client first).
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowPlan {
    pub(crate) opener: usize,
    pub(crate) start: Span,
    pub(crate) early: bool,
    /// Set if the server sees the address of the client, which may then take another path.
    pub(crate) named: bool,
    pub(crate) answer: Answer,
    /// The time after which the client gives up without an answer.
    pub(crate) patience: Option<Span>,
    pub(crate) hosts: [HostPlan; 2],
}

/// A fault of the line or of a transport.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// Packets are lost for a time: those to both sides, or to one.
    Outage { from: Span, lasts: Span, at: Option<usize> },
    /// The connection between the gateways ends. Each side notices that after a time of its own; then a new connection
    /// begins.
    Kill { at: Span, noticed: [Span; 2] },
    /// The transport of one side accepts no packets for a time.
    Full { from: Span, lasts: Span, side: usize },
    /// Another program takes over one side from a snapshot, and both sides replace the transport after a time: packets
    /// in flight are lost.
    Upgrade { at: Span, side: usize, lasts: Span },
    /// The size of the largest packet changes.
    Payload { at: Span, side: usize, octets: usize },
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct LinePlan {
    pub(crate) delay: Span,
    pub(crate) jitter: Span,
    pub(crate) loss_per_mille: u64,
    pub(crate) duplicate_per_mille: u64,
}

/// The ports of servers.
pub(crate) const PORTS: std::ops::Range<u16> = 80..84;

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) seed: u64,
    pub(crate) configs: [GatewayConfig; 2],
    pub(crate) classes: [Classes; 2],
    pub(crate) line: LinePlan,
    pub(crate) faults: Vec<Fault>,
    pub(crate) flows: Vec<FlowPlan>,
}

impl Case {
    pub(crate) fn new(seed: u64) -> Case {
        let part = |n: u64| Random(seed.wrapping_mul(0x0100_0000_01b3).wrapping_add(n));
        let mut random = part(1);
        let reliable = random.one_in(4);
        let (delay, kind) = (Span::from_ms(1 + random.amount(300)), random.clone());
        let line = LinePlan {
            delay,
            jitter: if reliable || random.one_in(2) { Span::ZERO } else { random.ms(100) },
            loss_per_mille: if reliable || random.one_in(2) { 0 } else { random.amount(300) },
            duplicate_per_mille: if reliable { 0 } else { random.amount(100) },
        };
        let configs = [2, 3].map(|n| config(&mut part(n), &mut kind.clone(), reliable));
        let classes = [0, 1].map(|n| classes(&mut part(6 + n as u64), configs[n].rate));
        let mut random = part(4);
        let faults = (0..random.amount(4)).map(|_| fault(&mut random, reliable)).collect();
        // A few connections, or many at once: their `Open` frames fill packets.
        let mut random = part(5);
        let crowd = random.one_in(6).then(|| 20 + random.amount(60));
        let flows =
            (0..crowd.unwrap_or(1 + random.amount(24))).map(|n| flow(&mut part(100 + n), crowd.is_some())).collect();
        Case { seed, configs, classes, line, faults, flows }
    }
    pub(crate) fn kills(&self) -> bool {
        self.faults.iter().any(|fault| matches!(fault, Fault::Kill { .. }))
    }
    /// Returns cases with one part less, or with a smaller one, the largest parts first.
    pub(crate) fn smaller(&self) -> Vec<Case> {
        let mut all = Vec::new();
        let half = self.flows.len() / 2;
        for (from, to) in [(0, half), (half, self.flows.len())] {
            if half > 0 {
                let mut case = self.clone();
                case.flows.drain(from..to);
                all.push(case);
            }
        }
        for n in 0..self.faults.len() {
            let mut case = self.clone();
            case.faults.remove(n);
            all.push(case);
        }
        for n in 0..self.flows.len() {
            let mut case = self.clone();
            case.flows.remove(n);
            all.push(case);
            for which in 0..2 {
                if self.flows[n].hosts[which].bytes > 0 {
                    let mut case = self.clone();
                    case.flows[n].hosts[which].bytes /= 2;
                    all.push(case);
                }
            }
        }
        let LinePlan { jitter, loss_per_mille, duplicate_per_mille, .. } = self.line;
        if (jitter, loss_per_mille, duplicate_per_mille) != (Span::ZERO, 0, 0) {
            let line =
                LinePlan { delay: self.line.delay, jitter: Span::ZERO, loss_per_mille: 0, duplicate_per_mille: 0 };
            all.push(Case { line, ..self.clone() });
        }
        all
    }
}

fn config(random: &mut Random, both: &mut Random, reliable: bool) -> GatewayConfig {
    let payload = 314 + random.amount(4_000);
    // The same for both: a gateway sends as many early bytes as the other one has room for.
    let early = 314 + both.amount(3_000);
    let floor = (payload * (1 + random.amount(8))).max(early);
    let most = Bytes(floor * (1 + random.amount(30)));
    let transport = if reliable { Transport::Tls { v6: false } } else { Transport::Quic { v6: false } };
    // Memory for a few connections, or for all of them.
    let rooms = if random.one_in(3) { 2 + random.amount(8) } else { 64 };
    GatewayConfig {
        window: if random.one_in(2) { Window::Fixed(most) } else { Window::Line { most } },
        floor: Bytes(floor),
        ahead: if random.one_in(2) { Bytes(u64::MAX) } else { Bytes(random.amount(40_000)) },
        auto: !reliable && random.one_in(3),
        slack: random.ms(5),
        wire: Wire::Packet,
        transport,
        reliable,
        payload: Bytes(payload),
        mtu: Bytes(payload + u64::from(transport.overhead()) + 21),
        tells_rate: random.one_in(2),
        times_acks: random.one_in(2),
        total_buffer: Bytes((2 * floor + 500) * 2 * rooms),
        cost: Bytes(500),
        confirmed_writes: random.one_in(2),
        waiting: random.amount(20) as u32,
        early: Bytes(early),
        credit_every: 1 + random.amount(32) as u32,
        turn: 1 + random.amount(16) as u32,
        ack_every: 1 + random.amount(8) as u32,
        patience: random.one_in(2).then(|| Span::from_ms(300 + random.amount(3_000))),
        opening: Span::from_secs(1 + random.amount(20)),
        bypass: random.one_in(3),
        ..GatewayConfig::new(Rate::from_bps(200_000 + random.amount(100_000_000)))
    }
}
/// The ports of [`PORTS`] in classes, or no classes.
fn classes(random: &mut Random, rate: Rate) -> Classes {
    let mut class = |port: u16| Class {
        ports: vec![port..=port],
        share: NonZeroU16::MIN.saturating_add(random.below(20) as u16),
        ceiling: random.one_in(4).then(|| Rate::from_bps(rate.as_bps() / (1 + random.amount(4)))),
        ..Class::new(&port.to_string())
    };
    let classes: Vec<Class> = PORTS.skip(1).map(&mut class).collect();
    if random.one_in(2) { Classes::default() } else { Classes::new(classes).unwrap() }
}
fn fault(random: &mut Random, reliable: bool) -> Fault {
    let (from, side) = (random.ms(20_000), random.below(2) as usize);
    match random.below(6) {
        0 | 1 => Fault::Kill { at: from, noticed: [random.ms(5_000), random.ms(5_000)] },
        // A reliable transport loses nothing: during an outage it is only full.
        2 if !reliable => Fault::Outage { from, lasts: random.ms(8_000), at: random.one_in(2).then_some(side) },
        3 => Fault::Payload { at: from, side, octets: 314 + random.amount(4_000) as usize },
        4 => Fault::Upgrade { at: from, side, lasts: random.ms(2_000) },
        _ => Fault::Full { from, lasts: random.ms(4_000), side },
    }
}
fn flow(random: &mut Random, at_once: bool) -> FlowPlan {
    let takes = random.ms(3_000);
    let answer = match random.below(12) {
        0 => Answer::Refuse(
            takes,
            [Reason::Refused, Reason::HostUnreachable, Reason::NotAllowed][random.below(3) as usize],
        ),
        1 => Answer::Never,
        _ => Answer::Accept(takes),
    };
    let patience = random.one_in(6).then(|| random.ms(4_000));
    let mut hosts = [host(random), host(random)];
    // The slowest host takes about 4 s.
    let least = hosts[0].bytes.max(hosts[1].bytes) / 200 + 1;
    for HostPlan { sends, reads, buffer, .. } in &mut hosts {
        (*sends, *reads, *buffer) = ((*sends).max(least), (*reads).max(least), (*buffer).max(least));
    }
    // At least one of them ends without waiting for the other.
    hosts[random.below(2) as usize].waits = false;
    FlowPlan {
        opener: random.below(2) as usize,
        start: random.ms(if at_once { 40 } else { 15_000 }),
        early: random.one_in(3),
        named: random.one_in(2),
        answer,
        patience,
        hosts,
    }
}
fn host(random: &mut Random) -> HostPlan {
    let buffer = 1 + random.amount(100_000);
    HostPlan {
        bytes: random.amount(200_000),
        sends: 1 + random.amount(buffer),
        reads: 1 + random.amount(buffer),
        rests: if random.one_in(4) { random.ms(8_000) } else { Span::ZERO },
        buffer,
        resets: random.one_in(6).then(|| random.ms(10_000)),
        waits: random.one_in(2),
    }
}
