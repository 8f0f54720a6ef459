//! Metrics of the port of a spacer, in studies that are compared with the
//! [theory of spacers](../../../../docs/models/spacing.md).

use super::declare::metrics;

metrics! {
    /// 1 if the condition of [Theorem 1](../models/spacing.md#against-the-simulator) holds.
    C1 as "Condition C1": Share of [Port] in [Summary] by [Theory];
    /// Most that wait in interval 0 of slow start.
    SLOW_START_PEAK_0: Cell of [Port] in [Summary] by [Simulate, Theory];
    /// Most in interval 1.
    SLOW_START_PEAK_1: Cell of [Port] in [Summary] by [Simulate, Theory];
    /// Most in interval 2.
    SLOW_START_PEAK_2: Cell of [Port] in [Summary] by [Simulate, Theory];
    /// Most in interval 3.
    SLOW_START_PEAK_3: Cell of [Port] in [Summary] by [Simulate, Theory];
    /// Most in interval 4.
    SLOW_START_PEAK_4: Cell of [Port] in [Summary] by [Simulate, Theory];
    /// Most in interval 5.
    SLOW_START_PEAK_5: Cell of [Port] in [Summary] by [Simulate, Theory];
    /// Most in interval 6.
    SLOW_START_PEAK_6: Cell of [Port] in [Summary] by [Simulate, Theory];
    /// Most in interval 7.
    SLOW_START_PEAK_7: Cell of [Port] in [Summary] by [Simulate, Theory];
    /// Most in interval 8.
    SLOW_START_PEAK_8: Cell of [Port] in [Summary] by [Simulate, Theory];
    /// Most in interval 9.
    SLOW_START_PEAK_9: Cell of [Port] in [Summary] by [Simulate, Theory];
    /// Rate at which the queue grows from the end of slow start's last interval to the threshold.
    FILLING_RATE: CellPerSecond of [Port] in [Summary] by [Simulate, Theory];
    /// Fewest that wait in the first round of acknowledgements at the slow start threshold.
    THRESHOLD_QUEUE_MIN: Cell of [Port] in [Summary] by [Simulate, Theory];
    /// Most that wait there.
    THRESHOLD_QUEUE_MAX: Cell of [Port] in [Summary] by [Simulate, Theory];
    /// Beginning of this round, in cells at the spacing rate from the first cell of data.
    OSCILLATION_START: Cell of [Port] in [Summary] by [Simulate, Theory];
}
