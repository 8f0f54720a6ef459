//! The network, as state machines without I/O.
//!
//! A [`Fabric`] holds hosts, routers and switches joined by links. Packets enter at hosts; a router cuts them into AAL5
//! cells on the channel of their conversation; output lines serve their channels cell by cell, in round robin or first
//! in first out; the far router reassembles the packets and delivers them to the host. Time is an argument, never read
//! from a clock, so that the same fabric runs in simulated and in real time.
//!
//! # Example
//!
//! Two packets of 1000 B leave a host at once, over a line of 8 Mbit/s and 10 ms: the first arrives after 1 + 10 ms, the
//! second has to wait for it.
//!
//! ```
//! use cellway_net::{
//!     Class, ConversationSpec, Encapsulation, Fabric, Framing, LinkSpec, Multiplexing, NodeKind, Packet,
//! };
//! use cellway_units::{Ecn, Rate, Span, Time};
//!
//! let mut net = Fabric::new(Multiplexing::PerConversation, Encapsulation::None);
//! let hosts = [net.add_node(NodeKind::Host), net.add_node(NodeKind::Host)];
//! let rate: Rate = "8 Mbit/s".parse()?;
//! let [there, back] = net.add_link(hosts, LinkSpec::new(rate, Span::from_ms(10), Framing::Packet));
//! let paths = [&[there][..], &[back][..]];
//! net.open(ConversationSpec { conversation: 0, kind: 0, hosts, paths, share: None, class: Class::Ubr })?;
//!
//! let [from, to] = hosts;
//! for body in ["first", "second"] {
//!     let ecn = Ecn::NotEct;
//!     net.send(Time::ZERO, Packet { conversation: 0, from, to, octets: 1000, flow: 0, ecn, dscp: 0, body });
//! }
//! net.serve(Time::ZERO);
//!
//! let (end, mut delivered, mut arrivals) = (Time::ZERO + Span::from_secs(1), Vec::new(), Vec::new());
//! while let Some(now) = net.run(end, &mut delivered) {
//!     arrivals.extend(delivered.drain(..).map(|delivery| (now.as_ps() / 1_000_000_000, delivery.packet.body)));
//!     // Here hosts react, with `net.send(now, ..)`.
//!     net.serve(now);
//! }
//! assert_eq!(arrivals, [(11, "first"), (12, "second")]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`LinkSpec`] has the queue disciplines, buffers, losses and variations of the delay. `cellway-testbed` builds such a
//! network from a scenario file, and `cellway-sim` drives it with hosts.
//!
//! # Order of events
//!
//! The total order is (time, class, port), with the classes of one instant in this order:
//!
//! 1. **departures**: the last bit of a cell or packet leaves a line;
//! 2. **entries**: packets that a recording of a light load has delayed come to a queue, or pass it;
//! 3. **arrivals**: units reach the node at the end of a link, also those that left in the same instant over a link
//!    without delay; hosts react, and their packets are queued;
//! 4. **releases**: cells that a shaper or an ABR source held may leave;
//! 5. **service**: each line that is free takes its next unit.
//!
//! Service comes last, so a server always chooses among everything that has arrived by then. In a round robin the token
//! of the queue whose cell has departed is returned with the service, after all arrivals of the instant.
//!
//! [`Fabric::run_in_windows`] has each line run through all that it can know at once in place of one calendar, with the same
//! order at each line and the same results.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod abr;
mod abr_port;
mod buffer;
mod calendar;
mod cell;
mod channel;
mod counters;
mod delay;
mod discard;
mod fabric;
mod faults;
mod gate;
mod gcra;
mod held;
mod ids;
mod light;
mod line;
mod link;
mod link_spec;
mod loss;
mod pace;
mod packet;
mod place;
mod policer;
mod port;
mod qdisc;
mod rate_schedule;
mod reassembly;
mod rm_cells;
mod schedule;
mod server;
mod shaper;
mod slim;
mod tap;
mod tokens;
mod turns;

pub use abr::{
    AbrDestination, AbrParameters, AbrSource, EfciMarker, Erica, EricaSpec, InRateCell, RmCell, RmDirection,
    TAGGED_CELL_RATE, Waiting,
};
pub use abr_port::AbrSwitchSpec;
pub use buffer::BufferSpec;
pub use cell::{Cell, cells_for};
pub use cellway_spec::{
    Charge, Discard, Discipline, Encapsulation, Fraction, Framing, Multiplexing, NodeKind, PolicerAction, Sharing,
};
pub use channel::Class;
pub use counters::{ConversationCounters, LossCounters, PortCounters};
pub use delay::DelaySpec;
pub use fabric::{ConversationSpec, Fabric, FabricError, UnitView};
pub use faults::Share;
pub use gcra::{DualGcra, Gcra, burst_tolerance};
pub use ids::{ChannelId, NodeId, PortId};
pub use light::LightLoad;
pub use line::Line;
pub use link_spec::{LinkSpec, PortSpec};
pub use loss::{Loss, RandomBits, Stream};
pub use packet::{Delivery, Packet, Transit};
pub use policer::PolicerSpec;
pub use qdisc::{QdiscSpec, Waits};
pub use rate_schedule::RateSchedule;
pub use schedule::Schedule;
pub use shaper::ShaperSpec;
pub use tap::{Direction, TapRecord, TapUnit};
