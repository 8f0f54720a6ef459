//! RM cells of ABR control loops between the lines: from the end of a link to the port that marks them, to the ends of their
//! loops, or on like data.

use cellway_units::Time;

use super::feedback::marker;
use super::{Arriving, Moment, Windows};
use crate::abr::RmDirection;
use crate::cell::{Cell, Flags};
use crate::fabric::Fabric;
use crate::ids::ChannelId;
use crate::place::Place;

/// A part of a control loop that comes to a port. A cell names the queue of the port that it is about.
#[derive(Clone, Copy, Debug)]
pub(in crate::fabric) enum Control {
    /// A backward RM cell that has come over the other direction of the port's link, and names its queue there: the port marks
    /// it and passes it on.
    Passes(Cell),
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
    /// Gives an RM cell that has come to the end of a link to the port that marks it, or on.
    pub(super) fn rm_leaves_link(&mut self, windows: &mut Windows, at: Time, index: u32, cell: Cell) {
        let (rm, connection) = self.rms.get(cell);
        let marker = marker(index);
        if rm.direction == RmDirection::Backward && self.connection_at(marker, connection).is_some() {
            let place = Place::new(Moment::first(at), index);
            if let Some(feedback) = &mut windows.feedback {
                feedback.to_mark(marker, place);
            }
            return windows.give(marker, place.moment(), index, Arriving::Control(Control::Passes(cell)));
        }
        let (to, control) = self.beyond_link(index, cell);
        windows.give(to, Moment::first(at), index, Arriving::Control(control));
    }

    /// Returns the queue of a connection at a port that marks its RM cells.
    fn connection_at(&self, port: u32, connection: ChannelId) -> Option<u32> {
        let cells = self.ports[port as usize].cells()?;
        cells.abr.as_ref()?;
        cells.server.slot(connection)
    }

    /// Returns the port to which an RM cell goes from the end of the link of port `index`, and its part there.
    fn beyond_link(&self, index: u32, cell: Cell) -> (u32, Control) {
        let from = self.ports[index as usize].of_cells();
        let ends = from.abr.as_ref().map(|abr| abr.ends(cell.slot)).unwrap_or_default();
        let of_queue = |slot: u32| Cell { slot, ..cell };
        match (self.rms.get(cell).0.direction, ends.destination, ends.source) {
            (RmDirection::Forward, Some((port, slot)), _) => (port.0, Control::Turns(of_queue(slot))),
            (RmDirection::Backward, _, Some((port, slot))) => (port.0, Control::Returns(of_queue(slot))),
            _ => {
                let (port, slot) =
                    from.server.next_hop(cell.slot).forward().expect("a loop ends before its channel does");
                (port.0, Control::Enters(of_queue(slot)))
            }
        }
    }

    /// Notifies the destination of a control loop at the end of a link of a data cell; returns its flags from there on.
    pub(super) fn reports(&mut self, windows: &mut Windows, moment: Moment, index: u32, cell: Cell) -> Flags {
        let mut flags = cell.flags;
        let cells = self.ports[index as usize].cells_mut();
        let Some(abr) = cells.and_then(|cells| cells.abr.as_mut()) else { return flags };
        let is_marked = flags.is_marked();
        if let Some((port, slot)) = abr.ends_mut(cell.slot).tells(is_marked) {
            windows.give(port.0, moment, index, Arriving::Control(Control::Reports { slot, is_marked }));
            flags.unmark();
        }
        flags
    }

    /// Takes a part of a control loop at the port that it has come to.
    #[inline(never)]
    pub(super) fn control_comes(&mut self, windows: &mut Windows, place: Place, index: u32, control: Control) {
        let now = place.at;
        let port = &mut self.ports[index as usize];
        let Some(cells) = port.cells_mut() else { unreachable!("control loops run over cell lines only") };
        match control {
            Control::Passes(cell) => {
                let connection = self.rms.get(cell).1;
                if let (Some(slot), Some(abr)) = (cells.server.slot(connection), &mut cells.abr) {
                    abr.backward(now, slot, self.rms.get_mut(cell));
                }
                if let Some(feedback) = &mut windows.feedback {
                    feedback.marked(index);
                }
                match self.beyond_link(place.from(), cell) {
                    (to, control) if to == index => self.control_comes(windows, place, index, control),
                    (to, control) => windows.give(to, place.moment(), place.from(), Arriving::Control(control)),
                }
            }
            Control::Enters(cell) => {
                if let Some(abr) = &mut cells.abr {
                    abr.rm_comes(now, cell.slot, &self.rms.get(cell).0);
                }
                if !port.push_cell(now, cell.slot, cell, &self.packets) {
                    self.rms.remove(cell);
                }
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
            }
        }
    }
}
