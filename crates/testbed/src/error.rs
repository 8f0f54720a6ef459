//! The reasons for which a network cannot be built, or a conversation cannot be opened in it.

/// The errors of [`crate::Testbed`] and [`crate::workload`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The workload of a traffic group makes no sense.
    #[error("traffic {traffic:?}: {message}")]
    Workload {
        /// The group.
        traffic: String,
        /// The reason.
        message: String,
    },
    /// A gateway cannot work as it is described.
    #[error("gateway {node:?}: {message}")]
    Gateway {
        /// Its name.
        node: String,
        /// The reason.
        message: String,
    },
    /// A shaper at a queue that is paced already: one would silently replace the other.
    #[error("shaper {shaper:?}: {by} paces the cells of the same queue already")]
    PacedTwice {
        /// The shaper.
        shaper: String,
        /// The other pacer.
        by: String,
    },
    /// Two groups on one channel whose services pace it differently.
    #[error(
        "traffic {:?} and traffic {:?} share a channel but not their service: give both the same, or each a channel",
        traffic[0], traffic[1]
    )]
    TwoServices {
        /// The groups.
        traffic: [String; 2],
    },
    /// Packets between a node that is no host of the network, or from a host to itself.
    #[error("there is no path between node {} and node {}: {why}", nodes[0], nodes[1])]
    NoPath {
        /// The numbers of the nodes.
        nodes: [u32; 2],
        /// The reason.
        why: &'static str,
    },
    /// A recording that the scenario names and that has not been read.
    #[error("link {link:?}: its recording has not been read")]
    NoTrace {
        /// The link.
        link: String,
    },
    /// A quantity of a link that a caller cannot change while the network runs.
    #[error("the {what} of link {link:?} cannot be changed: {why}")]
    Unchangeable {
        /// The link.
        link: String,
        /// The quantity.
        what: &'static str,
        /// The reason, and what is accepted.
        why: &'static str,
    },
    /// The network cannot be built.
    #[error(transparent)]
    Network(#[from] cellway_net::FabricError),
    /// A node to capture at that the scenario does not have.
    #[error("there is no node {name:?} to capture at; the nodes are {known}")]
    NoSuchNode {
        /// The requested name.
        name: String,
        /// The nodes there are.
        known: String,
    },
    /// A capture of AAL5 frames in a network whose packets travel without them.
    #[error(
        "cannot capture at {name:?}: a capture there is made of AAL5 frames, and multiplexing.encapsulation = \"none\" \
         has none; capture at a host, or set it to \"vc-mux\" or \"llc-snap\""
    )]
    NoFrames {
        /// The node.
        name: String,
    },
    /// The capture could not be written.
    #[error("cannot write the capture: {0}")]
    Capture(#[from] std::io::Error),
}
