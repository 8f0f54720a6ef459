//! Metrics of the flows that a scenario names in `observe.flows`, and of the sets of `observe.set`. Sets share those of
//! goodput and fairness with groups.
//!
//! A "newest connection" is that of the slot. Its sender is the end that has sent more data.

use super::declare::metrics;

metrics! {
    /// Congestion window of the sender of the newest connection at the end of the bin; of slots in `observe.flows`, as all
    /// below.
    CWND as "Congestion window": Byte of [Slot] in [Bins] by [Simulate, Emulate];
    /// Smoothed round-trip time (RFC 6298) of the same sender at the end of the bin.
    SRTT as "Smoothed round-trip time": Second of [Slot] in [Bins] by [Simulate, Emulate];
    /// Mean smoothed round-trip time over the bins after the warm-up.
    SRTT_MEAN as "Smoothed round-trip time, mean": Second of [Slot] in [Summary] by [Simulate, Emulate];
    /// Data that the same sender has sent and that are not acknowledged cumulatively, at the end of the bin; from `emulate`, segments
    /// times the maximum segment size.
    IN_FLIGHT as "Data in flight": Byte of [Slot] in [Bins] by [Simulate, Emulate];
    /// Rate at which the same sender paces full segments at the end of the bin, in bits of payload; no row if it does not
    /// pace. From `emulate` the kernel's `tcpi_pacing_rate`, which exists without pacing, too.
    PACING_RATE as "Pacing rate": BitPerSecond of [Slot] in [Bins] by [Simulate, Emulate];
    /// Least round-trip time that the same sender keeps, at the end of the bin: that of the model of BBR, else of RACK; no
    /// row if it keeps none. From `emulate` the kernel's `tcpi_min_rtt`.
    MIN_RTT as "Least round-trip time": Second of [Slot] in [Bins] by [Simulate, Emulate];
    /// Mean one-way delay of the packets with data that arrived in the bin, in either direction: from sending to the
    /// arrival of the last bit; from `emulate`, inside the network.
    ONE_WAY_DELAY as "One-way delay": Second of [Slot] in [Bins] by [Simulate, Emulate];
    /// Mean time that the same packets waited in the queues of packet lines on their path, that of their host included.
    SOJOURN_MEAN as "Queue sojourn": Second of [Slot] in [Bins] by [Simulate, Emulate];
    /// Packets that the network lost, acknowledgements included, over those that it lost or delivered; no row if there
    /// were none.
    LOSS_RATIO: Share of [Set] in [Summary] by [Simulate, Emulate];
    /// Median of the round-trip times that the TCP of the hosts measured, as coarse as their clocks, to 0.4 %.
    RTT_P50 as "Round-trip time, median": Second of [Set] in [Summary] by [Simulate];
    /// 95th percentile of the round-trip times that the TCP of the hosts measured, to 0.4 %.
    RTT_P95 as "Round-trip time, 95th percentile": Second of [Set] in [Summary] by [Simulate];
    /// 99th percentile of the round-trip times that the TCP of the hosts measured, to 0.4 %.
    RTT_P99 as "Round-trip time, 99th percentile": Second of [Set] in [Summary] by [Simulate];
    /// Median of the one-way delay of the packets with data that arrived, in either direction, to 0.4 %; from `emulate`,
    /// inside the network.
    ONE_WAY_DELAY_P50 as "One-way delay, median": Second of [Set] in [Summary] by [Simulate, Emulate];
    /// 95th percentile of the one-way delay, to 0.4 %.
    ONE_WAY_DELAY_P95 as "One-way delay, 95th percentile": Second of [Set] in [Summary] by [Simulate, Emulate];
    /// 99th percentile of the one-way delay, to 0.4 %.
    ONE_WAY_DELAY_P99 as "One-way delay, 99th percentile": Second of [Set] in [Summary] by [Simulate, Emulate];
}
