//! The errors of the daemon.

/// An error of the gateway as a whole. Errors of one connection or one peer are counted and logged, and the gateway
/// continues.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration is invalid.
    #[error("{what}")]
    Config {
        /// The location, the problem, and the accepted values.
        what: String,
    },
    /// The kernel refused an operation that the emulator uses as well.
    #[error("{what}: {source}")]
    System {
        /// The operation.
        what: String,
        /// The error.
        source: cellway_sys::SysError,
    },
    /// The kernel refused an operation.
    #[error("{what}: {source}")]
    Io {
        /// The operation.
        what: String,
        /// The error.
        source: std::io::Error,
    },
    /// The rules of interception are missing.
    #[error("the kernel has no rules, so it takes no connection; set them with `cellway-gateway rules apply`")]
    NoRules,
    /// The gateway's keys or certificates cannot be used.
    #[error(transparent)]
    Identity(#[from] crate::peering::identity::IdentityError),
}
