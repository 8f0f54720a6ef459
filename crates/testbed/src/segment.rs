//! Paths between any two hosts, in segments between the gateways on them.

use std::collections::BTreeSet;

use cellway_net::{Framing, NodeId, PortId};
use cellway_scenario::{LinkIndex, NodeIndex, NodeKind};
use cellway_units::Bytes;

use crate::attach::End;
use crate::bed::Testbed;
use crate::convert;
use crate::error::Error;
use crate::plan::{Path, ports_of};

/// The path from one host or gateway to the next, in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathSegment {
    /// Its ends: hosts, or the inner sides of gateways. If the segment is that of a traffic group, the originators'
    /// side is first.
    pub hosts: [NodeId; 2],
    /// The largest IP packet that every link on it takes, in octets.
    pub mtu: Bytes,
    /// Nodes between its ends that handle whole IP packets and forward them.
    pub routers: u32,
    /// The traffic group that it belongs to: the index in [`cellway_scenario::Scenario::traffic`]. `None` if the
    /// scenario has no traffic between such hosts: then the route is the shortest, the service UBR. Also `None` between
    /// the gateways that split the connections of a group: their packets have no service of the group.
    pub group: Option<usize>,
    /// The slots of that group between these very hosts: places in [`Testbed::slots`].
    pub slots: Vec<usize>,
    /// The pair of gateways whose transport it carries: the index in [`Testbed::pairs`].
    pub pair: Option<usize>,
    pub(crate) path: Path,
}

impl PathSegment {
    /// Returns all ports from the first host to the second.
    pub fn there(&self) -> &[PortId] {
        &self.path.there
    }

    /// Returns all ports from the second host to the first.
    pub fn back(&self) -> &[PortId] {
        &self.path.back
    }
}

impl<B: Clone> Testbed<B> {
    /// Returns the traffic groups between two hosts, in file order: those with originators at one and responders at the
    /// other, also if they are of different slots.
    pub fn groups_between(&self, hosts: [NodeId; 2]) -> Vec<usize> {
        let Ok([a, b]) = self.ends_of(hosts) else { return Vec::new() };
        let [there, back] = [[a, b], [b, a]].map(|[from, to]| self.groups_from(from, to));
        there.union(&back).copied().collect()
    }

    /// Returns the traffic groups with originators at one host and responders at another, also of different slots.
    fn groups_from(&self, from: &End, to: &End) -> BTreeSet<usize> {
        let at = |end: &End, side: usize| -> BTreeSet<usize> {
            let slots = self.slots.iter().filter(|slot| slot.hosts[side] == end.host.node);
            slots.map(|slot| slot.group).collect()
        };
        &at(from, 0) & &at(to, 1)
    }

    /// Returns the path of a conversation of type `kind` ([`crate::type_number`]) between two ends, each a host or the
    /// inner side of a gateway: that of the first traffic group between them with this application, else of the first
    /// group between them, else the shortest route. It is divided into segments, from the first of `ends` to the
    /// second: a gateway on the route receives each packet and forwards it.
    pub fn segments(&self, ends: [NodeId; 2], kind: u32) -> Result<Vec<PathSegment>, Error> {
        let [mut from, mut to] = self.ends_of(ends)?;
        let scenario = &self.scenario;
        if let Some(pair) = self.pair_of([from, to]) {
            return Ok(vec![self.pair_segment(pair)]);
        }
        let groups = self.groups_between(ends);
        let of_kind = groups.iter().find(|&&group| convert::type_number(&scenario.traffic[group]) == kind);
        let group = of_kind.or(groups.first()).copied();
        // One order for both directions: equally short routes of the two directions could differ.
        let turned = match group {
            Some(group) => !self.groups_from(from, to).contains(&group),
            None => from.host.node > to.host.node,
        };
        if turned {
            (from, to) = (to, from);
        }
        let links = match group {
            Some(group) => scenario.traffic[group].route.clone(),
            None => scenario.route(from.from, to.from).ok_or_else(|| no_path(ends, "no links join them"))?,
        };
        let mut segments = self.cut([from, to], group, &links);
        if turned {
            segments.reverse();
        }
        Ok(segments)
    }

    /// Cuts a route at its gateways.
    fn cut(&self, [from, to]: [&End; 2], group: Option<usize>, links: &[LinkIndex]) -> Vec<PathSegment> {
        let visited = self.scenario.visited(from.from, links);
        let is_end = |gateway: &End| [from, to].iter().any(|end| end.host.node == gateway.host.node);
        let gateway = |node: NodeIndex| self.gateways.iter().find(|gateway| gateway.from == node && !is_end(gateway));
        let mut stops = vec![(0, from)];
        stops.extend(visited.iter().enumerate().filter_map(|(place, &node)| Some((place, gateway(node)?))));
        stops.push((links.len(), to));
        let split = group.and_then(|group| self.scenario.traffic[group].gateways());
        let split = split.map(|gateways| gateways.map(|node| visited.iter().position(|&known| known == node)));
        let slot_hosts = [from.host.node, to.host.node];
        let segment = |ends: &[(usize, &End)]| {
            let [(begin, from), (end, to)] = [ends[0], ends[1]];
            // Between the gateways of a split, packets of the group itself have no service.
            let between = matches!(split, Some([Some(near), Some(far)]) if near <= begin && end <= far && begin < end);
            let group = group.filter(|_| !between);
            let route = ports_of(&self.scenario, &self.ports, visited[begin], &links[begin..end]);
            let path = Path::whole(&route).between(&from.path, &to.path);
            let is_of = |slot: &usize| group == Some(self.slots[*slot].group) && self.slots[*slot].hosts == slot_hosts;
            let slots = (0..self.slots.len()).filter(is_of).collect();
            PathSegment { group, slots, ..self.over([from, to], &links[begin..end], path) }
        };
        stops.windows(2).map(segment).collect()
    }

    /// Returns the segment of no group over a path.
    fn over(&self, [from, to]: [&End; 2], links: &[LinkIndex], path: Path) -> PathSegment {
        let on_links = links.iter().map(|link| self.scenario.links[link.0].mtu);
        let mtu = on_links.fold(from.host.mtu.min(to.host.mtu), Bytes::min);
        let routers = self.routers_on(&path.there, [from, to]);
        let hosts = [from.host.node, to.host.node];
        PathSegment { hosts, mtu, routers, group: None, slots: Vec::new(), pair: None, path }
    }

    /// Returns the pair whose gateways the two ends are.
    fn pair_of(&self, ends: [&End; 2]) -> Option<usize> {
        let nodes = ends.map(|end| end.host.node);
        self.pairs.iter().position(|pair| pair.hosts == nodes || pair.hosts == [nodes[1], nodes[0]])
    }

    /// Returns the planned segment between the gateways of a pair.
    fn pair_segment(&self, pair: usize) -> PathSegment {
        let plan = &self.pairs[pair];
        let end = |host: NodeId| self.gateways.iter().find(|gateway| gateway.host.node == host);
        let [from, to] = plan.hosts.map(|host| end(host).expect("a pair is of gateways"));
        let path = self.between[pair].path.clone();
        PathSegment { pair: Some(pair), ..self.over([from, to], &plan.links, path) }
    }

    fn ends_of(&self, hosts: [NodeId; 2]) -> Result<[&End; 2], Error> {
        let end = |host: NodeId| self.ends.iter().chain(&self.gateways).find(|end| end.host.node == host);
        match hosts.map(end) {
            [Some(a), Some(b)] if hosts[0] != hosts[1] => Ok([a, b]),
            [Some(_), Some(_)] => Err(no_path(hosts, "they are the same")),
            _ => Err(no_path(hosts, "both must be hosts or gateways")),
        }
    }

    /// Returns the number of routers of the scenario on a path that reassemble packets, or forward them whole. Within a
    /// run of ATM links a router forwards cells, as a switch does. A gateway is no router of the segments that begin or
    /// end in it.
    fn routers_on(&self, ports: &[PortId], ends: [&End; 2]) -> u32 {
        let is_end = |index: usize| {
            let mut gateways = self.gateways.iter().filter(|gateway| gateway.from.0 == index);
            gateways.any(|gateway| ends.iter().any(|end| end.host.node == gateway.host.node))
        };
        let routes = |node: NodeId| {
            let known = self.routers.iter().position(|&router| router == node).filter(|&index| !is_end(index));
            let kind = known.map(|index| self.scenario.nodes[index].kind);
            matches!(kind, Some(NodeKind::Router | NodeKind::Gateway))
        };
        let is_atm = |port: PortId| self.fabric.framing(port) == Framing::Atm;
        let passed = ports.windows(2).filter(|pair| {
            let [_, node] = self.fabric.ends(pair[0]);
            routes(node) && !(is_atm(pair[0]) && is_atm(pair[1]))
        });
        passed.count() as u32
    }
}

fn no_path(hosts: [NodeId; 2], why: &'static str) -> Error {
    Error::NoPath { nodes: hosts.map(|host| host.0), why }
}
