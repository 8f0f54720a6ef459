//! The links that packets of a group pass, and the time they take.

use cellway_scenario as model;
use cellway_scenario::{Attachment, BufferPer, Charge, Multiplexing, NodeIndex, Scenario, Service};
use cellway_units::{Bytes, CELL_BITS, Rate, Span};

use crate::framing::LineFraming;
use crate::leg::Stage;
use crate::loss::any_lost;
use crate::prediction::Limit;

/// A link in one direction.
#[derive(Clone, Debug)]
pub(super) struct Hop {
    /// The node at its end; `None` for an implicit host.
    pub(super) to: Option<NodeIndex>,
    /// The propagation delay in the direction of the data, and in the other one.
    pub(super) delay: Span,
    pub(super) delay_back: Span,
    pub(super) framing: LineFraming,
    /// The probability that a cell, or a packet without cells, is lost on it.
    loss: f64,
    name: String,
    rate: Rate,
    /// The rate in the other direction.
    back: Rate,
    /// The buffer before it, and its unit; hosts queue without limit.
    buffer: Option<(Bytes, Charge)>,
    /// The difference of the discipline of its queue from first in, first out.
    pub(super) unlike_fifo: Option<cellway_spec::UnlikeFifo>,
    /// The spacing of cells before it: the source's contract, or a shaper.
    spacing: Vec<(String, Rate)>,
    /// True if all connections of the group share it, and its channels.
    shared: bool,
    channel_shared: bool,
}

/// Returns all links from the source to the destination of the data, access links included.
pub(super) fn hops(scenario: &Scenario, index: usize, back: bool) -> Vec<Hop> {
    let traffic = &scenario.traffic[index];
    let channel_shared = scenario.multiplexing.channel != Multiplexing::PerConversation;
    let framing = |framing| LineFraming::of(framing, scenario.multiplexing.encapsulation);
    let size = |buffer: &model::Buffer| {
        let times = if buffer.per == BufferPer::Conversation { u64::from(traffic.count.max(1)) } else { 1 };
        (Bytes(buffer.size.bits().0 / 8 * times), buffer.count)
    };
    let unlike_fifo = |buffer: &model::Buffer, framing| {
        buffer.queue.parameters().unlike_fifo().filter(|_| framing != model::Framing::Atm)
    };
    let access = |to: Option<NodeIndex>| {
        let access = traffic.access.expect("an implicit host has an access link");
        Hop {
            to,
            delay: access.delay,
            delay_back: access.delay,
            framing: framing(access.framing),
            loss: access.loss.as_f64(),
            name: "access".to_owned(),
            rate: access.rate,
            back: access.rate,
            buffer: to.is_none().then(|| size(&scenario.buffer)),
            unlike_fifo: unlike_fifo(&scenario.buffer, access.framing).filter(|_| to.is_none()),
            spacing: Vec::new(),
            shared: false,
            channel_shared,
        }
    };
    let (from, to) = if back { (traffic.to, traffic.from) } else { (traffic.from, traffic.to) };
    let mut links = traffic.route.clone();
    if back {
        links.reverse();
    }
    let nodes = scenario.visited(from.node(), &links);
    let mut hops = Vec::new();
    if let Attachment::Router(node) = from {
        hops.push(access(Some(node)));
    }
    for (i, &place) in links.iter().enumerate() {
        let link = &scenario.links[place.0];
        let at = nodes[i];
        let direction = usize::from(link.a != at);
        let is_host = matches!(from, Attachment::Host(host) if host == at);
        let shapers = scenario.shapers.iter().enumerate();
        let shapers = shapers.filter(|(_, s)| s.at == at && s.link == place && s.traffic.contains(&index));
        let peak = |shaper| scenario.shaper_rate_at_start(shaper);
        hops.push(Hop {
            to: Some(nodes[i + 1]),
            delay: link.delay_of(direction),
            delay_back: link.delay_of(1 - direction),
            framing: framing(link.framing),
            loss: link.loss_of(direction).as_f64(),
            name: link.name.clone(),
            rate: scenario.link_rate_at_start(place, at),
            back: scenario.link_rate_at_start(place, nodes[i + 1]),
            buffer: (!is_host).then(|| size(&link.buffer)),
            unlike_fifo: unlike_fifo(&link.buffer, link.framing).filter(|_| !is_host),
            spacing: shapers
                .map(|(k, s)| (s.name.clone(), s.sustained.map_or(peak(k), |(scr, _)| scr.min(peak(k)))))
                .collect(),
            shared: true,
            channel_shared,
        });
    }
    if let Attachment::Router(_) = to {
        hops.push(access(None));
    }
    // The contract applies where the packets of the group are segmented.
    let pace = match &traffic.service {
        Service::Ubr { .. } | Service::Cbr { .. } | Service::Abr(_) => scenario.pcr_at_start(index),
        Service::Vbr { scr, shape, .. } => shape.then_some(*scr),
    };
    if let (Some(rate), Some(first)) = (pace, hops.iter_mut().find(|h| h.framing.cells(Bytes(0)).is_some())) {
        first.spacing.insert(0, ("contract".to_owned(), rate));
    }
    hops
}

/// A packet of one size on the hops of a loop.
pub(super) struct Packet {
    /// With IP headers.
    pub(super) octets: Bytes,
    cells: Option<u64>,
}

impl Packet {
    pub(super) fn new(hops: &[Hop], octets: Bytes) -> Packet {
        Packet { octets, cells: hops.iter().find_map(|h| h.framing.cells(octets)) }
    }
    /// Returns the amount of a buffer that it fills: cells if any link carries cells, else bytes.
    pub(super) fn units(&self) -> f64 {
        self.cells.unwrap_or(self.octets.0) as f64
    }
    pub(super) fn unit(&self) -> &'static str {
        if self.cells.is_some() { "cell" } else { "B" }
    }

    /// Returns the probability that it is lost on a link, whole or one of its cells.
    pub(super) fn loss(&self, hops: &[Hop]) -> f64 {
        any_lost(hops.iter().map(|hop| (hop.loss, hop.framing.cells(self.octets).unwrap_or(1) as f64)))
    }

    fn on(&self, hop: &Hop, rate: Rate) -> f64 {
        hop.framing.octets(self.octets).bits().0 as f64 / rate.as_bps() as f64
    }

    /// Returns the time from its first bit on the first line to its last at the end of the last, without propagation,
    /// in s; at the rates of the other direction if it goes `back`. An ATM segment of the path forwards cells one by one:
    /// the last cell follows the first at the slowest spacing of the path. Packet links forward whole packets.
    pub(super) fn transit(&self, hops: &[Hop], back: bool) -> f64 {
        let mut total = 0.0;
        let mut slowest: f64 = 0.0;
        for (i, hop) in hops.iter().enumerate() {
            let rate = if back { hop.back } else { hop.rate };
            let Some(cells) = hop.framing.cells(self.octets) else {
                total += self.on(hop, rate);
                continue;
            };
            let bits = CELL_BITS.0 as f64;
            let cell = bits / rate.as_bps() as f64;
            total += cell;
            let spaced = hop.spacing.iter().map(|(_, rate)| bits / rate.as_bps() as f64);
            slowest = spaced.fold(slowest.max(cell), f64::max);
            if hops.get(i + 1).is_none_or(|next| next.framing.cells(self.octets).is_none()) {
                total += slowest * (cells - 1) as f64;
                slowest = 0.0;
            }
        }
        total
    }

    /// Returns the stages that the packet passes, spacers before their lines.
    pub(super) fn stages(&self, hops: &[Hop]) -> Vec<Stage> {
        let mut stages = Vec::new();
        for hop in hops {
            let equation = match hop.framing {
                LineFraming::Packet => "packet-goodput",
                LineFraming::Ethernet => "ethernet-goodput",
                LineFraming::Fddi => "fddi-goodput",
                LineFraming::Aal5VcMux | LineFraming::Aal5LlcSnap => "aal5-goodput",
                LineFraming::BareCells => "bare-cells-goodput",
            };
            let buffer = hop.buffer.map(|(size, count)| match (hop.framing.cells(self.octets), count) {
                // Full cells, with their headers and padding.
                (Some(_), Charge::Cell) => (size.bits().0 / CELL_BITS.0) as f64,
                // Octets of IP packets: always so on packet lines.
                _ => size.0 as f64 / self.octets.0 as f64 * self.units(),
            });
            for (name, rate) in &hop.spacing {
                let seconds = hop.framing.octets(self.octets).bits().0 as f64 / rate.as_bps() as f64;
                // Cells that the source itself paces wait in the host, without limit.
                let buffer = buffer.filter(|_| name != "contract");
                let (at, rate, shared) = (name.clone(), rate.as_bps() as f64, hop.channel_shared);
                stages.push(Stage { limit: Limit::Shaping, at, seconds, rate, equation, shared, buffer });
            }
            stages.push(Stage {
                limit: Limit::Line,
                at: hop.name.clone(),
                seconds: self.on(hop, hop.rate),
                rate: hop.rate.as_bps() as f64,
                equation,
                shared: hop.shared,
                buffer,
            });
        }
        stages
    }
}
