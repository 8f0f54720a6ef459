//! Loss recovery: what is lost, and what is sent next. One file for each way.
//!
//! A [`Recovery`] takes acknowledgements, SACK blocks and timeouts, tells the
//! [congestion controller](crate::congestion) about losses, and chooses the next segment. During fast recovery it also
//! bounds how much of the window may be used.

mod duplicates;
mod newreno;
mod reno;
mod sack;
mod scoreboard;
mod tahoe;

use crate::congestion::{Acked, Controller, Flight};
use crate::send::{Chunk, Sender};
use crate::{Config, LossRecovery, Position};
use duplicates::DuplicateAcks;
use newreno::NewReno;
use reno::Reno;
use sack::Sack;
use tahoe::Tahoe;

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

/// The state of each way to recover.
#[derive(Clone, Debug)]
pub(crate) enum Recovery {
    Tahoe(Tahoe),
    Reno(Reno),
    NewReno(NewReno),
    Sack(Sack),
}

impl Recovery {
    /// Creates the recovery of a connection with segments of `mss` bytes. What needs SACK behaves as NewReno with a peer
    /// that does not permit it.
    pub(crate) fn new(config: &Config, mss: u64, peer_permits_sack: bool) -> Recovery {
        let duplicates = DuplicateAcks::new(config.duplicate_threshold, config.limited_transmit);
        match config.recovery() {
            LossRecovery::Tahoe => Recovery::Tahoe(Tahoe::new(duplicates, config.fast_retransmit)),
            LossRecovery::Reno => Recovery::Reno(Reno::new(duplicates)),
            LossRecovery::Sack if peer_permits_sack => Recovery::Sack(Sack::new(duplicates, mss)),
            LossRecovery::NewReno | LossRecovery::Sack => Recovery::NewReno(NewReno::new(duplicates)),
        }
    }

    /// Takes an acknowledgement of new data; `flight` is what is left.
    pub(crate) fn acked(&mut self, control: &mut Controller, acked: Acked, flight: Flight) -> Reaction {
        match self {
            Recovery::Tahoe(a) => a.acked(control, acked, flight),
            Recovery::Reno(a) => a.acked(control, acked, flight),
            Recovery::NewReno(a) => a.acked(control, acked, flight),
            Recovery::Sack(a) => a.acked(control, acked, flight),
        }
    }
    /// Takes a SACK block; returns true if the recovery uses it and it covers new data. RFC 6675 §2: an
    /// acknowledgement that does so is a duplicate, whatever else it does.
    pub(crate) fn sacked(&mut self, start: Position, end: Position, flight: Flight) -> bool {
        if let Recovery::Sack(a) = self { a.update(start, end, flight) } else { false }
    }
    /// True if duplicates are counted by SACK blocks.
    pub(crate) fn uses_sack(&self) -> bool {
        matches!(self, Recovery::Sack(_))
    }
    /// Takes a duplicate acknowledgement.
    pub(crate) fn duplicate(&mut self, control: &mut Controller, flight: Flight) -> Reaction {
        match self {
            Recovery::Tahoe(a) => a.duplicate(control, flight),
            Recovery::Reno(a) => a.duplicate(control, flight),
            Recovery::NewReno(a) => a.duplicate(control, flight),
            Recovery::Sack(a) => a.duplicate(control, flight),
        }
    }
    /// Takes a timeout of the retransmission timer; `again` is true if that is not the first one for this segment.
    pub(crate) fn timed_out(&mut self, control: &mut Controller, flight: Flight, again: bool) {
        match self {
            Recovery::Tahoe(a) => a.timed_out(control, flight),
            Recovery::Reno(a) => a.timed_out(control, flight, again),
            Recovery::NewReno(a) => a.timed_out(control, flight, again),
            Recovery::Sack(a) => a.timed_out(control, flight, again),
        }
    }

    /// Returns the next segment to send, if the windows allow one.
    #[inline]
    pub(crate) fn next(&mut self, control: &Controller, sender: &mut Sender) -> Option<Chunk> {
        let limited_transmit = match self {
            // Jacobson 1988 sends nothing on duplicates.
            Recovery::Tahoe(_) => 0,
            Recovery::Reno(a) => a.limited_transmit(control.mss),
            Recovery::NewReno(a) => a.limited_transmit(control.mss),
            Recovery::Sack(a) => return a.next(control, sender),
        };
        sender.next(control.cwnd + limited_transmit, None)
    }
    /// Returns the first unacknowledged segment, to be resent.
    pub(crate) fn first(&mut self, sender: &Sender) -> Option<Chunk> {
        if let Recovery::Sack(a) = self { a.first(sender) } else { sender.sent(sender.una, sender.max) }
    }
    /// True while a loss is repaired without a timeout.
    pub(crate) fn in_recovery(&self) -> bool {
        match self {
            Recovery::Tahoe(_) => false,
            Recovery::Reno(a) => a.in_recovery(),
            Recovery::NewReno(a) => a.in_recovery(),
            Recovery::Sack(a) => a.in_recovery(),
        }
    }
}
