//! The recovery of NewReno: that of Reno, which also answers partial acknowledgements. RFC 6582.

use super::{DuplicateAcks, Reaction, reno};
use crate::Position;
use crate::congestion::{Acked, Control, Flight, Timeout};

/// Stays in fast recovery until all data outstanding at its start are acknowledged.
#[derive(Clone, Debug)]
pub(crate) struct NewReno {
    duplicates: DuplicateAcks,
    recovering: bool,
    /// RFC 6582 §3.2: after the last position sent before the latest loss. Before any loss it lies before the first
    /// byte, so that the first segment can also be lost.
    recover: Position,
    /// True after the first partial acknowledgement of this recovery.
    partial_seen: bool,
}

impl NewReno {
    pub(super) fn new(duplicates: DuplicateAcks) -> NewReno {
        NewReno { duplicates, recovering: false, recover: 0, partial_seen: false }
    }

    pub(super) fn acked(&mut self, control: &mut Control, acked: Acked, flight: Flight) -> Reaction {
        self.duplicates.reset();
        if !self.recovering {
            control.grow(acked, flight);
            return Reaction::Continue;
        }
        if flight.una >= self.recover {
            // RFC 6582 §3.2 (3), full acknowledgement, choice 1: no burst if little is outstanding.
            control.window.cwnd =
                control.window.ssthresh.min(flight.size().max(control.window.mss) + control.window.mss);
            self.recovering = false;
            return Reaction::Continue;
        }
        // RFC 6582 §3.2 (3), partial acknowledgement: deflate the window by the acknowledged bytes and, if those were
        // at least a segment, add one back; then retransmit the next hole.
        control.window.cwnd = control.window.cwnd.saturating_sub(acked.bytes);
        if acked.bytes >= control.window.mss {
            control.window.cwnd += control.window.mss;
        }
        control.window.cwnd = control.window.cwnd.max(control.window.mss);
        // Only the first partial acknowledgement starts the timer anew.
        let first = !self.partial_seen;
        self.partial_seen = true;
        if first { Reaction::Retransmit } else { Reaction::RetransmitKeepingTimer }
    }
    pub(super) fn duplicate(&mut self, control: &mut Control, flight: Flight) -> Reaction {
        self.duplicates.add(flight);
        if self.recovering {
            control.window.cwnd += control.window.mss;
            return Reaction::Continue;
        }
        // RFC 6582 §3.2 (2): duplicates that do not cover more than `recover` report the same loss, or spurious
        // retransmissions.
        if self.duplicates.count != self.duplicates.threshold || flight.una <= self.recover {
            return Reaction::Continue;
        }
        reno::enter(control, flight, &self.duplicates);
        self.recover = flight.max;
        self.recovering = true;
        self.partial_seen = false;
        Reaction::Retransmit
    }
    pub(super) fn timed_out(&mut self, control: &mut Control, flight: Flight, again: bool) {
        self.duplicates.reset();
        let timeout = Timeout::new(again, self.recovering);
        // RFC 6582 §3.2 (4): after a timeout, note the highest position sent and leave recovery.
        self.recover = flight.max;
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
