//! What shapes, polices and changes traffic: services, shapers, policers, changes of rates.

use cellway_net::{ChannelId, Fabric, PolicerSpec, PortId, ShaperSpec};
use cellway_scenario as file;
use cellway_scenario::{ChangeOf, LinkIndex, NodeIndex, Service};
use cellway_units::{Rate, Time};

use super::attach::queue_unit;
use super::{Body, Builder, Leg, convert};
use crate::error::Error;
use crate::meter::QueueWatch;

/// A channel's queue at a port.
pub(super) type Queue = (PortId, ChannelId);

/// What paces a queue, besides the shapers of the scenario.
#[derive(Clone, Copy, Debug)]
pub(super) enum PacedBy {
    /// The service of a group.
    Service(usize),
    /// A gateway: the rate to its peer.
    Gateway(NodeIndex),
}

/// Which rate of a queue changes.
#[derive(Clone, Copy, Debug)]
enum Rated {
    /// The peak rate of its shaper.
    Shaper,
    /// The peak rate of its ABR source.
    Source,
}

/// A rate that changes during the run.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) at: Time,
    lines: Vec<PortId>,
    queues: Vec<Queue>,
    of_queues: Rated,
    rate: Rate,
}

impl Change {
    pub(crate) fn apply(&self, now: Time, fabric: &mut Fabric<Body>) {
        for &port in &self.lines {
            fabric.set_line_rate(now, port, self.rate);
        }
        for &(port, channel) in &self.queues {
            let there = match self.of_queues {
                Rated::Shaper => fabric.set_shaper_rate(now, port, channel, self.rate),
                Rated::Source => fabric.set_abr_peak(now, port, channel, self.rate),
            };
            debug_assert!(there, "what changes has been set up");
        }
    }
}

impl Builder<'_> {
    /// Sets everything up; returns what is to change later.
    pub(super) fn control(&mut self) -> Result<Vec<Change>, Error> {
        let scenario = self.scenario;
        self.fabric.set_abr_switch(convert::abr_switch(&scenario.abr));
        let at_sources: Result<Vec<Vec<Queue>>, Error> =
            (0..scenario.traffic.len()).map(|group| self.service(group)).collect();
        let at_sources = at_sources?;
        let shapers: Result<Vec<Vec<Queue>>, Error> =
            scenario.shapers.iter().map(|shaper| self.shaper(shaper)).collect();
        let shapers = shapers?;
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
            let spec = &scenario.links[link.0];
            let other = spec.other(node).expect("the port is one of the node's");
            let subject = format!("{}>{}", scenario.nodes[node.0].name, scenario.nodes[other.0].name);
            self.queue_watches.push(QueueWatch::new(subject, port, queue_unit(spec.framing)));
        }
        let change = |change: &file::Change| {
            let (lines, queues, of_queues) = match change.what {
                ChangeOf::Shaper(shaper) => (Vec::new(), shapers[shaper].clone(), Rated::Shaper),
                ChangeOf::Link(link) => (self.ports[link.0].to_vec(), Vec::new(), Rated::Shaper),
                ChangeOf::Pcr(group) => {
                    let abr = matches!(scenario.traffic[group].service, Service::Abr(_));
                    (Vec::new(), at_sources[group].clone(), if abr { Rated::Source } else { Rated::Shaper })
                }
            };
            Change { at: Time::ZERO + change.at, lines, queues, of_queues, rate: change.rate }
        };
        Ok(scenario.changes.iter().map(change).collect())
    }

    /// Puts a shaper of the scenario into its queues, which it returns.
    fn shaper(&mut self, shaper: &file::Shaper) -> Result<Vec<Queue>, Error> {
        let queues = self.queues(shaper.at, shaper.link, &shaper.traffic);
        for queue in &queues {
            if let Some(&by) = self.paced.get(queue) {
                let by = match by {
                    PacedBy::Service(group) => {
                        format!("the service of traffic {:?}", self.scenario.traffic[group].name)
                    }
                    PacedBy::Gateway(node) => format!("gateway {:?}", self.scenario.nodes[node.0].name),
                };
                return Err(Error::PacedTwice { shaper: shaper.name.clone(), by });
            }
            self.fabric.shape(queue.0, queue.1, shape(shaper.rate, shaper.sustained));
        }
        Ok(queues)
    }

    /// Notes that the service of `group` paces a queue; returns whether it is the first to. Groups that share the
    /// channel must have the same service.
    fn paces(&mut self, group: usize, queue: Queue) -> Result<bool, Error> {
        let all = &self.scenario.traffic;
        match self.paced.get(&queue) {
            None => {
                self.paced.insert(queue, PacedBy::Service(group));
                Ok(true)
            }
            Some(&PacedBy::Service(other)) if all[other].service != all[group].service => {
                Err(Error::TwoServices { traffic: [other, group].map(|g| all[g].name.clone()) })
            }
            Some(_) => Ok(false),
        }
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
    fn service(&mut self, group: usize) -> Result<Vec<Queue>, Error> {
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
                shaped.extend(self.abr(spec, group, conversation, &stretches)?);
            }
            for (channel, ports) in stretches.iter().flatten() {
                if let (Some(spec), Some(&first)) = (peak, ports.first()) {
                    if self.paces(group, (first, *channel))? {
                        self.fabric.shape(first, *channel, spec);
                    }
                    shaped.push((first, *channel));
                }
            }
        }
        Ok(shaped)
    }

    fn between_gateways(&mut self, conversation: usize, stretches: &[Vec<(ChannelId, Vec<PortId>)>; 2]) {
        let pair = self.pairs.iter().position(|pair| pair.conversation as usize == conversation);
        let nodes = self.paired[pair.expect("every such conversation is that of a pair")];
        for (&node, stretch) in nodes.iter().zip(stretches) {
            let Some(spec) = &self.scenario.nodes[node.0].gateway else { continue };
            for (channel, ports) in stretch {
                self.fabric.shape(ports[0], *channel, shape(spec.rate, None));
                self.paced.insert((ports[0], *channel), PacedBy::Gateway(node));
            }
        }
    }

    /// Runs the control loop of ABR over each stretch of cells, or over the part of it that the
    /// scenario names. Returns the queues at which the loops begin.
    fn abr(
        &mut self,
        spec: &file::AbrSpec,
        group: usize,
        conversation: usize,
        stretches: &[Vec<(ChannelId, Vec<PortId>)>; 2],
    ) -> Result<Vec<Queue>, Error> {
        let mut begins = Vec::new();
        let [there, back] = stretches;
        let loops = there.iter().zip(back.iter().rev());
        for ((forward, forward_ports), (reverse, reverse_ports)) in loops {
            let directions = [(forward, forward_ports, reverse, 0), (reverse, reverse_ports, forward, 1)];
            for (channel, ports, other, direction) in directions {
                let Some((first, last)) = self.ends_of_loop(spec, ports, direction) else { continue };
                // Conversations that share the channel share its loop.
                if self.paces(group, (first, *channel))? {
                    self.fabric.abr(first, *channel, *other, last, convert::abr(spec))?;
                }
                begins.push((first, *channel));
                if direction == 0
                    && let Leg::Slot { slot, .. } = self.legs[conversation]
                {
                    self.slot_meters[slot as usize].paced = Some((first, *channel));
                }
            }
        }
        Ok(begins)
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
