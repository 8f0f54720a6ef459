//! Cells that come to a port: policers, buffer, queue.

use cellway_units::Time;

use super::{CellPort, Kind, Port};
use crate::buffer::{Buffer, Owner};
use crate::cell::{Cell, Flags};
use crate::counters::{Level, UnitCounters};
use crate::discard::{Fate, FrameDiscard};
use crate::packet::{PacketRef, Packets};
use crate::policer::Verdict;

impl Port {
    /// Queues the cells of a frame as a group. Returns how many were lost.
    pub(crate) fn push_frame<B>(
        &mut self,
        now: Time,
        slot: u32,
        frame: PacketRef,
        count: u16,
        packets: &Packets<B>,
    ) -> u16 {
        let Kind::Cells(port) = &mut self.kind else { unreachable!("frames are cut for cell lines only") };
        let owner = owner_of_packet(slot, frame, packets);
        if port.buffer.refuses_new_frames(owner) {
            let counters = self.counters.rare();
            counters.epd_frames += 1;
            counters.dropped_frames += 1;
            return count;
        }
        let policers = port.inspection.as_ref().map(|inspection| &inspection.policers);
        if policers.and_then(|policers| policers.get(slot as usize)).is_some_and(Option::is_some) {
            return self.push_policed_frame(now, owner, frame, count, packets);
        }
        let fitting = port.buffer.admit_frame(owner, count);
        let lost = count - fitting;
        if fitting == 0 {
            self.counters.rare().dropped_frames += 1;
        } else if lost > 0 {
            self.counters.rare().dropped_cells += u64::from(lost);
        }
        port.server.push_frame(now, slot, frame, fitting, count);
        self.level.change(now, port.server.waiting());
        lost
    }

    /// The cells of a frame pass a policer one by one. A frame that the buffer would refuse whole does not
    /// come to it.
    fn push_policed_frame<B>(
        &mut self,
        now: Time,
        owner: Owner,
        frame: PacketRef,
        count: u16,
        packets: &Packets<B>,
    ) -> u16 {
        if self.cells_mut().is_some_and(|port| port.buffer.refuses_frame(owner, count)) {
            self.counters.rare().dropped_frames += 1;
            return count;
        }
        let lost = (0..count).filter(|&index| {
            let cell = Cell { slot: owner.slot, frame, index, count, flags: Flags::PLAIN };
            !self.push_cell(now, owner.slot, cell, packets)
        });
        lost.count() as u16
    }

    /// Queues one cell; returns whether it was taken.
    #[inline(always)]
    pub(crate) fn push_cell<B>(&mut self, now: Time, slot: u32, cell: Cell, packets: &Packets<B>) -> bool {
        let Kind::Cells(port) = &mut self.kind else { unreachable!("cells travel over cell lines only") };
        port.push_cell(now, slot, cell, packets, &mut self.counters, &mut self.level)
    }
}

impl CellPort {
    /// A call of its own for each cell would show.
    #[inline(always)]
    fn push_cell<B>(
        &mut self,
        now: Time,
        slot: u32,
        mut cell: Cell,
        packets: &Packets<B>,
        counters: &mut UnitCounters,
        level: &mut Level,
    ) -> bool {
        if self.inspection.is_none() && cell.flags == Flags::PLAIN {
            if let Some(abr) = &mut self.abr {
                abr.data_comes(now, slot);
            }
            let Some(owner) = owner_of_cell(&self.buffer, slot, cell, packets) else { return false };
            if !self.buffer.admit_cell(owner, cell.index) {
                counters.rare().dropped_cells += 1;
                return false;
            }
        } else {
            let Some(flags) = self.inspect(now, slot, cell, packets, counters) else { return false };
            cell.flags = flags;
        }
        self.server.push(now, slot, cell);
        level.change(now, self.server.waiting());
        true
    }

    /// All that a port can do with a cell before it is queued; returns its flags from there on, unless it is
    /// lost. Out of line: most ports do nothing.
    #[inline(never)]
    fn inspect<B>(
        &mut self,
        now: Time,
        slot: u32,
        mut cell: Cell,
        packets: &Packets<B>,
        counters: &mut UnitCounters,
    ) -> Option<Flags> {
        if let Some(inspection) = &mut self.inspection
            && let Some(Some(policer)) = inspection.policers.get_mut(slot as usize)
        {
            match policer.judge(now) {
                Verdict::Pass => {}
                Verdict::Tag => {
                    counters.rare().policed_tagged += u64::from(!cell.flags.is_tagged());
                    cell.flags.tag();
                }
                Verdict::Discard => {
                    counters.rare().policed_discarded += 1;
                    if let Some(frame) = inspection.frame(cell, slot) {
                        frame.cell(cell, || false);
                        frame.lost();
                    }
                    return None;
                }
            }
        }
        if let Some(abr) = self.abr.as_mut().filter(|_| !cell.flags.is_rm()) {
            abr.data_comes(now, slot);
        }
        let admitted = self.admit_cell(slot, cell, packets, counters);
        if !admitted {
            counters.rare().dropped_cells += 1;
        }
        admitted.then_some(cell.flags)
    }

    /// Returns true if a cell that comes to the empty queues, and those behind it in its frame one by one, are taken.
    #[inline(always)]
    pub(super) fn may_pass<B>(&mut self, cell: Cell, packets: &Packets<B>) -> bool {
        let Some(owner) = owner_of_cell(&self.buffer, cell.slot, cell, packets) else { return false };
        self.takes_frame(owner) && self.buffer.fits_cell(owner, cell.index)
    }

    /// Returns true if no rule about frames drops the next cell of a queue's channel, nor those behind it in its frame while
    /// none is lost.
    #[inline(always)]
    pub(super) fn takes_frame(&mut self, owner: Owner) -> bool {
        let frames = self.inspection.as_ref().map(|inspection| &inspection.frames);
        match frames.and_then(|frames| frames.get(owner.slot as usize)) {
            None | Some(FrameDiscard::Passing) => true,
            Some(FrameDiscard::Between) => !self.buffer.refuses_new_frames(owner),
            Some(FrameDiscard::Refused | FrameDiscard::Damaged) => false,
        }
    }

    /// Records `cells` cells of a frame that have been taken.
    #[inline(always)]
    pub(super) fn passed(&mut self, first: Cell, cells: u16) {
        if cells > 0
            && let Some(inspection) = &mut self.inspection
            && let Some(frame) = inspection.frame(first, first.slot)
        {
            let is_last = first.after(cells - 1).is_last();
            *frame = if is_last { FrameDiscard::Between } else { FrameDiscard::Passing };
        }
    }

    /// Whether the buffer takes a cell; it is charged.
    fn admit_cell<B>(&mut self, slot: u32, cell: Cell, packets: &Packets<B>, counters: &mut UnitCounters) -> bool {
        let Some(owner) = owner_of_cell(&self.buffer, slot, cell, packets) else { return true };
        let mut frame = self.inspection.as_mut().and_then(|inspection| inspection.frame(cell, slot));
        if let Some(frame) = &mut frame
            && let Fate::Drop { new_frame } = frame.cell(cell, || self.buffer.refuses_new_frames(owner))
        {
            counters.rare().epd_frames += u64::from(new_frame);
            return false;
        }
        if cell.flags.is_tagged() && self.buffer.refuses_tagged(owner) {
            counters.rare().clp_discarded += 1;
        } else if self.buffer.admit_cell(owner, cell.index) {
            return true;
        }
        if let Some(frame) = frame {
            frame.lost();
        }
        false
    }
}

/// The owner of a cell, its packet looked up only where the buffer asks for it; `None` for an RM cell, of no
/// conversation, where conversations have memory of their own.
#[inline]
pub(super) fn owner_of_cell<B>(buffer: &Buffer, slot: u32, cell: Cell, packets: &Packets<B>) -> Option<Owner> {
    if !buffer.asks_for_packet() {
        Some(Owner { slot, conversation: 0, octets: 0 })
    } else if !cell.flags.is_rm() {
        Some(owner_of_packet(slot, cell.frame, packets))
    } else {
        (!buffer.is_by_conversation()).then_some(Owner { slot, conversation: 0, octets: 0 })
    }
}

fn owner_of_packet<B>(slot: u32, frame: PacketRef, packets: &Packets<B>) -> Owner {
    let packet = packets.get(frame);
    Owner { slot, conversation: packet.conversation, octets: packet.octets }
}
