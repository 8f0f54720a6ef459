//! Cell-by-cell round robin by a queue of tokens.
//!
//! Source: `cellsim`, section 8. Tokens name the cell queues that are not empty; the server takes
//! the token at the front, never scanning the queues. The rule in full:
//!
//! - a queue has at most one token, counting the one in service;
//! - a cell that finds its queue without a token adds one at the back;
//! - the token of the queue in service goes to the back at the end of that cell's transmission,
//!   if the queue then holds a cell, and is discarded otherwise;
//! - arrivals of the same instant come first.
//!
//! There are three token queues, by service class ([`Class`]): the server takes the front of the first
//! that is not empty, and the rule holds within each.
//!
//! So two queues of one class that stay backlogged are served alternately: over any interval their counts of
//! cells served differ by at most one.

use std::collections::VecDeque;

use crate::cell::{Cell, CellQueue};
use crate::channel::{ChannelId, Class};
use crate::packet::PacketRef;

#[derive(Clone, Debug)]
struct Slot {
    channel: ChannelId,
    queue: CellQueue,
    /// The token queue it uses.
    priority: u8,
    /// Whether a token names this queue, in the token queue or in service.
    token: bool,
}

/// The cell queues of one output line and their server.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundRobin {
    slots: Vec<Slot>,
    tokens: [VecDeque<u32>; 3],
    /// The queue whose cell is on the line, or has just left it and not been settled.
    in_service: Option<u32>,
    waiting: u32,
}

impl RoundRobin {
    /// Adds an empty queue for `channel`; returns its slot.
    pub(crate) fn add(&mut self, channel: ChannelId, class: Class) -> u32 {
        self.slots.push(Slot { channel, queue: CellQueue::default(), priority: class.priority(), token: false });
        self.slots.len() as u32 - 1
    }

    /// Cells waiting in all queues, the one in service not counted.
    pub(crate) fn waiting(&self) -> u32 {
        self.waiting
    }

    pub(crate) fn push_frame(&mut self, slot: u32, frame: PacketRef, fitting: u16, count: u16) {
        self.slots[slot as usize].queue.push_frame(frame, fitting, count);
        self.waiting += u32::from(fitting);
        self.name(slot);
    }

    #[inline]
    pub(crate) fn push(&mut self, slot: u32, cell: Cell) {
        self.slots[slot as usize].queue.push(cell);
        self.waiting += 1;
        self.name(slot);
    }

    /// Ends the service of the last cell and takes the next one, with its slot; `None` when all
    /// queues are empty.
    #[inline]
    pub(crate) fn serve(&mut self) -> Option<(u32, Cell)> {
        if let Some(slot) = self.in_service.take() {
            let served = &mut self.slots[slot as usize];
            served.token = !served.queue.is_empty();
            if served.token {
                self.tokens[usize::from(served.priority)].push_back(slot);
            }
        }
        let slot = self.tokens.iter_mut().find_map(VecDeque::pop_front)?;
        let next = &mut self.slots[slot as usize];
        let cell = next.queue.pop(next.channel).expect("a token names a queue that is not empty");
        self.waiting -= 1;
        self.in_service = Some(slot);
        Some((slot, cell))
    }

    #[inline]
    fn name(&mut self, slot: u32) {
        let queue = &mut self.slots[slot as usize];
        if !queue.token && !queue.queue.is_empty() {
            queue.token = true;
            self.tokens[usize::from(queue.priority)].push_back(slot);
        }
    }
}
