//! One conversation of UDP: the datagrams between two endpoints.

use crate::packet::Endpoint;
use crate::table::Key;

/// A UDP conversation that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpConversation {
    /// The number of the conversation, from 0 in the order of their first packets.
    pub id: u64,
    /// The sender of the first datagram that was seen.
    pub originator: Endpoint,
    /// The other side.
    pub responder: Endpoint,
    /// Time of the first datagram, in ns since the start of 1970.
    pub start: u64,
    /// Time of the last one, likewise.
    pub end: u64,
    /// Datagrams from the originator, and from the responder.
    pub packets: [u64; 2],
    /// Octets of payload, likewise.
    pub octets: [u64; 2],
    /// True if it was removed from the full table of open conversations.
    pub is_evicted: bool,
}

/// A datagram of a conversation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Datagram {
    /// True if the responder sent it.
    pub is_back: bool,
    /// Octets of payload.
    pub size: u32,
    /// Time since the datagram before in the same direction, in s; `None` for the first.
    pub gap: Option<f64>,
}

/// A conversation in the table.
#[derive(Debug)]
pub(crate) struct Udp {
    pub(crate) class: u16,
    /// The index of the originator in the key.
    originator: usize,
    id: u64,
    start: u64,
    end: u64,
    /// By direction: time of the last datagram, datagrams, octets.
    last: [Option<u64>; 2],
    packets: [u64; 2],
    octets: [u64; 2],
}

impl Udp {
    pub(crate) fn new(id: u64, side: usize, now: u64) -> Udp {
        let (packets, octets) = ([0; 2], [0; 2]);
        Udp { class: 0, originator: side, id, start: now, end: now, last: [None; 2], packets, octets }
    }

    /// Returns originator and responder.
    pub(crate) fn ends(&self, key: &Key) -> [Endpoint; 2] {
        [key.ends[self.originator], key.ends[1 - self.originator]]
    }

    /// Takes a datagram that `side` sent.
    pub(crate) fn packet(&mut self, side: usize, size: u32, now: u64) -> Datagram {
        let is_back = side != self.originator;
        let direction = usize::from(is_back);
        let gap = self.last[direction].map(|last| now.saturating_sub(last) as f64 / 1e9);
        self.last[direction] = Some(now);
        self.end = self.end.max(now);
        self.packets[direction] += 1;
        self.octets[direction] += u64::from(size);
        Datagram { is_back, size, gap }
    }

    /// Returns the conversation, which leaves the table.
    pub(crate) fn finish(self, key: &Key, is_evicted: bool) -> UdpConversation {
        let [originator, responder] = self.ends(key);
        let Udp { id, start, end, packets, octets, .. } = self;
        UdpConversation { id, originator, responder, start, end, packets, octets, is_evicted }
    }
}
