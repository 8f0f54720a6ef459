//! A TCP connection of a conversation: its two endpoints, and what waits to be written.

use cellway_apps::{ConnId, Side};
use cellway_tcp::{Config, Endpoint, Output, State, Stats, Variant};
use cellway_units::Time;

use crate::meter::TcpTotals;

/// One end of a connection, with the application's writes that TCP has not taken yet.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) tcp: Endpoint,
    /// Bytes written by the application and not yet accepted.
    pending: u64,
    /// The application wants to close once all is accepted.
    closing: bool,
    /// The earliest timer that is set for the endpoint.
    pub(crate) armed: Option<Time>,
    seen: Stats,
}

impl End {
    fn new(tcp: Endpoint) -> End {
        End { tcp, pending: 0, closing: false, armed: None, seen: Stats::default() }
    }

    /// The application writes, and perhaps closes behind it.
    pub(crate) fn write(&mut self, now: Time, bytes: u64, close: bool, out: &mut Output) {
        self.pending += bytes;
        self.closing |= close;
        self.flush(now, out);
    }

    /// Hands over what TCP takes now.
    pub(crate) fn flush(&mut self, now: Time, out: &mut Output) {
        if self.pending > 0 {
            self.pending -= self.tcp.write(now, self.pending, out);
        }
        if self.pending == 0 && self.closing {
            self.closing = false;
            self.tcp.shutdown(now, out);
        }
    }

    /// What TCP has done since the last call.
    pub(crate) fn news(&mut self, variant: Variant) -> TcpTotals {
        let stats = *self.tcp.stats();
        let timeouts = stats.timeouts - self.seen.timeouts;
        let fast_retransmits = stats.fast_retransmits - self.seen.fast_retransmits;
        let retransmissions = stats.retransmissions - self.seen.retransmissions;
        self.seen = stats;
        // Tahoe answers either sign of loss with a window of one segment; the others only a timeout.
        let collapses = timeouts + if variant == Variant::Tahoe { fast_retransmits } else { 0 };
        TcpTotals { retransmissions, timeouts, fast_retransmits, collapses }
    }
}

#[derive(Debug)]
pub(crate) struct Connection {
    /// Unique in the slot.
    pub(crate) serial: u32,
    /// The conversation of the slot that it belongs to.
    pub(crate) conversation: u32,
    /// Its number in the conversation.
    pub(crate) conn: ConnId,
    /// The ends at the originator and at the responder.
    pub(crate) ends: [End; 2],
    /// Ends that have told of their close; both make the application's.
    pub(crate) closed_ends: u32,
    pub(crate) failed: bool,
}

/// The place of a side in an array of two.
pub(crate) fn at(side: Side) -> usize {
    match side {
        Side::Originator => 0,
        Side::Responder => 1,
    }
}

pub(crate) const SIDES: [Side; 2] = [Side::Originator, Side::Responder];

impl Connection {
    pub(crate) fn new(
        serial: u32,
        conversation: u32,
        conn: ConnId,
        from: Side,
        config: Config,
        iss: [u32; 2],
    ) -> Connection {
        let ends = SIDES.map(|side| {
            let iss = iss[at(side)];
            End::new(if side == from { Endpoint::active(config, iss) } else { Endpoint::passive(config, iss) })
        });
        Connection { serial, conversation, conn, ends, closed_ends: 0, failed: false }
    }

    /// Whether both ends are gone for good.
    pub(crate) fn is_over(&self) -> bool {
        self.ends.iter().all(|end| end.tcp.state() == State::Closed)
    }
}
