//! Metrics of gateways that split connections, and of their classes.

use super::declare::metrics;

metrics! {
    /// Connections opened.
    GATEWAY_FLOWS: Count of [Gateway] in [Summary] by [Simulate, Emulate];
    /// Connections not yet ended at the end of the run.
    GATEWAY_FLOWS_OPEN: Count of [Gateway] in [Summary] by [Simulate, Emulate];
    /// Connections refused, by the far host or for lack of memory.
    GATEWAY_REFUSED: Count of [Gateway] in [Summary] by [Simulate, Emulate];
    /// Most bytes held at once.
    GATEWAY_BUFFERED_MAX: Byte of [Gateway] in [Summary] by [Simulate];
    /// Bytes of data sent to the peer again.
    GATEWAY_RESENT: Byte of [Gateway] in [Summary] by [Simulate, Emulate];
    /// Bytes of connections sent to the peer, each once.
    GATEWAY_SENT: Byte of [Gateway] in [Summary] by [Emulate];
    /// Octets of IP packets sent to the peer, everything included.
    GATEWAY_LINE: Byte of [Gateway] in [Summary] by [Emulate];
    /// Packets to the peer taken for lost.
    GATEWAY_LOST: Packet of [Gateway] in [Summary] by [Emulate];
    /// Times that the peer was lost.
    GATEWAY_DOWNS: Count of [Gateway] in [Summary] by [Emulate];
    /// Processor time of the daemon's thread, from its start.
    GATEWAY_CPU: Second of [Gateway] in [Summary] by [Emulate];
    /// Connections not yet ended at the end of the run.
    GATEWAY_CLASS_FLOWS_OPEN: Count of [Class] in [Summary] by [Simulate];
    /// Data frames sent to the peer.
    GATEWAY_CLASS_FRAMES: Count of [Class] in [Summary] by [Simulate];
    /// Bytes of connections in them, each time they were sent.
    GATEWAY_CLASS_SENT: Byte of [Class] in [Summary] by [Simulate];
    /// Bytes that they took of `rate`: each with the headers and the cells of a packet of its own.
    GATEWAY_CLASS_LINE: Byte of [Class] in [Summary] by [Simulate];
    /// Time for which it had data to send and waited for its ceiling.
    GATEWAY_CLASS_AT_CEILING: Second of [Class] in [Summary] by [Simulate];
}
