//! Paths through the network.

use cellway_units::{Rate, Span};

use crate::model::{Access, App, Attachment, Framing, Link, LinkIndex, Node, NodeIndex, NodeKind, Scenario, Traffic};

impl Scenario {
    /// The links from one node to another: the fewest links; among those the least propagation
    /// delay; among those the path whose links stand first in the file, compared link by link.
    /// `None` if there is no path. Hosts do not forward.
    pub fn route(&self, from: NodeIndex, to: NodeIndex) -> Option<Vec<LinkIndex>> {
        route(&self.nodes, &self.links, from, to)
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
        // At most two figures of each port and five of each conversation.
        let lossy = |group: &&Traffic| group.access.is_some_and(|access| !access.loss.is_zero());
        let access_ports: u64 = self.traffic.iter().filter(lossy).map(|group| 4 * u64::from(group.count)).sum();
        let figures = 2 * (2 * self.links.len() as u64 + access_ports) + 5 * self.conversations();
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
    /// The end that is not `node`; `None` if `node` is neither.
    pub fn other(&self, node: NodeIndex) -> Option<NodeIndex> {
        match node {
            n if n == self.a => Some(self.b),
            n if n == self.b => Some(self.a),
            _ => None,
        }
    }
}

pub(crate) fn route(nodes: &[Node], links: &[Link], from: NodeIndex, to: NodeIndex) -> Option<Vec<LinkIndex>> {
    // Breadth first, one hop at a time, keeping the best path to each node: a path of as many
    // hops can only be better by its delay or its links, and both compare prefix by prefix.
    let mut best: Vec<Option<(Span, Vec<LinkIndex>)>> = vec![None; nodes.len()];
    *best.get_mut(from.0)? = Some((Span::ZERO, Vec::new()));
    let mut frontier = vec![from];
    while !frontier.is_empty() && best.get(to.0)?.is_none() {
        let mut found: Vec<Option<(Span, Vec<LinkIndex>)>> = vec![None; nodes.len()];
        for &here in &frontier {
            if here != from && nodes[here.0].kind == NodeKind::Host {
                continue;
            }
            let Some((delay, path)) = &best[here.0] else { continue };
            for (i, link) in links.iter().enumerate() {
                let Some(there) = link.other(here) else { continue };
                if best[there.0].is_some() {
                    continue;
                }
                let mut longer = path.clone();
                longer.push(LinkIndex(i));
                let candidate = (*delay + link.delay, longer);
                if found[there.0].as_ref().is_none_or(|known| candidate < *known) {
                    found[there.0] = Some(candidate);
                }
            }
        }
        frontier.clear();
        for (i, path) in found.into_iter().enumerate() {
            if path.is_some() {
                best[i] = path;
                frontier.push(NodeIndex(i));
            }
        }
    }
    best[to.0].take().map(|(_, path)| path)
}

/// The rate and the framing of the slowest link, of equally slow ones of one that carries cells; links of hosts of their
/// own count only where no link of the route carries cells.
pub(crate) fn bottleneck(links: &[Link], route: &[LinkIndex], access: Option<Access>) -> Option<(Rate, Framing)> {
    let route = || route.iter().map(|l| &links[l.0]);
    let access = access.filter(|_| route().all(|link| link.framing != Framing::Atm));
    let access = access.map(|access| (access.rate, access.framing));
    route()
        .map(|link| (link.rate, link.framing))
        .chain(access)
        .min_by_key(|&(rate, framing)| (rate, framing != Framing::Atm))
}

/// The links of a group between the gateways that split its connections; none without them.
pub(crate) fn between_gateways<'t>(links: &[Link], traffic: &'t Traffic) -> &'t [LinkIndex] {
    let Some(gateways) = traffic.gateways else { return &[] };
    let nodes = visited(links, traffic.from.node(), &traffic.route);
    match gateways.map(|gateway| nodes.iter().position(|node| *node == gateway)) {
        [Some(first), Some(last)] => &traffic.route[first..last],
        _ => &[],
    }
}

/// What the first cells of a group's data are sent on, and its rate: where responders send most, seen from their end.
/// Links between gateways do not count: what they carry has no service of the group's.
pub(crate) fn source_line(links: &[Link], traffic: &Traffic) -> Option<(String, Rate)> {
    match source(links, traffic)? {
        Source::Access(access) => Some(("the access link".to_owned(), access.rate)),
        Source::Link(link) => Some((format!("link {:?}", links[link.0].name), links[link.0].rate)),
    }
}

/// The link of the network that the first cells of a group's data are sent on; none if that is an access link.
pub(crate) fn source_link(links: &[Link], traffic: &Traffic) -> Option<LinkIndex> {
    match source(links, traffic)? {
        Source::Access(_) => None,
        Source::Link(link) => Some(link),
    }
}

/// Where the first cells of a group's data are sent.
enum Source {
    Access(Access),
    Link(LinkIndex),
}

fn source(links: &[Link], traffic: &Traffic) -> Option<Source> {
    let between = between_gateways(links, traffic);
    let own = |end: Attachment| traffic.access.filter(|_| matches!(end, Attachment::Router(_))).map(Source::Access);
    let route = traffic.route.iter().filter(|link| !between.contains(link)).map(|link| Source::Link(*link));
    let mut lines: Vec<Source> = own(traffic.from).into_iter().chain(route).chain(own(traffic.to)).collect();
    if matches!(traffic.app, App::FtpGet { .. } | App::Www { .. }) {
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
        one_way += links[link.0].delay;
    }
    one_way.saturating_mul(2)
}
