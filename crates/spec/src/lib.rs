//! Plain data that files declare and state machines take, each declared once.
//!
//! The crates of state machines (`net`, `tcp`, `apps`) depend on this crate, and so do the crates that read files. The
//! code to read and describe files exists only if a build enables the feature `file` of `cellway-settings`.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod abr;
mod app;
mod buffer;
mod cells;
mod codel;
mod fraction;
mod framing;
mod gateway;
mod node;
mod problem;
mod red;
mod tcp;
mod udp;

pub use abr::AbrParameters;
pub use app::{AppKind, DataConnection, Draw, Spike};
pub use buffer::{BufferPer, Charge, Discard, QueueDiscipline, Sharing};
pub use cells::{Discipline, Encapsulation, Multiplexing, PolicerAction};
pub use codel::{Codel, CodelKeys};
pub use fraction::Fraction;
pub use framing::Framing;
pub use gateway::{Connect, TransportChoice};
pub use node::NodeKind;
pub use problem::Problem;
pub use red::{QueueLength, Red, RedKeys};
pub use tcp::{
    AckDelay, CongestionControl, FastRetransmit, LossRecovery, MAX_PACKET, MAX_WINDOW, ProfileKeys, TCP_HEADERS,
    TIMESTAMPS_OPTION, TcpKeys, TcpProfile, TcpSpec, Variant,
};
pub use udp::{Arrivals, SourceKind, UDP_HEADER_OCTETS, UDP_MARK_OCTETS, UdpSource};
