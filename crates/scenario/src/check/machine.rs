//! What nodes are besides their kind: the machines of hosts, and gateways.

use cellway_spec::MAX_PACKET;
use cellway_units::{Bytes, CellRate, Rate, Span};

use crate::check::Check;
use crate::check::names::Names;
use crate::file::{GatewayFile, NodeFile};
use crate::model::{GatewaySpec, HostKeys, HostSpec, NodeIndex, NodeKind};
use crate::quantity::Quantity;
use crate::tree::{Step, at};

/// Windows that the memory of a gateway must hold for a connection: two for each of both origins.
pub(super) const WINDOWS_PER_FLOW: u64 = 4;

impl Check<'_> {
    /// What node `i` costs, and what it is as a gateway.
    pub(super) fn machine(
        &mut self,
        i: usize,
        node: &NodeFile,
        names: &Names,
        nodes: &[NodeFile],
    ) -> Option<(HostSpec, Option<GatewaySpec>)> {
        let kind = node.kind?;
        if kind != NodeKind::Host && node.host.is_some() {
            self.refuse(&at!["node", i, "host"], "is for hosts only", "no host here");
        }
        let host = self.host(&at!["node", i, "host"], node.host);
        let given = [("peer", node.peer.is_some()), ("gateway", node.gateway.is_some()), ("tcp", node.tcp.is_some())];
        if kind != NodeKind::Gateway {
            for (key, _) in given.iter().filter(|(_, given)| *given) {
                self.refuse(
                    &at!["node", i, *key],
                    "is for gateways only",
                    format!("no {key} here, or kind = \"gateway\""),
                );
            }
            return Some((host?, None));
        }
        for (key, _) in given[..2].iter().filter(|(key, given)| !given && !self.tree.is_bad(&at!["node", i, *key])) {
            let accepted = match *key {
                "peer" => "the name of the gateway at the other side",
                _ => "gateway = { rate = \"30 Mbit/s\" }, with your value",
            };
            self.refuse(&at!["node", i, *key], "is missing: this is a gateway", accepted);
        }
        let peer = node.peer.as_deref().and_then(|peer| self.peer(i, peer, names, nodes));
        let spec = self.gateway(&at!["node", i, "gateway"], node.gateway.as_ref()?);
        let tcp = Check::gateway_keys(node.tcp.as_ref());
        if self.is_bad(&at!["node", i, "tcp"]) {
            return None;
        }
        Some((host?, Some(GatewaySpec { peer: peer?, tcp, ..spec? })))
    }

    /// The gateway that `name` means, whose peer must be node `i`.
    fn peer(&mut self, i: usize, name: &str, names: &Names, nodes: &[NodeFile]) -> Option<NodeIndex> {
        let path = at!["node", i, "peer"];
        let peer = self.node_named(&path, name, names)?;
        let own = names.get(i)?;
        if peer == i {
            self.refuse(&path, format!("{name:?} is this gateway itself"), "the gateway at the other side");
            return None;
        }
        match nodes[peer].kind {
            Some(NodeKind::Gateway) => {}
            None => return None,
            Some(_) => {
                self.refuse(&path, format!("{name:?} is no gateway"), "a node with kind = \"gateway\"");
                return None;
            }
        }
        match nodes[peer].peer.as_deref() {
            Some(back) if back != own => {
                self.refuse(
                    &path,
                    format!("{name:?} has another peer, {back:?}"),
                    format!("peer = {own:?} at {name:?}"),
                );
                None
            }
            // A peer without one has been reported there.
            None => None,
            Some(_) => Some(NodeIndex(peer)),
        }
    }

    fn gateway(&mut self, path: &[Step], file: &GatewayFile) -> Option<GatewaySpec> {
        let key = |key: &str| -> Vec<Step> { path.iter().cloned().chain([Step::from(key)]).collect() };
        let rate = file.rate.map(|Quantity(CellRate(rate))| rate);
        let window = self.bytes(&key("window"), file.window, Bytes(1 << 20));
        let total_buffer = self.bytes(&key("total-buffer"), file.total_buffer, Bytes(1 << 30));
        let transport = file.transport.unwrap_or_default();
        let packet = self.bytes(&key("packet"), file.packet, Bytes(8192));
        let most = MAX_PACKET - transport.header_octets();
        if packet.is_some_and(|packet| packet.0 > most) {
            self.refuse_value(
                &key("packet"),
                "is too much beside the headers of its packet",
                format!("at most {most} B"),
            );
            return None;
        }
        if let (Some(window), Some(total)) = (window, total_buffer)
            && window.0 > total.0 / WINDOWS_PER_FLOW
        {
            let at = if file.window.is_some() { key("window") } else { key("total-buffer") };
            let message = format!(
                "the memory, {} B, does not hold {WINDOWS_PER_FLOW} windows of {} B, two for a connection of either origin",
                total.0, window.0
            );
            let accepted = format!("a window of at most {} B, or more total-buffer", total.0 / WINDOWS_PER_FLOW);
            self.refuse(&at, message, accepted);
            return None;
        }
        if let (Some(window), Some(packet)) = (window, packet)
            && window < packet
        {
            let at = if file.window.is_some() { key("window") } else { key("packet") };
            let message = format!("the window, {} B, is smaller than one packet of {} B", window.0, packet.0);
            self.refuse(&at, message, "a window of at least one packet");
            return None;
        }
        let cpu_rate = self.limit(&key("cpu-rate"), file.cpu_rate);
        let [send, receive] = [("send", file.send), ("receive", file.receive)].map(|(k, t)| self.time(&key(k), t));
        let host = HostSpec { rate: cpu_rate?, send: send?, receive: receive? };
        // The peer and its TCP are filled in by the caller.
        let tcp = crate::model::TcpKeys::default();
        Some(GatewaySpec {
            peer: NodeIndex(0),
            window: window?,
            total_buffer: total_buffer?,
            rate: rate?,
            packet: packet?,
            transport,
            host,
            tcp,
        })
    }

    /// What a machine costs; `path` leads to its table.
    pub(super) fn host(&mut self, path: &[Step], keys: Option<HostKeys>) -> Option<HostSpec> {
        let key = |key: &str| -> Vec<Step> { path.iter().cloned().chain([Step::from(key)]).collect() };
        let Some(keys) = keys else { return (!self.is_bad(path)).then(HostSpec::default) };
        let is_bad = HostKeys::names().iter().any(|name| self.is_bad(&key(name)));
        let host = keys.resolve()?;
        (!is_bad).then_some(host)
    }

    /// A rate that need not be given; `Some(None)` if it is not there.
    pub(super) fn limit(&self, path: &[Step], given: Option<Quantity<Rate>>) -> Option<Option<Rate>> {
        (!self.is_bad(path)).then(|| given.map(|Quantity(rate)| rate))
    }

    /// A time that is zero unless it is given.
    pub(super) fn time(&self, path: &[Step], given: Option<Quantity<Span>>) -> Option<Span> {
        (!self.is_bad(path)).then(|| given.map_or(Span::ZERO, |q| q.0))
    }

    /// A size that need not be given.
    fn bytes(&self, path: &[Step], given: Option<Quantity<Bytes>>, default: Bytes) -> Option<Bytes> {
        (!self.is_bad(path)).then(|| given.map_or(default, |Quantity(size)| size))
    }
}
