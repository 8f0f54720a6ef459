//! The observations of a run as rows, and the statistics of runs.
//!
//! Everything stays in memory; the crate `tables` writes rows to disk.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod row;
pub mod stats;
mod word;

pub use row::{AxisValue, Counts, LEFT_OUT, Row, RunKey, RunRecord};
pub use word::word;
