//! Drives the network of a scenario on the wall clock, with real hosts at its ends (Linux).
#![cfg(target_os = "linux")]
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod conversations;
pub mod player;
pub mod sys;
