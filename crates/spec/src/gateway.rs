//! Choices of gateways.

use cellway_settings::choice;

choice! {
    /// The transport of packets between gateways.
    pub enum TransportChoice {
        /// QUIC, and TLS over TCP if UDP does not pass.
        Auto = "auto",
        /// QUIC only.
        Quic = "quic",
        /// TLS over TCP only.
        Tls = "tls",
    }
}

choice! {
    /// The time at which a client's connection is answered.
    pub enum Connect {
        /// After the server has answered: the client gets the answer that it would get without gateways.
        Late = "late",
        /// At once: one round trip less, but a refused port is a reset after the connection.
        Early = "early",
    }
}
