//! Counters of a gateway.

use cellway_units::Bits;
use serde::{Deserialize, Serialize};

use crate::flow::{Flow, Origin, Stage};
use crate::reason::Reason;

/// The counters of a gateway since its start, and its current use of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayStats {
    /// Packets sent to the peer, of any kind.
    pub packets_sent: u64,
    /// Their bits on the link, counted as the configuration's `wire` says.
    pub line: Bits,
    /// Packets of the peer that arrived.
    pub packets_received: u64,
    /// Bytes of flows that arrived, each once.
    pub received_bytes: u64,
    /// Bytes of flows in packets sent, each time they were sent.
    pub data_bytes: u64,
    /// Retransmitted bytes among them.
    pub resent_bytes: u64,
    /// Data frames with retransmitted bytes.
    pub retransmissions: u64,
    /// Packets declared lost.
    pub packets_lost: u64,
    /// Probe timeouts.
    pub probes: u64,
    /// Flows that got memory.
    pub flows_opened: u64,
    /// Those of them that were opened early, by either gateway.
    pub flows_early: u64,
    /// Flows that were refused: by the far host, by the peer, or for lack of memory.
    pub flows_refused: u64,
    /// The same by [`Reason`], in the order of [`Reason::ALL`].
    pub refused_by: [u64; Reason::ALL.len()],
    /// Those of them that the peer opened and that were refused without a connection attempt, by [`Reason`].
    pub declined_by: [u64; Reason::ALL.len()],
    /// Packets with bytes of a flow whose `Open` had not arrived: they count as lost.
    pub ahead: u64,
    /// Frames of flows that never existed, each answered with a reset.
    pub unknown_flows: u64,
    /// Frames beyond the announced limit; each ended its flow.
    pub violations: u64,
    /// Flows that have not ended, those that wait included.
    pub flows: u64,
    /// Those of them that wait for the far host's answer.
    pub flows_opening: u64,
    /// Those of them that wait for memory.
    pub flows_waiting: u64,
    /// Bytes held now, of all flows in both directions.
    pub buffered: u64,
    /// The largest number of bytes held.
    pub buffered_max: u64,
    /// Memory in use (bytes): held, granted to the peer, reserved, and left by flows that have ended.
    pub committed: u64,
    /// Gaps in the bytes received from the peer, over all flows.
    pub gaps: u64,
    /// Runs of identifiers of flows that have ended: the larger of the numbers for even and for odd identifiers.
    pub identifiers: u64,
    /// The memory (bytes) of unacknowledged packets, the bytes of flows not counted.
    pub unacknowledged: u64,
    /// Credit (bytes) that flows returned to the peer, as it was under memory pressure.
    pub given_back: u64,
}

impl GatewayStats {
    /// Returns the number of flows that were refused for this reason.
    pub fn refused(&self, reason: Reason) -> u64 {
        self.refused_by[reason.index()]
    }
    pub(crate) fn count_refusal(&mut self, reason: Reason) {
        self.flows_refused += 1;
        self.refused_by[reason.index()] += 1;
    }
}

/// The state of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowState {
    /// It waits for memory or for the far host's answer.
    #[default]
    Opening,
    /// Both directions are open.
    Open,
    /// One direction has ended, or both have and the peer has not acknowledged it.
    HalfClosed,
    /// One side was refused or reset, and the other is not yet notified.
    Ending,
}

impl FlowState {
    fn of(flow: &Flow) -> FlowState {
        if matches!(flow.stage, Stage::Refusing | Stage::Resetting) || flow.reset_at.is_some() {
            FlowState::Ending
        } else if flow.opening() {
            FlowState::Opening
        } else if flow.out.ended || flow.inn.ended() {
            FlowState::HalfClosed
        } else {
            FlowState::Open
        }
    }
    /// Returns its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            FlowState::Opening => "opening",
            FlowState::Open => "open",
            FlowState::HalfClosed => "half-closed",
            FlowState::Ending => "ending",
        }
    }
}

/// The counters of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowStats {
    /// True if its client is on this side.
    pub opened_here: bool,
    /// Its state.
    pub state: FlowState,
    /// Bytes that the local host sent.
    pub received: u64,
    /// Bytes of them consumed from the local TCP.
    pub consumed: u64,
    /// Bytes consumed and not acknowledged by the peer: at most the window.
    pub held_outbound: u64,
    /// The limit of the peer (bytes since the start).
    pub limit: u64,
    /// Retransmitted bytes.
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
            opened_here: flow.origin == Origin::Local,
            state: FlowState::of(flow),
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
