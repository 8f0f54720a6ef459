//! What the player has to do at given times, in a total order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cellway_units::Time;

/// What is to be done. The derived order is that of things due at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// A slot begins its next conversation.
    Begin { slot: usize },
    /// The application of one conversation of a slot.
    App { slot: usize, conversation: u32, id: u32 },
    /// Ask the kernel what is acknowledged.
    Acks,
    /// Report what TCP has done.
    Report,
}

/// Pending timers. One that no longer matters is not taken out: its owner is gone when it is due.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(Time, Due)>>,
}

impl Timers {
    pub(super) fn add(&mut self, at: Time, due: Due) {
        self.heap.push(Reverse((at, due)));
    }

    pub(super) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// The next thing due at `now`, and when it was.
    pub(super) fn pop_due(&mut self, now: Time) -> Option<(Time, Due)> {
        let Reverse(next) = *self.heap.peek()?;
        if next.0 > now {
            return None;
        }
        self.heap.pop();
        Some(next)
    }
}
