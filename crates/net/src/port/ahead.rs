//! A port that runs ahead of the hosts: the earliest instants of its next events, and the steps of a packet on its line.

use cellway_units::{Span, Time};

use super::{Ahead, Kind, Port};
use crate::link::Unit;
use crate::packet::{PacketRef, Packets};
use crate::qdisc::Queued;

impl Port {
    /// Returns true if the port has no events of its own beside those of its queue and line, and its units arrive in the order
    /// in which they leave.
    pub(crate) fn is_independent(&self) -> bool {
        let has_faults = self.faults.as_ref().is_some_and(|faults| faults.duplicates() || faults.flushes());
        let is_delayed = matches!(&self.kind, Kind::Packets(packets) if packets.light.is_some());
        !has_faults && !is_delayed && !self.link.is_varying()
    }

    /// Returns a lower bound of the time from the start of a unit's service to its arrival at the far end.
    pub(crate) fn least_delay(&self) -> Span {
        self.link.delay() + self.line.least_span()
    }

    /// Returns the instant at which the last bit of the last unit leaves.
    #[inline]
    pub(crate) fn free_at(&self) -> Time {
        self.line.free_at()
    }

    /// Returns an instant before which no packet, or last cell of a frame, that waits leaves the line; `None` if none waits.
    #[inline]
    pub(crate) fn next_end(&self) -> Option<Time> {
        match &self.kind {
            Kind::Cells(cells) => {
                let cell = self.line.pace().span();
                cells.server.next_end(self.line.free_at(), cell)
            }
            Kind::Packets(packets) => (packets.qdisc.len() > 0).then(|| self.line.free_at() + self.line.least_span()),
        }
    }

    /// Returns a lower bound of the time of a unit on the line.
    #[inline]
    pub(crate) fn least_span(&self) -> Span {
        self.line.least_span()
    }

    /// Returns true if units may be lost or corrupted behind the line.
    #[inline]
    pub(crate) fn is_lossy(&self) -> bool {
        self.faults.is_some()
    }

    /// Returns the instant at which the service of the unit on the line has begun.
    #[inline]
    pub(crate) fn began(&self) -> Time {
        self.began
    }

    /// Counts a packet that finds the queue empty and the line free as passed on. Returns false if it must be queued.
    #[inline]
    pub(crate) fn passes(&mut self, packet: Queued) -> bool {
        let Kind::Packets(port) = &mut self.kind else { unreachable!("packets go whole over packet lines only") };
        let passes = port.qdisc.pass(packet);
        if passes {
            self.level.pass(packet.since);
        }
        passes
    }

    /// Starts a packet on the free line; returns the instant at which its last bit leaves.
    #[inline]
    pub(crate) fn transmit(&mut self, now: Time, octets: u32) -> Time {
        let Kind::Packets(port) = &mut self.kind else { unreachable!("packets go whole over packet lines only") };
        port.send(now, octets, &mut self.line)
    }

    /// Keeps a packet on the line whose service has begun at `began`.
    pub(crate) fn stays_on_line(&mut self, began: Time, packet: PacketRef) {
        self.sending = Some(Unit::Packet(packet));
        self.began = began;
    }

    /// Counts the departure of a packet. Returns false if it is lost on the link, and has been removed.
    #[inline]
    pub(crate) fn leaves_line<B>(
        &mut self,
        began: Time,
        leaves: Time,
        packet: PacketRef,
        packets: &mut Packets<B>,
    ) -> bool {
        self.sending = None;
        self.counters.busy += leaves - began;
        self.counters.packets += 1;
        self.faults.is_none() || self.arrives(leaves, packet, packets)
    }

    /// Draws the outcome of the link for a packet; returns false if it is lost.
    #[cold]
    fn arrives<B>(&mut self, leaves: Time, packet: PacketRef, packets: &mut Packets<B>) -> bool {
        let outcome = self.outcome(leaves);
        match outcome {
            None => packets.lose(packet, 1, 1),
            Some(arrives) if arrives.corrupted => packets.corrupt(packet),
            Some(_) => {}
        }
        outcome.is_some()
    }

    /// Returns the instant at which a gate releases the next token.
    #[inline]
    pub(crate) fn next_release(&self) -> Option<Time> {
        match &self.kind {
            Kind::Cells(cells) => cells.server.next_release(),
            Kind::Packets(_) => None,
        }
    }

    /// Returns the arrival of the first unit on the link.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<Time> {
        self.link.next()
    }

    /// Forgets the events for which the calendar was asked. Returns true if a packet has departed by `now` without an event, and
    /// counts it.
    pub(crate) fn await_nothing(&mut self, now: Time) -> bool {
        if let Some(server) = self.server_mut() {
            server.held().forget_call();
        }
        self.depart_unawaited(now)
    }

    /// Returns the departure for which the calendar is to have an event; `None` if the line is idle, or nothing waits for the
    /// departure of a packet that the link has already.
    pub(crate) fn awaits_departure(&mut self) -> Option<Time> {
        if self.is_ahead() {
            self.ahead = if self.waiting() > 0 { Ahead::Awaited } else { Ahead::Unawaited };
        }
        let is_awaited = self.sending.is_some() || self.ahead == Ahead::Awaited;
        is_awaited.then(|| self.line.free_at())
    }

    /// Puts a packet on the link that arrives at `arrives`, behind all others.
    pub(crate) fn put_on_link(&mut self, arrives: Time, packet: PacketRef) {
        self.link.put(arrives, packet);
    }

    /// Returns the number of units on the link.
    pub(crate) fn on_link(&self) -> usize {
        self.link.len()
    }

    /// Returns the delay of the link.
    #[inline]
    pub(crate) fn delay(&self) -> Span {
        self.link.delay()
    }
}
