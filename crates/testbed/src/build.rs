//! From a checked scenario to a network in which no conversation is open.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cellway_apps::random::Streams;
use cellway_net::{Fabric, NodeId, PortId};
use cellway_record::Source;
use cellway_scenario::{Attachment, HostSpec, Link, LinkIndex, NodeIndex, Scenario};

use crate::attach::{Attached, End, queue_unit};
use crate::bed::Testbed;
use crate::control::Control;
use crate::convert;
use crate::error::Error;
use crate::meter::{Meter, Observed, Pace, PortMeter, QueueWatch, SlotMeter};
use crate::plan::{ConversationPlan, PairPlan, SlotPlan};

/// A network under construction.
pub(crate) struct Builder<'a, B> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) streams: &'a Streams,
    /// The traffic groups that stacks of others drive.
    pub(crate) stacks: &'a BTreeSet<usize>,
    pub(crate) fabric: Fabric<B>,
    /// The named nodes of the file.
    pub(crate) names: BTreeMap<String, NodeId>,
    /// The nodes of the scenario.
    pub(crate) nodes: Vec<Attached>,
    /// The nodes that reassemble frames: routers, gateways, and the cards of hosts.
    pub(crate) reassembling: Vec<NodeId>,
    /// The ports of each link, in the directions a to b and b to a.
    pub(crate) ports: Vec<[PortId; 2]>,
    pub(crate) port_meters: Vec<PortMeter>,
    /// All hosts, as ends of paths.
    pub(crate) ends: Vec<End>,
    /// The inner sides of gateways, as ends of paths.
    pub(crate) gateways: Vec<End>,
    pub(crate) slots: Vec<Arc<SlotPlan>>,
    pub(crate) slot_meters: Vec<SlotMeter>,
    pub(crate) plans: Vec<ConversationPlan>,
    pub(crate) pairs: Vec<PairPlan>,
}

impl<B: Clone> Testbed<B> {
    /// Builds the network of `scenario`, and plans its traffic; random values (the starts of slots) are drawn from
    /// `streams`. The meter records the metrics that `source` can observe.
    pub fn new(scenario: &Scenario, streams: &Streams, source: Source) -> Result<Testbed<B>, Error> {
        Testbed::with_stacks(scenario, streams, source, &BTreeSet::new())
    }

    /// As [`Testbed::new`]; stacks of others drive the traffic groups `stacks`, whose application and TCP are without
    /// effect. No gateways may split these groups.
    pub fn with_stacks(
        scenario: &Scenario,
        streams: &Streams,
        source: Source,
        stacks: &BTreeSet<usize>,
    ) -> Result<Testbed<B>, Error> {
        let unread = |link: &&Link| {
            let mut directions = link.directions.iter().zip(&link.traces);
            directions.any(|(direction, trace)| direction.is_recorded() && trace.is_none())
        };
        if let Some(link) = scenario.links.iter().find(unread) {
            return Err(Error::NoTrace { link: link.name.clone() });
        }
        let mut builder = Builder {
            scenario,
            streams,
            stacks,
            fabric: Fabric::new(scenario.multiplexing.channel, scenario.multiplexing.encapsulation),
            names: BTreeMap::new(),
            nodes: Vec::new(),
            reassembling: Vec::new(),
            ports: Vec::new(),
            port_meters: Vec::new(),
            ends: Vec::new(),
            gateways: Vec::new(),
            slots: Vec::new(),
            slot_meters: Vec::new(),
            plans: Vec::new(),
            pairs: Vec::new(),
        };
        builder.fabric.set_abr_switch(convert::abr_switch(&scenario.abr));
        builder.reserve();
        let of_node = builder.links_of_nodes();
        builder.nodes(&of_node);
        builder.links(&of_node);
        for group in 0..scenario.traffic.len() {
            builder.plan_group(group, streams)?;
        }
        Ok(builder.built(source))
    }
}

impl<B: Clone> Builder<'_, B> {
    /// Returns the output port of `node` over `link`.
    fn port(&self, node: NodeIndex, link: LinkIndex) -> PortId {
        let [ab, ba] = self.ports[link.0];
        if self.scenario.links[link.0].a == node { ab } else { ba }
    }

    /// Reserves tables at their known size; tables that double as they grow end up half empty.
    fn reserve(&mut self) {
        let scenario = self.scenario;
        let (mut conversations, mut hosts, mut nodes) = (0, 0, scenario.nodes.len());
        for traffic in &scenario.traffic {
            let count = traffic.count as usize;
            let implicit = [traffic.from, traffic.to].iter().filter(|end| matches!(end, Attachment::Router(_))).count();
            conversations += count;
            hosts += count * implicit;
            nodes += count * implicit * if traffic.host == HostSpec::default() { 1 } else { 2 };
        }
        self.fabric.reserve(nodes, scenario.links.len() + nodes - scenario.nodes.len(), conversations);
        self.slots.reserve_exact(conversations);
        self.slot_meters.reserve_exact(conversations);
        self.plans.reserve_exact(conversations);
        self.ends.reserve_exact(scenario.nodes.len() + hosts);
    }

    fn watches(&mut self) -> Vec<QueueWatch> {
        let scenario = self.scenario;
        let watch = |&(node, link): &(NodeIndex, LinkIndex)| {
            let port = self.port(node, link);
            self.fabric.watch(port);
            let unit = queue_unit(scenario.links[link.0].framing);
            QueueWatch::new(scenario.port_name(node, link), port, unit, scenario.observe.max_rows as usize)
        };
        scenario.observe.queue.iter().map(watch).collect()
    }

    fn built(mut self, source: Source) -> Testbed<B> {
        let scenario = self.scenario;
        let queue_watches = self.watches();
        self.port_meters.iter().for_each(|port| self.fabric.record_waits(port.id));
        if !(scenario.observe.flows.is_empty() && scenario.observe.sets.is_empty()) {
            self.fabric.record_transits();
        }
        let has_cells = scenario.has_cells();
        let meter = Meter::new(
            self.port_meters,
            self.slot_meters,
            &scenario.traffic,
            self.reassembling,
            queue_watches,
            Pace {
                source,
                rtt: scenario.run.rtt,
                warmup: scenario.run.warmup,
                bin: scenario.bin(),
                fairness: scenario.observe.fairness_window,
                series: scenario.observe.series,
                has_cells,
                observed: Observed::new(scenario),
            },
        );
        Testbed {
            fabric: self.fabric,
            meter,
            scenario: Arc::new(scenario.clone()),
            streams: self.streams.clone(),
            names: self.names,
            ports: self.ports,
            ends: self.ends,
            gateways: self.gateways,
            routers: self.nodes.iter().map(|node| node.line).collect(),
            slots: self.slots,
            legs: self.plans.iter().map(|plan| plan.leg).collect(),
            between: self.pairs.iter().map(|pair| self.plans[pair.conversation as usize].clone()).collect(),
            planned: self.plans,
            pairs: self.pairs,
            control: Control::new(scenario),
            opened: Vec::new(),
            free: Vec::new(),
        }
    }
}
