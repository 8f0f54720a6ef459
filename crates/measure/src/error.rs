//! Errors of a measurement.

use std::io;

use cellway_units::{Bytes, Rate};

use crate::tcp::{MSS, WINDOW_MAX, WINDOW_MIN};

/// The reason for which a measurement failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A window that the kernel cannot hold.
    #[error("the window is {window}; it must be from {WINDOW_MIN} to {WINDOW_MAX}")]
    Window {
        /// The requested window.
        window: Bytes,
    },
    /// The kernel does not grant a receive buffer of this size.
    #[error(
        "a window of {window} needs a receive buffer of {asked}, and this user may have {max}; use a smaller window, \
         or raise net.core.rmem_max"
    )]
    ReceiveBuffer {
        /// The window.
        window: Bytes,
        /// The buffer for it.
        asked: Bytes,
        /// The largest buffer.
        max: Bytes,
    },
    /// The kernel does not grant a send buffer of this size.
    #[error("the send buffer is {buffer}, and this user may have {max}; use less, or raise net.core.wmem_max")]
    SendBuffer {
        /// The requested buffer.
        buffer: Bytes,
        /// The largest buffer.
        max: Bytes,
    },
    /// A segment size that the kernel refuses.
    #[error("the MSS is {mss}; it must be from {} B to {} B", MSS.start(), MSS.end())]
    Mss {
        /// The requested size.
        mss: Bytes,
    },
    /// A rate at which nothing could be sent.
    #[error("the pace is {pace}; it must be 8 bit/s or more")]
    Pace {
        /// The requested rate.
        pace: Rate,
    },
    /// A congestion control that this kernel does not have.
    #[error(
        "no congestion control {name:?} for this user on this host; it has {available} (modprobe tcp_NAME loads \
         more, where the kernel has them)"
    )]
    Congestion {
        /// The requested name.
        name: String,
        /// The available ones.
        available: String,
    },
    /// A number out of its range.
    #[error("{what} is {given}; accepted: {accepted}")]
    Range {
        /// The quantity.
        what: &'static str,
        /// The value.
        given: String,
        /// The accepted values.
        accepted: String,
    },
    /// The host has no address.
    #[error("cannot find the host {host:?}: {source}")]
    Host {
        /// The host.
        host: String,
        /// The error of the resolver.
        source: io::Error,
    },
    /// The connection attempt failed.
    #[error("cannot connect to {to}: {source}; is `cellway measure --serve` running there?")]
    Connect {
        /// Host and port.
        to: String,
        /// The error of the kernel.
        source: io::Error,
    },
    /// The port is not available.
    #[error("cannot listen on {at}: {source}; --port and --bind choose another")]
    Listen {
        /// Address and port.
        at: String,
        /// The error of the kernel.
        source: io::Error,
    },
    /// The server refuses the test.
    #[error("the server refuses: {reason}")]
    Refused {
        /// Its reason.
        reason: String,
    },
    /// The other side has closed the connection, or does not speak this protocol.
    #[error("the other side ended the connection or does not answer: {source}")]
    Peer {
        /// The error of the kernel.
        source: io::Error,
    },
    /// The other side failed and reported the reason.
    #[error("the other side failed: {reason}")]
    PeerFailed {
        /// Its reason.
        reason: String,
    },
    /// Octets that are no message of this protocol.
    #[error("not a message of cellway measure: {what}")]
    Protocol {
        /// The problem.
        what: String,
    },
    /// The sender ended too early.
    #[error("a stream ended after {came} of {of}")]
    Short {
        /// The bytes that arrived.
        came: Bytes,
        /// The bytes that were agreed on.
        of: Bytes,
    },
    /// No byte passed for a long time.
    #[error("no data passed for {after}; the path or the other side is dead")]
    Stalled {
        /// The time.
        after: cellway_units::Span,
    },
    /// Some data connections were not opened.
    #[error("{came} of {streams} data connections came within {within}")]
    Streams {
        /// The number of connections that were opened.
        came: usize,
        /// The number that was agreed on.
        streams: u32,
        /// The time limit.
        within: cellway_units::Span,
    },
    /// The user stopped it.
    #[error("stopped")]
    Stopped,
    /// The kernel refused an option of a socket.
    #[error("cannot set {option}: {source}")]
    Option {
        /// The option.
        option: &'static str,
        /// The error of the kernel.
        source: io::Error,
    },
}

impl Error {
    /// Returns true if the request is at fault, rather than the network or the other side.
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            Error::Window { .. }
                | Error::ReceiveBuffer { .. }
                | Error::SendBuffer { .. }
                | Error::Mss { .. }
                | Error::Pace { .. }
                | Error::Congestion { .. }
                | Error::Range { .. }
                | Error::Host { .. }
                | Error::Refused { .. }
        )
    }

    pub(crate) fn peer(source: io::Error) -> Error {
        Error::Peer { source }
    }
    pub(crate) fn option(option: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Option { option, source }
    }
}
