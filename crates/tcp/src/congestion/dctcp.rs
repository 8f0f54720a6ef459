//! DCTCP: the window is reduced by the share of marked data. RFC 8257 §3.3.

use super::marked_share::MarkedShare;
use super::reno::Reno;
use super::{Acked, Controller, Flight, MarkReport, Signal, Window};
use crate::Position;

/// DCTCP. It grows, and reacts to losses, as Reno.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dctcp {
    reno: Reno,
    /// DCTCP.Alpha, DCTCP.BytesAcked and DCTCP.BytesMarked.
    share: MarkedShare,
    /// DCTCP.WindowEnd.
    round_end: Position,
}

impl Dctcp {
    pub(super) fn new(reno: Reno) -> Dctcp {
        // RFC 8257 §4.2: as cautious as RFC 3168 at first.
        Dctcp { reno, share: MarkedShare::ALL, round_end: 0 }
    }
}

impl Controller for Dctcp {
    fn grow(&mut self, window: &mut Window, acked: Acked, flight: Flight) {
        self.reno.grow(window, acked, flight);
    }
    fn threshold(&self, window: Window, signal: Signal, outstanding: u64, peer_window: u64) -> u64 {
        match signal {
            Signal::Loss => self.reno.threshold(window, signal, outstanding, peer_window),
            Signal::Mark | Signal::MarkWithAbe => self.share.reduce(window.cwnd).max(2 * window.mss),
        }
    }
    fn counted(&mut self, report: &MarkReport) {
        self.share.count(report.delivered, report.marked);
        // Steps 4 to 8.
        if report.ack > self.round_end {
            self.share.end_round();
            self.round_end = report.flight.nxt;
        }
    }
}
