//! Metrics of traffic groups, over their slots, and of sets of slots. Those of delays are in [`super::slot`].

use super::declare::metrics;

metrics! {
    /// Mean over the slots of `throughput`: of what they deliver from `from` to `to`, as a share of the rate of the
    /// slowest link. `goodput_total` has both directions.
    THROUGHPUT_MEAN as "Throughput": Share of [Group] in [Summary] by [Simulate, Emulate];
    /// Mean over the slots of `line_share`.
    LINE_SHARE_MEAN as "Line share": Share of [Group] in [Summary] by [Simulate];
    /// Data that the slots delivered per second: the sum of their `goodput`.
    GOODPUT_TOTAL as "Goodput": BitPerSecond of [Group, Set] in [Summary] by [Simulate, Emulate, Predict];
    /// Mean over the slots of `collapses`.
    COLLAPSES_MEAN as "Window collapses": Count of [Group] in [Summary] by [Simulate];
    /// Mean over the slots of `timeouts`.
    TIMEOUTS_MEAN as "Timeouts": Count of [Group] in [Summary] by [Simulate];
    /// Mean over the slots of `window_at_max`.
    WINDOW_AT_MAX_MEAN as "Time at the receive window": Share of [Group] in [Summary] by [Simulate, Emulate];
    /// Jain's index of the bytes delivered to the responders in each fairness window, averaged over the windows; from two
    /// slots on.
    JAIN as "Jain's index": Share of [Group, Set] in [Summary] by [Simulate, Emulate];
    /// Least of the windows of `jain`.
    JAIN_MIN as "Least Jain's index": Share of [Group, Set] in [Summary] by [Simulate, Emulate];
}
