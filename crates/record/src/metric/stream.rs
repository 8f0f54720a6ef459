//! Metrics of measured transfers, by stream and in total.

use super::declare::metrics;

metrics! {
    /// Bytes that the receiver read after its first read, over the time from that to the last.
    GOODPUT: BitPerSecond of [Stream, Transfer] in [Summary, Bins] by [Measure];
    /// Bytes that the receiver read.
    BYTES: Byte of [Stream, Transfer] in [Summary] by [Measure];
    /// Bytes that the sender wrote, over the time that it took.
    SENT_RATE: BitPerSecond of [Stream, Transfer] in [Summary] by [Measure];
    /// Segments that the kernel retransmitted; in the series, those so far.
    RETRANSMISSIONS: Segment of [Stream, Transfer] in [Summary, Bins] by [Measure];
    /// Mean of the smoothed round-trip time over the samples.
    RTT_MEAN as "Mean round-trip time": Second of [Stream, Transfer] in [Summary] by [Measure];
    /// Least round-trip time that the kernel measured.
    RTT_MIN as "Least round-trip time": Second of [Stream, Transfer] in [Summary] by [Measure];
    /// Smoothed round-trip time.
    RTT as "Round-trip time": Second of [Stream] in [Bins] by [Measure];
    /// Largest congestion window of the samples.
    CWND_MAX as "Largest congestion window": Byte of [Stream] in [Summary] by [Measure];
    /// Congestion window.
    CWND as "Congestion window": Byte of [Stream] in [Bins] by [Measure];
    /// The kernel's delivery rate at the last sample.
    DELIVERY_RATE: BitPerSecond of [Stream, Transfer] in [Summary] by [Measure];
    /// Maximum segment size.
    MSS as "Maximum segment size": Byte of [Stream] in [Summary] by [Measure];
    /// Share of the busy time in which the receive window limited the sender.
    RWND_LIMITED as "Limited by the receive window": Share of [Stream] in [Summary] by [Measure];
    /// Share of the busy time in which the send buffer limited the sender.
    SNDBUF_LIMITED as "Limited by the send buffer": Share of [Stream] in [Summary] by [Measure];
}
