//! The observations that the player sends while it runs.

use std::sync::mpsc::Sender;

use cellway_apps::{ConnId, DatagramMark, FlowEvent, Outcome, Side};
use cellway_measure::tcp::TcpInfo;
use cellway_units::{Bytes, Span, Time};

/// Something that happened in a slot.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The time since the run's epoch.
    pub at: Time,
    /// The slot, as the plan numbers it.
    pub slot: usize,
    /// The event.
    pub seen: Seen,
}

/// An event that the player observes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Seen {
    /// A conversation began.
    Begun {
        /// Its number in the slot, from 0.
        conversation: u32,
    },
    /// Bytes arrived in order at the peer of `from`, since the last report.
    Delivered {
        /// The side that wrote them.
        from: Side,
        /// The number of bytes, 1 or more.
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
        /// The duration, as defined by [`cellway_apps::Action::Item`].
        span: Span,
    },
    /// An answer arrived whole at the originator.
    Answer {
        /// When the originator began to request it.
        since: Time,
    },
    /// An event of a flow that arrives by itself.
    Flow(FlowEvent),
    /// A frame of a video was captured: the next datagrams of the slot.
    FrameSent {
        /// Their number.
        packets: u32,
    },
    /// A datagram was sent.
    DatagramSent,
    /// A datagram was sent by this side of a slot whose datagrams go both ways.
    DatagramSentBy(Side),
    /// A datagram has arrived.
    DatagramReceived {
        /// The side that read it: the originator that of an echo.
        reader: Side,
        /// Its mark; the sending time is since the run's epoch, of an echo that of the original.
        mark: DatagramMark,
        /// Its payload.
        payload: Bytes,
    },
    /// A conversation is over.
    Ended {
        /// Its number in the slot.
        conversation: u32,
        /// `Completed` or `Failed`.
        outcome: Outcome,
        /// The operation that failed and the reason, from the system.
        reason: Option<String>,
    },
    /// The kernel's TCP figures of one end of a connection.
    Tcp(TcpReport),
}

/// The state of one end of a connection: at the interval of the plan, and when the end is closed.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpReport {
    /// The connection, unique in its slot: counted from 0 over all conversations.
    pub connection: u32,
    /// Its number in its conversation.
    pub conn: ConnId,
    /// The end that is reported.
    pub side: Side,
    /// True if no later connection of the slot was opened.
    pub newest: bool,
    /// Segments that this end has sent again since its last report.
    pub retransmissions: u64,
    /// The kernel's figures; counts are since the connection's beginning.
    pub info: TcpInfo,
    /// True if this is the last report of this end.
    pub last: bool,
}

/// Sends observations to the driver. Deliveries wait here for the end of a round of events, or for the next observation
/// of the slot: there may be a hundred thousand segments in a second.
#[derive(Debug)]
pub(super) struct Reporter {
    sender: Sender<Observation>,
    /// The number of each slot of the plan.
    numbers: Vec<usize>,
    /// Bytes from originator and responder, by slot, not reported yet.
    delivered: Vec<[u64; 2]>,
    /// The slots that have such bytes.
    waiting: Vec<usize>,
    /// Set after the receiver of observations has been dropped.
    receiver_dropped: bool,
}

impl Reporter {
    pub(super) fn new(sender: Sender<Observation>, numbers: Vec<usize>) -> Reporter {
        Reporter {
            sender,
            delivered: vec![[0; 2]; numbers.len()],
            numbers,
            waiting: Vec::new(),
            receiver_dropped: false,
        }
    }

    pub(super) fn receiver_is_dropped(&self) -> bool {
        self.receiver_dropped
    }

    pub(super) fn delivered(&mut self, slot: usize, from: Side, bytes: u64) {
        if self.delivered[slot] == [0; 2] {
            self.waiting.push(slot);
        }
        self.delivered[slot][from as usize] += bytes;
    }

    pub(super) fn report(&mut self, at: Time, slot: usize, seen: Seen) {
        self.flush_slot(at, slot);
        self.send(at, slot, seen);
    }

    /// Reports all deliveries that wait.
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
        self.receiver_dropped |= self.sender.send(Observation { at, slot: self.numbers[slot], seen }).is_err();
    }
}
