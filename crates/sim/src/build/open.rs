//! Traffic groups: their slots, and the paths of their packets.

use cellway_apps::random::Streams;
use cellway_net::{Class, ConversationSpec, PortId};
use cellway_scenario as file;
use cellway_scenario::{App, NodeIndex, Traffic};
use cellway_units::{Span, Time};

use super::attach::PathEnd;
use super::{Builder, Leg, convert};
use crate::error::Error;
use crate::gateway::GatewayPair;
use crate::meter::SlotMeter;
use crate::slot::{Slot, SlotPlan, Split};

/// Above every number that tells channels of conversations apart: the channel that all flows of a
/// pair of gateways share.
const GATEWAY_CHANNEL: u32 = 1 << 31;

/// A path in both directions.
#[derive(Clone, Default)]
struct Path {
    there: Vec<PortId>,
    back: Vec<PortId>,
}

impl Path {
    /// This path with what comes before and after it.
    fn between(&self, from: &PathEnd, to: &PathEnd) -> Path {
        Path {
            there: [&from.out[..], &self.there, &to.back].concat(),
            back: [&to.out[..], &self.back, &from.back].concat(),
        }
    }
}

impl Builder<'_> {
    pub(super) fn open_group(&mut self, group: usize, streams: &Streams) -> Result<(), Error> {
        let scenario = self.scenario;
        let traffic = &scenario.traffic[group];
        let tcp = convert::tcp_config(traffic, &traffic.tcp)?;
        let route = self.route(traffic);
        let split = match traffic.gateways {
            None => None,
            Some(pair) => {
                let [near, far] = traffic.gateway_tcp.map(|spec| convert::tcp_config(traffic, &spec));
                let tcp = [near?, far?].map(|tcp| cellway_tcp::Config { immediate_read: false, ..tcp });
                Some((self.pair(pair, traffic, group)?, tcp))
            }
        };
        for number in 1..=traffic.count {
            let name = traffic.slot(number);
            let from = self.path_end(traffic.from, &name, traffic, streams);
            let to = self.path_end(traffic.to, &format!("{name}-sink"), traffic, streams);
            let slot = self.slots.len() as u32;
            let hosts = [from.host, to.host];
            let (legs, peers) = match (traffic.gateways, &split) {
                (Some([near, far]), Some(_)) => {
                    let [before, after] = [self.inside(near), self.inside(far)];
                    let (first, last) = self.outer(traffic, &route, [near, far]);
                    let near_leg = first.between(&from, &before);
                    let far_leg = last.between(&after, &to);
                    let leg = |far| Leg::Slot { slot, far };
                    let legs = [
                        self.open(leg(false), traffic, group, [from.host, before.host], &near_leg)?,
                        self.open(leg(true), traffic, group, [after.host, to.host], &far_leg)?,
                    ];
                    (legs, [before.host, after.host])
                }
                _ => {
                    let leg = Leg::Slot { slot, far: false };
                    let leg = self.open(leg, traffic, group, hosts, &whole(&route).between(&from, &to))?;
                    ([leg; 2], [to.host, from.host])
                }
            };
            let split = split.map(|((pair, near), tcp)| Split { pair, near, tcp });
            let traced = scenario.observe.trace.contains(&file::Slot { traffic: group, number });
            let interactive = matches!(traffic.app, App::Telnet { .. });
            self.slot_meters.push(SlotMeter::new(&name, group, traffic.bottleneck, interactive, traced));
            let start = Time::ZERO + traffic.slot_start(number) + self.jitter(traffic, &name, streams);
            let (well_known_ports, repeat) = (convert::well_known_ports(&traffic.app), traffic.repeat);
            let plan = SlotPlan { name, group, hosts, peers, legs, split, well_known_ports, start, repeat, tcp };
            self.slots.push(Slot::new(plan, streams));
        }
        Ok(())
    }

    /// How much later than planned a slot begins.
    fn jitter(&self, traffic: &Traffic, name: &str, streams: &Streams) -> Span {
        if traffic.jitter.is_zero() {
            return Span::ZERO;
        }
        let bits = streams.stream(&format!("{name}/start")).bits();
        Span::from_ps(((u128::from(bits) * u128::from(traffic.jitter.as_ps())) >> 64) as u64)
    }

    /// The ports of a group's route, link by link.
    fn route(&self, traffic: &Traffic) -> Vec<[PortId; 2]> {
        let mut here = traffic.from.node();
        let mut route = Vec::new();
        for &index in &traffic.route {
            let link = &self.scenario.links[index.0];
            let [ab, ba] = self.ports[index.0];
            route.push(if link.a == here { [ab, ba] } else { [ba, ab] });
            here = link.other(here).expect("the links of a route are joined");
        }
        route
    }

    /// The parts of a route before the first and behind the second gateway.
    fn outer(&self, traffic: &Traffic, route: &[[PortId; 2]], [near, far]: [NodeIndex; 2]) -> (Path, Path) {
        let [near, far] = self.places(traffic, [near, far]);
        (whole(&route[..near]), whole(&route[far..]))
    }

    /// How many links of the route lie before each gateway.
    fn places(&self, traffic: &Traffic, gateways: [NodeIndex; 2]) -> [usize; 2] {
        let visited = self.scenario.visited(traffic.from.node(), &traffic.route);
        gateways.map(|gateway| visited.iter().position(|&node| node == gateway).expect("the gateways are on the route"))
    }

    /// The inner side of a gateway, as the end of a path.
    fn inside(&self, gateway: NodeIndex) -> PathEnd {
        let node = self.nodes[gateway.0];
        let host = node.host.expect("a gateway ends connections");
        PathEnd { host, out: node.out().into_iter().collect(), back: node.back().into_iter().collect() }
    }

    /// The pair of gateways of a group, and which of the two is near the originator; opened when
    /// the first group uses it.
    fn pair(&mut self, nodes: [NodeIndex; 2], traffic: &Traffic, group: usize) -> Result<(usize, usize), Error> {
        for (pair, known) in self.paired.iter().enumerate() {
            if let Some(near) = known.iter().position(|&node| node == nodes[0]) {
                self.users[self.pairs[pair].conversation as usize].push(group);
                return Ok((pair, near));
            }
        }
        let [near, far] = self.places(traffic, nodes);
        let route = self.route(traffic);
        let on_atm = traffic.route[near..far].iter().any(|l| self.scenario.links[l.0].framing == file::Framing::Atm);
        let mtu = traffic.route[near..far].iter().map(|l| self.scenario.links[l.0].mtu).min();
        let mtu = mtu.expect("a link lies between two gateways");
        let path = whole(&route[near..far]).between(&self.inside(nodes[0]), &self.inside(nodes[1]));
        let hosts = nodes.map(|node| self.inside(node).host);
        let conversation = self.open(Leg::Gateways, traffic, group, hosts, &path)?;
        let gateways = nodes.map(|node| {
            let spec = self.scenario.nodes[node.0].gateway.as_ref().expect("a checked gateway says what it is");
            let config = convert::gateway(self.scenario, spec, on_atm, mtu);
            let name = &self.scenario.nodes[node.0].name;
            cellway_gateway::Gateway::new(config)
                .map_err(|e| Error::Gateway { node: name.clone(), message: e.to_string() })
        });
        let [first, second] = gateways;
        let gateways = [first?, second?];
        let names = nodes.map(|node| self.scenario.nodes[node.0].name.clone());
        self.pairs.push(GatewayPair::new(names, gateways, hosts, conversation));
        self.paired.push(nodes);
        Ok((self.pairs.len() - 1, 0))
    }

    fn open(
        &mut self,
        leg: Leg,
        traffic: &Traffic,
        group: usize,
        hosts: [cellway_net::NodeId; 2],
        path: &Path,
    ) -> Result<u32, Error> {
        let conversation = self.legs.len() as u32;
        // What gateways exchange is paced at a constant rate, whatever the services of the groups.
        let (share, class) = match leg {
            Leg::Gateways => (Some(GATEWAY_CHANNEL), Class::Cbr),
            Leg::Slot { .. } => (None, convert::class(&traffic.service)),
        };
        self.fabric.open(ConversationSpec {
            conversation,
            kind: convert::type_number(&traffic.app),
            hosts,
            paths: [&path.there, &path.back],
            share,
            class,
        })?;
        self.legs.push(leg);
        self.users.push(vec![group]);
        Ok(conversation)
    }
}

/// A stretch of links as a path.
fn whole(route: &[[PortId; 2]]) -> Path {
    Path { there: route.iter().map(|p| p[0]).collect(), back: route.iter().rev().map(|p| p[1]).collect() }
}
