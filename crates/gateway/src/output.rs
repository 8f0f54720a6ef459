//! What a gateway wants sent and done.

use crate::packet::{FlowId, TpPacket};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Connect to the host that the far client asked for. Answered by
    /// [`connected`](crate::Gateway::connected) or [`refused`](crate::Gateway::refused).
    Connect {
        /// The flow.
        flow: FlowId,
    },
    /// Answer the SYN that is held: the far host answered.
    Accept {
        /// The flow.
        flow: FlowId,
    },
    /// Refuse the SYN that is held.
    Refuse {
        /// The flow.
        flow: FlowId,
    },
    /// Take bytes out of the receive buffer, which opens the window to the local host.
    Consume {
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
    /// Send a FIN after all bytes written.
    Shutdown {
        /// The flow.
        flow: FlowId,
    },
    /// Reset the connection, or give up connecting.
    Reset {
        /// The flow.
        flow: FlowId,
    },
    /// The flow has ended in both directions: nothing more comes or is expected. What was written
    /// may still be in the send buffer of the local TCP.
    Closed {
        /// The flow.
        flow: FlowId,
    },
}
