//! An item in transfer: counted until its last byte has arrived.

use cellway_units::{Bytes, Time};

use crate::action::Action;

/// An item in transfer, on any connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    bytes: u64,
    left: u64,
    since: Time,
}

impl Item {
    /// Creates an item of `bytes` whose span begins at `since`.
    pub(crate) fn new(bytes: u64, since: Time) -> Item {
        Item { bytes, left: bytes, since }
    }

    /// Counts `bytes` more of it. Reports the item with its last byte; returns true if these had it.
    pub(crate) fn arrived(&mut self, now: Time, bytes: u64, out: &mut Vec<Action>) -> bool {
        let before = self.left;
        debug_assert!(bytes <= before, "more bytes than the item has");
        self.left = before.saturating_sub(bytes);
        let whole = before > 0 && self.left == 0;
        if whole {
            out.push(Action::Item { bytes: Bytes(self.bytes), span: now.since(self.since) });
        }
        whole
    }
}
