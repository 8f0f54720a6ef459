//! Nodes and links.

use cellway_units::{Cells, Probability};

use crate::check::Check;
use crate::file::{LinkFile, NodeFile};
use crate::found::{Found, one_of};
use crate::model::{
    Buffer, BufferCount, BufferPer, BufferSharing, BufferSize, Discard, Link, Node, NodeIndex, NodeKind,
};
use crate::problem::nearest;
use crate::quantity::Quantity;
use crate::tree::{Step, at};

/// Stands until buffers are resolved, which takes the traffic.
const NO_BUFFER: Buffer = Buffer {
    size: BufferSize::Cells(Cells(0)),
    per: BufferPer::Conversation,
    sharing: BufferSharing::Pool,
    count: BufferCount::Cell,
    discard: Discard::Frame,
    threshold: None,
    clp_threshold: None,
};

/// Nodes and links that are right.
pub(super) struct Network {
    pub(super) nodes: Vec<Node>,
    pub(super) links: Vec<Link>,
}

impl Check<'_> {
    pub(super) fn network(&mut self, nodes: &[NodeFile], links: &[LinkFile]) -> Option<Network> {
        let before = self.found.len();
        let names: Vec<Option<String>> = nodes
            .iter()
            .enumerate()
            .map(|(i, node)| self.name(&at!["node", i, "name"], node.name.as_deref()).map(str::to_owned))
            .collect();
        self.unique("node", &names, "a name of its own");
        let kinds: Vec<Option<NodeKind>> = nodes.iter().map(|node| node.kind).collect();

        let link_names: Vec<Option<String>> =
            links.iter().enumerate().map(|(i, link)| self.link_name(i, link)).collect();
        self.unique("link", &link_names, "a name of its own, also for a second link between the same nodes");
        let ends: Vec<Option<[usize; 2]>> =
            links.iter().enumerate().map(|(i, link)| self.ends(i, link, &names)).collect();
        let checked: Vec<Option<Link>> = links
            .iter()
            .enumerate()
            .map(|(i, link)| {
                let line = link.rate.map(|q| q.0);
                let rate = line.and_then(|line| self.rate(&at!["link", i, "rate"], line.rate));
                let [a, b] = ends[i]?;
                let framing =
                    self.framing(i, link.framing, line.and_then(|line| line.framing), [kinds[a]?, kinds[b]?])?;
                let mtu = self.mtu(&at!["link", i, "mtu"], link.mtu, framing);
                let loss = self.loss(&at!["link", i, "loss"], link.loss);
                let name = link_names[i].clone()?;
                Some(Link {
                    name,
                    a: NodeIndex(a),
                    b: NodeIndex(b),
                    rate: rate?,
                    delay: link.delay?.0,
                    framing,
                    mtu: mtu?,
                    loss: loss?,
                    buffer: NO_BUFFER,
                })
            })
            .collect();
        self.hosts(&names, &kinds, &ends);

        let machines: Vec<_> = nodes.iter().enumerate().map(|(i, node)| self.machine(i, node, &names, nodes)).collect();
        let nodes: Option<Vec<Node>> = names
            .into_iter()
            .zip(kinds)
            .zip(machines)
            .map(|((name, kind), machine)| {
                let (host, gateway) = machine?;
                Some(Node { name: name?, kind: kind?, host, gateway })
            })
            .collect();
        let links: Option<Vec<Link>> = checked.into_iter().collect();
        let network = Network { nodes: nodes?, links: links? };
        (self.found.len() == before).then_some(network)
    }

    fn link_name(&mut self, i: usize, link: &LinkFile) -> Option<String> {
        let path = at!["link", i, "name"];
        match (&link.name, link.between.as_deref()) {
            (Some(name), _) => self.name(&path, Some(name)).map(str::to_owned),
            (None, Some([a, b])) if !self.is_bad(&path) => Some(format!("{a}-{b}")),
            _ => None,
        }
    }

    /// A rate that is not zero.
    pub(super) fn rate(&mut self, path: &[Step], rate: cellway_units::Rate) -> Option<cellway_units::Rate> {
        if rate.as_bps() == 0 {
            self.refuse_value(path, "is zero: nothing would ever leave", "more than 0, like \"1.5 Mbit/s\"");
            return None;
        }
        Some(rate)
    }

    /// A chance of loss; none if it is not given.
    pub(super) fn loss(&mut self, path: &[Step], given: Option<Quantity<Probability>>) -> Option<Probability> {
        (!self.is_bad(path)).then(|| given.map_or(Probability::ZERO, |q| q.0))
    }

    fn ends(&mut self, i: usize, link: &LinkFile, names: &[Option<String>]) -> Option<[usize; 2]> {
        let [a, b] = link.between.as_deref()? else { return None };
        let path = at!["link", i, "between"];
        let a_index = self.node_named(&at!["link", i, "between", 0], a, names);
        let b_index = self.node_named(&at!["link", i, "between", 1], b, names);
        let ends = [a_index?, b_index?];
        if ends[0] == ends[1] {
            self.refuse(&path, format!("both ends are {a:?}"), "two different nodes");
            return None;
        }
        Some(ends)
    }

    /// The place of the node called `name`; reported at `path` if there is none.
    pub(super) fn node_named(&mut self, path: &[Step], name: &str, names: &[Option<String>]) -> Option<usize> {
        self.named(path, "node", name, names)
    }

    /// The place of what `name` means among things of a kind, as `what` calls it; reported at `path` if there is none.
    pub(super) fn named(&mut self, path: &[Step], what: &str, name: &str, names: &[Option<String>]) -> Option<usize> {
        let place = names.iter().position(|n| n.as_deref() == Some(name));
        if place.is_none() {
            // One whose own name was refused may be the one that is meant.
            if names.iter().all(Option::is_some) {
                let known = || names.iter().flatten().map(String::as_str);
                let found = Found::in_tree(self.tree, path, format!("there is no {what} {name:?}"));
                self.push(found.suggest(nearest(name, known()).map(|n| format!("{n:?}"))).accepted(one_of(known())));
            }
        }
        place
    }

    /// A host is attached by exactly one link.
    fn hosts(&mut self, names: &[Option<String>], kinds: &[Option<NodeKind>], ends: &[Option<[usize; 2]>]) {
        if ends.iter().any(Option::is_none) {
            return;
        }
        for (i, kind) in kinds.iter().enumerate() {
            let (Some(NodeKind::Host), Some(name)) = (kind, &names[i]) else { continue };
            let links = ends.iter().flatten().filter(|ends| ends.contains(&i)).count();
            if links != 1 {
                let message = format!("host {name:?} has {links} links");
                self.refuse(&at!["node", i], message, "exactly one link");
            }
        }
    }
}
