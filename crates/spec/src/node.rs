//! Kinds of nodes.

use cellway_settings::choice;

choice! {
    /// The function of a node.
    pub enum NodeKind {
        /// Turns packets into cells and back.
        Router = "router",
        /// Forwards cells.
        Switch = "switch",
        /// An end system, attached by exactly one link.
        Host = "host",
        /// A TCP gateway: a router that ends the TCP connections of hosts and carries their bytes to its peer.
        Gateway = "gateway",
    }
}
