//! What can go wrong.

/// What can go wrong with a gateway as a whole; what goes wrong with one connection or one peer is
/// counted, logged and lived with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration cannot work.
    #[error("{what}")]
    Config {
        /// What is wrong, where, and what would be accepted.
        what: String,
    },
    /// The kernel refused something that the emulator asks for as well.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// Why not.
        source: cellway_sys::SysError,
    },
    /// The kernel refused something.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Why not.
        source: std::io::Error,
    },
    /// Nothing is intercepted.
    #[error("the kernel has no rules, so it takes no connection; set them with `cellway-gateway rules apply`")]
    NoRules,
    /// The gateway's keys or certificates cannot be used.
    #[error(transparent)]
    Identity(#[from] crate::peering::identity::IdentityError),
}
