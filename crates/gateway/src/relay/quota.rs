//! Slots that classes share.

use serde::{Deserialize, Serialize};

use crate::class::ClassId;

/// The divisor of the number of slots for the part that is divided equally among the classes.
const RESERVED: u64 = 4;

/// A number of slots. Each class has a reserve of them, which is never used by others; the rest is for any class. So a
/// class that uses fewer slots than its reserve has a free one, unless classes have changed since slots were taken.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Quota {
    all: u64,
    /// Slots of each class alone.
    reserve: u64,
    /// Slots in use, by class and in all.
    used: Vec<u64>,
    total: u64,
    /// Slots of reserves that are not in use.
    unused: u64,
}

impl Quota {
    /// Divides `all` slots among `classes`. A single class has no reserve: all slots are its own.
    pub(super) fn new(all: u64, classes: usize) -> Quota {
        let reserve = if classes > 1 { all / RESERVED / classes as u64 } else { 0 };
        Quota { all, reserve, used: vec![0; classes], total: 0, unused: reserve * classes as u64 }
    }
    pub(super) fn is_within_reserve(&self, class: ClassId) -> bool {
        self.used[class.0] < self.reserve
    }
    /// Returns true if a slot is free for one more flow of `class`.
    pub(super) fn has_room(&self, class: ClassId) -> bool {
        let others = if self.is_within_reserve(class) { 0 } else { self.unused };
        self.all.saturating_sub(self.total) > others
    }
    pub(super) fn take(&mut self, class: ClassId) {
        self.unused -= u64::from(self.is_within_reserve(class));
        self.used[class.0] += 1;
        self.total += 1;
    }
    pub(super) fn give_back(&mut self, class: ClassId) {
        self.used[class.0] -= 1;
        self.total -= 1;
        self.unused += u64::from(self.is_within_reserve(class));
    }
    /// Returns the slots that `class` uses.
    pub(super) fn used(&self, class: ClassId) -> u64 {
        self.used[class.0]
    }
    pub(super) fn total(&self) -> u64 {
        self.total
    }
    /// Returns the slots of reserves that are not in use.
    pub(super) fn unused(&self) -> u64 {
        self.unused
    }
}
