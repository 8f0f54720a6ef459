//! Plain data that files declare and state machines take, each declared once.
//!
//! The crates of state machines (`net`, `tcp`, `apps`) depend on this crate, and so do the crates that read files. The
//! code to read and describe files exists only if a build enables the feature `file` of `cellway-settings`.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod abr;
mod app;
mod ared;
mod buffer;
mod cells;
mod codel;
mod drr;
mod dscp;
mod dualpi2;
mod ecn;
mod family;
mod fifo;
mod flows;
mod fq_codel;
mod fraction;
mod framing;
mod gateway;
mod jitter;
mod node;
mod outage;
mod page;
mod pie;
mod prio;
mod problem;
mod queue;
mod red;
mod tcp;
mod trains;
mod udp;
mod workload;

pub use abr::AbrParameters;
pub use app::{AppKind, DataConnection, Draw, SHORT_REQUEST, Spike, TTCP_WRITE, WWW_REQUEST};
pub use ared::{Ared, AredKeys};
pub use buffer::{BufferPer, Charge, Discard, Sharing};
pub use cells::{Discipline, Encapsulation, Multiplexing, PolicerAction};
pub use codel::{Codel, CodelKeys};
pub use drr::{Drr, DrrKeys};
pub use dscp::Dscp;
pub use dualpi2::{DualPi2, DualPi2Keys, LowLatencyMarks, Overload};
pub use ecn::EcnMode;
pub use family::Family;
pub use fifo::{DropFrom, Fifo, FifoKeys};
pub use flows::{FlowArrivals, FlowPace, FlowSizes, FlowSource, FlowSpec, SizeDistribution};
pub use fq_codel::{FqCodel, FqCodelKeys};
pub use fraction::Fraction;
pub use framing::Framing;
pub use gateway::{Connect, TransportChoice};
pub use jitter::{Jitter, JitterDistribution, JitterKeys};
pub use node::NodeKind;
pub use outage::{Outage, OutageBuffer, OutageKeys, OutagePackets};
pub use page::PageSpec;
pub use pie::{Pie, PieKeys};
pub use prio::{Prio, PrioKeys};
pub use problem::Problem;
pub use queue::{Queue, QueueDiscipline, QueueParameters, UnlikeFifo};
pub use red::{QueueLength, Red, RedKeys};
pub use tcp::{
    AckDelay, CongestionControl, FastRetransmit, LossRecovery, MAX_PACKET, MAX_WINDOW, ProfileKeys, TCP_HEADERS,
    TIMESTAMPS_OPTION, TcpKeys, TcpProfile, TcpSpec, Variant,
};
pub use trains::{Train, Trains};
pub use udp::{Arrivals, DatagramEcn, SourceKind, UDP_MARK_OCTETS, UdpSource, Video};
pub use workload::{ConversationArrivals, ConversationPace, ConversationUse, WorkloadSpec};
