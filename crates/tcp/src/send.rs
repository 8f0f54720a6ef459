//! The sender: the queue of written bytes, the peer's window, and the rules of transmission.

use crate::Position;
use crate::congestion::Flight;

/// A range of the sequence space for one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) from: Position,
    /// Payload (bytes).
    pub(crate) len: u64,
    pub(crate) syn: bool,
    pub(crate) fin: bool,
}

impl Chunk {
    /// Returns the position after it.
    pub(crate) fn end(self) -> Position {
        self.from + self.len + u64::from(self.syn) + u64::from(self.fin)
    }
}

/// The sending half. Bytes are counted, never held.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    /// Effective segment size (bytes).
    pub(crate) mss: u64,
    /// First position not acknowledged (SND.UNA).
    pub(crate) una: Position,
    /// Next position to send (SND.NXT).
    pub(crate) nxt: Position,
    /// Behind the last position ever sent, window probes apart.
    pub(crate) max: Position,
    /// Behind the last byte that a window probe carried.
    pub(crate) probed: Position,
    /// Behind the last byte written.
    end: Position,
    /// True if a FIN follows the last byte.
    fin: bool,
    /// The peer's window (SND.WND) (bytes).
    pub(crate) window: u64,
    /// The largest it has been (bytes).
    max_window: u64,
    /// Sequence and acknowledgement of the segment that last set it (SND.WL1, SND.WL2).
    window_from: (Position, Position),
    capacity: u64,
    nagle: bool,
    /// A write was not accepted in full and no room has been announced since.
    starved: bool,
}

impl Sender {
    pub(crate) fn new(mss: u64, capacity: u64, nagle: bool) -> Sender {
        Sender {
            mss,
            una: 0,
            nxt: 0,
            max: 0,
            probed: 0,
            end: 1,
            fin: false,
            window: 0,
            max_window: 0,
            window_from: (0, 0),
            capacity,
            nagle,
            starved: false,
        }
    }

    /// Returns the room for further bytes (bytes).
    pub(crate) fn room(&self) -> u64 {
        self.capacity.saturating_sub(self.end.saturating_sub(self.una.max(1)))
    }
    /// Queues up to `bytes` and returns the number accepted.
    pub(crate) fn write(&mut self, bytes: u64) -> u64 {
        let accepted = bytes.min(self.room());
        self.end += accepted;
        self.starved |= accepted < bytes;
        accepted
    }
    /// Returns true, once, if a writer whose bytes were not all accepted has room again.
    pub(crate) fn take_writable(&mut self) -> bool {
        let writable = self.starved && self.room() > 0;
        if writable {
            self.starved = false;
        }
        writable
    }
    /// Queues a FIN after the queued bytes.
    pub(crate) fn finish(&mut self) {
        self.fin = true;
    }
    /// Returns true if a FIN was queued.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin
    }
    /// Returns true if the FIN is acknowledged.
    pub(crate) fn fin_acked(&self) -> bool {
        self.fin && self.una > self.end
    }
    /// Returns the payload between two positions: SYN and FIN take a position each but no byte (bytes).
    pub(crate) fn payload_between(&self, from: Position, to: Position) -> u64 {
        to.min(self.end).saturating_sub(from.clamp(1, self.end))
    }
    /// Bytes not yet sent in this pass (bytes).
    pub(crate) fn waiting(&self) -> u64 {
        self.end.saturating_sub(self.nxt)
    }
    /// Returns true if bytes or a FIN are still to be sent in this pass.
    pub(crate) fn has_more(&self) -> bool {
        self.nxt < self.end || self.fin && self.nxt == self.end
    }
    /// Returns true if nothing is to be sent and nothing is outstanding, as at an end that only receives.
    pub(crate) fn is_idle(&self) -> bool {
        self.una == self.max && !self.has_more()
    }
    /// Returns true if `position` is after the last byte written.
    pub(crate) fn is_end(&self, position: Position) -> bool {
        position >= self.end
    }
    /// Returns the position after the last one that can have been acknowledged.
    pub(crate) fn sent_end(&self) -> Position {
        self.max.max(self.probed)
    }
    pub(crate) fn flight(&self) -> Flight {
        Flight { una: self.una, nxt: self.nxt, max: self.max, peer_window: self.window }
    }

    /// Processes the acknowledgement of everything below `ack`.
    pub(crate) fn acked(&mut self, ack: Position) {
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        self.max = self.max.max(ack);
    }
    /// Updates the window, but not from an older segment. RFC 9293 §3.10.7.4.
    pub(crate) fn update_window(&mut self, seq: Position, ack: Position, window: u64) {
        if self.window_from <= (seq, ack) {
            self.window_from = (seq, ack);
            self.window = window;
            self.max_window = self.max_window.max(window);
        }
    }

    /// Returns the next segment in sequence, if one may be sent. `allowance` is the outstanding data that congestion
    /// control permits (bytes); `stop` is the start of a range that the peer already holds.
    #[inline]
    pub(crate) fn next(&self, allowance: u64, stop: Option<Position>) -> Option<Chunk> {
        if !self.has_more() {
            return None;
        }
        let outstanding = self.nxt - self.una;
        let natural = self.waiting().min(self.mss).min(stop.map_or(u64::MAX, |s| s.saturating_sub(self.nxt)));
        let usable = self.window.min(allowance).saturating_sub(outstanding);
        let len = natural.min(usable);
        let fin = self.fin && self.nxt + len == self.end;
        let chunk = Chunk { from: self.nxt, len, syn: false, fin };
        if len == 0 {
            // A bare FIN needs no room at the peer.
            return (fin && natural == 0).then_some(chunk);
        }
        let resending = self.nxt < self.max;
        // RFC 1122 §4.2.3.4, RFC 9293 §3.7.4 (Nagle): while anything is unacknowledged, wait for a full segment.
        let small_may_go = !self.nagle || outstanding == 0;
        // RFC 9293 §3.8.6.2.1, sender's silly window avoidance: send (1) a full segment, (2) all data, (3) at least
        // half of the largest window seen. Retransmissions, and the last bytes before a FIN, do not wait.
        let go = len == self.mss
            || len == natural && (small_may_go || resending || fin)
            || len >= self.max_window.div_ceil(2) && small_may_go;
        go.then_some(chunk)
    }
    /// Returns the data sent from `from`, at most one segment and not beyond `end`.
    pub(crate) fn sent(&self, from: Position, end: Position) -> Option<Chunk> {
        let end = end.min(self.max);
        let syn = from == 0 && end > 0;
        let len = if syn { 0 } else { end.min(self.end).saturating_sub(from).min(self.mss) };
        let behind = from + len;
        let fin = self.fin && !syn && behind == self.end && end > self.end;
        (syn || fin || len > 0).then_some(Chunk { from, len, syn, fin })
    }
    /// Returns the data to send although the window or silly window avoidance forbids it: all that fits the window, or
    /// one byte into a closed one. RFC 9293 §3.8.6.1.
    pub(crate) fn forced(&self) -> Chunk {
        let len = self.waiting().min(self.mss).min(self.window.max(1));
        let fin = self.fin && self.window > 0 && self.nxt + len == self.end;
        Chunk { from: self.nxt, len, syn: false, fin }
    }
}
