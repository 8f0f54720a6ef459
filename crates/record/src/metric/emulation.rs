//! Metrics of the emulator itself.

use super::declare::metrics;

metrics! {
    /// 1 if `lateness_p99` and `ingress_wait_p99` are within the limit and `earliness_max` is 0.
    VALID: Share of [Emulation] in [Summary] by [Emulate];
    /// Packets handed to hosts, answers of the network included.
    LATENESS_COUNT: Packet of [Emulation] in [Summary] by [Emulate];
    /// Median [lateness](../models/emulation.md#deviations).
    LATENESS_P50: Second of [Emulation] in [Summary] by [Emulate];
    /// 90th percentile of the lateness.
    LATENESS_P90: Second of [Emulation] in [Summary] by [Emulate];
    /// 99th percentile of the lateness.
    LATENESS_P99: Second of [Emulation] in [Summary] by [Emulate];
    /// 99.9th percentile of the lateness.
    LATENESS_P999: Second of [Emulation] in [Summary] by [Emulate];
    /// Least lateness.
    LATENESS_MIN: Second of [Emulation] in [Summary] by [Emulate];
    /// Largest lateness.
    LATENESS_MAX: Second of [Emulation] in [Summary] by [Emulate];
    /// Most that a packet entered before it was read from its host, or was written before its last bit arrived: 0, or
    /// the emulator has a defect.
    EARLINESS_MAX: Second of [Emulation] in [Summary] by [Emulate];
    /// Share of the packets that were at most 10 us late.
    LATENESS_WITHIN_10US: Share of [Emulation] in [Summary] by [Emulate];
    /// Share of the packets that were at most 50 us late.
    LATENESS_WITHIN_50US: Share of [Emulation] in [Summary] by [Emulate];
    /// Share of the packets that were at most 100 us late.
    LATENESS_WITHIN_100US: Share of [Emulation] in [Summary] by [Emulate];
    /// Share of the packets that were at most 500 us late.
    LATENESS_WITHIN_500US: Share of [Emulation] in [Summary] by [Emulate];
    /// Share of the packets that were at most 1 ms late.
    LATENESS_WITHIN_1MS: Share of [Emulation] in [Summary] by [Emulate];
    /// Share of the packets that were at most 10 ms late.
    LATENESS_WITHIN_10MS: Share of [Emulation] in [Summary] by [Emulate];
    /// Median of the time that packets waited, at most, in the devices of their hosts before they were read.
    INGRESS_WAIT_P50: Second of [Emulation] in [Summary] by [Emulate];
    /// 99th percentile of this wait.
    INGRESS_WAIT_P99: Second of [Emulation] in [Summary] by [Emulate];
    /// 99.9th percentile of this wait.
    INGRESS_WAIT_P999: Second of [Emulation] in [Summary] by [Emulate];
    /// Longest of these waits.
    INGRESS_WAIT_MAX: Second of [Emulation] in [Summary] by [Emulate];
    /// Median one-way delay of packets inside the network.
    DELAY_P50 as "Delay, median": Second of [Emulation] in [Summary] by [Emulate];
    /// 95th percentile of the one-way delay.
    DELAY_P95 as "Delay, 95th percentile": Second of [Emulation] in [Summary] by [Emulate];
    /// 99th percentile of the one-way delay.
    DELAY_P99 as "Delay, 99th percentile": Second of [Emulation] in [Summary] by [Emulate];
    /// 1 if the thread that drives the network had `SCHED_DEADLINE` or `SCHED_FIFO`.
    REAL_TIME: Share of [Emulation] in [Summary] by [Emulate];
    /// 1 if that thread had `SCHED_DEADLINE`.
    DEADLINE: Share of [Emulation] in [Summary] by [Emulate];
    /// Time in which that thread was ready to run and did not.
    RUN_DELAY: Second of [Emulation] in [Summary] by [Emulate];
    /// Time that a hypervisor took from all processors of the host during the run, to 10 ms.
    STEAL: Second of [Emulation] in [Summary] by [Emulate];
    /// Time on a processor of that thread.
    CPU as "Processor time": Second of [Emulation] in [Summary] by [Emulate];
    /// Packets that crossed the network.
    PACKETS: Packet of [Emulation] in [Summary] by [Emulate];
    /// Packets of hosts that did not enter it.
    REFUSED: Packet of [Emulation] in [Summary] by [Emulate];
    /// Packets that a host's device did not take.
    UNTAKEN: Packet of [Emulation] in [Summary] by [Emulate];
}
