//! A process that writes to a socket: one write after the other, and each blocks until the socket buffer has accepted
//! all of it.
//!
//! The process is busy for a time with each write (it makes the data and copies them into the kernel), or must read the
//! next write from disk. That continues while a write is blocked: the next write begins when the socket has accepted
//! the last one and the time has passed, whichever is later.

use cellway_units::{Bytes, Rate, Span, Time};

use crate::action::{Action, ConnId, Side};

/// The condition of a write besides the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Each write keeps the process busy for this time.
    Busy(Span),
    /// A disk reads at this rate, one write ahead: it begins to read a block when the block before is written. `carry`
    /// is the rounding remainder of the last block.
    Disk { rate: Rate, carry: u64 },
}

/// The writing process at one end of a connection.
#[derive(Debug)]
pub(crate) struct Writer {
    conn: ConnId,
    side: Side,
    /// Bytes of a write; the last may have fewer.
    size: u64,
    /// Bytes that no write has had yet; without end if absent.
    left: Option<u64>,
    pace: Pace,
    /// No write begins then or later.
    until: Time,
    /// No write begins before.
    ready: Time,
    /// The socket has not taken all of the last write.
    blocked: bool,
}

impl Writer {
    /// Writes `total` bytes (without end if absent), `size` at a time, then closes its side.
    pub(crate) fn new(conn: ConnId, side: Side, total: Option<u64>, size: u64, pace: Pace) -> Writer {
        Writer { conn, side, size, left: total, pace, until: Time::MAX, ready: Time::ZERO, blocked: false }
    }

    /// Begins no write at `until` or later, and closes then.
    pub(crate) fn stop_at(&mut self, until: Time) {
        self.until = until;
    }

    /// Starts after the connection is established. Like the two calls below, returns true if a write begins.
    pub(crate) fn start(&mut self, now: Time, out: &mut Vec<Action>) -> bool {
        self.ready = match self.pace {
            Pace::Busy(_) => now,
            Pace::Disk { .. } => now + self.pause(),
        };
        self.proceed(now, out)
    }

    /// Continues after the socket has accepted all written bytes.
    pub(crate) fn written(&mut self, now: Time, out: &mut Vec<Action>) -> bool {
        self.blocked = false;
        self.proceed(now, out)
    }

    /// Continues after its timer has expired.
    pub(crate) fn timer(&mut self, now: Time, out: &mut Vec<Action>) -> bool {
        self.proceed(now, out)
    }

    /// Returns true if everything is written and accepted.
    pub(crate) fn is_done(&self) -> bool {
        self.left == Some(0) && !self.blocked
    }

    fn proceed(&mut self, now: Time, out: &mut Vec<Action>) -> bool {
        if self.blocked || self.left == Some(0) {
            return false;
        }
        let at = self.ready.min(self.until);
        if now < at {
            out.push(Action::Timer { at, id: 0 });
            return false;
        }
        let (conn, side) = (self.conn, self.side);
        let goes_on = now < self.until;
        if goes_on {
            let bytes = self.next_size();
            self.left = self.left.map(|left| left - bytes);
            self.blocked = true;
            self.ready = now + self.pause();
            out.push(Action::Write { conn, side, bytes });
        } else {
            self.left = Some(0);
        }
        if self.left == Some(0) {
            out.push(Action::Close { conn, side });
        }
        goes_on
    }

    fn next_size(&self) -> u64 {
        self.left.map_or(self.size, |left| left.min(self.size))
    }

    /// Returns the time from the beginning of a write until the next may begin.
    fn pause(&mut self) -> Span {
        let bits = Bytes(self.next_size()).bits();
        match &mut self.pace {
            Pace::Busy(span) => *span,
            Pace::Disk { rate, carry } => {
                let (span, rest) = rate.time_for(bits, *carry);
                *carry = rest;
                span
            }
        }
    }
}
