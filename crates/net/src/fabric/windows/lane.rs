//! A line on its own: its arrivals, departures and services up to an instant, and the way of its units behind the link.

use cellway_units::{Bytes, Time};

use super::{Arriving, Moment, Windows};
use crate::channel::NextHop;
use crate::fabric::Fabric;
use crate::fabric::handle::lose;
use crate::ids::{NodeId, PortId};
use crate::link::Unit;
use crate::packet::PacketRef;
use crate::place::Place;

impl<B: Clone> Fabric<B> {
    /// Lets a line run through all that is known. If it has something to do later, returns an instant before which that
    /// reaches no host.
    #[inline(never)]
    pub(super) fn run_line(&mut self, windows: &mut Windows, index: u32) -> Option<Time> {
        let until = windows.known(index);
        let mut inputs = std::mem::take(&mut windows.inputs[index as usize]);
        inputs.settle();
        // The departure of the last unit; and the next service, if there is one in any case.
        let mut leaves = Moment::first(self.ports[index as usize].free_at());
        let mut due = windows.due[index as usize].map(Moment::first);
        if self.ports[index as usize].on_line().is_some() && leaves.at < windows.horizon {
            self.leaves_line(windows, leaves, index);
            due = Some(leaves);
        }
        loop {
            let port = &mut self.ports[index as usize];
            let is_sending = !port.is_idle();
            let now = match due {
                Some(due) => due,
                None if is_sending => leaves,
                None => {
                    let release = port.next_release().map(Moment::first);
                    let Some(now) = inputs.first().into_iter().chain(release).min() else { break };
                    now
                }
            };
            // The arrivals up to the service, or as many of them as are known.
            let mut comes = false;
            while let Some((place, unit)) = inputs.take(now, until) {
                self.comes(windows, place, index, unit);
                comes = true;
            }
            if now.at >= until.at {
                if comes && !is_sending {
                    due = Some(now);
                }
                break;
            }
            if is_sending {
                self.leaves_line(windows, now, index);
            }
            due = None;
            if let Some(leaves) = self.send_paced(windows, index, [now.at, until.at], inputs.first()) {
                due = Some(Moment::first(leaves));
                continue;
            }
            let port = &mut self.ports[index as usize];
            if port.serve(now.at, &mut self.packets, &mut self.rms, true).is_some() {
                let at = port.free_at();
                leaves = Moment { at, round: if at == now.at { now.round + 1 } else { 0 } };
                if at < windows.horizon {
                    // Lines behind it are to know what leaves as soon as it is served.
                    self.leaves_line(windows, leaves, index);
                    due = Some(leaves);
                }
            }
        }
        let due = due.map(|due| due.at);
        windows.due[index as usize] = due;
        inputs.tidy();
        let arrival = inputs.first().map(|moment| moment.at);
        windows.inputs[index as usize] = inputs;
        self.leave_link(windows, index);
        let port = &self.ports[index as usize];
        // A busy line goes on with a later horizon.
        let serves = if port.is_idle() { due.or(port.next_release()) } else { None };
        windows.wakes_at(index, arrival.into_iter().chain(serves).min());
        windows.rest_of(index, port, arrival, serves.is_some())
    }

    /// Sends cells that a shaper or an ABR source spaces, from the first of two instants on and before the second and the next
    /// arrival; returns the departure of the last.
    fn send_paced(
        &mut self,
        windows: &mut Windows,
        index: u32,
        [now, until]: [Time; 2],
        comes: Option<Moment>,
    ) -> Option<Time> {
        let port = &mut self.ports[index as usize];
        if port.waiting() < 2 || port.decides()?.services {
            return None;
        }
        let before = comes.map_or(until, |moment| moment.at.min(until));
        let (run, pace) = port.send_shaped(now, before, windows.horizon, &self.packets)?;
        self.cell_hops += u64::from(run.cells);
        self.events += u64::from(run.cells);
        // Cells that have left before come to the next line before these.
        self.leave_link(windows, index);
        self.reports(windows, Moment::first(run.first.at()), index, run.cell);
        self.run_goes_on(windows, index, run, pace);
        Some(run.leaves)
    }

    /// Handles the departure of the cell on a line.
    #[inline]
    pub(super) fn leaves_line(&mut self, windows: &mut Windows, now: Moment, index: u32) {
        let port = &mut self.ports[index as usize];
        self.events += 1;
        self.cell_hops += u64::from(port.depart(now.at));
        let Some(unit) = port.departed() else { return };
        if port.outcome(now.at).is_none() {
            return lose(unit, &mut self.packets, &mut self.rms);
        }
        port.propagate(now.at, unit);
        windows.leaves(index, now);
    }

    /// Takes a unit at the port that it has come to.
    #[inline]
    pub(super) fn comes(&mut self, windows: &mut Windows, place: Place, index: u32, unit: Arriving) {
        let now = place.at;
        let port = &mut self.ports[index as usize];
        match unit {
            Arriving::ToMark { cell, slot } => self.mark_comes(windows, place, (index, slot), cell),
            Arriving::Control(control) => {
                self.control_comes(now, PortId(index), control);
            }
            Arriving::Train(_) | Arriving::Rotation(_) => unreachable!("a group is taken cell by cell"),
            Arriving::Cell(cell) => {
                if !port.push_cell(now, cell.slot, cell, &self.packets) {
                    self.packets.lose(cell.frame, 1, cell.count);
                }
            }
            Arriving::Frame { frame, slot } => {
                let octets = self.packets.get(frame).octets;
                let count = self.encapsulation.cells(Bytes(u64::from(octets))).0 as u16;
                let lost = port.push_frame(now, slot, frame, count, &self.packets);
                if lost == count {
                    self.packets.refuse(frame);
                } else if lost > 0 {
                    self.packets.lose(frame, lost, count);
                }
            }
        }
    }

    /// Gives the units that reach the far end before the horizon to the next ports, or to their hosts.
    pub(super) fn leave_link(&mut self, windows: &mut Windows, index: u32) {
        let is_at_once = windows.lookahead.is_at_once[index as usize];
        loop {
            let port = &mut self.ports[index as usize];
            let Some(at) = port.next_arrival().filter(|&at| at < windows.horizon) else { return };
            let (unit, _) = port.arrival();
            self.events += 1;
            let node = port.to;
            let round = if is_at_once {
                windows.rounds.get_mut(&index).and_then(|all| all.pop_front()).unwrap_or(0)
            } else {
                0
            };
            let moment = Moment { at, round };
            match unit {
                Unit::Packet(_) => unreachable!("a line of cells sends no packets"),
                Unit::Cell(cell) if cell.flags.is_rm() => self.rm_leaves_link(windows, at, index, cell),
                Unit::Cell(mut cell) => {
                    if port.of_cells().abr.is_some() {
                        cell.flags = self.reports(windows, moment, index, cell);
                    }
                    match self.ports[index as usize].next_hop(cell.slot) {
                        NextHop::Forward { port, slot } => {
                            cell.slot = slot;
                            windows.give(port.0, moment, index, Arriving::Cell(cell));
                        }
                        NextHop::Reassemble(channel) => {
                            let losses = &mut self.nodes[node.0 as usize].1;
                            let channel = &mut self.reassembly[channel.0 as usize];
                            if let Some(packet) = channel.accept(cell, &mut self.packets, losses) {
                                self.reaches(windows, moment, index, node, packet);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Handles a whole packet at a node: its host receives it, any other node forwards it.
    #[inline]
    pub(super) fn reaches(
        &mut self,
        windows: &mut Windows,
        moment: Moment,
        from: u32,
        node: NodeId,
        packet: PacketRef,
    ) {
        if self.packets.get(packet).to == node {
            windows.deliveries.push(Place::new(moment, from), packet, windows.known_until);
        } else {
            self.forward_in_windows(windows, moment, from, packet);
        }
    }
}
