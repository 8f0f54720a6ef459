//! Shared by the tests of gateways.

pub mod host;
pub mod pair;
pub mod script;
