//! Shapers, policers and changes of the traffic of conversations, set at their channels as they open.

use std::collections::{BTreeMap, BTreeSet};

use cellway_net::{ChannelId, PolicerSpec, PortId, ShaperSpec};
use cellway_scenario as file;
use cellway_scenario::{ChangeOf, Framing, LinkIndex, NodeIndex, Scenario, Service};
use cellway_units::{Cells, Rate, Time};

use crate::bed::{Testbed, Users};
use crate::error::Error;
use crate::link_change::LinkChange;

/// A channel's queue at a port.
pub(crate) type Queue = (PortId, ChannelId);

/// The ATM segments of the path of a conversation, in the two directions: the channel of each and its ports.
type AtmSegments = [Vec<(ChannelId, Vec<PortId>)>; 2];

/// The pacer of a queue, besides the shapers of the scenario.
#[derive(Clone, Copy, Debug)]
enum PacedBy {
    /// The service of a group.
    Service(usize),
    /// A gateway: the rate to its peer.
    Gateway(NodeIndex),
}

/// The settings of a queue. They remain until the channel is closed.
#[derive(Clone, Debug, Default)]
struct Set {
    paced: Option<PacedBy>,
    /// Conversations whose service paces the queue, by their groups.
    groups: BTreeMap<usize, u32>,
    /// Shapers and policers that the scenario has for the queue. The last of each is there.
    shapers: BTreeSet<usize>,
    policers: BTreeSet<usize>,
}

/// The settings of all queues, and the rates that have changed.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    queues: BTreeMap<Queue, Set>,
    /// Rates that the run has changed: of shapers, and of the services of groups.
    shaper_rates: Vec<Option<Rate>>,
    peaks: Vec<Option<Rate>>,
}

impl Control {
    pub(crate) fn new(scenario: &Scenario) -> Control {
        Control {
            queues: BTreeMap::new(),
            shaper_rates: vec![None; scenario.shapers.len()],
            peaks: vec![None; scenario.traffic.len()],
        }
    }

    /// Removes a conversation of `group` from those whose service paces a queue.
    pub(crate) fn leave(&mut self, group: usize, queue: Queue) {
        let Some(set) = self.queues.get_mut(&queue) else { return };
        if let Some(users) = set.groups.get_mut(&group) {
            *users -= 1;
            if *users == 0 {
                set.groups.remove(&group);
            }
        }
    }

    /// Removes the queue of a closed channel.
    pub(crate) fn forget(&mut self, queue: Queue) {
        self.queues.remove(&queue);
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.queues.len()
    }
}

impl<B: Clone> Testbed<B> {
    /// Applies the settings of the scenario to the channels of a conversation that has just been opened.
    pub(crate) fn set_up(&mut self, now: Time, conversation: u32, users: Users<'_>) -> Result<(), Error> {
        let segments = [0, 1].map(|direction| self.fabric.channels(conversation, direction));
        match users.pair {
            Some(pair) => self.between_gateways(pair, &segments),
            None => {
                for &group in users.groups {
                    self.service(now, group, conversation, &segments)?;
                }
            }
        }
        self.shapers(now, users.groups, &segments)?;
        self.policers(users.groups, &segments);
        Ok(())
    }

    /// Applies change `index` of the scenario: to the open channels, and to those that are opened later.
    pub fn change(&mut self, now: Time, index: usize) {
        let scenario = self.scenario.clone();
        let change = &scenario.changes[index];
        let rate = change.rate;
        match change.what {
            // Packet lines have schedules with all their changes.
            ChangeOf::Link(link, _) if scenario.links[link.0].framing != Framing::Atm => {}
            ChangeOf::Link(link, direction) => self.change_link(now, link, direction, LinkChange::Rate(rate)),
            ChangeOf::Shaper(shaper) => {
                self.control.shaper_rates[shaper] = Some(rate);
                let shaped = self.control.queues.iter().filter(|(_, set)| set.shapers.contains(&shaper));
                for (&(port, channel), _) in shaped {
                    self.fabric.set_shaper_rate(now, port, channel, rate);
                }
            }
            ChangeOf::Pcr(group) => {
                self.control.peaks[group] = Some(rate);
                let paced = self.control.queues.iter().filter(|(_, set)| set.groups.contains_key(&group));
                let queues: Vec<Queue> = paced.map(|(&queue, _)| queue).collect();
                queues.into_iter().for_each(|queue| self.set_peak(now, group, queue, rate));
            }
        }
    }

    /// Changes the peak rate of the service of `group` at a queue.
    fn set_peak(&mut self, now: Time, group: usize, (port, channel): Queue, peak: Rate) {
        let there = match self.scenario.traffic[group].service {
            Service::Abr(_) => self.fabric.set_abr_peak(now, port, channel, peak),
            _ => self.fabric.set_shaper_rate(now, port, channel, peak),
        };
        debug_assert!(there, "a queue whose rate changes has a pacer");
    }

    /// Puts the shapers of the scenario into the queues of the channels that they are for. Of several at one queue
    /// the last in the file stays.
    fn shapers(&mut self, now: Time, users: &[usize], segments: &AtmSegments) -> Result<(), Error> {
        let scenario = self.scenario.clone();
        for (index, shaper) in scenario.shapers.iter().enumerate() {
            for queue in self.queues(shaper.at, shaper.link, &shaper.traffic, users, segments) {
                let set = self.control.queues.entry(queue).or_default();
                if let Some(by) = set.paced {
                    return Err(self.paced_twice(index, by));
                }
                let is_last = set.shapers.last().is_none_or(|&last| last < index);
                set.shapers.insert(index);
                if is_last {
                    self.fabric.shape(queue.0, queue.1, shape(shaper.rate, shaper.sustained));
                    if let Some(rate) = self.control.shaper_rates[index] {
                        self.fabric.set_shaper_rate(now, queue.0, queue.1, rate);
                    }
                }
            }
        }
        Ok(())
    }

    fn paced_twice(&self, shaper: usize, by: PacedBy) -> Error {
        let by = match by {
            PacedBy::Service(group) => format!("the service of traffic {:?}", self.scenario.traffic[group].name),
            PacedBy::Gateway(node) => format!("gateway {:?}", self.scenario.nodes[node.0].name),
        };
        Error::PacedTwice { shaper: self.scenario.shapers[shaper].name.clone(), by }
    }

    /// Puts the policers of the scenario before the queues of the channels that they are for. Of several at one
    /// queue the last in the file stays.
    fn policers(&mut self, users: &[usize], segments: &AtmSegments) {
        let scenario = self.scenario.clone();
        for (index, policer) in scenario.policers.iter().enumerate() {
            for queue in self.queues(policer.at, policer.link, &policer.traffic, users, segments) {
                let set = self.control.queues.entry(queue).or_default();
                let is_last = set.policers.last().is_none_or(|&last| last < index);
                set.policers.insert(index);
                if is_last {
                    let spec = PolicerSpec {
                        peak: policer.pcr,
                        cdvt: policer.cdvt,
                        sustained: policer.sustained.map(|(rate, mbs)| (rate, policer.cdvt, mbs.0)),
                        action: policer.action,
                    };
                    self.fabric.police(queue.0, queue.1, spec);
                }
            }
        }
    }

    /// Returns the queues of a conversation's channels at an output port, if it is one of `groups`.
    fn queues(
        &self,
        node: NodeIndex,
        link: LinkIndex,
        groups: &[usize],
        users: &[usize],
        segments: &AtmSegments,
    ) -> Vec<Queue> {
        if !users.iter().any(|group| groups.contains(group)) {
            return Vec::new();
        }
        let [ab, ba] = self.ports[link.0];
        let port = if self.scenario.links[link.0].a == node { ab } else { ba };
        let crossing = segments.iter().flatten().filter(|(_, ports)| ports.contains(&port));
        crossing.map(|(channel, _)| (port, *channel)).collect()
    }

    /// Gives the channels of a conversation the service of its group.
    fn service(&mut self, now: Time, group: usize, conversation: u32, segments: &AtmSegments) -> Result<(), Error> {
        let scenario = self.scenario.clone();
        let peak = match &scenario.traffic[group].service {
            Service::Ubr { pcr: None } => None,
            Service::Ubr { pcr: Some(pcr) } | Service::Cbr { pcr } => Some(shape(*pcr, None)),
            Service::Vbr { pcr, scr, mbs, shape: true } => Some(shape(*pcr, Some((*scr, *mbs)))),
            Service::Vbr { shape: false, .. } => None,
            Service::Abr(spec) => return self.abr(now, spec, group, conversation, segments),
        };
        for (channel, ports) in segments.iter().flatten() {
            if let (Some(spec), Some(&first)) = (peak, ports.first()) {
                let queue = (first, *channel);
                if self.paces(group, conversation, queue)? {
                    self.fabric.shape(first, *channel, spec);
                    if let Some(peak) = self.control.peaks[group] {
                        self.set_peak(now, group, queue, peak);
                    }
                }
            }
        }
        Ok(())
    }

    /// Records that the service of `group` paces a queue for a conversation; returns true if it is the first to. Groups
    /// that share the channel must have the same service.
    fn paces(&mut self, group: usize, conversation: u32, queue: Queue) -> Result<bool, Error> {
        let all = &self.scenario.traffic;
        let set = self.control.queues.entry(queue).or_default();
        if let Some(PacedBy::Service(other)) = set.paced
            && !all[other].service.is_same(&all[group].service)
        {
            return Err(Error::TwoServices { traffic: [other, group].map(|g| all[g].name.clone()) });
        }
        // A conversation of another group may have come first, and brought a shaper.
        if let (None, Some(&shaper)) = (set.paced, set.shapers.first()) {
            return Err(self.paced_twice(shaper, PacedBy::Service(group)));
        }
        let first = set.paced.is_none();
        set.paced.get_or_insert(PacedBy::Service(group));
        *set.groups.entry(group).or_default() += 1;
        if let Some(opened) = &mut self.opened[conversation as usize] {
            opened.paced.push((group, queue));
        }
        Ok(first)
    }

    /// The aggregate rate between gateways also limits single cells.
    fn between_gateways(&mut self, pair: usize, segments: &AtmSegments) {
        let scenario = self.scenario.clone();
        for (node, segment) in self.pairs[pair].nodes.into_iter().zip(segments) {
            let Some(spec) = &scenario.nodes[node.0].gateway else { continue };
            for (channel, ports) in segment {
                let set = self.control.queues.entry((ports[0], *channel)).or_default();
                if set.paced.replace(PacedBy::Gateway(node)).is_none() {
                    self.fabric.shape(ports[0], *channel, shape(spec.rate, None));
                }
            }
        }
    }

    /// Runs the control loop of ABR over each ATM segment, or over the part of it that the scenario names.
    fn abr(
        &mut self,
        now: Time,
        spec: &file::AbrSpec,
        group: usize,
        conversation: u32,
        [there, back]: &AtmSegments,
    ) -> Result<(), Error> {
        for ((forward, forward_ports), (reverse, reverse_ports)) in there.iter().zip(back.iter().rev()) {
            let directions = [(forward, forward_ports, reverse, 0), (reverse, reverse_ports, forward, 1)];
            for (channel, ports, other, direction) in directions {
                let Some((first, last)) = self.ends_of_loop(spec, ports, direction) else { continue };
                let queue = (first, *channel);
                // Conversations that share the channel share its loop.
                if self.paces(group, conversation, queue)? {
                    self.fabric.abr(first, *channel, *other, last, spec.parameters)?;
                    if let Some(peak) = self.control.peaks[group] {
                        self.set_peak(now, group, queue, peak);
                    }
                }
                if direction == 0 {
                    self.meter_rate(conversation, queue);
                }
            }
        }
        Ok(())
    }

    /// Returns the ports at which a loop begins and ends on an ATM segment.
    fn ends_of_loop(&self, spec: &file::AbrSpec, ports: &[PortId], direction: usize) -> Option<(PortId, PortId)> {
        let Some(mut between) = spec.between else { return Some((*ports.first()?, *ports.last()?)) };
        if direction == 1 {
            between.reverse();
        }
        let [from, to] = between;
        let first = ports.iter().position(|&port| self.ends_of_link(port).is_some_and(|ends| ends[0] == from))?;
        let last = ports.iter().position(|&port| self.ends_of_link(port).is_some_and(|ends| ends[1] == to))?;
        (first <= last).then(|| (ports[first], ports[last]))
    }

    /// Returns the nodes before and after a port of the scenario's links.
    fn ends_of_link(&self, port: PortId) -> Option<[NodeIndex; 2]> {
        self.scenario.links.iter().zip(&self.ports).find_map(|(link, ports)| match ports {
            [ab, _] if *ab == port => Some([link.a, link.b]),
            [_, ba] if *ba == port => Some([link.b, link.a]),
            _ => None,
        })
    }
}

fn shape(peak: Rate, sustained: Option<(Rate, Cells)>) -> ShaperSpec {
    ShaperSpec { peak, sustained: sustained.map(|(rate, mbs)| (rate, mbs.0)) }
}
