//! Ways between any two hosts.

use cellway_net::{Framing, NodeId, PortId};
use cellway_scenario::NodeKind;
use cellway_units::Bytes;

use crate::attach::End;
use crate::bed::Testbed;
use crate::convert;
use crate::error::Error;
use crate::plan::{Path, ports_of};

/// How packets get from one host to another and back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// The two hosts. If the way is that of a traffic group, the originators' side comes first.
    pub hosts: [NodeId; 2],
    /// The largest IP packet that every link on it takes, in octets.
    pub mtu: Bytes,
    /// Nodes on it that handle whole IP packets and forward them.
    pub routers: u32,
    /// The traffic group that it belongs to: the place in [`cellway_scenario::Scenario::traffic`]. `None` if the
    /// scenario has no traffic between such hosts: then the route is the shortest, the service UBR.
    pub group: Option<usize>,
    /// The slots of that group between these very hosts: places in [`Testbed::slots`].
    pub slots: Vec<usize>,
    pub(crate) path: Path,
}

impl Way {
    /// All ports from the first host to the second.
    pub fn there(&self) -> &[PortId] {
        &self.path.there
    }

    /// All ports from the second host to the first.
    pub fn back(&self) -> &[PortId] {
        &self.path.back
    }
}

impl<B: Clone> Testbed<B> {
    /// The traffic groups between two hosts, in file order: those with originators at one and responders at the
    /// other, also if they are of different slots.
    pub fn groups_between(&self, hosts: [NodeId; 2]) -> Vec<usize> {
        let Ok([a, b]) = self.ends_of(hosts) else { return Vec::new() };
        let joins = |group: &usize| {
            let has = |end: &End, side: usize| end.groups[side].contains(group);
            (has(a, 0) && has(b, 1)) || (has(b, 0) && has(a, 1))
        };
        (0..self.scenario.traffic.len()).filter(joins).collect()
    }

    /// The way of a conversation of type `kind` ([`crate::type_number`]) between two hosts, in either order: that of
    /// the first traffic group between them with this application, else of the first group between them, else the
    /// shortest route.
    pub fn way(&self, hosts: [NodeId; 2], kind: u32) -> Result<Way, Error> {
        let [mut from, mut to] = self.ends_of(hosts)?;
        let scenario = &self.scenario;
        let groups = self.groups_between(hosts);
        let of_kind = groups.iter().find(|&&group| convert::type_number(&scenario.traffic[group].app) == kind);
        let group = of_kind.or(groups.first()).copied();
        // One order for both directions: equally short routes there and back could differ.
        let turned = match group {
            Some(group) => !(from.groups[0].contains(&group) && to.groups[1].contains(&group)),
            None => from.host.node > to.host.node,
        };
        if turned {
            (from, to) = (to, from);
        }
        let links = match group {
            Some(group) => {
                if let Some([gateway, _]) = scenario.traffic[group].gateways {
                    return Err(Error::GatewayNode { node: scenario.nodes[gateway.0].name.clone() });
                }
                scenario.traffic[group].route.clone()
            }
            None => scenario.route(from.from, to.from).ok_or_else(|| no_way(hosts, "no links join them"))?,
        };
        let route = ports_of(scenario, &self.ports, from.from, &links);
        let path = Path::whole(&route).between(&from.path, &to.path);
        let on_links = links.iter().map(|link| scenario.links[link.0].mtu);
        let mtu = on_links.fold(from.host.mtu.min(to.host.mtu), Bytes::min);
        let hosts = [from.host.node, to.host.node];
        let is_here = |slot: &usize| Some(self.slots[*slot].group) == group && self.slots[*slot].hosts == hosts;
        let slots = (0..self.slots.len()).filter(is_here).collect();
        let routers = self.routers_on(&path.there);
        Ok(Way { hosts, mtu, routers, group, slots, path })
    }

    fn ends_of(&self, hosts: [NodeId; 2]) -> Result<[&End; 2], Error> {
        let end = |host: NodeId| self.ends.iter().find(|end| end.host.node == host);
        match hosts.map(end) {
            [Some(a), Some(b)] if hosts[0] != hosts[1] => Ok([a, b]),
            [Some(_), Some(_)] => Err(no_way(hosts, "they are the same")),
            _ => Err(no_way(hosts, "both must be hosts")),
        }
    }

    /// The routers of the scenario on a path that put packets together, or pass them on whole. Within a run of ATM
    /// links a router forwards cells, as a switch does.
    fn routers_on(&self, ports: &[PortId]) -> u32 {
        let routes = |node: NodeId| {
            let known = self.routers.iter().position(|&router| router == node);
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

fn no_way(hosts: [NodeId; 2], why: &'static str) -> Error {
    Error::NoWay { nodes: hosts.map(|host| host.0), why }
}
