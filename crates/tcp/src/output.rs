//! The segments and events of an endpoint.

use cellway_units::Span;

use crate::Segment;

/// Receives the segments and events of an endpoint. Owned, reused and cleared by the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Segments to send, in order.
    pub segments: Vec<Segment>,
    /// Events for the application, in order.
    pub events: Vec<Event>,
    /// The round-trip time that the call measured, as coarse as the clock.
    pub rtt: Option<Span>,
}

impl Output {
    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.segments.clear();
        self.events.clear();
        self.rtt = None;
    }
}

/// An event for the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The handshake is complete.
    Connected,
    /// New bytes arrived in order.
    Readable {
        /// The new bytes.
        bytes: u64,
    },
    /// The peer acknowledged payload.
    Acked {
        /// The newly acknowledged bytes.
        bytes: u64,
    },
    /// The send buffer has room again after a write that was not accepted in full.
    Writable,
    /// The peer's FIN arrived in order: no more bytes will be readable.
    PeerClosed,
    /// Both FINs are acknowledged. The endpoint may linger in TIME-WAIT.
    Closed,
    /// The peer reset the connection.
    Reset,
    /// The connection was given up after too many unanswered transmissions.
    TimedOut,
}
