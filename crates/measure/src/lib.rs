//! A modern ttcp: TCP transfers between two hosts, with the kernel's own statistics. Linux only.
//!
//! A [`Server`] waits; [`run`] requests one [`Test`], moves the data and returns the measurements of both sides. A
//! [`Sweep`] is many tests: all combinations of lists of options.
#![cfg(target_os = "linux")]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod client;
mod error;
mod message;
mod outcome;
mod server;
mod stream;
mod sweep;
pub mod tcp;
mod test;
mod text;
mod transfer;

pub use client::run;
pub use error::Error;
pub use outcome::Outcome;
pub use server::{Limits, Server};
pub use stream::{Received, Sample, Sent};
pub use sweep::{Axes, Sweep};
pub use test::{DEFAULT_PORT, Limit, Test};
