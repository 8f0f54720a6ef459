//! The events of an instant: departures, arrivals, releases, service.

use cellway_units::{Bytes, Time};

use super::{Fabric, Step};
use crate::calendar::Event;
use crate::cell::Cell;
use crate::channel::NextHop;
use crate::faults::Arrives;
use crate::ids::{NodeId, PortId};
use crate::light::Full;
use crate::link::Unit;
use crate::packet::{Delivery, Packet, PacketRef, Packets};
use crate::port::{LineState, Passed};
use crate::qdisc::Queued;
use crate::rm_cells::RmCells;
use crate::tap::{Direction, TapRecord, TapUnit};

impl<B: Clone> Fabric<B> {
    /// Sends a packet of the host `packet.from` on its line.
    ///
    /// # Panics
    ///
    /// If its conversation is not open, or not one between such hosts.
    pub fn send(&mut self, now: Time, packet: Packet<B>) {
        let conversation = self.conversations[packet.conversation as usize].as_ref();
        let conversation = conversation.expect("packets belong to conversations that are open");
        let way = conversation.way(packet.from, packet.to);
        let entry = packet.queue_entry(now);
        let packet = self.packets.insert(now, packet, way);
        if self.windows.is_some() {
            return self.send_in_windows(now, Queued { packet, ..entry }, way);
        }
        self.forward(now, packet);
    }

    /// Takes back the memory of packets that their hosts have received, for others, and empties `delivered`.
    #[inline]
    pub fn recycle(&mut self, delivered: &mut Vec<Delivery<B>>) {
        self.packets.recycle(delivered);
    }

    /// Advances to the first instant before `limit` in which packets reach their hosts, appends the packets to
    /// `delivered`, and returns the instant. The caller lets the hosts react, and then calls [`Fabric::serve`]. Returns
    /// `None` if no packet reaches a host before `limit`.
    pub fn run(&mut self, limit: Time, delivered: &mut Vec<Delivery<B>>) -> Option<Time> {
        if self.windows.is_some() {
            return self.run_windows(limit, delivered);
        }
        loop {
            let now = self.calendar.next().filter(|&at| at < limit)?;
            if self.happens_alone(now, delivered) {
                if !delivered.is_empty() {
                    return Some(now);
                }
                self.serve_called(now);
                continue;
            }
            self.advance(now, delivered);
            if !delivered.is_empty() {
                return Some(now);
            }
            self.serve(now);
        }
    }

    /// The fast path for an instant with a single event, as most have: a departure with the service that follows it, or
    /// an arrival. Returns false, and does nothing, if [`Fabric::advance`] is needed.
    #[inline]
    fn happens_alone(&mut self, now: Time, delivered: &mut Vec<Delivery<B>>) -> bool {
        if self.tap.is_some() || !self.to_serve.is_empty() {
            return false;
        }
        match self.calendar.alone() {
            Some(Event::Departure(index)) => {
                let port = &mut self.ports[index as usize];
                if !port.is_ahead() && (port.is_instant() || port.duplicates()) {
                    return false;
                }
                self.events += 1;
                self.cell_hops += u64::from(port.depart(now));
                let arrives = port.departed().and_then(|unit| match port.outcome(now) {
                    None => {
                        lose(unit, &mut self.packets, &mut self.rms);
                        None
                    }
                    Some(Arrives { corrupted, .. }) => {
                        if corrupted {
                            corrupt(unit, &mut self.packets);
                        }
                        port.propagate(now, unit)
                    }
                });
                let started = port.serve(now, &mut self.packets, &mut self.rms, true);
                // A port whose units wait for their departure before the link takes them lets none go ahead, except behind a
                // packet that a change has held back.
                if let (Some(_), Some(at)) = (arrives, started.and_then(|started| started.arrives)) {
                    self.calendar.add(at, Event::Arrival(index));
                }
                let arrives = arrives.or(started.and_then(|started| started.arrives));
                let leaves = started.and_then(|started| started.departs);
                // The next event replaces the departure in the calendar.
                match (arrives, leaves) {
                    (Some(arrives), _) => self.calendar.replace_first(arrives, Event::Arrival(index)),
                    (None, Some(leaves)) => self.calendar.replace_first(leaves, Event::Departure(index)),
                    (None, None) => self.calendar.pop(),
                }
                if let Some(leaves) = leaves.filter(|_| arrives.is_some()) {
                    self.calendar.add(leaves, Event::Departure(index));
                }
                if started.is_none()
                    && let Some(at) = port.ask()
                {
                    self.calendar.add(at, Event::Release(index));
                }
                true
            }
            Some(Event::Arrival(index)) => {
                let port = &mut self.ports[index as usize];
                let Some((unit, next)) = port.arrival_alone(now) else { return false };
                self.events += u64::from(port.depart_unawaited(now));
                let node = port.to;
                if let Unit::Packet(packet) = unit {
                    self.packet_comes_alone(now, index, next, (node, packet), delivered);
                } else {
                    match next {
                        Some(at) => self.calendar.replace_first(at, Event::Arrival(index)),
                        None => self.calendar.pop(),
                    }
                    self.arrive(now, index, unit, delivered);
                }
                true
            }
            _ => false,
        }
    }

    /// Processes all events at `now`, except for the service of lines. Packets that reach their hosts are appended to
    /// `delivered`.
    pub fn advance(&mut self, now: Time, delivered: &mut Vec<Delivery<B>>) {
        if self.windows.is_some() {
            return self.advance_windows(now, delivered);
        }
        while let Some(port) = self.calendar.departure(now) {
            self.calendar.pop();
            self.depart(now, port);
        }
        while let Some(port) = self.calendar.entry(now) {
            self.calendar.pop();
            self.enter(now, port);
        }
        // Departures came in order of ports, so those over links without delay are sorted too.
        let mut next_instant = 0;
        loop {
            let instant = self.instant.get(next_instant).copied();
            match (instant, self.calendar.arrival(now)) {
                (Some(port), pending) if pending.is_none_or(|p| port < p) => {
                    next_instant += 1;
                    let unit = self.ports[port as usize].departed().expect("it left in this instant");
                    self.arrive(now, port, unit, delivered);
                }
                (_, Some(port)) => {
                    let from = &mut self.ports[port as usize];
                    self.events += u64::from(from.depart_unawaited(now));
                    let (unit, next) = from.arrival();
                    match next {
                        Some(at) => self.calendar.replace_first(at, Event::Arrival(port)),
                        None => self.calendar.pop(),
                    }
                    self.arrive(now, port, unit, delivered);
                }
                (_, None) => break,
            }
        }
        self.instant.clear();
    }

    /// Releases cells that were held until now; then each free line with something to send takes its next unit.
    pub fn serve(&mut self, now: Time) {
        if self.calendar.next() == Some(now) {
            self.release(now);
        }
        self.serve_called(now);
    }

    /// Starts the next unit on each port of the list.
    #[inline]
    fn serve_called(&mut self, now: Time) {
        if !self.to_serve.is_empty() {
            self.serve_all(now);
        }
    }

    fn serve_all(&mut self, now: Time) {
        while let Some(index) = self.to_serve.pop() {
            let port = &mut self.ports[index as usize];
            port.called = false;
            if let Some(started) = port.serve(now, &mut self.packets, &mut self.rms, self.tap.is_none()) {
                if let Some(at) = started.departs {
                    self.calendar.add(at, Event::Departure(index));
                }
                if let Some(at) = started.arrives {
                    self.calendar.add(at, Event::Arrival(index));
                }
            } else if let Some(at) = port.ask() {
                self.calendar.add(at, Event::Release(index));
            }
        }
    }

    /// Processes the releases, the only events left of this instant.
    #[inline(never)]
    fn release(&mut self, now: Time) {
        while let Some(port) = self.calendar.release(now) {
            self.calendar.pop();
            let released = &mut self.ports[port as usize];
            match released.server_mut() {
                Some(server) => server.held().called(now),
                // A packet line holds nothing back: its queue is emptied now.
                None => {
                    if let Some(at) = released.flush(now, &mut self.packets) {
                        self.calendar.add(at, Event::Release(port));
                    }
                }
            }
            self.call(port);
        }
    }

    fn depart(&mut self, now: Time, index: u32) {
        self.events += 1;
        if self.tap.is_some()
            && let Some(unit) = self.ports[index as usize].on_line()
        {
            self.observe(now, index, Direction::Out, unit);
        }
        let port = &mut self.ports[index as usize];
        let is_on_link = port.is_ahead();
        self.cell_hops += u64::from(port.depart(now));
        if !is_on_link {
            match port.outcome(now) {
                None => {
                    if let Some(unit) = port.departed() {
                        lose(unit, &mut self.packets, &mut self.rms);
                    }
                }
                Some(Arrives { twice, corrupted }) => {
                    if let Some(unit) = port.on_line().filter(|_| corrupted) {
                        corrupt(unit, &mut self.packets);
                    }
                    // Packets that pass the queue are on the link in the same instant, so there is more than one.
                    if port.is_instant() && port.light().is_none() {
                        self.instant.push(index);
                    } else {
                        match port.departed() {
                            Some(Unit::Packet(packet)) if twice => self.arrives_twice(now, index, packet),
                            Some(unit) => {
                                if let Some(at) = port.propagate(now, unit) {
                                    self.calendar.add(at, Event::Arrival(index));
                                }
                            }
                            None => {}
                        }
                    }
                }
            }
        }
        let port = &mut self.ports[index as usize];
        if !port.called {
            port.called = true;
            self.to_serve.push(index);
        }
    }

    fn arrive(&mut self, now: Time, index: u32, unit: Unit, delivered: &mut Vec<Delivery<B>>) {
        self.events += 1;
        if self.tap.is_some() {
            self.observe(now, index, Direction::In, unit);
        }
        match unit {
            Unit::Cell(cell) if cell.flags.is_rm() => self.rm_arrives(now, index, cell),
            Unit::Cell(cell) => self.cell_arrives(now, index, cell, delivered),
            Unit::Packet(packet) => self.packet_arrives(now, self.ports[index as usize].to, packet, delivered),
        }
    }

    #[inline]
    fn cell_arrives(&mut self, now: Time, index: u32, mut cell: Cell, delivered: &mut Vec<Delivery<B>>) {
        // Passes `cell` by value: a reference would force it onto the stack, about a tenth of the time of a hop.
        if self.ports[index as usize].of_cells().abr.is_some() {
            let (flags, reports) = self.at_destination(index, cell);
            cell.flags = flags;
            if let Some((to, control)) = reports {
                self.control_comes(now, to, control);
            }
        }
        let from = &self.ports[index as usize];
        match from.next_hop(cell.slot) {
            NextHop::Forward { port, slot } => {
                let next = &mut self.ports[port.0 as usize];
                if next.push_cell(now, slot, cell, &self.packets) {
                    self.call(port.0);
                } else {
                    self.packets.lose(cell.frame, 1, cell.count);
                }
            }
            NextHop::Reassemble(channel) => {
                let node = from.to;
                let losses = &mut self.nodes[node.0 as usize].1;
                let channel = &mut self.reassembly[channel.0 as usize];
                if let Some(packet) = channel.accept(cell, &mut self.packets, losses) {
                    self.packet_arrives(now, node, packet, delivered);
                }
            }
        }
    }

    /// Processes an RM cell that has arrived over port `index`: it is marked, and ends here or continues like data.
    #[inline(never)]
    fn rm_arrives(&mut self, now: Time, index: u32, cell: Cell) {
        if let Some(marker) = self.marker(index, cell) {
            self.mark(now, marker, cell);
        }
        let (to, control) = self.beyond_link(index, cell);
        if self.control_comes(now, to, control) {
            self.call(to.0);
        }
    }

    /// Processes a whole packet at `node`: its host receives it, any other node forwards it.
    fn packet_arrives(&mut self, now: Time, node: NodeId, frame: PacketRef, delivered: &mut Vec<Delivery<B>>) {
        if self.packets.get(frame).to == node {
            delivered.push(self.packets.deliver(frame));
        } else {
            self.forward(now, frame);
        }
    }

    /// Returns a packet and the next step on its path.
    #[inline(always)]
    pub(super) fn next_step(&self, frame: PacketRef) -> (&Packet<B>, Step) {
        let (packet, way, behind) = self.packets.position(frame);
        let conversation = self.conversations[packet.conversation as usize].as_ref();
        let conversation = conversation.expect("packets belong to conversations that are open");
        (packet, conversation.ways()[way][behind])
    }

    /// Handles a packet that arrives at `node` from port `index` as the only event of its instant: an idle packet line
    /// sends it without queueing. `next` is the next arrival from that port.
    #[inline]
    fn packet_comes_alone(
        &mut self,
        now: Time,
        index: u32,
        next: Option<Time>,
        (node, frame): (NodeId, PacketRef),
        delivered: &mut Vec<Delivery<B>>,
    ) {
        self.events += 1;
        let mut onward = None;
        if self.packets.get(frame).to == node {
            delivered.push(self.packets.deliver(frame));
        } else if let (_, Step::Packet(port)) = self.next_step(frame) {
            let queued = self.packets.queued(now, frame);
            self.packets.step(frame);
            match self.ports[port.0 as usize].pass(now, queued) {
                Some(Passed { departed, arrives }) => {
                    self.events += u64::from(departed);
                    onward = arrives.map(|at| (at, Event::Arrival(port.0)));
                }
                None => self.queue_packet(now, port, frame),
            }
        } else {
            self.forward(now, frame);
        }
        // The next event replaces the arrival in the calendar.
        match (next, onward) {
            (Some(at), onward) => {
                self.calendar.replace_first(at, Event::Arrival(index));
                if let Some((at, event)) = onward {
                    self.calendar.add(at, event);
                }
            }
            (None, Some((at, event))) => self.calendar.replace_first(at, event),
            (None, None) => self.calendar.pop(),
        }
    }

    /// Sends a packet on from its current node, whole or as cells.
    fn forward(&mut self, now: Time, frame: PacketRef) {
        let (packet, step) = self.next_step(frame);
        let octets = packet.octets;
        self.packets.step(frame);
        let (port, slot) = match step {
            Step::Packet(port) => return self.queue_packet(now, port, frame),
            Step::Cells { port, slot } => (port, slot),
        };
        let count = self.encapsulation.cells(Bytes(u64::from(octets))).0 as u16;
        let out = &mut self.ports[port.0 as usize];
        let lost = out.push_frame(now, slot, frame, count, &self.packets);
        if lost == count {
            return self.packets.refuse(frame);
        }
        if lost > 0 {
            self.packets.lose(frame, lost, count);
        }
        self.call(port.0);
    }

    fn queue_packet(&mut self, now: Time, port: PortId, packet: PacketRef) {
        let out = &mut self.ports[port.0 as usize];
        if let Some(light) = out.light() {
            let octets = self.packets.get(packet).octets;
            match light.push(now, octets, packet) {
                Ok(Some(at)) => self.calendar.add(at, Event::Entry(port.0)),
                Ok(None) => {}
                Err(Full) => {
                    out.count_refused();
                    self.packets.refuse(packet);
                }
            }
            return;
        }
        self.push_packet(now, port, packet);
    }

    /// Puts a packet into the queue of a port.
    pub(super) fn push_packet(&mut self, now: Time, port: PortId, packet: PacketRef) {
        let out = &mut self.ports[port.0 as usize];
        if !out.push_packet(now, packet, &mut self.packets) {
            return;
        }
        match out.line_state(now) {
            LineState::Free { departed } => {
                self.events += u64::from(departed);
                self.call(port.0);
            }
            LineState::BusyUntil(at) => self.calendar.add(at, Event::Departure(port.0)),
            LineState::Busy => {}
        }
    }

    /// Puts an idle port on the list of those to serve.
    #[inline]
    pub(super) fn call(&mut self, index: u32) {
        let port = &mut self.ports[index as usize];
        if port.is_idle() && !port.called {
            port.called = true;
            self.to_serve.push(index);
        }
    }

    #[cold]
    pub(super) fn observe(&mut self, at: Time, index: u32, direction: Direction, unit: Unit) {
        let port = &self.ports[index as usize];
        let node = match direction {
            Direction::In => port.to,
            Direction::Out => port.node,
        };
        let Some(tap) = self.tap.as_mut().filter(|tap| tap.node == node) else { return };
        let (unit, channel) = match unit {
            Unit::Cell(cell) if cell.flags.is_rm() => return,
            Unit::Cell(cell) => {
                let channel = port.server().map(|server| server.channel(cell.slot));
                (TapUnit::Cell(cell, self.packets.get(cell.frame).clone()), channel)
            }
            Unit::Packet(packet) => (TapUnit::Packet(self.packets.get(packet).clone()), None),
        };
        tap.records.push(TapRecord { at, port: PortId(index), direction, channel, unit });
    }
}

/// Marks a packet that has been corrupted on a link.
#[cold]
pub(super) fn corrupt<B>(unit: Unit, packets: &mut Packets<B>) {
    if let Unit::Packet(packet) = unit {
        packets.corrupt(packet);
    }
}

/// Removes a unit that has left its line and never arrives.
#[cold]
pub(super) fn lose<B>(unit: Unit, packets: &mut Packets<B>, rms: &mut RmCells) {
    match unit {
        Unit::Cell(cell) if cell.flags.is_rm() => rms.remove(cell),
        Unit::Cell(cell) => packets.lose(cell.frame, 1, cell.count),
        Unit::Packet(packet) => packets.lose(packet, 1, 1),
    }
}
