//! Paths through the network.

use std::collections::BTreeMap;
use std::ops::Range;

use cellway_spec::OutagePackets;
use cellway_units::{Rate, Span};

use crate::model::{Access, Attachment, Framing, Link, LinkIndex, Node, NodeIndex, NodeKind, Scenario, Traffic};

impl Scenario {
    /// The links from one node to another: the fewest links; among those the least propagation
    /// delay; among those the path whose links stand first in the file, compared link by link.
    /// `None` if there is no path. Hosts do not forward.
    pub fn route(&self, from: NodeIndex, to: NodeIndex) -> Option<Vec<LinkIndex>> {
        Graph::new(&self.nodes, &self.links).routes(from, Some(to)).to(to)
    }

    /// The nodes that `links` visit in turn, `from` first.
    ///
    /// # Panics
    /// If `links` are not a path from `from`.
    pub fn visited(&self, from: NodeIndex, links: &[LinkIndex]) -> Vec<NodeIndex> {
        visited(&self.links, from, links)
    }

    /// Twice the propagation delay between the hosts of a group, access links included.
    pub fn propagation_round_trip(&self, traffic: &Traffic) -> Span {
        round_trip(&self.links, &traffic.route, [traffic.from, traffic.to], traffic.access.map(|a| a.delay))
    }

    /// The rate of the slowest link on the path of any group ([`Traffic::bottleneck`]); what "bdp" in the file uses.
    pub fn bottleneck(&self) -> Option<Rate> {
        self.traffic.iter().map(|t| t.bottleneck).min()
    }

    /// The bin of the series: [`Observe::interval`](crate::Observe::interval), doubled until the bins of a run have no
    /// more than [`Observe::max_rows`](crate::Observe::max_rows) rows.
    pub fn bin(&self) -> Span {
        // At most two figures of each port, five of each conversation and five more of each in `observe.flows`.
        let lossy = |group: &&Traffic| group.access.is_some_and(|access| !access.loss.is_zero());
        let access_ports: u64 = self.traffic.iter().filter(lossy).map(|group| 4 * u64::from(group.count)).sum();
        let figures = 2 * (2 * self.links.len() as u64 + access_ports) + 5 * self.conversations();
        let figures = figures + 5 * self.observe.flows.len() as u64;
        let mut bin = self.observe.interval;
        let rows = |bin: Span| figures.saturating_mul(self.run.duration.as_ps() / bin.as_ps());
        while rows(bin) > self.observe.max_rows && bin < self.run.duration {
            bin = bin.saturating_mul(2).min(self.run.duration);
        }
        bin
    }

    /// The number of conversation slots of all groups.
    pub fn conversations(&self) -> u64 {
        self.traffic.iter().map(|t| u64::from(t.count)).sum()
    }
}

impl Link {
    /// Returns true if it loses or corrupts anything, by chance or by number.
    pub fn is_lossy(&self) -> bool {
        let loses = |direction: usize| {
            let own = &self.directions[direction];
            let in_outages = !own.outage.length.is_zero() && own.outage.packets == OutagePackets::Lost;
            // Until the table has been read it may have losses.
            let recorded = self.traces[direction].as_ref().is_none_or(|trace| trace.loss.is_some());
            !self.loss_of(direction).is_zero()
                || !own.corrupt.is_zero()
                || in_outages
                || (own.trace.csv.is_some() && recorded)
        };
        loses(0) || loses(1) || self.loses_by_number()
    }

    /// Returns true if it loses packets or cells that `lost` lists.
    pub fn loses_by_number(&self) -> bool {
        self.lost.iter().any(|numbers| !numbers.is_empty())
    }

    /// The end that is not `node`; `None` if `node` is neither.
    pub fn other(&self, node: NodeIndex) -> Option<NodeIndex> {
        match node {
            n if n == self.a => Some(self.b),
            n if n == self.b => Some(self.a),
            _ => None,
        }
    }
}

/// The links of each node.
pub(crate) struct Graph {
    /// True for each node that is a host, which does not forward.
    is_host: Vec<bool>,
    /// The delay and the rate of each link.
    lines: Vec<(Span, Rate)>,
    /// For each node its links and the nodes at their other ends, in file order.
    of_node: Vec<Vec<(LinkIndex, NodeIndex)>>,
    /// The same without links to hosts, which do not forward: a router with thousands of hosts may have few other
    /// links.
    through: Vec<Vec<(LinkIndex, NodeIndex)>>,
}

/// The best routes from one node to others.
pub(crate) struct Routes {
    /// The nodes that were reached; a table of all nodes would make the routes of all groups quadratic.
    reached: BTreeMap<NodeIndex, Reached>,
    /// The number of ends of links that were examined.
    #[cfg(test)]
    looked_at: usize,
}

/// The end of a route, with its properties.
#[derive(Clone, Copy)]
pub(crate) struct Reached {
    /// The sum of the propagation delays.
    pub(crate) delay: Span,
    /// The rate of the slowest link; `None` at the start.
    pub(crate) slowest: Option<Rate>,
    /// The node before the last link, and that link; `None` at the start.
    last: Option<(NodeIndex, LinkIndex)>,
}

impl Graph {
    pub(crate) fn new(nodes: &[Node], links: &[Link]) -> Graph {
        let mut of_node = vec![Vec::new(); nodes.len()];
        for (i, link) in links.iter().enumerate() {
            of_node[link.a.0].push((LinkIndex(i), link.b));
            of_node[link.b.0].push((LinkIndex(i), link.a));
        }
        let is_host: Vec<bool> = nodes.iter().map(|node| node.kind == NodeKind::Host).collect();
        let forwarding =
            |all: &Vec<(LinkIndex, NodeIndex)>| all.iter().copied().filter(|(_, n)| !is_host[n.0]).collect();
        let through = of_node.iter().map(forwarding).collect();
        let lines = links.iter().map(|link| (link.mean_delay(), link.rate_of(0))).collect();
        Graph { is_host, lines, of_node, through }
    }

    /// Sets the rates of all links.
    pub(crate) fn set_rates(&mut self, rates: impl IntoIterator<Item = Rate>) {
        self.lines.iter_mut().zip(rates).for_each(|(line, rate)| line.1 = rate);
    }

    /// Returns the links of a node that may be part of a route to `to`, or of any route.
    fn onward(&self, here: NodeIndex, to: Option<NodeIndex>) -> impl Iterator<Item = (LinkIndex, NodeIndex)> {
        let links = if to.is_some() { &self.through[here.0] } else { &self.of_node[here.0] };
        let host = to.filter(|to| self.is_host[to.0]);
        let last = host.into_iter().flat_map(move |to| {
            let of_host = self.of_node[to.0].iter().filter(move |(_, before)| *before == here);
            of_host.map(move |&(link, _)| (link, to))
        });
        links.iter().copied().chain(last)
    }

    /// Returns the routes from `from` to all nodes, or to `to` and all nearer nodes that forward. Takes time in
    /// proportion to these nodes and their links.
    pub(crate) fn routes(&self, from: NodeIndex, to: Option<NodeIndex>) -> Routes {
        let mut routes = Routes {
            reached: BTreeMap::new(),
            #[cfg(test)]
            looked_at: 0,
        };
        if [Some(from), to].into_iter().flatten().any(|node| node.0 >= self.of_node.len()) {
            return routes;
        }
        routes.reached.insert(from, Reached { delay: Span::ZERO, slowest: None, last: None });
        // Breadth first, one hop at a time, keeping the best path to each node: of two paths with as many hops the
        // better one has less delay or, for equal delay, earlier links, and both compare prefix by prefix. The nodes of
        // a hop are in the order of their paths, compared link by link, so a path compares by the index of the node
        // before it and by its last link.
        let mut frontier = vec![from];
        while !frontier.is_empty() && to.is_none_or(|to| routes.at(to).is_none()) {
            let mut found: BTreeMap<NodeIndex, (Span, usize, LinkIndex)> = BTreeMap::new();
            for (place, &here) in frontier.iter().enumerate() {
                if here != from && self.is_host[here.0] {
                    continue;
                }
                let Some(Reached { delay, .. }) = routes.at(here) else { continue };
                #[cfg(test)]
                {
                    routes.looked_at += self.onward(here, to).count();
                }
                for (link, there) in self.onward(here, to).filter(|(_, there)| routes.at(*there).is_none()) {
                    let candidate = (delay + self.lines[link.0].0, place, link);
                    let best = found.entry(there).or_insert(candidate);
                    *best = candidate.min(*best);
                }
            }
            let mut next: Vec<(usize, LinkIndex, NodeIndex)> = Vec::with_capacity(found.len());
            for (there, (delay, place, link)) in found {
                let here = frontier[place];
                let rate = self.lines[link.0].1;
                let before = routes.at(here).and_then(|before| before.slowest);
                let slowest = Some(before.map_or(rate, |before| before.min(rate)));
                routes.reached.insert(there, Reached { delay, slowest, last: Some((here, link)) });
                next.push((place, link, there));
            }
            next.sort_unstable();
            frontier = next.into_iter().map(|(.., there)| there).collect();
        }
        routes
    }
}

impl Routes {
    /// Returns the end of the route to `to`, if one exists.
    pub(crate) fn at(&self, to: NodeIndex) -> Option<Reached> {
        self.reached.get(&to).copied()
    }

    /// Returns the links of the route to `to`.
    pub(crate) fn to(&self, to: NodeIndex) -> Option<Vec<LinkIndex>> {
        let (mut route, mut here) = (Vec::new(), to);
        while let Some((before, link)) = self.at(here)?.last {
            route.push(link);
            here = before;
        }
        route.reverse();
        Some(route)
    }
}

/// Returns the rate and the framing of the slowest link of `route`; of equally slow ones, of one that carries cells. Access links
/// count only where no link of the route carries cells.
pub(crate) fn bottleneck(
    route: impl Iterator<Item = (Rate, Framing)> + Clone,
    access: Option<Access>,
) -> Option<(Rate, Framing)> {
    let access = access.filter(|_| route.clone().all(|(_, framing)| framing != Framing::Atm));
    let access = access.map(|access| (access.rate, access.framing));
    route.chain(access).min_by_key(|&(rate, framing)| (rate, framing != Framing::Atm))
}

/// Returns the indices in the route of a group of the links between the gateways that split its connections; empty
/// without gateways.
pub(crate) fn between_gateways(links: &[Link], traffic: &Traffic) -> Range<usize> {
    let Some(gateways) = traffic.gateways() else { return 0..0 };
    let nodes = visited(links, traffic.from.node(), &traffic.route);
    match gateways.map(|gateway| nodes.iter().position(|node| *node == gateway)) {
        [Some(first), Some(last)] => first..last,
        _ => 0..0,
    }
}

/// Returns the line on which the first cells of a group's data are sent, and its rate: where responders send most, seen from their end.
/// Links between gateways do not count: what they carry has no service of the group's.
pub(crate) fn source_line(links: &[Link], traffic: &Traffic) -> Option<(String, Rate)> {
    match source(links, traffic)? {
        Source::Access(access) => Some(("the access link".to_owned(), access.rate)),
        Source::Link(link) => Some((format!("link {:?}", links[link.0].name), links[link.0].rate)),
    }
}

/// Returns the link of the network on which the first cells of a group's data are sent; `None` if that is an access
/// link.
pub(crate) fn source_link(links: &[Link], traffic: &Traffic) -> Option<LinkIndex> {
    match source(links, traffic)? {
        Source::Access(_) => None,
        Source::Link(link) => Some(link),
    }
}

/// The link on which the first cells of a group's data are sent.
enum Source {
    Access(Access),
    Link(LinkIndex),
}

fn source(links: &[Link], traffic: &Traffic) -> Option<Source> {
    let between = between_gateways(links, traffic);
    let own = |end: Attachment| traffic.access.filter(|_| matches!(end, Attachment::Router(_))).map(Source::Access);
    let route = traffic.route.iter().enumerate().filter(|(place, _)| !between.contains(place));
    let route = route.map(|(_, link)| Source::Link(*link));
    let mut lines: Vec<Source> = own(traffic.from).into_iter().chain(route).chain(own(traffic.to)).collect();
    if traffic.responder_sends() {
        lines.reverse();
    }
    let framing = |line: &Source| match line {
        Source::Access(access) => access.framing,
        Source::Link(link) => links[link.0].framing,
    };
    lines.into_iter().find(|line| framing(line) == Framing::Atm)
}

/// The nodes that consecutive links visit.
pub(crate) fn visited(links: &[Link], from: NodeIndex, route: &[LinkIndex]) -> Vec<NodeIndex> {
    let mut nodes = vec![from];
    for &LinkIndex(link) in route {
        let here = nodes[nodes.len() - 1];
        nodes.push(links[link].other(here).expect("consecutive links share a node"));
    }
    nodes
}

pub(crate) fn round_trip(links: &[Link], route: &[LinkIndex], ends: [Attachment; 2], access: Option<Span>) -> Span {
    let implicit = ends.iter().filter(|end| matches!(end, Attachment::Router(_))).count() as u64;
    let mut one_way = access.unwrap_or(Span::ZERO).saturating_mul(implicit);
    for link in route {
        one_way += links[link.0].mean_delay();
    }
    one_way.saturating_mul(2)
}

#[cfg(test)]
mod tests {
    use cellway_units::{Bytes, Cells, Probability};

    use super::*;
    use crate::model::{Buffer, BufferPer, BufferSize, Charge, DirectionKeys, Discard, HostSpec, Queue, Sharing};

    fn nodes(kinds: impl IntoIterator<Item = NodeKind>) -> Vec<Node> {
        let named = |(i, kind)| Node { name: format!("n{i}"), kind, host: HostSpec::default(), gateway: None };
        kinds.into_iter().enumerate().map(named).collect()
    }

    fn link(a: usize, b: usize, delay: u64) -> Link {
        let buffer = Buffer {
            size: BufferSize::Cells(Cells(1)),
            per: BufferPer::Port,
            sharing: Sharing::Pool,
            count: Charge::Cell,
            discard: Discard::Frame,
            threshold: None,
            clp_threshold: None,
            queue: Queue::PLAIN,
        };
        Link {
            name: format!("{a}-{b}"),
            a: NodeIndex(a),
            b: NodeIndex(b),
            rate: Rate::from_bps(1 + delay),
            delay: Span::from_ms(delay),
            framing: Framing::Packet,
            mtu: Bytes(1500),
            loss: Probability::ZERO,
            directions: [DirectionKeys::NONE, DirectionKeys::NONE].map(|keys| keys.resolve().unwrap()),
            traces: [None, None],
            lost: [Vec::new(), Vec::new()],
            buffer,
        }
    }

    /// The same by definition: the least by length, delay and links of all paths that visit no node twice.
    fn by_definition(nodes: &[Node], links: &[Link], from: usize, to: usize) -> Option<Vec<LinkIndex>> {
        fn walk(
            nodes: &[Node],
            links: &[Link],
            path: &mut Vec<usize>,
            seen: &mut Vec<usize>,
            to: usize,
            all: &mut Vec<(usize, Span, Vec<usize>)>,
        ) {
            let here = seen[seen.len() - 1];
            if here == to {
                let delay = path.iter().fold(Span::ZERO, |sum, &link| sum + links[link].delay);
                all.push((path.len(), delay, path.clone()));
                return;
            }
            if seen.len() > 1 && nodes[here].kind == NodeKind::Host {
                return;
            }
            for (i, link) in links.iter().enumerate() {
                let Some(NodeIndex(there)) = link.other(NodeIndex(here)).filter(|there| !seen.contains(&there.0))
                else {
                    continue;
                };
                path.push(i);
                seen.push(there);
                walk(nodes, links, path, seen, to, all);
                seen.pop();
                path.pop();
            }
        }
        let mut all = Vec::new();
        walk(nodes, links, &mut Vec::new(), &mut vec![from], to, &mut all);
        all.into_iter().min().map(|(.., path)| path.into_iter().map(LinkIndex).collect())
    }

    /// Small networks of all kinds, with parallel links and with equal delays.
    #[test]
    fn routes_are_the_least_by_length_delay_and_links() {
        let mut random = 1u64;
        let mut draw = |below: u64| {
            // Numerical Recipes' generator: any would do.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        for _ in 0..300 {
            let n = 2 + draw(5) as usize;
            let nodes = nodes((0..n).map(|_| if draw(4) == 0 { NodeKind::Host } else { NodeKind::Router }));
            let links: Vec<Link> = (0..draw(10))
                .filter_map(|_| {
                    let (a, b) = (draw(n as u64) as usize, draw(n as u64) as usize);
                    (a != b).then(|| link(a, b, draw(3)))
                })
                .collect();
            let graph = Graph::new(&nodes, &links);
            for from in 0..n {
                let all = graph.routes(NodeIndex(from), None);
                for to in 0..n {
                    let expected = by_definition(&nodes, &links, from, to);
                    assert_eq!(graph.routes(NodeIndex(from), Some(NodeIndex(to))).to(NodeIndex(to)), expected);
                    assert_eq!(all.to(NodeIndex(to)), expected, "{from} to {to} of {links:?}");
                    let (Some(end), Some(path)) = (all.at(NodeIndex(to)), expected) else { continue };
                    assert_eq!(end.delay, path.iter().fold(Span::ZERO, |sum, link| sum + links[link.0].delay));
                    assert_eq!(end.slowest, path.iter().map(|link| links[link.0].rate).min());
                }
            }
        }
    }

    #[test]
    fn each_link_is_looked_at_once_from_each_end() {
        let chain = nodes((0..2000).map(|_| NodeKind::Router));
        let links: Vec<Link> = (0..1999).map(|i| link(i, i + 1, 1)).collect();
        let routes = Graph::new(&chain, &links).routes(NodeIndex(0), None);
        assert!(routes.looked_at <= 2 * links.len(), "{}", routes.looked_at);
        assert_eq!(routes.to(NodeIndex(1999)).map(|route| route.len()), Some(1999));
    }

    /// With a thousand hosts at each of two routers, the search for the route of a pair examines its own three links,
    /// not those of the other hosts.
    #[test]
    fn routes_between_hosts_do_not_look_at_other_hosts() {
        const HOSTS: usize = 1000;
        let star = nodes((0..2 + 2 * HOSTS).map(|i| if i < 2 { NodeKind::Router } else { NodeKind::Host }));
        let hosts = (2..2 + 2 * HOSTS).map(|host| link(host, host % 2, 1));
        let links: Vec<Link> = [link(0, 1, 1)].into_iter().chain(hosts).collect();
        let graph = Graph::new(&star, &links);
        let pair = |i: usize| {
            let to = NodeIndex(3 + 2 * i);
            let routes = graph.routes(NodeIndex(2 + 2 * i), Some(to));
            assert_eq!(routes.to(to).map(|route| route.len()), Some(3));
            routes.looked_at + routes.reached.len()
        };
        let work: usize = (0..HOSTS).map(pair).sum();
        assert!(work <= 10 * HOSTS, "{work} links and nodes for {HOSTS} routes");
    }
}
