//! Metrics of slots and groups that send a video. A frame counts if it was captured after the warm-up, and its play-out is
//! before the end of the run.

use super::declare::metrics;

metrics! {
    /// Video only: frames [captured](../models/video.md#figures).
    FRAMES_SENT: Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Video only: share of them that were complete only after their play-out; no row without frames.
    FRAMES_LATE as "Late frames": Share of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Video only: share of them of which a packet did not arrive; no row without frames.
    FRAMES_INCOMPLETE as "Incomplete frames": Share of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Video only: median of the time from the capture of a frame to the arrival of its last packet, to 0.4 %.
    FRAME_DELAY_P50 as "Delay of a frame, median": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Video only: 95th percentile of the delay of a frame.
    FRAME_DELAY_P95 as "Delay of a frame, 95th percentile": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Video only: 99th percentile of the delay of a frame.
    FRAME_DELAY_P99 as "Delay of a frame, 99th percentile": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
}
