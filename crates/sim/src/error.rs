//! Why a checked scenario cannot be run.

/// What [`crate::run`] refuses.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The network cannot be put together.
    #[error(transparent)]
    Build(#[from] cellway_testbed::Error),
    /// Nobody sends anything.
    #[error(
        "there is no traffic to simulate: the programs of [[run.command]] run in an emulation only; add [[traffic]]"
    )]
    NoTraffic,
    /// A node to capture at that the scenario does not have.
    #[error("there is no node {name:?} to capture at; the nodes are {known}")]
    NoSuchNode {
        /// What was asked for.
        name: String,
        /// The nodes there are.
        known: String,
    },
    /// The capture could not be written.
    #[error("cannot write the capture: {0}")]
    Capture(#[from] std::io::Error),
    /// The run was asked to stop before its end.
    #[error("the run was stopped at {at} of simulated time")]
    Stopped {
        /// How far it had come.
        at: cellway_units::Time,
    },
}
