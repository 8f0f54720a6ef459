//! Controlled delay (CoDel): drops or marks at the head of a queue in which packets wait too long. RFC 8289.

mod control;

pub(super) use control::{Control, Head, Parameters};

use cellway_spec::{Codel, Fifo};
use cellway_units::{Bytes, Time};

use super::{Discipline, Drops, FifoQueue, Memory, Queued};
use crate::line::Line;

/// A queue with controlled delay.
#[derive(Clone, Debug)]
pub(crate) struct CodelQueue {
    waiting: Waiting,
    control: Control,
    parameters: Parameters,
}

/// The packets that wait.
#[derive(Clone, Debug)]
struct Waiting {
    queue: FifoQueue,
    ecn: bool,
}

impl CodelQueue {
    /// An empty queue of a line whose largest packet is `largest`.
    pub(super) fn new(memory: Memory, codel: Codel, largest: Bytes) -> CodelQueue {
        let Codel { target, interval, ecn } = codel;
        let waiting = Waiting { queue: FifoQueue::new(memory, Fifo::TAIL), ecn };
        CodelQueue { waiting, control: Control::default(), parameters: Parameters { target, interval, largest } }
    }
}

impl Discipline for CodelQueue {
    #[inline(never)]
    fn enqueue(&mut self, line: &Line, packet: Queued, drops: &mut Drops) {
        self.waiting.queue.enqueue(line, packet, drops);
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Queued> {
        let packet = self.control.next(&self.parameters, now, &mut self.waiting, drops)?;
        self.memory_mut().sent(now, packet);
        Some(packet)
    }

    /// The control has nothing to record of a packet that does not wait: it ended its drops when the last packet left.
    fn passes(&mut self, packet: Queued) -> bool {
        self.waiting.queue.passes(packet)
    }

    fn discard(&mut self) -> Option<Queued> {
        self.waiting.queue.take()
    }

    fn waiting(&self) -> impl Iterator<Item = &Queued> {
        self.waiting.queue.waiting()
    }

    fn memory(&self) -> &Memory {
        &self.waiting.queue.memory
    }

    fn memory_mut(&mut self) -> &mut Memory {
        &mut self.waiting.queue.memory
    }
}

impl Head for Waiting {
    fn take(&mut self) -> Option<Queued> {
        self.queue.take()
    }

    fn octets(&self) -> u64 {
        self.queue.memory.octets()
    }

    fn mark(&mut self, packet: &mut Queued) -> bool {
        self.ecn && self.queue.memory.mark(packet)
    }

    fn drop(&mut self, packet: Queued, drops: &mut Drops) {
        self.queue.memory.drop_early(packet, drops);
    }
}
