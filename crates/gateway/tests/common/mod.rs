//! Shared by the tests that run two gateways.

pub mod host;
pub mod pair;
