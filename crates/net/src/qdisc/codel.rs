//! Controlled delay (CoDel): drops or marks at the head of a queue in which packets wait too long. RFC 8289.

mod control;

use control::{Control, Head};

use cellway_spec::Codel;
use cellway_units::{Bytes, Ecn, Time};

use super::{Discipline, Drops, Fifo, QdiscCounters, Queued};
use crate::buffer::{Buffer, BufferSpec};
use crate::line::Line;

/// A queue with controlled delay.
#[derive(Clone, Debug)]
pub(crate) struct CodelQueue {
    waiting: Waiting,
    control: Control,
}

/// The packets that wait.
#[derive(Clone, Debug)]
struct Waiting {
    queue: Fifo,
    /// IP octets that wait.
    octets: u64,
    ecn: bool,
}

impl CodelQueue {
    /// An empty queue of a line whose largest packet is `largest`. The parameters break no rule of [`Codel::problem`].
    pub(crate) fn new(limit: Option<BufferSpec>, codel: Codel, largest: Bytes) -> CodelQueue {
        debug_assert_eq!(codel.problem(), None);
        let waiting = Waiting { queue: Fifo::new(limit), octets: 0, ecn: codel.ecn };
        CodelQueue { waiting, control: Control::new(codel, largest) }
    }

    /// Returns true if nothing waits and the buffer has room for a packet. The control has nothing to record of one that
    /// does not wait: it ended its drops when the last packet left.
    #[inline]
    pub(crate) fn passes(&mut self, packet: Queued) -> bool {
        self.waiting.queue.is_empty() && self.waiting.queue.fits(packet)
    }

    pub(crate) fn counters(&self) -> QdiscCounters {
        self.waiting.queue.counters()
    }

    pub(crate) fn buffer(&self) -> &Buffer {
        self.waiting.queue.buffer()
    }

    pub(crate) fn buffer_mut(&mut self) -> &mut Buffer {
        self.waiting.queue.buffer_mut()
    }
}

impl Discipline for CodelQueue {
    #[inline(never)]
    fn enqueue(&mut self, line: &Line, packet: Queued, drops: &mut Drops) {
        let Waiting { queue, octets, .. } = &mut self.waiting;
        let before = queue.len();
        queue.enqueue(line, packet, drops);
        *octets += if queue.len() > before { u64::from(packet.octets) } else { 0 };
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Queued> {
        let packet = self.control.next(now, &mut self.waiting, drops)?;
        self.waiting.queue.sent(now, packet);
        Some(packet)
    }

    fn len(&self) -> u32 {
        self.waiting.queue.len()
    }
}

impl Head for Waiting {
    fn take(&mut self) -> Option<Queued> {
        let packet = self.queue.take()?;
        self.octets -= u64::from(packet.octets);
        Some(packet)
    }

    fn octets(&self) -> u64 {
        self.octets
    }

    fn mark(&mut self, packet: &mut Queued) -> bool {
        let is_marked = self.ecn && packet.ecn.is_capable();
        packet.marked = is_marked && packet.ecn != Ecn::Ce;
        self.queue.counters.marked += u64::from(packet.marked);
        is_marked
    }

    fn drop(&mut self, packet: Queued, drops: &mut Drops) {
        self.queue.counters.early += 1;
        drops.push(packet.packet);
    }
}
