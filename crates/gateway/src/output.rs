//! What a gateway wants sent and done.

use std::sync::Arc;

use crate::packet::{FlowId, TpPacket};
use crate::reason::Reason;
use crate::request::Request;

/// Where a gateway appends what it wants done. Owned, reused and cleared by the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Packets to send to the peer, in order.
    pub packets: Vec<TpPacket>,
    /// What the local TCP is to do, in order.
    pub actions: Vec<Action>,
}

impl Output {
    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.actions.clear();
    }
}

/// What the local TCP is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Connect to the host that the far client asked for. Answered by
    /// [`connected`](crate::Gateway::connected) or [`refused`](crate::Gateway::refused).
    Connect {
        /// The flow.
        flow: FlowId,
        /// Whereto, and from where.
        request: Arc<Request>,
    },
    /// Answer the SYN that is held: the far host answered, or need not be waited for.
    Accept {
        /// The flow.
        flow: FlowId,
    },
    /// Refuse the SYN that is held.
    Refuse {
        /// The flow.
        flow: FlowId,
        /// Why.
        reason: Reason,
    },
    /// Take bytes out of the receive buffer, which opens the window to the local host.
    Consume {
        /// The flow.
        flow: FlowId,
        /// How many (bytes).
        bytes: u64,
    },
    /// The peer has so many more of the bytes consumed, from the first that was not yet released on: they
    /// need not be held any more. The end of a flow releases what is left.
    Released {
        /// The flow.
        flow: FlowId,
        /// How many (bytes).
        bytes: u64,
    },
    /// Put bytes into the send buffer.
    Write {
        /// The flow.
        flow: FlowId,
        /// How many (bytes); never more than the room told.
        bytes: u64,
    },
    /// One of the bytes written now or before, and not told urgent yet, is (RFC 9293, section 3.8.5).
    Urgent {
        /// The flow.
        flow: FlowId,
        /// Its place (bytes since the start).
        at: u64,
    },
    /// Send a FIN after all bytes written.
    Shutdown {
        /// The flow.
        flow: FlowId,
    },
    /// The far host's connection is gone: [`Reset`](Action::Reset) follows when the bytes before are written. Told if
    /// there are any; a local host that takes none of them puts it off for ever, unless it is given up with
    /// [`local_reset`](crate::Gateway::local_reset).
    Ending {
        /// The flow.
        flow: FlowId,
    },
    /// Reset the connection, or give up connecting.
    Reset {
        /// The flow.
        flow: FlowId,
        /// Why.
        reason: Reason,
    },
    /// The flow has ended in both directions: nothing more comes or is expected. What was written
    /// may still be in the send buffer of the local TCP.
    Closed {
        /// The flow.
        flow: FlowId,
        /// Why, unless both hosts ended their directions and have everything.
        reason: Option<Reason>,
    },
}

impl Action {
    /// The flow that it is about.
    pub fn flow(&self) -> FlowId {
        match *self {
            Action::Connect { flow, .. }
            | Action::Accept { flow }
            | Action::Refuse { flow, .. }
            | Action::Consume { flow, .. }
            | Action::Released { flow, .. }
            | Action::Write { flow, .. }
            | Action::Urgent { flow, .. }
            | Action::Shutdown { flow }
            | Action::Ending { flow }
            | Action::Reset { flow, .. }
            | Action::Closed { flow, .. } => flow,
        }
    }
}
