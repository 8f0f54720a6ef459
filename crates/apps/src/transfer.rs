//! One transfer from the originator to the responder by blocking writes, as ttcp makes it. The
//! responder reads at once.

use cellway_units::{Span, Time};

use crate::action::{Action, ConnId, Side};
use crate::item::Item;
use crate::writer::{Pace, Writer};

/// One transfer; its item is the whole of it, from the first write to the arrival of the last byte.
#[derive(Debug)]
pub(crate) struct Transfer {
    writer: Writer,
    size: Option<u64>,
    item: Option<Item>,
}

impl Transfer {
    /// Creates a transfer of `size` bytes (without end if absent), `write` at a time, busy for `cost` with each.
    pub(crate) fn new(size: Option<u64>, write: u64, cost: Span) -> Transfer {
        let writer = Writer::new(ConnId(0), Side::Originator, size, write, Pace::Busy(cost));
        Transfer { writer, size, item: None }
    }

    pub(crate) fn connected(&mut self, now: Time, side: Side, out: &mut Vec<Action>) {
        if side == Side::Originator {
            self.item = self.size.map(|size| Item::new(size, now));
            self.writer.start(now, out);
        }
    }

    pub(crate) fn received(&mut self, now: Time, bytes: u64, out: &mut Vec<Action>) {
        if let Some(item) = &mut self.item {
            item.arrived(now, bytes, out);
        }
    }

    pub(crate) fn written(&mut self, now: Time, out: &mut Vec<Action>) {
        self.writer.written(now, out);
    }

    pub(crate) fn timer(&mut self, now: Time, out: &mut Vec<Action>) {
        self.writer.timer(now, out);
    }
}
