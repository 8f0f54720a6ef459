//! Flows that arrive by themselves: when they arrive, and how large they are.

use cellway_settings::choice;
use cellway_units::{Bytes, Span};

choice! {
    /// The instants at which flows arrive.
    pub enum FlowArrivals {
        /// As a Poisson process: the times between arrivals are random (exponential).
        Poisson = "poisson",
        /// At a constant rate, the first at the start of the slot.
        Periodic = "periodic",
        /// At the times of a file, from the start of the slot.
        Trace = "trace",
    }
}

choice! {
    /// The distribution of the sizes of flows.
    pub enum SizeDistribution {
        /// A cluster that answers web searches (Alizadeh et al. 2010).
        WebSearch = "web-search",
        /// A cluster for data mining (Greenberg et al. 2009).
        DataMining = "data-mining",
        /// Log-normal, by `median` and `sigma`.
        LogNormal = "log-normal",
        /// Pareto, by `shape` and `minimum`.
        Pareto = "pareto",
        /// All of the same `size`.
        Fixed = "fixed",
        /// The cumulative distribution of a file.
        Table = "table",
    }
}

/// The distribution of the sizes of flows, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowSizes {
    /// [`SizeDistribution::WebSearch`].
    WebSearch,
    /// [`SizeDistribution::DataMining`].
    DataMining,
    /// The logarithm of the size is normal.
    LogNormal {
        /// The median, 1 B or more.
        median: Bytes,
        /// The standard deviation of the natural logarithm, from 0 on.
        sigma: f64,
    },
    /// A power law: a size exceeds `x` with the probability `(minimum / x)` to the power of `shape`.
    Pareto {
        /// The exponent of the tail, above 0.
        shape: f64,
        /// The least size, 1 B or more.
        minimum: Bytes,
        /// The largest size, above the least: the distribution is cut off there, and what is left scaled to 1.
        maximum: Option<Bytes>,
    },
    /// All of this size, 1 B or more.
    Fixed(Bytes),
    /// A table of sizes and cumulative probabilities.
    Table {
        /// The file, relative to that of the scenario.
        file: String,
    },
}

/// The mean time between the arrivals of flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlowPace {
    /// This time between two flows of a slot. Never zero.
    Interval(Span),
    /// The time at which the flows of all slots of a group have this share of the rate of the bottleneck link, above 0.
    Load(f64),
}

/// The times and the sizes of flows.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowSource {
    /// A Poisson process.
    Poisson {
        /// The mean time between arrivals.
        pace: FlowPace,
        /// The distribution of the sizes.
        sizes: FlowSizes,
    },
    /// Equal times between arrivals.
    Periodic {
        /// The time between arrivals.
        pace: FlowPace,
        /// The distribution of the sizes.
        sizes: FlowSizes,
    },
    /// A table of times and sizes.
    Trace {
        /// The file, relative to that of the scenario.
        file: String,
    },
}

/// Flows of one slot: transfers that arrive whether or not earlier ones have ended, each over a connection of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpec {
    /// Their times and sizes.
    pub source: FlowSource,
    /// The number of flows after which no more arrive; without end if absent.
    pub count: Option<u64>,
    /// The time after which no more arrive, from the start of the slot; without end if absent.
    pub duration: Option<Span>,
    /// The most flows that are open at once, at least 1. One that arrives beyond is rejected.
    pub limit: u32,
}

impl FlowSizes {
    /// Returns the choice in a file.
    pub const fn distribution(&self) -> SizeDistribution {
        match self {
            FlowSizes::WebSearch => SizeDistribution::WebSearch,
            FlowSizes::DataMining => SizeDistribution::DataMining,
            FlowSizes::LogNormal { .. } => SizeDistribution::LogNormal,
            FlowSizes::Pareto { .. } => SizeDistribution::Pareto,
            FlowSizes::Fixed(_) => SizeDistribution::Fixed,
            FlowSizes::Table { .. } => SizeDistribution::Table,
        }
    }

    /// Returns the file that it needs, if any.
    pub fn file(&self) -> Option<&str> {
        match self {
            FlowSizes::Table { file } => Some(file),
            _ => None,
        }
    }
}

impl FlowSource {
    /// Returns the choice in a file.
    pub const fn arrivals(&self) -> FlowArrivals {
        match self {
            FlowSource::Poisson { .. } => FlowArrivals::Poisson,
            FlowSource::Periodic { .. } => FlowArrivals::Periodic,
            FlowSource::Trace { .. } => FlowArrivals::Trace,
        }
    }

    /// Returns the file that it needs, if any.
    pub fn file(&self) -> Option<&str> {
        match self {
            FlowSource::Trace { file } => Some(file),
            FlowSource::Poisson { sizes, .. } | FlowSource::Periodic { sizes, .. } => sizes.file(),
        }
    }
}
