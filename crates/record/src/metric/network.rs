//! Metrics of the whole network.

use super::declare::metrics;

metrics! {
    /// Packets refused whole at all ports; only in a network without ATM links, which has no rows of frames.
    DROPPED_PACKETS: Packet of [Network] in [Summary] by [Simulate, Emulate];
    /// Frames discarded in reassembly: the length did not fit.
    LOST_FRAMES_LENGTH: Frame of [Network] in [Summary] by [Simulate, Emulate];
    /// Frames discarded in reassembly: the CRC did not fit.
    LOST_FRAMES_CRC: Frame of [Network] in [Summary] by [Simulate, Emulate];
    /// Frames given up in reassembly: no end in the longest frame.
    LOST_FRAMES_TOO_LONG: Frame of [Network] in [Summary] by [Simulate, Emulate];
    /// Packets dropped whole at ports that have no rows of their own.
    DROPPED_AT_ACCESS: Packet of [Network] in [Summary] by [Simulate, Emulate];
    /// Sum of `goodput` over all slots.
    GOODPUT_TOTAL as "Goodput": BitPerSecond of [Network] in [Summary] by [Simulate, Emulate];
    /// The three kinds above, `dropped_at_access`, and the `dropped_frames` and `dropped_packets` of all ports;
    /// [not quite all losses](../models/network.md#counters).
    LOST_FRAMES: Frame of [Network] in [Summary] by [Simulate, Emulate];
}
