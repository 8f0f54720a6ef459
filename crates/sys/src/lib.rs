//! Linux interfaces for the emulator, the gateway and measurements: network namespaces and the programs in them, TUN
//! devices, waiting with nanosecond deadlines, privileges, signals, options of TCP, and the cleanup after a crash.
//!
//! Nothing here has a name under `/run` or elsewhere: the kernel removes a namespace and its devices with the last
//! process, socket or descriptor that holds them.
//!
//! ```no_run
//! use std::process::Command;
//!
//! use cellway_sys::{Group, Namespace, Tun, TunConfig};
//!
//! let client = Namespace::new("client")?;
//! let tun = Tun::open(&client, &TunConfig::new("cell0", 9180).address("10.0.0.1/24".parse()?))?;
//! let mut ping = Command::new("ping");
//! ping.args(["-c1", "10.0.0.2"]);
//! let child = client.spawn(ping, Group::Own)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![cfg(target_os = "linux")]

mod accounting;
mod at_end;
mod capabilities;
mod child;
mod clock;
mod drops;
mod error;
mod handover;
mod ip;
mod leftovers;
mod listening;
mod memory;
mod namespace;
mod overlay;
mod page;
mod proc;
mod raw;
mod readiness;
mod reenter;
mod scheduling;
mod signals;
#[cfg(test)]
mod skipped;
mod support;
mod sysctl;
pub mod tcp;
mod terminal;
mod tool;
mod tun;

pub use accounting::{RunDelay, Stolen};
pub use at_end::AtEnd;
pub use child::{Child, Group};
pub use clock::{now_ns, sleep_until};
pub use drops::Drops;
pub use error::SysError;
pub use handover::Parcel;
pub use leftovers::{Leftover, Owner, clear_leftovers};
pub use memory::{return_free_memory, return_large_blocks};
pub use namespace::{Namespace, NamespaceHandle};
pub use page::Page;
pub use readiness::{Interest, Readiness, Ready};
pub use reenter::{Reentry, is_reentered, reenter};
pub use scheduling::{Demand, DriverThread, Policy, Scheduling};
pub use signals::{Stop, StopSignals, block_stop_signals};
pub use support::{Obstacle, Support, support};
pub use tool::{find_program, run_tool};
pub use tun::{Prefix, Tun, TunConfig};
