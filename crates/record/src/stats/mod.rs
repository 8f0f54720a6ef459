//! Statistics of the measurements of runs and of replicated runs.
//!
//! Every function is a pure function of its input, bit for bit: only `+ - * /`, square roots and the `libm` crate are
//! used, never the mathematics library of the system.

mod batch;
mod confidence;
mod jain;
mod jitter;
mod moments;
mod mser;
mod percentile;
mod student;
mod timeweighted;

pub use batch::{BatchMeans, batch_means, lag1_autocorrelation};
pub use confidence::{Bounds, Interval, confidence_interval, interval95, paired_difference};
pub use jain::jain;
pub use jitter::InterarrivalJitter;
pub use moments::{Moments, mean, sd};
pub use mser::{Truncation, mser, mser5};
pub use percentile::{Histogram, Sample, percentile};
pub use student::t_quantile;
pub use timeweighted::TimeWeighted;
