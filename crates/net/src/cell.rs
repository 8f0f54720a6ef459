//! A cell in flight, and a queue of cells kept as runs.

use std::collections::VecDeque;

use cellway_units::{Bytes, aal5_cells};

use crate::packet::PacketRef;

/// Returns the cells of an AAL5 frame that carries `octets` of payload (encapsulation included): payload and 8-octet
/// trailer, padded to whole cells. ITU-T I.363.5.
pub const fn cells_for(octets: u32) -> u32 {
    aal5_cells(Bytes(octets as u64)).0 as u32
}

/// The flags of a cell's header besides its channel: a bit each for CLP, EFCI and RM. Eight values of an octet leave
/// others free, so that a unit on a link or a line, cell or packet or none, is no longer than a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Flags {
    Plain,
    Clp,
    Efci,
    EfciClp,
    Rm,
    RmClp,
    RmEfci,
    RmEfciClp,
}

const CLP: u8 = Flags::Clp as u8;
const EFCI: u8 = Flags::Efci as u8;
const RM: u8 = Flags::Rm as u8;

impl Flags {
    /// A data cell as it is cut.
    pub(crate) const PLAIN: Flags = Flags::Plain;

    fn from_bits(bits: u8) -> Flags {
        use Flags::*;
        static ALL: [Flags; 8] = [Plain, Clp, Efci, EfciClp, Rm, RmClp, RmEfci, RmEfciClp];
        ALL[usize::from(bits & 7)]
    }
    /// Returns true for a resource management cell (payload type 110): `frame` is its index among the RM cells, and it
    /// is no piece of a frame. ITU-T I.361, I.371.
    pub(crate) fn is_rm(self) -> bool {
        self as u8 & RM != 0
    }
    /// Returns true if the cell loss priority is 1: the first to be refused. ITU-T I.361.
    pub(crate) fn is_tagged(self) -> bool {
        self as u8 & CLP != 0
    }
    /// Returns true for explicit forward congestion indication. ITU-T I.361.
    pub(crate) fn is_marked(self) -> bool {
        self as u8 & EFCI != 0
    }
    pub(crate) fn tag(&mut self) {
        *self = Flags::from_bits(*self as u8 | CLP);
    }
    pub(crate) fn mark(&mut self) {
        *self = Flags::from_bits(*self as u8 | EFCI);
    }
    pub(crate) fn unmark(&mut self) {
        *self = Flags::from_bits(*self as u8 & !EFCI);
    }
}

/// One ATM cell in transfer: a few words, no bytes. The packet has the octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its queue at the port whose queue, line or link it is in: the number of its channel on that link, like a VCI.
    /// Each node overwrites it with the next one.
    pub(crate) slot: u32,
    pub(crate) frame: PacketRef,
    /// Position in the frame, from 0.
    pub(crate) index: u16,
    /// Cells in the frame.
    pub(crate) count: u16,
    pub(crate) flags: Flags,
}

impl Cell {
    /// Creates an RM cell.
    pub(crate) fn rm(slot: u32, place: PacketRef) -> Cell {
        Cell { slot, frame: place, index: 0, count: 1, flags: Flags::Rm }
    }
    /// Returns true if this is the last cell of its frame (the AAL5 end-of-frame mark in the header).
    pub fn is_last(self) -> bool {
        self.index + 1 == self.count
    }
    /// Returns the cell that is `cells` further in the frame, with the same flags.
    #[inline]
    pub(crate) fn after(self, cells: u16) -> Cell {
        Cell { index: self.index + cells, ..self }
    }
    /// Its position in the frame, from 0.
    pub fn index(self) -> u16 {
        self.index
    }
    /// Returns true if the other cell is a piece of the same frame.
    pub fn is_of_frame_of(self, other: Cell) -> bool {
        self.frame == other.frame
    }
    /// Returns true if its cell loss priority is 1: a policer has tagged it.
    pub fn is_tagged(self) -> bool {
        self.flags.is_tagged()
    }
}

/// Adjacent cells of one frame.
#[derive(Clone, Copy, Debug)]
struct Run {
    frame: PacketRef,
    next: u16,
    end: u16,
    count: u16,
    flags: Flags,
}

/// The cells of one channel that wait at one output line, first in first out.
///
/// Neighbouring cells of a frame are one entry, so that a frame costs the same to queue whether
/// it has two cells or two hundred.
#[derive(Clone, Debug, Default)]
pub(crate) struct CellQueue {
    runs: VecDeque<Run>,
    cells: u32,
}

/// A place in a queue: the cells before it have been seen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    runs: usize,
    /// Cells of the run after those.
    cells: u16,
}

impl CellQueue {
    /// Passes cells from a place on to `see`, up to `most` of them, as runs of a frame with the flags and the number of
    /// cells; ends early, with false, if that returns false.
    pub(crate) fn see(
        &self,
        from: &mut Seen,
        mut most: u32,
        see: &mut impl FnMut(PacketRef, Flags, u16) -> bool,
    ) -> bool {
        while most > 0
            && let Some(run) = self.runs.get(from.runs)
        {
            let left = run.end - run.next - from.cells;
            let cells = left.min(u16::try_from(most).unwrap_or(u16::MAX));
            if !see(run.frame, run.flags, cells) {
                return false;
            }
            most -= u32::from(cells);
            *from = if cells == left {
                Seen { runs: from.runs + 1, cells: 0 }
            } else {
                Seen { cells: from.cells + cells, ..*from }
            };
        }
        true
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cells == 0
    }

    /// Cells that wait.
    pub(crate) fn len(&self) -> u32 {
        self.cells
    }

    /// Returns the number of cells up to the first that is the last of its frame; `None` if none is.
    pub(crate) fn to_end(&self) -> Option<u32> {
        let mut cells = 0;
        for run in &self.runs {
            cells += u32::from(run.end - run.next);
            if run.end == run.count {
                return Some(cells);
            }
        }
        None
    }

    /// Queues the first `fitting` of the `count` cells of a frame, as one group.
    pub(crate) fn push_frame(&mut self, frame: PacketRef, fitting: u16, count: u16) {
        if fitting > 0 {
            self.add(Run { frame, next: 0, end: fitting, count, flags: Flags::PLAIN });
            self.cells += u32::from(fitting);
        }
    }

    #[inline]
    fn add(&mut self, run: Run) {
        if self.runs.capacity() == 0 {
            // Most queues never hold more frames; a first push would allocate room for four.
            self.runs.reserve_exact(2);
        }
        self.runs.push_back(run);
    }

    #[inline]
    pub(crate) fn push(&mut self, cell: Cell) {
        self.cells += 1;
        if let Some(run) = self.runs.back_mut()
            && run.frame == cell.frame
            && run.end == cell.index
            && run.flags == cell.flags
        {
            run.end += 1;
            return;
        }
        let Cell { frame, index, count, flags, .. } = cell;
        self.add(Run { frame, next: index, end: index + 1, count, flags });
    }

    /// Queues `cells` neighbours in a frame, of which `first` is the first.
    #[inline]
    pub(crate) fn push_run(&mut self, first: Cell, cells: u16) {
        if cells > 0 {
            self.push(first);
            self.cells += u32::from(cells) - 1;
            if let Some(run) = self.runs.back_mut() {
                run.end += cells - 1;
            }
        }
    }

    /// Returns the first cell and the number of cells behind it, itself included, that are its neighbours in the frame.
    #[inline]
    pub(crate) fn first_run(&self, slot: u32) -> Option<(Cell, u16)> {
        let run = self.runs.front()?;
        let cell = Cell { slot, frame: run.frame, index: run.next, count: run.count, flags: run.flags };
        Some((cell, run.end - run.next))
    }

    /// Takes the first `cells` cells, which are neighbours in a frame.
    #[inline]
    pub(crate) fn pop_run(&mut self, cells: u16) {
        let Some(run) = self.runs.front_mut().filter(|_| cells > 0) else { return };
        run.next += cells;
        if run.next == run.end {
            self.runs.pop_front();
        }
        self.cells -= u32::from(cells);
    }

    #[inline]
    pub(crate) fn pop(&mut self, slot: u32) -> Option<Cell> {
        let run = self.runs.front_mut()?;
        let cell = Cell { slot, frame: run.frame, index: run.next, count: run.count, flags: run.flags };
        run.next += 1;
        if run.next == run.end {
            self.runs.pop_front();
        }
        self.cells -= 1;
        Some(cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check values: AAL5 efficiency table, cells = ceil((IP + encapsulation + 8) / 48).
    #[test]
    fn frames_take_the_cells_of_the_aal5_arithmetic() {
        for (octets, cells) in
            [(40, 1), (41, 2), (48, 2), (41 + 8, 2), (512 + 8, 11), (552 + 8, 12), (1500 + 8, 32), (9180 + 8, 192)]
        {
            assert_eq!(cells_for(octets), cells, "{octets} octets");
        }
    }
}
