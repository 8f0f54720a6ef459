//! The network of a scenario while it runs: conversations open and close, rates change.

use std::collections::BTreeMap;
use std::sync::Arc;

use cellway_apps::random::Streams;
use cellway_net::{ChannelId, Class, ConversationSpec, Fabric, NodeId, PortId, Transit};
use cellway_record::Rows;
use cellway_scenario::Scenario;
use cellway_units::Time;

use crate::attach::{End, Host};
use crate::control::{Control, Queue};
use crate::convert;
use crate::error::Error;
use crate::meter::Meter;
use crate::plan::{ConversationPlan, GATEWAY_CHANNEL, Leg, PairPlan, SlotPlan};
use crate::segment::PathSegment;

/// The network of a scenario, with the meter of a run. `B` is the content of packets: see [`cellway_net::Packet`].
#[derive(Debug)]
pub struct Testbed<B> {
    /// The network. The testbed opens and closes its conversations, not the network itself.
    pub fabric: Fabric<B>,
    /// The meter of the run.
    pub meter: Meter,
    pub(crate) scenario: Arc<Scenario>,
    /// The random streams of the run, for links that have had no losses.
    pub(crate) streams: Streams,
    /// The named nodes of the file.
    pub(crate) names: BTreeMap<String, NodeId>,
    /// The ports of each link, in the directions a to b and b to a.
    pub(crate) ports: Vec<[PortId; 2]>,
    /// All hosts, as ends of paths.
    pub(crate) ends: Vec<End>,
    /// The inner sides of gateways, as ends of paths.
    pub(crate) gateways: Vec<End>,
    /// The node of the links of each node of the scenario.
    pub(crate) routers: Vec<NodeId>,
    pub(crate) slots: Vec<Arc<SlotPlan>>,
    /// The planned conversations, by number, until they are opened; and their contents.
    pub(crate) planned: Vec<ConversationPlan>,
    pub(crate) legs: Arc<[Leg]>,
    /// The conversation of each pair of gateways.
    pub(crate) between: Vec<ConversationPlan>,
    pub(crate) pairs: Vec<PairPlan>,
    pub(crate) control: Control,
    /// The conversations of the network, by number.
    pub(crate) opened: Vec<Option<Opened>>,
    /// Numbers that are free.
    pub(crate) free: Vec<u32>,
}

/// A conversation of the network.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    carried: Carried,
    /// The queues that its service paces, with the group of the service.
    pub(crate) paced: Vec<(usize, Queue)>,
}

impl Opened {
    /// Returns the slots whose packets it carries.
    fn slots(&self) -> &[usize] {
        match &self.carried {
            Carried::Slot(slot) => std::slice::from_ref(slot),
            Carried::Slots(slots) => slots,
        }
    }
}

/// The slots whose packets a conversation carries. Most have one, which takes no memory of its own.
#[derive(Clone, Debug)]
enum Carried {
    Slot(usize),
    Slots(Box<[usize]>),
}

/// Those on whose behalf a conversation is opened: traffic groups, with the pair of gateways that it is between.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Users<'a> {
    pub(crate) groups: &'a [usize],
    pub(crate) pair: Option<usize>,
}

impl<B: Clone> Testbed<B> {
    /// Opens the conversations of the scenario's own traffic, with the numbers of the plans of slots and gateways. No
    /// other conversation may have been opened before.
    pub fn open_planned(&mut self) -> Result<(), Error> {
        let plans = std::mem::take(&mut self.planned);
        self.opened.reserve_exact(plans.len());
        for (conversation, plan) in (0..).zip(plans) {
            let (carried, pair) = match plan.leg {
                Leg::Slot { slot, .. } => (Carried::Slot(slot as usize), None),
                Leg::Gateways { pair } => (Carried::Slots(Box::default()), Some(pair as usize)),
            };
            let ConversationPlan { users, kind, class, share, hosts, path, .. } = plan;
            let paths = [&path.there[..], &path.back[..]];
            let spec = ConversationSpec { conversation, kind, hosts, paths, share, class };
            self.open_as(Time::ZERO, spec, Users { groups: &users, pair }, carried)?;
        }
        Ok(())
    }

    /// Opens a conversation of type `kind` ([`crate::type_number`]) over a path segment; returns its number, which no
    /// other open one has. Its channels get the service, shapers and policers of the traffic group of the segment, at
    /// the present rates; settings of another conversation on the same channel remain.
    pub fn open(&mut self, now: Time, segment: &PathSegment, kind: u32) -> Result<u32, Error> {
        let group = segment.group.map(|group| &self.scenario.traffic[group]);
        let class = group.map_or(Class::Ubr, |traffic| convert::class(&traffic.service));
        let (class, share, users) = match segment.pair {
            Some(pair) => {
                let plan = &self.between[pair];
                (plan.class, Some(GATEWAY_CHANNEL), plan.users.clone())
            }
            None => (class, None, segment.group.into_iter().collect()),
        };
        let conversation = self.free.pop().unwrap_or(self.opened.len() as u32);
        let paths = [&segment.path.there[..], &segment.path.back[..]];
        let spec = ConversationSpec { conversation, kind, hosts: segment.hosts, paths, share, class };
        let carried = match segment.slots[..] {
            [slot] => Carried::Slot(slot),
            ref slots => Carried::Slots(slots.into()),
        };
        self.open_as(now, spec, Users { groups: &users, pair: segment.pair }, carried)?;
        Ok(conversation)
    }

    fn open_as(
        &mut self,
        now: Time,
        spec: ConversationSpec<'_>,
        users: Users<'_>,
        carried: Carried,
    ) -> Result<(), Error> {
        let conversation = spec.conversation;
        let index = conversation as usize;
        if index >= self.opened.len() {
            self.opened.resize(index + 1, None);
        }
        if let Err(refused) = self.fabric.open(spec) {
            self.free.push(conversation);
            return Err(refused.into());
        }
        let opened = Opened { carried, paced: Vec::new() };
        self.meter.opened(conversation, opened.slots());
        self.opened[index] = Some(opened);
        let set = self.set_up(now, conversation, users);
        if set.is_err() {
            self.close(conversation);
        }
        set
    }

    /// Closes a conversation; its number may be given to another. Returns false, and changes nothing, while packets
    /// of it are inside the network: see [`Fabric::close`].
    pub fn close(&mut self, conversation: u32) -> bool {
        let queues = [0, 1].map(|direction| self.fabric.channels(conversation, direction));
        if !self.fabric.close(conversation) {
            return false;
        }
        self.meter.closed(conversation, self.fabric.conversation_counters(conversation));
        let Some(opened) = self.opened.get_mut(conversation as usize).and_then(Option::take) else { return true };
        for &(group, queue) in &opened.paced {
            self.control.leave(group, queue);
        }
        for (channel, ports) in queues.iter().flatten() {
            if self.fabric.is_open(*channel) {
                continue;
            }
            ports.iter().for_each(|&port| self.control.forget((port, *channel)));
            self.forget_rate(opened.slots(), *channel);
        }
        self.free.push(conversation);
        true
    }

    /// Records the arrival at its host, at `now`, of a packet with data of a conversation, for the slots that it carries.
    pub fn transit(&mut self, now: Time, conversation: u32, transit: Transit) {
        if let Some(Some(opened)) = self.opened.get(conversation as usize) {
            opened.slots().iter().for_each(|&slot| self.meter.transit(now, slot, transit));
        }
    }

    /// The ABR rate of a queue is recorded for the slots of a conversation.
    pub(crate) fn meter_rate(&mut self, conversation: u32, queue: Queue) {
        if let Some(opened) = &self.opened[conversation as usize] {
            opened.slots().iter().for_each(|&slot| self.meter.slots[slot].paced_by(queue));
        }
    }

    fn forget_rate(&mut self, slots: &[usize], channel: ChannelId) {
        slots.iter().for_each(|&slot| self.meter.slots[slot].forget_channel(channel));
    }

    /// Returns the rows of the whole run, at its end; and those over time.
    pub fn finish(self, now: Time) -> (Rows, Rows) {
        let mut inside = vec![0; self.slots.len()];
        for (conversation, opened) in self.opened.iter().enumerate() {
            let packets = self.fabric.conversation_counters(conversation as u32).inside();
            opened.iter().flat_map(Opened::slots).for_each(|&slot| inside[slot] += packets);
        }
        let Testbed { meter, fabric, .. } = self;
        meter.finish(now, fabric, &inside)
    }

    /// Returns the scenario that it was built from.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Returns the named nodes, those of the file and the implicit hosts ("ftp-1" and "ftp-1-sink"), at which a capture
    /// can be made.
    pub fn names(&self) -> BTreeMap<&str, NodeId> {
        let of_file = self.names.iter().map(|(name, &node)| (name.as_str(), node));
        of_file.chain(self.hosts().map(|host| (&*host.name, host.node))).collect()
    }

    /// Returns the ports of the links of the scenario, each in the directions a to b and b to a.
    pub fn link_ports(&self) -> &[[PortId; 2]] {
        &self.ports
    }

    /// Returns all hosts: those of the file in its order, then the implicit ones by slot. Gateways are not included.
    pub fn hosts(&self) -> impl ExactSizeIterator<Item = &Host> {
        self.ends.iter().map(|end| &end.host)
    }

    /// Returns the gateways of the file in its order, each as its inner host, which receives packets and forwards them.
    pub fn gateways(&self) -> impl Iterator<Item = &Host> {
        self.gateways.iter().map(|gateway| &gateway.host)
    }

    /// Returns the conversation slots, those of one traffic group after those of the one before.
    pub fn slots(&self) -> &[Arc<SlotPlan>] {
        &self.slots
    }

    /// Returns the contents of the planned conversations, by number.
    pub fn legs(&self) -> Arc<[Leg]> {
        self.legs.clone()
    }

    /// Returns the pairs of gateways that split connections.
    pub fn pairs(&self) -> &[PairPlan] {
        &self.pairs
    }

    /// Frees the memory of the hosts: [`Testbed::hosts`], [`Testbed::names`] and [`Testbed::segments`] have none of them
    /// then. The scenario's own traffic, once it is open, needs none.
    pub fn forget_hosts(&mut self) {
        self.ends = Vec::new();
    }

    /// Returns the instants of the scenario's changes, in file order; at each the driver calls [`Testbed::change`].
    pub fn changes(&self) -> impl Iterator<Item = Time> + '_ {
        self.scenario.changes.iter().map(|change| Time::ZERO + change.at)
    }
}

#[cfg(test)]
mod tests;
