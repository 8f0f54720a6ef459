//! Metrics of slots and groups that send UDP datagrams, or the datagrams of stacks of others; [`slot`](super::slot) has those that they share with others. A
//! packet counts if it was sent after the warm-up.

use super::declare::metrics;

metrics! {
    /// UDP only: packets sent; those that are neither received nor lost are in flight at the end.
    PACKETS_SENT: Packet of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// UDP only: packets received.
    PACKETS_RECEIVED: Packet of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// UDP only: packets [lost](../models/udp.md#figures).
    PACKETS_LOST: Packet of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// UDP only: packets that arrived after a later one; no row if there were none.
    PACKETS_REORDERED: Packet of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// UDP only: second copies of packets, which are not in `packets_received`; no row if there were none.
    PACKETS_DUPLICATED: Packet of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// UDP, and [stacks of others](../guide/own-stack.md): packets received that a queue had marked with "congestion
    /// experienced" (ECN), copies included; no row if there were none.
    PACKETS_MARKED: Packet of [Slot, Group] in [Summary] by [Simulate];
    /// UDP only: packets lost divided by packets sent; no row if none arrived or was lost.
    LOSS_RATIO: Share of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// UDP only: median of the one-way delay, to 0.4 %.
    DELAY_P50 as "Delay, median": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// UDP only: 99th percentile of the one-way delay, to 0.4 %.
    DELAY_P99 as "Delay, 99th percentile": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// UDP only: largest one-way delay.
    DELAY_MAX as "Largest delay": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// UDP only: mean [interarrival jitter](../models/udp.md#figures) (RFC 3550 section 6.4.1) after an arrival; of a
    /// group, the mean over its slots.
    JITTER_MEAN as "Mean jitter": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// UDP only: largest interarrival jitter after an arrival.
    JITTER_MAX as "Largest jitter": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// UDP only: interarrival jitter at the end of the bin.
    JITTER as "Jitter": Second of [Slot] in [Bins] by [Simulate, Emulate];
}
