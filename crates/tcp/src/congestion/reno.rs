//! Reno: fast retransmit and fast recovery. RFC 5681 §3.2.

use super::{Acked, DuplicateAcks, Flight, Reaction, Timeout, Window};

/// Halves the window at a loss and lets duplicate acknowledgements clock out new segments.
#[derive(Clone, Debug)]
pub(crate) struct Reno {
    duplicates: DuplicateAcks,
    recovering: bool,
}

impl Reno {
    pub(crate) fn new(duplicates: DuplicateAcks) -> Reno {
        Reno { duplicates, recovering: false }
    }

    pub(crate) fn acked(&mut self, window: &mut Window, acked: Acked, flight: Flight) -> Reaction {
        self.duplicates.reset();
        if self.recovering {
            // RFC 5681 §3.2 (6): the next acknowledgement of new data deflates the window.
            self.recovering = false;
            window.cwnd = window.ssthresh;
        } else {
            // RFC 5681 §3.1, equation 2: min(N, SMSS) in slow start.
            window.grow(acked, flight);
        }
        Reaction::Continue
    }
    pub(crate) fn duplicate(&mut self, window: &mut Window, flight: Flight) -> Reaction {
        self.duplicates.add(flight);
        if self.recovering {
            // RFC 5681 §3.2 (4): each further duplicate is a segment that left the network.
            window.cwnd += window.mss;
            return Reaction::Continue;
        }
        if self.duplicates.count != self.duplicates.threshold {
            return Reaction::Continue;
        }
        enter(window, &self.duplicates);
        self.recovering = true;
        Reaction::Retransmit
    }
    pub(crate) fn timed_out(&mut self, window: &mut Window, flight: Flight, again: bool) {
        self.duplicates.reset();
        let timeout = Timeout::new(again, self.recovering);
        self.recovering = false;
        window.collapse(flight, timeout);
    }
    pub(crate) fn in_recovery(&self) -> bool {
        self.recovering
    }
    pub(crate) fn limited_transmit(&self, mss: u64) -> u64 {
        if self.recovering { 0 } else { self.duplicates.limited_transmit(mss) }
    }
}

/// RFC 5681 §3.2 (2), (3): ssthresh is half of what was outstanding (in CUBIC, more); the window is that and the
/// segments whose arrival the duplicates tell of.
pub(super) fn enter(window: &mut Window, duplicates: &DuplicateAcks) {
    window.reduce(duplicates.flight());
    window.cwnd = window.ssthresh + u64::from(duplicates.threshold) * window.mss;
}
