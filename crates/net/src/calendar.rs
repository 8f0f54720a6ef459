//! The pending events of the fabric: at most one departure and one arrival per port, and a release where an
//! idle line waits for a queue that is held back.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cellway_units::Time;

/// What happens next at a port. The derived order is that of the classes within an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    Departure(u32),
    Arrival(u32),
    /// A cell that was held back until now may leave, if the line is idle.
    Release(u32),
}

/// Instant and place of an event: the class in the high half of the place, the port in the low. Two words that are stored and loaded one by one, which a 128-bit key would not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    at: u64,
    place: u64,
}

/// Events in their total order: time, class, port. An event is never moved or taken back, so a
/// plain heap does; who no longer waits for an event ignores it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calendar {
    heap: BinaryHeap<Reverse<Key>>,
}

const CLASS: u32 = 32;

impl Key {
    #[inline]
    fn new(at: Time, event: Event) -> Key {
        let place = match event {
            Event::Departure(port) => u64::from(port),
            Event::Arrival(port) => 1 << CLASS | u64::from(port),
            Event::Release(port) => 2 << CLASS | u64::from(port),
        };
        Key { at: at.as_ps(), place }
    }

    #[inline]
    fn event(self) -> Event {
        let port = self.place as u32;
        match self.place >> CLASS {
            0 => Event::Departure(port),
            1 => Event::Arrival(port),
            _ => Event::Release(port),
        }
    }
}

impl Calendar {
    #[inline]
    pub(crate) fn add(&mut self, at: Time, event: Event) {
        self.heap.push(Reverse(Key::new(at, event)));
    }

    /// Replaces the first event by a later one.
    #[inline]
    pub(crate) fn replace_first(&mut self, at: Time, event: Event) {
        if let Some(mut first) = self.heap.peek_mut() {
            *first = Reverse(Key::new(at, event));
        }
    }

    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse(key)| Time::from_ps(key.at))
    }

    /// The first event, if it happens at `now`.
    #[inline]
    pub(crate) fn peek_at(&self, now: Time) -> Option<Event> {
        let Reverse(key) = self.heap.peek()?;
        if key.at != now.as_ps() {
            return None;
        }
        Some(key.event())
    }

    #[inline]
    pub(crate) fn pop(&mut self) {
        self.heap.pop();
    }
}
