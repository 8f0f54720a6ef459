//! A link: propagation delay as a queue of units in flight, with one pending event.

mod view;

use std::collections::VecDeque;

use cellway_spec::Framing;
use cellway_units::{Span, Time};

use crate::cell::{Cell, Flags};
use crate::delay::{Delay, DelaySpec};
use crate::line::Line;
use crate::pace::Pulse;
use crate::packet::PacketRef;

/// A cell or a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    Cell(Cell),
    Packet(PacketRef),
}

/// The units in flight. Unless packets may overtake, they arrive in the order in which they left, and only the first needs an
/// event; else each packet has its own.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    delay: Span,
    under_way: UnderWay,
}

#[derive(Clone, Debug)]
enum UnderWay {
    Cells(CellsUnderWay),
    /// Packets, each with the instant its last bit arrives, in that order; and their delay, if it is not always that of the
    /// link. It is here because a port of cells then needs no room for it.
    Packets(VecDeque<(Time, PacketRef)>, Option<Box<Delay>>),
}

impl Link {
    pub(crate) fn new(delay: Span, framing: Framing) -> Link {
        let under_way = match framing {
            Framing::Atm => UnderWay::Cells(CellsUnderWay::default()),
            Framing::Packet | Framing::Ethernet | Framing::Fddi => UnderWay::Packets(VecDeque::new(), None),
        };
        Link { delay, under_way }
    }

    /// Lets the delay of packets vary.
    pub(crate) fn vary(&mut self, spec: DelaySpec) {
        let UnderWay::Packets(_, varying) = &mut self.under_way else { unreachable!("cells have one delay") };
        *varying = Some(Box::new(Delay::new(self.delay, spec)));
    }

    /// Returns the delay, without what varies of it.
    pub(crate) fn delay(&self) -> Span {
        self.delay
    }

    /// Returns true if the delay varies.
    pub(crate) fn is_varying(&self) -> bool {
        matches!(self.under_way, UnderWay::Packets(_, Some(_)))
    }

    /// Returns the arrival of the first unit.
    #[inline]
    pub(crate) fn next(&self) -> Option<Time> {
        match &self.under_way {
            UnderWay::Cells(cells) => cells.runs.front().map(|run| run.first.at),
            UnderWay::Packets(packets, _) => packets.front().map(|&(at, _)| at),
        }
    }

    /// Returns the number of units on it.
    pub(crate) fn len(&self) -> usize {
        match &self.under_way {
            UnderWay::Cells(cells) => cells.runs.iter().map(|run| usize::from(run.end - run.next)).sum(),
            UnderWay::Packets(packets, _) => packets.len(),
        }
    }

    /// Returns true if units arrive in the instant in which they leave the line.
    #[inline]
    pub(crate) fn is_instant(&self) -> bool {
        self.delay.is_zero() && !matches!(self.under_way, UnderWay::Packets(_, Some(_)))
    }

    /// Accepts a unit that left `line` at `now`; returns its arrival if it is the only one on the link.
    #[inline(always)]
    pub(crate) fn push(&mut self, now: Time, unit: Unit, line: &Line) -> Option<Time> {
        let arrives = now + self.delay;
        let first = match (&mut self.under_way, unit) {
            (UnderWay::Cells(cells), Unit::Cell(cell)) => cells.push(line.pulse_at(arrives), cell, line),
            (UnderWay::Packets(..), Unit::Packet(packet)) => return self.push_packet(now, packet),
            _ => unreachable!("a line sends either cells or packets"),
        };
        first.then_some(arrives)
    }

    /// Accepts a packet that arrives at `arrives`, behind all others.
    pub(crate) fn put(&mut self, arrives: Time, packet: PacketRef) {
        let UnderWay::Packets(packets, _) = &mut self.under_way else {
            unreachable!("a line of cells sends no packets")
        };
        packets.push_back((arrives, packet));
    }

    /// Accepts a cell that arrives at `arrives`.
    pub(crate) fn push_cell(&mut self, arrives: Pulse, cell: Cell, line: &Line) {
        let UnderWay::Cells(cells) = &mut self.under_way else { unreachable!("a line of packets sends no cells") };
        cells.push(arrives, cell, line);
    }

    /// Accepts a packet that left the line at `now` and a copy directly behind it; returns the arrivals for which the
    /// calendar has no event.
    pub(crate) fn push_twice(&mut self, now: Time, [packet, copy]: [PacketRef; 2]) -> [Option<Time>; 2] {
        let first = self.push_packet(now, packet);
        let UnderWay::Packets(packets, varying) = &mut self.under_way else {
            unreachable!("a line of cells sends no packets")
        };
        let place = packets.iter().rposition(|&(_, other)| other == packet);
        let place = place.expect("the original has just been added");
        let arrives = packets[place].0;
        packets.insert(place + 1, (arrives, copy));
        [first, may_overtake(varying).then_some(arrives)]
    }

    /// Accepts a packet that leaves the line at `leaves`, now or later; returns its arrival if no event for an arrival
    /// before it leads to it.
    #[inline]
    pub(crate) fn push_packet(&mut self, leaves: Time, packet: PacketRef) -> Option<Time> {
        let UnderWay::Packets(packets, varying) = &mut self.under_way else {
            unreachable!("a line of cells sends no packets")
        };
        let Some(varying) = varying else {
            let arrives = leaves + self.delay;
            packets.push_back((arrives, packet));
            return (packets.len() == 1).then_some(arrives);
        };
        let arrives = varying.arrival(leaves, packet);
        packets.insert(packets.partition_point(|&(at, _)| at <= arrives), (arrives, packet));
        (varying.reorder || packets.len() == 1).then_some(arrives)
    }

    /// Takes back the packet that was pushed last, which has not left the line yet.
    pub(crate) fn take_back(&mut self) -> PacketRef {
        let UnderWay::Packets(packets, varying) = &mut self.under_way else {
            unreachable!("a line of cells sends no packets")
        };
        let last = varying.as_mut().map(|varying| varying.take_back());
        let place = match last {
            Some(packet) => packets.iter().rposition(|&(_, other)| other == packet),
            None => packets.len().checked_sub(1),
        };
        let (_, packet) = place.and_then(|place| packets.remove(place)).expect("the packet is on its way");
        if let Some(varying) = varying {
            varying.set_latest(latest(packets));
        }
        packet
    }

    /// Returns the arrivals for which the calendar has events.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = Time> {
        let UnderWay::Packets(packets, varying) = &self.under_way else {
            unreachable!("a line of cells sends no packets")
        };
        let events = if may_overtake(varying) { packets.len() } else { 1 };
        packets.iter().take(events).map(|&(at, _)| at)
    }

    /// Changes the delay of packets that leave the line from `now` on. Unless packets may overtake, they arrive after those
    /// before them.
    pub(crate) fn set_delay(&mut self, now: Time, delay: Span) {
        let UnderWay::Packets(packets, varying) = &mut self.under_way else { unreachable!("cells have one delay") };
        match varying {
            Some(varying) => varying.set(now, delay),
            None => *varying = Some(Box::new(Delay::fixed(delay, latest(packets)))),
        }
    }

    /// Like [`Link::pop`]; returns `None`, and changes nothing, if the unit behind the first may arrive `now`, too.
    #[inline(always)]
    pub(crate) fn pop_alone(&mut self, now: Time, line: &Line) -> Option<(Unit, Option<Time>)> {
        match &mut self.under_way {
            UnderWay::Cells(cells) => {
                if cells.may_have_two(now, line) {
                    return None;
                }
                let (cell, next) = cells.pop(line);
                Some((Unit::Cell(cell), next))
            }
            UnderWay::Packets(packets, varying) => {
                let next = packets.get(1).map(|&(at, _)| at);
                if next == Some(now) {
                    return None;
                }
                let (_, packet) = packets.pop_front().expect("an arrival is pending");
                Some((Unit::Packet(packet), next.filter(|_| !may_overtake(varying))))
            }
        }
    }

    /// Returns the unit that arrives now, and the next arrival for which the calendar has no event.
    #[inline(always)]
    pub(crate) fn pop(&mut self, line: &Line) -> (Unit, Option<Time>) {
        match &mut self.under_way {
            UnderWay::Cells(cells) => {
                let (cell, next) = cells.pop(line);
                (Unit::Cell(cell), next)
            }
            UnderWay::Packets(packets, varying) => {
                let (_, packet) = packets.pop_front().expect("an arrival is pending");
                (Unit::Packet(packet), packets.front().map(|&(at, _)| at).filter(|_| !may_overtake(varying)))
            }
        }
    }

    /// Prepares for a change of the line's rate: cells in flight keep the spacing at which they left `line`.
    pub(crate) fn keep_spacing(&mut self, line: &Line) {
        if let UnderWay::Cells(cells) = &mut self.under_way {
            cells.split(line);
        }
    }
}

/// Returns the arrival of the last packet.
fn latest(packets: &VecDeque<(Time, PacketRef)>) -> Time {
    packets.back().map_or(Time::ZERO, |&(at, _)| at)
}

/// Returns true if packets may overtake, so that each has an event of its own.
#[inline]
fn may_overtake(varying: &Option<Box<Delay>>) -> bool {
    varying.as_ref().is_some_and(|delay| delay.reorder)
}

/// Cells of one frame that left the line back to back.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The arrival of the first cell. Those of the others follow from the line's rate.
    first: Pulse,
    slot: u32,
    frame: PacketRef,
    next: u16,
    end: u16,
    count: u16,
    flags: Flags,
}

impl Run {
    #[inline]
    fn of(first: Pulse, cell: Cell) -> Run {
        let Cell { slot, frame, index, count, flags } = cell;
        Run { first, slot, frame, next: index, end: index + 1, count, flags }
    }

    /// Returns true if `cell` continues the run: it is the next of the frame, with the same flags.
    #[inline]
    fn goes_on_with(&self, cell: Cell) -> bool {
        self.frame == cell.frame && self.end == cell.index && self.flags == cell.flags && self.slot == cell.slot
    }

    fn first_cell(&self) -> Cell {
        let Run { slot, frame, next, count, flags, .. } = *self;
        Cell { slot, frame, index: next, count, flags }
    }

    fn is_single(&self) -> bool {
        self.next + 1 == self.end
    }
}

/// Cells in flight, stored as runs: a frame of a host is one entry, however many of its cells are on the link.
#[derive(Clone, Debug, Default)]
struct CellsUnderWay {
    runs: VecDeque<Run>,
    /// The arrival of the last cell.
    last: Pulse,
}

impl CellsUnderWay {
    /// Appends a cell; returns true if it is the only one.
    #[inline(always)]
    fn push(&mut self, at: Pulse, cell: Cell, line: &Line) -> bool {
        let last = std::mem::replace(&mut self.last, at);
        if let Some(run) = self.runs.back_mut()
            && run.goes_on_with(cell)
            && line.pace().after(last) == at
        {
            run.end += 1;
            return false;
        }
        if self.runs.capacity() == 0 {
            // Lines of hosts mostly carry few frames at once; a first push would allocate room for four.
            self.runs.reserve_exact(2);
        }
        self.runs.push_back(Run::of(at, cell));
        self.runs.len() == 1
    }

    /// Returns true if two cells may arrive `now`. Cells of one run arrive at different instants unless the line takes
    /// less than a picosecond for one.
    #[inline(always)]
    fn may_have_two(&self, now: Time, line: &Line) -> bool {
        match self.runs.front() {
            Some(run) if !run.is_single() => line.is_immediate(),
            _ => self.runs.get(1).is_some_and(|run| run.first.at == now),
        }
    }

    #[inline(always)]
    fn pop(&mut self, line: &Line) -> (Cell, Option<Time>) {
        let run = self.runs.front_mut().expect("an arrival is pending");
        let cell = run.first_cell();
        if run.is_single() {
            self.runs.pop_front();
            return (cell, self.runs.front().map(|run| run.first.at));
        }
        run.next += 1;
        run.first = line.pace().after(run.first);
        (cell, Some(run.first.at))
    }

    /// Splits the runs into single cells.
    fn split(&mut self, line: &Line) {
        let mut singles = VecDeque::new();
        while !self.runs.is_empty() {
            let first = self.runs[0].first;
            let (cell, _) = self.pop(line);
            singles.push_back(Run::of(first, cell));
        }
        self.runs = singles;
    }
}

#[cfg(test)]
mod tests;
