//! Workload files: classes of measured traffic with the distributions of their conversations.
//!
//! A [`WorkloadFile`] is read from TOML and written as such; errors carry the location of each problem. The
//! distributions are those of [`cellway_apps`], which plays conversations drawn from them. No I/O: callers read and
//! write the files.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod check;
mod compare;
mod file;
mod kinds;
mod knots;
mod laws;
mod messages;
mod model;
mod schema;
mod write;

pub use cellway_apps::{
    DatagramModel, Distribution, ExchangeModel, FittedLaw, Knot, Law, MOST_SECONDS, Message, QuantileModel, Recorded,
};
pub use cellway_settings::problem::{Error, Problem};
pub use compare::{Comparison, Difference, Only, compare};
pub use file::Transport;
pub use kinds::{DistributionKind, MOST_EXCHANGES, MOST_PAYLOAD};
pub use knots::{MAX_KNOTS, quantiles};
pub use laws::{law_name, rounded_law};
pub use messages::message;
pub use model::{Class, ClassModel, WorkloadFile};
pub use schema::{reference, schema};
