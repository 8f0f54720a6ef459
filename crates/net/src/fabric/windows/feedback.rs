//! Lines that wait for each other: ports that mark the RM cells of the other direction, and paths that form a loop.
//!
//! There is no order in which each line comes after those that send to it. So each line has an instant of its own up to which
//! it is known: the earliest that a line before it has reached, with the least time from there. Lines run by turns until none
//! gets any further. Each turn around a loop takes them on by the time of the loop, which is why no line of it may send
//! without taking time.
//!
//! A backward RM cell that comes to a node is marked by the port through which its connection leaves, with the state that
//! this has in that instant, and goes on without taking time. So it comes to that port first, in the order of its arrivals.
//! The port to which it goes on runs up to the first such cell that is still to be marked, and no further: not up to its
//! instant alone, but up to its place among the arrivals of the instant. So of two ports that have to mark a cell for each
//! other in one instant, one can always go on.

use std::collections::VecDeque;

use cellway_units::{CELL_BITS, Span, Time};

use crate::abr_port::AbrPort;
use crate::fabric::Fabric;
use crate::ids::PortId;
use crate::place::Place;
use crate::port::Port;

/// The ports for which each port waits, and the places up to which they are known.
#[derive(Clone, Debug)]
pub(in crate::fabric) struct Feedback {
    ports: Vec<Waits>,
    /// False if a turn takes longer than the events do in a calendar by which it gets on.
    is_useful: bool,
}

/// The state of a port.
#[derive(Clone, Debug)]
struct Waits {
    /// The ports whose units come to it, in order.
    feeders: Vec<u32>,
    /// The ports that mark cells before these come to it.
    markers: Vec<u32>,
    /// True if hosts send to it.
    is_first: bool,
    /// The least time of a unit on its line and link.
    least_delay: Span,
    /// The places of the cells that it has still to mark.
    marks: VecDeque<Place>,
    /// All that comes to it before this place is known, and has been handled.
    known: Place,
}

impl Feedback {
    /// Returns the ports of a network, all known up to `now`, with those behind each and the first of paths; `None` if a unit
    /// may take no time at one of them.
    pub(super) fn new<B: Clone>(
        now: Time,
        fabric: &Fabric<B>,
        next: &[Vec<u32>],
        is_first: &[bool],
        is_in_ring: &[bool],
    ) -> Option<Feedback> {
        let waits = |(port, &is_first): (&Port, &bool)| Waits {
            feeders: Vec::new(),
            markers: Vec::new(),
            is_first,
            least_delay: port.least_delay(),
            marks: VecDeque::new(),
            known: Place { at: now, within: 0 },
        };
        let ports = fabric.ports.iter().zip(is_first).map(waits).collect();
        let mut feedback = Feedback { ports, is_useful: true };
        if feedback.ports.iter().any(|port| port.least_delay.is_zero()) {
            return None;
        }
        let is_of_loop = fabric.of_loops();
        for (index, port) in (0..).zip(&fabric.ports) {
            let marker = index ^ 1;
            let may_mark = is_of_loop[index as usize] && abr_of(&fabric.ports[marker as usize]).is_some();
            let ends = abr_of(port).into_iter().flat_map(|abr| abr.destinations().chain(abr.sources()));
            for to in next[index as usize].iter().copied().chain(ends.map(|(port, _)| port.0)) {
                feedback.ports[to as usize].feeders.push(index);
                if may_mark && is_of_loop[to as usize] && to != marker {
                    feedback.ports[to as usize].markers.push(marker);
                }
            }
            if may_mark {
                feedback.ports[marker as usize].feeders.push(index);
            }
        }
        let waiting = fabric.ports.iter().enumerate().filter(|&(index, _)| is_of_loop[index] || is_in_ring[index]);
        feedback.is_useful = gets_far(fabric.ports.len(), waiting.map(|(_, port)| port));
        for port in &mut feedback.ports {
            for list in [&mut port.feeders, &mut port.markers] {
                list.sort_unstable();
                list.dedup();
            }
        }
        Some(feedback)
    }

    /// Returns false if the calendar takes less time for such a network.
    pub(super) fn is_useful(&self) -> bool {
        self.is_useful
    }

    /// Returns true if the ports of a path wait for each other as those of others do.
    pub(super) fn has(&self, path: &[PortId]) -> bool {
        let port = |id: PortId| &self.ports[id.0 as usize];
        let joins = |pair: &[PortId]| port(pair[1]).feeders.binary_search(&pair[0].0).is_ok();
        path.first().is_some_and(|&first| port(first).is_first) && path.windows(2).all(joins)
    }

    /// Returns the place before which all that comes to a port is known.
    #[inline]
    pub(super) fn known(&self, port: u32) -> Place {
        self.ports[port as usize].known
    }

    /// Extends what is known of a port, if hosts send nothing more before `sent_until` and nothing happens anywhere before
    /// `quiet`, but not beyond `horizon`. Returns true if it is more than before.
    #[inline]
    pub(super) fn extend(&mut self, port: u32, [quiet, sent_until, horizon]: [Time; 3]) -> bool {
        let Waits { feeders, markers, is_first, known, .. } = &self.ports[port as usize];
        let mut at = if *is_first { sent_until.min(horizon) } else { horizon };
        for &feeder in feeders {
            at = at.min(self.sends(feeder));
        }
        let mut place = Place { at: at.max(quiet.min(horizon)), within: 0 };
        for &marker in markers {
            if let Some(&mark) = self.ports[marker as usize].marks.front() {
                place = place.min(mark);
            }
        }
        let is_more = place > *known;
        if is_more {
            self.ports[port as usize].known = place;
        }
        is_more
    }

    /// Returns the instant before which all that comes from a port to the far end of its link is known.
    #[inline]
    pub(super) fn sends(&self, port: u32) -> Time {
        let Waits { known, least_delay, .. } = &self.ports[port as usize];
        known.at + *least_delay
    }

    /// Records that a port has to mark a cell.
    pub(super) fn awaits_mark(&mut self, port: u32, place: Place) {
        self.ports[port as usize].marks.push_back(place);
    }

    /// Records that a port has marked the first of these cells.
    pub(super) fn marked(&mut self, port: u32) {
        self.ports[port as usize].marks.pop_front();
    }
}

/// Returns true if a turn takes those ports that wait, out of a number of ports that each turn visits, far enough: around the
/// shortest loop, of two ports or more, by the time of a cell on the slowest line for each four ports. Measured, in times of
/// the calendar's speed: 1.3 with 20 ports at three times that bound and 0.3 at a 30th of it, 0.95 with 280 at a fifth, and
/// 0.9 with 402 at 0.7 of it.
fn gets_far<'a>(ports: usize, waiting: impl Iterator<Item = &'a Port> + Clone) -> bool {
    let turn = waiting.clone().map(|port| port.least_delay().saturating_mul(2)).min().unwrap_or(Span::MAX);
    let slowest = waiting.map(Port::rate).filter(|rate| rate.as_bps() > 0).min();
    slowest.is_none_or(|rate| turn >= (rate.time_for(CELL_BITS, 0).0 / 4).saturating_mul(ports as u64))
}

/// Returns the part of a port in control loops, if it has any.
fn abr_of(port: &Port) -> Option<&AbrPort> {
    port.cells()?.abr.as_deref()
}

impl<B: Clone> Fabric<B> {
    /// Returns true for each port over which a control loop runs, in one direction or the other, or has run: it still measures.
    pub(super) fn of_loops(&self) -> Vec<bool> {
        let mut is_of_loop: Vec<bool> = self.ports.iter().map(|port| abr_of(port).is_some()).collect();
        for turn in self.ports.iter().filter_map(abr_of).flat_map(|abr| abr.destinations()) {
            // The way back, to the port at whose far end the source is.
            let mut at = Some(turn);
            while let Some((port, slot)) = at {
                is_of_loop[port.0 as usize] = true;
                let cells = self.port(port).of_cells();
                let is_home = cells.abr.as_ref().is_some_and(|abr| abr.ends(slot).source.is_some());
                at = if is_home { None } else { cells.server.next_hop(slot).forward() };
            }
        }
        is_of_loop
    }
}
