//! Packets that reach their hosts: in the order of instants, those of one instant in the order of the ports that they come
//! from.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::inputs::{Moment, Place};
use crate::packet::PacketRef;
use cellway_units::Time;

/// A packet that reaches its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    place: Place,
    packet: u32,
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
    /// Those behind them, each with the number of packets before it.
    later: BinaryHeap<Reverse<(Place, u64, u32)>>,
    serial: u64,
}

impl Deliveries {
    /// Adds a packet. All before `known_until` are known at the end of the pass.
    #[inline]
    pub(super) fn push(&mut self, place: Place, packet: PacketRef, known_until: Time) {
        if place.at >= known_until {
            return self.push_later(place, packet.0);
        }
        self.add(Due { place, packet: packet.0 });
    }

    #[inline(never)]
    fn push_later(&mut self, place: Place, packet: u32) {
        self.serial += 1;
        self.later.push(Reverse((place, self.serial, packet)));
    }

    #[inline]
    fn add(&mut self, due: Due) {
        self.is_mixed |= self.known.last().is_some_and(|last| last.place > due.place);
        self.known.push(due);
    }

    /// Begins a pass at whose end all before `known_until` are known.
    #[inline]
    pub(super) fn begin(&mut self, known_until: Time) {
        while let Some(&Reverse((place, _, packet))) = self.later.peek()
            && place.at < known_until
        {
            self.later.pop();
            self.add(Due { place, packet });
        }
    }

    /// Brings the packets into their order, at the end of a pass.
    #[inline]
    pub(super) fn settle(&mut self) {
        if self.is_mixed {
            self.is_mixed = false;
            self.known[self.next..].sort_by_key(|due| due.place);
        }
    }

    /// Returns the moment of the first.
    #[inline]
    pub(super) fn first(&self) -> Option<Moment> {
        match self.known.get(self.next) {
            Some(due) => Some(due.place.moment()),
            None => self.later.peek().map(|Reverse((place, ..))| place.moment()),
        }
    }

    /// Takes the first if it reaches its host at `moment`.
    #[inline]
    pub(super) fn take(&mut self, moment: Moment) -> Option<PacketRef> {
        let due = self.known.get(self.next).filter(|due| due.place.moment() == moment)?;
        let packet = PacketRef(due.packet);
        self.next += 1;
        if self.next == self.known.len() {
            self.known.clear();
            self.next = 0;
        }
        Some(packet)
    }
}
