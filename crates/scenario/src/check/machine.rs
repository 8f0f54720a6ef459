//! The limits of hosts, and gateways.

use cellway_spec::MAX_PACKET;
use cellway_units::CellRate;

use crate::check::Check;
use crate::check::names::Names;
use crate::file::{GatewayFile, NodeFile};
use crate::model::{GatewaySpec, HostKeys, HostSpec, NodeIndex, NodeKind};
use crate::tree::{Step, at};

/// Windows that the memory of a gateway must hold for a connection: two for each of both origins.
pub(super) const WINDOWS_PER_FLOW: u64 = 4;

impl Check<'_> {
    /// Returns the costs of node `i`, and its part as a gateway.
    pub(super) fn machine(
        &mut self,
        i: usize,
        node: &NodeFile,
        names: &Names,
        nodes: &[NodeFile],
    ) -> Option<(HostSpec, Option<GatewaySpec>)> {
        let kind = node.kind?;
        let path = |key: &str| at!["node", i, key];
        if kind != NodeKind::Host && matches!(node.host, Some(Some(_))) {
            self.refuse(&path("host"), "is for hosts only", "no host here");
        }
        let host = self.host(&path("host"), node.host);
        if kind != NodeKind::Gateway {
            for key in
                ["peer", "gateway", "tcp"].into_iter().filter(|key| self.is_accepted(&path(key))).collect::<Vec<_>>()
            {
                self.refuse(&path(key), "is for gateways only", format!("no {key} here, or kind = \"gateway\""));
            }
            return Some((host?, None));
        }
        for (key, accepted) in [
            ("peer", "the name of the gateway at the other side"),
            ("gateway", "gateway = { rate = \"30 Mbit/s\" }, with your value"),
        ] {
            if !self.is_given(&path(key)) {
                self.refuse(&path(key), "is missing: this is a gateway", accepted);
            }
        }
        let peer = node.peer.as_ref().and_then(|peer| self.peer(i, peer.as_deref()?, names, nodes));
        let spec = self.gateway(&path("gateway"), node.gateway.as_ref()?.as_ref()?);
        let tcp = Check::gateway_keys(node.tcp?.as_ref());
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
        match nodes[peer].peer.as_ref()?.as_deref() {
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
        let GatewayFile { window, total_buffer, packet, .. } = *file;
        let transport = file.transport?;
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
            let at = if self.is_given(&key("window")) { key("window") } else { key("total-buffer") };
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
            let at = if self.is_given(&key("window")) { key("window") } else { key("packet") };
            let message = format!("the window, {} B, is smaller than one packet of {} B", window.0, packet.0);
            self.refuse(&at, message, "a window of at least one packet");
            return None;
        }
        let host = HostSpec { rate: file.cpu_rate?, send: file.send?, receive: file.receive? };
        let CellRate(rate) = file.rate?;
        // The peer and its TCP are filled in by the caller.
        let tcp = crate::model::TcpKeys::default();
        Some(GatewaySpec {
            peer: NodeIndex(0),
            window: window?,
            total_buffer: total_buffer?,
            rate,
            packet: packet?,
            transport,
            host,
            tcp,
        })
    }

    /// Returns the costs of a host; `path` leads to its table.
    pub(super) fn host(&self, path: &[Step], keys: Option<Option<HostKeys>>) -> Option<HostSpec> {
        let keys = keys?.unwrap_or_default();
        (!self.any_bad(path)).then(|| keys.resolve())?
    }
}
