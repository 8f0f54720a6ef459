//! The service of several cells at once, of a queue behind a shaper.

use cellway_units::Time;

use super::CellServer;
use crate::cell::Cell;
use crate::gcra::Gcra;

impl CellServer {
    /// Returns the only queue that has cells, if the peak rate of a shaper or an ABR source alone holds them back, and the
    /// instant of its next service by a line that is free at `ready`.
    pub(crate) fn only_shaped(&mut self, ready: Time) -> Option<(u32, Time)> {
        let last = self.in_service_and_waits();
        let token = self.tokens.iter().next();
        let slot = last.or(token).or_else(|| self.held.slots().next())?;
        let queue = &self.slots[slot as usize];
        if queue.queue.len() != self.waiting || !queue.gated || self.others_turn_around(slot) {
            return None;
        }
        let gate = &mut self.gates[slot as usize];
        let earliest = gate.pacer()?.earliest(ready);
        let at = match (last, token) {
            (Some(_), _) => earliest,
            (None, Some(_)) => ready,
            (None, None) => gate.held_until()?.max(ready),
        };
        (!gate.holds_again(at)).then_some((slot, at))
    }

    /// Returns true if a queue beside `slot` may have an RM cell to send back.
    fn others_turn_around(&self, slot: u32) -> bool {
        let waits = |slot: u32| self.gates.get(slot as usize).is_some_and(|gate| gate.is_waiting());
        let mut named = self.tokens.iter().chain(self.held.slots()).chain(self.in_service);
        named.any(|other| other != slot && waits(other))
    }

    /// Returns the pacer of a queue of [`CellServer::only_shaped`], its first cells if they are neighbours in a frame, with
    /// the number of those that may follow each other, and an instant before which they have to leave.
    pub(crate) fn shaped_run(&mut self, slot: u32) -> Option<(&mut Gcra, (Cell, u16), Time)> {
        let (cell, cells) = self.slots[slot as usize].queue.first_run(slot)?;
        let gate = &mut self.gates[slot as usize];
        let (most, before) = gate.most_data();
        Some((gate.pacer()?, (cell, most.min(cells.into()) as u16), before))
    }

    /// Serves the first `cells` cells of [`CellServer::shaped_run`].
    pub(crate) fn serve_shaped(&mut self, slot: u32, cells: u16) {
        if self.in_service != Some(slot) {
            self.end_service();
            if self.tokens.iter().next().is_some() {
                self.tokens.pop();
            } else {
                self.held.pop();
                self.gates[slot as usize].let_go();
            }
            self.in_service = Some(slot);
        }
        self.gates[slot as usize].sent_data(cells);
        let queue = &mut self.slots[slot as usize];
        queue.token = true;
        queue.queue.pop_run(cells);
        self.waiting -= u32::from(cells);
        if queue.controlled {
            self.waiting_at_sources -= u32::from(cells);
        }
    }
}
