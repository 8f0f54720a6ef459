//! Shared by the tests of gateways.

pub mod bulk;
pub mod host;
pub mod pair;
pub mod script;
