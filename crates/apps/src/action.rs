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
    /// The other end.
    pub const fn peer(self) -> Side {
        match self {
            Side::Originator => Side::Responder,
            Side::Responder => Side::Originator,
        }
    }
}

/// A TCP connection of a conversation, numbered from 0 in the order of opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnId(pub u32);

/// What a conversation asks of the driver, or tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Open connection `conn`: active at `from`, passive at its peer.
    Open {
        /// The connection.
        conn: ConnId,
        /// The side that opens actively.
        from: Side,
    },
    /// Send `bytes` on `conn` from `side`. The driver takes all of it, queues what TCP does not
    /// take yet, and calls [`Conversation::written`](crate::Conversation::written) when TCP has taken everything.
    Write {
        /// The connection.
        conn: ConnId,
        /// The side that writes.
        side: Side,
        /// How many bytes, 1 or more.
        bytes: u64,
    },
    /// Close `conn` at `side` once everything written there is sent.
    Close {
        /// The connection.
        conn: ConnId,
        /// The side that has nothing more to say.
        side: Side,
    },
    /// `side` of `conn` takes `bytes` out of its receive buffer: no more than has arrived, and only
    /// where [`Conversation::reads_itself`](crate::Conversation::reads_itself) says so.
    Consume {
        /// The connection.
        conn: ConnId,
        /// The side that reads.
        side: Side,
        /// How many bytes, 1 or more.
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
    /// An item arrived whole: at the responder, or at the originator that asked for it.
    Item {
        /// Its size.
        bytes: Bytes,
        /// From its write to the arrival of its last byte. Where the originator asked for it, from
        /// the beginning of that, and in [`Workload::Www`](crate::Workload::Www) until it is shown.
        span: Span,
    },
    /// The conversation is over; the last action, exactly once. After a failure the driver drops
    /// whatever connections it still has.
    Ended,
}
