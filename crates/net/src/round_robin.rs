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
//!
//! A shaper holds the token of its queue back until the first cell may leave; then the token goes to the
//! back of its token queue.

use std::collections::VecDeque;

use cellway_units::{Rate, Time};

use crate::calendar::Releases;
use crate::cell::{Cell, CellQueue};
use crate::channel::{ChannelId, Class};
use crate::packet::PacketRef;
use crate::shaper::Shaper;

#[derive(Clone, Debug)]
struct Slot {
    channel: ChannelId,
    queue: CellQueue,
    /// The token queue it uses.
    priority: u8,
    /// Whether a token names this queue: in the token queue, in service or held back.
    token: bool,
    /// Its place among the shapers, if it has one.
    shaper: Option<u16>,
}

/// The cell queues of one output line and their server.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundRobin {
    slots: Vec<Slot>,
    shapers: Vec<Shaper>,
    tokens: [VecDeque<u32>; 3],
    /// The queue whose cell is on the line, or has just left it and not been settled.
    in_service: Option<u32>,
    waiting: u32,
}

impl RoundRobin {
    /// Adds an empty queue for `channel`; returns its slot.
    pub(crate) fn add(&mut self, channel: ChannelId, class: Class) -> u32 {
        let (queue, priority) = (CellQueue::default(), class.priority());
        self.slots.push(Slot { channel, queue, priority, token: false, shaper: None });
        self.slots.len() as u32 - 1
    }

    /// The queue of `channel`.
    pub(crate) fn slot(&self, channel: ChannelId) -> Option<u32> {
        self.slots.iter().position(|slot| slot.channel == channel).map(|slot| slot as u32)
    }

    /// The channel of a queue.
    pub(crate) fn channel(&self, slot: u32) -> ChannelId {
        self.slots[slot as usize].channel
    }

    /// Cells waiting in all queues, the one in service not counted.
    pub(crate) fn waiting(&self) -> u32 {
        self.waiting
    }

    pub(crate) fn push_frame(
        &mut self,
        now: Time,
        slot: u32,
        frame: PacketRef,
        fitting: u16,
        count: u16,
        releases: &mut Releases<'_>,
    ) {
        self.slots[slot as usize].queue.push_frame(frame, fitting, count);
        self.waiting += u32::from(fitting);
        self.name(now, slot, releases);
    }

    #[inline]
    pub(crate) fn push(&mut self, now: Time, slot: u32, cell: Cell, releases: &mut Releases<'_>) {
        self.slots[slot as usize].queue.push(cell);
        self.waiting += 1;
        self.name(now, slot, releases);
    }

    /// Ends the service of the last cell and takes the next one, with its slot; `None` when no queue
    /// has a cell that may leave.
    #[inline]
    pub(crate) fn serve(&mut self, now: Time, releases: &mut Releases<'_>) -> Option<(u32, Cell)> {
        if let Some(slot) = self.in_service.take() {
            self.slots[slot as usize].token = false;
            self.name(now, slot, releases);
        }
        let slot = self.tokens.iter_mut().find_map(VecDeque::pop_front)?;
        let next = &mut self.slots[slot as usize];
        let cell = next.queue.pop(next.channel).expect("a token names a queue that is not empty");
        if let Some(shaper) = next.shaper {
            self.shapers[usize::from(shaper)].leave(now);
        }
        self.waiting -= 1;
        self.in_service = Some(slot);
        Some((slot, cell))
    }

    /// Gives a queue that is not empty and has no token one, or its shaper to hold.
    #[inline]
    fn name(&mut self, now: Time, slot: u32, releases: &mut Releases<'_>) {
        let queue = &mut self.slots[slot as usize];
        if queue.token || queue.queue.is_empty() {
            return;
        }
        queue.token = true;
        if let Some(shaper) = queue.shaper
            && let Some(at) = self.shapers[usize::from(shaper)].hold(now)
        {
            return releases.ask(at, slot);
        }
        self.tokens[usize::from(queue.priority)].push_back(slot);
    }

    /// The instant has come that a shaper asked for; returns whether a token came free.
    pub(crate) fn release(&mut self, now: Time, slot: u32) -> bool {
        let queue = &self.slots[slot as usize];
        let due = queue.shaper.is_some_and(|shaper| self.shapers[usize::from(shaper)].release(now));
        if due {
            self.tokens[usize::from(queue.priority)].push_back(slot);
        }
        due
    }

    /// Puts a shaper at a queue, in place of one that is there.
    pub(crate) fn shape(&mut self, slot: u32, mut shaper: Shaper) {
        match self.slots[slot as usize].shaper {
            Some(place) => {
                let old = &mut self.shapers[usize::from(place)];
                shaper.replace(old);
                *old = shaper;
            }
            None => {
                self.slots[slot as usize].shaper = Some(self.shapers.len() as u16);
                self.shapers.push(shaper);
            }
        }
    }

    /// Changes the rate of the shaper of a queue; returns whether it has one.
    pub(crate) fn set_shaper_rate(&mut self, now: Time, slot: u32, peak: Rate, releases: &mut Releases<'_>) -> bool {
        let Some(place) = self.slots[slot as usize].shaper else { return false };
        if let Some(at) = self.shapers[usize::from(place)].set_rate(now, peak) {
            releases.ask(at, slot);
        }
        true
    }
}
