//! Cells whose arrivals follow from the first: neighbours in one frame, or in several frames by turns.

use cellway_units::Time;

use crate::cell::Cell;
use crate::pace::{Pace, Pulse};
use crate::turns::Turns;

/// Adjacent cells of one frame that come to a port at a pace: that of the line or the gate which spaced them, also behind faster
/// lines and lines of the same rate.
#[derive(Clone, Copy, Debug)]
pub(in crate::fabric) struct Train {
    /// The arrival of the first.
    pub(crate) first: Pulse,
    pub(crate) cell: Cell,
    /// The number of cells.
    pub(crate) cells: u16,
    pub(crate) pace: Pace,
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
    pub(crate) pace: Pace,
}

impl Train {
    /// Returns the arrival of the last cell of its frame, if that is one of them.
    pub(super) fn end(&self) -> Option<Time> {
        let is_whole = self.cell.index + self.cells == self.cell.count;
        is_whole.then(|| self.pace.after_many(self.first, u32::from(self.cells) - 1).at())
    }
}

impl Rotation {
    /// Returns the arrival of the first cell that is the last of its frame, if one is.
    pub(super) fn end(&self) -> Option<Time> {
        let turns = Turns::new(self.members.len(), self.turn, self.cells);
        let last = self.pace.after_many(self.first, self.cells - 1);
        let ends = |(place, member): (usize, &Cell)| {
            let of_it = turns.of(place);
            (of_it > 0 && member.index + of_it == member.count).then(|| turns.last_of(place, last, self.pace))
        };
        self.members.iter().enumerate().filter_map(ends).min()
    }

    /// Leaves the first `cells` cells out; the next comes at `next`.
    pub(super) fn leave_out(&mut self, cells: u32, next: Pulse) {
        let turns = Turns::new(self.members.len(), self.turn, cells);
        for (place, member) in self.members.iter_mut().enumerate() {
            *member = member.after(turns.of(place));
        }
        self.turn = turns.next();
        self.cells -= cells;
        self.first = next;
    }
}
