//! Updates of a control law at regular intervals, without events of their own: between two packets the state of a queue
//! does not change, so that the updates due are made when the next packet arrives or leaves.

use cellway_units::{Span, Time};

/// The instants of updates: the multiples of an interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Updates {
    interval: Span,
    next: Time,
}

impl Updates {
    /// Updates each `interval`, which is not zero; the first after one of it.
    pub(super) fn new(interval: Span) -> Updates {
        Updates { interval, next: Time::ZERO + interval }
    }

    /// Calls `update` with each instant that is due before `now`, or at it. It returns false if the further ones need not be
    /// made; the last one is made then in any case.
    #[inline]
    pub(super) fn run(&mut self, now: Time, mut update: impl FnMut(Time) -> bool) {
        while self.next <= now {
            let is_changing = update(self.next);
            self.next += self.interval;
            if !is_changing && self.next <= now {
                let due = (now - self.next).as_ps() / self.interval.as_ps();
                self.next += self.interval.saturating_mul(due);
            }
        }
    }
}
