//! The reasons for which a checked scenario cannot be run.

/// The errors of [`crate::run`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The network cannot be built.
    #[error(transparent)]
    Build(#[from] cellway_testbed::Error),
    /// The scenario has no traffic.
    #[error(
        "there is no traffic to simulate: the programs of [[run.command]] run in an emulation only; add [[traffic]]"
    )]
    NoTraffic,
    /// The run was stopped before its end.
    #[error("the run was stopped at {at} of simulated time")]
    Stopped {
        /// The time at which it stopped.
        at: cellway_units::Time,
    },
}
