//! What the player tells while it plays.

use std::sync::mpsc::Sender;

use cellway_apps::{ConnId, Outcome, Side};
use cellway_measure::tcp::TcpInfo;
use cellway_units::{Bytes, Span, Time};

/// Something that happened in a slot.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// When, since the run's epoch.
    pub at: Time,
    /// The slot, as the plan numbers it.
    pub slot: usize,
    /// What.
    pub seen: Seen,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Seen {
    /// A conversation began.
    Begun {
        /// Its number in the slot, from 0.
        conversation: u32,
    },
    /// Bytes came in order to the peer of `from`, since the last time that this was told.
    Delivered {
        /// The side that wrote them.
        from: Side,
        /// How many, 1 or more.
        bytes: u64,
    },
    /// An interactive packet had this delay.
    Delay {
        /// The delay, as [`cellway_apps::Action::Delay`] defines it.
        span: Span,
    },
    /// An item arrived whole.
    Item {
        /// Its size.
        bytes: Bytes,
        /// How long it took, as [`cellway_apps::Action::Item`] defines it.
        span: Span,
    },
    /// A datagram was sent.
    DatagramSent,
    /// A datagram has arrived.
    DatagramReceived {
        /// Its sequence number, from 0.
        sequence: u64,
        /// When it was sent, since the run's epoch.
        sent: Time,
        /// Its payload.
        payload: Bytes,
    },
    /// A conversation is over.
    Ended {
        /// Its number in the slot.
        conversation: u32,
        /// `Completed` or `Failed`.
        outcome: Outcome,
        /// What failed and why, in words of the system.
        reason: Option<String>,
    },
    /// What the kernel's TCP says of one end of a connection.
    Tcp(TcpReport),
}

/// The state of one end of a connection: at the interval of the plan, and when the end is gone.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpReport {
    /// The connection, unique in its slot: counted from 0 over all conversations.
    pub connection: u32,
    /// Its number in its conversation.
    pub conn: ConnId,
    /// The end that says so.
    pub side: Side,
    /// Whether no connection of the slot was opened after it.
    pub newest: bool,
    /// Segments that this end has sent again since its last report.
    pub retransmissions: u64,
    /// The kernel's figures; counts are since the connection's beginning.
    pub info: TcpInfo,
    /// Whether this is the last report of this end.
    pub last: bool,
}

/// The way of observations to the driver. Deliveries wait here for the end of a round of events, or for
/// anything else that the slot has to tell: there may be a hundred thousand segments in a second.
#[derive(Debug)]
pub(super) struct Reporter {
    sender: Sender<Observation>,
    /// The number of each slot of the plan.
    numbers: Vec<usize>,
    /// Bytes from originator and responder, by slot, not told yet.
    delivered: Vec<[u64; 2]>,
    /// The slots that have such bytes.
    waiting: Vec<usize>,
    /// Nobody listens any more.
    deaf: bool,
}

impl Reporter {
    pub(super) fn new(sender: Sender<Observation>, numbers: Vec<usize>) -> Reporter {
        Reporter { sender, delivered: vec![[0; 2]; numbers.len()], numbers, waiting: Vec::new(), deaf: false }
    }

    pub(super) fn is_deaf(&self) -> bool {
        self.deaf
    }

    pub(super) fn delivered(&mut self, slot: usize, from: Side, bytes: u64) {
        if self.delivered[slot] == [0; 2] {
            self.waiting.push(slot);
        }
        self.delivered[slot][from as usize] += bytes;
    }

    pub(super) fn tell(&mut self, at: Time, slot: usize, seen: Seen) {
        self.flush_slot(at, slot);
        self.send(at, slot, seen);
    }

    /// Tells all deliveries that wait.
    pub(super) fn flush(&mut self, at: Time) {
        while let Some(slot) = self.waiting.pop() {
            self.flush_slot(at, slot);
        }
    }

    fn flush_slot(&mut self, at: Time, slot: usize) {
        let counts = std::mem::take(&mut self.delivered[slot]);
        for (from, bytes) in [Side::Originator, Side::Responder].into_iter().zip(counts) {
            if bytes > 0 {
                self.send(at, slot, Seen::Delivered { from, bytes });
            }
        }
    }

    fn send(&mut self, at: Time, slot: usize, seen: Seen) {
        self.deaf |= self.sender.send(Observation { at, slot: self.numbers[slot], seen }).is_err();
    }
}
