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
    /// Boxed, since few lines have gates.
    waits: Option<Box<Waits>>,
}

#[derive(Clone, Debug, Default)]
struct Waits {
    all: VecDeque<(Time, u32)>,
    /// The earliest requested call that has not been made.
    call: Option<Time>,
}

impl Held {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.waits.as_ref().is_none_or(|waits| waits.all.is_empty())
    }

    /// Holds the token of queue `slot` until `at`.
    #[inline]
    pub(crate) fn add(&mut self, at: Time, slot: u32) {
        let wait = (at, slot);
        let all = &mut self.waits.get_or_insert_default().all;
        if all.back().is_none_or(|last| *last <= wait) {
            all.push_back(wait);
        } else {
            all.insert(all.partition_point(|other| *other <= wait), wait);
        }
    }

    /// Returns the end of the first wait.
    #[inline]
    pub(crate) fn first(&self) -> Option<Time> {
        self.waits.as_ref()?.all.front().map(|&(at, _)| at)
    }

    /// Returns the queues in the order of their waits.
    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        self.waits.iter().flat_map(|waits| waits.all.iter().map(|&(_, slot)| slot))
    }

    /// Ends the first wait.
    pub(crate) fn pop(&mut self) {
        if let Some(waits) = &mut self.waits {
            waits.all.pop_front();
        }
    }

    /// Takes the first wait that ends before `instant`.
    #[inline]
    pub(crate) fn pop_before(&mut self, instant: Time) -> Option<(Time, u32)> {
        let all = &mut self.waits.as_mut()?.all;
        if all.front()?.0 < instant { all.pop_front() } else { None }
    }

    /// Returns the instant at which an idle line is to be called, if that was not requested yet.
    pub(crate) fn ask(&mut self) -> Option<Time> {
        let waits = self.waits.as_mut()?;
        let &(first, _) = waits.all.front()?;
        if waits.call.is_some_and(|call| call <= first) {
            return None;
        }
        waits.call = Some(first);
        waits.call
    }

    /// Takes the request for a call back.
    pub(crate) fn forget_call(&mut self) {
        if let Some(waits) = &mut self.waits {
            waits.call = None;
        }
    }

    /// Records a call.
    pub(crate) fn called(&mut self, now: Time) {
        if let Some(waits) = &mut self.waits
            && waits.call == Some(now)
        {
            waits.call = None;
        }
    }
}
