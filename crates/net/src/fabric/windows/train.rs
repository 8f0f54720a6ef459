//! Cells whose arrivals follow from the first: neighbours in one frame, or in several frames by turns.

use cellway_units::Time;

use crate::cell::Cell;
use crate::line::{Line, Pulse};

/// Adjacent cells of one frame that come to a port at the pace of a line: that which cut them, also behind others of its rate.
#[derive(Clone, Copy, Debug)]
pub(in crate::fabric) struct Train {
    /// The arrival of the first.
    pub(crate) first: Pulse,
    pub(crate) cell: Cell,
    /// The number of cells.
    pub(crate) cells: u16,
    /// The port of the line.
    pub(crate) pace: u32,
}

impl Train {
    /// Returns the arrival of the first.
    #[inline]
    pub(super) fn at(&self) -> Time {
        self.first.at()
    }

    /// Leaves the first out, which is not the only one.
    #[inline]
    pub(super) fn advance(&mut self, pace: &Line) {
        self.first = pace.pulse_after(self.first);
        self.cell = self.cell.after(1);
        self.cells -= 1;
    }
}

/// Neighbours in several frames that come to a port by turns, at the pace of a line: those of a round robin.
#[derive(Clone, Debug)]
pub(in crate::fabric) struct Rotation {
    /// The arrival of the first.
    pub(crate) first: Pulse,
    /// The next cell of each frame, in the order of their turns.
    pub(crate) members: Vec<Cell>,
    /// The member whose turn it is.
    pub(crate) turn: usize,
    /// The number of cells, of all members.
    pub(crate) cells: u32,
    /// The port of the line.
    pub(crate) pace: u32,
}

impl Rotation {
    /// Takes the first cell, at the pace of its line.
    #[inline]
    pub(super) fn take(&mut self, pace: &Line) -> Cell {
        let cell = self.members[self.turn];
        self.leave_out(1, pace.pulse_after(self.first));
        cell
    }

    /// Leaves the first `cells` cells out; the next comes at `next`.
    pub(super) fn leave_out(&mut self, cells: u32, next: Pulse) {
        let among = self.members.len();
        for behind in 0..cells.min(among as u32) as usize {
            let member = (self.turn + behind) % among;
            let turns = (cells as usize - behind).div_ceil(among);
            self.members[member] = self.members[member].after(turns as u16);
        }
        self.turn = (self.turn + cells as usize) % among;
        self.cells -= cells;
        self.first = next;
    }
}
