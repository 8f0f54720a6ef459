//! Tahoe: V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988.

use super::{Acked, DuplicateAcks, Flight, Reaction, Window};
use crate::FastRetransmit;

/// Slow start, congestion avoidance and fast retransmit; no fast recovery.
#[derive(Clone, Debug)]
pub(crate) struct Tahoe {
    duplicates: DuplicateAcks,
    fast_retransmit: FastRetransmit,
}

impl Tahoe {
    pub(crate) fn new(duplicates: DuplicateAcks, fast_retransmit: FastRetransmit) -> Tahoe {
        Tahoe { duplicates, fast_retransmit }
    }

    pub(crate) fn acked(&mut self, window: &mut Window, acked: Acked, flight: Flight) -> Reaction {
        self.duplicates.reset();
        // Jacobson 1988 §1: in slow start each acknowledgement adds a segment, however little it acknowledges.
        window.grow(Acked { bytes: window.mss, ..acked }, flight);
        Reaction::Continue
    }
    /// Fast retransmit: exactly the threshold's duplicate means a loss, later ones mean nothing.
    pub(crate) fn duplicate(&mut self, window: &mut Window, flight: Flight) -> Reaction {
        self.duplicates.add(flight);
        if self.duplicates.count != self.duplicates.threshold {
            return Reaction::Continue;
        }
        shrink(window, flight);
        match self.fast_retransmit {
            FastRetransmit::GoBackN => Reaction::GoBackN,
            FastRetransmit::OneSegment => Reaction::Retransmit,
        }
    }
    pub(crate) fn timed_out(&mut self, window: &mut Window, flight: Flight) {
        self.duplicates.reset();
        shrink(window, flight);
    }
}

/// Jacobson 1988 §3: half of the window in use goes to ssthresh, in whole segments as in BSD and
/// at least two of them; the window itself is one segment. So a second timeout in a row leaves
/// ssthresh at two segments, unlike RFC 5681.
fn shrink(window: &mut Window, flight: Flight) {
    let in_use = window.cwnd.min(flight.peer_window);
    window.ssthresh = (in_use / 2 / window.mss).max(2) * window.mss;
    window.cwnd = window.mss;
}
