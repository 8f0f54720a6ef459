//! Reno: slow start and congestion avoidance. RFC 5681 §3.1.

/// The part of the outstanding data that ssthresh keeps at a loss. RFC 5681 §3.1, equation 4.
pub(super) const BETA: (u64, u64) = (1, 2);

/// The same at a mark, with ABE. RFC 8511 §3.
pub(super) const BETA_ECN: (u64, u64) = (4, 5);

/// Returns the increase of the window (bytes) for an acknowledgement of `acked` bytes.
pub(super) fn increase(cwnd: u64, ssthresh: u64, mss: u64, acked: u64) -> u64 {
    if cwnd < ssthresh {
        // RFC 5681 §3.1, equation 2: min(N, SMSS) in slow start.
        acked.min(mss)
    } else {
        // RFC 5681 §3.1, equation 3: MSS * MSS / cwnd for each acknowledgement, at least 1 byte.
        (mss * mss / cwnd).max(1)
    }
}
