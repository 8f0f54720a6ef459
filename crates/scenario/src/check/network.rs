//! Nodes and links.

use cellway_units::{Cells, Rate};

use crate::check::Check;
use crate::check::names::Names;
use crate::check::timeline::rates_at_start;
use crate::file::{ChangeFile, LinkFile, LostFile, NodeFile};
use crate::model::{Buffer, BufferPer, BufferSize, Charge, Discard, Link, Node, NodeIndex, NodeKind, Queue, Sharing};
use crate::route::Graph;
use crate::tree::{Step, at};

/// Stands until buffers are resolved, which takes the traffic.
const NO_BUFFER: Buffer = Buffer {
    size: BufferSize::Cells(Cells(0)),
    per: BufferPer::Conversation,
    sharing: Sharing::Pool,
    count: Charge::Cell,
    discard: Discard::Frame,
    threshold: None,
    clp_threshold: None,
    queue: Queue::PLAIN,
};

/// Nodes and links that are right.
pub(super) struct Network {
    pub(super) nodes: Vec<Node>,
    pub(super) links: Vec<Link>,
    pub(super) node_names: Names,
    pub(super) link_names: Names,
    pub(super) graph: Graph,
    /// The rates of the links when the run starts, forward and back.
    pub(super) rates: Vec<[Rate; 2]>,
}

impl Check<'_> {
    pub(super) fn network(
        &mut self,
        nodes: &[NodeFile],
        links: &[LinkFile],
        changes: &[ChangeFile],
    ) -> Option<Network> {
        let before = self.found.len();
        let names = nodes
            .iter()
            .enumerate()
            .map(|(i, node)| self.name(&at!["node", i, "name"], node.name.as_deref()).map(str::to_owned));
        let names = Names::new(names.collect());
        self.unique("node", &names, "a name of its own");
        let kinds: Vec<Option<NodeKind>> = nodes.iter().map(|node| node.kind).collect();

        let link_names = Names::new(links.iter().enumerate().map(|(i, link)| self.link_name(i, link)).collect());
        self.unique("link", &link_names, "a name of its own, also for a second link between the same nodes");
        let ends: Vec<Option<[usize; 2]>> =
            links.iter().enumerate().map(|(i, link)| self.ends(i, link, &names)).collect();
        let checked: Vec<Option<Link>> = links
            .iter()
            .enumerate()
            .map(|(i, link)| {
                let [a, b] = ends[i]?;
                let framing = self.framing(i, link, [kinds[a]?, kinds[b]?])?;
                let lost = self.lost(i, link.lost.as_ref()?.as_ref());
                let directions = self.directions(i, link, framing);
                let name = link_names.get(i)?.to_owned();
                Some(Link {
                    name,
                    a: NodeIndex(a),
                    b: NodeIndex(b),
                    rate: link.rate?.rate,
                    delay: link.delay?,
                    framing,
                    mtu: link.mtu?.unwrap_or(framing.usual_mtu()),
                    loss: link.loss?,
                    directions: directions?,
                    traces: [None, None],
                    lost: lost?,
                    buffer: NO_BUFFER,
                })
            })
            .collect();
        self.hosts(&names, &kinds, &ends);

        let machines: Vec<_> = nodes.iter().enumerate().map(|(i, node)| self.machine(i, node, &names, nodes)).collect();
        let nodes: Option<Vec<Node>> = kinds
            .into_iter()
            .zip(machines)
            .enumerate()
            .map(|(i, (kind, machine))| {
                let (host, gateway) = machine?;
                Some(Node { name: names.get(i)?.to_owned(), kind: kind?, host, gateway })
            })
            .collect();
        let links: Option<Vec<Link>> = checked.into_iter().collect();
        let (nodes, links) = (nodes?, links?);
        let rates = rates_at_start(changes, &links);
        let mut graph = Graph::new(&nodes, &links);
        graph.set_rates(rates.iter().map(|[forward, _]| *forward));
        let network = Network { nodes, links, node_names: names, link_names, graph, rates };
        (self.found.len() == before).then_some(network)
    }

    fn link_name(&mut self, i: usize, link: &LinkFile) -> Option<String> {
        match (link.name.as_ref()?, link.between.as_deref()) {
            (Some(name), _) => self.name(&at!["link", i, "name"], Some(name)).map(str::to_owned),
            (None, Some([a, b])) => Some(format!("{a}-{b}")),
            _ => None,
        }
    }

    /// Returns the numbers of the units that a link loses, in each direction; empty if they are not given.
    fn lost(&mut self, i: usize, given: Option<&LostFile>) -> Option<[Vec<u64>; 2]> {
        let Some(given) = given else { return Some([Vec::new(), Vec::new()]) };
        let forward = self.ascending(&at!["link", i, "lost", "forward"], given.forward.as_ref());
        let back = self.ascending(&at!["link", i, "lost", "back"], given.back.as_ref());
        Some([forward?, back?])
    }

    /// Numbers from 1 on, each larger than the one before.
    fn ascending(&mut self, path: &[Step], given: Option<&Option<Vec<u64>>>) -> Option<Vec<u64>> {
        let numbers = given?.clone().unwrap_or_default();
        if let Some(pair) = numbers.windows(2).find(|pair| pair[0] >= pair[1]) {
            self.refuse(path, format!("{} follows {}", pair[1], pair[0]), "ascending numbers, like [5, 17, 18]");
            return None;
        }
        Some(numbers)
    }

    fn ends(&mut self, i: usize, link: &LinkFile, names: &Names) -> Option<[usize; 2]> {
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

    /// A host is attached by exactly one link.
    fn hosts(&mut self, names: &Names, kinds: &[Option<NodeKind>], ends: &[Option<[usize; 2]>]) {
        if ends.iter().any(Option::is_none) {
            return;
        }
        let mut links_of = vec![0; kinds.len()];
        ends.iter().flatten().flatten().for_each(|&end| links_of[end] += 1);
        for (i, (kind, links)) in kinds.iter().zip(links_of).enumerate() {
            let (Some(NodeKind::Host), Some(name)) = (kind, names.get(i)) else { continue };
            if links != 1 {
                let message = format!("host {name:?} has {links} links");
                self.refuse(&at!["node", i], message, "exactly one link");
            }
        }
    }
}
