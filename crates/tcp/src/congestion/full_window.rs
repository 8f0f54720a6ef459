//! The use of the window: one that the application or the peer's window leaves unused does not grow. RFC 9438 §5.8; Linux,
//! `tcp_is_cwnd_limited()`.

use super::{Acked, Flight, Window};
use crate::Position;

/// Remembers for a round trip that the window was full.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullWindow {
    /// It was full up to this position.
    until: Position,
}

impl FullWindow {
    /// Records that the window is full, with data sent up to `sent`.
    pub(super) fn filled(&mut self, sent: Position) {
        self.until = sent;
    }
    /// Returns true if the window was full within a round trip.
    pub(super) fn was_full(self, flight: Flight) -> bool {
        flight.una <= self.until
    }
    /// Takes an acknowledgement in a window of `cwnd` bytes, and returns true if that was full within a round trip.
    pub(super) fn acked(&mut self, (cwnd, mss): (u64, u64), acked: &Acked, flight: Flight) -> bool {
        if flight.size() + acked.bytes + mss > cwnd {
            self.filled(flight.nxt);
        }
        self.was_full(flight)
    }
    /// The same, and in slow start a window up to twice what is used. Linux, tcp_is_cwnd_limited().
    pub(super) fn lets_grow(&mut self, window: Window, acked: &Acked, flight: Flight) -> bool {
        let Window { cwnd, ssthresh, mss } = window;
        self.acked((cwnd, mss), acked, flight) || cwnd < ssthresh && cwnd < 2 * (flight.size() + acked.bytes)
    }
}
