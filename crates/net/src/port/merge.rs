//! A train that comes to a queue while the line serves it: arrivals and services of one frame behind the other, in one loop.

use cellway_units::{Span, Time};

use super::admit::owner_of_cell;
use super::runs::LeftRun;
use super::{Kind, Port};
use crate::cell::{Cell, Flags};
use crate::pace::{Pace, Pulse};
use crate::packet::Packets;

/// The cells of a train that have come to the queue, and those that have left the line meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Merged {
    /// The number of cells that have come.
    pub(crate) came: u16,
    /// The arrival of the next cell of the train.
    pub(crate) next: Pulse,
    /// Neighbours in a frame that have left; `None` if none has.
    pub(crate) left: Option<LeftRun>,
    /// The instant of the next service, if a cell waits; else that at which the line is free.
    pub(crate) ready: Time,
}

impl Port {
    /// Takes cells of a train as they come, and serves the queue meanwhile, if no cell waits in another: all arrivals that a
    /// policer and the buffer let pass and that come before `before`, and all services of the first frame before `before` whose
    /// cells arrive before `horizon`, without a gap. The next service of a cell that waits is at `ready`. Returns `None` if
    /// there is nothing to do.
    pub(crate) fn merge<B>(
        &mut self,
        (first, cells, came): (Cell, u16, Pulse),
        pace: Pace,
        ready: Time,
        [before, horizon]: [Time; 2],
        packets: &Packets<B>,
    ) -> Option<Merged> {
        let Kind::Cells(port) = &mut self.kind else { return None };
        let slot = first.slot;
        if first.flags != Flags::PLAIN || !port.server.is_only(slot) {
            return None;
        }
        let owner = owner_of_cell(&port.buffer, slot, first, packets)?;
        if !port.takes_frame(owner) {
            return None;
        }
        let mut waiting = port.server.waiting();
        // Those that leave first, and whether those of the train follow them.
        let (leaving, most) = match port.server.first_run(slot) {
            None => (first, cells),
            Some((cell, run)) => {
                let goes_on = u32::from(run) == waiting && cell.frame == first.frame && cell.after(run) == first;
                (cell, if goes_on { run + cells } else { run })
            }
        };
        let leaving_owner = owner_of_cell(&port.buffer, slot, leaving, packets)?;
        let inspection = port.inspection.as_mut();
        let mut policer = inspection.and_then(|inspection| inspection.policers.get_mut(slot as usize)?.as_mut());
        let delay = self.link.delay();
        let (mut next, mut taken, mut sent, mut busy) = (came, 0, 0, Span::ZERO);
        let (mut service, mut head) = (ready, None);
        loop {
            let arrival = if taken < cells && next.at() < before { next.at() } else { Time::MAX };
            if waiting == 0 {
                let free_at = self.line.free_at();
                if arrival == Time::MAX || (sent > 0 && arrival > free_at) {
                    service = free_at;
                    break;
                }
                service = arrival.max(free_at);
            }
            if arrival <= service {
                // The buffer first: a policer that has passed a cell has counted it, and cannot take that back.
                let index = first.index + taken;
                if !port.buffer.admit_cell(owner, index) {
                    break;
                }
                if policer.as_mut().is_some_and(|policer| !policer.passes(arrival)) {
                    port.buffer.release_cell(owner, index);
                    break;
                }
                waiting += 1;
                taken += 1;
                self.level.change(arrival, waiting);
                next = pace.after(next);
                continue;
            }
            if sent == most || service >= before {
                break;
            }
            let state = self.line.clone_state();
            let leaves = self.line.send_cell(service);
            if leaves + delay >= horizon {
                self.line.return_to(state);
                break;
            }
            waiting -= 1;
            self.level.change(service, waiting);
            port.buffer.release_cell(leaving_owner, leaving.index + sent);
            head.get_or_insert(self.line.pulse_at(leaves + delay));
            busy += leaves - service;
            sent += 1;
            service = leaves;
        }
        if taken == 0 && sent == 0 {
            return None;
        }
        if taken > 0 {
            port.passed(first, taken);
            port.server.push_run(came.at(), slot, first, taken);
        }
        let left = head.map(|head| {
            port.server.serve_run(slot, sent);
            let leaves = self.line.free_at();
            LeftRun { leaves, last: leaves + delay, first: head, cell: leaving, cells: sent }
        });
        self.counters.busy += busy;
        self.counters.cells += u64::from(sent);
        Some(Merged { came: taken, next, left, ready: service })
    }
}
