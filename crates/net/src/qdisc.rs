//! Queue disciplines of packet lines: which packets wait, which are dropped or marked, and which is sent next.
//!
//! A discipline has its own limit and its own statistics. It decides when a packet arrives and again when the line takes
//! one, so packets can be dropped at either moment. Time and the state of the line are arguments; random numbers come from
//! a stream that the discipline was given.

mod chance;
mod codel;
mod drr;
mod dualpi2;
mod fifo;
mod flows;
mod fq_codel;
mod memory;
mod pie;
mod prio;
mod red;
#[cfg(test)]
pub(crate) mod testing;
mod updates;

use codel::CodelQueue;
use drr::DrrQueue;
use dualpi2::DualPi2Queue;
use fifo::FifoQueue;
use fq_codel::FqCodelQueue;
use memory::Memory;
pub use memory::Waits;
use pie::PieQueue;
use prio::PrioQueue;
use red::RedQueue;

use std::sync::Arc;

use cellway_spec::{Fifo, Queue};
use cellway_units::{Bytes, Ecn, Rate, Time};

use crate::buffer::{Buffer, BufferSpec};
use crate::line::Line;
use crate::loss::Stream;
use crate::packet::PacketRef;

/// A packet at a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub(crate) packet: PacketRef,
    pub(crate) conversation: u32,
    /// The flow of its conversation.
    pub(crate) flow: u32,
    /// The length of the IP packet.
    pub(crate) octets: u32,
    pub(crate) ecn: Ecn,
    pub(crate) dscp: u8,
    /// Set by a discipline that marks the packet instead of dropping it.
    pub(crate) marked: bool,
    /// The time of its arrival at the queue.
    pub(crate) since: Time,
    /// Its next step behind this line, a place in the table of all paths, if it came to the queue in a window.
    pub(crate) hop: u32,
}

impl Queued {
    /// The place of a packet that came to the queue event by event.
    pub(crate) const UNKNOWN: u32 = u32::MAX;
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
    /// Packets that have left it for the line, those that did not wait included.
    pub(crate) taken: u64,
    /// The time that packets have spent in the queue, summed over those that have left it for the line, in ps.
    pub(crate) sojourn: u128,
}

/// The operations of a queue discipline. A port chooses the discipline once for each packet, and the compiler does the
/// rest: no call is virtual.
pub(crate) trait Discipline {
    /// Handles a packet that arrives, on a busy line or an idle one. It may be dropped, or others in its place.
    fn enqueue(&mut self, line: &Line, packet: Queued, drops: &mut Drops);
    /// Returns the packet that the idle line sends next. Others may be dropped on the way.
    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Queued>;
    /// Returns true if a packet that finds the queue empty and the line idle can be sent without being queued. Only a
    /// discipline that would neither drop nor mark it, and that has nothing to record of it, may return true.
    fn passes(&mut self, _packet: Queued) -> bool {
        false
    }
    /// Takes any packet that waits, for none of which this counts as service.
    fn discard(&mut self) -> Option<Queued>;
    /// Returns the packets that wait, in the order of service as far as it is known.
    fn waiting(&self) -> impl Iterator<Item = &Queued>;
    /// Returns the memory in which packets wait.
    fn memory(&self) -> &Memory;
    /// Returns the memory in which packets wait.
    fn memory_mut(&mut self) -> &mut Memory;
    /// Returns the number of packets that wait.
    #[inline(always)]
    fn len(&self) -> u32 {
        self.memory().packets()
    }
}

impl<D: Discipline> Discipline for Box<D> {
    #[inline(always)]
    fn enqueue(&mut self, line: &Line, packet: Queued, drops: &mut Drops) {
        (**self).enqueue(line, packet, drops);
    }
    #[inline(always)]
    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Queued> {
        (**self).dequeue(now, drops)
    }
    #[inline(always)]
    fn passes(&mut self, packet: Queued) -> bool {
        (**self).passes(packet)
    }
    fn discard(&mut self) -> Option<Queued> {
        (**self).discard()
    }
    fn waiting(&self) -> impl Iterator<Item = &Queued> {
        (**self).waiting()
    }
    #[inline(always)]
    fn memory(&self) -> &Memory {
        (**self).memory()
    }
    #[inline(always)]
    fn memory_mut(&mut self) -> &mut Memory {
        (**self).memory_mut()
    }
}

/// The queue discipline of a packet port.
#[derive(Clone, Debug)]
pub(crate) enum Qdisc {
    Fifo(FifoQueue),
    Red(Box<RedQueue>),
    Codel(Box<CodelQueue>),
    FqCodel(Box<FqCodelQueue>),
    Pie(Box<PieQueue>),
    DualPi2(Box<DualPi2Queue>),
    Drr(Box<DrrQueue>),
    Prio(Box<PrioQueue>),
}

/// Evaluates an expression about the queue of whichever discipline it is.
macro_rules! with {
    ($qdisc:expr, $queue:ident => $value:expr) => {
        match $qdisc {
            $crate::qdisc::Qdisc::Fifo($queue) => $value,
            $crate::qdisc::Qdisc::Red($queue) => $value,
            $crate::qdisc::Qdisc::Codel($queue) => $value,
            $crate::qdisc::Qdisc::FqCodel($queue) => $value,
            $crate::qdisc::Qdisc::Pie($queue) => $value,
            $crate::qdisc::Qdisc::DualPi2($queue) => $value,
            $crate::qdisc::Qdisc::Drr($queue) => $value,
            $crate::qdisc::Qdisc::Prio($queue) => $value,
        }
    };
}
pub(crate) use with;

/// The choice of a queue discipline.
#[derive(Clone, Debug)]
pub struct QdiscSpec {
    /// The discipline and its parameters, which break no rule of theirs.
    pub queue: Queue,
    /// The largest packet of the line.
    pub largest: Bytes,
    /// The random stream of a discipline that draws.
    pub stream: Stream,
}

impl Qdisc {
    /// Creates an empty queue for a line of `rate`; without a choice a FIFO that drops at the tail.
    pub(crate) fn new(spec: Option<QdiscSpec>, limit: Option<Arc<BufferSpec>>, rate: Rate) -> Qdisc {
        let memory = Memory::new(limit);
        let Some(QdiscSpec { queue, largest, stream }) = spec else {
            return Qdisc::Fifo(FifoQueue::new(memory, Fifo::TAIL));
        };
        debug_assert_eq!(queue.problem(), None);
        match queue {
            Queue::Fifo(fifo) => Qdisc::Fifo(FifoQueue::new(memory, fifo)),
            Queue::Red(red) => Qdisc::Red(Box::new(RedQueue::new(memory, red, largest, stream))),
            Queue::Ared(ared) => Qdisc::Red(Box::new(RedQueue::adaptive(memory, ared, largest, rate, stream))),
            Queue::Codel(codel) => Qdisc::Codel(Box::new(CodelQueue::new(memory, codel, largest))),
            Queue::FqCodel(fq) => Qdisc::FqCodel(Box::new(FqCodelQueue::new(memory, fq, largest, stream))),
            Queue::Pie(pie) => Qdisc::Pie(Box::new(PieQueue::new(memory, pie, largest, stream))),
            Queue::DualPi2(spec) => Qdisc::DualPi2(Box::new(DualPi2Queue::new(memory, spec, largest, rate, stream))),
            Queue::Drr(drr) => Qdisc::Drr(Box::new(DrrQueue::new(memory, drr, largest, stream))),
            Queue::Prio(prio) => Qdisc::Prio(Box::new(PrioQueue::new(memory, prio))),
        }
    }

    /// Returns true if a packet that finds the queue empty and the line idle is sent without being queued, which is counted.
    #[inline(always)]
    pub(crate) fn pass(&mut self, packet: Queued) -> bool {
        match self {
            // The most frequent one without a call.
            Qdisc::Fifo(queue) => pass(queue, packet),
            _ => self.pass_by(packet),
        }
    }

    #[inline(never)]
    fn pass_by(&mut self, packet: Queued) -> bool {
        with!(self, queue => pass(queue, packet))
    }

    /// Returns the number of packets that wait.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        with!(self, queue => queue.len())
    }

    /// Returns the packets that wait, in the order of service as far as it is known.
    pub(crate) fn waiting(&self) -> Box<dyn Iterator<Item = &Queued> + '_> {
        with!(self, queue => Box::new(queue.waiting()))
    }

    /// Counts a packet that was refused before it came to the queue.
    pub(crate) fn count_refused(&mut self) {
        with!(self, queue => queue.memory_mut().count_refused());
    }

    pub(crate) fn counters(&self) -> QdiscCounters {
        with!(self, queue => queue.memory().counters())
    }

    pub(crate) fn waits(&self) -> Option<&Waits> {
        with!(self, queue => queue.memory().waits())
    }

    pub(crate) fn record_waits(&mut self) {
        with!(self, queue => queue.memory_mut().record_waits());
    }

    pub(crate) fn forget_waits(&mut self) {
        with!(self, queue => queue.memory_mut().forget_waits());
    }

    /// Returns the buffer that limits the packets that wait.
    pub(crate) fn buffer(&self) -> &Buffer {
        with!(self, queue => queue.memory().buffer())
    }

    pub(crate) fn buffer_mut(&mut self) -> &mut Buffer {
        with!(self, queue => queue.memory_mut().buffer_mut())
    }
}

#[inline(always)]
fn pass(queue: &mut impl Discipline, packet: Queued) -> bool {
    let passes = queue.passes(packet);
    queue.memory_mut().taken += u64::from(passes);
    passes
}
