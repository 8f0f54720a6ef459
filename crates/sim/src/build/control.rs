//! What shapes, polices and changes traffic: services, shapers, policers, changes of rates.

use cellway_net::{ChannelId, Fabric, PolicerSpec, PortId, ShaperSpec};
use cellway_scenario as file;
use cellway_scenario::{ChangeOf, LinkIndex, NodeIndex, Service};
use cellway_units::{Rate, Time};

use super::{Body, Builder, Leg, convert};

/// A channel's queue at a port.
type Queue = (PortId, ChannelId);

/// A rate that changes during the run.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) at: Time,
    lines: Vec<PortId>,
    queues: Vec<Queue>,
    rate: Rate,
}

impl Change {
    pub(crate) fn apply(&self, now: Time, fabric: &mut Fabric<Body>) {
        for &port in &self.lines {
            fabric.set_line_rate(port, self.rate);
        }
        for &(port, channel) in &self.queues {
            fabric.set_shaper_rate(now, port, channel, self.rate);
        }
    }
}

impl Builder<'_> {
    /// Sets everything up; returns what is to change later.
    pub(super) fn control(&mut self) -> Vec<Change> {
        let scenario = self.scenario;
        let at_sources: Vec<Vec<Queue>> = (0..scenario.traffic.len()).map(|group| self.service(group)).collect();
        let shapers: Vec<Vec<Queue>> = scenario
            .shapers
            .iter()
            .map(|shaper| {
                let queues = self.queues(shaper.at, shaper.link, &shaper.traffic);
                for &(port, channel) in &queues {
                    self.fabric.shape(port, channel, shape(shaper.rate, shaper.sustained));
                }
                queues
            })
            .collect();
        for policer in &scenario.policers {
            for (port, channel) in self.queues(policer.at, policer.link, &policer.traffic) {
                let spec = PolicerSpec {
                    peak: policer.pcr,
                    cdvt: policer.cdvt,
                    sustained: policer.sustained.map(|(rate, mbs)| (rate, policer.cdvt, mbs.0)),
                    action: convert::policer_action(policer.action),
                };
                self.fabric.police(port, channel, spec);
            }
        }
        for &(node, link) in &scenario.observe.queue {
            let port = self.port(node, link);
            self.fabric.watch(port);
        }
        let change = |change: &file::Change| {
            let (lines, queues) = match change.what {
                ChangeOf::Shaper(shaper) => (Vec::new(), shapers[shaper].clone()),
                ChangeOf::Link(link) => (self.ports[link.0].to_vec(), Vec::new()),
                ChangeOf::Pcr(group) => (Vec::new(), at_sources[group].clone()),
            };
            Change { at: Time::ZERO + change.at, lines, queues, rate: change.rate }
        };
        scenario.changes.iter().map(change).collect()
    }

    /// The output port of `node` over `link`.
    fn port(&self, node: NodeIndex, link: LinkIndex) -> PortId {
        let [ab, ba] = self.ports[link.0];
        if self.scenario.links[link.0].a == node { ab } else { ba }
    }

    /// The nodes before and behind a port of the scenario's links.
    fn ends(&self, port: PortId) -> Option<[NodeIndex; 2]> {
        self.scenario.links.iter().zip(&self.ports).find_map(|(link, ports)| match ports {
            [ab, _] if *ab == port => Some([link.a, link.b]),
            [_, ba] if *ba == port => Some([link.b, link.a]),
            _ => None,
        })
    }

    /// The queues of the channels of `groups` at an output port.
    fn queues(&self, node: NodeIndex, link: LinkIndex, groups: &[usize]) -> Vec<Queue> {
        let port = self.port(node, link);
        let mut queues = Vec::new();
        for (conversation, users) in self.users.iter().enumerate() {
            if !users.iter().any(|group| groups.contains(group)) {
                continue;
            }
            for direction in [0, 1] {
                for (channel, ports) in self.fabric.channels(conversation as u32, direction) {
                    if ports.contains(&port) && !queues.contains(&(port, *channel)) {
                        queues.push((port, *channel));
                    }
                }
            }
        }
        queues
    }

    /// Gives the channels of a group its service. Returns the queues that are shaped at their source.
    fn service(&mut self, group: usize) -> Vec<Queue> {
        let traffic = &self.scenario.traffic[group];
        let peak = match &traffic.service {
            Service::Ubr { pcr: None } => None,
            Service::Ubr { pcr: Some(pcr) } | Service::Cbr { pcr } => Some(shape(*pcr, None)),
            Service::Vbr { pcr, scr, mbs, shape: true } => Some(shape(*pcr, Some((*scr, *mbs)))),
            Service::Vbr { shape: false, .. } => None,
            Service::Abr(_) => None,
        };
        let mut shaped = Vec::new();
        for conversation in 0..self.legs.len() {
            if !self.users[conversation].contains(&group) {
                continue;
            }
            let stretches = [0, 1].map(|direction| self.fabric.channels(conversation as u32, direction).to_vec());
            if let Leg::Gateways = self.legs[conversation] {
                // The aggregate rate holds cell by cell, too.
                self.between_gateways(conversation, &stretches);
                continue;
            }
            if let Service::Abr(spec) = &traffic.service {
                self.abr(spec, conversation, &stretches);
            }
            for (channel, ports) in stretches.iter().flatten() {
                if let (Some(spec), Some(&first)) = (peak, ports.first()) {
                    self.fabric.shape(first, *channel, spec);
                    shaped.push((first, *channel));
                }
            }
        }
        shaped
    }

    fn between_gateways(&mut self, conversation: usize, stretches: &[Vec<(ChannelId, Vec<PortId>)>; 2]) {
        let pair = self.pairs.iter().position(|pair| pair.conversation as usize == conversation);
        let nodes = self.paired[pair.expect("every such conversation is that of a pair")];
        for (node, stretch) in nodes.iter().zip(stretches) {
            let Some(spec) = &self.scenario.nodes[node.0].gateway else { continue };
            for (channel, ports) in stretch {
                self.fabric.shape(ports[0], *channel, shape(spec.rate, None));
            }
        }
    }

    /// Runs the control loop of ABR over each stretch of cells, or over the part of it that the
    /// scenario names.
    fn abr(&mut self, spec: &file::AbrSpec, conversation: usize, stretches: &[Vec<(ChannelId, Vec<PortId>)>; 2]) {
        let [there, back] = stretches;
        let loops = there.iter().zip(back.iter().rev());
        for ((forward, forward_ports), (reverse, reverse_ports)) in loops {
            let directions = [(forward, forward_ports, reverse, 0), (reverse, reverse_ports, forward, 1)];
            for (channel, ports, other, direction) in directions {
                let Some((first, last)) = self.ends_of_loop(spec, ports, direction) else { continue };
                let _ = (other, last);
                if direction == 0
                    && let Leg::Slot { slot, .. } = self.legs[conversation]
                {
                    self.slot_meters[slot as usize].paced = Some((first, *channel));
                }
            }
        }
    }

    /// The ports at which a loop begins and ends on a stretch.
    fn ends_of_loop(&self, spec: &file::AbrSpec, ports: &[PortId], direction: usize) -> Option<(PortId, PortId)> {
        let Some(mut between) = spec.between else { return Some((*ports.first()?, *ports.last()?)) };
        if direction == 1 {
            between.reverse();
        }
        let [from, to] = between;
        let first = ports.iter().position(|&port| self.ends(port).is_some_and(|ends| ends[0] == from))?;
        let last = ports.iter().position(|&port| self.ends(port).is_some_and(|ends| ends[1] == to))?;
        (first <= last).then(|| (ports[first], ports[last]))
    }
}

fn shape(peak: Rate, sustained: Option<(Rate, cellway_units::Cells)>) -> ShaperSpec {
    ShaperSpec { peak, sustained: sustained.map(|(rate, mbs)| (rate, mbs.0)) }
}
