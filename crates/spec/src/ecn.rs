//! The use of explicit congestion notification by TCP.

use cellway_settings::choice;

choice! {
    /// Explicit congestion notification (ECN): queues may mark packets instead of dropping them.
    pub enum EcnMode {
        /// None.
        Off = "false",
        /// The receiver echoes that there were marks, once in a round trip. RFC 3168.
        Classic = "true",
        /// The receiver counts the marks for the sender (AccECN, RFC 9768); with a peer that cannot, as true.
        Accurate = "accurate",
    }
}

impl EcnMode {
    /// Returns true if ECN is offered to the peer.
    pub const fn is_on(self) -> bool {
        !matches!(self, EcnMode::Off)
    }
}
