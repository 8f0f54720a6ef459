//! The cell queues of one output line and the order in which they are served.
//!
//! Each channel has a cell queue. Tokens name the queues that have a cell to send; the server takes the token at the
//! front and sends the first cell of its queue, never scanning the queues. A [`Discipline`] says when tokens are given:
//!
//! - [`Discipline::RoundRobin`] (Cáceres 1993, section 8): one token for each queue. A cell that finds its queue
//!   without a token adds one at the back. The token of the queue in service goes to the back at the end of that
//!   cell's transmission, after the arrivals of the same instant, if the queue then holds a cell, and is discarded
//!   otherwise. Two queues that stay backlogged are served alternately: over any interval their counts of cells served
//!   differ by at most one.
//! - [`Discipline::Fifo`]: one token for each cell, added at the back when the cell arrives. As each queue is itself
//!   first in first out, all channels together are one FIFO.
//!
//! There are three token queues, by service class ([`Class`]): the server takes the front of the first
//! that is not empty, and the rule holds within each.
//!
//! A gate (shaper, ABR source) holds the token of its queue back until the next cell may leave; then the token goes to
//! the back of its token queue. A queue with a gate has one token under either discipline: its cells enter a FIFO one
//! by one, as they may leave.

mod plain;
mod shaped;
mod view;

use cellway_spec::Discipline;
use cellway_units::{Span, Time};

use crate::abr::{AbrSource, RmCell};
use crate::cell::{Cell, CellQueue};
use crate::channel::{Class, NextHop};
use crate::gate::{Gate, Gates, Next};
use crate::held::Held;
use crate::ids::{ChannelId, PortId};
use crate::packet::PacketRef;
use crate::rm_cells::RmCells;
use crate::tokens::Tokens;

#[derive(Clone, Debug)]
struct Slot {
    channel: ChannelId,
    queue: CellQueue,
    /// The next hop of its cells at the far end of the link.
    next: Hop,
    /// The token queue it uses.
    priority: u8,
    /// True while this queue has its one token: in the token queue, in service or held. Always false for a queue
    /// without a gate under [`Discipline::Fifo`].
    token: bool,
    /// True if it has a gate.
    gated: bool,
    /// True if an ABR source decides when its cells leave.
    controlled: bool,
}

/// A [`NextHop`] in two words, as there is one for each channel at each of its lines: a port and a slot there, or
/// [`Hop::END`] and the channel that is reassembled.
#[derive(Clone, Copy, Debug)]
struct Hop(u32, u32);

impl Hop {
    const END: u32 = u32::MAX;

    fn new(next: NextHop) -> Hop {
        match next {
            NextHop::Forward { port, slot } => Hop(port.0, slot),
            NextHop::Reassemble(channel) => Hop(Hop::END, channel.0),
        }
    }

    #[inline]
    fn get(self) -> NextHop {
        match self {
            Hop(Hop::END, channel) => NextHop::Reassemble(ChannelId(channel)),
            Hop(port, slot) => NextHop::Forward { port: PortId(port), slot },
        }
    }
}

/// A cell that starts to leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    pub(crate) slot: u32,
    pub(crate) cell: Cell,
    /// True if it waited in the queue. If not, it is an RM cell that its gate has just made.
    pub(crate) queued: bool,
}

/// What a gate does when the turn comes to its queue.
enum Passage {
    /// The token is held again.
    Held,
    /// The gate sends its own RM cell.
    Made(Served),
    /// The first cell of the queue leaves.
    Open,
}

/// The cell queues of one output line and their server.
#[derive(Clone, Debug)]
pub(crate) struct CellServer {
    discipline: Discipline,
    slots: Vec<Slot>,
    gates: Gates,
    tokens: Tokens,
    held: Held,
    /// The queue of the cell on the line, if its cells share one token (round robin, or a gate). The next `serve` returns
    /// the token (to the back, or to its gate) or discards it.
    in_service: Option<u32>,
    waiting: u32,
    /// Of those waiting: in queues that an ABR source controls.
    waiting_at_sources: u32,
}

impl CellServer {
    pub(crate) fn new(discipline: Discipline) -> CellServer {
        CellServer {
            discipline,
            slots: Vec::new(),
            gates: Gates::default(),
            tokens: Tokens::default(),
            held: Held::default(),
            in_service: None,
            waiting: 0,
            waiting_at_sources: 0,
        }
    }

    /// Adds an empty queue for `channel`, whose cells go to `next` behind the link; returns its slot.
    pub(crate) fn add(&mut self, channel: ChannelId, class: Class, next: NextHop) -> u32 {
        let (queue, next, priority) = (CellQueue::default(), Hop::new(next), class.priority());
        if self.slots.is_empty() {
            // The line of a host has one channel; a first push would allocate room for four.
            self.slots.reserve_exact(1);
        }
        self.slots.push(Slot { channel, queue, next, priority, token: false, gated: false, controlled: false });
        self.slots.len() as u32 - 1
    }

    /// Returns the queue of `channel`. Queues are added as channels are opened, so they are sorted by channel.
    pub(crate) fn slot(&self, channel: ChannelId) -> Option<u32> {
        self.slots.binary_search_by_key(&channel, |slot| slot.channel).ok().map(|slot| slot as u32)
    }

    /// Cells that wait in a queue.
    pub(crate) fn waiting_of(&self, slot: u32) -> u32 {
        self.slots[slot as usize].queue.len()
    }

    /// Returns true if a queue holds no cell and its gate has none to make.
    pub(crate) fn is_drained(&self, slot: u32) -> bool {
        self.slots[slot as usize].queue.is_empty() && self.gate(slot).is_none_or(|gate| !gate.is_waiting())
    }

    /// Removes the gate of an empty queue. Its token may still belong to the cell on the line: a round robin returns or
    /// discards it as usual; a FIFO, which gives each new cell a token, discards it here.
    pub(crate) fn forget(&mut self, slot: u32) {
        debug_assert!(self.is_drained(slot), "cells wait behind the gate");
        let queue = &mut self.slots[slot as usize];
        (queue.gated, queue.controlled) = (false, false);
        if self.discipline == Discipline::Fifo && self.in_service == Some(slot) {
            self.in_service = None;
            queue.token = false;
        }
        if let Some(gate) = self.gates.get_mut(slot as usize) {
            *gate = Gate::default();
        }
    }

    /// Returns the next hop of the cells of a queue.
    #[inline]
    pub(crate) fn next_hop(&self, slot: u32) -> NextHop {
        self.slots[slot as usize].next.get()
    }

    /// Returns the channel of a queue.
    pub(crate) fn channel(&self, slot: u32) -> ChannelId {
        self.slots[slot as usize].channel
    }

    /// Cells waiting in all queues, the one in service not counted.
    pub(crate) fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Returns the waiting cells that have entered the network: not those in queues of ABR sources.
    pub(crate) fn waiting_in_network(&self) -> u32 {
        self.waiting - self.waiting_at_sources
    }

    pub(crate) fn push_frame(&mut self, now: Time, slot: u32, frame: PacketRef, fitting: u16, count: u16) {
        let queue = &mut self.slots[slot as usize];
        queue.queue.push_frame(frame, fitting, count);
        self.waiting += u32::from(fitting);
        if queue.controlled {
            self.waiting_at_sources += u32::from(fitting);
        }
        match self.discipline {
            Discipline::RoundRobin => self.name(now, slot),
            // One call for each cell. With a gate all but the first do nothing: such a queue has one token.
            Discipline::Fifo => (0..fitting).for_each(|_| self.name(now, slot)),
        }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, now: Time, slot: u32, cell: Cell) {
        let queue = &mut self.slots[slot as usize];
        queue.queue.push(cell);
        self.waiting += 1;
        if queue.controlled {
            self.waiting_at_sources += 1;
        }
        self.name(now, slot);
    }

    /// Ends the service of the last cell and takes the next one; `None` when no queue has a cell that may leave. RM
    /// cells that gates make are added to `rms`.
    #[inline]
    pub(crate) fn serve(&mut self, now: Time, rms: &mut RmCells) -> Option<Served> {
        self.release(now + Span::from_ps(1));
        if let Some(slot) = self.in_service.take() {
            self.slots[slot as usize].token = false;
            self.name(now, slot);
        }
        loop {
            let slot = self.tokens.pop()?;
            if self.slots[slot as usize].gated {
                match self.pass_gate(now, slot, rms) {
                    Passage::Held => continue,
                    Passage::Made(served) => return Some(served),
                    Passage::Open => {}
                }
            }
            let next = &mut self.slots[slot as usize];
            let cell = next.queue.pop(slot).expect("a token names a queue that is not empty");
            self.waiting -= 1;
            self.in_service = next.token.then_some(slot);
            return Some(Served { slot, cell, queued: true });
        }
    }

    /// Applies the gate of a queue whose turn it is. Not inlined, like all code of gates here: most queues have none.
    #[inline(never)]
    fn pass_gate(&mut self, now: Time, slot: u32, rms: &mut RmCells) -> Passage {
        let Slot { channel, ref queue, controlled, .. } = self.slots[slot as usize];
        let gate = &mut self.gates[slot as usize];
        if let Some(at) = gate.hold_again(now) {
            self.held.add(at, slot);
            return Passage::Held;
        }
        match gate.next(now, !queue.is_empty()) {
            Next::Queued => {
                self.waiting_at_sources -= u32::from(controlled);
                Passage::Open
            }
            Next::Rm(rm, connection) => {
                let cell = rms.insert(slot, rm, connection.unwrap_or(channel));
                self.in_service = Some(slot);
                Passage::Made(Served { slot, cell, queued: false })
            }
        }
    }

    /// Gives a token to a queue that has cells and no token, or to its gate to hold. Under [`Discipline::Fifo`] it is
    /// called once for each cell that arrives.
    #[inline]
    fn name(&mut self, now: Time, slot: u32) {
        let queue = &mut self.slots[slot as usize];
        if queue.token {
            return;
        }
        if queue.gated {
            return self.name_gated(now, slot);
        }
        if !queue.queue.is_empty() {
            queue.token = self.discipline == Discipline::RoundRobin;
            let priority = queue.priority;
            self.release(now);
            self.tokens.push(priority, slot);
        }
    }

    #[inline(never)]
    fn name_gated(&mut self, now: Time, slot: u32) {
        let queue = &mut self.slots[slot as usize];
        let gate = &mut self.gates[slot as usize];
        if queue.queue.is_empty() && !gate.is_waiting() {
            return;
        }
        queue.token = true;
        let (priority, held) = (queue.priority, gate.hold(now));
        match held {
            Some(at) => self.held.add(at, slot),
            None => {
                self.release(now);
                self.tokens.push(priority, slot);
            }
        }
    }

    /// Queues the tokens whose hold has ended before `instant`, in the order of these ends, ahead of any that is given now.
    #[inline]
    fn release(&mut self, instant: Time) {
        if !self.held.is_empty() {
            self.release_held(instant);
        }
    }

    #[inline(never)]
    fn release_held(&mut self, instant: Time) {
        while let Some((at, slot)) = self.held.pop_before(instant) {
            let queue = &self.slots[slot as usize];
            if self.gates[slot as usize].release(at) {
                self.tokens.push(queue.priority, slot);
            }
        }
    }

    /// Returns the held tokens.
    pub(crate) fn held(&mut self) -> &mut Held {
        &mut self.held
    }

    /// Returns the gate of a queue.
    pub(crate) fn gate(&self, slot: u32) -> Option<&Gate> {
        self.gates.get(slot as usize).filter(|_| self.slots[slot as usize].gated)
    }

    /// Returns the gate of a queue; a new and open one if there is none.
    pub(crate) fn gate_mut(&mut self, slot: u32) -> &mut Gate {
        let slot = slot as usize;
        if !self.slots[slot].gated {
            let queue = &mut self.slots[slot];
            queue.gated = true;
            if !queue.token && !queue.queue.is_empty() {
                // Cells wait in a FIFO: the first keeps its token, which becomes the queue's only one.
                queue.token = true;
                self.tokens.keep_first(queue.priority, slot as u32);
            }
            self.gates.extend_to(slot);
        }
        &mut self.gates[slot]
    }

    /// Puts an ABR source at a queue.
    pub(crate) fn control(&mut self, slot: u32, source: AbrSource) {
        self.gate_mut(slot).control(source);
        let queue = &mut self.slots[slot as usize];
        if !std::mem::replace(&mut queue.controlled, true) {
            self.waiting_at_sources += queue.queue.len();
        }
    }

    /// Updates the release of a held cell after a change of a gate's rate: it may leave earlier.
    pub(crate) fn rate_changed(&mut self, now: Time, slot: u32) {
        if let Some(at) = self.gate_mut(slot).earlier(now) {
            self.held.add(at, slot);
        }
    }

    /// Passes an RM cell to the destination at a queue, which sends it back.
    pub(crate) fn turn_around(&mut self, now: Time, slot: u32, rm: RmCell) {
        if let Some(destination) = self.gate_mut(slot).destination() {
            destination.forward(rm);
        }
        self.name(now, slot);
    }
}

#[cfg(test)]
impl CellServer {
    pub(crate) fn lengths(&self) -> Vec<usize> {
        let [last, urgent] = self.tokens.lengths();
        vec![self.slots.len(), self.gates.len(), last, urgent]
    }
}
