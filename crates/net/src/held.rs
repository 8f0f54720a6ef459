//! Tokens that gates hold back, by the instant they come free.

use std::collections::VecDeque;

use cellway_units::Time;

/// The queues of one line whose tokens are held, in the order of instant and slot. A busy line checks it when it takes
/// its next cell; only an idle one requests a call from the calendar.
///
/// A sorted list: most waits are longer than the present ones and are appended, whereas a heap would move half a path
/// of entries in and a whole path out. No entry is removed early: a queue that no longer waits for an instant ignores
/// it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    waits: VecDeque<(Time, u32)>,
    /// The earliest requested call that has not been made.
    call: Option<Time>,
}

impl Held {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }

    /// Holds the token of queue `slot` until `at`.
    #[inline]
    pub(crate) fn add(&mut self, at: Time, slot: u32) {
        let wait = (at, slot);
        if self.waits.back().is_none_or(|last| *last <= wait) {
            self.waits.push_back(wait);
        } else {
            self.waits.insert(self.waits.partition_point(|other| *other <= wait), wait);
        }
    }

    /// Returns the end of the first wait.
    #[inline]
    pub(crate) fn first(&self) -> Option<Time> {
        self.waits.front().map(|&(at, _)| at)
    }

    /// Returns the queue of the first wait.
    #[inline]
    pub(crate) fn first_slot(&self) -> Option<u32> {
        self.waits.front().map(|&(_, slot)| slot)
    }

    /// Ends the first wait.
    pub(crate) fn pop(&mut self) {
        self.waits.pop_front();
    }

    /// Takes the first wait that ends before `instant`.
    #[inline]
    pub(crate) fn pop_before(&mut self, instant: Time) -> Option<(Time, u32)> {
        if self.waits.front()?.0 < instant { self.waits.pop_front() } else { None }
    }

    /// Returns the instant at which an idle line is to be called, if that was not requested yet.
    pub(crate) fn ask(&mut self) -> Option<Time> {
        let &(first, _) = self.waits.front()?;
        if self.call.is_some_and(|call| call <= first) {
            return None;
        }
        self.call = Some(first);
        self.call
    }

    /// Takes the request for a call back.
    pub(crate) fn forget_call(&mut self) {
        self.call = None;
    }

    /// Records a call.
    pub(crate) fn called(&mut self, now: Time) {
        if self.call == Some(now) {
            self.call = None;
        }
    }
}
