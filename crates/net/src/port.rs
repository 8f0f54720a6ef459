//! An output port: a queue, the line it feeds and the link behind the line.

mod admit;

use admit::{owner_of_cell, owner_of_packet};
use cellway_spec::Framing;
use cellway_units::{Rate, Span, Time};

use crate::abr_port::AbrPort;
use crate::buffer::{Buffer, Owner};
use crate::channel::{Class, NextHop};
use crate::counters::{Level, PortCounters};
use crate::discard::FrameDiscard;
use crate::fifo::PacketFifo;
use crate::ids::{ChannelId, NodeId};
use crate::line::Line;
use crate::link::{Link, Unit};
use crate::link_spec::{LinkSpec, PortSpec};
use crate::loss::Loss;
use crate::packet::{PacketRef, Packets};
use crate::policer::Policer;
use crate::rm_cells::RmCells;
use crate::server::{CellServer, Served};

#[derive(Clone, Debug)]
pub(crate) enum Queue {
    Cells(CellServer),
    Packets(PacketFifo),
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
    link: Link,
    framing: Framing,
    line: Line,
    /// What is lost on the link, if anything ever is.
    loss: Option<Box<Loss>>,
    /// What each packet costs on top of its time on the line.
    packet_cost: Span,
    queue: Queue,
    buffer: Buffer,
    /// Where each queue's channel stands within a frame, if the buffer cuts frames off.
    frames: Vec<FrameDiscard>,
    /// Policers of the queues up to the last that has one.
    policers: Vec<Option<Policer>>,
    /// The port's part in ABR control loops, if any runs over it.
    pub(crate) abr: Option<Box<AbrPort>>,
    /// The unit on the line, unless the link has it already.
    sending: Option<Unit>,
    ahead: Ahead,
    began: Time,
    level: Level,
    counters: PortCounters,
    /// The next hop of each queue's cells at the far end.
    pub(crate) channels: Vec<NextHop>,
    /// Whether the port stands in the list of ports to serve in this instant.
    pub(crate) called: bool,
}

impl Port {
    pub(crate) fn new(node: NodeId, to: NodeId, link: &LinkSpec, spec: PortSpec) -> Port {
        let &LinkSpec { rate, delay, framing, discipline, .. } = link;
        let PortSpec { buffer, packet_cost, loss } = spec;
        Port {
            node,
            to,
            link: Link::new(delay, framing),
            framing,
            line: Line::new(rate),
            loss: (!loss.is_idle()).then(|| Box::new(loss)),
            packet_cost,
            queue: match framing {
                Framing::Atm => Queue::Cells(CellServer::new(discipline)),
                Framing::Packet | Framing::Ethernet | Framing::Fddi => Queue::Packets(PacketFifo::default()),
            },
            buffer: Buffer::new(buffer),
            frames: Vec::new(),
            policers: Vec::new(),
            abr: None,
            sending: None,
            ahead: Ahead::Nothing,
            began: Time::ZERO,
            level: Level::default(),
            counters: PortCounters::default(),
            channels: Vec::new(),
            called: false,
        }
    }

    pub(crate) fn framing(&self) -> Framing {
        self.framing
    }

    /// Whether the unit that has just departed is lost on the link.
    #[inline]
    pub(crate) fn loses(&mut self) -> bool {
        match &mut self.loss {
            None => false,
            Some(loss) => {
                let lost = loss.strikes();
                self.counters.lost += u64::from(lost);
                lost
            }
        }
    }

    pub(crate) fn rate(&self) -> Rate {
        self.line.rate()
    }

    /// Adds a queue for `channel`, whose cells go to `next` behind the link; returns its slot.
    pub(crate) fn add_channel(&mut self, channel: ChannelId, class: Class, next: NextHop) -> u32 {
        if self.channels.is_empty() {
            // The line of a host has one channel; a first push would allocate room for four.
            self.channels.reserve_exact(1);
        }
        self.channels.push(next);
        if self.buffer.discards_frames() {
            self.frames.push(FrameDiscard::default());
        }
        self.server_mut().expect("channels run over ATM links only").add(channel, class)
    }

    /// Puts a policer before queue `slot`, in place of one that is there.
    pub(crate) fn police(&mut self, slot: u32, policer: Policer) {
        let slot = slot as usize;
        if slot >= self.policers.len() {
            self.policers.resize(slot + 1, None);
        }
        self.policers[slot] = Some(policer);
    }

    /// Resets all state of the channel of the empty queue `slot`; the queue stays for the next channel over these
    /// ports.
    pub(crate) fn forget_channel(&mut self, slot: u32) {
        if let Some(server) = self.server_mut() {
            server.forget(slot);
        }
        if let Some(frame) = self.frames.get_mut(slot as usize) {
            *frame = FrameDiscard::default();
        }
        if let Some(policer) = self.policers.get_mut(slot as usize) {
            *policer = None;
            let used = self.policers.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            self.policers.truncate(used);
        }
        if let Some(abr) = &mut self.abr {
            abr.forget(slot);
        }
    }

    pub(crate) fn add_conversation(&mut self, conversation: u32, slot: u32) {
        self.buffer.add_conversation(conversation, slot);
    }

    pub(crate) fn remove_conversation(&mut self, conversation: u32, slot: u32) {
        self.buffer.remove_conversation(conversation, slot);
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
                    self.counters.rm_cells += 1;
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

    /// Returns whether the link has no delay.
    pub(crate) fn is_instant(&self) -> bool {
        self.link.is_instant()
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
        packets: &Packets<B>,
        rms: &mut RmCells,
        may_go_ahead: bool,
    ) -> Option<Started> {
        debug_assert!(self.is_idle(), "service on a busy line");
        let (unit, leaves) = match &mut self.queue {
            Queue::Cells(server) => {
                let Served { slot, mut cell, queued } = server.serve(now, rms)?;
                if let Some(abr) = &mut self.abr
                    && abr.leaves(now, slot, cell, server.waiting_in_network(), rms)
                {
                    cell.flags.mark();
                }
                if queued {
                    self.level.change(now, server.waiting());
                    if let Some(owner) = owner_of_cell(&self.buffer, slot, cell, packets) {
                        self.buffer.release_cell(owner, cell.index);
                    }
                }
                (Unit::Cell(cell), self.line.send_cell(now))
            }
            Queue::Packets(fifo) => {
                let packet = fifo.pop()?;
                self.level.change(now, fifo.len());
                let owner = owner_of_packet(0, packet, packets);
                self.buffer.release_packet(owner);
                let leaves = self.line.send(now, self.framing.bits(owner.octets), self.packet_cost);
                if may_go_ahead && self.loss.is_none() {
                    let awaited = fifo.len() > 0;
                    let arrives = self.go_ahead(now, packet, leaves, awaited);
                    return Some(Started { departs: awaited.then_some(leaves), arrives });
                }
                (Unit::Packet(packet), leaves)
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
    /// changes nothing, if it must be queued: the line is busy or loses packets, or the buffer is too small for it.
    #[inline]
    pub(crate) fn pass(&mut self, now: Time, packet: PacketRef, owner: Owner) -> Option<Passed> {
        let departed = self.ahead == Ahead::Unawaited && self.line.free_at() <= now;
        let free = departed || self.is_idle();
        if !free || self.loss.is_some() || !self.buffer.fits_packet(owner) {
            return None;
        }
        if departed {
            self.depart(self.line.free_at());
        }
        self.level.pass(now);
        let leaves = self.line.send(now, self.framing.bits(owner.octets), self.packet_cost);
        let arrives = self.go_ahead(now, packet, leaves, false);
        Some(Passed { departed, arrives })
    }

    /// Returns the instant at which to serve an idle line because a gate may release a cell.
    #[inline]
    pub(crate) fn ask(&mut self) -> Option<Time> {
        self.server_mut()?.held().ask()
    }

    /// The cell queues, if this is a cell line.
    pub(crate) fn server(&self) -> Option<&CellServer> {
        match &self.queue {
            Queue::Cells(server) => Some(server),
            Queue::Packets(_) => None,
        }
    }

    pub(crate) fn server_mut(&mut self) -> Option<&mut CellServer> {
        match &mut self.queue {
            Queue::Cells(server) => Some(server),
            Queue::Packets(_) => None,
        }
    }

    pub(crate) fn set_rate(&mut self, now: Time, rate: Rate) {
        self.link.keep_spacing(&self.line);
        self.line.set_rate(rate);
        if let Some(abr) = &mut self.abr {
            abr.set_line_rate(now, rate);
        }
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
        PortCounters {
            packets: self.counters.packets + u64::from(departed),
            busy: self.counters.busy + sent_so_far,
            queue_area: self.level.area(now),
            queue_peak: self.level.peak(),
            queue_min: self.level.min(),
            ..self.counters
        }
    }

    pub(crate) fn packets_sent(&self, now: Time) -> u64 {
        self.counters.packets + u64::from(self.departed_before(now))
    }

    pub(crate) fn dropped_frames(&self) -> u64 {
        self.counters.dropped_frames
    }

    pub(crate) fn forget_extremes(&mut self) {
        self.level.forget_extremes();
    }

    /// Units waiting.
    pub(crate) fn waiting(&self) -> u32 {
        match &self.queue {
            Queue::Cells(server) => server.waiting(),
            Queue::Packets(fifo) => fifo.len(),
        }
    }

    /// Bits of buffer memory in use.
    pub(crate) fn buffered(&self) -> u64 {
        self.buffer.used()
    }
}

#[cfg(test)]
impl Port {
    /// All that has a length and could grow with the conversations that come and go.
    pub(crate) fn lengths(&self) -> Vec<usize> {
        let mut all = vec![self.frames.len(), self.policers.len(), self.channels.len()];
        all.extend(self.buffer.lengths());
        if let Queue::Cells(server) = &self.queue {
            all.extend(server.lengths());
        }
        all
    }
}
