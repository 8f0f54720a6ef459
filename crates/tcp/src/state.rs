//! The states of a connection. RFC 9293 §3.3.2.

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Not open, or no longer.
    Closed,
    /// Waiting for a peer.
    Listen,
    /// Sent a SYN.
    SynSent,
    /// Received a SYN and sent one.
    SynReceived,
    /// Open in both directions.
    Established,
    /// Closed on this side; the FIN is not acknowledged, the peer may still send.
    FinWait1,
    /// Closed on this side and acknowledged; the peer may still send.
    FinWait2,
    /// Closed by the peer; this side may still send.
    CloseWait,
    /// Both sides closed at once; this side's FIN is not acknowledged.
    Closing,
    /// Closed by the peer first, then on this side; the FIN is not acknowledged.
    LastAck,
    /// Both FINs acknowledged; lingers to answer a peer that missed the last acknowledgement.
    TimeWait,
}

impl State {
    /// Returns true if both SYNs are acknowledged and the connection has not ended.
    pub fn is_synchronised(self) -> bool {
        !matches!(self, State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }
    /// Returns true if data or a FIN may be (re)transmitted.
    pub(crate) fn may_transmit(self) -> bool {
        matches!(self, State::Established | State::FinWait1 | State::CloseWait | State::Closing | State::LastAck)
    }
    /// Returns true if the application may still write.
    pub(crate) fn may_write(self) -> bool {
        matches!(self, State::SynSent | State::SynReceived | State::Established | State::CloseWait)
    }
    /// Returns true if data from the peer are expected.
    pub(crate) fn may_receive(self) -> bool {
        matches!(self, State::Established | State::FinWait1 | State::FinWait2)
    }
}
