//! A TCP endpoint without I/O: recoveries from that of Tahoe to RACK, controls from that of Tahoe to CUBIC, BBR, DCTCP and
//! Prague, ECN and accurate ECN.
//!
//! An [`Endpoint`] is one end of one connection. It never reads a clock and never touches a network: every call takes
//! the present time, and appends its segments and events to an [`Output`] that the caller owns and reuses. Between
//! calls the caller needs one more thing: [`Endpoint::deadline`], the instant at which to call [`Endpoint::wake`] if no
//! other call precedes it.
//!
//! ```
//! use cellway_tcp::{Config, Endpoint, Event, Output};
//! use cellway_units::Time;
//!
//! let mut client = Endpoint::active(Config::default(), 1_000);
//! let mut server = Endpoint::passive(Config::default(), 2_000);
//! let (mut from_client, mut from_server) = (Output::default(), Output::default());
//! client.connect(Time::ZERO, &mut from_client);
//! server.receive(Time::ZERO, &from_client.segments[0], &mut from_server);
//! client.receive(Time::ZERO, &from_server.segments[0], &mut from_client);
//! assert_eq!(from_client.events, [Event::Connected]);
//! ```
//!
//! Payload is counted, not carried. Inside, sequence numbers are 64-bit *positions* (the SYN is position 0, the first
//! byte is position 1, the FIN follows the last byte), so that wrapping is handled in one place, at the input and
//! output of segments.
//!
//! **Not modelled**: urgent data, keep-alives, path MTU discovery, quiet time, and the detection of spurious
//! retransmissions (D-SACK, Eifel, F-RTO) by the recoveries without SACK.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod acc_ecn;
mod config;
pub mod congestion;
mod ecn;
mod endpoint;
mod output;
mod pacer;
mod ranges;
mod receive;
mod recovery;
mod retransmission_queue;
mod rto;
mod segment;
mod send;
mod state;
mod stats;
mod timers;
mod timestamps;
mod undo;

pub use acc_ecn::{AccEcnCounts, AccEcnOption, FieldOrder};
pub use config::{
    AckDelay, Config, CongestionControl, EcnMode, FastRetransmit, LossRecovery, MAX_WINDOW, Problem, TcpKeys,
    TcpProfile, TcpSpec, Variant,
};
pub use endpoint::Endpoint;
pub use output::{Event, Output};
pub use segment::{Flags, Options, SackBlock, SackBlocks, Segment, SeqNum, Timestamps};
pub use state::State;
pub use stats::Stats;
pub use timers::TimerKind;

/// Place in the sequence space of one direction: 0 is the SYN, 1 the first byte. Does not wrap.
pub type Position = u64;
