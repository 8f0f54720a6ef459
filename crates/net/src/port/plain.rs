//! A line of cells that decides nothing by the cell: no policer, gate, class before others, discard of frames or loss. It runs
//! through all arrivals up to an instant in one loop, with the same steps as [`Port::push_cell`] and [`Port::serve`].

use cellway_units::{Span, Time};

use super::admit::owner_of_cell;
use super::{Kind, Port};
use crate::cell::{Cell, Flags};
use crate::line::{Line, Pulse};
use crate::link::Unit;
use crate::packet::Packets;

/// A cell that has left the line, with its arrival at the far end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    pub(crate) leaves: Time,
    pub(crate) arrives: Pulse,
    pub(crate) cell: Cell,
}

/// Neighbours in a frame that have left the line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeftRun {
    /// The departure of the last.
    pub(crate) leaves: Time,
    /// The arrivals of the last and of the first at the far end.
    pub(crate) last: Time,
    pub(crate) first: Pulse,
    /// The first.
    pub(crate) cell: Cell,
    pub(crate) cells: u16,
}

/// The cells of a train that a line has passed on, and the arrival of the next cell of the train at the port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassedRun {
    pub(crate) left: LeftRun,
    pub(crate) next: Pulse,
}

impl Port {
    /// Returns the line.
    #[inline]
    pub(crate) fn line(&self) -> &Line {
        &self.line
    }

    /// Returns true if the port decides nothing by the cell.
    pub(crate) fn is_plain(&self) -> bool {
        let Kind::Cells(cells) = &self.kind else { return false };
        let decides = !cells.policers.is_empty() || !cells.frames.is_empty() || cells.abr.is_some();
        !decides && self.faults.is_none() && !self.line.is_immediate() && cells.server.is_plain()
    }

    /// Passes a cell that comes at `now` to the line, which is free, if none waits. Returns false if it must be queued.
    #[inline(always)]
    pub(crate) fn pass_cell<B>(&mut self, now: Time, cell: Cell, packets: &Packets<B>) -> bool {
        let Kind::Cells(port) = &mut self.kind else { return false };
        if cell.flags != Flags::PLAIN || self.line.free_at() > now || !port.server.is_empty() {
            return false;
        }
        let Some(owner) = owner_of_cell(&port.buffer, cell.slot, cell, packets) else { return false };
        if !port.buffer.fits_cell(owner, cell.index) {
            return false;
        }
        port.server.pass(cell.slot);
        self.level.pass(now);
        true
    }

    /// Ends the service of the last cell, behind which none waited.
    pub(crate) fn end_service(&mut self) {
        if let Some(server) = self.server_mut() {
            server.end_service();
        }
    }

    /// Takes the next cell to send at `now`, when the line is free.
    #[inline(always)]
    pub(crate) fn next_cell<B>(&mut self, now: Time, packets: &Packets<B>) -> Option<Cell> {
        let Kind::Cells(port) = &mut self.kind else { return None };
        let cell = port.server.serve_plain()?;
        self.level.change(now, port.server.waiting());
        if let Some(owner) = owner_of_cell(&port.buffer, cell.slot, cell, packets) {
            port.buffer.release_cell(owner, cell.index);
        }
        Some(cell)
    }

    /// Sends a cell that was taken at `now`. Returns it with its arrival if it leaves the line before `until`; else it stays
    /// on the line.
    #[inline(always)]
    pub(crate) fn send_plain(&mut self, now: Time, cell: Cell, until: Time) -> Option<Left> {
        let leaves = self.line.send_cell(now);
        if leaves >= until {
            self.sending = Some(Unit::Cell(cell));
            self.began = now;
            return None;
        }
        self.counters.busy += leaves - now;
        self.counters.cells += 1;
        Some(Left { leaves, arrives: self.line.pulse_at(leaves + self.link.delay()), cell })
    }

    /// Sends as many as possible of the cells that wait, one behind the other from `now` on, when the line is free: neighbours in
    /// a frame, of the only queue that has cells, which are served before `until` and arrive before `horizon`.
    #[inline]
    pub(crate) fn send_run<B>(
        &mut self,
        now: Time,
        until: Time,
        horizon: Time,
        packets: &Packets<B>,
    ) -> Option<LeftRun> {
        let Kind::Cells(port) = &mut self.kind else { return None };
        let (cell, most) = port.server.only_run()?;
        let delay = self.link.delay();
        let (mut cells, mut at, mut first) = (0, now, None);
        while cells < most && at < until {
            let before = self.line.clone_state();
            let leaves = self.line.send_cell(at);
            if leaves + delay >= horizon {
                self.line.return_to(before);
                break;
            }
            self.level.fall(at);
            first.get_or_insert(self.line.pulse_at(leaves + delay));
            at = leaves;
            cells += 1;
        }
        let first = first?;
        self.level.fallen();
        port.server.serve_run(cell.slot, cells);
        if let Some(owner) = owner_of_cell(&port.buffer, cell.slot, cell, packets) {
            port.buffer.release_run(owner, cell.index, cells);
        }
        self.counters.busy += at - now;
        self.counters.cells += u64::from(cells);
        Some(LeftRun { leaves: at, last: at + delay, first, cell, cells })
    }

    /// Passes as many as possible of the cells of a train to the line as they come, when it is free and none waits: those that
    /// come before `until`, find the line free, arrive before `horizon` and keep the spacing at which they have come. `pace` is
    /// the line of that spacing.
    #[inline]
    pub(crate) fn pass_run<B>(
        &mut self,
        (cell, cells, came): (Cell, u16, Pulse),
        pace: &Line,
        [until, horizon]: [Time; 2],
        packets: &Packets<B>,
    ) -> Option<PassedRun> {
        let Kind::Cells(port) = &mut self.kind else { return None };
        if cell.flags != Flags::PLAIN || !port.server.is_empty() {
            return None;
        }
        let owner = owner_of_cell(&port.buffer, cell.slot, cell, packets)?;
        if !port.buffer.fits_each(owner, cell.index) {
            return None;
        }
        let delay = self.link.delay();
        let (mut next, mut passed, mut busy, mut last) = (came, 0, Span::ZERO, Time::ZERO);
        while passed < cells && next.at() < until && self.line.free_at() <= next.at() {
            let at = next.at();
            let before = self.line.clone_state();
            let leaves = self.line.send_cell(at);
            let keeps = passed == 0 || leaves - at == busy;
            if leaves + delay >= horizon || !keeps {
                self.line.return_to(before);
                break;
            }
            busy = leaves - at;
            last = at;
            passed += 1;
            next = pace.pulse_after(next);
        }
        if passed == 0 {
            return None;
        }
        let leaves = last + busy;
        port.server.pass(cell.slot);
        self.level.pass(last);
        self.counters.cells += u64::from(passed);
        self.counters.busy += busy.saturating_mul(u64::from(passed));
        let first = came.later(busy + delay);
        Some(PassedRun { left: LeftRun { leaves, last: leaves + delay, first, cell, cells: passed }, next })
    }

    /// Puts a cell on the link that arrives later than it is known what becomes of it.
    pub(crate) fn keep_on_link(&mut self, left: Left) {
        self.link.push_cell(left.arrives, left.cell, &self.line);
    }
}
