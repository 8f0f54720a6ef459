//! Metrics of the path model of a congestion controller, of slots in `observe.trace`. Names and units are those of
//! draft-ietf-ccwg-bbr; a bound that is not set is 0, as no bound that is set is.

use super::declare::metrics;

metrics! {
    /// BBR: the state from this instant on. 0 Startup, 1 Drain, 2 ProbeBW_DOWN, 3 ProbeBW_CRUISE, 4 ProbeBW_REFILL, 5
    /// ProbeBW_UP, 6 ProbeRTT. Of the sender of the newest connection of slots in `observe.trace`, as all of BBR below.
    BBR_STATE as "State of BBR": Count of [Slot] in [Changes] by [Simulate];
    /// BBR: packet-timed round trips so far.
    BBR_ROUND_COUNT: Count of [Slot] in [Changes] by [Simulate];
    /// BBR: gain of the pacing rate.
    BBR_PACING_GAIN: Count of [Slot] in [Changes] by [Simulate];
    /// BBR: gain of the window.
    BBR_CWND_GAIN: Count of [Slot] in [Changes] by [Simulate];
    /// BBR: pacing rate (payload).
    BBR_PACING_RATE as "Pacing rate": BitPerSecond of [Slot] in [Changes] by [Simulate];
    /// BBR: data that may be sent together.
    BBR_SEND_QUANTUM: Byte of [Slot] in [Changes] by [Simulate];
    /// BBR: congestion window.
    BBR_CWND as "Congestion window": Byte of [Slot] in [Changes] by [Simulate];
    /// BBR: data in flight, neither acknowledged nor lost.
    BBR_INFLIGHT as "Data in flight": Byte of [Slot] in [Changes] by [Simulate];
    /// BBR: delivery rate of the last sample; 0 after an acknowledgement without a reliable one.
    BBR_DELIVERY_RATE as "Delivery rate": BitPerSecond of [Slot] in [Changes] by [Simulate];
    /// BBR: 1 if the last sample was limited by the application.
    BBR_IS_APP_LIMITED: Share of [Slot] in [Changes] by [Simulate];
    /// BBR: largest delivery rate of the last two cycles of ProbeBW.
    BBR_MAX_BW as "Estimated bandwidth": BitPerSecond of [Slot] in [Changes] by [Simulate];
    /// BBR: bandwidth of the model: the lesser of `bbr_max_bw` and `bbr_bw_shortterm`.
    BBR_BW: BitPerSecond of [Slot] in [Changes] by [Simulate];
    /// BBR: bound of the bandwidth after losses, until the next probe.
    BBR_BW_SHORTTERM: BitPerSecond of [Slot] in [Changes] by [Simulate];
    /// BBR: bound of the data in flight after losses, until the next probe.
    BBR_INFLIGHT_SHORTTERM: Byte of [Slot] in [Changes] by [Simulate];
    /// BBR: bound of the data in flight from probes.
    BBR_INFLIGHT_LONGTERM: Byte of [Slot] in [Changes] by [Simulate];
    /// BBR: `bbr_inflight_longterm` less its headroom.
    BBR_INFLIGHT_WITH_HEADROOM: Byte of [Slot] in [Changes] by [Simulate];
    /// BBR: data in flight that fills the path without a queue, Inflight(1.0).
    BBR_INFLIGHT_TARGET: Byte of [Slot] in [Changes] by [Simulate];
    /// BBR: product of `bbr_bw` and `bbr_min_rtt`.
    BBR_BDP as "Bandwidth-delay product": Byte of [Slot] in [Changes] by [Simulate];
    /// BBR: least round trip of the last 10 s.
    BBR_MIN_RTT as "Least round trip": Second of [Slot] in [Changes] by [Simulate];
    /// BBR: data acknowledged beyond what the bandwidth explains.
    BBR_EXTRA_ACKED: Byte of [Slot] in [Changes] by [Simulate];
    /// BBR: rounds in a row without growth of the delivery rate.
    BBR_FULL_BW_COUNT: Count of [Slot] in [Changes] by [Simulate];
    /// BBR: 1 while the pipe is full by the present detection.
    BBR_FULL_BW_NOW: Share of [Slot] in [Changes] by [Simulate];
    /// BBR: 1 once the pipe has been full.
    BBR_FULL_BW_REACHED: Share of [Slot] in [Changes] by [Simulate];
    /// BBR: longest wait until the next probe.
    BBR_BW_PROBE_WAIT: Second of [Slot] in [Changes] by [Simulate];
    /// BBR: 1 while sending restarts after an idle time.
    BBR_IDLE_RESTART: Share of [Slot] in [Changes] by [Simulate];
    /// BBR: losses that were found to be none, so that the state before was restored.
    BBR_UNDONE: Count of [Slot] in [Changes] by [Simulate];
    /// BBR: `bbr_bw_shortterm` that would be restored.
    BBR_UNDO_BW_SHORTTERM: BitPerSecond of [Slot] in [Changes] by [Simulate];
    /// BBR: `bbr_inflight_shortterm` that would be restored.
    BBR_UNDO_INFLIGHT_SHORTTERM: Byte of [Slot] in [Changes] by [Simulate];
    /// BBR: `bbr_inflight_longterm` that would be restored.
    BBR_UNDO_INFLIGHT_LONGTERM: Byte of [Slot] in [Changes] by [Simulate];
    /// Longest of the intervals of which the [series](#series) of a controller has only some changes; no row if it has
    /// all.
    MODEL_INTERVAL: Second of [Slot] in [Summary] by [Simulate];
}
