//! A link: propagation delay as a queue of units under way, with one pending event.

use std::collections::VecDeque;

use cellway_units::{Span, Time};

use crate::cell::Cell;
use crate::packet::PacketRef;

/// A cell or a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    Cell(Cell),
    Packet(PacketRef),
}

/// Units under way, each with the instant its last bit arrives. The delay is constant, so they
/// arrive in the order they left and only the first needs an event.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    delay: Span,
    under_way: VecDeque<(Time, Unit)>,
}

impl Link {
    pub(crate) fn new(delay: Span) -> Link {
        Link { delay, under_way: VecDeque::new() }
    }

    pub(crate) fn is_instant(&self) -> bool {
        self.delay.is_zero()
    }

    /// Takes a unit that left at `now`; returns the arrival to wait for if it is the only one.
    #[inline]
    pub(crate) fn push(&mut self, now: Time, unit: Unit) -> Option<Time> {
        let arrives = now + self.delay;
        self.under_way.push_back((arrives, unit));
        (self.under_way.len() == 1).then_some(arrives)
    }

    /// When the unit behind the first arrives.
    #[inline]
    pub(crate) fn second(&self) -> Option<Time> {
        self.under_way.get(1).map(|&(at, _)| at)
    }

    /// The unit that arrives now, and the next arrival to wait for.
    #[inline]
    pub(crate) fn pop(&mut self) -> (Unit, Option<Time>) {
        let (_, unit) = self.under_way.pop_front().expect("an arrival is pending");
        (unit, self.under_way.front().map(|&(at, _)| at))
    }
}
