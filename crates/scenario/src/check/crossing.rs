//! The path of a group: where it ends, what it crosses, and which gateways split its connections.

use cellway_spec::MAX_PACKET;
use cellway_units::Bytes;

use crate::check::Check;
use crate::check::machine::WINDOWS_PER_FLOW;
use crate::check::network::Network;
use crate::check::tcp::Layers;
use crate::check::timeline::direction;
use crate::file::{NodeFile, TrafficFile};
use crate::model::{Access, Attachment, Framing, GatewaySpec, LinkIndex, NodeIndex, NodeKind, TcpSpec, Traffic};
use crate::route;
use crate::tree::at;

/// The path of a group, from originator to responder.
pub(super) struct Path {
    pub(super) ends: [Attachment; 2],
    pub(super) route: Vec<LinkIndex>,
    /// One more than `route` has links.
    pub(super) nodes: Vec<NodeIndex>,
    /// The places in `nodes` of the gateways that split the connections.
    pub(super) pair: Option<[usize; 2]>,
    /// Returns true if hosts of their own are attached by links that carry cells.
    pub(super) access_is_atm: bool,
    /// The name and the largest packet of each link that its TCP segments cross: before the first gateway, and behind the
    /// second. Without gateways both are the whole path.
    parts: [Vec<(String, Bytes)>; 2],
}

impl Path {
    /// Returns true if conversations have hosts of their own.
    pub(super) fn implicit(&self) -> bool {
        self.ends.iter().any(|end| matches!(end, Attachment::Router(_)))
    }

    pub(super) fn gateways(&self) -> Option<[NodeIndex; 2]> {
        self.pair.map(|pair| pair.map(|place| self.nodes[place]))
    }

    /// Returns the link that takes the least packets, and the largest that it takes.
    pub(super) fn narrowest(&self) -> Option<(&str, Bytes)> {
        let links = self.parts.iter().flatten().map(|(link, mtu)| (&link[..], *mtu));
        links.min_by_key(|(_, mtu)| *mtu)
    }

    /// The largest packet that fits all links that TCP segments cross.
    pub(super) fn mtu(&self) -> Bytes {
        let [near, far] = self.parts.each_ref().map(|part| least(part));
        near.min(far)
    }
}

/// The largest packet that fits all of a part of a path, which has at least the link of a host.
fn least(part: &[(String, Bytes)]) -> Bytes {
    part.iter().map(|(_, mtu)| *mtu).min().unwrap_or(Bytes(MAX_PACKET))
}

impl Check<'_> {
    pub(super) fn path(
        &mut self,
        i: usize,
        group: &TrafficFile,
        access: Option<Access>,
        network: &Network,
    ) -> Option<Path> {
        let from = self.attachment(i, "from", group.from.as_deref(), network);
        let to = self.attachment(i, "to", group.to.as_deref(), network);
        let (from, to) = (from?, to?);
        let [a, b] = [from, to].map(|end| &network.nodes[end.node().0].name);
        if from == to {
            self.refuse(&at!["traffic", i, "to"], format!("both from and to are {a:?}"), "another node than from");
            return None;
        }
        let Some(route) = network.graph.routes(from.node(), Some(to.node())).to(to.node()) else {
            let message = format!("no route leads from {a:?} to {b:?}");
            self.refuse(&at!["traffic", i, "to"], message, "two nodes that links connect");
            return None;
        };
        let nodes = route::visited(&network.links, from.node(), &route);
        let pair = if group.udp.as_ref()?.is_none() && group.gateway? { self.pair(i, &nodes, network)? } else { None };
        if let Some(pair) = pair {
            self.transport_fits([nodes[pair[0]], nodes[pair[1]]], &route[pair[0]..pair[1]], network);
        }
        let named = |links: &[LinkIndex], end: Option<Attachment>| -> Vec<(String, Bytes)> {
            let links = links.iter().map(|l| &network.links[l.0]).map(|l| (format!("link {:?}", l.name), l.mtu));
            let own = end.filter(|end| matches!(end, Attachment::Router(_))).and(access);
            links.chain(own.map(|access| ("the access link".to_owned(), access.mtu))).collect()
        };
        let [first, last] = pair.unwrap_or([route.len(), 0]);
        let mut parts = [named(&route[..first], Some(from)), named(&route[last..], Some(to))];
        if pair.is_none() {
            let end = [from, to].into_iter().find(|end| matches!(end, Attachment::Router(_)));
            parts = [named(&route, end), named(&route, end)];
        }
        let access_is_atm = access.is_some_and(|access| access.framing == Framing::Atm);
        Some(Path { ends: [from, to], route, nodes, pair, access_is_atm, parts })
    }

    fn attachment(&mut self, i: usize, key: &str, name: Option<&str>, network: &Network) -> Option<Attachment> {
        let name = name?;
        let node = self.node_named(&at!["traffic", i, key], name, &network.node_names)?;
        Some(match network.nodes[node].kind {
            NodeKind::Host => Attachment::Host(NodeIndex(node)),
            NodeKind::Router | NodeKind::Switch | NodeKind::Gateway => Attachment::Router(NodeIndex(node)),
        })
    }

    /// The places in `nodes` of a gateway and, further on, of its peer. `None` if there are two such pairs.
    fn pair(&mut self, i: usize, nodes: &[NodeIndex], network: &Network) -> Option<Option<[usize; 2]>> {
        let peer = |place: usize| network.nodes[nodes[place].0].gateway.as_ref().map(|gateway| gateway.peer);
        let pairs: Vec<[usize; 2]> = (0..nodes.len())
            .filter_map(|first| {
                let peer = peer(first)?;
                let last = nodes.iter().skip(first + 1).position(|node| *node == peer)?;
                Some([first, first + 1 + last])
            })
            .collect();
        if let [one, other, ..] = pairs.as_slice() {
            let [one, other] = [one, other].map(|pair| &network.nodes[nodes[pair[0]].0].name);
            let message = format!("the path crosses two pairs of gateways, those of {one:?} and of {other:?}");
            self.refuse(&at!["traffic", i, "to"], message, "one pair at most, or gateway = false");
            return None;
        }
        Some(pairs.first().copied())
    }

    /// Packets between gateways must fit every link between them, and their rate the line that each sends on.
    fn transport_fits(&mut self, gateways: [NodeIndex; 2], between: &[LinkIndex], network: &Network) {
        for (node, line) in gateways.into_iter().zip([between.first(), between.last()]) {
            let (Some(spec), Some(line)) = (&network.nodes[node.0].gateway, line) else { continue };
            let line = &network.links[line.0];
            self.within_line(&at!["node", node.0, "gateway", "rate"], spec.rate, line, direction(line, node));
        }
        let specs = gateways.map(|node| network.nodes[node.0].gateway.as_ref());
        if let [Some(one), Some(other)] = specs
            && one.transport != other.transport
        {
            let [a, b] = gateways.map(|node| &network.nodes[node.0].name);
            self.refuse(
                &at!["node", gateways[1].0, "gateway", "transport"],
                format!("{b:?} and its peer {a:?} have different transports"),
                "the same transport at both",
            );
        }
        let Some(narrowest) = between.iter().map(|l| &network.links[l.0]).min_by_key(|l| l.mtu) else { return };
        for node in gateways {
            let Some(spec) = &network.nodes[node.0].gateway else { continue };
            let (packet, headers) = (spec.packet_octets(), spec.transport.header_octets());
            if packet > narrowest.mtu.0 {
                let message = format!(
                    "{} B and {headers} B of headers make a packet of {packet} B; link {:?} between the gateways takes {} B (mtu)",
                    spec.packet.0, narrowest.name, narrowest.mtu.0
                );
                let most = narrowest.mtu.0.saturating_sub(headers);
                self.refuse(
                    &at!["node", node.0, "gateway", "packet"],
                    message,
                    format!("at most {most} B, or a larger mtu there"),
                );
            }
        }
    }

    /// The memory of gateways must hold the connections of all slots that a pair splits: others would wait without end.
    pub(super) fn gateways_hold(&mut self, traffic: &[Traffic], network: &Network) {
        let mut pairs: Vec<[NodeIndex; 2]> = traffic.iter().filter_map(Traffic::gateways).collect();
        pairs.sort_unstable();
        pairs.dedup();
        for pair in pairs {
            let through = || (0..traffic.len()).filter(|&i| traffic[i].gateways() == Some(pair));
            let slots: u64 = through().map(|i| u64::from(traffic[i].count)).sum();
            let specs = pair.map(|node| Some((node, network.nodes[node.0].gateway.as_ref()?)));
            let held = |spec: &GatewaySpec| spec.total_buffer.0 / WINDOWS_PER_FLOW / spec.window.0;
            let Some((node, spec)) = specs.into_iter().flatten().min_by_key(|(_, spec)| held(spec)) else { continue };
            let (most, name) = (held(spec), &network.nodes[node.0].name);
            let Some(largest) = through().max_by_key(|&i| (traffic[i].count, usize::MAX - i)) else { continue };
            if slots > most {
                let message = format!(
                    "{slots} conversations cross gateway {name:?}, whose memory (total-buffer, {} B) holds {most} with windows of {} B",
                    spec.total_buffer.0, spec.window.0
                );
                let accepted = format!("at most {most} in all, a smaller window, or more total-buffer");
                self.refuse(&at!["traffic", largest, "count"], message, accepted);
            }
        }
    }

    /// The TCP of the gateway ends, near and far; that of the hosts where there are none. Refuses segments that do not fit.
    pub(super) fn split(
        &mut self,
        layers: &dyn Fn() -> Layers,
        tcp: TcpSpec,
        path: &Path,
        nodes: &[NodeFile],
    ) -> Option<[TcpSpec; 2]> {
        let before = self.found.len();
        let mut ends = [Some(tcp); 2];
        for part in &path.parts {
            self.segments_fit(&layers(), tcp, part);
        }
        if let Some(gateways) = path.gateways() {
            for ((part, end), gateway) in path.parts.iter().zip(&mut ends).zip(gateways) {
                let own = layers().of_gateway(gateway.0, nodes[gateway.0].tcp.flatten().as_ref(), tcp.mss);
                *end = self.tcp(&own, Some(least(part)));
                if let Some(spec) = *end {
                    self.segments_fit(&own, spec, part);
                }
            }
        }
        let [near, far] = ends;
        (self.found.len() == before).then_some([near?, far?])
    }

    fn segments_fit(&mut self, layers: &Layers, tcp: TcpSpec, part: &[(String, Bytes)]) {
        if let Some((link, mtu)) = part.iter().min_by_key(|(_, mtu)| *mtu) {
            self.fits_mtu(layers, tcp.mss, link, *mtu);
        }
    }
}
