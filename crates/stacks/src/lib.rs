//! Transport stacks of others in a simulation: QUIC of `quinn-proto` and TCP of `smoltcp`.
//!
//! Each module adapts one stack to [`cellway_sim::Stack`], with a bulk transfer from the originator to the responder
//! as its application, and returns a factory for [`cellway_sim::Stacks`]. They are examples for a stack of your own,
//! and useful as they are: the examples `quic_beside_cubic` and `smoltcp_beside_cubic` let them share a link with the
//! built-in TCP.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod clock;
pub mod quic;
pub mod smol;
