//! Steps of a line of cells that runs through all arrivals up to an instant in one loop: what [`Port::push_cell`] and
//! [`Port::serve`] do, for several cells at once where no decision is made by the cell.

use cellway_units::{Span, Time};

use super::admit::owner_of_cell;
use super::{Kind, Port};
use crate::cell::{Cell, Flags};
use crate::line::Line;
use crate::link::Unit;
use crate::pace::{Pace, Pulse};
use crate::packet::Packets;
use crate::rm_cells::RmCells;
use crate::turns::Turns;

/// What a line of cells decides by the cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decides {
    /// At its arrival: a policer judges it, or the length of the queue is recorded.
    pub(crate) arrivals: bool,
    /// At its service: the link may lose it, or the length of the queue is recorded.
    pub(crate) services: bool,
    /// At its service: a gate may hold it back.
    pub(crate) gates: bool,
}

impl Decides {
    /// Returns true if it decides anything by the cell.
    #[inline]
    pub(crate) fn any(self) -> bool {
        self.arrivals || self.services || self.gates
    }
}

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

/// Cells that have left the line by turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeftRounds {
    /// The departure of the last.
    pub(crate) leaves: Time,
    /// The arrivals of the first and of the last at the far end.
    pub(crate) first: Pulse,
    pub(crate) last: Pulse,
    pub(crate) cells: u32,
}

/// The cells of a rotation that a line has passed on, and the arrival of the next cell of the rotation at the port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassedRounds {
    /// The departure of the last.
    pub(crate) leaves: Time,
    /// The arrival of the first at the far end.
    pub(crate) first: Pulse,
    pub(crate) cells: u32,
    pub(crate) next: Pulse,
}

impl Port {
    /// Returns the line.
    #[inline]
    pub(crate) fn line(&self) -> &Line {
        &self.line
    }

    /// Returns what a line of cells decides by the cell; `None` for a line of packets, and for one whose cells take less than a
    /// picosecond.
    pub(crate) fn decides(&self) -> Option<Decides> {
        let Kind::Cells(cells) = &self.kind else { return None };
        let is_watched = self.level.is_watched();
        let is_policed = cells.inspection.as_ref().is_some_and(|inspection| !inspection.policers.is_empty());
        let arrivals = is_watched || is_policed;
        let services = is_watched || self.faults.is_some();
        let gates = cells.server.has_gates();
        (!self.line.is_immediate()).then_some(Decides { arrivals, services, gates })
    }

    /// Passes a cell that comes at `now` to the line, which is free, if none waits. Returns false if it must be queued.
    #[inline(always)]
    pub(crate) fn pass_cell<B>(&mut self, now: Time, cell: Cell, packets: &Packets<B>) -> bool {
        let Kind::Cells(port) = &mut self.kind else { return false };
        if cell.flags != Flags::PLAIN || self.line.free_at() > now || !port.server.is_empty() {
            return false;
        }
        if !port.may_pass(cell, packets) {
            return false;
        }
        port.passed(cell, 1);
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

    /// Takes the next cell to send at `now`, when the line is free; `None` if gates hold all that wait.
    #[inline(always)]
    pub(crate) fn next_cell<B>(&mut self, now: Time, packets: &Packets<B>, rms: &mut RmCells) -> Option<Cell> {
        let Kind::Cells(port) = &mut self.kind else { return None };
        port.serve(now, packets, rms, &mut self.level)
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
        let before = Time::ZERO + horizon.since(Time::ZERO + delay);
        let cells = self.line.can_send(now, most.into(), [until, before]);
        if cells == 0 {
            return None;
        }
        let (pace, start) = (self.line.pace(), self.line.starts(now));
        let first = pace.after(start).later(delay);
        let end = self.line.send_cells(now, cells);
        self.level.fall([start, pace.before(end)], pace, cells);
        let (at, cells) = (end.at(), cells as u16);
        port.server.serve_run(cell.slot, cells);
        if let Some(owner) = owner_of_cell(&port.buffer, cell.slot, cell, packets) {
            port.buffer.release_run(owner, cell.index, cells);
        }
        self.counters.busy += at - now;
        self.counters.cells += u64::from(cells);
        Some(LeftRun { leaves: at, last: at + delay, first, cell, cells })
    }

    /// Sends as many as possible of the cells that a shaper or an ABR source holds back, each as it is released, by a line that
    /// is free at `ready`: neighbours in a frame, of the only queue that has cells, which are served before `until`, arrive before
    /// `horizon` and keep their spacing. Returns them with that.
    pub(crate) fn send_shaped<B>(
        &mut self,
        ready: Time,
        until: Time,
        horizon: Time,
        packets: &Packets<B>,
    ) -> Option<(LeftRun, Pace)> {
        let Kind::Cells(port) = &mut self.kind else { return None };
        let (slot, served) = port.server.only_shaped(ready)?;
        let (gcra, (cell, most), before) = port.server.shaped_run(slot)?;
        if port.abr.as_ref().is_some_and(|abr| cell.flags != Flags::PLAIN || !abr.sends_plain(slot)) {
            return None;
        }
        let until = until.min(before);
        if served >= until {
            return None;
        }
        let began = gcra.pulse(served);
        let (own, delay, pace) = (self.line.pace().span(), self.link.delay(), gcra.pace());
        let (mut next, mut cells, mut busy, mut leaves) = (began, 0, Span::ZERO, ready);
        let mut first = next.later(own + delay);
        loop {
            let at = next.at();
            let before = self.line.clone_state();
            let left = self.line.send_cell(at);
            let keeps = left == at + own;
            if left + delay >= horizon || (cells > 0 && !keeps) {
                self.line.return_to(before);
                break;
            }
            gcra.take(at);
            self.level.fall([next, next], pace, 1);
            cells += 1;
            busy += left - at;
            leaves = left;
            next = pace.after(next);
            let follows = gcra.earliest(left);
            if !keeps {
                first = self.line.pulse_at(left + delay);
            }
            if !keeps || cells == most || follows != next.at() || follows == left || follows >= until {
                break;
            }
            // From here on each cell is released as the one before, and the line is idle between any two.
            if pace.span() > own + Span::from_ps(1) {
                let before = until.min(Time::ZERO + horizon.since(Time::ZERO + own + delay));
                let more = pace.count_before(next, u32::from(most - cells), before);
                if more > 0 {
                    let last = pace.after_many(next, more - 1);
                    leaves = self.line.send_cell(last.at());
                    gcra.take_at_pace(more);
                    self.level.fall([next, last], pace, more);
                    cells += more as u16;
                    busy += own.saturating_mul(u64::from(more));
                }
                break;
            }
        }
        if cells == 0 {
            return None;
        }
        port.server.serve_shaped(slot, cells);
        if let Some(abr) = &mut port.abr {
            abr.sent(began, cells, pace, slot);
        }
        if let Some(owner) = owner_of_cell(&port.buffer, slot, cell, packets) {
            port.buffer.release_run(owner, cell.index, cells);
        }
        self.counters.busy += busy;
        self.counters.cells += u64::from(cells);
        Some((LeftRun { leaves, last: leaves + delay, first, cell, cells }, pace))
    }

    /// Sends as many as possible of the cells that wait in several queues, by turns from `now` on, when the line is free:
    /// neighbours in their frames, which are served before `until` and arrive before `horizon`, two at least. Sets `members`
    /// to the first cells.
    pub(crate) fn send_rounds<B>(
        &mut self,
        now: Time,
        [until, horizon]: [Time; 2],
        packets: &Packets<B>,
        members: &mut Vec<Cell>,
    ) -> Option<LeftRounds> {
        let Kind::Cells(port) = &mut self.kind else { return None };
        let delay = self.link.delay();
        let before = Time::ZERO + horizon.since(Time::ZERO + delay);
        let possible = self.line.can_send(now, u32::MAX, [until, before]);
        if possible < 2 {
            return None;
        }
        members.clear();
        let rounds = port.server.round(members)?;
        let most = u32::from(rounds) * members.len() as u32;
        let cells = possible.min(most);
        let (pace, start) = (self.line.pace(), self.line.starts(now));
        let first = pace.after(start).later(delay);
        let end = self.line.send_cells(now, cells);
        self.level.fall([start, pace.before(end)], pace, cells);
        let turns = Turns::new(members.len(), 0, cells);
        port.server.serve_rounds(members, turns);
        if port.buffer.is_common() {
            port.buffer.release_common(cells);
        } else {
            for (place, &member) in members.iter().enumerate() {
                if let Some(owner) = owner_of_cell(&port.buffer, member.slot, member, packets) {
                    port.buffer.release_run(owner, member.index, turns.of(place));
                }
            }
        }
        let at = end.at();
        self.counters.busy += at - now;
        self.counters.cells += u64::from(cells);
        Some(LeftRounds { leaves: at, first, last: end.later(delay), cells })
    }

    /// Passes as many as possible of the cells of a rotation on, as [`Port::pass_run`] does with those of a train.
    pub(crate) fn pass_rounds<B>(
        &mut self,
        (members, turn, cells, came): (&[Cell], usize, u32, Pulse),
        pace: Pace,
        [until, horizon]: [Time; 2],
        packets: &Packets<B>,
    ) -> Option<PassedRounds> {
        let Kind::Cells(port) = &mut self.kind else { return None };
        if !port.server.is_empty() {
            return None;
        }
        // The packets of members whose last turn is over may have left the network.
        let are_alike = port.buffer.is_common() && port.inspection.is_none();
        let asked = if are_alike { 1 } else { members.len().min(cells as usize) };
        for &member in members.iter().cycle().skip(turn).take(asked) {
            if !port.may_pass(member, packets) {
                return None;
            }
        }
        let passed = self.pass_pulses(came, cells, pace, [until, horizon])?;
        let turns = Turns::new(members.len(), turn, passed.cells);
        if let Kind::Cells(port) = &mut self.kind {
            for (place, &member) in members.iter().enumerate() {
                port.passed(member, turns.of(place));
            }
            port.server.pass(members[turns.last()].slot);
        }
        Some(passed)
    }

    /// Passes as many as possible of the cells of a train to the line as they come, when it is free and none waits: those that
    /// come before `until`, find the line free, arrive before `horizon` and keep their spacing.
    #[inline]
    pub(crate) fn pass_run<B>(
        &mut self,
        (cell, cells, came): (Cell, u16, Pulse),
        pace: Pace,
        [until, horizon]: [Time; 2],
        packets: &Packets<B>,
    ) -> Option<PassedRun> {
        let Kind::Cells(port) = &mut self.kind else { return None };
        if cell.flags != Flags::PLAIN || !port.server.is_empty() {
            return None;
        }
        if !port.may_pass(cell, packets) {
            return None;
        }
        let bounds = [until, horizon];
        let passed = self.pass_pulses(came, u32::from(cells), pace, bounds)?;
        let PassedRounds { leaves, first, cells, next, .. } = passed;
        let Kind::Cells(port) = &mut self.kind else { return None };
        port.passed(cell, cells as u16);
        port.server.pass(cell.slot);
        let last = leaves + self.link.delay();
        Some(PassedRun { left: LeftRun { leaves, last, first, cell, cells: cells as u16 }, next })
    }

    /// Passes as many of `cells` cells as possible to the line as they come, from `came` on at a pace: those that come before the
    /// first of `bounds`, find the line free, arrive before the second of them, and keep their spacing.
    #[inline(always)]
    fn pass_pulses(&mut self, came: Pulse, cells: u32, pace: Pace, bounds: [Time; 2]) -> Option<PassedRounds> {
        let own = self.line.pace().span();
        if pace.span() > own + Span::from_ps(1) && self.line.free_at() < came.at() {
            return self.pass_apart(came, cells, pace, bounds);
        }
        self.pass_close(came, cells, pace, bounds)
    }

    /// As [`Port::pass_pulses`], if the line is idle between any two: each leaves one cell time after it came.
    #[inline]
    fn pass_apart(&mut self, came: Pulse, cells: u32, pace: Pace, [until, horizon]: [Time; 2]) -> Option<PassedRounds> {
        let (own, delay) = (self.line.pace().span(), self.link.delay());
        let before = until.min(Time::ZERO + horizon.since(Time::ZERO + own + delay));
        let done = pace.count_before(came, cells, before);
        let last = pace.after_many(came, done.checked_sub(1)?);
        let leaves = self.line.send_cell(last.at());
        self.passed(last.at(), done, own.saturating_mul(u64::from(done)));
        Some(PassedRounds { leaves, first: came.later(own + delay), cells: done, next: pace.after(last) })
    }

    /// As [`Port::pass_pulses`], if each leaves as the next would come: so do nearly all behind a line of the same rate. A cell
    /// that does not is passed alone.
    #[inline]
    fn pass_close(&mut self, came: Pulse, cells: u32, pace: Pace, [until, horizon]: [Time; 2]) -> Option<PassedRounds> {
        let at = came.at();
        if self.line.free_at() > at || at >= until {
            return None;
        }
        let delay = self.link.delay();
        let before = Time::ZERO + horizon.since(Time::ZERO + delay);
        let next = pace.after(came);
        if pace.rate() == self.line.rate() {
            let most = self.line.in_step(came).min(cells.into()) as u32;
            let done = pace.count_before(next, pace.count_before(came, most, until), before);
            if done > 0 {
                let first = next.later(delay);
                let next = self.line.send_in_step(came, done);
                self.passed(pace.before(next).at(), done, next.at() - at);
                return Some(PassedRounds { leaves: next.at(), first, cells: done, next });
            }
        }
        let state = self.line.clone_state();
        let leaves = self.line.send_cell(at);
        if leaves >= before {
            self.line.return_to(state);
            return None;
        }
        self.passed(at, 1, leaves - at);
        // One cell has no spacing; the carry of the line would be none of the pace of the others.
        Some(PassedRounds { leaves, first: Pulse { at: leaves + delay, carry: 0 }, cells: 1, next })
    }

    /// Counts cells that have passed the empty queue, the last at `last`, and kept the line busy for `busy`.
    #[inline]
    fn passed(&mut self, last: Time, cells: u32, busy: Span) {
        self.level.pass(last);
        self.counters.cells += u64::from(cells);
        self.counters.busy += busy;
    }

    /// Puts a cell on the link that arrives at `arrives`, behind all others.
    pub(crate) fn put_cell_on_link(&mut self, arrives: Pulse, cell: Cell) {
        self.link.push_cell(arrives, cell, &self.line);
    }
}
