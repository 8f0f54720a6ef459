//! The loss recovery algorithm of RFC 6675 §5.

use super::scoreboard::Scoreboard;
use crate::Position;
use crate::congestion::{Acked, DuplicateAcks, Flight, Reaction, Timeout, Window};
use crate::ranges::Ranges;

/// What NextSeg() says to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextSegment {
    /// Resend from `start`, not beyond `end`.
    Resend {
        start: Position,
        end: Position,
        /// RFC 6675 §4 (4): the one retransmission of the tail, which does not raise HighRxt.
        rescue: bool,
    },
    /// Send what was never sent.
    New,
}

/// A recovery in progress.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// RFC 6675 §2, HighRxt: behind what was resent.
    resent: Position,
    /// RFC 6675 §2, RescueRxt: where the last rescue retransmission stood.
    rescued: Option<Position>,
}

/// Fast recovery that resends what is known to be missing, as the pipe drains.
#[derive(Clone, Debug)]
pub(crate) struct SackRecovery {
    duplicates: DuplicateAcks,
    scoreboard: Scoreboard,
    recovery: Option<Recovery>,
    /// RFC 6675 §2, RecoveryPoint: behind the last position sent before the loss or the timeout.
    recovery_point: Position,
}

impl SackRecovery {
    pub(crate) fn new(duplicates: DuplicateAcks, mss: u64) -> SackRecovery {
        let scoreboard = Scoreboard::new(duplicates.threshold, mss);
        SackRecovery { duplicates, scoreboard, recovery: None, recovery_point: 0 }
    }

    /// RFC 6675 §4, Update(): notes a block; whether it tells anything new.
    pub(crate) fn update(&mut self, start: Position, end: Position, flight: Flight) -> bool {
        self.scoreboard.insert(start, end, flight.una, flight.max) > 0
    }
    pub(crate) fn acked(&mut self, window: &mut Window, acked: Acked, flight: Flight) -> Reaction {
        // RFC 6675 §5: a cumulative acknowledgement resets DupAcks.
        self.duplicates.reset();
        self.scoreboard.acked(flight.una);
        match self.recovery {
            None => window.grow(acked, flight),
            // RFC 6675 §5 (A): the end of recovery; the window stays at ssthresh.
            Some(_) if flight.una >= self.recovery_point => self.recovery = None,
            Some(_) => {}
        }
        Reaction::Continue
    }
    /// An acknowledgement that SACKs something new. RFC 6675 §2 counts it even if it also acknowledges data.
    pub(crate) fn duplicate(&mut self, window: &mut Window, flight: Flight) -> Reaction {
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
        // RFC 6675 §5 (4.1) to (4.3); the caller goes on with (4.4) and (C).
        self.recovery_point = flight.max;
        window.reduce(self.duplicates.flight());
        window.cwnd = window.ssthresh;
        self.recovery = Some(Recovery { resent: flight.una, rescued: None });
        Reaction::Retransmit
    }
    pub(crate) fn timed_out(&mut self, window: &mut Window, flight: Flight, again: bool) {
        self.duplicates.reset();
        // RFC 6675 §5.1: what was SACKed before the timeout counts after it, too, where RFC 2018 §5 had it forgotten:
        // else what a recovery has under way is sent once more, into a queue that is full already.
        self.scoreboard.acked(flight.una);
        // RFC 6675 §5.1: recovery ends, and its point is where sending had come to.
        let timeout = Timeout::new(again, self.recovery.is_some());
        self.recovery = None;
        self.recovery_point = flight.max;
        window.collapse(flight, timeout);
    }
    pub(crate) fn in_recovery(&self) -> bool {
        self.recovery.is_some()
    }
    /// The data that the peer holds beyond the cumulative acknowledgement.
    pub(crate) fn sacked(&self) -> &Ranges {
        self.scoreboard.sacked()
    }
    /// Whether new data may go now, outside recovery. RFC 6675 §5 (3) sends as the pipe drains
    /// while duplicates are counted; without limited transmit nothing goes.
    pub(crate) fn may_send_new(&self) -> bool {
        self.duplicates.count == 0 || self.duplicates.limited_transmit_enabled()
    }

    /// RFC 6675 §4, SetPipe() (bytes).
    pub(crate) fn pipe(&self, flight: Flight) -> u64 {
        let resent = self.recovery.map_or(flight.una, |r| r.resent);
        self.scoreboard.pipe(flight.una, flight.max, resent)
    }
    /// RFC 6675 §4, NextSeg(); `new`: whether something was never sent and the peer's window allows it.
    pub(crate) fn next_segment(&self, flight: Flight, mss: u64, new: bool) -> Option<NextSegment> {
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
    /// What NextSeg() gave was resent up to `end`. RFC 6675 §5 (C.2).
    pub(crate) fn resent(&mut self, end: Position, rescue: bool) {
        if let Some(recovery) = &mut self.recovery {
            if rescue {
                recovery.rescued = Some(self.recovery_point);
            } else {
                recovery.resent = recovery.resent.max(end);
            }
        }
    }
}
