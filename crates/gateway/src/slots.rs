//! A slab: values in slots that are reused, so that most insertions allocate nothing.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// Slots that are allocated at once.
const CHUNK: usize = 64;

/// The index of a slot, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Slot(NonZeroU32);

/// The values, and the free slots.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Slots<T> {
    /// In chunks, so that growth moves no value.
    chunks: Vec<Vec<Option<T>>>,
    /// The number of slots, used or free.
    places: usize,
    free: Vec<Slot>,
    /// The most values since all slots were free.
    most: usize,
}

/// When all slots are free, they are released if no more than one in this many was used since the last time: memory
/// that a burst took is released after the next use, and a window that is acknowledged at once keeps its slots.
const UNUSED: usize = 4;

impl<T> Default for Slots<T> {
    fn default() -> Slots<T> {
        Slots { chunks: Vec::new(), places: 0, free: Vec::new(), most: 0 }
    }
}

impl<T> Slots<T> {
    /// Inserts a value.
    ///
    /// # Panics
    /// 2^32 - 1 values are held already.
    pub(crate) fn insert(&mut self, value: T) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| {
            if self.places.is_multiple_of(CHUNK) {
                self.chunks.push(Vec::with_capacity(CHUNK));
            }
            self.chunks[self.places / CHUNK].push(None);
            self.places += 1;
            let number = u32::try_from(self.places).ok().and_then(NonZeroU32::new);
            #[expect(clippy::expect_used, reason = "they would take more memory than there is")]
            Slot(number.expect("fewer values than 2^32"))
        });
        self.chunks[slot.index() / CHUNK][slot.index() % CHUNK] = Some(value);
        self.most = self.most.max(self.len());
        slot
    }
    pub(crate) fn get(&self, slot: Slot) -> Option<&T> {
        self.chunks.get(slot.index() / CHUNK)?.get(slot.index() % CHUNK)?.as_ref()
    }
    pub(crate) fn get_mut(&mut self, slot: Slot) -> Option<&mut T> {
        self.place(slot)?.as_mut()
    }
    /// Removes and returns a value, if the slot has one.
    pub(crate) fn remove(&mut self, slot: Slot) -> Option<T> {
        let value = self.place(slot)?.take();
        self.free.extend(value.is_some().then_some(slot));
        if self.free.len() == self.places {
            if self.places > CHUNK && self.most <= self.places / UNUSED {
                *self = Slots::default();
            }
            self.most = 0;
        }
        value
    }
    fn place(&mut self, slot: Slot) -> Option<&mut Option<T>> {
        self.chunks.get_mut(slot.index() / CHUNK)?.get_mut(slot.index() % CHUNK)
    }
    /// Returns the number of values.
    pub(crate) fn len(&self) -> usize {
        self.places - self.free.len()
    }
}

impl Slot {
    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again() {
        let mut slots = Slots::default();
        let [a, b] = [1, 2].map(|value| slots.insert(value));
        assert_eq!((slots.remove(a), slots.remove(a), slots.len()), (Some(1), None, 1));
        assert_eq!(slots.insert(3), a);
        assert_eq!((slots.get(a), slots.places), (Some(&3), 2));
        assert_eq!(slots.get_mut(b), Some(&mut 2));
        assert_eq!((slots.remove(a), slots.remove(b), slots.places), (Some(3), Some(2), 2));
        let fill = |slots: &mut Slots<usize>, count| {
            let many: Vec<Slot> = (0..count).map(|value| slots.insert(value)).collect();
            many.into_iter().for_each(|slot| assert!(slots.remove(slot).is_some()));
            assert_eq!(slots.len(), 0);
            slots.chunks.len()
        };
        assert_eq!(fill(&mut slots, 4 * CHUNK), 4);
        assert_eq!(fill(&mut slots, CHUNK + 1), 4, "a smaller window");
        assert_eq!(fill(&mut slots, 3), 0, "the burst is over");
        assert_eq!(fill(&mut slots, 3), 1);
        assert_eq!(size_of::<Option<Slot>>(), 4);
    }
}
