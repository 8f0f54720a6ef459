//! Shared by the tests of this crate.
#![allow(dead_code, unreachable_pub, missing_docs)]

pub mod channel;
pub mod ladder;
pub mod line;
