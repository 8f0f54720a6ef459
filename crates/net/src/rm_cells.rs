//! The contents of the RM cells in the network: a slab whose slots are used again.

use crate::abr::RmCell;
use crate::cell::Cell;
use crate::ids::ChannelId;
use crate::packet::PacketRef;

/// The RM cells in flight, each with the channel whose rate it is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct RmCells {
    cells: Vec<(RmCell, ChannelId)>,
    free: Vec<u32>,
    /// The number of RM cells about each channel.
    about: Vec<u32>,
}

impl RmCells {
    /// Returns a cell of queue `slot` that carries `rm`, about the rate of `connection`.
    pub(crate) fn insert(&mut self, slot: u32, rm: RmCell, connection: ChannelId) -> Cell {
        let index = connection.0 as usize;
        if index >= self.about.len() {
            self.about.resize(index + 1, 0);
        }
        self.about[index] += 1;
        let place = match self.free.pop() {
            Some(place) => {
                self.cells[place as usize] = (rm, connection);
                place
            }
            None => {
                self.cells.push((rm, connection));
                self.cells.len() as u32 - 1
            }
        };
        Cell::rm(slot, PacketRef(place))
    }

    pub(crate) fn get(&self, cell: Cell) -> (RmCell, ChannelId) {
        debug_assert!(cell.flags.is_rm(), "not an RM cell");
        self.cells[cell.frame.0 as usize]
    }

    /// Returns the channel whose rate the RM cell at a place is about.
    pub(crate) fn about_of(&self, place: PacketRef) -> ChannelId {
        self.cells[place.0 as usize].1
    }

    pub(crate) fn get_mut(&mut self, cell: Cell) -> &mut RmCell {
        debug_assert!(cell.flags.is_rm(), "not an RM cell");
        &mut self.cells[cell.frame.0 as usize].0
    }

    pub(crate) fn remove(&mut self, cell: Cell) {
        debug_assert!(cell.flags.is_rm(), "not an RM cell");
        self.free.push(cell.frame.0);
        self.about[self.cells[cell.frame.0 as usize].1.0 as usize] -= 1;
    }

    /// Returns the number of RM cells in flight about the rate of `channel`.
    pub(crate) fn about(&self, channel: ChannelId) -> u32 {
        self.about.get(channel.0 as usize).copied().unwrap_or(0)
    }

    /// Returns the number of RM cells.
    pub(crate) fn len(&self) -> usize {
        self.cells.len() - self.free.len()
    }
}

#[cfg(test)]
impl RmCells {
    pub(crate) fn lengths(&self) -> Vec<usize> {
        vec![self.cells.len(), self.free.len(), self.about.len()]
    }
}
