//! Metrics of output ports.

use super::declare::metrics;

metrics! {
    /// Share of the time in which a unit was on the line; one that waits there while the line has no rate counts.
    UTILISATION: Share of [Port] in [Summary, Bins] by [Simulate, Emulate];
    /// Mean number of those that wait over time; the one in service is not counted.
    QUEUE_MEAN as "Mean queue": CellOrPacket of [Port] in [Summary, Bins] by [Simulate, Emulate];
    /// Most that wait at once.
    QUEUE_MAX as "Longest queue": CellOrPacket of [Port] in [Summary] by [Simulate, Emulate, Theory];
    /// Fewest that wait at once.
    QUEUE_MIN as "Shortest queue": CellOrPacket of [Port] in [Summary] by [Simulate, Emulate, Theory];
    /// Number of those that wait from this instant on; of ports in `observe.queue`.
    QUEUE: CellOrPacket of [Port] in [Changes] by [Simulate, Emulate, Theory];
    /// Length of the intervals of which the [series](#series) has only some changes of the queue; no row if it has all.
    QUEUE_INTERVAL: Second of [Port] in [Summary] by [Simulate, Emulate];
    /// Mean time that packets waited, over those that the line has taken; packet lines only.
    SOJOURN_MEAN as "Mean wait": Second of [Port] in [Summary, Bins] by [Simulate, Emulate];
    /// Median time that packets waited, to 0.4 %.
    SOJOURN_P50 as "Wait, median": Second of [Port] in [Summary] by [Simulate, Emulate];
    /// 95th percentile of the time that packets waited, to 0.4 %.
    SOJOURN_P95 as "Wait, 95th percentile": Second of [Port] in [Summary] by [Simulate, Emulate];
    /// 99th percentile of the time that packets waited, to 0.4 %.
    SOJOURN_P99 as "Wait, 99th percentile": Second of [Port] in [Summary] by [Simulate, Emulate];
    /// Longest time that a packet waited.
    SOJOURN_MAX as "Longest wait": Second of [Port] in [Summary] by [Simulate, Emulate];
    /// Cells sent, RM cells included; ATM lines only.
    CELLS: Cell of [Port] in [Summary] by [Simulate, Emulate];
    /// Packets refused whole by the buffer of a router or gateway; ATM lines only.
    DROPPED_FRAMES: Frame of [Port] in [Summary] by [Simulate, Emulate];
    /// Cells refused one by one by the buffer; ATM lines only.
    DROPPED_CELLS: Cell of [Port] in [Summary] by [Simulate, Emulate];
    /// Packets sent, those lost on the link included; packet lines only.
    PACKETS: Packet of [Port] in [Summary] by [Simulate, Emulate];
    /// Packets that the queue dropped; packet lines only.
    DROPPED_PACKETS: Packet of [Port] in [Summary, Bins] by [Simulate, Emulate];
    /// Of `dropped_packets`, those that the queue discipline dropped before the buffer was full.
    EARLY_DROPS as "Packets dropped early": Packet of [Port] in [Summary, Bins] by [Simulate, Emulate];
    /// Packets that the queue discipline marked with "congestion experienced" (ECN).
    MARKED as "Packets marked": Packet of [Port] in [Summary, Bins] by [Simulate, Emulate];
    /// Of `dropped_packets`: those that [outages](../models/links.md#outages) dropped from the queue.
    FLUSHED as "Packets dropped by outages": Packet of [Port] in [Summary] by [Simulate, Emulate];
    /// Packets that the link behind the port [delivered twice](../models/links.md#duplicates-and-damage).
    DUPLICATED as "Packets duplicated": Packet of [Port] in [Summary] by [Simulate, Emulate];
    /// Packets that were damaged on the link behind the port, and dropped by the host that received them; not in `lost`.
    CORRUPTED as "Packets corrupted": Packet of [Port] in [Summary] by [Simulate, Emulate];
    /// Share of the packets that were dropped or lost: `dropped_packets` and `lost`, over `packets` and `dropped_packets`;
    /// packet lines only, no row if there were none.
    LOSS_RATIO: Share of [Port] in [Summary] by [Simulate, Emulate];
    /// Of `dropped_cells`, those refused for their loss priority (CLP = 1).
    CLP_DISCARDED as "Cells discarded by CLP": Cell of [Port] in [Summary] by [Simulate, Emulate];
    /// Frames refused whole by early packet discard; they are in `dropped_frames`, or their cells in `dropped_cells`.
    EPD_FRAMES as "Frames discarded early": Frame of [Port] in [Summary] by [Simulate, Emulate];
    /// Cells that a policer dropped before the buffer; not in `dropped_cells`.
    POLICED_DISCARDED as "Cells dropped by policers": Cell of [Port] in [Summary] by [Simulate, Emulate];
    /// Cells that a policer gave CLP = 1 and passed on.
    POLICED_TAGGED as "Cells tagged by policers": Cell of [Port] in [Summary] by [Simulate, Emulate];
    /// Of `cells`, resource management cells of ABR.
    RM_CELLS as "RM cells": Cell of [Port] in [Summary] by [Simulate, Emulate];
    /// Those that left the line and were lost on the link behind it.
    LOST: CellOrPacket of [Port] in [Summary] by [Simulate, Emulate];
}
