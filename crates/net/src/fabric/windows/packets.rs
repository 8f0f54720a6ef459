//! A line of packets on its own: its arrivals, services and departures up to an instant.

use std::collections::VecDeque;

use cellway_units::Time;

use super::routes::Next;
use super::{Arriving, Moment, Windows};
use crate::fabric::Fabric;
use crate::link::Unit;
use crate::packet::{PacketRef, Packets};
use crate::port::Port;
use crate::qdisc::Queued;

/// A packet that will come to a queue, at `packet.since`.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    round: u32,
    from: u32,
    packet: Queued,
}

impl Arrival {
    #[inline]
    fn moment(&self) -> Moment {
        Moment { at: self.packet.since, round: self.round }
    }

    #[inline]
    fn place(&self) -> (Moment, u32) {
        (self.moment(), self.from)
    }
}

/// The packets before and behind the queue of a line of packets.
#[derive(Clone, Debug, Default)]
pub(super) struct PacketLane {
    /// Those that will come to the queue.
    arrivals: Vec<Arrival>,
    /// The first of them that has not been taken.
    next: usize,
    /// True if `arrivals` is not in order from `next` on.
    is_mixed: bool,
    /// True if the line serves at the end of the last packet in any case: a line with losses, which may have drawn one.
    is_due: bool,
    /// The packet on the line, if it leaves at the horizon or later.
    on_line: Option<Queued>,
    /// Packets behind the line that are not given on yet, each with its arrival at the far end and the round of that.
    behind: VecDeque<(Queued, u32)>,
}

impl PacketLane {
    /// Takes the packets over that are on the line and on the link of a port at `now`.
    pub(super) fn take<B>(&mut self, now: Time, port: &mut Port, packets: &Packets<B>) {
        port.hold_back(now);
        if let Some(Unit::Packet(packet)) = port.on_line() {
            self.on_line = Some(packets.queued(port.began(), packet));
        }
        while let Some(at) = port.next_arrival() {
            let (Unit::Packet(packet), _) = port.arrival() else { unreachable!("a line of packets sends no cells") };
            self.behind.push_back((packets.queued(at, packet), 0));
        }
    }

    /// Gives the packets behind the line to the link; appends all that are at the port to `frames`.
    pub(super) fn give_back(&mut self, port: &mut Port, frames: &mut Vec<PacketRef>) {
        debug_assert!(self.next == self.arrivals.len() && !self.is_due, "a line has run up to the horizon");
        port.view_waiting(usize::MAX, |piece| frames.push(piece.frame));
        frames.extend(self.on_line.take().map(|packet| packet.packet));
        for (packet, _) in self.behind.drain(..) {
            port.put_on_link(packet.since, packet.packet);
            frames.push(packet.packet);
        }
    }

    /// Adds a packet that comes at `moment` from port `from`.
    #[inline]
    pub(super) fn push(&mut self, moment: Moment, from: u32, packet: Queued) {
        let arrival = Arrival { round: moment.round, from, packet };
        self.is_mixed |= self.arrivals.last().is_some_and(|last| last.place() > arrival.place());
        self.arrivals.push(arrival);
    }

    /// Brings the arrivals into their order. To be called before the first is asked for.
    #[inline]
    fn settle(&mut self) {
        if self.is_mixed {
            self.is_mixed = false;
            self.arrivals[self.next..].sort_by_key(Arrival::place);
        }
    }

    /// Returns the moment of the first arrival.
    #[inline]
    fn first(&self) -> Option<Moment> {
        self.arrivals.get(self.next).map(Arrival::moment)
    }

    /// Forgets the arrivals that have been taken.
    #[inline]
    fn tidy(&mut self) {
        if self.next == self.arrivals.len() {
            self.arrivals.clear();
            self.next = 0;
        } else if self.next > 64 && self.next > self.arrivals.len() / 2 {
            self.arrivals.drain(..self.next);
            self.next = 0;
        }
    }
}

impl<B: Clone> Fabric<B> {
    /// As [`Fabric::run_line`] for a line of packets.
    pub(super) fn run_packets(&mut self, windows: &mut Windows, index: u32) -> Option<Time> {
        let until = windows.lookahead.known(index, windows.sent_until, windows.horizon);
        // A host takes no packet of which it is not known that no other comes before it.
        let is_last = windows.lookahead.is_last[index as usize];
        let onward = if is_last { windows.known_until } else { windows.horizon };
        let mut lane = std::mem::take(&mut windows.lanes[index as usize]);
        lane.settle();
        let (port, packets) = (&mut self.ports[index as usize], &mut self.packets);
        let mut events = 0;
        while let Some(&(packet, round)) = lane.behind.front().filter(|(packet, _)| packet.since < onward) {
            lane.behind.pop_front();
            events += 1;
            windows.pass_on(index, Moment { at: packet.since, round }, packet, packets);
        }
        let mut ready = Moment::first(port.free_at());
        let mut waiting = port.waiting();
        // A packet that has been taken from the queue, and the moment of its service; or, at first, that on the line.
        let mut served = None;
        if ready.at < windows.horizon
            && let Some(packet) = lane.on_line.take()
        {
            served = Some((port.began(), packet));
        }
        loop {
            if let Some((began, mut packet)) = served.take() {
                let leaves = ready.at;
                if leaves >= windows.horizon {
                    port.stays_on_line(began, packet.packet);
                    lane.on_line = Some(packet);
                    continue;
                }
                events += 1;
                lane.is_due = port.is_lossy();
                let is_lost = !port.leaves_line(began, leaves, packet.packet, packets);
                if is_lost {
                    continue;
                }
                packet.since = leaves + port.delay();
                let round = if packet.since == began { ready.round } else { 0 };
                if packet.since >= onward {
                    lane.behind.push_back((packet, round));
                    continue;
                }
                events += 1;
                windows.pass_on(index, Moment { at: packet.since, round }, packet, packets);
            }
            let arrival = lane.arrivals.get(lane.next).filter(|arrival| arrival.packet.since < until);
            let (now, packet) = if waiting > 0 || lane.is_due {
                if let Some(arrival) = arrival.filter(|arrival| arrival.moment() <= ready) {
                    lane.next += 1;
                    waiting = port.enqueue(arrival.packet, packets);
                    continue;
                }
                if ready.at >= until {
                    break;
                }
                lane.is_due = false;
                let packet = port.dequeue(ready.at, packets);
                waiting = port.waiting();
                let Some(packet) = packet else { continue };
                (ready, packet)
            } else {
                let Some(&arrival) = arrival else { break };
                lane.next += 1;
                ready = ready.max(arrival.moment());
                let is_alone = ready.at == arrival.packet.since && lane.first().is_none_or(|next| next > ready);
                if !is_alone || !port.passes(arrival.packet) {
                    waiting = port.enqueue(arrival.packet, packets);
                    continue;
                }
                (ready, arrival.packet)
            };
            let leaves = port.transmit(now.at, packet.octets);
            ready = Moment { at: leaves, round: if leaves == now.at { now.round + 1 } else { 0 } };
            served = Some((now.at, packet));
        }
        self.events += events;
        lane.tidy();
        let is_busy = waiting > 0 || lane.is_due || lane.on_line.is_some();
        let leaves = lane.on_line.map(|_| ready.at);
        let arrival = lane.first().map(|moment| moment.at);
        let ends = (waiting > 0).then(|| ready.at + port.least_span());
        let behind = lane.behind.front().map(|(packet, _)| packet.since);
        let leaves = [leaves, ends, arrival].into_iter().flatten().min();
        windows.lanes[index as usize] = lane;
        windows.rest(index, port.delay(), is_busy, leaves, behind)
    }
}

impl Windows {
    /// Gives a packet that comes to the end of a link to the next port, or to its host.
    #[inline]
    pub(super) fn pass_on<B>(&mut self, from: u32, moment: Moment, packet: Queued, packets: &mut Packets<B>) {
        let hop = match packet.hop {
            Queued::UNKNOWN => {
                let (_, way, steps) = packets.position(packet.packet);
                self.routes.place(packet.conversation, way, steps)
            }
            hop => hop,
        };
        match self.routes.next(hop) {
            Next::Packet(port) => {
                self.lanes[port as usize].push(moment, from, Queued { hop: hop + 1, ..packet });
                self.activate(port);
            }
            Next::Cells { port, slot } => {
                let frame = packet.packet;
                let (conversation, way) = (packet.conversation, packets.way(frame));
                packets.set_steps(frame, self.routes.steps_before(conversation, way, hop + 1));
                self.give(port, moment, from, Arriving::Frame { frame, slot });
            }
            Next::Host => self.deliveries.push(moment, from, packet.packet, self.known_until),
        }
    }
}
