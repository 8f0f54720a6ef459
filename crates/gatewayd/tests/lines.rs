//! A pair of gateways over bad paths, and with hosts and clocks that misbehave: no byte of a connection is lost, and a
//! connection that cannot continue is reset at both ends.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![cfg(target_os = "linux")]

#[path = "lines/address.rs"]
mod address;
#[path = "lines/blackout.rs"]
mod blackout;
#[path = "lines/chance.rs"]
mod chance;
#[path = "soak/churn.rs"]
mod churn;
#[path = "lines/classes.rs"]
mod classes;
#[path = "lines/clock.rs"]
mod clock;
mod common;
#[path = "lines/dead.rs"]
mod dead;
#[path = "lines/drops.rs"]
mod drops;
#[path = "lines/guard.rs"]
mod guard;
#[path = "lines/hosts.rs"]
mod hosts;
#[path = "lines/jump.rs"]
mod jump;
#[path = "lines/load.rs"]
mod load;
#[path = "lines/mtu.rs"]
mod mtu;
#[path = "lines/unauthenticated.rs"]
mod unauthenticated;
