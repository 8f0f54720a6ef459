//! Windows in place of a calendar: each line runs through all that it can know at once.
//!
//! A packet that a host sends needs some time to the next line, more to the one behind it, and still more to a host that
//! could answer. So as long as all packets that hosts send before `T` are known, a line is known up to `T` and the least
//! time that any packet needs from a host to its queue. A pass takes the lines in the order of the paths, and each runs
//! through its arrivals, departures and services up to that instant, without a calendar. The order of events at each line
//! is that of the crate's page; lines share nothing, so their order among each other does not matter.

mod cells;
mod enter;
mod graph;
mod inputs;
mod lane;
mod train;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use cellway_units::Time;

pub(super) use graph::Lookahead;
use inputs::Inputs;
pub(super) use inputs::{Arriving, Moment};

use super::{Fabric, Step};
use crate::cell::Cell;
use crate::packet::{Delivery, PacketRef};
use crate::port::{Decides, Port};

/// The number in place of a port for packets that come from the host itself: after all that arrive at the instant.
const HOST: u32 = u32::MAX;

/// A network that runs in windows.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    lookahead: Lookahead,
    /// The units that will come to each port.
    inputs: Vec<Inputs>,
    /// The ports with something to do, a bit for each place in the order of the paths.
    active: Vec<u64>,
    /// Packets that reach their hosts, by instant, port and their order there.
    deliveries: BinaryHeap<Reverse<(Moment, u32, u64, u32)>>,
    /// Reused from call to call: the members of a rotation, and their last arrivals.
    turns: (Vec<Cell>, Vec<Time>),
    /// What each line of cells decides by the cell.
    decides: Vec<Option<Decides>>,
    /// True for each port whose last unit has been handled before its departure, at which it serves the next.
    is_due: Vec<bool>,
    /// The rounds in which the units on the links of lines without time and delay arrive.
    rounds: BTreeMap<u32, VecDeque<u32>>,
    /// The round of the instant that the hosts are in.
    round: u32,
    /// The number of deliveries so far.
    serial: u64,
    /// No packet inside the network reaches a host before this instant, but for those in `deliveries`.
    quiet_until: Time,
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
        let place = self.lookahead.place[port as usize] as usize;
        self.active[place / 64] |= 1 << (place % 64);
    }

    /// Records the round in which a unit leaves a line that may take no time, over a link without delay.
    #[inline]
    fn leaves(&mut self, port: u32, moment: Moment) {
        if self.lookahead.is_at_once[port as usize] {
            self.rounds.entry(port).or_default().push_back(moment.round);
        }
    }

    /// Returns an instant before which nothing that is at a port, or comes to it from `arrival` on, reaches a host; `None` if
    /// the port has nothing more to do. `is_due` is true if its line serves at the end of its last unit in any case.
    #[inline]
    fn rest(&self, index: u32, port: &Port, arrival: Option<Time>, is_due: bool) -> Option<Time> {
        let is_done = arrival.is_none() && !is_due && port.is_idle() && port.waiting() == 0;
        let behind = port.next_arrival();
        if is_done && behind.is_none() {
            return None;
        }
        let on_line = (!port.is_idle()).then(|| port.free_at());
        let leaves = [on_line, port.next_end(), arrival].into_iter().flatten().min();
        let reaches = leaves.map(|at| at + port.delay()).into_iter().chain(behind).min();
        Some(reaches.map_or(Time::MAX, |at| at + self.lookahead.rest[index as usize]))
    }

    #[inline]
    fn give(&mut self, to: u32, moment: Moment, from: u32, unit: Arriving) {
        self.inputs[to as usize].push(moment, from, unit);
        self.activate(to);
    }
}

impl<B: Clone> Fabric<B> {
    /// Declares that nothing of the network is read or changed before `horizon`: lines may run ahead of the hosts up to it.
    pub fn set_horizon(&mut self, horizon: Time) {
        if let Some(windows) = &mut self.windows {
            windows.horizon = windows.horizon.max(horizon);
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
            if let Some(&Reverse((moment, ..))) = windows.deliveries.peek()
                && moment.at < windows.known_until.min(limit)
            {
                self.take_deliveries(moment, delivered);
                return Some(moment.at);
            }
            let is_known = windows.known_until >= limit;
            if is_known && (limit < windows.horizon || windows.sent_until >= limit) {
                return None;
            }
            // Hosts do not react before the first delivery, known or possible.
            let first = windows.deliveries.peek().map_or(Time::MAX, |Reverse((moment, ..))| moment.at);
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

    fn take_deliveries(&mut self, now: Moment, delivered: &mut Vec<Delivery<B>>) {
        let Some(windows) = &mut self.windows else { return };
        windows.round = now.round;
        while let Some(&Reverse((moment, _, _, packet))) = windows.deliveries.peek()
            && moment == now
        {
            windows.deliveries.pop();
            delivered.push(self.packets.deliver(PacketRef(packet)));
        }
    }

    /// Returns the first delivery that is known.
    pub(super) fn next_delivery(&self) -> Option<Time> {
        self.windows.as_ref()?.deliveries.peek().map(|Reverse((moment, ..))| moment.at)
    }

    /// Lets every line run through all that is known if hosts send nothing more before `sent_until`.
    fn run_pass(&mut self, sent_until: Time) {
        let Some(mut windows) = self.windows.take() else { return };
        windows.sent_until = windows.sent_until.max(sent_until);
        windows.quiet_until = Time::MAX;
        let mut word = 0;
        while word < windows.active.len() {
            // A line gives only to lines behind it in the order, which may be of the same word.
            let mut behind = u64::MAX;
            loop {
                let left = windows.active[word] & behind;
                if left == 0 {
                    break;
                }
                let bit = left.trailing_zeros();
                behind = u64::MAX.checked_shl(bit + 1).unwrap_or(0);
                windows.active[word] &= !(1 << bit);
                let port = windows.lookahead.order[word * 64 + bit as usize];
                let reaches = match windows.decides[port as usize] {
                    Some(decides) => self.run_cells(&mut windows, port, decides),
                    None => self.run_line(&mut windows, port),
                };
                if let Some(reaches) = reaches {
                    windows.quiet_until = windows.quiet_until.min(reaches);
                    windows.active[word] |= 1 << bit;
                }
            }
            word += 1;
        }
        windows.known_until = (windows.sent_until + windows.lookahead.to_hosts).min(windows.horizon);
        self.windows = Some(windows);
    }

    /// Sends a packet of a host on its way.
    pub(super) fn send_in_windows(&mut self, now: Time, frame: PacketRef) {
        let Some(mut windows) = self.windows.take() else { return };
        windows.quiet_until = windows.quiet_until.min(now + windows.lookahead.to_hosts);
        let moment = Moment { at: now, round: windows.round };
        self.forward_in_windows(&mut windows, moment, HOST, frame);
        self.windows = Some(windows);
    }

    #[inline]
    fn forward_in_windows(&mut self, windows: &mut Windows, moment: Moment, from: u32, frame: PacketRef) {
        let (_, step) = self.next_step(frame);
        self.packets.step(frame);
        match step {
            Step::Packet(port) => windows.give(port.0, moment, from, Arriving::Packet(frame)),
            Step::Cells { port, slot } => windows.give(port.0, moment, from, Arriving::Frame { frame, slot }),
        }
    }
}
