//! Reno: slow start and congestion avoidance. RFC 5681 §3.1.

use super::{Acked, Controller, Flight, Signal, Window, part};

/// The part of the outstanding data that ssthresh keeps at a loss. RFC 5681 §3.1, equation 4.
const BETA: (u64, u64) = (1, 2);
/// The same at a mark, with ABE. RFC 8511 §3.
const BETA_ECN: (u64, u64) = (4, 5);

/// Reno. Its state is the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reno;

impl Controller for Reno {
    fn grow(&mut self, window: &mut Window, acked: Acked, _flight: Flight) {
        window.cwnd += increase(*window, acked.bytes);
    }
    fn threshold(&self, window: Window, signal: Signal, outstanding: u64, _peer_window: u64) -> u64 {
        let beta = if signal == Signal::MarkWithAbe { BETA_ECN } else { BETA };
        part(outstanding, beta, window.mss)
    }
}

/// Returns the increase of the window (bytes) for an acknowledgement of `acked` bytes.
pub(super) fn increase(window: Window, acked: u64) -> u64 {
    let Window { cwnd, ssthresh, mss } = window;
    if cwnd < ssthresh {
        // RFC 5681 §3.1, equation 2: min(N, SMSS) in slow start.
        acked.min(mss)
    } else {
        // RFC 5681 §3.1, equation 3: MSS * MSS / cwnd for each acknowledgement, at least 1 byte.
        (mss * mss / cwnd).max(1)
    }
}
