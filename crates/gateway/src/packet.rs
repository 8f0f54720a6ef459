//! Packets between gateways: their frames and their lengths.

use std::sync::Arc;

use cellway_units::{Rate, Span, Time};
use serde::{Deserialize, Serialize};

use crate::lease::Lease;
use crate::reason::Reason;
use crate::request::Request;
use crate::varint;

/// Octets of the packet number, the start of every packet.
pub const NUMBER_OCTETS: u32 = 4;
/// Most octets of a data frame before its bytes: its type, two numbers.
const MAX_DATA_OCTETS: u32 = 1 + 8 + 8;
/// Most octets of a packet with one data frame that are not its bytes.
pub const DATA_OVERHEAD: u32 = NUMBER_OCTETS + MAX_DATA_OCTETS;
/// Most ranges of one acknowledgement; the oldest are left out.
const ACK_RANGES: usize = 32;

/// The identifier of a flow, the same at both gateways, below 2^62: the gateway that opens a flow chooses one that
/// neither has used before. Identifiers that are allocated in sequence (one gateway even, the other odd, or any two
/// disjoint sequences) keep the record of those that have ended small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FlowId(pub u64);

/// A packet between gateways.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TpPacket {
    /// The packet number, which counts the packets of one direction from 0; a retransmission has a new number.
    pub number: u64,
    /// Its frames, at least one. A data frame extends to the end of the packet: there is at most one, and it is the
    /// last.
    pub frames: Vec<Frame>,
}

impl TpPacket {
    /// Returns its length (octets), without the headers of its transport
    /// ([`Transport::overhead`](crate::Transport::overhead)).
    pub fn octets(&self) -> u32 {
        NUMBER_OCTETS + self.frames.iter().map(Frame::octets).sum::<u32>()
    }
    /// Returns true if it has bytes of a flow.
    pub fn has_data(&self) -> bool {
        self.frames.iter().any(|frame| matches!(frame, Frame::Data { len: 1.., .. }))
    }
    /// Returns true if the receiver has to acknowledge it: anything but a bare acknowledgement.
    pub fn ack_eliciting(&self) -> bool {
        self.frames.iter().any(|frame| !matches!(frame, Frame::Ack(_)))
    }
}

/// One item of a packet. `docs/models/gateway.md` lists the octets of each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Frame {
    /// A host at the sender's side opens a connection.
    Open {
        /// The new flow.
        flow: FlowId,
        /// The limit of its other direction (bytes since its start).
        limit: u64,
        /// Bounds the time in which the receiver may connect, where the client may take another path after it.
        lease: Option<Lease>,
        /// The client and the server.
        request: Arc<Request>,
    },
    /// The far host has answered.
    Accepted {
        /// The flow of the `Open`.
        flow: FlowId,
        /// The limit of the opener (bytes since the start).
        limit: u64,
    },
    /// The far host cannot be reached or refuses.
    Refused {
        /// The flow of the `Open`.
        flow: FlowId,
        /// The reason.
        reason: Reason,
    },
    /// Bytes of a flow.
    Data {
        /// The flow.
        flow: FlowId,
        /// Offset of the first byte (bytes since the start).
        offset: u64,
        /// The number of bytes; may be 0 with `fin`.
        len: u32,
        /// True if they are the last of the flow in this direction.
        fin: bool,
        /// True if the receiver may not have the `Open` of the flow yet.
        early: bool,
        /// True if the last of them is urgent (RFC 9293, section 3.8.5).
        urgent: bool,
    },
    /// Raises the limit of the receiver.
    Credit {
        /// The flow.
        flow: FlowId,
        /// The new limit (bytes since the start, returned credit included). It never shrinks: an earlier, smaller one
        /// has no effect.
        limit: u64,
    },
    /// Returns credit that is not needed now; the limit of the sender decreases by it.
    Return {
        /// The flow.
        flow: FlowId,
        /// All credit that was returned since the start (bytes). It never shrinks, as limits do not.
        total: u64,
        /// The offset of the next bytes (bytes since the start): when they arrive more credit is needed again.
        at: u64,
    },
    /// The sender is under memory pressure: idle flows may return their credit.
    Recall,
    /// The sending rate of the sender of the frame: the window that the receiver grants follows it.
    Rate {
        /// The rate, counted as the sender's `wire` says.
        rate: Rate,
    },
    /// The connection at the sender's side has ended.
    Reset {
        /// The flow.
        flow: FlowId,
        /// The offset up to which the receiver delivers before it resets its own side (bytes since the start).
        at: u64,
        /// The reason.
        reason: Reason,
    },
    /// Acknowledges packets.
    Ack(Ack),
}

impl Frame {
    /// Returns the flow of the frame, if it has one.
    pub fn flow(&self) -> Option<FlowId> {
        match *self {
            Frame::Open { flow, .. }
            | Frame::Accepted { flow, .. }
            | Frame::Refused { flow, .. }
            | Frame::Data { flow, .. }
            | Frame::Credit { flow, .. }
            | Frame::Return { flow, .. }
            | Frame::Reset { flow, .. } => Some(flow),
            Frame::Ack(_) | Frame::Recall | Frame::Rate { .. } => None,
        }
    }
    /// Returns its length (octets).
    pub fn octets(&self) -> u32 {
        match self {
            Frame::Open { flow, limit, lease, request } => {
                let lease = lease.map_or(0, Lease::octets);
                1 + varint::octets(flow.0) + varint::octets(*limit) + lease + request.octets()
            }
            Frame::Accepted { flow, limit } | Frame::Credit { flow, limit } => {
                1 + varint::octets(flow.0) + varint::octets(*limit)
            }
            Frame::Return { flow, total, at } => {
                1 + varint::octets(flow.0) + varint::octets(*total) + varint::octets(*at)
            }
            Frame::Recall => 1,
            Frame::Rate { rate } => 1 + varint::octets(rate.as_bps().min(varint::MAX)),
            Frame::Refused { flow, .. } => 1 + varint::octets(flow.0) + 1,
            Frame::Data { flow, offset, len, .. } => data_octets(*flow, *offset) + len,
            Frame::Reset { flow, at, .. } => 1 + varint::octets(flow.0) + varint::octets(*at) + 1,
            Frame::Ack(ack) => ack.octets(),
        }
    }
}

/// Returns the octets of a data frame before its bytes.
pub(crate) const fn data_octets(flow: FlowId, offset: u64) -> u32 {
    1 + varint::octets(flow.0) + varint::octets(offset)
}

/// An acknowledgement of packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ack {
    /// First and last number of each range of packets, the newest first, at least one packet missing between any two.
    pub ranges: Vec<(u64, u64)>,
    /// The time for which the newest packet waited for this acknowledgement, in whole microseconds.
    pub delay: Span,
    /// The time of sending by the clock of the sender, which may have started at any instant, in whole microseconds;
    /// see [`GatewayConfig::times_acks`](crate::GatewayConfig::times_acks).
    pub sent: Option<Time>,
}

/// Picoseconds of a microsecond.
pub(crate) const PS_PER_US: u64 = 1_000_000;

impl Ack {
    fn octets(&self) -> u32 {
        let delay = varint::octets(self.delay.as_ps() / PS_PER_US);
        let sent = self.sent.map_or(0, |sent| varint::octets(sent.as_ps() / PS_PER_US));
        let newest = self.ranges.first().map_or(0, |&(_, last)| last);
        let head =
            1 + varint::octets(newest) + delay + sent + varint::octets(self.ranges.len().saturating_sub(1) as u64);
        head + run_octets(&self.ranges).sum::<u32>()
    }
    /// Returns as many of `runs`, the newest first, as fit into `room` octets; `None` if not even one does.
    pub(crate) fn fitting(
        runs: impl Iterator<Item = (u64, u64)>,
        delay: Span,
        sent: Option<Time>,
        room: u32,
    ) -> Option<Ack> {
        let sent = sent.map(|at| Time::from_ps(at.as_ps() / PS_PER_US * PS_PER_US));
        let mut ack = Ack { ranges: runs.take(ACK_RANGES).collect(), delay, sent };
        while ack.octets() > room {
            ack.ranges.pop()?;
        }
        (!ack.ranges.is_empty()).then_some(ack)
    }
}

/// Returns the octets of each run: its length less one, and before it the gap to the newer run less two.
fn run_octets(ranges: &[(u64, u64)]) -> impl Iterator<Item = u32> + '_ {
    let gaps = std::iter::once(0).chain(ranges.windows(2).map(|w| varint::octets(w[0].0 - w[1].1 - 2)));
    ranges.iter().zip(gaps).map(|(&(first, last), gap)| gap + varint::octets(last - first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_the_specification() {
        let flow = FlowId(1);
        let packet = |frames| TpPacket { number: 0, frames }.octets();
        let request = Arc::new(Request { client: Some("192.0.2.1:1".parse().unwrap()), ..Request::UNNAMED });
        assert_eq!(
            packet(vec![Frame::Open { flow, limit: 1 << 20, lease: None, request: request.clone() }]),
            4 + 1 + 1 + 4 + 1 + 6 + 6
        );
        let lease = Some(Lease { after: 64, within: Span::from_us(63) });
        assert_eq!(
            packet(vec![Frame::Open { flow, limit: 1 << 20, lease, request }]),
            4 + 1 + 1 + 4 + 2 + 1 + 1 + 6 + 6
        );
        assert_eq!(packet(vec![Frame::Accepted { flow, limit: 0 }]), 4 + 3);
        assert_eq!(packet(vec![Frame::Refused { flow, reason: Reason::Refused }]), 4 + 3);
        let data =
            Frame::Data { flow: FlowId(1 << 40), offset: 1 << 40, len: 8192, fin: false, early: false, urgent: true };
        assert_eq!(packet(vec![data]), 8192 + DATA_OVERHEAD);
        let ack = Ack { ranges: vec![(5, 90), (1, 3)], delay: Span::from_ms(1), sent: Some(Time::from_ps(1 << 40)) };
        // Type, newest, delay, time, count; length of the first run, gap, length.
        assert_eq!(
            packet(vec![Frame::Ack(ack), Frame::Credit { flow, limit: 9 }]),
            4 + (1 + 2 + 2 + 4 + 1 + 2 + 1 + 1) + 3
        );
    }

    #[test]
    fn ranges_that_fit() {
        let runs = |n: u64| (0..n).rev().map(|i| (10 * i, 10 * i + 1));
        let fitting = |n, room| Ack::fitting(runs(n), Span::ZERO, None, room).map(|ack| ack.ranges.len());
        assert_eq!(
            [4, 5, 6, 7, 8, 9].map(|room| fitting(3, room)),
            [None, Some(1), Some(1), Some(2), Some(2), Some(3)]
        );
        assert_eq!((fitting(0, 100), fitting(100, 1000)), (None, Some(32)));
    }
}
