//! Metrics of slots and groups whose flows arrive by themselves. A flow counts if it arrived after the warm-up.

use super::declare::metrics;

metrics! {
    /// Flows and measured conversations: flows that arrived, without those that were rejected.
    FLOWS_STARTED: Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows and measured conversations: flows whose last byte arrived.
    FLOWS_COMPLETED: Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows and measured conversations: flows whose connection was reset or timed out before that; no row if there
    /// were none.
    FLOWS_FAILED: Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows and measured conversations: flows that arrived while `limit` were open; no row if there were none.
    FLOWS_REJECTED: Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows and measured conversations: mean [completion time](../models/flows.md#figures).
    FCT_MEAN as "Mean flow completion time": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows and measured conversations: median completion time, to 0.4 %.
    FCT_P50 as "Flow completion time, median": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows and measured conversations: 95th percentile of the completion time, to 0.4 %.
    FCT_P95 as "Flow completion time, 95th percentile": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows and measured conversations: 99th percentile of the completion time, to 0.4 %.
    FCT_P99 as "Flow completion time, 99th percentile": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows only: mean [slowdown](../models/flows.md#figures).
    SLOWDOWN_MEAN as "Mean slowdown": Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows only: median slowdown, to 0.4 %.
    SLOWDOWN_P50 as "Slowdown, median": Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows only: 95th percentile of the slowdown, to 0.4 %.
    SLOWDOWN_P95 as "Slowdown, 95th percentile": Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows only: 99th percentile of the slowdown, to 0.4 %.
    SLOWDOWN_P99 as "Slowdown, 99th percentile": Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows up to 100 kB: `flows_completed`; of each size class no row if there were none.
    FLOWS_SMALL: Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows up to 100 kB: `fct_mean`.
    FCT_SMALL_MEAN as "Mean flow completion time, small flows": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows up to 100 kB: `fct_p50`.
    FCT_SMALL_P50 as "Flow completion time, median, small flows": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows up to 100 kB: `fct_p95`.
    FCT_SMALL_P95 as "Flow completion time, 95th percentile, small flows": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows up to 100 kB: `fct_p99`.
    FCT_SMALL_P99 as "Flow completion time, 99th percentile, small flows": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows up to 100 kB: `slowdown_mean`.
    SLOWDOWN_SMALL_MEAN as "Mean slowdown, small flows": Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows up to 100 kB: `slowdown_p50`.
    SLOWDOWN_SMALL_P50 as "Slowdown, median, small flows": Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows up to 100 kB: `slowdown_p95`.
    SLOWDOWN_SMALL_P95 as "Slowdown, 95th percentile, small flows": Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows up to 100 kB: `slowdown_p99`.
    SLOWDOWN_SMALL_P99 as "Slowdown, 99th percentile, small flows": Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows above 100 kB and up to 10 MB: `flows_completed`; of each size class no row if there were none.
    FLOWS_MEDIUM: Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows above 100 kB and up to 10 MB: `fct_mean`.
    FCT_MEDIUM_MEAN as "Mean flow completion time, medium flows": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows above 100 kB and up to 10 MB: `fct_p50`.
    FCT_MEDIUM_P50 as "Flow completion time, median, medium flows": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows above 100 kB and up to 10 MB: `fct_p95`.
    FCT_MEDIUM_P95 as "Flow completion time, 95th percentile, medium flows": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows above 100 kB and up to 10 MB: `fct_p99`.
    FCT_MEDIUM_P99 as "Flow completion time, 99th percentile, medium flows": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows above 100 kB and up to 10 MB: `slowdown_mean`.
    SLOWDOWN_MEDIUM_MEAN as "Mean slowdown, medium flows": Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows above 100 kB and up to 10 MB: `slowdown_p50`.
    SLOWDOWN_MEDIUM_P50 as "Slowdown, median, medium flows": Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows above 100 kB and up to 10 MB: `slowdown_p95`.
    SLOWDOWN_MEDIUM_P95 as "Slowdown, 95th percentile, medium flows": Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows above 100 kB and up to 10 MB: `slowdown_p99`.
    SLOWDOWN_MEDIUM_P99 as "Slowdown, 99th percentile, medium flows": Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows above 10 MB: `flows_completed`; of each size class no row if there were none.
    FLOWS_LARGE: Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows above 10 MB: `fct_mean`.
    FCT_LARGE_MEAN as "Mean flow completion time, large flows": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows above 10 MB: `fct_p50`.
    FCT_LARGE_P50 as "Flow completion time, median, large flows": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows above 10 MB: `fct_p95`.
    FCT_LARGE_P95 as "Flow completion time, 95th percentile, large flows": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows above 10 MB: `fct_p99`.
    FCT_LARGE_P99 as "Flow completion time, 99th percentile, large flows": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows above 10 MB: `slowdown_mean`.
    SLOWDOWN_LARGE_MEAN as "Mean slowdown, large flows": Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows above 10 MB: `slowdown_p50`.
    SLOWDOWN_LARGE_P50 as "Slowdown, median, large flows": Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows above 10 MB: `slowdown_p95`.
    SLOWDOWN_LARGE_P95 as "Slowdown, 95th percentile, large flows": Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Flows above 10 MB: `slowdown_p99`.
    SLOWDOWN_LARGE_P99 as "Slowdown, 99th percentile, large flows": Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
}
