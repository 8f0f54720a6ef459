//! Warnings about links that carry nothing, and about bins that are longer than requested.

use std::collections::BTreeSet;

use crate::found::Found;
use crate::model::{LinkIndex, NodeIndex, NodeKind, Scenario};
use crate::plan::Point;
use crate::ports::pair;
use crate::route::Graph;
use crate::tree::{Node, at};

/// Returns warnings about the links and the bins of a plan; `points` are all its points.
pub(crate) fn warnings(tree: &Node, points: &[Point]) -> Vec<Found> {
    let Some(first) = points.first().map(|point| &point.scenario) else { return Vec::new() };
    let link = |index: LinkIndex| Found::in_tree(tree, &at!["link", index.0], unused_link(first, index));
    let bins = longer_bins(first).map(|told| Found::in_tree(tree, &at!["observe", "interval"], told));
    unused_links(points).into_iter().map(link).chain(bins).collect()
}

/// Returns the links that no point uses.
fn unused_links(points: &[Point]) -> BTreeSet<LinkIndex> {
    let links = points.first().map_or(0, |point| point.scenario.links.len());
    let mut unused: BTreeSet<LinkIndex> = (0..links).map(LinkIndex).collect();
    for point in points {
        if unused.is_empty() {
            break;
        }
        let used = used_links(&point.scenario);
        unused.retain(|link| !used.contains(link));
    }
    unused
}

/// Returns a warning if bins are longer than the file says.
fn longer_bins(scenario: &Scenario) -> Option<String> {
    let (bin, given) = (scenario.bin(), scenario.observe.interval);
    (scenario.observe.series && bin > given).then(|| {
        format!(
            "is {given}, but the bins of the series are {bin} long, to keep the rows of a run below {}; a larger \
             observe.max-rows keeps more",
            scenario.observe.max_rows
        )
    })
}

/// Returns the links on the route of any traffic group, the links of hosts, which a file may keep for later use, and,
/// where programs run in hosts, the links between any two hosts.
fn used_links(scenario: &Scenario) -> BTreeSet<LinkIndex> {
    let mut used: BTreeSet<LinkIndex> = scenario.traffic.iter().flat_map(|group| group.route.iter().copied()).collect();
    let is_host = |node: NodeIndex| scenario.nodes[node.0].kind == NodeKind::Host;
    let of_host = |&link: &usize| [scenario.links[link].a, scenario.links[link].b].into_iter().any(is_host);
    used.extend((0..scenario.links.len()).filter(of_host).map(LinkIndex));
    if scenario.commands.is_empty() {
        return used;
    }
    let is_end = |node: &NodeIndex| matches!(scenario.nodes[node.0].kind, NodeKind::Host | NodeKind::Gateway);
    let of_nodes = (0..scenario.nodes.len()).map(NodeIndex).filter(is_end);
    let of_traffic = scenario.traffic.iter().flat_map(|group| [group.from.node(), group.to.node()]);
    let ends: Vec<NodeIndex> = of_nodes.chain(of_traffic).collect::<BTreeSet<_>>().into_iter().collect();
    let graph = Graph::new(&scenario.nodes, &scenario.links);
    for (place, &from) in ends.iter().enumerate() {
        for &to in &ends[place + 1..] {
            used.extend(graph.routes(from, Some(to)).to(to).unwrap_or_default());
        }
    }
    used
}

fn unused_link(scenario: &Scenario, index: LinkIndex) -> String {
    let link = &scenario.links[index.0];
    let [a, b] = [link.a, link.b].map(|node| &scenario.nodes[node.0].name);
    let parallel: Vec<&str> = (0..scenario.links.len())
        .filter(|&other| other != index.0 && pair(&scenario.links[other]) == pair(link))
        .map(|other| &scenario.links[other].name[..])
        .collect();
    let why = match parallel[..] {
        [] => "no route of the traffic contains it".to_owned(),
        _ => format!(
            "no route contains it, because {} joins the same nodes; a route takes the link with the least delay, or \
             the first in the file, and never shares its packets among parallel links",
            parallel.join(", ")
        ),
    };
    format!("carries nothing from {a} to {b}: {why}")
}
