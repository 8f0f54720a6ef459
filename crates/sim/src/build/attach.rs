//! Nodes, links and hosts.

use cellway_apps::random::Streams;
use cellway_net::{Framing, NodeId, NodeKind, PortId};
use cellway_scenario as file;
use cellway_scenario::{Attachment, HostSpec, Traffic};
use cellway_units::{Rate, Span};

use super::{Builder, convert};
use crate::meter::PortMeter;

/// So fast that a packet takes less than a picosecond: what joins a host to its card where the
/// scenario sets no limit.
const AT_ONCE: Rate = Rate::from_bps(1_000_000_000_000_000_000);

/// A node of the scenario in the network. One that ends packets and also needs something before
/// its line (a limit to its speed, the relay of a gateway) is two nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attached {
    /// Where its links are.
    pub(super) line: NodeId,
    /// Where its packets start and end; not for routers and switches.
    pub(super) host: Option<NodeId>,
    /// The ports from the host to the line's node and back, if they are two.
    pub(super) inner: Option<[PortId; 2]>,
}

impl Attached {
    /// The ports that a packet from the host passes before its links.
    pub(super) fn out(&self) -> Option<PortId> {
        self.inner.map(|[out, _]| out)
    }
    /// The ports that a packet for the host passes after its links.
    pub(super) fn back(&self) -> Option<PortId> {
        self.inner.map(|[_, back]| back)
    }
}

/// What waits at a line of that framing.
pub(super) fn queue_unit(framing: file::Framing) -> &'static str {
    if framing == file::Framing::Atm { "cell" } else { "packet" }
}

/// A host at its end of a path.
pub(super) struct PathEnd {
    pub(super) host: NodeId,
    /// The ports from the host to the first node of the route, and back.
    pub(super) out: Vec<PortId>,
    pub(super) back: Vec<PortId>,
}

impl Builder<'_> {
    pub(super) fn nodes(&mut self) {
        for (index, node) in self.scenario.nodes.iter().enumerate() {
            let attached = match node.kind {
                file::NodeKind::Router | file::NodeKind::Switch => {
                    let line = self.fabric.add_node(convert::node_kind(node.kind));
                    if node.kind == file::NodeKind::Router {
                        self.reassembling.push(line);
                    }
                    Attached { line, host: None, inner: None }
                }
                file::NodeKind::Host => {
                    let on_atm =
                        self.scenario.links.iter().any(|link| {
                            link.framing == file::Framing::Atm && link.other(file::NodeIndex(index)).is_some()
                        });
                    self.host(&node.host, on_atm)
                }
                file::NodeKind::Gateway => {
                    let spec = node.gateway.as_ref().expect("a checked gateway says what it is");
                    self.two_nodes(&spec.host)
                }
            };
            // A gateway is captured at its lines, as a router is.
            let named = if node.kind == file::NodeKind::Host { attached.host } else { None };
            self.names.insert(node.name.clone(), named.unwrap_or(attached.line));
            self.nodes.push(attached);
        }
    }

    /// A host: its card is a node of its own if the host has limits.
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
        let inner = self.fabric.add_link([host, line], rate, Span::ZERO, Framing::Packet, [None; 2]);
        self.fabric.set_packet_cost(inner[0], spec.send);
        self.fabric.set_packet_cost(inner[1], spec.receive);
        Attached { line, host: Some(host), inner: Some(inner) }
    }

    pub(super) fn links(&mut self, streams: &Streams) {
        let scenario = self.scenario;
        for link in &scenario.links {
            let ends = [link.a, link.b];
            let lines = ends.map(|node| self.nodes[node.0].line);
            let is_host = ends.map(|node| scenario.nodes[node.0].kind == file::NodeKind::Host);
            let buffers = is_host.map(|host| (!host).then(|| convert::buffer(&link.buffer)));
            let pair = self.fabric.add_link(lines, link.rate, link.delay, convert::framing(link.framing), buffers);
            let [a, b] = ends.map(|node| &scenario.nodes[node.0].name);
            self.lose(pair, link.loss, [a, b], Some(&link.name), streams);
            // Bare links of hosts carry nothing that the tables of conversations do not say, unless they lose it.
            if link.framing == file::Framing::Atm || is_host == [false; 2] || !link.loss.is_zero() {
                let unit = queue_unit(link.framing);
                self.port_meters.push(PortMeter::new(format!("{a}>{b}"), pair[0], unit));
                self.port_meters.push(PortMeter::new(format!("{b}>{a}"), pair[1], unit));
            }
            self.ports.push(pair);
        }
    }

    /// The host at one end of a slot; made here if it is the slot's own.
    pub(super) fn path_end(&mut self, end: Attachment, name: &str, traffic: &Traffic, streams: &Streams) -> PathEnd {
        let (node, access) = match end {
            Attachment::Host(node) => (self.nodes[node.0], None),
            Attachment::Router(router) => {
                let spec = traffic.access.expect("a checked scenario gives implicit hosts their access link");
                let on_atm = spec.framing == file::Framing::Atm;
                let node = self.host(&traffic.host, on_atm);
                let ends = [node.line, self.nodes[router.0].line];
                let buffers = [None, Some(convert::buffer(&self.scenario.buffer))];
                let framing = convert::framing(spec.framing);
                let ports = self.fabric.add_link(ends, spec.rate, spec.delay, framing, buffers);
                let router = &self.scenario.nodes[router.0].name;
                self.lose(ports, spec.loss, [name, router], None, streams);
                if !spec.loss.is_zero() {
                    let unit = queue_unit(spec.framing);
                    self.port_meters.push(PortMeter::new(format!("{name}>{router}"), ports[0], unit));
                    self.port_meters.push(PortMeter::new(format!("{router}>{name}"), ports[1], unit));
                }
                self.names.insert(name.to_owned(), node.host.expect("a host has been made"));
                (node, Some(ports))
            }
        };
        let host = node.host.expect("a checked path ends at a host");
        let out = node.out().into_iter().chain(access.map(|[out, _]| out)).collect();
        let back = access.map(|[_, back]| back).into_iter().chain(node.back()).collect();
        PathEnd { host, out, back }
    }
}
