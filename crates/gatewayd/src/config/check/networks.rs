//! Networks of different gateways must not overlap.

use ipnet::IpNet;

use crate::config::file::PeerFile;
use cellway_settings::found::Found;
use cellway_settings::leaf::Leaf;

/// Returns true if one contains the other (two prefixes cannot overlap otherwise).
fn overlap(a: &IpNet, b: &IpNet) -> bool {
    a.contains(b) || b.contains(a)
}

/// Networks without hosts that a gateway can reach, and their purpose (RFC 6890).
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

/// Reports every network within one of [`UNUSABLE`]. Loopback addresses in `local` are those of this machine, for
/// forwards and SOCKS of peers.
fn report_unusable(leaves: &[Leaf<IpNet>], local: bool, found: &mut Vec<Found>) {
    for leaf in leaves {
        let Some(net) = leaf.get() else { continue };
        let within = |(of, _): &&(&str, &str)| of.parse().is_ok_and(|of: IpNet| of.contains(net));
        let Some((of, what)) = UNUSABLE.iter().find(within) else { continue };
        if !(local && what.contains("loopback")) {
            let message = if *of == net.to_string() {
                format!("{net} holds {what}")
            } else {
                format!("{net} is in {of}, which holds {what}")
            };
            found.push(leaf.wrong(message).accepted("networks of hosts, like \"192.0.2.0/24\""));
        }
    }
}

/// Reports every network that overlaps an earlier one: `local` first, then those of the peers.
pub(super) fn check(local: &[Leaf<IpNet>], peers: &[PeerFile], found: &mut Vec<Found>) {
    report_unusable(local, true, found);
    peers.iter().flat_map(|peer| &peer.prefixes).for_each(|prefixes| report_unusable(prefixes, false, found));
    let mut seen: Vec<(IpNet, String)> = Vec::new();
    let of_peers = peers.iter().flat_map(|peer| {
        let name = peer.name.as_ref().and_then(Leaf::get);
        let whose = name.map_or_else(|| "another peer".to_owned(), |name| format!("peer \"{}\"", name.0));
        peer.prefixes.iter().flatten().map(move |leaf| (leaf, whose.clone()))
    });
    for (leaf, whose) in local.iter().map(|leaf| (leaf, "this gateway".to_owned())).chain(of_peers) {
        let Some(net) = leaf.get() else { continue };
        if let Some((other, owner)) = seen.iter().find(|(other, _)| overlap(other, net)) {
            let message = if other == net {
                format!("{net} belongs to {owner} already")
            } else {
                format!("{net} overlaps {other}, which belongs to {owner}")
            };
            found.push(leaf.wrong(message).accepted("networks that no other gateway has, none within another"));
        }
        seen.push((*net, whose));
    }
}
