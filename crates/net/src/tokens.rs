//! Tokens, each of which names a queue to serve, in the order of service.

use std::collections::VecDeque;

use crate::channel::Class;

/// The last priority, which most queues have.
const LAST: u8 = Class::Ubr.priority();

/// The token queues, one for each priority.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tokens {
    /// Boxed, since few lines have channels of such classes.
    urgent: Option<Box<[VecDeque<u32>; LAST as usize]>>,
    /// Number of tokens in `urgent`; usually 0, so `pop` skips the scan.
    urgent_count: u32,
    last: VecDeque<u32>,
}

impl Tokens {
    #[inline]
    pub(crate) fn push(&mut self, priority: u8, slot: u32) {
        if priority == LAST {
            self.last.push_back(slot);
        } else {
            self.urgent_count += 1;
            self.urgent.get_or_insert_default()[usize::from(priority)].push_back(slot);
        }
    }

    /// Adds a token of the last priority.
    #[inline]
    pub(crate) fn push_last(&mut self, slot: u32) {
        self.last.push_back(slot);
    }

    /// Returns the front of the queue of the last priority.
    #[inline]
    pub(crate) fn front_of_last(&self) -> Option<u32> {
        self.last.front().copied()
    }

    /// Returns the number of tokens of the last priority.
    #[inline]
    pub(crate) fn len_of_last(&self) -> usize {
        self.last.len()
    }

    /// Removes the tokens of the last priority.
    #[inline]
    pub(crate) fn clear_last(&mut self) {
        self.last.clear();
    }

    /// Takes the front of the queue of the last priority.
    #[inline]
    pub(crate) fn pop_last(&mut self) -> Option<u32> {
        self.last.pop_front()
    }

    /// Takes the front of the first queue that is not empty.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<u32> {
        if self.urgent_count == 0 {
            return self.last.pop_front();
        }
        self.urgent_count -= 1;
        self.urgent.as_mut()?.iter_mut().find_map(VecDeque::pop_front)
    }

    /// Returns the tokens in the order of service.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let urgent = self.urgent.iter().flat_map(|queues| queues.iter().flatten());
        urgent.chain(&self.last).copied()
    }

    /// Removes all tokens of queue `slot` except the first.
    pub(crate) fn keep_first(&mut self, priority: u8, slot: u32) {
        let mut seen = false;
        let mut keep = |&other: &u32| other != slot || !std::mem::replace(&mut seen, true);
        if priority == LAST {
            self.last.retain(&mut keep);
        } else if let Some(urgent) = &mut self.urgent {
            let queue = &mut urgent[usize::from(priority)];
            let before = queue.len();
            queue.retain(&mut keep);
            self.urgent_count -= (before - queue.len()) as u32;
        }
    }
}

#[cfg(test)]
impl Tokens {
    pub(crate) fn lengths(&self) -> [usize; 2] {
        [self.last.len(), self.urgent_count as usize]
    }
}
