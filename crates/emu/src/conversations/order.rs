//! Slots in the order in which they were last touched: a doubly linked list through a table, each step O(1).

/// No slot.
const NONE: u32 = u32::MAX;

/// The neighbours of a slot in its list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    before: u32,
    after: u32,
}

impl Default for Links {
    fn default() -> Links {
        Links { before: NONE, after: NONE }
    }
}

/// A list; the front is the slot that was touched longest ago.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    front: u32,
    back: u32,
}

impl Default for Order {
    fn default() -> Order {
        Order { front: NONE, back: NONE }
    }
}

impl Order {
    pub(super) fn front(&self) -> Option<u32> {
        (self.front != NONE).then_some(self.front)
    }

    /// Puts a slot that is in no list at the back.
    pub(super) fn push<T: AsMut<Links>>(&mut self, slots: &mut [T], slot: u32) {
        *slots[slot as usize].as_mut() = Links { before: self.back, after: NONE };
        match self.back {
            NONE => self.front = slot,
            back => slots[back as usize].as_mut().after = slot,
        }
        self.back = slot;
    }

    /// Takes a slot out of this list, which it is in.
    pub(super) fn remove<T: AsMut<Links>>(&mut self, slots: &mut [T], slot: u32) {
        let Links { before, after } = std::mem::take(slots[slot as usize].as_mut());
        match before {
            NONE => self.front = after,
            before => slots[before as usize].as_mut().after = after,
        }
        match after {
            NONE => self.back = before,
            after => slots[after as usize].as_mut().before = before,
        }
    }

    /// Puts a slot of this list at its back.
    pub(super) fn move_back<T: AsMut<Links>>(&mut self, slots: &mut [T], slot: u32) {
        if self.back != slot {
            self.remove(slots, slot);
            self.push(slots, slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    #[derive(Default)]
    struct Slot(Links);

    impl AsMut<Links> for Slot {
        fn as_mut(&mut self) -> &mut Links {
            &mut self.0
        }
    }

    proptest! {
        /// Compares with a queue that is searched.
        #[test]
        fn the_order_is_that_of_touching(steps in prop::collection::vec((0u32..8, any::<bool>()), 0..60)) {
            let mut slots: Vec<Slot> = (0..8).map(|_| Slot::default()).collect();
            let (mut order, mut model) = (Order::default(), VecDeque::new());
            for (slot, back) in steps {
                let at = model.iter().position(|&other| other == slot);
                at.map(|at| model.remove(at));
                match (at, back) {
                    (Some(_), true) => order.move_back(&mut slots, slot),
                    (Some(_), false) => order.remove(&mut slots, slot),
                    (None, true) => order.push(&mut slots, slot),
                    (None, false) => {}
                }
                if back {
                    model.push_back(slot);
                }
                prop_assert_eq!(order.front(), model.front().copied());
            }
            while let Some(front) = order.front() {
                order.remove(&mut slots, front);
                prop_assert_eq!(Some(front), model.pop_front());
            }
            prop_assert!(model.is_empty());
        }
    }
}
