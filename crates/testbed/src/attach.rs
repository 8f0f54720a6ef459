//! Nodes, links and hosts.

use std::sync::Arc;

use cellway_net::{Framing, LinkSpec, NodeId, NodeKind, PortId, PortSpec};
use cellway_record::metric::QueueUnit;
use cellway_scenario as file;
use cellway_scenario::{Attachment, HostSpec, Traffic};
use cellway_units::{Bytes, Rate, Span};

use crate::build::Builder;
use crate::convert;
use crate::meter::PortMeter;

/// A rate at which a packet takes less than a picosecond: joins a host to its card if the scenario sets no limit.
const AT_ONCE: Rate = Rate::from_bps(1_000_000_000_000_000_000);

/// A node of the scenario in the network. One that ends packets and also needs something before
/// its line (a limit to its speed, the relay of a gateway) is two nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attached {
    /// The node of its links.
    pub(crate) line: NodeId,
    /// The node at which its packets start and end; not for routers and switches.
    pub(crate) host: Option<NodeId>,
    /// The ports from the host to the line's node and back, if they are two.
    pub(crate) inner: Option<[PortId; 2]>,
}

impl Attached {
    /// Returns the ports that a packet from the host passes before its links.
    pub(crate) fn out(&self) -> Option<PortId> {
        self.inner.map(|[out, _]| out)
    }
    /// As the end of paths, up to its links; none for routers and switches.
    pub(crate) fn end(&self) -> Option<PathEnd> {
        self.host.map(|host| PathEnd { host, out: [self.out(), None], back: [None, self.back()] })
    }
    /// Returns the ports that a packet for the host passes after its links.
    pub(crate) fn back(&self) -> Option<PortId> {
        self.inner.map(|[_, back]| back)
    }
}

/// Returns the unit of the queue at a line of that framing.
pub(crate) fn queue_unit(framing: file::Framing) -> QueueUnit {
    if framing == file::Framing::Atm { QueueUnit::Cell } else { QueueUnit::Packet }
}

/// A host of the network: of the file, or implicit. Also the one inside a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name in the file; for an implicit host that of its slot, "ftp-1", or "ftp-1-sink" at the responder's end.
    pub name: Arc<str>,
    /// The node at which its packets start and end.
    pub node: NodeId,
    /// The largest IP packet that its line takes, in octets.
    pub mtu: Bytes,
    /// The name of the node at the other end of its line, of a gateway its first in the file.
    pub attached: Arc<str>,
    /// The first port of its packets.
    pub line: PortId,
}

/// A host as an end of paths.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) host: Host,
    pub(crate) path: PathEnd,
    /// The node of the scenario at which its routes begin: itself, or the node to which an implicit host is attached.
    pub(crate) from: file::NodeIndex,
}

/// A host at its end of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathEnd {
    pub(crate) host: NodeId,
    /// The ports from the host to the first node of the route, and back: inside the host, and of its own line.
    pub(crate) out: [Option<PortId>; 2],
    pub(crate) back: [Option<PortId>; 2],
}

impl PathEnd {
    /// Returns the first port of the packets of the host, if it is not that of the route.
    pub(crate) fn line(&self) -> Option<PortId> {
        self.out[0].or(self.out[1])
    }
}

impl<B: Clone> Builder<'_, B> {
    /// Returns the links of each node of the scenario, in the order of the file.
    pub(crate) fn links_of_nodes(&self) -> Vec<Vec<file::LinkIndex>> {
        let mut of_node = vec![Vec::new(); self.scenario.nodes.len()];
        for (index, link) in self.scenario.links.iter().enumerate() {
            [link.a, link.b].into_iter().for_each(|end| of_node[end.0].push(file::LinkIndex(index)));
        }
        of_node
    }

    pub(crate) fn nodes(&mut self, of_node: &[Vec<file::LinkIndex>]) {
        let scenario = self.scenario;
        for (index, node) in scenario.nodes.iter().enumerate() {
            let attached = match node.kind {
                NodeKind::Router | NodeKind::Switch => {
                    let line = self.fabric.add_node(node.kind);
                    if node.kind == NodeKind::Router {
                        self.reassembling.push(line);
                    }
                    Attached { line, host: None, inner: None }
                }
                NodeKind::Host => {
                    let on_atm = of_node[index].iter().any(|l| scenario.links[l.0].framing == file::Framing::Atm);
                    self.host(&node.host, on_atm)
                }
                NodeKind::Gateway => {
                    let spec = node.gateway.as_ref().expect("a checked gateway says what it is");
                    self.two_nodes(&spec.host)
                }
            };
            // A gateway is captured at its lines, as a router is.
            let named = if node.kind == NodeKind::Host { attached.host } else { None };
            self.names.insert(node.name.clone(), named.unwrap_or(attached.line));
            self.nodes.push(attached);
        }
    }

    /// Attaches a host: its card is a separate node if the host has limits.
    fn host(&mut self, spec: &HostSpec, on_atm: bool) -> Attached {
        if *spec != HostSpec::default() {
            return self.two_nodes(spec);
        }
        let host = self.fabric.add_node(NodeKind::Host);
        if on_atm {
            self.reassembling.push(host);
        }
        Attached { line: host, host: Some(host), inner: None }
    }

    fn two_nodes(&mut self, spec: &HostSpec) -> Attached {
        let line = self.fabric.add_node(NodeKind::Router);
        self.reassembling.push(line);
        let host = self.fabric.add_node(NodeKind::Host);
        let rate = spec.rate.unwrap_or(AT_ONCE);
        let ports =
            [spec.send, spec.receive].map(|packet_cost| PortSpec { packet_cost, ..PortSpec::new(rate, Span::ZERO) });
        let link = LinkSpec { ports, ..LinkSpec::new(rate, Span::ZERO, Framing::Packet) };
        let inner = self.fabric.add_link([host, line], link);
        Attached { line, host: Some(host), inner: Some(inner) }
    }

    pub(crate) fn links(&mut self, of_node: &[Vec<file::LinkIndex>]) {
        let scenario = self.scenario;
        for (link, names) in scenario.links.iter().zip(scenario.port_names()) {
            let ends = [link.a, link.b];
            let lines = ends.map(|node| self.nodes[node.0].line);
            let is_host = ends.map(|node| scenario.nodes[node.0].kind == NodeKind::Host);
            let buffers = is_host.map(|host| (!host).then(|| convert::buffer(&link.buffer)));
            let [a, b] = ends.map(|node| &scenario.nodes[node.0].name);
            let ports = self.directions(file::LinkIndex(self.ports.len()), [a, b]);
            let spec = LinkSpec { framing: link.framing, discipline: scenario.multiplexing.server, ports }
                .with_buffers(buffers)
                .with_queues(self.queues(&link.buffer, link.mtu, [a, b], Some(&link.name), is_host));
            let pair = self.fabric.add_link(lines, spec);
            // The figures of bare links of hosts are those of their conversations, unless the links lose packets.
            if link.framing == file::Framing::Atm || is_host == [false; 2] || link.is_lossy() {
                let unit = queue_unit(link.framing);
                self.port_meters
                    .extend(names.into_iter().zip(pair).map(|(name, port)| PortMeter::new(name, port, unit)));
            }
            self.ports.push(pair);
        }
        for (index, node) in scenario.nodes.iter().enumerate() {
            let from = file::NodeIndex(index);
            let mut lines = of_node[index].iter().filter_map(|&at| {
                let (link, [ab, ba]) = (&scenario.links[at.0], self.ports[at.0]);
                Some((link, link.other(from)?, if link.a == from { ab } else { ba }))
            });
            // A host that has no line, of a file that never uses it, is no end of a path.
            let (Some((link, other, port)), Some(path)) = (lines.next(), self.nodes[index].end()) else { continue };
            // The largest MTU of a gateway: each of its path segments has the MTU of its own links.
            let mtu = lines.map(|(link, ..)| link.mtu).fold(link.mtu, Bytes::max);
            let attached = scenario.nodes[other.0].name.as_str().into();
            let line = path.line().unwrap_or(port);
            let host = Host { name: node.name.as_str().into(), node: path.host, mtu, attached, line };
            let end = End { host, path, from };
            match node.kind {
                NodeKind::Gateway => self.gateways.push(end),
                _ => self.ends.push(end),
            }
        }
    }

    /// Returns the host at one end of a slot of `group`; creates it if it is the slot's own. `attached` is the name of the
    /// node to which it is then attached.
    pub(crate) fn path_end(&mut self, end: Attachment, name: &Arc<str>, group: usize, attached: &Arc<str>) -> PathEnd {
        let traffic = &self.scenario.traffic[group];
        let path = self.made_end(end, name, traffic);
        if let (Attachment::Router(from), Some(access), Some(line)) = (end, traffic.access, path.line()) {
            let (name, attached) = (name.clone(), attached.clone());
            let host = Host { name, node: path.host, mtu: access.mtu, attached, line };
            self.ends.push(End { host, path, from });
        }
        path
    }

    fn made_end(&mut self, end: Attachment, name: &str, traffic: &Traffic) -> PathEnd {
        let (node, access) = match end {
            Attachment::Host(node) => (self.nodes[node.0], None),
            Attachment::Router(router) => {
                let spec = traffic.access.expect("a checked scenario gives implicit hosts their access link");
                let on_atm = spec.framing == file::Framing::Atm;
                let node = self.host(&traffic.host, on_atm);
                let ends = [node.line, self.nodes[router.0].line];
                let buffers = [None, Some(convert::buffer(&self.scenario.buffer))];
                let router = &self.scenario.nodes[router.0].name;
                let link = LinkSpec::new(spec.rate, spec.delay, spec.framing)
                    .with_discipline(self.scenario.multiplexing.server)
                    .with_buffers(buffers)
                    .with_queues(self.queues(&self.scenario.buffer, spec.mtu, [name, router], None, [true, false]))
                    .with_losses(self.losses(spec.loss, [name, router]));
                let ports = self.fabric.add_link(ends, link);
                if !spec.loss.is_zero() {
                    let unit = queue_unit(spec.framing);
                    self.port_meters.push(PortMeter::new(format!("{name}>{router}"), ports[0], unit));
                    self.port_meters.push(PortMeter::new(format!("{router}>{name}"), ports[1], unit));
                }
                (node, Some(ports))
            }
        };
        let host = node.host.expect("a checked path ends at a host");
        let [out, back] = [0, 1].map(|direction| access.map(|ports| ports[direction]));
        PathEnd { host, out: [node.out(), out], back: [back, node.back()] }
    }
}
