//! Traffic groups: their slots, and the paths of their packets.

use std::sync::Arc;

use cellway_apps::random::Streams;
use cellway_gateway::{Classes, GatewayConfig};
use cellway_net::{Class, NodeId, PortId};
use cellway_scenario as file;
use cellway_scenario::{Attachment, NodeIndex, Protocol, TcpTraffic, Traffic};
use cellway_spec::{Family, UdpSource};
use cellway_tcp::Config;
use cellway_units::{Span, Time};

use crate::attach::PathEnd;
use crate::build::Builder;
use crate::convert::{self, MEASURED_PORT, UDP_PORT};
use crate::error::Error;
use crate::meter::{Records, SlotMeter, SlotSeries, Trace};

/// Above every number that distinguishes channels of conversations: the channel that all flows of a pair of gateways
/// share.
pub(crate) const GATEWAY_CHANNEL: u32 = 1 << 31;

/// The gateways in the middle of a slot's connections.
#[derive(Clone, Debug)]
pub struct Split {
    /// The pair: its place in [`crate::Testbed::pairs`].
    pub pair: usize,
    /// The gateway of the pair that is near the originator.
    pub near: usize,
    /// TCP of the gateways' ends, near the originator and near the responder.
    pub tcp: [Arc<Config>; 2],
}

/// The constants of all conversations of a slot.
#[derive(Clone, Debug)]
pub struct SlotPlan {
    /// "ftp-3".
    pub name: Arc<str>,
    /// Its traffic group.
    pub group: usize,
    /// The hosts of originator and responder.
    pub hosts: [NodeId; 2],
    /// The network's conversations that carry the packets of the originator and of the responder, once
    /// [`crate::Testbed::open_planned`] has opened them.
    pub legs: [u32; 2],
    /// When the first conversation or the source begins.
    pub start: Time,
    /// The code point of the packets of its hosts.
    pub dscp: u8,
    /// The traffic of the slot, and its protocol.
    pub protocol: SlotProtocol,
}

/// The traffic of a slot, and its protocol.
#[derive(Clone, Debug)]
pub enum SlotProtocol {
    /// Conversations over TCP.
    Tcp(TcpSlotPlan),
    /// Datagrams, from the first host to the second.
    Udp(Box<UdpSource>),
    /// Datagrams of measured conversations in both directions, in packets of this version of IP.
    Class(Family),
    /// Datagrams of a stack of others at each host, in packets of this version of IP.
    Stack(Family),
}

/// The TCP of a slot.
#[derive(Clone, Debug)]
pub struct TcpSlotPlan {
    /// Whom the packets of its hosts go to: each other, or the gateway on their side.
    pub peers: [NodeId; 2],
    /// The gateways that split its connections, if any do: the same of all slots of a group.
    pub split: Option<Arc<Split>>,
    /// The well-known port of a conversation's first connection, and of its others.
    pub well_known_ports: [u16; 2],
    /// True if another conversation follows when one ends.
    pub repeat: bool,
    /// TCP of the two hosts.
    pub config: Arc<Config>,
}

impl SlotPlan {
    /// Returns the version of IP of the packets of its hosts.
    pub fn family(&self) -> Family {
        match &self.protocol {
            SlotProtocol::Tcp(tcp) => tcp.config.family,
            SlotProtocol::Udp(source) => source.family,
            SlotProtocol::Class(family) | SlotProtocol::Stack(family) => *family,
        }
    }

    /// Returns the TCP of the slot, if it uses it.
    pub fn tcp(&self) -> Option<&TcpSlotPlan> {
        match &self.protocol {
            SlotProtocol::Tcp(tcp) => Some(tcp),
            SlotProtocol::Udp(_) | SlotProtocol::Class(_) | SlotProtocol::Stack(_) => None,
        }
    }

    /// Returns the port of the responder of the slot's datagrams.
    pub fn datagram_port(&self) -> u16 {
        match self.protocol {
            SlotProtocol::Class(_) => MEASURED_PORT,
            SlotProtocol::Tcp(_) | SlotProtocol::Udp(_) | SlotProtocol::Stack(_) => UDP_PORT,
        }
    }
}

/// Returns the port by which gateways recognise the connections of a traffic group, as hosts of a simulation have no
/// addresses.
pub fn class_port(group: usize) -> u16 {
    u16::try_from(group + 1).unwrap_or(u16::MAX)
}

/// Two gateways that split connections, and the path between them.
#[derive(Clone, Debug)]
pub struct PairPlan {
    /// The two in the scenario.
    pub nodes: [NodeIndex; 2],
    /// Their names.
    pub names: [String; 2],
    /// The configuration of each; checked.
    pub configs: [GatewayConfig; 2],
    /// Classes by the ports of [`class_port`]; `None` if the scenario has none.
    pub classes: Option<Classes>,
    /// The hosts inside the gateways that end the connections.
    pub hosts: [NodeId; 2],
    /// The links between them, from the first on.
    pub links: Vec<file::LinkIndex>,
    /// The network's conversation between them, once [`crate::Testbed::open_planned`] has opened it.
    pub conversation: u32,
}

/// The content of a planned conversation of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leg {
    /// Packets of a slot's connections.
    Slot {
        /// Its place in [`crate::Testbed::slots`].
        slot: u32,
        /// True if it is the part behind the gateways.
        far: bool,
    },
    /// The packets between a pair of gateways.
    Gateways {
        /// Its place in [`crate::Testbed::pairs`].
        pair: u32,
    },
}

/// A conversation that the scenario's own traffic needs.
#[derive(Clone, Debug)]
pub(crate) struct ConversationPlan {
    pub(crate) leg: Leg,
    /// The traffic groups that use it.
    pub(crate) users: Vec<usize>,
    pub(crate) kind: u32,
    pub(crate) class: Class,
    pub(crate) share: Option<u32>,
    pub(crate) hosts: [NodeId; 2],
    pub(crate) path: Path,
}

/// A path in both directions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) there: Box<[PortId]>,
    pub(crate) back: Box<[PortId]>,
}

impl Path {
    /// Returns the path over consecutive links: the ports of each, in the two directions.
    pub(crate) fn whole(route: &[[PortId; 2]]) -> Path {
        Path { there: route.iter().map(|p| p[0]).collect(), back: route.iter().rev().map(|p| p[1]).collect() }
    }

    /// Returns this path with the parts before and after it.
    pub(crate) fn between(&self, from: &PathEnd, to: &PathEnd) -> Path {
        Path { there: joined(from.out, &self.there, to.back), back: joined(to.out, &self.back, from.back) }
    }
}

fn joined(before: [Option<PortId>; 2], between: &[PortId], behind: [Option<PortId>; 2]) -> Box<[PortId]> {
    before.into_iter().flatten().chain(between.iter().copied()).chain(behind.into_iter().flatten()).collect()
}

/// Returns the ports of a route from `from` on, link by link, in the two directions.
pub(crate) fn ports_of(
    scenario: &file::Scenario,
    ports: &[[PortId; 2]],
    from: NodeIndex,
    links: &[file::LinkIndex],
) -> Vec<[PortId; 2]> {
    let mut here = from;
    let mut route = Vec::new();
    for &index in links {
        let link = &scenario.links[index.0];
        let [ab, ba] = ports[index.0];
        route.push(if link.a == here { [ab, ba] } else { [ba, ab] });
        here = link.other(here).expect("the links of a route are joined");
    }
    route
}

impl<B: Clone> Builder<'_, B> {
    pub(crate) fn plan_group(&mut self, group: usize, streams: &Streams) -> Result<(), Error> {
        let scenario = self.scenario;
        let traffic = &scenario.traffic[group];
        let family = traffic.family();
        let has_stacks = self.stacks.contains(&group);
        let config = traffic.tcp().map(|tcp| Arc::new(Config { family, ..tcp.tcp.into() }));
        let route = self.route(traffic);
        let split = match traffic.tcp() {
            Some(&TcpTraffic { gateways: Some(pair), gateway_tcp, .. }) => {
                let tcp = gateway_tcp.map(|tcp| Arc::new(Config { immediate_read: false, family, ..tcp.into() }));
                let (pair, near) = self.pair(pair, traffic, group)?;
                Some(Arc::new(Split { pair, near, tcp }))
            }
            _ => None,
        };
        let attached = [traffic.from, traffic.to].map(|end| scenario.nodes[end.node().0].name.as_str().into());
        for number in 1..=traffic.count {
            let name: Arc<str> = traffic.slot(number).into();
            let from = self.path_end(traffic.from, &name, group, &attached[0]);
            let sink = matches!(traffic.to, Attachment::Router(_)).then(|| format!("{name}-sink").into());
            let to = self.path_end(traffic.to, sink.as_ref().unwrap_or(&name), group, &attached[1]);
            let slot = self.slots.len() as u32;
            let hosts = [from.host, to.host];
            let (legs, peers) = match (traffic.gateways(), &split) {
                (Some([near, far]), Some(_)) => {
                    let [before, after] = [self.inside(near), self.inside(far)];
                    let (first, last) = self.outer(traffic, &route, [near, far]);
                    let near_leg = first.between(&from, &before);
                    let far_leg = last.between(&after, &to);
                    let leg = |far| Leg::Slot { slot, far };
                    let legs = [
                        self.plan(leg(false), traffic, group, [from.host, before.host], near_leg),
                        self.plan(leg(true), traffic, group, [after.host, to.host], far_leg),
                    ];
                    (legs, [before.host, after.host])
                }
                _ => {
                    let leg = Leg::Slot { slot, far: false };
                    let leg = self.plan(leg, traffic, group, hosts, Path::whole(&route).between(&from, &to));
                    ([leg; 2], [to.host, from.host])
                }
            };
            let traced = scenario.observe.trace.contains(&file::Slot { traffic: group, number });
            let most = scenario.observe.max_rows as usize;
            let trace = traced.then(|| Trace::new(most));
            let records = Records { trace, series: scenario.observe.series.then(|| SlotSeries::new(most)) };
            let round_trip = scenario.propagation_round_trip(traffic);
            self.slot_meters.push(if has_stacks {
                SlotMeter::of_stack(&name, traffic, records)
            } else {
                SlotMeter::new(&name, traffic, round_trip, records)
            });
            let start = Time::ZERO + traffic.slot_start(number) + jitter(traffic, &name, streams);
            let protocol = match (&traffic.protocol, &config) {
                _ if has_stacks => SlotProtocol::Stack(family),
                (Protocol::Udp(source), _) => SlotProtocol::Udp(Box::new(*source)),
                (Protocol::Class(class), _) => SlotProtocol::Class(class.family),
                (Protocol::Tcp(_), None) => unreachable!("the configuration was made above"),
                (Protocol::Tcp(tcp), Some(config)) => SlotProtocol::Tcp(TcpSlotPlan {
                    peers,
                    split: split.clone(),
                    well_known_ports: convert::well_known_ports(&tcp.app),
                    repeat: tcp.repeat,
                    config: config.clone(),
                }),
            };
            let plan = SlotPlan { name, group, hosts, legs, start, dscp: traffic.dscp.bits(), protocol };
            self.slots.push(Arc::new(plan));
        }
        Ok(())
    }

    /// Returns the ports of a group's route, link by link.
    fn route(&self, traffic: &Traffic) -> Vec<[PortId; 2]> {
        ports_of(self.scenario, &self.ports, traffic.from.node(), &traffic.route)
    }

    /// Returns the parts of a route before the first and behind the second gateway.
    fn outer(&self, traffic: &Traffic, route: &[[PortId; 2]], [near, far]: [NodeIndex; 2]) -> (Path, Path) {
        let [near, far] = self.places(traffic, [near, far]);
        (Path::whole(&route[..near]), Path::whole(&route[far..]))
    }

    /// Returns the number of links of the route before each gateway.
    fn places(&self, traffic: &Traffic, gateways: [NodeIndex; 2]) -> [usize; 2] {
        let visited = self.scenario.visited(traffic.from.node(), &traffic.route);
        gateways.map(|gateway| visited.iter().position(|&node| node == gateway).expect("the gateways are on the route"))
    }

    /// Returns the inner side of a gateway, as the end of a path.
    fn inside(&self, gateway: NodeIndex) -> PathEnd {
        self.nodes[gateway.0].end().expect("a gateway ends connections")
    }

    /// Returns the pair of gateways of a group, and the one of the two that is near the originator; planned when the
    /// first group uses it.
    fn pair(&mut self, nodes: [NodeIndex; 2], traffic: &Traffic, group: usize) -> Result<(usize, usize), Error> {
        for (pair, known) in self.pairs.iter().enumerate() {
            if let Some(near) = known.nodes.iter().position(|&node| node == nodes[0]) {
                self.plans[known.conversation as usize].users.push(group);
                return Ok((pair, near));
            }
        }
        let [near, far] = self.places(traffic, nodes);
        let route = self.route(traffic);
        let on_atm = traffic.route[near..far].iter().any(|l| self.scenario.links[l.0].framing == file::Framing::Atm);
        let mtu = traffic.route[near..far].iter().map(|l| self.scenario.links[l.0].mtu).min();
        let mtu = mtu.expect("a link lies between two gateways");
        let path = Path::whole(&route[near..far]).between(&self.inside(nodes[0]), &self.inside(nodes[1]));
        let hosts = nodes.map(|node| self.inside(node).host);
        let pair = self.pairs.len();
        let conversation = self.plan(Leg::Gateways { pair: pair as u32 }, traffic, group, hosts, path);
        let configs = nodes.map(|node| {
            let spec = self.scenario.nodes[node.0].gateway.as_ref().expect("a checked gateway says what it is");
            let config = convert::gateway(self.scenario, spec, on_atm, mtu);
            let node = &self.scenario.nodes[node.0].name;
            config.validate().map_err(|e| Error::Gateway { node: node.clone(), message: e.to_string() })?;
            Ok::<GatewayConfig, Error>(config)
        });
        let [first, second] = configs;
        let configs = [first?, second?];
        let names = nodes.map(|node| self.scenario.nodes[node.0].name.clone());
        let links = traffic.route[near..far].to_vec();
        let classes = convert::classes(self.scenario);
        let classes = classes.map_err(|e| Error::Gateway { node: names[0].clone(), message: e.to_string() })?;
        self.pairs.push(PairPlan { nodes, names, configs, classes, hosts, links, conversation });
        Ok((pair, 0))
    }

    fn plan(&mut self, leg: Leg, traffic: &Traffic, group: usize, hosts: [NodeId; 2], path: Path) -> u32 {
        // Packets between gateways are paced at a constant rate, whatever the services of the groups.
        let (share, class) = match leg {
            Leg::Gateways { .. } => (Some(GATEWAY_CHANNEL), Class::Cbr),
            Leg::Slot { .. } => (None, convert::class(&traffic.service)),
        };
        let (users, kind) = (vec![group], convert::type_number(traffic));
        self.plans.push(ConversationPlan { leg, users, kind, class, share, hosts, path });
        self.plans.len() as u32 - 1
    }
}

/// Returns the random delay of the start of a slot.
fn jitter(traffic: &Traffic, name: &str, streams: &Streams) -> Span {
    if traffic.jitter.is_zero() {
        return Span::ZERO;
    }
    let bits = streams.stream(&format!("{name}/start")).bits();
    Span::from_ps(((u128::from(bits) * u128::from(traffic.jitter.as_ps())) >> 64) as u64)
}
