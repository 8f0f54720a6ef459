//! The actions that a conversation requests of its driver.

use cellway_units::{Bytes, Span, Time};

/// An end of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The one that begins it: the source of the traffic.
    Originator,
    /// The other: the sink.
    Responder,
}

impl Side {
    /// Returns the other end.
    pub const fn peer(self) -> Side {
        match self {
            Side::Originator => Side::Responder,
            Side::Responder => Side::Originator,
        }
    }
}

/// An event of a flow of [`Workload::Flows`](crate::Workload::Flows).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEvent {
    /// A flow has arrived. One of the other events but [`FlowEvent::Rejected`] follows, unless the run ends.
    Arrived,
    /// A flow has arrived while as many were open as may be: it is not carried.
    Rejected,
    /// The last byte of a flow has arrived at the responder.
    Completed {
        /// Its size.
        bytes: Bytes,
        /// When it arrived at the originator.
        since: Time,
    },
    /// The connection of a flow was reset or timed out before its last byte arrived.
    Failed {
        /// When it arrived at the originator.
        since: Time,
    },
}

/// A TCP connection of a conversation, numbered from 0 in the order of opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnId(pub u32);

/// A request of a conversation to the driver, or a report to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Open connection `conn`: active at `from`, passive at its peer.
    Open {
        /// The connection.
        conn: ConnId,
        /// The side that opens actively.
        from: Side,
    },
    /// Send `bytes` on `conn` from `side`. The driver accepts all of it, queues the part that TCP does not accept yet,
    /// and calls [`Conversation::written`](crate::Conversation::written) when TCP has accepted everything.
    Write {
        /// The connection.
        conn: ConnId,
        /// The side that writes.
        side: Side,
        /// The number of bytes, 1 or more.
        bytes: u64,
    },
    /// Close `conn` at `side` once everything written there is sent.
    Close {
        /// The connection.
        conn: ConnId,
        /// The side that sends no more data.
        side: Side,
    },
    /// Read `bytes` of `side` of `conn` out of its receive buffer: no more than has arrived, and only if
    /// [`Conversation::reads_itself`](crate::Conversation::reads_itself) returns true.
    Consume {
        /// The connection.
        conn: ConnId,
        /// The side that reads.
        side: Side,
        /// The number of bytes, 1 or more.
        bytes: u64,
    },
    /// Call [`Conversation::timer`](crate::Conversation::timer) with `id` at `at`.
    Timer {
        /// When, never before now.
        at: Time,
        /// To be handed back.
        id: u32,
    },
    /// An interactive packet had this delay: from its write at the originator to the arrival
    /// there of the last byte of its echo, or of the acknowledgement of its last byte without
    /// echo. One for every packet.
    Delay {
        /// The delay.
        span: Span,
    },
    /// An answer, or a page with all of its objects, has arrived completely at the originator that requested it.
    Answer {
        /// When the originator began to request it; of a page, when it opened the first connection.
        since: Time,
    },
    /// An item has arrived completely: at the responder, or at the originator that requested it.
    Item {
        /// Its size.
        bytes: Bytes,
        /// From its write to the arrival of its last byte. If the originator requested it, from the beginning of the
        /// request, and in [`Workload::Www`](crate::Workload::Www) from the opening of its connection until it is displayed.
        span: Span,
    },
    /// Forget connection `conn`, which was reset or timed out at one end: drop both ends at once. RFC 9293 section
    /// 3.10.5 (ABORT).
    Abort {
        /// The connection.
        conn: ConnId,
    },
    /// An event of a flow that arrives by itself.
    Flow(FlowEvent),
    /// The conversation is over; the last action, exactly once. After a failure the driver drops all remaining
    /// connections.
    Ended,
}
