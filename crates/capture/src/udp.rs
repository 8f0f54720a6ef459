//! One conversation of UDP: the datagrams between two endpoints.

use crate::left_out::ConversationReason;
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
    /// The reason for which its numbers of packets do not count, if there is one.
    pub left_out: Option<ConversationReason>,
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

/// The reason for which a conversation leaves the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UdpLeaving {
    /// Nothing was sent for a long time.
    Idle,
    /// The table was full.
    Evicted,
    /// The last packet of the capture has this time, in ns.
    CaptureEnded { last: u64 },
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
    /// The longest time between two datagrams of any direction, in ns.
    longest: u64,
}

impl Udp {
    pub(crate) fn new(id: u64, side: usize, now: u64) -> Udp {
        let (packets, octets) = ([0; 2], [0; 2]);
        Udp { class: 0, originator: side, id, start: now, end: now, last: [None; 2], packets, octets, longest: 0 }
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
        self.longest = self.longest.max(now.saturating_sub(self.end));
        self.end = self.end.max(now);
        self.packets[direction] += 1;
        self.octets[direction] += u64::from(size);
        Datagram { is_back, size, gap }
    }

    /// Returns the conversation, which leaves the table.
    pub(crate) fn finish(self, key: &Key, leaving: UdpLeaving) -> UdpConversation {
        let [originator, responder] = self.ends(key);
        let Udp { id, start, end, packets, octets, longest, .. } = self;
        let left_out = match leaving {
            UdpLeaving::Idle => None,
            UdpLeaving::Evicted => Some(ConversationReason::Evicted),
            // Nothing says that a conversation of UDP has ended but a silence that it did not have before.
            UdpLeaving::CaptureEnded { last } => {
                (last.saturating_sub(end) < longest).then_some(ConversationReason::CutAtEnd)
            }
        };
        UdpConversation { id, originator, responder, start, end, packets, octets, left_out }
    }
}
