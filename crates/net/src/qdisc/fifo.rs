//! First in, first out, with the limits of the port's buffer: a packet that does not fit is dropped.

use std::collections::VecDeque;

use cellway_units::Time;

use super::{Discipline, Drops, QdiscCounters, Queued};
use crate::buffer::{Buffer, BufferSpec, Owner};
use crate::line::Line;

/// The packets that wait, in the order of their arrival. Disciplines that drop earlier have one of these, too.
#[derive(Clone, Debug)]
pub(crate) struct Fifo {
    packets: VecDeque<Queued>,
    buffer: Buffer,
    /// Those of a discipline that has this queue are here, too.
    pub(super) counters: QdiscCounters,
}

impl Fifo {
    /// A queue without packets; without a limit it takes all.
    pub(crate) fn new(limit: Option<BufferSpec>) -> Fifo {
        Fifo { packets: VecDeque::new(), buffer: Buffer::new(limit), counters: QdiscCounters::default() }
    }

    /// Returns true if the buffer has room for a packet.
    #[inline]
    pub(crate) fn fits(&mut self, packet: Queued) -> bool {
        self.buffer.fits_packet(owner(packet))
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Takes the packet at the head. It counts as sent only when a discipline says so, with [`sent`](Fifo::sent).
    #[inline(always)]
    pub(super) fn take(&mut self) -> Option<Queued> {
        let packet = self.packets.pop_front()?;
        self.buffer.release_packet(owner(packet));
        Some(packet)
    }

    /// Counts the wait of a packet that was taken and goes to the line.
    #[inline(always)]
    pub(super) fn sent(&mut self, now: Time, packet: Queued) {
        self.counters.sojourn += now - packet.since;
    }

    pub(crate) fn counters(&self) -> QdiscCounters {
        self.counters
    }

    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    pub(crate) fn buffer_mut(&mut self) -> &mut Buffer {
        &mut self.buffer
    }
}

impl Discipline for Fifo {
    #[inline(always)]
    fn enqueue(&mut self, _line: &Line, packet: Queued, drops: &mut Drops) {
        if self.buffer.admit_packet(owner(packet)) {
            self.packets.push_back(packet);
        } else {
            self.counters.overlimit += 1;
            drops.push(packet.packet);
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Time, _drops: &mut Drops) -> Option<Queued> {
        let packet = self.take()?;
        self.sent(now, packet);
        Some(packet)
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.packets.len() as u32
    }
}

/// A packet line has one queue, its slot 0.
#[inline]
fn owner(packet: Queued) -> Owner {
    Owner { slot: 0, conversation: packet.conversation, octets: packet.octets }
}
