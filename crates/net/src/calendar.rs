//! The pending events of the fabric: at most one departure and one arrival per port.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cellway_units::Time;

/// What happens next at a port. The derived order is that of the classes within an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    Departure(u32),
    Arrival(u32),
}

/// Events in their total order: time, class, port. An event is never moved or taken back, so a
/// plain heap does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calendar {
    heap: BinaryHeap<Reverse<u128>>,
}

const ARRIVAL: u64 = 1 << 32;

impl Calendar {
    #[inline]
    pub(crate) fn add(&mut self, at: Time, event: Event) {
        let low = match event {
            Event::Departure(port) => u64::from(port),
            Event::Arrival(port) => ARRIVAL | u64::from(port),
        };
        self.heap.push(Reverse(u128::from(at.as_ps()) << 64 | u128::from(low)));
    }

    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse(key)| Time::from_ps((key >> 64) as u64))
    }

    /// The first event, if it happens at `now`.
    #[inline]
    pub(crate) fn peek_at(&self, now: Time) -> Option<Event> {
        let Reverse(key) = self.heap.peek()?;
        if (key >> 64) as u64 != now.as_ps() {
            return None;
        }
        let port = *key as u32;
        Some(if *key as u64 & ARRIVAL == 0 { Event::Departure(port) } else { Event::Arrival(port) })
    }

    #[inline]
    pub(crate) fn pop(&mut self) {
        self.heap.pop();
    }
}
