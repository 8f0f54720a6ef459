//! Packets that reach their hosts: in the order of instants, those of one instant in the order of the ports that they come
//! from.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Moment;
use crate::packet::PacketRef;
use cellway_units::Time;

/// A packet that reaches its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    moment: Moment,
    from: u32,
    /// The number of packets before it, of those that wait in the heap.
    serial: u64,
    packet: u32,
}

impl Due {
    #[inline]
    fn place(&self) -> (Moment, u32) {
        (self.moment, self.from)
    }
}

/// The packets that have not been handed to their hosts.
#[derive(Clone, Debug, Default)]
pub(super) struct Deliveries {
    /// Those of which no other can come before them.
    known: Vec<Due>,
    /// The first of `known` that has not been taken.
    next: usize,
    /// True if `known` is not in order from `next` on.
    is_mixed: bool,
    /// Those behind them.
    later: BinaryHeap<Reverse<Due>>,
    serial: u64,
}

impl Deliveries {
    /// Adds a packet that comes from port `from`. All before `known_until` are known at the end of the pass.
    #[inline]
    pub(super) fn push(&mut self, moment: Moment, from: u32, packet: PacketRef, known_until: Time) {
        let due = Due { moment, from, serial: 0, packet: packet.0 };
        if moment.at >= known_until {
            self.serial += 1;
            self.later.push(Reverse(Due { serial: self.serial, ..due }));
            return;
        }
        self.add(due);
    }

    #[inline]
    fn add(&mut self, due: Due) {
        self.is_mixed |= self.known.last().is_some_and(|last| last.place() > due.place());
        self.known.push(due);
    }

    /// Begins a pass at whose end all before `known_until` are known.
    #[inline]
    pub(super) fn begin(&mut self, known_until: Time) {
        while let Some(&Reverse(due)) = self.later.peek()
            && due.moment.at < known_until
        {
            self.later.pop();
            self.add(due);
        }
    }

    /// Brings the packets into their order, at the end of a pass.
    #[inline]
    pub(super) fn settle(&mut self) {
        if self.is_mixed {
            self.is_mixed = false;
            self.known[self.next..].sort_by_key(Due::place);
        }
    }

    /// Returns the moment of the first.
    #[inline]
    pub(super) fn first(&self) -> Option<Moment> {
        match self.known.get(self.next) {
            Some(due) => Some(due.moment),
            None => self.later.peek().map(|Reverse(due)| due.moment),
        }
    }

    /// Takes the first if it reaches its host at `moment`.
    #[inline]
    pub(super) fn take(&mut self, moment: Moment) -> Option<PacketRef> {
        let due = self.known.get(self.next).filter(|due| due.moment == moment)?;
        let packet = PacketRef(due.packet);
        self.next += 1;
        if self.next == self.known.len() {
            self.known.clear();
            self.next = 0;
        }
        Some(packet)
    }
}
