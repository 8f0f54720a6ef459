//! The events that are still to happen in the fabric. A port has at most one departure, one entry and one arrival among
//! them, and a release if its line is idle while all its cells are held back.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cellway_units::Time;

use crate::place::Place;

/// The next event of a port. Events of one instant happen in the order of these variants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Departure(u32),
    /// A packet that a recording has delayed comes to the queue.
    Entry(u32),
    Arrival(u32),
    /// A cell that was held back until now may leave, if the line is idle.
    Release(u32),
}

/// The events, the next one first. A plain heap is enough, because no event is moved or cancelled while the network
/// is left alone: a port ignores an event for which it no longer waits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calendar {
    heap: BinaryHeap<Reverse<Place>>,
}

const DEPARTURE: u64 = 0;
const ENTRY: u64 = 1 << 32;
const ARRIVAL: u64 = 2 << 32;
const RELEASE: u64 = 3 << 32;

/// Returns the place of an event: within an instant by its variant, in the high half, and its port.
#[inline]
fn place_of(at: Time, event: Event) -> Place {
    let within = match event {
        Event::Departure(port) => DEPARTURE | u64::from(port),
        Event::Entry(port) => ENTRY | u64::from(port),
        Event::Arrival(port) => ARRIVAL | u64::from(port),
        Event::Release(port) => RELEASE | u64::from(port),
    };
    Place { at, within }
}

impl Calendar {
    #[inline]
    pub(crate) fn add(&mut self, at: Time, event: Event) {
        self.heap.push(Reverse(place_of(at, event)));
    }

    /// Returns the first event, if it is the only one of its instant.
    #[inline]
    pub(crate) fn alone(&self) -> Option<Event> {
        // In a binary heap every entry below the first is no earlier than one of the first's two children.
        let all = self.heap.as_slice();
        let Reverse(first) = all.first()?;
        let same = |child: usize| all.get(child).is_some_and(|Reverse(other)| other.at == first.at);
        if same(1) || same(2) {
            return None;
        }
        let port = first.within as u32;
        Some(match first.within & !u64::from(u32::MAX) {
            DEPARTURE => Event::Departure(port),
            ENTRY => Event::Entry(port),
            ARRIVAL => Event::Arrival(port),
            _ => Event::Release(port),
        })
    }

    /// Removes all events of one kind of a port. It looks at all events, so it is for changes of a network that are rare.
    #[cold]
    pub(crate) fn remove(&mut self, event: Event) {
        let Place { within, .. } = place_of(Time::ZERO, event);
        self.heap.retain(|Reverse(place)| place.within != within);
    }

    /// Replaces the first event by a later one.
    #[inline]
    pub(crate) fn replace_first(&mut self, at: Time, event: Event) {
        if let Some(mut first) = self.heap.peek_mut() {
            *first = Reverse(place_of(at, event));
        }
    }

    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse(place)| place.at)
    }

    /// Returns the port of the first event, if that is a departure at `now`.
    #[inline]
    pub(crate) fn departure(&self, now: Time) -> Option<u32> {
        self.first(now, DEPARTURE)
    }

    /// Returns the port of the first event, if that is an entry at `now`.
    #[inline]
    pub(crate) fn entry(&self, now: Time) -> Option<u32> {
        self.first(now, ENTRY)
    }

    /// Returns the port of the first event, if that is an arrival at `now`.
    #[inline]
    pub(crate) fn arrival(&self, now: Time) -> Option<u32> {
        self.first(now, ARRIVAL)
    }

    /// Returns the port of the first event, if that is a release at `now`.
    #[inline]
    pub(crate) fn release(&self, now: Time) -> Option<u32> {
        self.first(now, RELEASE)
    }

    #[inline]
    fn first(&self, now: Time, class: u64) -> Option<u32> {
        let Reverse(place) = self.heap.peek()?;
        (place.at == now && place.within >> 32 == class >> 32).then_some(place.within as u32)
    }

    #[inline]
    pub(crate) fn pop(&mut self) {
        self.heap.pop();
    }
}
