//! Tahoe: V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988.

use super::{Acked, Controller, Flight, Signal, Window, reno};

/// Tahoe. Its state is the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tahoe;

impl Controller for Tahoe {
    /// Jacobson 1988 §1: in slow start each acknowledgement adds a segment, however little it acknowledges.
    fn grow(&mut self, window: &mut Window, _acked: Acked, _flight: Flight) {
        window.cwnd += reno::increase(*window, window.mss);
    }
    /// Jacobson 1988 §3: half of the window in use, in whole segments as in BSD and at least two of them. So a second
    /// timeout in a row leaves ssthresh at two segments, unlike RFC 5681.
    fn threshold(&self, window: Window, _signal: Signal, _outstanding: u64, peer_window: u64) -> u64 {
        let in_use = window.cwnd.min(peer_window);
        (in_use / 2 / window.mss).max(2) * window.mss
    }
}
