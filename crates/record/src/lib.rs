//! The observations of a run as rows, the metrics that rows can have, and the statistics of runs.
//!
//! Everything stays in memory; the crate `tables` writes rows to disk.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod metric;
mod row;
pub mod stats;

pub use metric::{Quantity, Source};
pub use row::{AxisValue, Counts, Row, Rows, RunKey, RunRecord};
