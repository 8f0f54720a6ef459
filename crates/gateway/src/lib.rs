//! A TCP gateway as a state machine without I/O.
//!
//! A pair of gateways is placed at the two ends of a long link (Kato et al. 1997, section 2.2). Each
//! ends the TCP connections of the hosts on its side and relays their bytes to the other over a transport with large
//! windows, paced at a fixed rate. Connections open and end from host to host: a gateway answers a SYN when the far
//! host has answered, and forwards FINs and resets. A [`Gateway`] is one of the pair. It reads no clock and does no
//! I/O; it counts bytes and does not hold them.
//!
//! ```
//! use std::sync::Arc;
//!
//! use cellway_gateway::{Action, FlowId, Gateway, GatewayConfig, Output, Request, Server};
//! use cellway_units::{Rate, Time};
//!
//! let config = GatewayConfig::new(Rate::from_bps(30_000_000));
//! let (mut near, mut far) = (Gateway::new(config)?, Gateway::new(config)?);
//! let (mut from_near, mut from_far) = (Output::default(), Output::default());
//! let flow = FlowId(0);
//! let request = Arc::new(Request { server: Server::Address("192.0.2.1:80".parse()?), ..Request::UNNAMED });
//! near.incoming(Time::ZERO, flow, request.clone(), &mut from_near);
//! far.receive(Time::ZERO, &from_near.packets[0], &mut from_far);
//! assert_eq!(from_far.actions, [Action::Connect { flow, request }]);
//! far.connected(Time::ZERO, flow, &mut from_far);
//! from_near.clear();
//! near.receive(Time::ZERO, &from_far.packets[0], &mut from_near);
//! assert_eq!(from_near.actions, [Action::Accept { flow }]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The relay of flows (`relay`, `flow`, `inbound`, `outbound`, `scheduler`, `class`) does not depend on packets, and
//! uses the time only to find idle flows; the transport below it (`recovery`, `acknowledge`, `reordering`,
//! `return_path`, `pacer`) does not depend on flows. Its rate is configured and checked (`guard`), or estimated
//! ([`cellway_delivery::Bottleneck`]); `liveness` detects an unresponsive peer, and `lease` bounds how long a peer may
//! connect for a client that takes another path then. [`Transport`] gives the size of the headers of the protocol that
//! carries the packets; [`TpPacket::encode`] writes their octets.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod acknowledge;
mod class;
mod codec;
mod config;
mod error;
mod excess;
mod flow;
mod gateway;
mod guard;
mod inbound;
mod lease;
mod liveness;
mod outbound;
mod output;
mod pacer;
mod packet;
mod ranges;
mod reason;
mod recovery;
mod relay;
mod reordering;
mod request;
mod return_path;
mod rtt;
mod scheduler;
mod slots;
mod stats;
mod varint;
mod wire;

pub use class::{Class, ClassError, ClassStats, Classes, DEFAULT_CLASS, MAX_CLASSES};
pub use codec::{CodecError, Decoded};
pub use config::{GatewayConfig, GuardMode, Window};
pub use error::ConfigError;
pub use excess::Excess;
pub use gateway::Gateway;
pub use lease::Lease;
pub use output::{Action, Output};
pub use packet::{Ack, DATA_OVERHEAD, FlowId, Frame, NUMBER_OCTETS, TpPacket};
pub use reason::Reason;
pub use request::{MAX_NAME, Request, Server};
pub use stats::{FlowState, FlowStats, GatewayStats};
pub use wire::{Transport, Wire};
