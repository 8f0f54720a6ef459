//! `cellway-gateway`: the TCP gateway as a daemon for Linux.
//!
//! A pair of gateways is placed at the two ends of a long path. Each intercepts the TCP connections of the hosts on its
//! side, acknowledges locally, and relays the bytes to the other at one paced rate (Kato et al. 1997,
//! section 2.2). The state machine of the crate `gateway`, which simulations also run, makes the decisions; this crate
//! adds the sockets, the transport to the peers, and the rules of the kernel.
//!
//! One thread moves all bytes ([`Daemon`]); status, metrics and signals run on another.
#![cfg(target_os = "linux")]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cli;
mod config;
mod control;
mod daemon;
mod embedded;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod intercept;
mod peer_id;
mod peering;
#[cfg(test)]
mod skipped;
mod status;

pub use cellway_gateway::{Class, Classes};
pub use cli::main;
pub use config::{
    Config, ConfigErrors, Connect, Control, Device, DeviceNames, Forward, Identity, Intercept, Limits, LineRate,
    Listen, Peer, PeerDown, Problem, RateGuard, Socks, Source, TransportChoice,
};
pub use daemon::{Daemon, Handle};
pub use embedded::{apply_rules, make_identities};
pub use error::Error;
pub use status::{ClassStatus, ConnectionStatus, Counters, PeerStatus, Snapshot};
