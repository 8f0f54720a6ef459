//! The view of a run: what is where at an instant.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use cellway_net::{ChannelId, Framing, NodeId, PortId, UnitView};
use cellway_scenario::NodeKind;
use cellway_tcp::{Endpoint, MAX_WINDOW, State};
use cellway_testbed::Leg;
use cellway_units::Time;

use super::Run;
use crate::body::Body;
use crate::qlog::congestion_state;
use crate::slot::Slot;
use crate::view::{
    Contents, FlightView, FlowScene, GatewayView, HANDSHAKE, LineView, NodeScene, PortScene, PortView, Scene,
    UnitsView, View, WindowView,
};

/// The most entries that are listed of the queue of a port, and of its link.
const MOST: usize = 1000;

impl Run<'_> {
    /// Returns the first instant after `now` in which anything moves, or at `now` if that instant has not ended.
    pub(super) fn next_move(&self, now: Time) -> Option<Time> {
        [self.bed.fabric.next_move(now), self.timers.next()].into_iter().flatten().min()
    }

    /// Returns the network and the traffic, with the rates and delays at `now`.
    pub(super) fn scene(&self, now: Time) -> Scene {
        let scenario = self.bed.scenario();
        let nodes = self.node_scenes();
        let flow = |slot: &Slot| {
            let plan = slot.plan();
            let kind = match slot {
                Slot::Tcp(_) => "tcp",
                Slot::Udp(_) => "udp",
                Slot::Stack(_) => "stack",
            };
            let split = plan.tcp().and_then(|tcp| tcp.split.as_ref());
            FlowScene {
                name: plan.name.to_string(),
                group: Some(scenario.traffic[plan.group].name.clone()),
                kind,
                ends: plan.hosts.map(place),
                through: split.map(|split| self.slots.len() + split.pair),
            }
        };
        let names = self.bed.names();
        let pair = |names_of: &[String; 2]| FlowScene {
            name: names_of.join("-"),
            group: None,
            kind: "gateways",
            ends: [0, 1].map(|which| place(names[&*names_of[which]])),
            through: None,
        };
        let pairs = self.pairs.iter().map(|of| pair(&of.names));
        Scene {
            ports: self.port_scenes(now, &nodes),
            flows: self.slots.iter().map(flow).chain(pairs).collect(),
            pairs: self.pairs.len(),
            duration: scenario.run.duration,
            nodes,
        }
    }

    fn node_scenes(&self) -> Vec<NodeScene> {
        let fabric = &self.bed.fabric;
        let mut names = vec![None; fabric.nodes().len()];
        let known = self.bed.names();
        known.iter().for_each(|(&name, &node)| names[place(node)] = Some(name));
        // The first link of an inner node leads to its owner.
        let mut owners = vec![None; names.len()];
        for port in fabric.ports() {
            let [from, to] = fabric.ends(port).map(place);
            owners[from] = owners[from].or(names[to]);
        }
        let gateways: Vec<NodeId> = self.bed.gateways().map(|inner| known[&*inner.name]).collect();
        let scene = |node: NodeId| {
            let kind = match names[place(node)] {
                None => "inside",
                Some(_) if gateways.contains(&node) => NodeKind::Gateway.name(),
                Some(_) => fabric.kind(node).name(),
            };
            let name = names[place(node)].or(owners[place(node)]);
            NodeScene { name: name.unwrap_or_default().to_owned(), kind }
        };
        fabric.nodes().map(scene).collect()
    }

    fn port_scenes(&self, now: Time, nodes: &[NodeScene]) -> Vec<PortScene> {
        let (fabric, scenario) = (&self.bed.fabric, self.bed.scenario());
        let mut links = BTreeMap::new();
        for ((ports, link), names) in self.bed.link_ports().iter().zip(&scenario.links).zip(scenario.port_names()) {
            links.extend(ports.iter().copied().zip(names.into_iter().map(|name| (name, link.name.clone()))));
        }
        let scene = |port: PortId| {
            let [from, to] = fabric.ends(port).map(place);
            let (name, link) = match links.remove(&port) {
                Some((name, link)) => (name, Some(link)),
                None => (format!("{}>{}", nodes[from].name, nodes[to].name), None),
            };
            let (rate, delay) = (fabric.rate_at(port, now), fabric.delay_at(port, now));
            PortScene { name, link, from, to, cells: fabric.framing(port) == Framing::Atm, rate, delay }
        };
        fabric.ports().map(scene).collect()
    }

    /// Returns the cells, packets and windows at `now`, when all events up to `now` have happened.
    pub(super) fn view(&self, now: Time) -> View {
        let fabric = &self.bed.fabric;
        let channels = OnceCell::new();
        let units = |unit: UnitView<'_, Body>| {
            let UnitView { packet, channel, units, octets, .. } = unit;
            let (flow, contents) = match (packet, channel) {
                (Some(packet), _) => (Some(self.flow_of(packet.conversation)), contents(&packet.body)),
                (None, Some(channel)) => {
                    let users: &BTreeMap<ChannelId, usize> = channels.get_or_init(|| self.users_of_channels());
                    (users.get(&channel).copied(), Contents::Rm)
                }
                (None, None) => (None, Contents::Rm),
            };
            UnitsView { flow, contents, units, octets }
        };
        let port = |port: PortId| {
            let mut view = PortView::default();
            view.more = fabric.waiting_units(port, MOST, |unit| view.waiting.push(units(unit)));
            view.line = fabric.unit_on_line(port, now).map(|(unit, part)| LineView { unit: units(unit), part });
            view.more_flight = fabric.units_on_link(port, now, MOST, |unit, [head, tail]| {
                view.flight.push(FlightView { units: units(unit), head, tail });
            });
            view
        };
        let gateways = self.pairs.iter().map(|pair| {
            let [first, second] = [0, 1].map(|which| pair.gateways[which].held());
            GatewayView { there: [first[0], second[1]], back: [first[1], second[0]] }
        });
        View {
            now,
            ports: fabric.ports().map(port).collect(),
            flows: self.slots.iter().map(window).collect(),
            gateways: gateways.collect(),
        }
    }

    /// Returns the flow of a conversation of the network.
    fn flow_of(&self, conversation: u32) -> usize {
        match self.legs[conversation as usize] {
            Leg::Slot { slot, .. } => slot as usize,
            Leg::Gateways { pair } => self.slots.len() + pair as usize,
        }
    }

    /// Returns the first flow on each channel.
    fn users_of_channels(&self) -> BTreeMap<ChannelId, usize> {
        let mut users = BTreeMap::new();
        for conversation in 0..self.legs.len() as u32 {
            let both = [0, 1].map(|direction| self.bed.fabric.channels(conversation, direction));
            for (channel, _) in both.into_iter().flatten() {
                users.entry(channel).or_insert_with(|| self.flow_of(conversation));
            }
        }
        users
    }
}

fn place(node: NodeId) -> usize {
    node.0 as usize
}

fn contents(body: &Body) -> Contents {
    let has_data = match body {
        Body::Transport { packet, .. } => packet.has_data(),
        _ => body.has_data(),
    };
    if has_data { Contents::Data } else { Contents::Control }
}

/// Returns the window of the newest connection of a slot.
fn window(slot: &Slot) -> Option<WindowView> {
    let Slot::Tcp(slot) = slot else { return None };
    let [originator, responder] = slot.newest_ends()?.each_ref().map(|end| &end.tcp);
    let sent = |tcp: &Endpoint| tcp.stats().bytes_sent;
    let end = usize::from(sent(responder) > sent(originator));
    let tcp = [originator, responder][end];
    let state = match tcp.state() {
        State::Closed | State::Listen | State::TimeWait => return None,
        State::SynSent | State::SynReceived => HANDSHAKE,
        _ => congestion_state(tcp),
    };
    Some(WindowView {
        window: tcp.congestion_window(),
        threshold: Some(tcp.ssthresh()).filter(|&threshold| threshold < MAX_WINDOW),
        in_flight: tcp.in_flight(),
        rtt: tcp.smoothed_rtt(),
        state,
        end,
    })
}
