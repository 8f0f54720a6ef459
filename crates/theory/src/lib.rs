//! Predictions without a simulation: throughput limits, framing, spacing, bursts and loss, each with its source and its
//! domain.
//!
//! Every result is a function of typed quantities that returns a [`Predicted`]; outside its domain it returns its value
//! with a caveat. [`equations`] lists all of them, [`evaluate`] parses arguments from text. [`predict_path`] combines
//! them for one path, [`predict`] for each traffic group of a scenario.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod arguments;
mod bandwidth_delay;
mod burst;
mod cubic;
mod datagrams;
mod error;
mod fair_queue;
mod framing;
mod gcra;
mod leg;
mod line;
mod loss;
mod mathis;
mod path;
mod pftk;
mod predicted;
mod prediction;
mod registry;
mod scenario;
mod spacer;
mod window_limited;
mod window_over_rtt;
mod window_segments;

pub use arguments::{Argument, Kind};
pub use bandwidth_delay::bandwidth_delay;
pub use burst::{burst_buffer, burst_survives};
pub use cellway_units::Line;
pub use cubic::{Losses, cubic};
pub use datagrams::{md1_wait, overload_loss};
pub use error::Error;
pub use fair_queue::fair_queue_delay;
pub use framing::{HEADERS, LineFraming, goodput};
pub use gcra::{conforming_burst, gcra_burst, gcra_tolerance};
pub use mathis::mathis;
pub use path::{PathInput, predict_path};
pub use pftk::{Lossy, pftk, pftk_short};
pub use predicted::Predicted;
pub use prediction::{Amount, Bound, Limit, Prediction};
pub use registry::{Equation, equation, equations, evaluate};
pub use scenario::{
    Answer, ClassRate, GroupPrediction, LegPrediction, UdpPrediction, predict, predict_class, predict_udp,
};
pub use spacer::{Acknowledgements, Avoidance, Count, Interval, SlowStart, Spacer, SpacerInput, spacer_of};
pub use window_limited::window_limited;
pub use window_over_rtt::window_over_rtt;
pub use window_segments::window_segments;
