//! The network of a scenario, with its plan of traffic and its meter, for a driver with any clock.
//!
//! [`Testbed::new`] builds the network of a checked scenario: nodes, links, hosts (those of the file and the implicit
//! ones, with the limits of their processors), the plan of each conversation slot, and the meter. No conversation is
//! open yet. A driver that plays the scenario's own traffic calls [`Testbed::open_planned`]; one that carries packets
//! of real programs requests the [`PathSegment`]s between two hosts and opens and closes conversations on them as they
//! begin and end. In both cases the services, shapers, policers and ABR loops of the scenario are set at the channels
//! of a conversation as it opens. Time is an argument, never read from a clock.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod attach;
mod bed;
mod build;
mod capture;
mod control;
mod convert;
mod direction;
mod error;
mod link_change;
mod loss;
mod meter;
mod plan;
mod queue;
mod segment;

pub use attach::Host;
pub use bed::Testbed;
pub use capture::Capture;
pub use convert::{
    FLOWS_PORT, Input, MEASURED_PORT, OTHER_KIND, REQUESTS_PORT, UDP_KIND, UDP_PORT, type_number, well_known_ports,
    workload,
};
pub use error::Error;
pub use link_change::LinkChange;
pub use meter::{Meter, MeteredPort, TcpSample, TcpTotals};
pub use plan::{Leg, PairPlan, SlotPlan, SlotProtocol, Split, TcpSlotPlan, class_port};
pub use segment::PathSegment;
