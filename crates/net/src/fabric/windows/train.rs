//! Cells of one frame whose arrivals follow from the first.

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
