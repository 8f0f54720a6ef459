//! The service of several cells at once, of a queue behind a shaper.

use cellway_units::Time;

use super::CellServer;
use crate::cell::Cell;
use crate::gcra::Gcra;

impl CellServer {
    /// Returns the only queue that has cells, if the peak rate of a shaper alone holds them back, and the instant of its next
    /// service by a line that is free at `ready`.
    pub(crate) fn only_shaped(&mut self, ready: Time) -> Option<(u32, Time)> {
        let last = self.in_service_and_waits();
        let token = self.tokens.iter().next();
        let slot = last.or(token).or_else(|| self.held.first_slot())?;
        let queue = &self.slots[slot as usize];
        if queue.queue.len() != self.waiting || !queue.gated {
            return None;
        }
        let gate = &mut self.gates[slot as usize];
        let earliest = gate.peak_alone()?.earliest(ready);
        let at = match (last, token) {
            (Some(_), _) => earliest,
            (None, Some(_)) => ready,
            (None, None) => gate.held_until()?.max(ready),
        };
        Some((slot, at))
    }

    /// Returns the shaper of a queue of [`CellServer::only_shaped`], and its first cells if they are neighbours in a frame, with
    /// their number.
    pub(crate) fn shaped_run(&mut self, slot: u32) -> Option<(&mut Gcra, (Cell, u16))> {
        let run = self.slots[slot as usize].queue.first_run(slot)?;
        Some((self.gates[slot as usize].peak_alone()?, run))
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
        let queue = &mut self.slots[slot as usize];
        queue.token = true;
        queue.queue.pop_run(cells);
        self.waiting -= u32::from(cells);
    }
}
