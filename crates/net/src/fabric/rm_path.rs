//! RM cells of ABR control loops between the ports: they are marked, end their loops, or go on like data.

use cellway_units::Time;

use super::Fabric;
use crate::abr::RmDirection;
use crate::cell::{Cell, Flags};
use crate::ids::PortId;

/// A part of a control loop that comes to a port. A cell names the queue of the port that it is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Control {
    /// An RM cell to put into the queue.
    Enters(Cell),
    /// A forward RM cell at its destination, which sends it back.
    Turns(Cell),
    /// A backward RM cell at its source.
    Returns(Cell),
    /// A data cell with or without a mark has reached the destination at the queue.
    Reports { slot: u32, is_marked: bool },
}

impl<B: Clone> Fabric<B> {
    /// Returns the port that marks an RM cell at the end of the link of port `index`, and the queue of its connection there:
    /// the other direction of the link, if the cell goes backward.
    pub(super) fn marker(&self, index: u32, cell: Cell) -> Option<(u32, u32)> {
        let (rm, connection) = self.rms.get(cell);
        let cells = self.ports[index as usize ^ 1].cells().filter(|_| rm.direction == RmDirection::Backward)?;
        cells.abr.as_ref()?;
        Some((index ^ 1, cells.server.slot(connection)?))
    }

    /// Marks an RM cell of the connection in queue `slot` of a port that passes it in the backward direction.
    pub(super) fn mark(&mut self, now: Time, (index, slot): (u32, u32), cell: Cell) {
        let cells = self.ports[index as usize].cells_mut();
        if let Some(abr) = cells.and_then(|cells| cells.abr.as_mut()) {
            abr.backward(now, slot, self.rms.get_mut(cell));
        }
    }

    /// Returns the port to which an RM cell goes from the end of the link of port `index`, and its part there.
    pub(super) fn beyond_link(&self, index: u32, cell: Cell) -> (PortId, Control) {
        let from = self.ports[index as usize].of_cells();
        let ends = from.abr.as_ref().map(|abr| abr.ends(cell.slot)).unwrap_or_default();
        let of_queue = |slot: u32| Cell { slot, ..cell };
        match (self.rms.get(cell).0.direction, ends.destination, ends.source) {
            (RmDirection::Forward, Some((port, slot)), _) => (port, Control::Turns(of_queue(slot))),
            (RmDirection::Backward, _, Some((port, slot))) => (port, Control::Returns(of_queue(slot))),
            _ => {
                let (port, slot) =
                    from.server.next_hop(cell.slot).forward().expect("a loop ends before its channel does");
                (port, Control::Enters(of_queue(slot)))
            }
        }
    }

    /// Returns the flags of a data cell from the end of the link of port `index` on, and the notification of the destination
    /// of a control loop there, if it gets one.
    #[inline(never)]
    pub(super) fn at_destination(&mut self, index: u32, cell: Cell) -> (Flags, Option<(PortId, Control)>) {
        let (mut flags, is_marked) = (cell.flags, cell.flags.is_marked());
        let cells = self.ports[index as usize].cells_mut();
        let ends = cells.and_then(|cells| cells.abr.as_mut()).map(|abr| abr.ends_mut(cell.slot));
        let reports = ends.and_then(|ends| ends.tells(is_marked)).map(|(port, slot)| {
            flags.unmark();
            (port, Control::Reports { slot, is_marked })
        });
        (flags, reports)
    }

    /// Takes a part of a control loop at a port. Returns true if the port may have something to send.
    pub(super) fn control_comes(&mut self, now: Time, port: PortId, control: Control) -> bool {
        let to = &mut self.ports[port.0 as usize];
        let Some(cells) = to.cells_mut() else { unreachable!("control loops run over cell lines only") };
        match control {
            Control::Enters(cell) => {
                if let Some(abr) = &mut cells.abr {
                    abr.rm_comes(now, cell.slot, &self.rms.get(cell).0);
                }
                let is_taken = to.push_cell(now, cell.slot, cell, &self.packets);
                if !is_taken {
                    self.rms.remove(cell);
                }
                return is_taken;
            }
            Control::Turns(cell) => {
                cells.server.turn_around(now, cell.slot, self.rms.get(cell).0);
                self.rms.remove(cell);
            }
            Control::Returns(cell) => {
                cells.server.gate_mut(cell.slot).receive(now, &self.rms.get(cell).0);
                cells.server.rate_changed(now, cell.slot);
                self.rms.remove(cell);
            }
            Control::Reports { slot, is_marked } => {
                if let Some(destination) = cells.server.gate_mut(slot).destination() {
                    destination.data(is_marked);
                }
                return false;
            }
        }
        true
    }
}
