//! An output port: a queue, the line it feeds and the link behind the line. The queue is that of a cell port or that of
//! a packet port.

mod admit;
mod ahead;
mod cells;
mod change;
mod merge;
mod packets;
mod runs;
mod view;

use std::sync::Arc;

use cellway_spec::{Discipline, Framing};
use cellway_units::{Rate, Span, Time};

pub(crate) use cells::CellPort;
pub(crate) use merge::Merged;
use packets::PacketPort;
pub(crate) use runs::{Decides, Left, LeftRounds, LeftRun, PassedRounds};
pub(crate) use view::Piece;

use crate::buffer::BufferSpec;
use crate::channel::NextHop;
use crate::counters::{Level, PortCounters, UnitCounters};
use crate::faults::{Arrives, FaultCounters, Faults};
use crate::ids::NodeId;
use crate::line::Line;
use crate::link::{Link, Unit};
use crate::link_spec::PortSpec;
use crate::packet::{PacketRef, Packets};
use crate::qdisc::{Qdisc, Queued, Waits};
use crate::rm_cells::RmCells;
use crate::server::CellServer;

/// The part of a port that depends on what its line sends.
#[derive(Clone, Debug)]
enum Kind {
    Cells(CellPort),
    Packets(PacketPort),
}

/// The state of a packet that its link has taken before its departure. On a line without loss every packet arrives, so
/// the link takes it when its transmission starts; its departure needs an event only if another packet waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ahead {
    /// The line is idle, or sends a unit that the link takes at its departure.
    Nothing,
    /// The link has the packet, and the calendar holds no event for its departure.
    Unawaited,
    /// The link has the packet, and the calendar holds its departure.
    Awaited,
}

/// The events to add to the calendar after a transmission has started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Started {
    pub(crate) departs: Option<Time>,
    pub(crate) arrives: Option<Time>,
}

/// The outcome of sending a packet on an idle line without queueing.
pub(crate) struct Passed {
    /// Set if the line's last packet departed without an event.
    pub(crate) departed: bool,
    /// The arrival to schedule, if no other packet is on the link.
    pub(crate) arrives: Option<Time>,
}

/// The state of a packet line, as it matters to a packet that has just been queued.
pub(crate) enum LineState {
    /// The line can start the packet in this instant. `departed` is set if its last packet departed without an event.
    Free { departed: bool },
    /// The packet must wait, and the departure of the packet before it must be added to the calendar.
    BusyUntil(Time),
    /// The packet must wait, and the calendar holds the departure of the packet before it.
    Busy,
}

#[derive(Clone, Debug)]
pub(crate) struct Port {
    pub(crate) node: NodeId,
    pub(crate) to: NodeId,
    kind: Kind,
    link: Link,
    line: Line,
    /// What is lost, duplicated or corrupted on the link, or dropped at instants, if anything ever is.
    faults: Option<Box<Faults>>,
    /// The unit on the line, unless the link has it already.
    sending: Option<Unit>,
    ahead: Ahead,
    began: Time,
    level: Level,
    counters: UnitCounters,
    /// Whether the port stands in the list of ports to serve in this instant.
    pub(crate) called: bool,
}

impl Port {
    pub(crate) fn new(
        [node, to]: [NodeId; 2],
        framing: Framing,
        discipline: Discipline,
        buffer: Option<Arc<BufferSpec>>,
        spec: PortSpec,
    ) -> Port {
        let PortSpec { rate, delay, varying, light, queue, schedule, .. } = spec;
        let PortSpec { packet_cost, loss, duplicate, corrupt, flushes, .. } = spec;
        let is_scheduled = schedule.as_ref().is_some_and(|schedule| !schedule.is_empty());
        assert!(framing != Framing::Atm || !is_scheduled, "a line of cells has no schedule");
        let has_faults = duplicate.is_some() || corrupt.is_some() || !flushes.is_empty();
        assert!(framing != Framing::Atm || !has_faults, "a line of cells only loses");
        assert!(framing != Framing::Atm || light.is_none(), "a recording of loads delays packets");
        let mut link = Link::new(delay, framing);
        if let Some(varying) = varying.filter(|varying| !varying.is_fixed()) {
            link.vary(varying);
        }
        Port {
            node,
            to,
            kind: match framing {
                Framing::Atm => Kind::Cells(CellPort::new(discipline, buffer)),
                Framing::Packet | Framing::Ethernet | Framing::Fddi => {
                    Kind::Packets(PacketPort::new(framing, packet_cost, Qdisc::new(queue, buffer, rate), light))
                }
            },
            link,
            line: schedule.map_or_else(|| Line::new(rate), |schedule| Line::with_schedule(rate, schedule)),
            faults: Faults::new(loss, duplicate, corrupt, flushes).map(Box::new),
            sending: None,
            ahead: Ahead::Nothing,
            began: Time::ZERO,
            level: Level::default(),
            counters: UnitCounters::default(),
            called: false,
        }
    }

    pub(crate) fn framing(&self) -> Framing {
        match &self.kind {
            Kind::Cells(_) => Framing::Atm,
            Kind::Packets(packets) => packets.framing(),
        }
    }

    /// Returns the cell port, if this is one.
    #[inline]
    pub(crate) fn cells(&self) -> Option<&CellPort> {
        match &self.kind {
            Kind::Cells(cells) => Some(cells),
            Kind::Packets(_) => None,
        }
    }

    #[inline]
    pub(crate) fn cells_mut(&mut self) -> Option<&mut CellPort> {
        match &mut self.kind {
            Kind::Cells(cells) => Some(cells),
            Kind::Packets(_) => None,
        }
    }

    /// Returns the cell port of a port that sent or received a cell.
    #[inline]
    pub(crate) fn of_cells(&self) -> &CellPort {
        self.cells().expect("cells travel over cell lines only")
    }

    /// Returns the next hop of the cells of a queue, at the far end.
    #[inline]
    pub(crate) fn next_hop(&self, slot: u32) -> NextHop {
        self.of_cells().server.next_hop(slot)
    }

    /// Returns the cell queues, if this is a cell port.
    pub(crate) fn server(&self) -> Option<&CellServer> {
        self.cells().map(|cells| &cells.server)
    }

    pub(crate) fn server_mut(&mut self) -> Option<&mut CellServer> {
        self.cells_mut().map(|cells| &mut cells.server)
    }

    pub(crate) fn add_conversation(&mut self, conversation: u32, slot: u32) {
        match &mut self.kind {
            Kind::Cells(cells) => cells.buffer.add_conversation(conversation, slot),
            Kind::Packets(packets) => packets.qdisc.buffer_mut().add_conversation(conversation, slot),
        }
    }

    pub(crate) fn remove_conversation(&mut self, conversation: u32, slot: u32) {
        match &mut self.kind {
            Kind::Cells(cells) => cells.buffer.remove_conversation(conversation, slot),
            Kind::Packets(packets) => packets.qdisc.buffer_mut().remove_conversation(conversation, slot),
        }
    }

    /// Returns the outcome of the link for the unit that has just departed; `None` if it is lost.
    #[inline]
    pub(crate) fn outcome(&mut self, now: Time) -> Option<Arrives> {
        match &mut self.faults {
            None => Some(Arrives { twice: false, corrupted: false }),
            Some(faults) => {
                let outcome = faults.outcome(now);
                if outcome.is_none() {
                    self.counters.rare().lost += 1;
                }
                outcome
            }
        }
    }

    /// Returns the next instant at which the waiting packets are dropped, and proceeds to the one after it.
    pub(crate) fn next_flush(&mut self) -> Option<Time> {
        self.faults.as_mut()?.next_flush()
    }

    /// Drops all packets that wait; returns the next instant at which to do so.
    pub(crate) fn flush<B>(&mut self, now: Time, packets: &mut Packets<B>) -> Option<Time> {
        let (Kind::Packets(port), Some(faults)) = (&mut self.kind, &mut self.faults) else { return None };
        if port.qdisc.len() > 0 {
            faults.counters.flushed += u64::from(port.flush(packets));
            self.level.change(now, 0);
        }
        faults.next_flush()
    }

    pub(crate) fn rate(&self) -> Rate {
        self.line.rate()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.sending.is_none() && self.ahead == Ahead::Nothing
    }

    /// Returns whether the link has the packet that the line sends.
    #[inline]
    pub(crate) fn is_ahead(&self) -> bool {
        self.ahead != Ahead::Nothing
    }

    /// Returns the line's state for a packet that has just been queued.
    #[inline]
    pub(crate) fn line_state(&mut self, now: Time) -> LineState {
        match self.ahead {
            Ahead::Awaited => LineState::Busy,
            Ahead::Unawaited if self.line.free_at() > now => {
                self.ahead = Ahead::Awaited;
                LineState::BusyUntil(self.line.free_at())
            }
            Ahead::Unawaited | Ahead::Nothing if self.sending.is_none() => {
                LineState::Free { departed: self.depart_unawaited(now) }
            }
            _ => LineState::Busy,
        }
    }

    /// Counts a departure without an event that is due by `now`; returns false if there is none.
    #[inline]
    pub(crate) fn depart_unawaited(&mut self, now: Time) -> bool {
        let departed = self.ahead == Ahead::Unawaited && self.line.free_at() <= now;
        if departed {
            self.depart(self.line.free_at());
        }
        departed
    }

    /// Returns whether a packet departed before `now` without an event and has not been counted.
    pub(crate) fn departed_before(&self, now: Time) -> bool {
        self.ahead == Ahead::Unawaited && self.line.free_at() < now
    }

    /// The last bit of the unit on the line leaves now; returns whether it is a cell.
    #[inline]
    pub(crate) fn depart(&mut self, now: Time) -> bool {
        self.counters.busy += now - self.began;
        match self.sending {
            Some(Unit::Cell(cell)) => {
                self.counters.cells += 1;
                if cell.flags.is_rm() {
                    self.counters.rare().rm_cells += 1;
                }
                true
            }
            _ => {
                self.counters.packets += 1;
                self.ahead = Ahead::Nothing;
                false
            }
        }
    }

    /// Takes the unit that has just departed, unless the link has it already. It stays in this field until it is
    /// needed: moving it once more on links without delay costs a fifth of the whole simulation.
    #[inline]
    pub(crate) fn departed(&mut self) -> Option<Unit> {
        self.sending.take()
    }

    /// Returns whether the link has no delay, and no unit arrives twice.
    pub(crate) fn is_instant(&self) -> bool {
        self.link.is_instant() && !self.duplicates()
    }

    /// Returns true if packets may arrive twice.
    #[inline]
    pub(crate) fn duplicates(&self) -> bool {
        self.faults.as_ref().is_some_and(|faults| faults.duplicates())
    }

    /// Puts the packet that has just departed on the link twice; returns the arrivals to schedule.
    pub(crate) fn propagate_twice(&mut self, now: Time, packets: [PacketRef; 2]) -> [Option<Time>; 2] {
        self.link.push_twice(now, packets)
    }

    /// Puts the unit that has just departed on the link; returns its arrival if it is the only one there.
    #[inline(always)]
    pub(crate) fn propagate(&mut self, now: Time, unit: Unit) -> Option<Time> {
        self.link.push(now, unit, &self.line)
    }

    /// Like [`Port::arrival`]; returns `None`, and changes nothing, if another unit may arrive `now`, too.
    #[inline(always)]
    pub(crate) fn arrival_alone(&mut self, now: Time) -> Option<(Unit, Option<Time>)> {
        self.link.pop_alone(now, &self.line)
    }

    /// Takes the unit that arrives at the far end now; returns it with the next arrival to schedule.
    #[inline(always)]
    pub(crate) fn arrival(&mut self) -> (Unit, Option<Time>) {
        self.link.pop(&self.line)
    }

    pub(crate) fn on_line(&self) -> Option<Unit> {
        self.sending
    }

    /// Starts the next unit on the idle line; returns the events to schedule, or `None` if nothing is to be sent. If
    /// `may_go_ahead`, the link takes a packet before its departure.
    #[inline]
    pub(crate) fn serve<B>(
        &mut self,
        now: Time,
        packets: &mut Packets<B>,
        rms: &mut RmCells,
        may_go_ahead: bool,
    ) -> Option<Started> {
        debug_assert!(self.is_idle(), "service on a busy line");
        let (unit, leaves) = match &mut self.kind {
            Kind::Cells(cells) => {
                let cell = cells.serve(now, packets, rms, &mut self.level)?;
                (Unit::Cell(cell), self.line.send_cell(now))
            }
            Kind::Packets(port) => {
                let sent = port.dequeue(now, packets, &mut self.level)?;
                let leaves = port.send(now, sent.octets, &mut self.line);
                if may_go_ahead && self.faults.is_none() && port.light.is_none() {
                    let awaited = port.qdisc.len() > 0;
                    let arrives = self.go_ahead(now, sent.packet, leaves, awaited);
                    return Some(Started { departs: awaited.then_some(leaves), arrives });
                }
                (Unit::Packet(sent.packet), leaves)
            }
        };
        self.sending = Some(unit);
        self.began = now;
        Some(Started { departs: Some(leaves), arrives: None })
    }

    /// Starts a packet that the link takes now; returns its arrival if it is the only one on the link.
    #[inline]
    fn go_ahead(&mut self, now: Time, packet: PacketRef, leaves: Time, awaited: bool) -> Option<Time> {
        self.began = now;
        self.ahead = if awaited { Ahead::Awaited } else { Ahead::Unawaited };
        self.link.push_packet(leaves, packet)
    }

    /// Sends a packet at once that is the only event of its instant and finds the queue empty. Returns `None`, and
    /// changes nothing, if it must be queued: the line is busy or loses packets, a recording delays them, or the queue
    /// discipline has to decide.
    #[inline]
    pub(crate) fn pass(&mut self, now: Time, packet: Queued) -> Option<Passed> {
        let Kind::Packets(port) = &mut self.kind else { return None };
        let departed = self.ahead == Ahead::Unawaited && self.line.free_at() <= now;
        let free = departed || (self.sending.is_none() && self.ahead == Ahead::Nothing);
        if !free || self.faults.is_some() || port.light.is_some() || !port.qdisc.pass(packet) {
            return None;
        }
        let free_at = self.line.free_at();
        let leaves = port.send(now, packet.octets, &mut self.line);
        if departed {
            self.depart(free_at);
        }
        self.level.pass(now);
        let arrives = self.go_ahead(now, packet.packet, leaves, false);
        Some(Passed { departed, arrives })
    }

    /// Returns the instant at which to serve an idle line because a gate may release a cell.
    #[inline]
    pub(crate) fn ask(&mut self) -> Option<Time> {
        self.server_mut()?.held().ask()
    }

    pub(crate) fn watch(&mut self) {
        self.level.watch();
    }

    pub(crate) fn watched(&mut self) -> Vec<(Time, u32)> {
        self.level.watched()
    }

    pub(crate) fn counters(&self, now: Time) -> PortCounters {
        let departed = self.departed_before(now);
        let until = if departed { self.line.free_at() } else { now };
        let sent_so_far = if self.is_idle() { Span::ZERO } else { until - self.began };
        let mut counters = self.counters.with_queue(&self.level, now);
        counters.packets += u64::from(departed);
        counters.busy += sent_so_far;
        let counters = match &self.kind {
            Kind::Cells(_) => counters,
            Kind::Packets(packets) => packets.counted(counters),
        };
        let Some(faults) = &self.faults else { return counters };
        let FaultCounters { duplicated, corrupted, flushed } = faults.counters;
        PortCounters { duplicated, corrupted, flushed, dropped_frames: counters.dropped_frames + flushed, ..counters }
    }

    pub(crate) fn packets_sent(&self, now: Time) -> u64 {
        self.counters.packets + u64::from(self.departed_before(now))
    }

    pub(crate) fn dropped_frames(&self) -> u64 {
        match &self.kind {
            Kind::Cells(_) => self.counters.dropped_frames(),
            Kind::Packets(packets) => {
                packets.dropped() + self.faults.as_ref().map_or(0, |faults| faults.counters.flushed)
            }
        }
    }

    pub(crate) fn forget_extremes(&mut self) {
        self.level.forget_extremes();
        if let Kind::Packets(packets) = &mut self.kind {
            packets.qdisc.forget_waits();
        }
    }

    /// Returns the waits of packets since extremes were forgotten, if they are recorded.
    pub(crate) fn waits(&self) -> Option<&Waits> {
        match &self.kind {
            Kind::Cells(_) => None,
            Kind::Packets(packets) => packets.qdisc.waits(),
        }
    }

    pub(crate) fn record_waits(&mut self) {
        if let Kind::Packets(packets) = &mut self.kind {
            packets.qdisc.record_waits();
        }
    }

    /// Units waiting.
    pub(crate) fn waiting(&self) -> u32 {
        match &self.kind {
            Kind::Cells(cells) => cells.server.waiting(),
            Kind::Packets(packets) => packets.qdisc.len(),
        }
    }

    /// Bits of buffer memory in use.
    pub(crate) fn buffered(&self) -> u64 {
        match &self.kind {
            Kind::Cells(cells) => cells.buffer.used(),
            Kind::Packets(packets) => packets.qdisc.buffer().used(),
        }
    }
}

#[cfg(test)]
impl Port {
    /// All that has a length and could grow with the conversations that come and go.
    pub(crate) fn lengths(&self) -> Vec<usize> {
        match &self.kind {
            Kind::Cells(cells) => cells.lengths(),
            Kind::Packets(packets) => packets.qdisc.buffer().lengths(),
        }
    }
}
