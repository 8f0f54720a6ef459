//! A store of finished runs, in a folder. A run is found by its [`Key`], a digest of all that its result depends on, so a
//! run that two studies share is there once, and whatever ended a process, the runs that had finished are found by the
//! next.
//!
//! Each process that writes appends to a file of its own; see [`Store`]. Readers need no lock.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod at;
mod codec;
mod error;
mod frame;
mod key;
mod log;
mod store;

pub use error::Error;
pub use key::{Digest, Key, KeyWriter};
pub use store::{ALL_RUNS, Claim, Damage, Outcome, Store, Totals};
