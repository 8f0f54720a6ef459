//! Why a configuration is refused.

use cellway_units::Bytes;
use thiserror::Error;

/// Why a [`GatewayConfig`](crate::GatewayConfig) is refused.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// Nothing could ever be sent.
    #[error("the rate between the gateways is 0 bit/s; it must be more")]
    Rate,
    /// A data frame does not fit into a packet, or a control frame does not.
    #[error(
        "the payload is {payload} with an MTU of {mtu}; it must be from 64 B to the MTU less {overhead} B of \
         headers, and the MTU at most 65535 B"
    )]
    Payload {
        /// What was asked for.
        payload: Bytes,
        /// The largest packet.
        mtu: Bytes,
        /// All headers of a packet with data (octets).
        overhead: u32,
    },
    /// What each direction of a flow may hold is less than one packet.
    #[error("the window is {window}, less than the payload of one packet, {payload}")]
    Window {
        /// What was asked for.
        window: Bytes,
        /// The payload of a packet.
        payload: Bytes,
    },
    /// The memory holds no flow of either origin.
    #[error("the memory for all flows is {total_buffer}; it must be at least four windows of {window}")]
    TotalBuffer {
        /// What was asked for.
        total_buffer: Bytes,
        /// What each direction of a flow may hold at least.
        window: Bytes,
    },
    /// Something is zero that must not be.
    #[error("{field} is zero; it must be more")]
    Zero {
        /// The field of the configuration.
        field: &'static str,
    },
}
