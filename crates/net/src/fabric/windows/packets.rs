//! A line of packets on its own: its arrivals, services and departures up to an instant.

use std::collections::VecDeque;

use cellway_units::Time;

use super::inputs::Place;
use super::routes::Next;
use super::{Arriving, Lookahead, Moment, Windows};
use crate::fabric::Fabric;
use crate::packet::Packets;
use crate::port::Port;
use crate::qdisc::Queued;

/// A packet that will come to a queue, or to the end of a link.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    place: Place,
    packet: Queued,
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
    /// The number of packets that wait.
    waiting: u32,
    /// The packet on the line, if it leaves at the horizon or later.
    on_line: Option<Queued>,
    /// Packets behind the line that are not given on yet, by their arrival at the far end.
    behind: VecDeque<Arrival>,
}

impl PacketLane {
    /// Brings the arrivals into their order. To be called before the first is asked for.
    #[inline]
    fn settle(&mut self) {
        if self.is_mixed {
            self.is_mixed = false;
            self.arrivals[self.next..].sort_by_key(|arrival| arrival.place);
        }
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
        let mut lane = windows.lanes[index as usize].take()?;
        lane.settle();
        let (port, packets) = (&mut self.ports[index as usize], &mut self.packets);
        let onward = windows.onward(index);
        while let Some(&Arrival { place, packet }) = lane.behind.front().filter(|behind| behind.place.at < onward) {
            lane.behind.pop_front();
            self.events += 1;
            windows.pass_on(place, packet, packets);
        }
        let mut ready = Moment::first(port.free_at());
        if ready.at < windows.horizon
            && let Some(packet) = lane.on_line.take()
        {
            let began = port.began();
            self.events += windows.leaves_line(index, (port, &mut lane), [began, ready.at], 0, packet, packets);
        }
        loop {
            let arrival = lane.arrivals.get(lane.next).filter(|arrival| arrival.place.at < until);
            let packet = if lane.waiting > 0 || lane.is_due {
                if let Some(arrival) = arrival.filter(|arrival| arrival.place.moment() <= ready) {
                    lane.next += 1;
                    lane.waiting = port.enqueue(arrival.packet, packets);
                    continue;
                }
                if ready.at >= until {
                    break;
                }
                lane.is_due = false;
                let packet = port.dequeue(ready.at, packets);
                lane.waiting = port.waiting();
                let Some(packet) = packet else { continue };
                packet
            } else {
                let Some(Arrival { place, packet }) = arrival else { break };
                lane.next += 1;
                ready = ready.max(place.moment());
                let next = lane.arrivals.get(lane.next);
                let is_alone = ready.at == place.at && next.is_none_or(|next| next.place.moment() > ready);
                if !is_alone || !port.passes(*packet) {
                    lane.waiting = port.enqueue(*packet, packets);
                    continue;
                }
                *packet
            };
            let began = ready.at;
            let leaves = port.transmit(began, packet.octets);
            ready = Moment { at: leaves, round: if leaves == began { ready.round + 1 } else { 0 } };
            if leaves >= windows.horizon {
                port.stays_on_line(began, packet.packet);
                lane.on_line = Some(packet);
                continue;
            }
            self.events += windows.leaves_line(index, (port, &mut lane), [began, leaves], ready.round, packet, packets);
        }
        lane.tidy();
        let reaches = windows.rest_of_packets(index, port, &lane, ready.at);
        windows.lanes[index as usize] = Some(lane);
        reaches
    }
}

impl Windows {
    /// Returns an instant before which packets behind a line are given on: all that reach a port before the horizon, but
    /// to a host only those of which it is known that no other comes before them.
    #[inline]
    fn onward(&self, index: u32) -> Time {
        if self.lookahead.is_last[index as usize] { self.known_until } else { self.horizon }
    }

    /// Gives a packet on that leaves its line; `round` is that of its arrival if that is in the instant in which its service
    /// began. Returns the number of departures and arrivals.
    #[inline(always)]
    fn leaves_line<B>(
        &mut self,
        index: u32,
        (port, lane): (&mut Port, &mut PacketLane),
        [began, leaves]: [Time; 2],
        round: u32,
        packet: Queued,
        packets: &mut Packets<B>,
    ) -> u64 {
        lane.is_due = port.is_lossy();
        if !port.leaves_line(began, leaves, packet.packet, packets) {
            return 1;
        }
        let at = leaves + port.delay();
        let place = Place::new(Moment { at, round: if at == began { round } else { 0 } }, index);
        if at >= self.onward(index) {
            lane.behind.push_back(Arrival { place, packet });
            return 1;
        }
        self.pass_on(place, packet, packets);
        2
    }

    /// Gives a packet that comes to the end of a link to the next port, or to its host.
    #[inline(always)]
    pub(super) fn pass_on<B>(&mut self, place: Place, packet: Queued, packets: &mut Packets<B>) {
        match self.routes.next(packet.hop) {
            Next::Packet(port) => {
                let Some(lane) = &mut self.lanes[port as usize] else { return };
                let last = lane.arrivals.last().map(|last| last.place);
                let packet = Queued { since: place.at, hop: packet.hop + 1, ..packet };
                lane.arrivals.push(Arrival { place, packet });
                lane.is_mixed |= last.is_some_and(|last| last > place);
                self.activate(port);
            }
            Next::Cells { port, slot } => self.cut(place, packet, (port, slot), packets),
            Next::Host => self.deliveries.push(place, packet.packet, self.known_until),
        }
    }

    /// Gives a packet to a port that sends it as cells.
    #[inline(never)]
    fn cut<B>(&mut self, place: Place, packet: Queued, (port, slot): (u32, u32), packets: &mut Packets<B>) {
        let frame = packet.packet;
        let steps = self.routes.steps_before(packet.conversation, packets.way(frame), packet.hop + 1);
        packets.set_steps(frame, steps);
        self.give(port, place.moment(), place.from(), Arriving::Frame { frame, slot });
    }

    /// Returns an instant before which nothing of a line of packets reaches a host, and records before which instant of the
    /// hosts it has nothing to do. `ready` is the end of the last service.
    #[inline]
    fn rest_of_packets(&mut self, index: u32, port: &Port, lane: &PacketLane, ready: Time) -> Option<Time> {
        let arrival = lane.arrivals.get(lane.next).map(|arrival| arrival.place.at);
        let behind = lane.behind.front().map(|behind| behind.place.at);
        let serves = (lane.waiting > 0 || lane.is_due).then_some(ready);
        let ends = (lane.waiting > 0).then(|| ready + port.least_span());
        let on_line = lane.on_line.map(|_| ready);
        let Lookahead { distance, to_hosts, is_last, .. } = &self.lookahead;
        let next = min(arrival, serves).map(|at| at.since(Time::ZERO + distance[index as usize]));
        let given = behind.filter(|_| is_last[index as usize]).map(|at| at.since(Time::ZERO + *to_hosts));
        self.wakes[index as usize] = min(next, given).map_or(Time::MAX, |span| Time::ZERO + span);
        let leaves = min(min(on_line, ends), arrival);
        let reaches = min(leaves.map(|at| at + port.delay()), behind);
        match reaches {
            Some(at) => Some(at + self.lookahead.rest[index as usize]),
            None => serves.is_some().then_some(Time::MAX),
        }
    }
}

#[inline]
fn min<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
