//! One direction of a flow from the local TCP to the peer: the bytes that are consumed, sent and acknowledged.
//!
//! All offsets count bytes since the start of the flow: `freed <= next <= consumed <= received`.
//!
//! Two bounds apply. The *window* of this gateway bounds the bytes that it holds. The *limit*, which the peer announces,
//! is the last offset that may be sent; limit less `next` is the *credit* left. Credit that is not needed is returned,
//! so that the peer can give it to other flows.

use serde::{Deserialize, Serialize};

use crate::ranges::Ranges;

/// A piece of a flow to send in one data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Piece {
    pub(crate) offset: u64,
    pub(crate) len: u32,
    pub(crate) fin: bool,
    pub(crate) again: bool,
    /// True if its last byte is urgent.
    pub(crate) urgent: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Fin {
    #[default]
    Unsent,
    UnderWay,
    Acked,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Outbound {
    /// The bytes that the local TCP has received in order from its host.
    pub(crate) received: u64,
    /// The bytes of these that were read from the receive buffer of the local TCP.
    pub(crate) consumed: u64,
    /// The first byte that was never sent.
    next: u64,
    /// All bytes below are acknowledged and freed.
    pub(crate) freed: u64,
    /// The last offset that may be sent: the largest limit that the peer announced, less the bytes that were returned.
    pub(crate) limit: u64,
    /// Bytes of credit returned since the start.
    pub(crate) returned: u64,
    /// `next` at the time of the last return.
    pub(crate) returned_at: u64,
    /// The acknowledged ranges beyond `freed`.
    acked: Ranges,
    lost: Ranges,
    /// True if the local host has ended this direction, at `received`.
    pub(crate) ended: bool,
    fin: Fin,
    /// The offset of the byte that the local host has marked as urgent last. As in TCP, a mark replaces the one before.
    urgent: Option<u64>,
    /// Retransmitted bytes.
    pub(crate) resent: u64,
}

impl Outbound {
    /// Returns the bytes held: consumed from the local TCP, not acknowledged by the peer.
    pub(crate) fn held(&self) -> u64 {
        self.consumed - self.freed
    }
    /// Consumes bytes of the local TCP, as many as `window` and the peer's limit allow, and returns their number. At most
    /// `ahead` bytes are then unsent, and none are consumed while more than half of that is. Bytes beyond the limit stay
    /// with the host: here they would use the memory of other flows until the far host reads.
    pub(crate) fn consume(&mut self, window: u64, ahead: u64) -> u64 {
        let waits = self.consumed - self.next;
        let room = if waits > ahead / 2 { 0 } else { ahead - waits };
        let may_be_sent = self.limit.saturating_sub(self.consumed);
        let more = (self.received - self.consumed).min(window.saturating_sub(self.held())).min(room).min(may_be_sent);
        self.consumed += more;
        more
    }
    /// Marks the byte at `at`, which was not received yet, as urgent.
    pub(crate) fn mark(&mut self, at: u64) {
        self.urgent = self.urgent.max(Some(at));
    }
    /// Ends the local side: bytes that were not consumed are dropped, and no FIN follows.
    pub(crate) fn cut(&mut self) {
        (self.received, self.ended) = (self.consumed, false);
    }
    /// Ends the remote side: nothing need be sent or retransmitted.
    pub(crate) fn abandon(&mut self) {
        let (consumed, resent) = (self.consumed, self.resent);
        *self =
            Outbound { received: consumed, consumed, next: consumed, freed: consumed, resent, ..Outbound::default() };
    }

    /// Raises the limit to `announced` by the peer, less all returned bytes. Announced limits and returned bytes only grow,
    /// so the order in which messages arrive does not matter: the receiver never expects less than the sender may send.
    pub(crate) fn raise(&mut self, announced: u64) {
        self.limit = self.limit.max(announced.saturating_sub(self.returned));
    }
    /// Returns the credit beyond `keep` bytes to the peer, if nothing waits or is in flight and it is at least `step`
    /// bytes. Returns true if it did.
    pub(crate) fn give_back(&mut self, keep: u64, step: u64) -> bool {
        let rest = self.limit.saturating_sub(self.next + keep);
        let gives = rest >= step && self.freed == self.received && !self.ended;
        if gives {
            self.limit -= rest;
            self.returned += rest;
            self.returned_at = self.next;
        }
        gives
    }

    /// Returns the offset of the next piece.
    pub(crate) fn offset(&self) -> u64 {
        self.lost.first().map_or(self.next, |(start, _)| start)
    }
    /// Returns the end of a piece `start..end`, which is cut after an urgent byte, and true if it ends with one.
    fn up_to_mark(&self, start: u64, end: u64) -> (u64, bool) {
        match self.urgent {
            Some(at) if (start..end).contains(&at) => (at + 1, true),
            _ => (end, false),
        }
    }
    /// Returns the next piece to send, of at most `payload` bytes: lost bytes first. New bytes wait for a full piece
    /// while more are to come and anything is in flight, so that windows and credit do not cut the flow into small
    /// pieces (the sender's silly window avoidance of RFC 9293, section 3.8.6.2.1).
    pub(crate) fn peek(&self, payload: u64) -> Option<Piece> {
        let closes = |end| self.ended && self.fin == Fin::Unsent && end == self.received;
        if let Some((start, end)) = self.lost.first() {
            let (end, urgent) = self.up_to_mark(start, end.min(start + payload));
            return Some(Piece { offset: start, len: (end - start) as u32, fin: closes(end), again: true, urgent });
        }
        let (offset, queued) = (self.next, self.consumed - self.next);
        let most = queued.min(self.limit.saturating_sub(offset)).min(payload);
        let (end, urgent) = self.up_to_mark(offset, offset + most);
        let len = end - offset;
        let all = len == queued && self.consumed == self.received;
        let fin = closes(end);
        let worth = len == payload || all || urgent || self.freed == self.next;
        let piece = Piece { offset, len: len as u32, fin, again: false, urgent };
        ((len > 0 && worth) || (fin && len == queued)).then_some(piece)
    }
    /// Records that `piece`, which [`peek`](Outbound::peek) returned, was sent.
    pub(crate) fn sent(&mut self, piece: Piece) {
        let end = piece.offset + u64::from(piece.len);
        self.lost.remove(piece.offset, end);
        self.next = self.next.max(end);
        if piece.again {
            self.resent += u64::from(piece.len);
        }
        if piece.fin {
            self.fin = Fin::UnderWay;
        }
    }
    /// Records that the peer has `start..end`, and the end of the flow if `fin`.
    pub(crate) fn acked(&mut self, start: u64, end: u64, fin: bool) {
        let start = start.max(self.freed);
        self.lost.remove(start, end);
        if start == self.freed && self.acked.is_empty() {
            self.freed = end.max(start);
        } else {
            self.acked.insert(start, end);
            self.freed = self.acked.take_first_touching(self.freed).unwrap_or(self.freed);
        }
        if fin && self.fin == Fin::UnderWay {
            self.fin = Fin::Acked;
        }
    }
    /// Records that a packet with `start..end` was lost.
    pub(crate) fn lose(&mut self, start: u64, end: u64, fin: bool) {
        let start = start.max(self.freed);
        self.lost.insert(start, end);
        for (a, b) in self.acked.overlapping(start, end) {
            self.lost.remove(a, b);
        }
        if fin && self.fin == Fin::UnderWay {
            self.fin = Fin::Unsent;
        }
    }
    /// Returns true if the peer has acknowledged all bytes that were consumed.
    pub(crate) fn delivered(&self) -> bool {
        self.freed == self.consumed
    }
    /// Returns true if the peer has acknowledged all bytes and the end.
    pub(crate) fn finished(&self) -> bool {
        self.fin == Fin::Acked && self.delivered()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(offset: u64, len: u32, fin: bool, again: bool) -> Option<Piece> {
        Some(Piece { offset, len, fin, again, urgent: false })
    }
    fn sent(out: &mut Outbound) -> Option<Piece> {
        let piece = out.peek(100);
        piece.into_iter().for_each(|piece| out.sent(piece));
        piece
    }

    #[test]
    fn the_window_bounds_held_bytes_and_credit_sent_ones() {
        let mut out = Outbound { received: 1000, limit: 250, ..Outbound::default() };
        assert_eq!(out.consume(400, u64::MAX), 250);
        assert_eq!(sent(&mut out), piece(0, 100, false, false));
        assert_eq!(sent(&mut out), piece(100, 100, false, false));
        // 50 B of credit are not worth a packet while others are under way.
        assert_eq!(sent(&mut out), None);
        out.acked(100, 200, false);
        assert_eq!((out.held(), out.consume(400, u64::MAX)), (250, 0));
        out.acked(0, 100, false);
        assert_eq!(
            (out.held(), out.consume(400, u64::MAX)),
            (50, 0),
            "bytes beyond the peer's limit stay with the host"
        );
        assert_eq!(sent(&mut out), piece(200, 50, false, false));
        out.limit = 10_000;
        assert_eq!((out.consume(400, u64::MAX), out.held()), (350, 400));
        assert_eq!(sent(&mut out), piece(250, 100, false, false));
    }

    #[test]
    fn an_idle_flow_returns_credit_and_later_limits_count_that() {
        let mut out = Outbound { received: 100, limit: 1000, ..Outbound::default() };
        out.consume(1000, u64::MAX);
        assert_eq!(sent(&mut out), piece(0, 100, false, false));
        assert!(!out.give_back(50, 1), "something is under way");
        out.acked(0, 100, false);
        assert!(!out.give_back(50, 851));
        assert!(out.give_back(50, 850) && !out.give_back(50, 1));
        assert_eq!((out.limit, out.returned, out.returned_at), (150, 850, 100));
        // Returned before the peer received it, and again.
        out.raise(1100);
        out.raise(1000);
        assert_eq!(out.limit, 250);
        assert!(out.give_back(50, 1));
        assert_eq!((out.limit, out.returned), (150, 950));
    }

    #[test]
    fn lost_bytes_go_first_and_the_end_with_the_last_byte() {
        let mut out = Outbound { received: 250, limit: 1000, ended: true, ..Outbound::default() };
        out.consume(1000, u64::MAX);
        let pieces: Vec<_> = std::iter::from_fn(|| sent(&mut out)).collect();
        assert_eq!(
            pieces.iter().map(|p| (p.offset, p.fin)).collect::<Vec<_>>(),
            [(0, false), (100, false), (200, true)]
        );
        out.lose(200, 250, true);
        out.lose(0, 100, false);
        assert_eq!(sent(&mut out), piece(0, 100, false, true));
        assert_eq!(sent(&mut out), piece(200, 50, true, true));
        out.acked(0, 250, true);
        assert!(out.finished());
        assert_eq!((out.resent, out.peek(100)), (150, None));
    }

    #[test]
    fn the_urgent_byte_ends_its_piece_each_time_it_is_sent() {
        let mut out = Outbound { received: 250, limit: 1000, ended: true, ..Outbound::default() };
        out.mark(120);
        out.consume(1000, u64::MAX);
        let pieces: Vec<_> = std::iter::from_fn(|| sent(&mut out)).map(|p| (p.offset, p.len, p.urgent)).collect();
        assert_eq!(pieces, [(0, 100, false), (100, 21, true), (121, 100, false), (221, 29, false)]);
        out.lose(100, 250, true);
        let again: Vec<_> = std::iter::from_fn(|| sent(&mut out)).map(|p| (p.offset, p.len, p.urgent, p.fin)).collect();
        assert_eq!(again, [(100, 21, true, false), (121, 100, false, false), (221, 29, false, true)]);
        // A later mark replaces it.
        out.mark(240);
        out.lose(100, 250, true);
        let again: Vec<_> = std::iter::from_fn(|| sent(&mut out)).map(|p| (p.offset, p.len, p.urgent)).collect();
        assert_eq!(again, [(100, 100, false), (200, 41, true), (241, 9, false)]);
    }

    #[test]
    fn an_end_after_all_bytes_is_a_piece_of_its_own() {
        let mut out = Outbound { received: 10, limit: 10, ..Outbound::default() };
        out.consume(100, u64::MAX);
        assert_eq!(sent(&mut out), piece(0, 10, false, false));
        out.ended = true;
        assert_eq!(sent(&mut out), piece(10, 0, true, false));
        out.acked(10, 10, true);
        assert!(!out.finished());
        out.acked(0, 10, false);
        assert!(out.finished());
    }

    #[test]
    fn credit_frames_may_arrive_late_twice_and_reordered() {
        let mut out = Outbound { received: 300, limit: 300, ..Outbound::default() };
        out.consume(300, u64::MAX);
        let pieces = std::iter::from_fn(|| sent(&mut out)).count();
        assert_eq!(pieces, 3);
        out.acked(100, 200, false);
        out.lose(0, 200, false);
        assert_eq!(out.peek(1000), piece(0, 100, false, true));
        out.acked(0, 50, false);
        assert_eq!(out.peek(1000), piece(50, 50, false, true));
        out.lose(0, 50, false);
        out.acked(0, 300, false);
        assert_eq!((out.peek(1000), out.delivered()), (None, true));
    }
}
