//! The timers of the player, in a total order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cellway_units::Time;

/// A timer of the player. The derived order is that of timers due at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// A slot begins its next conversation.
    Begin { slot: usize },
    /// The application of one conversation of a slot.
    App { slot: usize, conversation: u32, id: u32 },
    /// Poll the kernel for acknowledgements.
    Acks,
    /// Report the TCP figures.
    Report,
}

/// Pending timers. One that no longer matters is not removed: its owner does not exist when it expires.
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

    /// Returns the next timer due at `now`, and its due time.
    pub(super) fn pop_due(&mut self, now: Time) -> Option<(Time, Due)> {
        let Reverse(next) = *self.heap.peek()?;
        if next.0 > now {
            return None;
        }
        self.heap.pop();
        Some(next)
    }
}
