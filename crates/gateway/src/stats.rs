//! What a gateway has counted.

use cellway_units::Bits;

use crate::flow::Flow;

/// What a gateway has counted since its start, and what it holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GatewayStats {
    /// Packets sent to the peer, of any kind.
    pub packets_sent: u64,
    /// What they took of the aggregate rate, counted as the configuration's `wire` says.
    pub line: Bits,
    /// Packets of the peer that arrived.
    pub packets_received: u64,
    /// Bytes of flows in packets sent, each time they were sent.
    pub data_bytes: u64,
    /// Those of them that had been sent before.
    pub resent_bytes: u64,
    /// Data frames with bytes that had been sent before.
    pub retransmissions: u64,
    /// Packets taken for lost.
    pub packets_lost: u64,
    /// Probe timeouts.
    pub probes: u64,
    /// Flows that got memory.
    pub flows_opened: u64,
    /// Flows that were refused: by the far host, by the peer, or for lack of memory.
    pub flows_refused: u64,
    /// Frames of flows that never were, each answered with a reset.
    pub unknown_flows: u64,
    /// Frames beyond the limit that the peer was told; each ended its flow.
    pub violations: u64,
    /// Flows that have not ended, those that wait included.
    pub flows: u64,
    /// Those of them that wait for memory.
    pub flows_waiting: u64,
    /// Bytes held now, of all flows in both directions.
    pub buffered: u64,
    /// The most that was ever held (bytes).
    pub buffered_max: u64,
}

/// What a gateway has counted of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowStats {
    /// Bytes that the local host sent.
    pub received: u64,
    /// Bytes of them taken from the local TCP.
    pub consumed: u64,
    /// Bytes taken and not acknowledged by the peer: at most the window.
    pub held_outbound: u64,
    /// Up to where the peer lets send (bytes since the start).
    pub limit: u64,
    /// Bytes sent again.
    pub resent: u64,
    /// Bytes of the peer that arrived.
    pub arrived: u64,
    /// Bytes of them written to the local TCP.
    pub written: u64,
    /// Bytes arrived and not written: at most the window.
    pub held_inbound: u64,
}

impl FlowStats {
    pub(crate) fn of(flow: &Flow) -> FlowStats {
        FlowStats {
            received: flow.out.received,
            consumed: flow.out.consumed,
            held_outbound: flow.out.held(),
            limit: flow.out.limit,
            resent: flow.out.resent,
            arrived: flow.inn.arrived(),
            written: flow.inn.written,
            held_inbound: flow.inn.held(),
        }
    }
}
