//! Drives the network and its hosts on a simulated clock.
//!
//! A run is a pure function of (scenario, seed): [`run`] builds the network of the scenario, runs conversations over
//! it, and returns the measurements. Events are processed in a total order: by time; within an instant first the
//! network's departures and arrivals (see [`cellway_net`]), then timers by conversation, connection and side, then
//! lines send their next unit.
//!
//! A transport library without I/O may drive traffic groups in place of the built-in TCP: it implements [`Stack`], and
//! [`Control::stacks`] has a factory of its ends. A run is then a function of the library, too.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod body;
mod connection;
mod controllers;
mod drive;
mod error;
mod gateway;
mod model;
mod octets;
mod qlog;
mod slot;
mod stack;
mod stack_guard;
mod stack_slot;
mod timers;
mod view;

/// The version of results: the same scenario and seed give the same rows as long as it is the same. A test refuses new
/// golden results without a new version, so that stores of runs never mix results of two simulators.
pub const RESULT_VERSION: u32 = 2;

pub use cellway_apps::Family;
pub use cellway_tcp::{MAX_WINDOW, congestion};
pub use cellway_testbed::{Capture, Error as BuildError, Input, workload};
pub use controllers::Controllers;
pub use drive::{Advanced, Control, Outcome, Slices, run};
pub use error::Error;
pub use octets::node_names;
pub use qlog::{Qlog, QlogEnd};
pub use stack::{Ends, Payload, Setup, Stack, Stacks};
pub use stack_guard::StackFault;
pub use view::{
    Contents, FlightView, FlowScene, GatewayView, LineView, NodeScene, PortScene, PortView, Scene, UnitsView, View,
    WindowView, window_states,
};
