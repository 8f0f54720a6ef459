//! Errors of a configuration.

use cellway_units::Bytes;
use thiserror::Error;

/// A [`GatewayConfig`](crate::GatewayConfig) that is refused.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// A rate of 0 could send nothing.
    #[error("the rate between the gateways is 0 bit/s; it must be more")]
    Rate,
    /// A data frame does not fit into a packet, or a control frame does not.
    #[error(
        "the payload is {payload} with an MTU of {mtu}; it must be from 64 B to the MTU less {overhead} B of \
         headers, and the MTU at most 65535 B"
    )]
    Payload {
        /// The configured payload.
        payload: Bytes,
        /// The largest packet.
        mtu: Bytes,
        /// The size of all headers of a packet with data (octets).
        overhead: u32,
    },
    /// The window of each direction of a flow is less than one packet.
    #[error("the window is {window}, less than the payload of one packet, {payload}")]
    Window {
        /// The configured window.
        window: Bytes,
        /// The payload of a packet.
        payload: Bytes,
    },
    /// The memory holds no flow of either origin.
    #[error("the memory for all flows is {total_buffer}; it must be at least four windows of {window}")]
    TotalBuffer {
        /// The configured memory.
        total_buffer: Bytes,
        /// The least window of each direction of a flow.
        window: Bytes,
    },
    /// A field is zero that must not be.
    #[error("{field} is zero; it must be more")]
    Zero {
        /// The field of the configuration.
        field: &'static str,
    },
}
