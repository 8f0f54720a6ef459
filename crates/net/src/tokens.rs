//! Tokens, each of which names a queue to serve, in the order of service.

use std::collections::VecDeque;

use crate::channel::Class;

/// The last priority, which most queues have.
const LAST: u8 = Class::Ubr.priority();

/// The token queues, one for each priority.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tokens {
    /// Boxed, since few lines have channels of such classes.
    urgent: Option<Box<Urgent>>,
    last: VecDeque<u32>,
}

/// The token queues of the priorities before the last.
#[derive(Clone, Debug, Default)]
struct Urgent {
    queues: [VecDeque<u32>; LAST as usize],
    /// The number of their tokens; usually 0, so `pop` skips the scan.
    count: u32,
}

impl Tokens {
    #[inline]
    pub(crate) fn push(&mut self, priority: u8, slot: u32) {
        if priority == LAST {
            self.last.push_back(slot);
        } else {
            let urgent = self.urgent.get_or_insert_default();
            urgent.count += 1;
            urgent.queues[usize::from(priority)].push_back(slot);
        }
    }

    /// Returns the first priority that has tokens; the last if none has.
    #[inline]
    pub(crate) fn first(&self) -> u8 {
        let Some(urgent) = self.urgent.as_ref().filter(|urgent| urgent.count > 0) else { return LAST };
        let first = urgent.queues.iter().position(|queue| !queue.is_empty());
        first.map_or(LAST, |place| place as u8)
    }

    /// Returns the tokens of a priority in the order of service.
    #[inline]
    pub(crate) fn of(&self, priority: u8) -> impl ExactSizeIterator<Item = u32> + '_ {
        let queue = match &self.urgent {
            Some(urgent) if priority < LAST => &urgent.queues[usize::from(priority)],
            _ => &self.last,
        };
        queue.iter().copied()
    }

    /// Removes the tokens of a priority.
    #[inline]
    pub(crate) fn clear(&mut self, priority: u8) {
        match &mut self.urgent {
            Some(urgent) if priority < LAST => {
                let queue = &mut urgent.queues[usize::from(priority)];
                urgent.count -= queue.len() as u32;
                queue.clear();
            }
            _ => self.last.clear(),
        }
    }

    /// Takes the front of the first queue that is not empty.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<u32> {
        let Some(urgent) = self.urgent.as_mut().filter(|urgent| urgent.count > 0) else {
            return self.last.pop_front();
        };
        urgent.count -= 1;
        urgent.queues.iter_mut().find_map(VecDeque::pop_front)
    }

    /// Returns the tokens in the order of service.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let urgent = self.urgent.iter().flat_map(|urgent| urgent.queues.iter().flatten());
        urgent.chain(&self.last).copied()
    }

    /// Removes all tokens of queue `slot` except the first.
    pub(crate) fn keep_first(&mut self, priority: u8, slot: u32) {
        let mut seen = false;
        let mut keep = |&other: &u32| other != slot || !std::mem::replace(&mut seen, true);
        if priority == LAST {
            self.last.retain(&mut keep);
        } else if let Some(urgent) = &mut self.urgent {
            let queue = &mut urgent.queues[usize::from(priority)];
            let before = queue.len();
            queue.retain(&mut keep);
            urgent.count -= (before - queue.len()) as u32;
        }
    }
}

#[cfg(test)]
impl Tokens {
    pub(crate) fn lengths(&self) -> [usize; 2] {
        [self.last.len(), self.urgent.as_ref().map_or(0, |urgent| urgent.count as usize)]
    }
}
