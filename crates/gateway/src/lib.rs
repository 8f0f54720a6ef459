//! A TCP gateway as a state machine without I/O.
//!
//! A pair of gateways stands at the two ends of a long line (Hasegawa et al., the paper `kdd`,
//! section 2.2). Each ends the TCP connections of the hosts on its side and relays their bytes to
//! the other over a transport with large windows, paced at a fixed rate. Connections open and end
//! from host to host: a SYN is answered when the far host has answered, a FIN and a reset are
//! carried across. A [`Gateway`] is one of them. It reads no clock and touches no network; bytes are
//! counted, not held.
//!
//! ```
//! use cellway_gateway::{Action, FlowId, Gateway, GatewayConfig, Output};
//! use cellway_units::{Rate, Time};
//!
//! let config = GatewayConfig::new(Rate::from_bps(30_000_000));
//! let (mut near, mut far) = (Gateway::new(config)?, Gateway::new(config)?);
//! let (mut from_near, mut from_far) = (Output::default(), Output::default());
//! let flow = FlowId(0);
//! near.incoming(Time::ZERO, flow, &mut from_near);
//! far.receive(Time::ZERO, &from_near.packets[0], &mut from_far);
//! assert_eq!(from_far.actions, [Action::Connect { flow }]);
//! far.connected(Time::ZERO, flow, &mut from_far);
//! from_near.clear();
//! near.receive(Time::ZERO, &from_far.packets[0], &mut from_near);
//! assert_eq!(from_near.actions, [Action::Accept { flow }]);
//! # Ok::<(), cellway_gateway::ConfigError>(())
//! ```
//!
//! The relay of flows (`relay`, `flow`, `inbound`, `outbound`, `scheduler`) knows neither time nor
//! packets; the transport below it (`recovery`, `acknowledge`, `pacer`) knows no flows. Another
//! reliable transport can take the place of the latter: `docs/models/gateway.md` says how.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod acknowledge;
#[allow(dead_code)]
mod bottleneck;
mod config;
#[allow(dead_code)]
mod delivery;
mod error;
mod flow;
mod gateway;
mod inbound;
mod outbound;
mod output;
mod pacer;
mod packet;
mod ranges;
mod reason;
mod recovery;
mod relay;
mod rtt;
mod scheduler;
mod stats;

pub use config::GatewayConfig;
pub use error::ConfigError;
pub use gateway::Gateway;
pub use output::{Action, Output};
pub use packet::{Ack, DATA_OCTETS, DATA_OVERHEAD, FlowId, Frame, HEADER_OCTETS, IP_OCTETS, TpPacket, Wire};
pub use reason::Reason;
pub use stats::{FlowStats, GatewayStats};
