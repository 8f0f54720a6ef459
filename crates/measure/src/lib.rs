//! A ttcp for today: TCP transfers between two hosts, with the kernel's own figures. Linux only.
#![cfg(target_os = "linux")]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod error;
pub mod tcp;

pub use error::Error;
