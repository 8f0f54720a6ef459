//! Metrics that every program of `[[run.command]]` has. Its figures are metrics of the scenario: see
//! [`Quantity::own`](super::Quantity::own).

use super::declare::metrics;

metrics! {
    /// 1 if it did not end with the status that was expected.
    FAILED: Share of [Command] in [Summary] by [Emulate];
    /// Exit status, 128 + n after signal n; no row if the emulator ended it.
    EXIT_STATUS: Count of [Command] in [Summary] by [Emulate];
}
