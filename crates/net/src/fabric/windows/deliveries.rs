//! Packets that reach their hosts: in the order of instants, those of one instant in the order of the ports that they come
//! from.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::inputs::Moment;
use super::runs::Runs;
use crate::packet::PacketRef;
use crate::place::Place;
use cellway_units::Time;

/// The packets that have not been handed to their hosts.
#[derive(Clone, Debug, Default)]
pub(super) struct Deliveries {
    /// Those of which no other can come before them.
    known: Runs<u32>,
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
        self.known.push(place, packet.0);
    }

    #[inline(never)]
    fn push_later(&mut self, place: Place, packet: u32) {
        self.serial += 1;
        self.later.push(Reverse((place, self.serial, packet)));
    }

    /// Begins a pass at whose end all before `known_until` are known.
    #[inline]
    pub(super) fn begin(&mut self, known_until: Time) {
        while let Some(&Reverse((place, _, packet))) = self.later.peek()
            && place.at < known_until
        {
            self.later.pop();
            self.known.push(place, packet);
        }
    }

    /// Brings the packets into their order, at the end of a pass.
    #[inline]
    pub(super) fn settle(&mut self) {
        self.known.settle();
    }

    /// Returns the moment of the first.
    #[inline]
    pub(super) fn first(&self) -> Option<Moment> {
        match self.known.first() {
            Some(due) => Some(due.place.moment()),
            None => self.later.peek().map(|Reverse((place, ..))| place.moment()),
        }
    }

    /// Takes the first if it reaches its host at `moment`.
    #[inline]
    pub(super) fn take(&mut self, moment: Moment) -> Option<PacketRef> {
        let packet = self.known.first().filter(|due| due.place.moment() == moment)?.item;
        self.known.advance();
        Some(PacketRef(packet))
    }

    /// Forgets the packets that have been taken. To be called before others are added.
    #[inline]
    pub(super) fn tidy(&mut self) {
        self.known.tidy();
    }
}
