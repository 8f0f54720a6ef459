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
    pub(crate) fn option(option: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Option { option, source }
    }
}
