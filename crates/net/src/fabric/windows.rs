//! Windows in place of a calendar: each line runs through all that it can know at once.
//!
//! A packet that a host sends needs some time to the next line, more to the one behind it, and still more to a host that
//! could answer. So as long as all packets that hosts send before `T` are known, a line is known up to `T` and the least
//! time that any packet needs from a host to its queue. A pass takes the lines in the order of the paths, and each runs
//! through its arrivals, departures and services up to that instant, without a calendar. The order of events at each line
//! is that of the crate's page; lines share nothing, so their order among each other does not matter. Where lines wait for each
//! other, each is known up to an instant of its own (`feedback.rs`).

mod active;
mod cells;
mod deliveries;
mod enter;
mod feedback;
mod graph;
mod inputs;
mod lane;
mod live;
mod packets;
mod rm_cells;
mod routes;
mod runs;
mod train;

use std::collections::{BTreeMap, VecDeque};

use cellway_units::Time;

use active::ActiveSet;
use deliveries::Deliveries;
use feedback::Feedback;
pub(super) use graph::Lookahead;
use inputs::Inputs;
pub(super) use inputs::{Arriving, Moment};
use packets::PacketLane;
pub(super) use routes::Routes;

use super::Fabric;
use crate::cell::Cell;
use crate::link::Unit;
use crate::packet::{Delivery, PacketRef};
use crate::place::Place;
use crate::port::{Decides, Port};
use crate::qdisc::Queued;

/// The number in place of a port for packets that come from the host itself: after all that arrive at the instant.
const HOST: u32 = u32::MAX;

/// The way in which a line runs.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Packets.
    Packets,
    /// Cells, with what is decided by the cell.
    Cells(Decides),
    /// Cells one by one: those that take less than a picosecond each, or are of ABR control loops.
    Single,
}

impl Kind {
    /// The way of a port; `is_of_loop` is true if an ABR control loop runs over it.
    fn of(port: &Port, is_of_loop: bool) -> Kind {
        match (port.cells().is_some(), port.decides()) {
            (false, _) => Kind::Packets,
            (true, Some(decides)) if !is_of_loop => Kind::Cells(decides),
            (true, _) => Kind::Single,
        }
    }
}

/// A port, at its place in the order of the paths.
#[derive(Clone, Copy, Debug)]
struct Station {
    port: u32,
    kind: Kind,
    /// The instant up to which hosts may send before the port has anything to do, if nothing else comes to it.
    wakes: Time,
    /// An instant before which nothing of it reaches a host.
    reaches: Time,
}

/// A network that runs in windows.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    lookahead: Lookahead,
    /// Set if lines wait for each other, so that none is known as far as its distance from the hosts.
    feedback: Option<Feedback>,
    routes: Box<Routes>,
    /// The units that will come to each port of cells.
    inputs: Vec<Inputs>,
    /// The trains and rotations behind each line of cells that reach the far end at the horizon or later. Those on the link
    /// itself come before them.
    behind: Vec<Option<Box<Inputs>>>,
    /// The packets before and behind the queue of each port of packets.
    lanes: Vec<Option<Box<PacketLane>>>,
    stations: Vec<Station>,
    /// The stations with something to do.
    active: ActiveSet,
    /// Packets that reach their hosts.
    deliveries: Deliveries,
    /// Reused from call to call: the members of a rotation.
    members: Vec<Cell>,
    /// The instant at which each port of single cells serves next, if that is known: the end of the last unit, or the arrival
    /// of one in an instant of which others may come. Empty if there is no such port.
    due: Vec<Option<Time>>,
    /// The rounds in which the units on the links of lines without time and delay arrive.
    rounds: BTreeMap<u32, VecDeque<u32>>,
    /// The round of the instant that the hosts are in.
    round: u32,
    /// No packet inside the network reaches a host before this instant, but for those in `deliveries`.
    quiet_until: Time,
    /// True if the horizon is always the present instant, as in an emulation.
    is_live: bool,
    /// All packets that hosts send before this instant are known.
    sent_until: Time,
    /// All deliveries before this instant are known.
    known_until: Time,
    /// Nothing is read or changed before this instant.
    horizon: Time,
}

impl Windows {
    #[inline]
    fn activate(&mut self, port: u32) {
        self.activate_place(self.lookahead.place[port as usize]);
    }

    #[inline]
    fn activate_place(&mut self, place: u32) {
        self.active.insert(place);
        self.stations[place as usize].wakes = Time::ZERO;
    }

    /// Returns the place among the arrivals of a port before which all are known.
    #[inline]
    fn known(&self, port: u32) -> Place {
        match &self.feedback {
            None => {
                let at = self.sent_until + self.lookahead.distance[port as usize];
                Place { at: at.min(self.horizon), within: 0 }
            }
            Some(feedback) => feedback.known(port),
        }
    }

    /// Returns an instant before which nothing happens at any port of lines that wait for each other, if it is before the horizon.
    fn next_event(&self) -> Time {
        let next = self.active.iter().map(|place| {
            let Station { port, wakes, .. } = self.stations[place as usize];
            match wakes {
                Time::ZERO => self.known(port).at,
                wakes => wakes + self.lookahead.distance[port as usize],
            }
        });
        next.min().unwrap_or(Time::MAX)
    }

    /// Records the instant of the next event of a port, if nothing else comes to it: it does nothing before it is known up to then.
    #[inline]
    fn wakes_at(&mut self, port: u32, next: Option<Time>) {
        let place = self.lookahead.place[port as usize] as usize;
        let distance = self.lookahead.distance[port as usize];
        self.stations[place].wakes = next.map_or(Time::MAX, |next| Time::ZERO + next.since(Time::ZERO + distance));
    }

    /// Records the round in which a unit leaves a line that may take no time, over a link without delay.
    #[inline]
    fn leaves(&mut self, port: u32, moment: Moment) {
        if self.lookahead.is_at_once[port as usize] {
            self.rounds.entry(port).or_default().push_back(moment.round);
        }
    }

    /// Returns an instant before which nothing that is at a port of cells, or comes to it from `arrival` on, reaches a host;
    /// `None` if the port has nothing more to do. `is_due` is true if its line serves at the end of its last unit in any case.
    #[inline]
    fn rest_of(&self, index: u32, port: &Port, arrival: Option<Time>, is_due: bool) -> Option<Time> {
        let is_busy = is_due || !port.is_idle() || port.waiting() > 0;
        let is_last = |unit: &Unit| matches!(unit, Unit::Cell(cell) if cell.is_last());
        let on_line = port.on_line().filter(is_last).map(|_| port.free_at());
        let behind = self.behind[index as usize].as_deref();
        // An idle line in the past of which cells wait has gates that hold them all. An RM cell may release one sooner, but none
        // that has come already.
        let known = match &self.feedback {
            None => self.horizon.min(self.sent_until),
            Some(feedback) => feedback.known(index).at,
        };
        let is_held = port.is_idle() && port.free_at() < known;
        let sooner = if self.feedback.is_some() { known } else { Time::MAX };
        let release = port.next_release().filter(|_| is_held).map_or(Time::ZERO, |at| at.min(sooner));
        let ends = port.next_end().map(|at| at.max(release));
        let leaves = [on_line, ends, arrival].into_iter().flatten().min();
        let arrives = [leaves.map(|at| at + port.delay()), port.next_arrival(), behind.and_then(Inputs::next_end)];
        match arrives.into_iter().flatten().min() {
            Some(at) => Some(at + self.lookahead.rest[index as usize]),
            None => (is_busy || behind.is_some_and(|behind| behind.first().is_some())).then_some(Time::MAX),
        }
    }

    #[inline]
    fn give(&mut self, to: u32, moment: Moment, from: u32, unit: Arriving) {
        // A line with arrivals is active, and wakes for the first.
        let is_known = |feedback: &Feedback| feedback.known(to) > Place::new(moment, from);
        debug_assert!(from == HOST || !self.feedback.as_ref().is_some_and(is_known), "port {to} has gone on");
        if self.inputs[to as usize].push(Place::new(moment, from), unit) {
            self.activate(to);
        }
    }
}

impl<B: Clone> Fabric<B> {
    /// Declares that nothing of the network is read or changed before `horizon`: lines may run ahead of the hosts up to it.
    pub fn set_horizon(&mut self, horizon: Time) {
        if let Some(windows) = &mut self.windows
            && horizon > windows.horizon
        {
            windows.horizon = horizon;
            windows.active.iter().for_each(|place| windows.stations[place as usize].wakes = Time::ZERO);
        }
    }

    /// Returns true if the network runs in windows.
    pub fn has_windows(&self) -> bool {
        self.windows.is_some()
    }

    /// As [`Fabric::run`], in windows. At the horizon all lines have been advanced to `limit`.
    pub(super) fn run_windows(&mut self, limit: Time, delivered: &mut Vec<Delivery<B>>) -> Option<Time> {
        self.set_horizon(limit);
        loop {
            let windows = self.windows.as_mut()?;
            let first = windows.deliveries.first();
            if let Some(moment) = first.filter(|moment| moment.at < windows.known_until.min(limit)) {
                self.take_deliveries(moment, delivered);
                return Some(moment.at);
            }
            let is_known = windows.known_until >= limit;
            if is_known && (limit < windows.horizon || windows.sent_until >= limit) {
                return None;
            }
            // Hosts do not react before the first delivery, known or possible.
            let first = first.map_or(Time::MAX, |moment| moment.at);
            let until = windows.quiet_until.min(first).max(windows.known_until).min(limit);
            self.run_pass(until);
        }
    }

    /// Appends the packets that reach their hosts at `now`, before which the network has been run.
    pub(super) fn advance_windows(&mut self, now: Time, delivered: &mut Vec<Delivery<B>>) {
        let known = self.windows.as_ref().is_some_and(|windows| windows.known_until > now);
        if !known {
            self.run_pass(now);
        }
        self.take_deliveries(Moment::first(now), delivered);
    }

    #[inline(always)]
    fn take_deliveries(&mut self, now: Moment, delivered: &mut Vec<Delivery<B>>) {
        let Some(windows) = &mut self.windows else { return };
        windows.round = now.round;
        while let Some(packet) = windows.deliveries.take(now) {
            delivered.push(self.packets.deliver(packet));
        }
        windows.deliveries.tidy();
    }

    /// Returns the first delivery that is known.
    pub(super) fn next_delivery(&self) -> Option<Time> {
        self.windows.as_ref()?.deliveries.first().map(|moment| moment.at)
    }

    /// Lets every line run through all that is known if hosts send nothing more before `sent_until`.
    fn run_pass(&mut self, sent_until: Time) {
        let Some(mut windows) = self.windows.take() else { return };
        windows.sent_until = windows.sent_until.max(sent_until);
        windows.quiet_until = Time::MAX;
        if windows.feedback.is_some() {
            self.run_turns(&mut windows);
            self.windows = Some(windows);
            return;
        }
        windows.known_until = (windows.sent_until + windows.lookahead.to_hosts).min(windows.horizon);
        windows.deliveries.begin(windows.known_until);
        let mut next = 0;
        // A line gives only to lines behind it in the order.
        while let Some(place) = windows.active.next_from(next) {
            next = place + 1;
            let Station { port, kind, wakes, mut reaches } = windows.stations[place as usize];
            if wakes < windows.sent_until {
                let Some(at) = self.run_station(&mut windows, place, port, kind) else { continue };
                reaches = at;
            }
            windows.quiet_until = windows.quiet_until.min(reaches);
        }
        windows.deliveries.settle();
        self.windows = Some(windows);
    }

    /// Lets a line run through all that is known. Returns an instant before which nothing of it reaches a host; `None` if it has
    /// nothing more to do.
    #[inline(always)]
    fn run_station(&mut self, windows: &mut Windows, place: u32, port: u32, kind: Kind) -> Option<Time> {
        let later = match kind {
            Kind::Packets => self.run_packets(windows, port),
            Kind::Cells(decides) => self.run_cells(windows, port, decides),
            Kind::Single => self.run_line(windows, port),
        };
        match later {
            Some(at) => windows.stations[place as usize].reaches = at,
            None => windows.active.remove(place),
        }
        later
    }

    /// As [`Fabric::run_pass`], if lines wait for each other: they run by turns until none is known any further.
    fn run_turns(&mut self, windows: &mut Windows) {
        // Beyond an earlier horizon, the units on a link come to the next port before any that is sent now.
        self.run_woken(windows);
        let mut gets_on = true;
        while std::mem::take(&mut gets_on) {
            let bounds = [windows.next_event().min(windows.sent_until), windows.sent_until, windows.horizon];
            for place in 0..windows.stations.len() as u32 {
                let Station { port, kind, wakes, .. } = windows.stations[place as usize];
                let Some(feedback) = &mut windows.feedback else { return };
                if !feedback.extend(port, bounds) {
                    continue;
                }
                gets_on = true;
                let known = feedback.known(port).at;
                let next = wakes + windows.lookahead.distance[port as usize];
                if windows.active.contains(place) && (wakes == Time::ZERO || next <= known) {
                    self.run_station(windows, place, port, kind);
                }
            }
        }
        self.run_woken(windows);
        let Windows { stations, active, lookahead, feedback: Some(feedback), .. } = &*windows else { return };
        let sends = stations.iter().filter(|station| lookahead.is_last[station.port as usize]);
        let known = sends.map(|station| feedback.sends(station.port)).min().unwrap_or(Time::MAX);
        let reaches = active.iter().map(|place| stations[place as usize].reaches);
        // Until something happens, nothing reaches a host, though an RM cell might release a cell at any time.
        windows.quiet_until = reaches.min().unwrap_or(Time::MAX).max(windows.next_event().min(windows.horizon));
        windows.known_until = known.min(windows.horizon);
        windows.deliveries.begin(windows.known_until);
        windows.deliveries.settle();
    }

    /// Lets each line run that something has come to since its last turn, or of which the horizon has been moved.
    fn run_woken(&mut self, windows: &mut Windows) {
        let mut next = 0;
        while let Some(place) = windows.active.next_from(next) {
            next = place + 1;
            let Station { port, kind, wakes, .. } = windows.stations[place as usize];
            if wakes == Time::ZERO {
                self.run_station(windows, place, port, kind);
            }
        }
    }

    /// Sends a packet of a host on its way, in one direction of its conversation.
    #[inline]
    pub(super) fn send_in_windows(&mut self, now: Time, packet: Queued, way: u8) {
        let Some(windows) = &mut self.windows else { return };
        windows.quiet_until = windows.quiet_until.min(now + windows.lookahead.to_hosts);
        let place = Place::new(Moment { at: now, round: windows.round }, HOST);
        let hop = windows.routes.place(packet.conversation, way.into(), 0);
        windows.pass_on(place, Queued { hop, ..packet }, &mut self.packets);
    }

    /// Gives a packet that has been reassembled to its next port.
    fn forward_in_windows(&mut self, windows: &mut Windows, moment: Moment, from: u32, frame: PacketRef) {
        let (packet, way, steps) = self.packets.position(frame);
        let hop = windows.routes.place(packet.conversation, way, steps);
        let packet = Queued { hop, ..self.packets.queued(moment.at, frame) };
        windows.pass_on(Place::new(moment, from), packet, &mut self.packets);
    }
}
