//! Loss recovery: the lost segments, and the next ones to send. One file for each algorithm.
//!
//! A [`Recovery`] processes acknowledgements, SACK blocks and timeouts, notifies the [congestion
//! controller](crate::congestion) of losses, and chooses the next segment. During fast recovery it also decides how
//! much may be in flight: by inflating the window (Reno, NewReno), by the pipe (SACK) or by PRR (RACK).

mod duplicates;
mod frto;
mod newreno;
mod prr;
mod rack;
mod reno;
mod reordering;
mod sack;
mod scoreboard;
mod tahoe;

use cellway_units::{Span, Time};

use crate::congestion::{Acked, Control, Flight, Repair};
use crate::retransmission_queue::RetransmissionQueue;
use crate::send::{Chunk, Sender};
use crate::undo::Duplicate;
use crate::{Config, LossRecovery, Position};
use duplicates::DuplicateAcks;
use newreno::NewReno;
use rack::Rack;
use reno::Reno;
use sack::Sack;
use tahoe::Tahoe;

/// The sender's view when an event arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    pub(crate) now: Time,
    pub(crate) flight: Flight,
    pub(crate) srtt: Option<Span>,
    /// This acknowledgement echoes a timestamp: the segment that carried it was sent no later than this.
    pub(crate) echo: Option<Time>,
    /// This acknowledgement reports data that the peer has received twice.
    pub(crate) duplicate: Option<Duplicate>,
    /// When the retransmission timer fires.
    pub(crate) timeout_at: Option<Time>,
}

/// The kind of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckKind {
    /// It acknowledges new data cumulatively.
    Advance,
    /// A duplicate by RFC 5681 §2 without SACK blocks.
    Duplicate,
    Other,
}

/// The action of the sender that follows from an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    /// Send only the segments that the window allows.
    Continue,
    /// Resend the first unacknowledged segment and start the retransmission timer anew.
    Retransmit,
    /// Resend the first unacknowledged segment and leave the retransmission timer as it runs.
    RetransmitKeepingTimer,
    /// A recovery has begun: start the retransmission timer anew; the next transmission sends the lost data.
    Repair,
    /// The window was reduced for a loss that is repaired already.
    Reduced,
    /// The last reduction was not needed.
    Undo,
    /// Take the next position to send back to the first unacknowledged one.
    GoBackN,
}

/// The state of each recovery algorithm.
#[derive(Clone, Debug)]
pub(crate) enum Recovery {
    Tahoe(Tahoe),
    Reno(Reno),
    NewReno(NewReno),
    /// Boxed, as the next one: they are larger than the others.
    Sack(Box<Sack>),
    Rack(Box<Rack>),
}

impl Recovery {
    /// Creates the recovery of a connection with segments of `mss` bytes. Algorithms that need SACK behave as NewReno
    /// with a peer that does not permit it.
    pub(crate) fn new(config: &Config, mss: u64, peer_permits_sack: bool) -> Recovery {
        let duplicates = DuplicateAcks::new(config.tcp.duplicate_threshold, config.tcp.limited_transmit);
        match config.tcp.recovery() {
            LossRecovery::Tahoe => Recovery::Tahoe(Tahoe::new(duplicates, config.tcp.fast_retransmit)),
            LossRecovery::Reno => Recovery::Reno(Reno::new(duplicates)),
            LossRecovery::Sack if peer_permits_sack => Recovery::Sack(Box::new(Sack::new(duplicates, mss))),
            LossRecovery::Rack if peer_permits_sack => {
                Recovery::Rack(Box::new(Rack::new(duplicates, mss, config.tcp.loss_timer_margin)))
            }
            LossRecovery::NewReno | LossRecovery::Sack | LossRecovery::Rack => {
                Recovery::NewReno(NewReno::new(duplicates))
            }
        }
    }

    /// Processes an acknowledgement of new data; `flight` is the data still outstanding.
    pub(crate) fn acked(&mut self, control: &mut Control, acked: Acked, flight: Flight) -> Reaction {
        match self {
            Recovery::Tahoe(a) => a.acked(control, acked, flight),
            Recovery::Reno(a) => a.acked(control, acked, flight),
            Recovery::NewReno(a) => a.acked(control, acked, flight),
            Recovery::Sack(a) => a.acked(control, acked, flight),
            Recovery::Rack(a) => a.acked(control, acked, flight),
        }
    }
    /// Takes a SACK block; returns true if the recovery keeps a scoreboard and the block covers new data. By RFC 6675 §2 an
    /// acknowledgement with such a block is a duplicate, even if it also acknowledges new data.
    pub(crate) fn sacked(&mut self, start: Position, end: Position, flight: Flight) -> bool {
        if let Recovery::Sack(a) = self { a.update(start, end, flight) } else { false }
    }
    /// Returns the data at or above `position` that the peer has reported to hold, if the recovery keeps a scoreboard
    /// (bytes).
    pub(crate) fn sacked_from(&self, position: Position) -> u64 {
        if let Recovery::Sack(a) = self { a.sacked_from(position) } else { 0 }
    }
    /// Returns true if the recovery uses SACK: an acknowledgement is then a duplicate if its SACK blocks report new
    /// data.
    pub(crate) fn uses_sack(&self) -> bool {
        match self {
            Recovery::Sack(_) | Recovery::Rack(_) => true,
            Recovery::Tahoe(_) | Recovery::Reno(_) | Recovery::NewReno(_) => false,
        }
    }
    /// Takes a duplicate acknowledgement.
    pub(crate) fn duplicate(&mut self, control: &mut Control, flight: Flight) -> Reaction {
        match self {
            Recovery::Tahoe(a) => a.duplicate(control, flight),
            Recovery::Reno(a) => a.duplicate(control, flight),
            Recovery::NewReno(a) => a.duplicate(control, flight),
            Recovery::Sack(a) => a.duplicate(control, flight),
            // RFC 8985 counts time instead.
            Recovery::Rack(_) => Reaction::Continue,
        }
    }
    /// Finishes an acknowledgement after `queue` has marked the segments that it reports as delivered. Only RACK acts
    /// on it.
    pub(crate) fn delivered(
        &mut self,
        control: &mut Control,
        context: Context,
        queue: &mut RetransmissionQueue,
        ack: AckKind,
    ) -> Reaction {
        if let Recovery::Rack(a) = self { a.delivered(control, context, queue, ack) } else { Reaction::Continue }
    }
    /// Takes a timeout of the retransmission timer; `again` is true if that is not the first one for this segment.
    pub(crate) fn timed_out(
        &mut self,
        control: &mut Control,
        context: Context,
        queue: Option<&mut RetransmissionQueue>,
        again: bool,
    ) -> Reaction {
        let flight = context.flight;
        match self {
            Recovery::Tahoe(a) => a.timed_out(control, flight),
            Recovery::Reno(a) => a.timed_out(control, flight, again),
            Recovery::NewReno(a) => a.timed_out(control, flight, again),
            Recovery::Sack(a) => a.timed_out(control, flight, again),
            Recovery::Rack(a) => {
                if let Some(queue) = queue {
                    a.timed_out(control, context, queue, again);
                }
                return Reaction::Continue;
            }
        }
        Reaction::GoBackN
    }

    /// Returns the next segment to send, if the windows allow one.
    #[inline]
    pub(crate) fn next(
        &mut self,
        control: &Control,
        sender: &mut Sender,
        queue: Option<&mut RetransmissionQueue>,
    ) -> Option<Chunk> {
        let limited_transmit = match self {
            // Tahoe sends no new data on duplicates.
            Recovery::Tahoe(_) => 0,
            Recovery::Reno(a) => a.limited_transmit(control.window.mss),
            Recovery::NewReno(a) => a.limited_transmit(control.window.mss),
            Recovery::Sack(a) => return a.next(control, sender),
            Recovery::Rack(a) => return a.next(control, sender, queue?),
        };
        sender.next(control.window.cwnd + limited_transmit, None)
    }
    /// Returns the first unacknowledged segment, to be resent.
    pub(crate) fn first(&mut self, sender: &Sender) -> Option<Chunk> {
        if let Recovery::Sack(a) = self { a.first(sender) } else { sender.sent(sender.una, sender.max) }
    }
    /// Counts a segment sent; `new` is true if it was not sent before.
    pub(crate) fn sent(&mut self, chunk: Chunk, new: bool) {
        if let Recovery::Rack(a) = self {
            a.sent(chunk.end() - chunk.from, new);
        }
    }
    /// Returns the deadline of the loss-detection timer. To be called once all that may be sent has been sent.
    pub(crate) fn deadline(&mut self, context: &Context, queue: Option<&RetransmissionQueue>) -> Option<Time> {
        if let Recovery::Rack(a) = self { a.deadline(context, queue?) } else { None }
    }
    /// Processes the expiry of that timer; returns a probe to send, if one is due.
    pub(crate) fn expired(
        &mut self,
        control: &mut Control,
        context: Context,
        sender: &Sender,
        queue: Option<&mut RetransmissionQueue>,
    ) -> (Reaction, Option<Chunk>) {
        match (self, queue) {
            (Recovery::Rack(a), Some(queue)) => a.expired(control, context, sender, queue),
            _ => (Reaction::Continue, None),
        }
    }
    /// Returns the data that a loss probe of unknown outcome has retransmitted.
    pub(crate) fn probed(&self) -> Option<(Position, Position)> {
        if let Recovery::Rack(a) = self { a.probed() } else { None }
    }
    /// Returns true if a reduction can be undone now. The recovery of SACK ends first: it does not adapt to reordering,
    /// so it would begin again at once.
    pub(crate) fn may_undo(&self) -> bool {
        if let Recovery::Sack(a) = self { !a.in_recovery() } else { true }
    }
    /// Ends an episode in which nothing was lost, which began as a repair of the kind `began_with`.
    pub(crate) fn undone(
        &mut self,
        began_with: Option<Repair>,
        flight: Flight,
        queue: Option<&mut RetransmissionQueue>,
    ) {
        match (self, queue) {
            (Recovery::Sack(a), _) => a.undone(flight),
            (Recovery::Rack(a), Some(queue)) => a.undone(began_with, queue),
            _ => {}
        }
    }
    /// Returns the repair in progress; only RACK knows it after a timeout.
    pub(crate) fn repair(&self) -> Option<Repair> {
        if let Recovery::Rack(a) = self { a.repair() } else { self.in_recovery().then_some(Repair::Fast) }
    }
    /// Returns true while a loss is repaired without a timeout.
    pub(crate) fn in_recovery(&self) -> bool {
        match self {
            Recovery::Tahoe(_) => false,
            Recovery::Reno(a) => a.in_recovery(),
            Recovery::NewReno(a) => a.in_recovery(),
            Recovery::Sack(a) => a.in_recovery(),
            Recovery::Rack(a) => a.in_recovery(),
        }
    }
}
