//! Metrics of slots and groups that wait for answers: requests and pages over TCP, and pings over UDP. One counts if it was
//! sent, or begun, after the warm-up.

use super::declare::metrics;

metrics! {
    /// Request-response, measured conversations: requests whose response arrived whole.
    TRANSACTIONS: Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Request-response, measured conversations: `transactions` per second of the time after the warm-up.
    TRANSACTION_RATE: PerSecond of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Request-response, pings, measured conversations: mean time from the sending of a
    /// [request](../models/requests.md#figures) to the arrival of the last byte of its response; of a ping the round
    /// trip. In a bin, of the responses that arrive in it.
    RESPONSE_TIME_MEAN as "Mean response time": Second of [Slot, Group] in [Summary, Bins] by [Simulate, Emulate];
    /// Request-response, pings, measured conversations: median response time, to 0.4 %.
    RESPONSE_TIME_P50 as "Response time, median": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Request-response, pings, measured conversations: 95th percentile of the response time, to 0.4 %.
    RESPONSE_TIME_P95 as "Response time, 95th percentile": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Request-response, pings, measured conversations: 99th percentile of the response time, to 0.4 %.
    RESPONSE_TIME_P99 as "Response time, 99th percentile": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Request-response, pings, measured conversations: longest response time.
    RESPONSE_TIME_MAX as "Longest response time": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Pages only: [pages](../models/pages.md#figures) that were loaded, with all of their objects.
    PAGES: Count of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Pages only: mean time from the opening of the first connection of a page to the arrival of the last byte of its last
    /// object. In a bin, of the pages whose load ends in it.
    PAGE_TIME_MEAN as "Mean page load time": Second of [Slot, Group] in [Summary, Bins] by [Simulate, Emulate];
    /// Pages only: median time to load a page, to 0.4 %.
    PAGE_TIME_P50 as "Page load time, median": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Pages only: 95th percentile of the time to load a page, to 0.4 %.
    PAGE_TIME_P95 as "Page load time, 95th percentile": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Pages only: 99th percentile of the time to load a page, to 0.4 %.
    PAGE_TIME_P99 as "Page load time, 99th percentile": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
    /// Pages only: longest time to load a page.
    PAGE_TIME_MAX as "Longest page load time": Second of [Slot, Group] in [Summary] by [Simulate, Emulate];
}
