//! Tahoe: V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988.

use super::reno;

/// Returns the increase of the window (bytes) for an acknowledgement. Jacobson 1988 §1: in slow start each one adds a
/// segment, however little it acknowledges.
pub(super) fn increase(cwnd: u64, ssthresh: u64, mss: u64) -> u64 {
    reno::increase(cwnd, ssthresh, mss, mss)
}

/// Returns ssthresh (bytes) after a loss. Jacobson 1988 §3: half of the window in use, in whole segments as in BSD and
/// at least two of them. So a second timeout in a row leaves ssthresh at two segments, unlike RFC 5681.
pub(super) fn threshold(in_use: u64, mss: u64) -> u64 {
    (in_use / 2 / mss).max(2) * mss
}
