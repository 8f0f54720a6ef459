//! First in, first out. A packet that does not fit the buffer is dropped, or the oldest packets in its place.

use std::collections::VecDeque;

use cellway_spec::{DropFrom, Fifo};
use cellway_units::Time;

use super::{Discipline, Drops, Memory, Queued};
use crate::line::Line;

/// The packets that wait, in the order of their arrival. Disciplines that only drop or mark earlier have one of these, too.
#[derive(Clone, Debug)]
pub(crate) struct FifoQueue {
    packets: VecDeque<Queued>,
    drop: DropFrom,
    pub(super) memory: Memory,
}

impl FifoQueue {
    /// An empty queue.
    pub(super) fn new(memory: Memory, fifo: Fifo) -> FifoQueue {
        FifoQueue { packets: VecDeque::new(), drop: fifo.drop, memory }
    }

    /// Takes the packet at the head. It counts as sent only when a discipline says so, with [`Memory::sent`].
    #[inline(always)]
    pub(super) fn take(&mut self) -> Option<Queued> {
        let packet = self.packets.pop_front()?;
        self.memory.release(packet);
        Some(packet)
    }

    /// Drops the packets that have waited longest until `packet` fits; returns false, and drops none, if it never can.
    #[cold]
    fn make_room(&mut self, packet: Queued, drops: &mut Drops) -> bool {
        if self.drop == DropFrom::Tail || !self.memory.can_hold(packet) {
            return false;
        }
        while !self.memory.admit(packet) {
            let Some(oldest) = self.packets.iter().position(|other| self.memory.is_shared(packet, *other)) else {
                return false;
            };
            if let Some(other) = self.packets.remove(oldest) {
                self.memory.release(other);
                self.memory.drop_overlimit(other, drops);
            }
        }
        true
    }
}

impl Discipline for FifoQueue {
    #[inline(always)]
    fn enqueue(&mut self, _line: &Line, packet: Queued, drops: &mut Drops) {
        if self.memory.admit(packet) || self.make_room(packet, drops) {
            if self.packets.capacity() == 0 {
                // The lines of hosts mostly hold few packets; a first push would allocate room for four.
                self.packets.reserve_exact(1);
            }
            self.packets.push_back(packet);
        } else {
            self.memory.drop_overlimit(packet, drops);
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Time, _drops: &mut Drops) -> Option<Queued> {
        let packet = self.take()?;
        self.memory.sent(now, packet);
        Some(packet)
    }

    /// FIFO has nothing to decide about a packet that does not wait.
    #[inline(always)]
    fn passes(&mut self, packet: Queued) -> bool {
        self.memory.is_empty() && self.memory.fits(packet)
    }

    fn discard(&mut self) -> Option<Queued> {
        self.take()
    }

    fn waiting(&self) -> impl Iterator<Item = &Queued> {
        self.packets.iter()
    }

    #[inline(always)]
    fn memory(&self) -> &Memory {
        &self.memory
    }

    #[inline(always)]
    fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }
}

#[cfg(test)]
mod tests {
    use cellway_units::Rate;

    use super::*;
    use crate::qdisc::testing::{limited, limited_each, of_flow};

    /// Lets packets with these conversations and lengths arrive; returns the numbers of those that are dropped, and of those
    /// that are sent.
    fn outcome(memory: Memory, drop: DropFrom, packets: &[(u32, u32)]) -> (Vec<u32>, Vec<u32>) {
        let mut queue = FifoQueue::new(memory, Fifo { drop });
        let (line, mut drops) = (Line::new(Rate::from_bps(1000)), Drops::new());
        for (number, &(conversation, octets)) in (0..).zip(packets) {
            queue.enqueue(&line, Queued { conversation, ..of_flow(number, 0, octets) }, &mut drops);
        }
        assert_eq!(queue.memory.counters().overlimit as usize, drops.len());
        let sent = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut Drops::new())).map(|sent| sent.packet.0);
        let sent = sent.collect();
        assert_eq!((queue.memory.packets(), queue.memory.octets(), queue.memory.buffer().used()), (0, 0, 0));
        (drops.iter().map(|packet| packet.0).collect(), sent)
    }

    #[test]
    fn a_full_queue_drops_at_the_tail_or_at_the_head() {
        let four = [(0, 500); 4];
        assert_eq!(outcome(limited(1500), DropFrom::Tail, &four), (vec![3], vec![0, 1, 2]));
        assert_eq!(outcome(limited(1500), DropFrom::Head, &four), (vec![0], vec![1, 2, 3]));
        // One large packet takes the place of two small ones.
        let large = [(0, 500), (0, 500), (0, 500), (0, 1000)];
        assert_eq!(outcome(limited(1500), DropFrom::Head, &large), (vec![0, 1], vec![2, 3]));
    }

    #[test]
    fn a_packet_that_never_fits_drops_no_other() {
        assert_eq!(outcome(limited(1500), DropFrom::Head, &[(0, 500), (0, 1501)]), (vec![1], vec![0]));
    }

    #[test]
    fn a_conversation_with_memory_of_its_own_drops_its_own_packets() {
        let packets = [(1, 500), (0, 500), (1, 500), (0, 500), (0, 500)];
        assert_eq!(outcome(limited_each(1000), DropFrom::Head, &packets), (vec![1], vec![0, 2, 3, 4]));
    }
}
