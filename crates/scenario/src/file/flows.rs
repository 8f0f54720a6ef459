//! Flows of a traffic group.

use cellway_settings::table;
use cellway_units::{Bytes, Span};

use crate::model::{FlowArrivals, SizeDistribution};

/// The default of the most flows that are open at once.
const LIMIT: u32 = 10_000;

table! {
    /// Flows of each slot: transfers from the originator to the responder that arrive whether or not earlier ones have
    /// ended, each over a TCP connection of its own.
    pub(crate) struct FlowsFile {
        /// The instants at which flows arrive.
        arrivals: FlowArrivals = FlowArrivals::Poisson,
        /// poisson, periodic: the mean time between two flows of a slot. Required without `load`.
        #[range(min = "1 us")]
        interval: Option<Span>,
        /// poisson, periodic: the bytes of the flows of all slots, as a share of the rate of the bottleneck link. It gives the
        /// time between flows, in place of `interval`.
        #[range(above = 0, max = 1000)]
        load: Option<f64>,
        /// The number of flows of each slot. Default: without end.
        #[range(min = 1)]
        count: Option<u64>,
        /// The time for which flows arrive, from the start of the slot. Default: to the end of the run.
        #[range(above = "0 s")]
        duration: Option<Span>,
        /// The most flows of a slot that are open at once. One that arrives beyond is rejected and counted.
        #[range(min = 1, max = 1_000_000)]
        limit: u32 = LIMIT,
        ..sizes: SizeKeys,
    }
}

table! {
    /// The distribution of sizes, with its parameters.
    pub(crate) struct SizeKeys {
        /// The distribution of the sizes; required, unless a trace has them.
        sizes: Option<SizeDistribution>,
        /// fixed: the size of all; required.
        #[range(min = "1 B", max = "1048576 GiB")]
        size: Option<Bytes>,
        /// log-normal: the median; required.
        #[range(min = "1 B", max = "1048576 GiB")]
        median: Option<Bytes>,
        /// log-normal: the standard deviation of the natural logarithm of the size; required.
        #[range(min = 0, max = 10)]
        sigma: Option<f64>,
        /// pareto: the exponent of the tail; required. The mean is infinite up to 1, the variance up to 2.
        #[range(above = 0, max = 100)]
        shape: Option<f64>,
        /// pareto: the least size; required.
        #[range(min = "1 B", max = "1048576 GiB")]
        minimum: Option<Bytes>,
        /// pareto: the largest size. Default: no limit.
        #[range(min = "1 B", max = "1048576 GiB")]
        maximum: Option<Bytes>,
        /// table: a CSV file with the columns size (B) and probability (of at most that size). A trace of flows: one with the
        /// columns time (s, from the start of the slot) and size (B). Relative to this file.
        #[length(min = 1)]
        file: Option<String>,
    }
}
