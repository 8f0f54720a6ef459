//! A ttcp for today: TCP transfers between two hosts, with the kernel's own figures. Linux only.
//!
//! A [`Server`] waits; [`run`] asks it for one [`Test`], moves the data and returns what both sides saw. A [`Sweep`] is
//! many tests: all combinations of lists of options.
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
