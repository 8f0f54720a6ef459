//! The part of a cell port: channels with their cell queues, buffer, policers, frame discard and ABR.

use cellway_units::Time;

use super::Port;
use super::admit::owner_of_cell;
use crate::abr_port::AbrPort;
use crate::buffer::{Buffer, BufferSpec};
use crate::cell::Cell;
use crate::channel::{Class, NextHop};
use crate::counters::Level;
use crate::discard::FrameDiscard;
use crate::ids::ChannelId;
use crate::packet::Packets;
use crate::policer::Policer;
use crate::rm_cells::RmCells;
use crate::server::{CellServer, Served};
use cellway_spec::Discipline;

/// The queues of a cell line.
#[derive(Clone, Debug)]
pub(crate) struct CellPort {
    pub(crate) server: CellServer,
    pub(super) buffer: Buffer,
    /// Where each queue's channel stands within a frame, if the buffer cuts frames off.
    pub(super) frames: Vec<FrameDiscard>,
    /// Policers of the queues up to the last that has one.
    pub(super) policers: Vec<Option<Policer>>,
    /// The port's part in ABR control loops, if any runs over it.
    pub(crate) abr: Option<Box<AbrPort>>,
    /// The next hop of each queue's cells at the far end.
    pub(crate) channels: Vec<NextHop>,
}

impl CellPort {
    pub(super) fn new(discipline: Discipline, buffer: Option<BufferSpec>) -> CellPort {
        CellPort {
            server: CellServer::new(discipline),
            buffer: Buffer::new(buffer),
            frames: Vec::new(),
            policers: Vec::new(),
            abr: None,
            channels: Vec::new(),
        }
    }

    /// Takes the cell that the line sends next.
    #[inline(always)]
    pub(super) fn serve<B>(
        &mut self,
        now: Time,
        packets: &Packets<B>,
        rms: &mut RmCells,
        level: &mut Level,
    ) -> Option<Cell> {
        let Served { slot, mut cell, queued } = self.server.serve(now, rms)?;
        if let Some(abr) = &mut self.abr
            && abr.leaves(now, slot, cell, self.server.waiting_in_network(), rms)
        {
            cell.flags.mark();
        }
        if queued {
            level.change(now, self.server.waiting());
            if let Some(owner) = owner_of_cell(&self.buffer, slot, cell, packets) {
                self.buffer.release_cell(owner, cell.index);
            }
        }
        Some(cell)
    }
}

impl Port {
    /// Adds a queue for `channel`, whose cells go to `next` behind the link; returns its slot.
    pub(crate) fn add_channel(&mut self, channel: ChannelId, class: Class, next: NextHop) -> u32 {
        let cells = self.cells_mut().expect("channels run over ATM links only");
        if cells.channels.is_empty() {
            // The line of a host has one channel; a first push would allocate room for four.
            cells.channels.reserve_exact(1);
        }
        cells.channels.push(next);
        if cells.buffer.discards_frames() {
            cells.frames.push(FrameDiscard::default());
        }
        cells.server.add(channel, class)
    }

    /// Puts a policer before queue `slot`, in place of one that is there.
    pub(crate) fn police(&mut self, slot: u32, policer: Policer) {
        let Some(cells) = self.cells_mut() else { return };
        let slot = slot as usize;
        if slot >= cells.policers.len() {
            cells.policers.resize(slot + 1, None);
        }
        cells.policers[slot] = Some(policer);
    }

    /// Resets all state of the channel of the empty queue `slot`; the queue stays for the next channel over these
    /// ports.
    pub(crate) fn forget_channel(&mut self, slot: u32) {
        let Some(cells) = self.cells_mut() else { return };
        cells.server.forget(slot);
        if let Some(frame) = cells.frames.get_mut(slot as usize) {
            *frame = FrameDiscard::default();
        }
        if let Some(policer) = cells.policers.get_mut(slot as usize) {
            *policer = None;
            let used = cells.policers.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            cells.policers.truncate(used);
        }
        if let Some(abr) = &mut cells.abr {
            abr.forget(slot);
        }
    }
}

#[cfg(test)]
impl CellPort {
    pub(super) fn lengths(&self) -> Vec<usize> {
        let mut all = vec![self.frames.len(), self.policers.len(), self.channels.len()];
        all.extend(self.buffer.lengths());
        all.extend(self.server.lengths());
        all
    }
}
