//! A network belongs to one gateway alone.

use ipnet::IpNet;

use crate::config::file::PeerFile;
use crate::config::leaf::Leaf;
use crate::config::problem::Found;

/// Whether one contains the other (there is no other way for two prefixes to overlap).
fn overlap(a: &IpNet, b: &IpNet) -> bool {
    a.contains(b) || b.contains(a)
}

/// Tells every network that overlaps one before it: `local` first, then those of the peers.
pub(super) fn check(local: &[Leaf<IpNet>], peers: &[PeerFile], found: &mut Vec<Found>) {
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
