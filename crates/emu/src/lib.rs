//! Drives the network of a scenario in real time, with real hosts at its ends (Linux).
//!
//! [`emulate`] makes a namespace for each host and each gateway of a scenario, plays its applications over the kernel's
//! TCP, starts its programs and the gateways' daemons, and drives the same network that a simulation drives with the
//! packets that come of it.
#![cfg(target_os = "linux")]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod addresses;
mod batch;
mod clock;
pub mod conversations;
mod delays;
mod engine;
mod error;
mod internet;
mod lateness;
pub mod player;
mod programs;
mod pump;
mod session;
mod snapshot;
mod treatment;
pub use cellway_sys as sys;

pub use addresses::{Block, free_block, free_part};
pub use cellway_testbed::{Capture, LinkChange};
pub use clock::Clock;
pub use delays::Delays;
pub use error::Error;
pub use internet::{InternetError, Policies};
pub use lateness::Lateness;
pub use programs::{Lines, ProgramEnd};
pub use session::{Beside, Control, Emulated, Foreground, Here, Hosts, Reach, Signals, View, check_gateways, emulate};
pub use snapshot::{ConversationView, PortView, Snapshot};
pub use treatment::Treatment;
