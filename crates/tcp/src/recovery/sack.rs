//! Recovery directed by selective acknowledgements. RFC 6675 §5.

use super::scoreboard::Scoreboard;
use super::{DuplicateAcks, Reaction};
use crate::Position;
use crate::congestion::{Acked, Control, Flight, Timeout};
use crate::send::{Chunk, Sender};

/// The result of NextSeg().
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextSegment {
    /// Resend from `start`, not beyond `end`.
    Resend {
        start: Position,
        end: Position,
        /// RFC 6675 §4 (4): the one retransmission of the tail, which does not raise HighRxt.
        rescue: bool,
    },
    /// Send new data.
    New,
}

/// A recovery in progress.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// RFC 6675 §2, HighRxt: after the retransmitted data.
    resent: Position,
    /// RFC 6675 §2, RescueRxt: the position of the last rescue retransmission.
    rescued: Option<Position>,
}

/// Fast recovery that retransmits data known to be missing, as the pipe drains.
#[derive(Clone, Debug)]
pub(crate) struct Sack {
    duplicates: DuplicateAcks,
    scoreboard: Scoreboard,
    recovery: Option<Recovery>,
    /// RFC 6675 §2, RecoveryPoint: behind the last position sent before the loss or the timeout.
    recovery_point: Position,
}

impl Sack {
    pub(super) fn new(duplicates: DuplicateAcks, mss: u64) -> Sack {
        let scoreboard = Scoreboard::new(duplicates.threshold, mss);
        Sack { duplicates, scoreboard, recovery: None, recovery_point: 0 }
    }

    /// Records a block; returns true if it reports new data. RFC 6675 §4, Update().
    pub(super) fn update(&mut self, start: Position, end: Position, flight: Flight) -> bool {
        self.scoreboard.insert(start, end, flight.una, flight.max) > 0
    }
    /// Returns the SACKed data at or above `position` (bytes).
    pub(super) fn sacked_from(&self, position: Position) -> u64 {
        self.scoreboard.sacked().len_from(position)
    }
    pub(super) fn acked(&mut self, control: &mut Control, acked: Acked, flight: Flight) -> Reaction {
        // RFC 6675 §5: a cumulative acknowledgement resets DupAcks.
        self.duplicates.reset();
        self.scoreboard.acked(flight.una);
        match self.recovery {
            None => control.grow(acked, flight),
            // RFC 6675 §5 (A): the end of recovery; the window stays at ssthresh.
            Some(_) if flight.una >= self.recovery_point => self.recovery = None,
            Some(_) => {}
        }
        Reaction::Continue
    }
    /// Processes an acknowledgement that SACKs new data. RFC 6675 §2 counts it even if it also acknowledges data.
    pub(super) fn duplicate(&mut self, control: &mut Control, flight: Flight) -> Reaction {
        if self.recovery.is_some() {
            return Reaction::Continue;
        }
        self.duplicates.add(flight);
        // RFC 6675 §5 (1), (2): enough duplicates, or the first byte is lost by IsLost().
        let lost = self.duplicates.count >= self.duplicates.threshold || self.scoreboard.first_is_lost();
        // RFC 6675 §5.1: after a timeout no recovery until all sent before it is acknowledged.
        if !lost || flight.una < self.recovery_point {
            return Reaction::Continue;
        }
        // RFC 6675 §5 (4.1) to (4.3); the caller continues with (4.4) and (C).
        self.recovery_point = flight.max;
        control.reduce(flight, self.duplicates.flight());
        control.window.cwnd = control.window.ssthresh;
        self.recovery = Some(Recovery { resent: flight.una, rescued: None });
        Reaction::Retransmit
    }
    pub(super) fn timed_out(&mut self, control: &mut Control, flight: Flight, again: bool) {
        self.duplicates.reset();
        // RFC 6675 §5.1: data SACKed before the timeout count after it, too, unlike in RFC 2018 §5: else the data in
        // flight of a recovery are sent once more, into a queue that is full already.
        self.scoreboard.acked(flight.una);
        // RFC 6675 §5.1: recovery ends, and its point is the highest position sent.
        let timeout = Timeout::new(again, self.recovery.is_some());
        self.recovery = None;
        self.recovery_point = flight.max;
        control.collapse(flight, timeout, &[]);
    }
    /// Ends an episode in which nothing was lost.
    pub(super) fn undone(&mut self, flight: Flight) {
        self.duplicates.reset();
        self.recovery_point = flight.una;
    }
    pub(super) fn in_recovery(&self) -> bool {
        self.recovery.is_some()
    }
    /// Returns true if new data may be sent now, outside recovery. RFC 6675 §5 (3) sends as the pipe drains while
    /// duplicates are counted; without limited transmit nothing is sent.
    fn may_send_new(&self) -> bool {
        self.duplicates.count == 0 || self.duplicates.limited_transmit_enabled()
    }

    /// Returns the next segment to send, if the windows allow one.
    pub(super) fn next(&mut self, control: &Control, sender: &mut Sender) -> Option<Chunk> {
        if self.recovery.is_some() {
            return self.next_in_recovery(control, sender);
        }
        let sacked = self.scoreboard.sacked();
        // RFC 6675 §5.1: after a timeout, skip the data that the peer holds.
        let (start, end) = sacked.gap_from(sender.nxt);
        sender.nxt = start;
        let mut allowance = control.window.cwnd;
        // RFC 6675 §5 (3): data that the peer holds have left the network. That releases new data only as limited
        // transmit does.
        if start < sender.max || self.may_send_new() {
            allowance += sacked.len_below(start);
        }
        sender.next(allowance, end)
    }
    /// Returns the result of NextSeg() while the pipe has room for a segment. RFC 6675 §5 (C).
    fn next_in_recovery(&mut self, control: &Control, sender: &Sender) -> Option<Chunk> {
        let (flight, mss) = (sender.flight(), sender.mss);
        let new = sender.next(u64::MAX, None);
        if control.window.cwnd < self.pipe(flight) + mss {
            return None;
        }
        match self.next_segment(flight, mss, new.is_some())? {
            NextSegment::New => new,
            NextSegment::Resend { start, end, rescue } => self.resend(sender, start, end, rescue),
        }
    }
    /// Returns the first unacknowledged segment, up to the next data that the peer holds.
    pub(super) fn first(&mut self, sender: &Sender) -> Option<Chunk> {
        let (_, end) = self.scoreboard.sacked().gap_from(sender.una);
        self.resend(sender, sender.una, end.unwrap_or(sender.max), false)
    }
    /// Returns the data sent from `from`, at most one segment and not beyond `end`, for a retransmission.
    fn resend(&mut self, sender: &Sender, from: Position, end: Position, rescue: bool) -> Option<Chunk> {
        let chunk = sender.sent(from, end)?;
        self.resent(chunk.end(), rescue);
        Some(chunk)
    }

    /// Returns SetPipe() (bytes). RFC 6675 §4.
    fn pipe(&self, flight: Flight) -> u64 {
        let resent = self.recovery.map_or(flight.una, |r| r.resent);
        self.scoreboard.pipe(flight.una, flight.max, resent)
    }
    /// Returns NextSeg(); `new` is true if unsent data exist and the peer's window allows them. RFC 6675 §4.
    fn next_segment(&self, flight: Flight, mss: u64, new: bool) -> Option<NextSegment> {
        let recovery = self.recovery?;
        let hole = self.scoreboard.hole(flight.una, recovery.resent);
        // (1) the lowest that is lost and not resent.
        if let Some(hole) = hole
            && hole.lost
        {
            return Some(NextSegment::Resend { start: hole.start, end: hole.end, rescue: false });
        }
        // (2) new data.
        if new {
            return Some(NextSegment::New);
        }
        // (3) the lowest not resent that may be lost.
        if let Some(hole) = hole {
            return Some(NextSegment::Resend { start: hole.start, end: hole.end, rescue: false });
        }
        // (4) once per recovery, the last segment that is not SACKed.
        let may_rescue = recovery.rescued.is_none_or(|at| flight.una > at);
        let (start, end) = self.scoreboard.last_gap(flight.una, flight.max).filter(|_| may_rescue)?;
        Some(NextSegment::Resend { start: start.max(end.saturating_sub(mss)), end, rescue: true })
    }
    /// Records that the result of NextSeg() was retransmitted up to `end`. RFC 6675 §5 (C.2).
    fn resent(&mut self, end: Position, rescue: bool) {
        if let Some(recovery) = &mut self.recovery {
            if rescue {
                recovery.rescued = Some(self.recovery_point);
            } else {
                recovery.resent = recovery.resent.max(end);
            }
        }
    }
}
