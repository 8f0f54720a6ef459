//! What gateways send each other: packets of frames, and their lengths.

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

/// The name of a flow, the same at both gateways, below 2^62: whoever opens a flow chooses one that
/// neither gateway has used before. Numbers given out in sequence (one gateway even, the other odd,
/// or any two sequences that do not meet) keep the memory of those that have ended small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FlowId(pub u64);

/// A packet between gateways.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TpPacket {
    /// Counts the packets of one direction, from 0; what is sent again gets a new number.
    pub number: u64,
    /// What it carries, at least one frame. A data frame reaches to the end of the packet: there is
    /// at most one, and it is the last.
    pub frames: Vec<Frame>,
}

impl TpPacket {
    /// Its length (octets), without the headers of what carries it
    /// ([`Transport::overhead`](crate::Transport::overhead)).
    pub fn octets(&self) -> u32 {
        NUMBER_OCTETS + self.frames.iter().map(Frame::octets).sum::<u32>()
    }
    /// Whether the receiver has to acknowledge it: anything but a bare acknowledgement.
    pub fn ack_eliciting(&self) -> bool {
        self.frames.iter().any(|frame| !matches!(frame, Frame::Ack(_)))
    }
}

/// One item of a packet. The octets of each are in `docs/models/gateway.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Frame {
    /// A host at the sender's side wants to connect.
    Open {
        /// The new flow.
        flow: FlowId,
        /// How far its other direction may be sent (bytes since its start).
        limit: u64,
        /// Bounds the time in which the receiver may connect, where the client may take another path after it.
        lease: Option<Lease>,
        /// From where and whereto.
        request: Arc<Request>,
    },
    /// The far host answered.
    Accepted {
        /// The flow of the `Open`.
        flow: FlowId,
        /// How far the opener may send (bytes since the start).
        limit: u64,
    },
    /// The far host cannot be reached or refuses.
    Refused {
        /// The flow of the `Open`.
        flow: FlowId,
        /// Why.
        reason: Reason,
    },
    /// Bytes of a flow.
    Data {
        /// The flow.
        flow: FlowId,
        /// Place of the first byte (bytes since the start).
        offset: u64,
        /// How many (bytes); may be 0 with `fin`.
        len: u32,
        /// Whether the flow ends after them in this direction.
        fin: bool,
        /// Whether the receiver may not have the `Open` of the flow yet.
        early: bool,
        /// Whether the last of them is urgent (RFC 9293, section 3.8.5).
        urgent: bool,
    },
    /// More may be sent.
    Credit {
        /// The flow.
        flow: FlowId,
        /// How far (bytes since the start, and what was given back). It never shrinks: an earlier, smaller one
        /// means nothing.
        limit: u64,
    },
    /// What may be sent is not needed now; the limit of the sender is lower by so much.
    Return {
        /// The flow.
        flow: FlowId,
        /// All that was given back since the start (bytes). It never shrinks, as limits do not.
        total: u64,
        /// Where the next bytes begin (bytes since the start): when they have come more is needed again.
        at: u64,
    },
    /// Memory is short: flows that idle may give back what they were promised.
    Recall,
    /// What the sender of the frame sends in a second: the receiver lets it send so much ahead as that asks for.
    Rate {
        /// Counted as the sender's `wire` says.
        rate: Rate,
    },
    /// The connection at the sender's side is gone.
    Reset {
        /// The flow.
        flow: FlowId,
        /// Up to where the receiver delivers before it resets its own side (bytes since the start).
        at: u64,
        /// Why.
        reason: Reason,
    },
    /// Which packets arrived.
    Ack(Ack),
}

impl Frame {
    /// The flow that it is about, if it is about one.
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
    /// Its length (octets).
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

/// Octets of a data frame before its bytes.
pub(crate) const fn data_octets(flow: FlowId, offset: u64) -> u32 {
    1 + varint::octets(flow.0) + varint::octets(offset)
}

/// Which packets arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ack {
    /// First and last number of each run of packets, the newest run first, at least one packet
    /// missing between any two.
    pub ranges: Vec<(u64, u64)>,
    /// How long the newest of them waited for this, in whole microseconds.
    pub delay: Span,
    /// When it was sent by the clock of its sender, which may have begun at any instant, in whole microseconds; see
    /// [`GatewayConfig::times_acks`](crate::GatewayConfig::times_acks).
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
    /// As many of `runs`, the newest first, as fit into `room` octets; `None` if not even one does.
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

/// Octets of each run: its length less one, and before it the gap to the newer run less two.
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
