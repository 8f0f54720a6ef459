//! Queue disciplines of packet lines: which packets wait, which are dropped or marked, and which is sent next.
//!
//! A discipline has its own limit and its own statistics. It decides when a packet arrives and again when the line takes
//! one, so packets can be dropped at either moment. Time and the state of the line are arguments; random numbers come from
//! a stream that the discipline was given.

mod codel;
mod fifo;
mod red;

pub(crate) use codel::CodelQueue;
pub(crate) use fifo::Fifo;
pub(crate) use red::RedQueue;

use cellway_spec::{Codel, Red};
use cellway_units::{Bytes, Ecn, Span, Time};

use crate::buffer::{Buffer, BufferSpec};
use crate::line::Line;
use crate::loss::Stream;
use crate::packet::PacketRef;

/// A packet at a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub(crate) packet: PacketRef,
    pub(crate) conversation: u32,
    /// The length of the IP packet.
    pub(crate) octets: u32,
    pub(crate) ecn: Ecn,
    /// Set by a discipline that marks the packet instead of dropping it.
    pub(crate) marked: bool,
    /// The time of its arrival at the queue.
    pub(crate) since: Time,
}

/// Packets that a discipline has dropped; the caller removes them from the network.
pub(crate) type Drops = Vec<PacketRef>;

/// Totals of a discipline since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QdiscCounters {
    /// Packets dropped because the limit was reached.
    pub(crate) overlimit: u64,
    /// Packets dropped before that.
    pub(crate) early: u64,
    /// Packets marked with CE.
    pub(crate) marked: u64,
    /// The time that packets have spent in the queue, summed over those that have left it for the line.
    pub(crate) sojourn: Span,
}

/// The operations of a queue discipline that are called for each packet. A port chooses the discipline once for each, and
/// the compiler does the rest: no call is virtual.
pub(crate) trait Discipline {
    /// Handles a packet that arrives, on a busy line or an idle one. It may be dropped, or others in its place.
    fn enqueue(&mut self, line: &Line, packet: Queued, drops: &mut Drops);
    /// Returns the packet that the idle line sends next. Others may be dropped on the way.
    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Queued>;
    /// Returns the number of packets that wait.
    fn len(&self) -> u32;
}

/// The queue discipline of a packet port.
#[derive(Clone, Debug)]
pub(crate) enum Qdisc {
    Fifo(Fifo),
    Red(Box<RedQueue>),
    Codel(Box<CodelQueue>),
}

/// The choice of a queue discipline.
#[derive(Clone, Debug, Default)]
pub enum QdiscSpec {
    /// First in, first out: drops packets that do not fit the buffer.
    #[default]
    Fifo,
    /// Random early detection.
    Red {
        /// Its parameters.
        red: Red,
        /// The largest packet, to which the probability of others is in proportion if the queue is measured in bytes.
        largest: Bytes,
        /// Its random stream.
        stream: Stream,
    },
    /// Controlled delay.
    Codel {
        /// Its parameters.
        codel: Codel,
        /// The largest packet; while no more octets wait, none is dropped.
        largest: Bytes,
    },
}

impl Qdisc {
    pub(crate) fn new(spec: QdiscSpec, limit: Option<BufferSpec>) -> Qdisc {
        match spec {
            QdiscSpec::Fifo => Qdisc::Fifo(Fifo::new(limit)),
            QdiscSpec::Red { red, largest, stream } => Qdisc::Red(Box::new(RedQueue::new(limit, red, largest, stream))),
            QdiscSpec::Codel { codel, largest } => Qdisc::Codel(Box::new(CodelQueue::new(limit, codel, largest))),
        }
    }

    /// Returns true if a packet that finds the queue empty and the line idle can be sent without being queued. Only a
    /// discipline that would neither drop nor mark it, and that has nothing to record of it, may return true.
    #[inline]
    pub(crate) fn passes(&mut self, packet: Queued) -> bool {
        match self {
            Qdisc::Fifo(fifo) => fifo.is_empty() && fifo.fits(packet),
            Qdisc::Red(_) => false,
            Qdisc::Codel(codel) => codel.passes(packet),
        }
    }

    /// Returns the number of packets that wait.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        match self {
            Qdisc::Fifo(fifo) => fifo.len(),
            Qdisc::Red(red) => red.len(),
            Qdisc::Codel(codel) => codel.len(),
        }
    }

    pub(crate) fn counters(&self) -> QdiscCounters {
        match self {
            Qdisc::Fifo(fifo) => fifo.counters(),
            Qdisc::Red(red) => red.counters(),
            Qdisc::Codel(codel) => codel.counters(),
        }
    }

    /// Returns the memory in which packets wait.
    pub(crate) fn buffer(&self) -> &Buffer {
        match self {
            Qdisc::Fifo(fifo) => fifo.buffer(),
            Qdisc::Red(red) => red.buffer(),
            Qdisc::Codel(codel) => codel.buffer(),
        }
    }

    pub(crate) fn buffer_mut(&mut self) -> &mut Buffer {
        match self {
            Qdisc::Fifo(fifo) => fifo.buffer_mut(),
            Qdisc::Red(red) => red.buffer_mut(),
            Qdisc::Codel(codel) => codel.buffer_mut(),
        }
    }
}
