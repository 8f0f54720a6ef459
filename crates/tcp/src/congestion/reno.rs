//! Reno: slow start and congestion avoidance. RFC 5681 §3.1, and RFC 3465 with byte counting.

use super::full_window::FullWindow;
use super::{Acked, Controller, Flight, Signal, Window, part};

/// The part of the outstanding data that ssthresh keeps at a loss. RFC 5681 §3.1, equation 4.
const BETA: (u64, u64) = (1, 2);
/// The same at a mark, with ABE. RFC 8511 §3.
const BETA_ECN: (u64, u64) = (4, 5);

/// The most segments that an acknowledgement counts for in slow start. RFC 9406 §4.3, L without pacing.
pub(super) const MOST_SEGMENTS: u64 = 8;

/// Reno.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reno {
    /// The window grows a step for each acknowledgement. RFC 5681 §3.1.
    PerAck,
    /// It grows by the bytes that are acknowledged, if it is used. RFC 3465 §2; Linux, tcp_reno_cong_avoid().
    PerByte {
        /// The remainder of the last increase in congestion avoidance, in parts of the window (bytes^2).
        carry: u64,
        full: FullWindow,
    },
}

impl Reno {
    pub(super) fn new(byte_counting: bool) -> Reno {
        if byte_counting { Reno::PerByte { carry: 0, full: FullWindow::default() } } else { Reno::PerAck }
    }
}

impl Controller for Reno {
    fn grow(&mut self, window: &mut Window, acked: Acked, flight: Flight) {
        let Window { cwnd, ssthresh, mss } = *window;
        match self {
            Reno::PerAck => window.cwnd += increase(*window, acked.bytes),
            Reno::PerByte { carry, full } => {
                if !full.lets_grow(*window, &acked, flight) {
                    return;
                }
                // What slow start does not need counts in congestion avoidance.
                let start = acked.bytes.min(ssthresh.saturating_sub(cwnd));
                window.cwnd += start.min(MOST_SEGMENTS * mss);
                *carry += mss * (acked.bytes - start);
                window.cwnd += *carry / window.cwnd;
                *carry %= window.cwnd;
            }
        }
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

#[cfg(test)]
mod tests {
    use cellway_units::Time;

    use super::*;

    const MSS: u64 = 1000;
    /// More than any window here: it is full.
    const MUCH: Flight = Flight { una: 0, nxt: 1_000_000, max: 1_000_000, peer_window: 0 };

    /// Returns the window after acknowledgements of `each` bytes, `count` of them, from `window`.
    fn after(mut reno: Reno, mut window: Window, each: u64, count: usize) -> u64 {
        for _ in 0..count {
            let acked = Acked { bytes: each, now: Time::ZERO, rtt: None, srtt: None, marked: 0, echoes_mark: false };
            reno.grow(&mut window, acked, MUCH);
        }
        window.cwnd
    }

    /// RFC 3465 §2.1: a segment for each window of data, whatever the number of acknowledgements.
    #[test]
    fn avoidance_by_bytes_is_a_segment_a_round_trip() {
        let window = Window { cwnd: 20 * MSS, ssthresh: MSS, mss: MSS };
        let by_one = after(Reno::new(true), window, MSS, 20);
        let by_two = after(Reno::new(true), window, 2 * MSS, 10);
        assert!(by_one.abs_diff(21 * MSS) < MSS / 20 && by_two.abs_diff(by_one) <= 1, "{by_one} {by_two}");
        // RFC 5681 §3.1 has a step for each acknowledgement: half as much where every second segment is acknowledged.
        let per_ack = after(Reno::new(false), window, 2 * MSS, 10);
        assert!(per_ack.abs_diff(20 * MSS + MSS / 2) < MSS / 20, "{per_ack}");
    }

    /// Slow start doubles the window with delayed acknowledgements, too, and the rest of an acknowledgement counts after it.
    #[test]
    fn slow_start_by_bytes_doubles_and_ends_at_the_threshold() {
        let window = Window { cwnd: 10 * MSS, ssthresh: 100 * MSS, mss: MSS };
        assert_eq!(after(Reno::new(true), window, 2 * MSS, 5), 20 * MSS);
        assert_eq!(after(Reno::new(false), window, 2 * MSS, 5), 15 * MSS);
        assert_eq!(after(Reno::new(true), window, 50 * MSS, 1), 18 * MSS, "at most {MOST_SEGMENTS} segments");
        let near = Window { cwnd: 10 * MSS, ssthresh: 11 * MSS, mss: MSS };
        assert_eq!(after(Reno::new(true), near, 2 * MSS, 1), 11 * MSS + MSS * MSS / (11 * MSS));
    }

    /// One request at a time uses a segment: the window stays, in slow start at twice what is used.
    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let acked = Acked { bytes: MSS, now: Time::ZERO, rtt: None, srtt: None, marked: 0, echoes_mark: false };
        for (ssthresh, expected) in [(MSS, 10 * MSS), (100 * MSS, 10 * MSS)] {
            let mut window = Window { cwnd: 10 * MSS, ssthresh, mss: MSS };
            let mut reno = Reno::new(true);
            for n in 1..1000 {
                let at = n * MSS;
                reno.grow(&mut window, acked, Flight { una: at, nxt: at, max: at, peer_window: 0 });
            }
            assert_eq!(window.cwnd, expected);
        }
    }
}
