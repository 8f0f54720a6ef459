//! The names of output ports in results.

use std::collections::BTreeMap;

use crate::model::{Link, LinkIndex, NodeIndex, Scenario};

impl Scenario {
    /// Returns the name of the output port of `node` over `link`, unique in the scenario: "r1>s1", or, where several
    /// links join the two nodes, "r1>s1/spare" with the name of the link.
    ///
    /// # Panics
    /// If `node` is no end of `link`.
    pub fn port_name(&self, node: NodeIndex, link: LinkIndex) -> String {
        let is_parallel = self.links.iter().filter(|other| pair(other) == pair(&self.links[link.0])).count() > 1;
        self.named(node, link, is_parallel)
    }

    /// Returns the names of the two output ports of each link, in the directions a to b and b to a.
    pub fn port_names(&self) -> Vec<[String; 2]> {
        let mut links_between: BTreeMap<[NodeIndex; 2], usize> = BTreeMap::new();
        self.links.iter().for_each(|link| *links_between.entry(pair(link)).or_default() += 1);
        let of_link = |(index, link): (usize, &Link)| {
            [link.a, link.b].map(|node| self.named(node, LinkIndex(index), links_between[&pair(link)] > 1))
        };
        self.links.iter().enumerate().map(of_link).collect()
    }

    fn named(&self, node: NodeIndex, link: LinkIndex, is_parallel: bool) -> String {
        let spec = &self.links[link.0];
        let other = spec.other(node).expect("the node is an end of the link");
        let [from, to] = [node, other].map(|node| &self.nodes[node.0].name);
        if is_parallel { format!("{from}>{to}/{}", spec.name) } else { format!("{from}>{to}") }
    }
}

/// Returns the ends of a link in an order that does not depend on the direction.
pub(crate) fn pair(link: &Link) -> [NodeIndex; 2] {
    [link.a.min(link.b), link.a.max(link.b)]
}
