//! Packets that a recording of a light load has delayed before the queue: they come to it, or pass it and the line.

use cellway_units::Time;

use super::Fabric;
use super::handle::{corrupt, lose};
use crate::calendar::Event;
use crate::faults::Arrives;
use crate::ids::PortId;
use crate::link::Unit;
use crate::packet::PacketRef;
use crate::tap::Direction;

impl<B: Clone> Fabric<B> {
    /// The first packet before the queue of a port comes to it.
    pub(super) fn enter(&mut self, now: Time, index: u32) {
        let (packet, passes, next) = self.ports[index as usize].entry(now);
        if let Some(at) = next {
            self.calendar.add(at, Event::Entry(index));
        }
        if passes {
            self.pass(now, index, packet);
        } else {
            self.push_packet(now, PortId(index), packet);
        }
    }

    /// Puts a packet on the link behind an idle line, past its queue, in no time.
    fn pass(&mut self, now: Time, index: u32, packet: PacketRef) {
        self.events += 1;
        let unit = Unit::Packet(packet);
        if self.tap.is_some() {
            self.observe(now, index, Direction::Out, unit);
        }
        let port = &mut self.ports[index as usize];
        port.count_passed();
        let Some(Arrives { twice, corrupted }) = port.outcome(now) else {
            return lose(unit, &mut self.packets, &mut self.rms);
        };
        if corrupted {
            corrupt(unit, &mut self.packets);
        }
        if twice {
            self.arrives_twice(now, index, packet);
        } else if let Some(at) = port.propagate(now, unit) {
            self.calendar.add(at, Event::Arrival(index));
        }
    }

    /// Puts a packet on the link behind a line, and a copy directly behind it.
    pub(super) fn arrives_twice(&mut self, now: Time, index: u32, packet: PacketRef) {
        let copy = self.packets.copy(packet);
        for at in self.ports[index as usize].propagate_twice(now, [packet, copy]).into_iter().flatten() {
            self.calendar.add(at, Event::Arrival(index));
        }
    }
}
