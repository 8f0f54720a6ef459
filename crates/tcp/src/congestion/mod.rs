//! The congestion window and the algorithms that move it, one file each.

mod cubic;
mod hystart;
mod newreno;
mod reno;
mod tahoe;
mod window;

pub(crate) use newreno::NewReno;
pub(crate) use reno::Reno;
pub(crate) use tahoe::Tahoe;
pub(crate) use window::{DuplicateAcks, Timeout, Window};

use cellway_units::{Span, Time};

use crate::recovery::SackRecovery;
use crate::{Config, Position, Variant};

/// What is outstanding when an algorithm is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    /// The first position that is not acknowledged.
    pub(crate) una: Position,
    /// The next position to send.
    pub(crate) nxt: Position,
    /// The position behind the last that was ever sent.
    pub(crate) max: Position,
    /// The peer's window (bytes).
    pub(crate) peer_window: u64,
}

impl Flight {
    /// Sent and not acknowledged. RFC 5681 §2 (FlightSize) (bytes).
    pub(crate) fn size(self) -> u64 {
        self.nxt - self.una
    }
}

/// An acknowledgement of new data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    /// What it newly acknowledges (bytes).
    pub(crate) bytes: u64,
    pub(crate) now: Time,
    /// The round trip that it measures, if it does.
    pub(crate) rtt: Option<Span>,
    /// The smoothed round trip.
    pub(crate) srtt: Option<Span>,
}

/// The action of the sender that follows from an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    /// Nothing but send what the window allows.
    Continue,
    /// Resend the first unacknowledged segment and start the retransmission timer anew.
    Retransmit,
    /// Resend the first unacknowledged segment and leave the retransmission timer as it runs.
    RetransmitKeepingTimer,
    /// Take the next position to send back to the first unacknowledged one.
    GoBackN,
}

/// The state of each algorithm.
#[derive(Clone, Debug)]
pub(crate) enum Algorithm {
    Tahoe(Tahoe),
    Reno(Reno),
    NewReno(NewReno),
    Sack(SackRecovery),
}

/// The congestion window and what moves it.
#[derive(Clone, Debug)]
pub(crate) struct Congestion {
    pub(crate) window: Window,
    pub(crate) algorithm: Algorithm,
}

impl Congestion {
    /// For a connection that begins with a window of `initial` segments of `mss`.
    pub(crate) fn new(config: &Config, mss: u64, initial: u64, peer_permits_sack: bool) -> Congestion {
        let duplicates = DuplicateAcks::new(config.duplicate_threshold, config.limited_transmit);
        let algorithm = match config.variant {
            Variant::Tahoe => Algorithm::Tahoe(Tahoe::new(duplicates, config.fast_retransmit)),
            Variant::Reno => Algorithm::Reno(Reno::new(duplicates)),
            Variant::Sack | Variant::Cubic if peer_permits_sack => Algorithm::Sack(SackRecovery::new(duplicates, mss)),
            Variant::NewReno | Variant::Sack | Variant::Cubic => Algorithm::NewReno(NewReno::new(duplicates)),
        };
        Congestion { window: Window::new(config, mss, initial), algorithm }
    }

    /// New data is acknowledged; `flight` is what is left.
    pub(crate) fn acked(&mut self, acked: Acked, flight: Flight) -> Reaction {
        let window = &mut self.window;
        match &mut self.algorithm {
            Algorithm::Tahoe(a) => a.acked(window, acked, flight),
            Algorithm::Reno(a) => a.acked(window, acked, flight),
            Algorithm::NewReno(a) => a.acked(window, acked, flight),
            Algorithm::Sack(a) => a.acked(window, acked, flight),
        }
    }
    /// A duplicate acknowledgement arrived.
    pub(crate) fn duplicate(&mut self, flight: Flight) -> Reaction {
        let window = &mut self.window;
        match &mut self.algorithm {
            Algorithm::Tahoe(a) => a.duplicate(window, flight),
            Algorithm::Reno(a) => a.duplicate(window, flight),
            Algorithm::NewReno(a) => a.duplicate(window, flight),
            Algorithm::Sack(a) => a.duplicate(window, flight),
        }
    }
    /// The retransmission timer fired; `again`: not for the first time for this segment.
    pub(crate) fn timed_out(&mut self, flight: Flight, again: bool) {
        let window = &mut self.window;
        match &mut self.algorithm {
            Algorithm::Tahoe(a) => a.timed_out(window, flight),
            Algorithm::Reno(a) => a.timed_out(window, flight, again),
            Algorithm::NewReno(a) => a.timed_out(window, flight, again),
            Algorithm::Sack(a) => a.timed_out(window, flight, again),
        }
    }
    /// What may be outstanding, limited transmit included (bytes).
    pub(crate) fn allowance(&self) -> u64 {
        let extra = match &self.algorithm {
            // Jacobson 1988 sends nothing on duplicates; RFC 6675 counts what has left instead.
            Algorithm::Tahoe(_) | Algorithm::Sack(_) => 0,
            Algorithm::Reno(a) => a.limited_transmit(self.window.mss),
            Algorithm::NewReno(a) => a.limited_transmit(self.window.mss),
        };
        self.window.cwnd + extra
    }
    /// Whether a loss is being repaired without a timeout.
    pub(crate) fn in_recovery(&self) -> bool {
        match &self.algorithm {
            Algorithm::Tahoe(_) => false,
            Algorithm::Reno(a) => a.in_recovery(),
            Algorithm::NewReno(a) => a.in_recovery(),
            Algorithm::Sack(a) => a.in_recovery(),
        }
    }
    /// The state of SACK-based recovery, if that is what is used.
    pub(crate) fn sack(&self) -> Option<&SackRecovery> {
        if let Algorithm::Sack(a) = &self.algorithm { Some(a) } else { None }
    }
    /// The same, to change it.
    pub(crate) fn sack_mut(&mut self) -> Option<&mut SackRecovery> {
        if let Algorithm::Sack(a) = &mut self.algorithm { Some(a) } else { None }
    }
}
