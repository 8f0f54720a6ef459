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
    /// The run was asked to stop before its end.
    #[error("the run was stopped at {at} of simulated time")]
    Stopped {
        /// How far it had come.
        at: cellway_units::Time,
    },
}
