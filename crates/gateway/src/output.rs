//! The packets and actions of a gateway.

use std::sync::Arc;

use crate::packet::{FlowId, TpPacket};
use crate::reason::Reason;
use crate::request::Request;

/// The packets to send and the actions to execute. The caller owns, reuses and clears it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Packets to send to the peer, in order.
    pub packets: Vec<TpPacket>,
    /// Actions for the local TCP, in order.
    pub actions: Vec<Action>,
}

impl Output {
    /// Removes everything and keeps the memory.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.actions.clear();
    }
}

/// An action for the local TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Connect to the server of the far client. The caller reports the result with
    /// [`connected`](crate::Gateway::connected) or [`refused`](crate::Gateway::refused).
    Connect {
        /// The flow.
        flow: FlowId,
        /// The server, and the address of the client.
        request: Arc<Request>,
    },
    /// Answer the SYN that is held: the far host has answered, or the flow is opened early.
    Accept {
        /// The flow.
        flow: FlowId,
    },
    /// Refuse the SYN that is held.
    Refuse {
        /// The flow.
        flow: FlowId,
        /// The reason.
        reason: Reason,
    },
    /// Read bytes from the receive buffer, which opens the window of the local host.
    Consume {
        /// The flow.
        flow: FlowId,
        /// The number of bytes.
        bytes: u64,
    },
    /// The peer has this many more of the bytes consumed, counted from the first that was not yet released: the caller
    /// can drop them. The end of a flow releases the rest.
    Released {
        /// The flow.
        flow: FlowId,
        /// The number of bytes.
        bytes: u64,
    },
    /// Write bytes into the send buffer.
    Write {
        /// The flow.
        flow: FlowId,
        /// The number of bytes; never more than the reported room.
        bytes: u64,
    },
    /// One of the bytes written now or before, and not yet marked, is urgent (RFC 9293, section 3.8.5).
    Urgent {
        /// The flow.
        flow: FlowId,
        /// Its offset (bytes since the start).
        at: u64,
    },
    /// Send a FIN after all bytes written.
    Shutdown {
        /// The flow.
        flow: FlowId,
    },
    /// The far host's connection has ended: [`Reset`](Action::Reset) follows when the bytes before it are written. It
    /// is reported if there are any; a local host that reads none of them delays the reset for ever, unless the caller
    /// ends the connection with [`local_reset`](crate::Gateway::local_reset).
    Ending {
        /// The flow.
        flow: FlowId,
    },
    /// Reset the connection, or cancel the connection attempt.
    Reset {
        /// The flow.
        flow: FlowId,
        /// The reason.
        reason: Reason,
    },
    /// The flow has ended in both directions: no more bytes arrive or are expected. Written bytes may still be in the
    /// send buffer of the local TCP.
    Closed {
        /// The flow.
        flow: FlowId,
        /// The reason, unless both hosts ended their directions and have all bytes.
        reason: Option<Reason>,
    },
}

impl Action {
    /// Returns the flow of the action.
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
