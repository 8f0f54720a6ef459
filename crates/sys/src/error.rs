//! Errors of the interface to Linux.

use std::io;

use super::Obstacle;

/// An error of the system, with the operation and its object.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SysError {
    /// Namespaces or TUN devices are not available here.
    #[error("this machine cannot emulate: {}", list(.0))]
    Unsupported(Vec<Obstacle>),
    /// A namespace could not be made.
    #[error("namespace `{name}`: cannot {step}: {source}")]
    Namespace {
        /// Its name.
        name: String,
        /// The operation.
        step: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// A kernel setting was refused.
    #[error("namespace `{namespace}`: cannot set {key} to `{value}`: {source}")]
    Sysctl {
        /// The namespace in which it was set.
        namespace: String,
        /// The setting, as `net/ipv4/ip_forward`.
        key: String,
        /// The value.
        value: String,
        /// The error of the system.
        source: io::Error,
    },
    /// A line for `ip -batch` was refused.
    #[error("namespace `{namespace}`: `ip {line}` was refused: {message}")]
    Ip {
        /// The namespace.
        namespace: String,
        /// The line.
        line: String,
        /// The message of `ip`.
        message: String,
    },
    /// A program could not be started.
    #[error("namespace `{namespace}`: cannot start `{program}`: {source}")]
    Program {
        /// The namespace.
        namespace: String,
        /// The program.
        program: String,
        /// The error of the system.
        source: io::Error,
    },
    /// An invalid name of a device.
    #[error("`{0}` cannot name a device: 1 to 15 characters without space, slash, colon or per cent sign are accepted")]
    DeviceName(String),
    /// An invalid address prefix.
    #[error("`{0}` is not an address with a prefix length, such as 10.0.0.1/24 or fd00::1/64")]
    Prefix(String),
    /// IPv6 on a device of a small MTU.
    #[error("device `{device}`: IPv6 needs an MTU of at least 1280 bytes (RFC 8200, section 5), this one has {mtu}")]
    SmallMtu {
        /// The device.
        device: String,
        /// Its MTU in bytes.
        mtu: u32,
    },
    /// A TUN device could not be made.
    #[error("TUN device `{device}`: cannot {step}: {source}")]
    Tun {
        /// The device.
        device: String,
        /// The operation.
        step: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// The program could not be run again in a user namespace.
    #[error("cannot enter a user namespace: {step}: {source}")]
    Reenter {
        /// The operation.
        step: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// Descriptors could not be polled, or signals not be caught.
    #[error("cannot {what}: {source}")]
    Watch {
        /// The operation.
        what: &'static str,
        /// The error of the system.
        source: io::Error,
    },
}

fn list(obstacles: &[Obstacle]) -> String {
    obstacles.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
