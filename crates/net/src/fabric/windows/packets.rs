//! A line of packets on its own: its arrivals, services and departures up to an instant.

use std::collections::VecDeque;

use cellway_units::{Span, Time};

use super::routes::Next;
use super::runs::{Placed, Runs};
use super::{Arriving, Lookahead, Moment, Windows};
use crate::fabric::Fabric;
use crate::link::Unit;
use crate::packet::{PacketRef, Packets};
use crate::place::Place;
use crate::port::Port;
use crate::qdisc::Queued;

/// The packets before and behind the queue of a line of packets.
#[derive(Clone, Debug)]
pub(super) struct PacketLane {
    /// The place of the port in the order of the paths.
    place: u32,
    /// The least time from a host to the queue, the delay of the link, and the least time from its far end to a host.
    distance: Span,
    delay: Span,
    rest: Span,
    /// The least time of a packet on the line.
    least_span: Span,
    /// True if the link leads to a host, and what reaches that is known before the line runs.
    is_last: bool,
    /// Those that will come to the queue.
    arrivals: Runs<Queued>,
    /// True if the line serves at the end of the last packet in any case: a line with losses, which may have drawn one.
    is_due: bool,
    /// The number of packets that wait.
    waiting: u32,
    /// The packet on the line, if it leaves at the horizon or later.
    on_line: Option<Queued>,
    /// Packets behind the line that are not given on yet, by their arrival at the far end.
    behind: VecDeque<Placed<Queued>>,
}

impl PacketLane {
    pub(super) fn new(index: usize, port: &Port, lookahead: &Lookahead, has_feedback: bool) -> PacketLane {
        PacketLane {
            place: lookahead.place[index],
            distance: lookahead.distance[index],
            delay: port.delay(),
            rest: lookahead.rest[index],
            least_span: port.least_span(),
            is_last: lookahead.is_last[index] && !has_feedback,
            arrivals: Runs::default(),
            is_due: false,
            waiting: 0,
            on_line: None,
            behind: VecDeque::new(),
        }
    }
}

impl PacketLane {
    /// Takes the packets over that are in the queue, on the line and on the link of port `index` at `now`.
    pub(super) fn take<B>(&mut self, now: Time, index: u32, port: &mut Port, packets: &Packets<B>) {
        self.waiting = port.waiting();
        port.hold_back(now);
        if let Some(Unit::Packet(packet)) = port.on_line() {
            self.on_line = Some(packets.queued(port.began(), packet));
        }
        while let Some(at) = port.next_arrival() {
            let (Unit::Packet(packet), _) = port.arrival() else { unreachable!("a line of packets sends no cells") };
            self.behind
                .push_back(Placed { place: Place::new(Moment::first(at), index), item: packets.queued(at, packet) });
        }
    }

    /// Gives the packets behind the line to the link; appends all that are at the port to `frames`.
    pub(super) fn give_back(&mut self, port: &mut Port, frames: &mut Vec<PacketRef>) {
        debug_assert!(self.arrivals.first().is_none() && !self.is_due, "a line has run up to the horizon");
        port.view_waiting(usize::MAX, |piece| frames.push(piece.frame));
        frames.extend(self.on_line.take().map(|packet| packet.packet));
        for Placed { place, item } in self.behind.drain(..) {
            port.put_on_link(place.at, item.packet);
            frames.push(item.packet);
        }
    }
}

impl<B: Clone> Fabric<B> {
    /// As [`Fabric::run_line`] for a line of packets.
    #[inline(never)]
    pub(super) fn run_packets(&mut self, windows: &mut Windows, index: u32) -> Option<Time> {
        let mut lane = windows.lanes[index as usize].take()?;
        lane.arrivals.settle();
        let until = windows.known(index).at;
        // Of those for a host no other may come before them.
        let onward = if lane.is_last { windows.known_until } else { windows.horizon };
        let (mut events, horizon) = (0, windows.horizon);
        let (port, packets) = (&mut self.ports[index as usize], &mut self.packets);
        if !lane.behind.is_empty() || lane.on_line.is_some() {
            events += windows.resume(index, (port, &mut lane), onward, packets);
        }
        let mut ready = Moment::first(port.free_at());
        loop {
            let arrival = lane.arrivals.first().filter(|arrival| arrival.place.at < until);
            let packet = if lane.waiting > 0 || lane.is_due {
                if let Some(arrival) = arrival.filter(|arrival| arrival.place.moment() <= ready) {
                    lane.waiting = port.enqueue(arrival.item, packets);
                    lane.arrivals.advance();
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
                let Some(&Placed { place, item: packet }) = arrival else { break };
                lane.arrivals.advance();
                ready = ready.max(place.moment());
                let next = lane.arrivals.first();
                let is_alone = ready.at == place.at && next.is_none_or(|next| next.place.moment() > ready);
                if !is_alone || !port.passes(packet) {
                    lane.waiting = port.enqueue(packet, packets);
                    continue;
                }
                packet
            };
            let began = ready.at;
            let leaves = port.transmit(began, packet.octets);
            ready = Moment { at: leaves, round: if leaves == began { ready.round + 1 } else { 0 } };
            if leaves >= horizon {
                port.stays_on_line(began, packet.packet);
                lane.on_line = Some(packet);
                continue;
            }
            let instants = [began, leaves, onward];
            events += windows.departs(index, (port, &mut lane), instants, ready.round, packet, packets);
        }
        self.events += events;
        lane.arrivals.tidy();
        let reaches = windows.rest_of_packets(&lane, ready.at);
        windows.lanes[index as usize] = Some(lane);
        reaches
    }
}

impl Windows {
    /// Gives on what earlier passes have left behind a line and on it. Returns the number of departures and arrivals.
    #[inline(never)]
    fn resume<B>(
        &mut self,
        index: u32,
        (port, lane): (&mut Port, &mut PacketLane),
        onward: Time,
        packets: &mut Packets<B>,
    ) -> u64 {
        let mut events = 0;
        while let Some(&Placed { place, item: packet }) = lane.behind.front().filter(|behind| behind.place.at < onward)
        {
            lane.behind.pop_front();
            events += 1;
            self.pass_on(place, packet, packets);
        }
        let leaves = port.free_at();
        if leaves < self.horizon
            && let Some(packet) = lane.on_line.take()
        {
            let began = port.began();
            events += self.departs(index, (port, lane), [began, leaves, onward], 0, packet, packets);
        }
        events
    }

    /// Gives a packet on that leaves its line, if it arrives before `onward`; `round` is that of its arrival if that is in the
    /// instant in which its service began. Returns the number of departures and arrivals.
    #[inline(always)]
    fn departs<B>(
        &mut self,
        index: u32,
        (port, lane): (&mut Port, &mut PacketLane),
        [began, leaves, onward]: [Time; 3],
        round: u32,
        packet: Queued,
        packets: &mut Packets<B>,
    ) -> u64 {
        lane.is_due = port.is_lossy();
        if !port.leaves_line(began, leaves, packet.packet, packets) {
            return 1;
        }
        let at = leaves + lane.delay;
        let place = Place::new(Moment { at, round: if at == began { round } else { 0 } }, index);
        if at >= onward {
            lane.behind.push_back(Placed { place, item: packet });
            return 1;
        }
        self.pass_on(place, packet, packets);
        2
    }

    /// Gives a packet that comes to the end of a link to the next port, or to its host.
    #[inline(always)]
    pub(super) fn pass_on<B>(&mut self, place: Place, packet: Queued, packets: &mut Packets<B>) {
        let hop = if packet.hop == Queued::UNKNOWN { self.look_up(packet, packets) } else { packet.hop };
        match self.routes.next(hop) {
            Next::Packet(port) => {
                let Some(lane) = &mut self.lanes[port as usize] else { return };
                let packet = Queued { since: place.at, hop: hop + 1, ..packet };
                // A line with arrivals is active, and wakes for the first.
                if lane.arrivals.push(place, packet) {
                    let place = lane.place;
                    self.activate_place(place);
                }
            }
            Next::Cells { port, slot } => self.cut(place, Queued { hop, ..packet }, (port, slot), packets),
            Next::Host => self.deliveries.push(place, packet.packet, self.known_until),
        }
    }

    /// Returns the next step of a packet that has come here event by event.
    #[cold]
    fn look_up<B>(&self, packet: Queued, packets: &Packets<B>) -> u32 {
        let (_, way, steps) = packets.position(packet.packet);
        self.routes.place(packet.conversation, way, steps)
    }

    /// Gives a packet to a port that sends it as cells.
    #[inline(never)]
    fn cut<B>(&mut self, place: Place, packet: Queued, (port, slot): (u32, u32), packets: &mut Packets<B>) {
        let frame = packet.packet;
        let steps = self.routes.steps_before(packet.conversation, packets.way(frame), packet.hop + 1);
        packets.set_steps(frame, steps);
        self.give(port, place.moment(), place.from(), Arriving::Frame { frame, slot });
    }

    /// Returns an instant before which nothing of a line of packets reaches a host, and records up to which instant hosts may
    /// send before it has anything to do. `ready` is the end of the last service.
    #[inline]
    fn rest_of_packets(&mut self, lane: &PacketLane, ready: Time) -> Option<Time> {
        let arrival = lane.arrivals.first().map_or(Time::MAX, |arrival| arrival.place.at);
        let behind = lane.behind.front().map_or(Time::MAX, |behind| behind.place.at);
        let is_serving = lane.waiting > 0 || lane.is_due;
        let serves = if is_serving { ready } else { Time::MAX };
        let mut leaves = if lane.on_line.is_some() { ready } else { arrival };
        if lane.waiting > 0 {
            leaves = leaves.min(ready + lane.least_span);
        }
        let next = arrival.min(serves).since(Time::ZERO + lane.distance);
        let given = if lane.is_last { behind.since(Time::ZERO + self.lookahead.to_hosts) } else { Span::MAX };
        self.stations[lane.place as usize].wakes = Time::ZERO + next.min(given);
        let reaches = (leaves + lane.delay).min(behind);
        (reaches < Time::MAX || is_serving).then(|| reaches + lane.rest)
    }
}
