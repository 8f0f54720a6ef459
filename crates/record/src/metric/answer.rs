//! Metrics of slots and groups that wait for answers: requests over TCP and pings over UDP. One counts if it was sent after
//! the warm-up.

use super::declare::metrics;

metrics! {
    /// Request-response only: requests whose response arrived whole.
    TRANSACTIONS: Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Request-response only: `transactions` per second of the time after the warm-up.
    TRANSACTION_RATE: PerSecond of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Request-response, pings: mean time from the sending of a [request](../models/requests.md#figures) to the arrival of
    /// the last byte of its response; of a ping the round trip. In a bin, of the responses that arrive in it.
    RESPONSE_TIME_MEAN as "Mean response time": Second of [Slot, Group] in [Summary, Bins] by [Simulate, Emulate];
    /// Request-response, pings: median of that time, to 0.4 %.
    RESPONSE_TIME_P50 as "Response time, median": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Request-response, pings: 95th percentile of that time, to 0.4 %.
    RESPONSE_TIME_P95 as "Response time, 95th percentile": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Request-response, pings: 99th percentile of that time, to 0.4 %.
    RESPONSE_TIME_P99 as "Response time, 99th percentile": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Request-response, pings: largest of these times.
    RESPONSE_TIME_MAX as "Longest response time": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
}
