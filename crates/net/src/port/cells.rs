//! The part of a cell port: channels with their cell queues, buffer, policers, frame discard and ABR.

use std::sync::Arc;

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
    /// What decides by the cell, if anything does.
    pub(super) inspection: Option<Box<Inspection>>,
    /// The port's part in ABR control loops, if any runs over it.
    pub(crate) abr: Option<Box<AbrPort>>,
}

/// Decisions about single cells that come to a port.
#[derive(Clone, Debug, Default)]
pub(super) struct Inspection {
    /// The place of each queue's channel within a frame, if the buffer cuts frames off.
    pub(super) frames: Vec<FrameDiscard>,
    /// Policers of the queues up to the last that has one.
    pub(super) policers: Vec<Option<Policer>>,
}

impl Inspection {
    /// Returns the frame of a queue's cells, if the buffer cuts frames off.
    pub(super) fn frame(&mut self, cell: Cell, slot: u32) -> Option<&mut FrameDiscard> {
        self.frames.get_mut(slot as usize).filter(|_| !cell.flags.is_rm())
    }
}

impl CellPort {
    pub(super) fn new(discipline: Discipline, buffer: Option<Arc<BufferSpec>>) -> CellPort {
        CellPort { server: CellServer::new(discipline), buffer: Buffer::new(buffer), inspection: None, abr: None }
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
        if cells.buffer.discards_frames() {
            cells.inspection.get_or_insert_default().frames.push(FrameDiscard::default());
        }
        cells.server.add(channel, class, next)
    }

    /// Puts a policer before queue `slot`, in place of one that is there.
    pub(crate) fn police(&mut self, slot: u32, policer: Policer) {
        let Some(cells) = self.cells_mut() else { return };
        let (slot, policers) = (slot as usize, &mut cells.inspection.get_or_insert_default().policers);
        if slot >= policers.len() {
            policers.resize(slot + 1, None);
        }
        policers[slot] = Some(policer);
    }

    /// Resets all state of the channel of the empty queue `slot`; the queue stays for the next channel over these
    /// ports.
    pub(crate) fn forget_channel(&mut self, slot: u32) {
        let Some(cells) = self.cells_mut() else { return };
        cells.server.forget(slot);
        if let Some(inspection) = &mut cells.inspection {
            let Inspection { frames, policers } = &mut **inspection;
            if let Some(frame) = frames.get_mut(slot as usize) {
                *frame = FrameDiscard::default();
            }
            if let Some(policer) = policers.get_mut(slot as usize) {
                *policer = None;
                let used = policers.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
                policers.truncate(used);
            }
            if frames.is_empty() && policers.is_empty() {
                cells.inspection = None;
            }
        }
        if let Some(abr) = &mut cells.abr {
            abr.forget(slot);
        }
    }
}

#[cfg(test)]
impl CellPort {
    pub(super) fn lengths(&self) -> Vec<usize> {
        let inspected = |inspection: &Inspection| [inspection.frames.len(), inspection.policers.len()];
        let mut all = self.inspection.as_deref().map_or([0; 2], inspected).to_vec();
        all.extend(self.buffer.lengths());
        all.extend(self.server.lengths());
        all
    }
}
