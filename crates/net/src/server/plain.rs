//! The service of several cells at once, of queues without gates.

use cellway_spec::Discipline;
use cellway_units::{Span, Time};

use super::{CellServer, Slot};
use crate::cell::{Cell, Flags};
use crate::turns::Turns;

impl CellServer {
    /// Returns true if a queue has a gate.
    pub(crate) fn has_gates(&self) -> bool {
        !self.held.is_empty() || self.slots.iter().any(|slot| slot.gated)
    }

    /// Returns true if no cell waits.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Returns an instant before which no frame of those that wait has left as a whole, by a line that is free at `free_at` and
    /// takes at least `cell` for one; `None` if none of them can. With many queues it is that of one cell.
    pub(crate) fn next_end(&self, free_at: Time, cell: Span) -> Option<Time> {
        /// As many are looked through.
        const FEW: usize = 16;
        if self.waiting == 0 {
            return None;
        }
        if self.slots.len() > FEW {
            return Some(free_at + cell);
        }
        let end = |(place, slot): (usize, &Slot)| {
            let cells = u64::from(slot.queue.to_end()?);
            let last = free_at + cell.saturating_mul(cells - 1);
            let released = if slot.gated { self.gates[place].not_before(cells - 1) } else { None };
            Some(released.map_or(last, |at| at.max(last)) + cell)
        };
        self.slots.iter().enumerate().filter_map(end).min()
    }

    /// Returns the instant at which a gate releases the next token.
    #[inline]
    pub(crate) fn next_release(&self) -> Option<Time> {
        self.held.first()
    }

    /// Serves a cell that comes to queue `slot` while none waits and the line is free, as a push and a service would.
    #[inline]
    pub(crate) fn pass(&mut self, slot: u32) {
        if let Some(last) = self.in_service {
            if last == slot {
                return;
            }
            self.slots[last as usize].token = false;
        }
        if self.discipline == Discipline::RoundRobin {
            self.slots[slot as usize].token = true;
            self.in_service = Some(slot);
        }
    }

    /// Ends the service of the last cell, behind which none waits.
    pub(crate) fn end_service(&mut self) {
        if let Some(slot) = self.in_service.take() {
            self.slots[slot as usize].token = false;
        }
    }

    /// Returns true if no cell waits in another queue than `slot`, which has no gate.
    #[inline]
    pub(crate) fn is_only(&self, slot: u32) -> bool {
        let queue = &self.slots[slot as usize];
        self.discipline == Discipline::RoundRobin && !queue.gated && queue.queue.len() == self.waiting
    }

    /// Returns the first cells of a queue that are neighbours in a frame, if it has any, and their number.
    #[inline]
    pub(crate) fn first_run(&self, slot: u32) -> Option<(Cell, u16)> {
        self.slots[slot as usize].queue.first_run(slot)
    }

    /// Queues `cells` neighbours in a frame for queue `slot`, of which `first` is the first.
    #[inline]
    pub(crate) fn push_run(&mut self, now: Time, slot: u32, first: Cell, cells: u16) {
        self.slots[slot as usize].queue.push_run(first, cells);
        self.waiting += u32::from(cells);
        self.name(now, slot);
    }

    /// Returns the first cells of the only queue that has any, if they are neighbours in a frame, and their number; `None` if
    /// the next services may be of several queues.
    #[inline]
    pub(crate) fn only_run(&mut self) -> Option<(Cell, u16)> {
        if self.discipline != Discipline::RoundRobin {
            return None;
        }
        let first = self.tokens.first();
        let mut tokens = self.tokens.of(first);
        let slot = match (self.in_service_and_waits(), tokens.next()) {
            (Some(last), token) if token.is_none() || self.slots[last as usize].priority < first => last,
            (None, Some(slot)) if tokens.len() == 0 => slot,
            _ => return None,
        };
        self.slots[slot as usize].queue.first_run(slot)
    }

    /// Serves the first `cells` cells of [`CellServer::only_run`], one behind the other.
    #[inline]
    pub(crate) fn serve_run(&mut self, slot: u32, cells: u16) {
        if self.in_service != Some(slot) {
            self.end_service();
            self.tokens.pop();
            self.in_service = Some(slot);
        }
        self.slots[slot as usize].queue.pop_run(cells);
        self.waiting -= u32::from(cells);
    }

    /// Appends the first cell of each queue that has any to `members`, in the order of the next services, and returns the
    /// number of rounds in which they are neighbours in a frame; `None` if there are fewer than two or very many.
    pub(crate) fn round(&self, members: &mut Vec<Cell>) -> Option<u16> {
        /// No more queues are served in rounds.
        const MOST: usize = 64;
        let first = self.tokens.first();
        let tokens = self.tokens.of(first);
        if self.discipline != Discipline::RoundRobin || tokens.len() > MOST {
            return None;
        }
        // The one in service is the last of its class, or waits until the classes before it have nothing to send.
        let last = self.in_service_and_waits().filter(|&last| self.slots[last as usize].priority == first);
        let mut rounds = u16::MAX;
        for slot in tokens.chain(last) {
            let (cell, cells) = self.slots[slot as usize].queue.first_run(slot)?;
            if cell.flags != Flags::PLAIN {
                return None;
            }
            rounds = rounds.min(cells);
            members.push(cell);
        }
        (members.len() > 1).then_some(rounds)
    }

    /// Serves cells of the queues of [`CellServer::round`], by turns.
    pub(crate) fn serve_rounds(&mut self, members: &[Cell], turns: Turns) {
        let priority = self.slots[members[0].slot as usize].priority;
        self.tokens.clear(priority);
        if let Some(last) = self.in_service.take() {
            let last_slot = &mut self.slots[last as usize];
            last_slot.token = !last_slot.queue.is_empty();
            if last_slot.token && last_slot.priority != priority {
                self.tokens.push(last_slot.priority, last);
            }
        }
        let last = turns.last();
        for place in (last + 1..members.len()).chain(0..=last) {
            let member = members[place].slot;
            let slot = &mut self.slots[member as usize];
            let cells = turns.of(place);
            slot.queue.pop_run(cells);
            self.waiting -= u32::from(cells);
            slot.token = place == last || !slot.queue.is_empty();
            if place == last {
                self.in_service = Some(member);
            } else if slot.token {
                self.tokens.push(priority, member);
            }
        }
    }

    /// Returns the queue of the cell on the line, if another cell waits there.
    #[inline]
    pub(super) fn in_service_and_waits(&self) -> Option<u32> {
        self.in_service.filter(|&last| !self.slots[last as usize].queue.is_empty())
    }
}
