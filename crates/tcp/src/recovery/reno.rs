//! The recovery of Reno: fast retransmit and fast recovery. RFC 5681 §3.2.

use super::{DuplicateAcks, Reaction};
use crate::congestion::{Acked, Control, Flight, Timeout};

/// Clocks out new segments by duplicate acknowledgements until the next acknowledgement of new data.
#[derive(Clone, Debug)]
pub(crate) struct Reno {
    duplicates: DuplicateAcks,
    recovering: bool,
}

impl Reno {
    pub(super) fn new(duplicates: DuplicateAcks) -> Reno {
        Reno { duplicates, recovering: false }
    }

    pub(super) fn acked(&mut self, control: &mut Control, acked: Acked, flight: Flight) -> Reaction {
        self.duplicates.reset();
        if self.recovering {
            // RFC 5681 §3.2 (6): the next acknowledgement of new data deflates the window.
            self.recovering = false;
            control.window.cwnd = control.window.ssthresh;
        } else {
            control.grow(acked, flight);
        }
        Reaction::Continue
    }
    pub(super) fn duplicate(&mut self, control: &mut Control, flight: Flight) -> Reaction {
        self.duplicates.add(flight);
        if self.recovering {
            // RFC 5681 §3.2 (4): each further duplicate is a segment that left the network.
            control.window.cwnd += control.window.mss;
            return Reaction::Continue;
        }
        if self.duplicates.count != self.duplicates.threshold {
            return Reaction::Continue;
        }
        enter(control, flight, &self.duplicates);
        self.recovering = true;
        Reaction::Retransmit
    }
    pub(super) fn timed_out(&mut self, control: &mut Control, flight: Flight, again: bool) {
        self.duplicates.reset();
        let timeout = Timeout::new(again, self.recovering);
        self.recovering = false;
        control.collapse(flight, timeout, &[]);
    }
    pub(super) fn in_recovery(&self) -> bool {
        self.recovering
    }
    pub(super) fn limited_transmit(&self, mss: u64) -> u64 {
        if self.recovering { 0 } else { self.duplicates.limited_transmit(mss) }
    }
}

/// Enters fast recovery. RFC 5681 §3.2 (2), (3): ssthresh is half of the outstanding data; the window is that and the
/// segments whose arrival the duplicates report.
pub(super) fn enter(control: &mut Control, flight: Flight, duplicates: &DuplicateAcks) {
    control.reduce(flight, duplicates.flight());
    control.window.cwnd = control.window.ssthresh + u64::from(duplicates.threshold) * control.window.mss;
}
