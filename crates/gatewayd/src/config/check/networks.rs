//! Networks of different gateways must not overlap.

use cellway_settings::tree::{Step, at};
use ipnet::IpNet;

use super::Check;
use crate::config::file::PeerFile;

/// Returns true if one contains the other (two prefixes cannot overlap otherwise).
fn overlap(a: &IpNet, b: &IpNet) -> bool {
    a.contains(b) || b.contains(a)
}

/// Networks in which a gateway can reach no host, and what they contain (RFC 6890).
const UNUSABLE: [(&str, &str); 9] = [
    ("127.0.0.0/8", "loopback addresses, which every machine has"),
    ("::1/128", "the loopback address, which every machine has"),
    ("224.0.0.0/4", "multicast groups, to which there are no TCP connections"),
    ("ff00::/8", "multicast groups, to which there are no TCP connections"),
    ("169.254.0.0/16", "link-local addresses, which are not routed"),
    ("fe80::/10", "link-local addresses, which are not routed"),
    ("0.0.0.0/8", "addresses of no host"),
    ("::/128", "the address of no host"),
    ("255.255.255.255/32", "the broadcast address, to which there are no TCP connections"),
];

impl Check<'_> {
    /// Reports every network that has no hosts, and every one that overlaps an earlier one: `local` first, then those of
    /// the peers.
    pub(super) fn networks(&mut self, local: &[IpNet], peers: &[PeerFile]) {
        let mut all: Vec<(Vec<Step>, IpNet, String)> = Vec::new();
        all.extend(local.iter().enumerate().map(|(k, net)| (at!["local", k].to_vec(), *net, "local".to_owned())));
        for (i, peer) in peers.iter().enumerate() {
            let whose = peer.name.as_ref().map_or_else(
                || "the prefixes of another peer".to_owned(),
                |name| format!("the prefixes of peer \"{}\"", name.0),
            );
            let nets = peer.prefixes.iter().flatten().enumerate();
            all.extend(nets.map(|(k, net)| (at!["peer", i, "prefixes", k].to_vec(), *net, whose.clone())));
        }
        for (place, (path, net, _)) in all.iter().enumerate() {
            self.usable(path, *net, place < local.len());
        }
        for (place, (path, net, _)) in all.iter().enumerate() {
            let Some((_, other, owner)) = all[..place].iter().find(|(_, other, _)| overlap(other, net)) else {
                continue;
            };
            let message = if other == net {
                format!("{net} is in {owner} already")
            } else {
                format!("{net} overlaps {other}, which is in {owner}")
            };
            self.refuse(path, message, Some("networks that no other gateway has, none within another"));
        }
    }

    /// Reports a network within one of [`UNUSABLE`]. Loopback addresses in `local` are those of this machine, for
    /// forwards and SOCKS of peers.
    fn usable(&mut self, path: &[Step], net: IpNet, is_local: bool) {
        let within = |(of, _): &&(&str, &str)| of.parse().is_ok_and(|of: IpNet| of.contains(&net));
        let Some((of, what)) = UNUSABLE.iter().find(within) else { return };
        if is_local && what.contains("loopback") {
            return;
        }
        let message = if *of == net.to_string() {
            format!("{net} holds {what}")
        } else {
            format!("{net} is in {of}, which holds {what}")
        };
        self.refuse(path, message, Some("networks of hosts, like \"192.0.2.0/24\""));
    }
}
