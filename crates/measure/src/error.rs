//! What can go wrong with a measurement.

use std::io;

use cellway_units::{Bytes, Rate};

use crate::tcp::{MSS, WINDOW_MAX, WINDOW_MIN};

/// Why something could not be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A window that the kernel cannot keep.
    #[error("the window is {window}; it must be from {WINDOW_MIN} to {WINDOW_MAX}")]
    Window {
        /// What was asked for.
        window: Bytes,
    },
    /// The kernel does not give so large a receive buffer.
    #[error(
        "a window of {window} needs a receive buffer of {asked}, and this user may have {max}; use a smaller window, \
         or raise net.core.rmem_max"
    )]
    ReceiveBuffer {
        /// The window.
        window: Bytes,
        /// The buffer for it.
        asked: Bytes,
        /// What may be had.
        max: Bytes,
    },
    /// The kernel does not give so large a send buffer.
    #[error("the send buffer is {buffer}, and this user may have {max}; use less, or raise net.core.wmem_max")]
    SendBuffer {
        /// What was asked for.
        buffer: Bytes,
        /// What may be had.
        max: Bytes,
    },
    /// A segment size that the kernel refuses.
    #[error("the MSS is {mss}; it must be from {} B to {} B", MSS.start(), MSS.end())]
    Mss {
        /// What was asked for.
        mss: Bytes,
    },
    /// A rate at which nothing is ever sent.
    #[error("the pace is {pace}; it must be 8 bit/s or more")]
    Pace {
        /// What was asked for.
        pace: Rate,
    },
    /// A congestion control that this kernel does not have.
    #[error(
        "no congestion control {name:?} for this user on this host; it has {available} (modprobe tcp_NAME loads \
         more, where the kernel has them)"
    )]
    Congestion {
        /// What was asked for.
        name: String,
        /// What there is.
        available: String,
    },
    /// A number out of its range.
    #[error("{what} is {given}; accepted: {accepted}")]
    Range {
        /// What it is the number of.
        what: &'static str,
        /// What was given.
        given: String,
        /// What would do.
        accepted: String,
    },
    /// The host has no address.
    #[error("cannot find the host {host:?}: {source}")]
    Host {
        /// The host.
        host: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// No connection.
    #[error("cannot connect to {to}: {source}; is `cellway measure --serve` running there?")]
    Connect {
        /// Host and port.
        to: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The port cannot be had.
    #[error("cannot listen on {at}: {source}; --port and --bind choose another")]
    Listen {
        /// Address and port.
        at: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The server does not want this test.
    #[error("the server refuses: {reason}")]
    Refused {
        /// In its words.
        reason: String,
    },
    /// The other side is gone, or was never one of ours.
    #[error("the other side ended the connection or does not answer: {source}")]
    Peer {
        /// What the kernel said.
        source: io::Error,
    },
    /// The other side failed and said why.
    #[error("the other side failed: {reason}")]
    PeerFailed {
        /// In its words.
        reason: String,
    },
    /// Something that is no message of this protocol.
    #[error("not a message of cellway measure: {what}")]
    Protocol {
        /// What is wrong with it.
        what: String,
    },
    /// The sender ended too early.
    #[error("a stream ended after {came} of {of}")]
    Short {
        /// What came.
        came: Bytes,
        /// What was agreed on.
        of: Bytes,
    },
    /// No byte passed for a long time.
    #[error("no data passed for {after}; the path or the other side is dead")]
    Stalled {
        /// How long.
        after: cellway_units::Span,
    },
    /// Not all data connections came.
    #[error("{came} of {streams} data connections came within {within}")]
    Streams {
        /// Those that came.
        came: usize,
        /// Those that were agreed on.
        streams: u32,
        /// The time they had.
        within: cellway_units::Span,
    },
    /// The user stopped it.
    #[error("stopped")]
    Stopped,
    /// The kernel refused an option of a socket.
    #[error("cannot set {option}: {source}")]
    Option {
        /// What was to be set.
        option: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
}

impl Error {
    /// Whether what was asked for is at fault, rather than the network or the other side.
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
