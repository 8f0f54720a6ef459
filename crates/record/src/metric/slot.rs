//! Metrics of conversation slots.

use super::declare::metrics;

metrics! {
    /// Bytes delivered in order to the applications, both directions.
    GOODPUT: BitPerSecond of [Slot] in [Summary, Bins] by [Simulate, Emulate];
    /// Rate at which bytes reach the responder in order, over the bottleneck rate; 1 fills the line, and a bin in which a
    /// hole is filled can have more.
    THROUGHPUT: Share of [Slot] in [Summary, Bins] by [Simulate, Emulate];
    /// Bits on the bottleneck link of the packets that reached the responder's host, over its rate: whole cells with
    /// their headers, Ethernet or FDDI frames, or bare packets. Copies that a link makes behind the bottleneck count, and with
    /// gateways the packets of their last part.
    LINE_SHARE: Share of [Slot] in [Summary] by [Simulate];
    /// Segments retransmitted.
    RETRANSMISSIONS: Segment of [Slot] in [Summary] by [Simulate, Emulate];
    /// Retransmission timers that fired.
    TIMEOUTS: Count of [Slot] in [Summary] by [Simulate];
    /// Losses found before a timeout: by duplicate acknowledgements, and with `rack` by time.
    FAST_RETRANSMITS: Count of [Slot] in [Summary] by [Simulate];
    /// Times that the congestion window went to one segment: at timeouts, and in Tahoe also at fast retransmits.
    COLLAPSES as "Window collapses": Count of [Slot] in [Summary] by [Simulate];
    /// Duplicate segments that the receiver reported to the sender (D-SACK): of `retransmissions`, those that were not
    /// needed, and packets that a link duplicated.
    SPURIOUS_RETRANSMISSIONS: Segment of [Slot] in [Summary] by [Simulate];
    /// Reductions of the congestion window that were undone, since nothing was lost.
    UNDONE_RECOVERIES: Count of [Slot] in [Summary] by [Simulate];
    /// Conversations that ended.
    CONVERSATIONS: Count of [Slot] in [Summary] by [Simulate, Emulate];
    /// Of `conversations`, those that a reset or a time-out ended.
    FAILURES: Count of [Slot] in [Summary] by [Simulate, Emulate];
    /// Items delivered whole.
    ITEMS: Count of [Slot] in [Summary] by [Simulate, Emulate];
    /// Time that the first item took, from its beginning to the arrival of its last byte.
    ITEM_TIME_FIRST as "Time of the first item": Second of [Slot] in [Summary] by [Simulate, Emulate];
    /// Mean over items of the time that they took.
    ITEM_TIME_MEAN as "Time of an item": Second of [Slot] in [Summary] by [Simulate, Emulate];
    /// Most that an item took.
    ITEM_TIME_MAX as "Longest time of an item": Second of [Slot] in [Summary] by [Simulate, Emulate];
    /// Mean over items of their size over their time.
    ITEM_RATE_MEAN as "Rate of an item": BitPerSecond of [Slot] in [Summary] by [Simulate, Emulate];
    /// Time that an item took, at the instant of its arrival.
    ITEM_TIME as "Time of an item": Second of [Slot] in [Changes] by [Simulate, Emulate];
    /// Length of the intervals of which the [series](#series) has only some items; no row if it has all.
    ITEM_TIME_INTERVAL: Second of [Slot] in [Summary] by [Simulate, Emulate];
    /// ABR only: allowed cell rate at the end of the bin (cells of 53 octets), at the first control loop of the
    /// originator's cells.
    ACR as "Allowed cell rate": BitPerSecond of [Slot] in [Bins] by [Simulate, Emulate];
    /// ABR only: mean of `acr` over the bins after the warm-up.
    ACR_MEAN as "Mean allowed cell rate": BitPerSecond of [Slot] in [Summary] by [Simulate, Emulate];
    /// ABR only: least `acr` of the bins after the warm-up.
    ACR_MIN as "Least allowed cell rate": BitPerSecond of [Slot] in [Summary] by [Simulate, Emulate];
    /// Mean over time of the send window (the smaller of congestion window and the window of the peer) of the
    /// originator's end of the newest connection.
    WINDOW_MEAN as "Mean send window": Byte of [Slot] in [Summary, Bins] by [Simulate, Emulate];
    /// Send window from this instant on; of slots in `observe.trace`.
    WINDOW as "Send window": Byte of [Slot] in [Changes] by [Simulate, Emulate];
    /// Length of the intervals of which the [series](#series) has only some changes of the window; no row if it has all.
    WINDOW_INTERVAL: Second of [Slot] in [Summary] by [Simulate, Emulate];
    /// Share of the time in which the congestion window was at least the receive window.
    WINDOW_AT_MAX as "Time at the receive window": Share of [Slot] in [Summary] by [Simulate, Emulate];
    /// TELNET: mean of the [delays](../models/tcplib.md#the-conversations) that ended; UDP: mean one-way delay. Of a
    /// group, over those of all its slots.
    DELAY_MEAN as "Mean delay": Second of [Slot, Group] in [Summary, Bins] by [Simulate, Emulate];
    /// TELNET only: their standard deviation.
    DELAY_SD as "Standard deviation of the delay": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// TELNET, UDP: their 95th percentile; of UDP to 0.4 %.
    DELAY_P95 as "Delay, 95th percentile": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// `delay_mean` in round trips.
    DELAY_MEAN_RTT as "Mean delay": RoundTrip of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// `delay_sd` in round trips.
    DELAY_SD_RTT as "Standard deviation of the delay": RoundTrip of [Slot, Group] in [Summary] by [Simulate, Emulate];
}
