//! One direction of a flow from the peer to the local TCP: the bytes that arrived, those that were written, and the
//! limit of the peer.
//!
//! All offsets count bytes since the start of the flow: `written <= asked <= in_order <= granted`.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::ranges::Ranges;

/// The peer has violated the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Violation;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Inbound {
    in_order: u64,
    /// The ranges that arrived beyond `in_order`, and their length.
    beyond: Ranges,
    beyond_len: u64,
    /// The bytes that the local TCP has accepted, and those that it was asked to write.
    pub(crate) written: u64,
    asked: u64,
    /// The free space of the send buffer of the local TCP.
    pub(crate) room: u64,
    /// The limit of the peer: the announced one, less the bytes that the peer has returned.
    pub(crate) granted: u64,
    /// All bytes that the peer has returned.
    returned: u64,
    /// The peer returned credit because it idles: it needs no more until bytes have arrived up to here.
    awake: u64,
    /// The offset of the last byte that was marked as urgent, until it is written.
    urgent: Option<u64>,
    /// The end of the flow, if it was received.
    end: Option<u64>,
    /// True if the local TCP was asked to send its FIN.
    shut: bool,
}

impl Inbound {
    /// Returns the bytes held: arrived, not written.
    pub(crate) fn held(&self) -> u64 {
        self.in_order + self.beyond_len - self.written
    }
    /// Returns the bytes that the local TCP was asked to write and has not yet confirmed.
    pub(crate) fn asked(&self) -> u64 {
        self.asked - self.written
    }
    /// Returns the bytes held, and those that the peer may still send.
    pub(crate) fn promised(&self) -> u64 {
        self.end.unwrap_or(self.granted).saturating_sub(self.written)
    }
    /// Returns the offsets of bytes that may arrive or are not written.
    pub(crate) fn open(&self) -> Range<u64> {
        self.written..self.granted.max(self.written)
    }
    /// Returns the number of gaps before bytes that arrived.
    pub(crate) fn gaps(&self) -> u64 {
        self.beyond.len() as u64
    }
    /// Returns true if the peer has ended it.
    pub(crate) fn ended(&self) -> bool {
        self.end.is_some()
    }
    /// Returns the bytes that arrived, each counted once.
    pub(crate) fn arrived(&self) -> u64 {
        self.in_order + self.beyond_len
    }

    /// Ends the local side and drops the bytes that are held.
    pub(crate) fn abandon(&mut self) {
        *self = Inbound::default();
    }
    /// Returns the end of the last byte that arrived.
    fn highest(&self) -> u64 {
        self.beyond.last().map_or(self.in_order, |(_, end)| end)
    }

    /// Processes bytes that arrive; duplicates have no effect. It is a [`Violation`] if they are beyond the limit,
    /// beyond the end of the flow, or with another end than before.
    pub(crate) fn arrive(&mut self, offset: u64, len: u32, fin: bool) -> Result<(), Violation> {
        let end = offset.checked_add(len.into()).filter(|&end| end <= self.granted).ok_or(Violation)?;
        // No byte follows the end, and the end does not move.
        let last = if fin { end } else { self.end.unwrap_or(u64::MAX) };
        if self.end.is_some_and(|known| known != last) || end.max(self.highest()) > last {
            return Err(Violation);
        }
        if fin {
            self.end = Some(end);
        }
        if offset <= self.in_order && self.beyond.is_empty() {
            self.in_order = self.in_order.max(end);
            return Ok(());
        }
        self.beyond_len += self.beyond.insert(offset.max(self.in_order), end);
        if let Some(in_order) = self.beyond.take_first_touching(self.in_order) {
            self.beyond_len -= in_order - self.in_order;
            self.in_order = in_order;
        }
        Ok(())
    }
    /// Marks the last of `len` bytes at `offset`, which have arrived, as urgent. It is a [`Violation`] if there are
    /// none.
    pub(crate) fn mark(&mut self, offset: u64, len: u32) -> Result<(), Violation> {
        let at = offset + u64::from(len.checked_sub(1).ok_or(Violation)?);
        if at >= self.written {
            self.urgent = self.urgent.max(Some(at));
        }
        Ok(())
    }
    /// Returns the offset of the urgent byte, once, when it is to be written.
    pub(crate) fn marked(&mut self) -> Option<u64> {
        let asked = self.asked;
        self.urgent.take_if(|at| *at < asked)
    }
    /// Requests a write of the bytes that are in order and fit into the send buffer. Returns their number.
    pub(crate) fn write(&mut self) -> u64 {
        let bytes = (self.in_order - self.asked).min(self.room);
        self.asked += bytes;
        self.room -= bytes;
        bytes
    }
    /// Records that the local TCP has accepted `bytes` of the requested writes.
    pub(crate) fn wrote(&mut self, bytes: u64) {
        self.written = (self.written + bytes).min(self.asked);
    }
    /// Returns true if the local TCP has all bytes and the FIN.
    pub(crate) fn finished(&self) -> bool {
        self.shut && self.written == self.asked
    }
    /// Returns true, once, if the local TCP must send its FIN now.
    pub(crate) fn shut(&mut self) -> bool {
        let now = !self.shut && self.end == Some(self.asked);
        self.shut |= now;
        now
    }
    /// Returns true if the limit has grown by `step` since it was announced. After the end none is needed.
    pub(crate) fn owes_credit(&self, window: u64, step: u64) -> bool {
        self.end.is_none() && !self.idles() && self.written + window >= self.granted + step
    }
    /// Returns the limit to announce to the peer, which does not count the bytes that it has returned.
    pub(crate) fn grant(&mut self, window: u64) -> u64 {
        if !self.idles() {
            self.granted = self.granted.max(self.written + window);
        }
        self.announced()
    }
    /// Returns the limit that was announced to the peer.
    pub(crate) fn announced(&self) -> u64 {
        self.granted + self.returned
    }
    fn idles(&self) -> bool {
        self.highest() < self.awake
    }
    /// Records that the peer has returned `total` bytes of credit since the start, the last time when its next byte was
    /// the one at `at`. Both only grow, so late and duplicate frames are harmless. It is a [`Violation`] to return
    /// credit that was used.
    pub(crate) fn take_back(&mut self, total: u64, at: u64) -> Result<(), Violation> {
        let granted = self.granted.checked_sub(total.saturating_sub(self.returned)).ok_or(Violation)?;
        if granted < self.end.unwrap_or_default().max(self.highest()) || at >= granted {
            return Err(Violation);
        }
        self.granted = granted;
        self.returned = self.returned.max(total);
        self.awake = self.awake.max(at + 1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Completes a write at once.
    fn wrote(inn: &mut Inbound) -> u64 {
        let bytes = inn.write();
        inn.wrote(bytes);
        bytes
    }

    #[test]
    fn bytes_that_the_local_side_has_not_accepted_are_held() {
        let mut inn = Inbound { granted: 100, room: 50, ..Inbound::default() };
        assert_eq!(inn.arrive(0, 60, true), Ok(()));
        assert_eq!((inn.write(), inn.held(), inn.promised(), inn.open()), (50, 60, 60, 0..100));
        inn.wrote(20);
        inn.room = 30;
        assert_eq!((inn.held(), inn.write(), inn.shut(), inn.finished()), (40, 10, true, false));
        inn.wrote(40);
        assert_eq!((inn.held(), inn.finished()), (0, true));
        // The local TCP cannot accept more than it was asked to.
        inn.wrote(1);
        assert_eq!((inn.written, inn.held()), (60, 0));
    }

    #[test]
    fn bytes_are_written_once_in_order_and_as_there_is_room() {
        let mut inn = Inbound { granted: 100, ..Inbound::default() };
        assert_eq!(inn.arrive(10, 10, false), Ok(()));
        inn.room = 15;
        assert_eq!((wrote(&mut inn), inn.held()), (0, 10));
        assert_eq!(inn.arrive(0, 12, false), Ok(()));
        assert_eq!(inn.arrive(0, 12, false), Ok(()));
        assert_eq!((inn.held(), wrote(&mut inn), inn.held()), (20, 15, 5));
        assert!(!inn.owes_credit(100, 20));
        inn.room = 80;
        assert_eq!(wrote(&mut inn), 5);
        assert!(inn.owes_credit(100, 20));
        assert_eq!(inn.grant(100), 120);
        assert_eq!(inn.arrive(20, 0, true), Ok(()));
        assert!(inn.shut() && !inn.shut());
        assert!(!inn.owes_credit(100, 0));
    }

    #[test]
    fn the_end_does_not_move_and_nothing_is_behind_it() {
        let ended = |pieces: &[(u64, u32, bool)]| {
            let mut inn = Inbound { granted: 100, ..Inbound::default() };
            pieces
                .iter()
                .map(|&(offset, len, fin)| inn.arrive(offset, len, fin))
                .collect::<Result<Vec<()>, _>>()
                .is_ok()
        };
        // Retransmitted, in other pieces.
        assert!(ended(&[(0, 20, true), (10, 10, true), (20, 0, true), (0, 20, false)]));
        assert!(ended(&[(15, 5, true), (0, 15, false), (20, 0, true)]));
        for pieces in [
            [(0, 20, true), (0, 19, true)],
            [(0, 20, true), (20, 1, true)],
            [(0, 20, true), (20, 1, false)],
            [(15, 5, false), (0, 19, true)],
            [(0, 20, false), (10, 9, true)],
        ] {
            assert!(!ended(&pieces), "{pieces:?}");
        }
    }

    #[test]
    fn returned_credit_is_granted_again_when_bytes_arrive() {
        let mut inn = Inbound { room: 1000, ..Inbound::default() };
        assert_eq!(inn.grant(100), 100);
        assert_eq!(inn.arrive(0, 10, false), Ok(()));
        wrote(&mut inn);
        assert_eq!(inn.take_back(70, 10), Ok(()));
        // Late and twice: no more than that.
        assert_eq!((inn.take_back(70, 10), inn.take_back(40, 5)), (Ok(()), Ok(())));
        assert_eq!((inn.promised(), inn.announced()), (20, 100));
        // It idles: it is granted no more.
        assert!(!inn.owes_credit(100, 1));
        assert_eq!((inn.grant(100), inn.promised()), (100, 20));
        assert_eq!(inn.clone().arrive(10, 21, false), Err(Violation));
        // A byte arrives; ten more than the peer has left are announced as ten more than the last limit.
        assert_eq!(inn.arrive(20, 10, false), Ok(()));
        assert!(inn.owes_credit(100, 80) && !inn.owes_credit(100, 81));
        assert_eq!((inn.grant(30), inn.promised()), (110, 30));
        // Credit that was used, or that it never had.
        assert_eq!([inn.take_back(81, 30), inn.take_back(500, 30), inn.take_back(71, 39)], [Err(Violation); 3]);
        assert_eq!(inn.take_back(79, 30), Ok(()));
    }

    #[test]
    fn an_urgent_byte_is_reported_once_and_a_later_one_replaces_it() {
        let mut inn = Inbound { granted: 100, room: 15, ..Inbound::default() };
        let arrive = |inn: &mut Inbound, offset| inn.arrive(offset, 10, false).and_then(|()| inn.mark(offset, 10));
        assert_eq!((arrive(&mut inn, 10), wrote(&mut inn), inn.marked()), (Ok(()), 0, None));
        assert_eq!((arrive(&mut inn, 0), wrote(&mut inn), inn.marked()), (Ok(()), 15, None));
        inn.room = 100;
        assert_eq!((wrote(&mut inn), inn.marked(), inn.marked()), (5, Some(19), None));
        // Again, as the packet was declared lost.
        assert_eq!((arrive(&mut inn, 10), inn.marked()), (Ok(()), None));
        assert_eq!(inn.mark(20, 0), Err(Violation));
    }

    #[test]
    fn nothing_beyond_the_limit_is_taken() {
        let mut inn = Inbound { granted: 100, ..Inbound::default() };
        assert_eq!(inn.arrive(90, 11, false), Err(Violation));
        assert_eq!(inn.arrive(u64::MAX, 11, false), Err(Violation));
        assert_eq!(inn.arrive(90, 10, false), Ok(()));
        assert_eq!(inn.held(), 10);
    }
}
