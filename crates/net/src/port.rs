//! An output port: a queue, the line it feeds and the link behind the line.

use cellway_units::{Rate, Span, Time};

use crate::buffer::{Buffer, BufferSpec, Owner};
use crate::calendar::Calendar;
use crate::cell::{Cell, Flags};
use crate::channel::{ChannelId, Class, NextHop};
use crate::counters::{Level, PortCounters};
use crate::discard::{Fate, FrameDiscard};
use crate::fabric::NodeId;
use crate::fifo::PacketFifo;
use crate::framing::Framing;
use crate::line::Line;
use crate::link::{Link, Unit};
use crate::packet::{PacketRef, Packets};
use crate::policer::{Policer, Verdict};
use crate::round_robin::RoundRobin;

/// An output port of a node: one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(pub u32);

#[derive(Clone, Debug)]
pub(crate) enum Queue {
    Cells(RoundRobin),
    Packets(PacketFifo),
}

#[derive(Clone, Debug)]
pub(crate) struct Port {
    id: u32,
    pub(crate) node: NodeId,
    pub(crate) to: NodeId,
    pub(crate) link: Link,
    framing: Framing,
    line: Line,
    /// What each packet costs on top of its time on the line.
    packet_cost: Span,
    queue: Queue,
    buffer: Buffer,
    /// Where each queue's channel stands within a frame, if the buffer cuts frames off.
    frames: Vec<FrameDiscard>,
    /// Policers of the queues up to the last that has one.
    policers: Vec<Option<Policer>>,
    sending: Option<Unit>,
    began: Time,
    level: Level,
    counters: PortCounters,
    /// Channel table of the far end: where each channel's cells go on arrival.
    pub(crate) channels: Vec<NextHop>,
    /// Whether the port stands in the list of ports to serve in this instant.
    pub(crate) called: bool,
}

impl Port {
    pub(crate) fn new(
        id: u32,
        node: NodeId,
        to: NodeId,
        rate: Rate,
        delay: Span,
        framing: Framing,
        buffer: Option<BufferSpec>,
    ) -> Port {
        Port {
            id,
            node,
            to,
            link: Link::new(delay),
            framing,
            line: Line::new(rate),
            packet_cost: Span::ZERO,
            queue: match framing {
                Framing::Atm => Queue::Cells(RoundRobin::default()),
                Framing::Packet | Framing::Ethernet | Framing::Fddi => Queue::Packets(PacketFifo::default()),
            },
            buffer: Buffer::new(buffer),
            frames: Vec::new(),
            policers: Vec::new(),
            sending: None,
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

    pub(crate) fn set_packet_cost(&mut self, cost: Span) {
        self.packet_cost = cost;
    }

    pub(crate) fn rate(&self) -> Rate {
        self.line.rate()
    }

    /// Adds a queue for `channel`; returns its slot.
    pub(crate) fn add_channel(&mut self, channel: ChannelId, class: Class) -> u32 {
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

    pub(crate) fn add_conversation(&mut self, conversation: u32, slot: u32) {
        self.buffer.add_conversation(conversation, slot);
    }

    /// Queues the cells of a frame as a group. Returns how many were lost.
    pub(crate) fn push_frame<B>(
        &mut self,
        now: Time,
        slot: u32,
        frame: PacketRef,
        count: u16,
        packets: &Packets<B>,
        calendar: &mut Calendar,
    ) -> u16 {
        let owner = owner_of_cell(&self.buffer, slot, frame, packets);
        if self.buffer.refuses_new_frames(owner) {
            self.counters.epd_frames += 1;
            self.counters.dropped_frames += 1;
            return count;
        }
        if self.policers.get(slot as usize).is_some_and(Option::is_some) {
            return self.push_policed_frame(now, owner, frame, count, packets, calendar);
        }
        let fitting = self.buffer.admit_frame(owner, count);
        let lost = count - fitting;
        if fitting == 0 {
            self.counters.dropped_frames += 1;
        } else {
            self.counters.dropped_cells += u64::from(lost);
        }
        if let Queue::Cells(server) = &mut self.queue {
            server.push_frame(now, slot, frame, fitting, count, &mut calendar.releases(self.id));
            self.level.change(now, server.waiting());
        }
        lost
    }

    /// The cells of a frame pass a policer one by one. A frame that the buffer would refuse whole does not
    /// come to it.
    fn push_policed_frame<B>(
        &mut self,
        now: Time,
        owner: Owner,
        frame: PacketRef,
        count: u16,
        packets: &Packets<B>,
        calendar: &mut Calendar,
    ) -> u16 {
        if self.buffer.refuses_frame(owner, count) {
            self.counters.dropped_frames += 1;
            return count;
        }
        let channel = self.server_mut().expect("a cell line").channel(owner.slot);
        let lost = (0..count).filter(|&index| {
            let cell = Cell { channel, frame, index, count, flags: Flags::default() };
            !self.push_cell(now, owner.slot, cell, packets, calendar)
        });
        lost.count() as u16
    }

    /// Queues one cell; returns whether it was taken.
    #[inline]
    pub(crate) fn push_cell<B>(
        &mut self,
        now: Time,
        slot: u32,
        mut cell: Cell,
        packets: &Packets<B>,
        calendar: &mut Calendar,
    ) -> bool {
        if let Some(Some(policer)) = self.policers.get_mut(slot as usize) {
            match policer.judge(now) {
                Verdict::Pass => {}
                Verdict::Tag => {
                    self.counters.policed_tagged += u64::from(!cell.flags.clp);
                    cell.flags.clp = true;
                }
                Verdict::Discard => {
                    self.counters.policed_discarded += 1;
                    if let Some(frame) = self.frames.get_mut(slot as usize) {
                        frame.cell(cell, || false);
                        frame.lost();
                    }
                    return false;
                }
            }
        }
        if !self.admit_cell(slot, cell, packets) {
            self.counters.dropped_cells += 1;
            return false;
        }
        if let Queue::Cells(server) = &mut self.queue {
            server.push(now, slot, cell, &mut calendar.releases(self.id));
            self.level.change(now, server.waiting());
        }
        true
    }

    /// Whether the buffer takes a cell; it is charged.
    #[inline]
    fn admit_cell<B>(&mut self, slot: u32, cell: Cell, packets: &Packets<B>) -> bool {
        let owner = owner_of_cell(&self.buffer, slot, cell.frame, packets);
        if let Some(frame) = self.frames.get_mut(slot as usize)
            && let Fate::Drop { new_frame } = frame.cell(cell, || self.buffer.refuses_new_frames(owner))
        {
            self.counters.epd_frames += u64::from(new_frame);
            return false;
        }
        if cell.flags.clp && self.buffer.refuses_tagged(owner) {
            self.counters.clp_discarded += 1;
        } else if self.buffer.admit_cell(owner, cell.index) {
            return true;
        }
        if let Some(frame) = self.frames.get_mut(slot as usize) {
            frame.lost();
        }
        false
    }

    /// Queues a whole packet; returns whether it fitted.
    pub(crate) fn push_packet<B>(&mut self, now: Time, packet: PacketRef, packets: &Packets<B>) -> bool {
        if !self.buffer.admit_packet(owner_of_packet(0, packet, packets)) {
            self.counters.dropped_frames += 1;
            return false;
        }
        if let Queue::Packets(fifo) = &mut self.queue {
            fifo.push(packet);
            self.level.change(now, fifo.len());
        }
        true
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.sending.is_none()
    }

    /// The last bit of the unit on the line leaves now; returns whether it is a cell.
    #[inline]
    pub(crate) fn depart(&mut self, now: Time) -> bool {
        self.counters.busy += now - self.began;
        let is_cell = matches!(self.queue, Queue::Cells(_));
        match is_cell {
            true => self.counters.cells += 1,
            false => self.counters.packets += 1,
        }
        is_cell
    }

    /// The unit that has just departed. It stays here until it is asked for: moving it through one
    /// more place for links without delay costs a fifth of the whole simulation.
    #[inline]
    pub(crate) fn departed(&mut self) -> Unit {
        self.sending.take().expect("a unit has departed")
    }

    pub(crate) fn on_line(&self) -> Option<Unit> {
        self.sending
    }

    /// The free line takes its next unit; returns the instant it will have left.
    #[inline]
    pub(crate) fn serve<B>(&mut self, now: Time, packets: &Packets<B>, calendar: &mut Calendar) -> Option<Time> {
        debug_assert!(self.is_idle(), "service on a busy line");
        let (unit, leaves) = match &mut self.queue {
            Queue::Cells(server) => {
                let (slot, cell) = server.serve(now, &mut calendar.releases(self.id))?;
                self.level.change(now, server.waiting());
                let owner = owner_of_cell(&self.buffer, slot, cell.frame, packets);
                self.buffer.release_cell(owner, cell.index);
                (Unit::Cell(cell), self.line.send_cell(now))
            }
            Queue::Packets(fifo) => {
                let packet = fifo.pop()?;
                self.level.change(now, fifo.len());
                let owner = owner_of_packet(0, packet, packets);
                self.buffer.release_packet(owner);
                (Unit::Packet(packet), self.line.send(now, self.framing.bits(owner.octets), self.packet_cost))
            }
        };
        self.sending = Some(unit);
        self.began = now;
        Some(leaves)
    }

    /// A queue asked to be called now; returns whether it has something to send.
    pub(crate) fn release(&mut self, now: Time, slot: u32) -> bool {
        self.server_mut().is_some_and(|server| server.release(now, slot))
    }

    /// The cell queues, if this is a cell line.
    pub(crate) fn server_mut(&mut self) -> Option<&mut RoundRobin> {
        match &mut self.queue {
            Queue::Cells(server) => Some(server),
            Queue::Packets(_) => None,
        }
    }

    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.line.set_rate(rate);
    }

    pub(crate) fn watch(&mut self) {
        self.level.watch();
    }

    pub(crate) fn watched(&mut self) -> Vec<(Time, u32)> {
        self.level.watched()
    }

    pub(crate) fn counters(&self, now: Time) -> PortCounters {
        let sent_so_far = if self.is_idle() { Span::ZERO } else { now - self.began };
        PortCounters {
            busy: self.counters.busy + sent_so_far,
            queue_area: self.level.area(now),
            queue_peak: self.level.peak(),
            queue_min: self.level.min(),
            ..self.counters
        }
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

/// The owner of a cell, its packet looked up only where the buffer asks for it.
#[inline]
fn owner_of_cell<B>(buffer: &Buffer, slot: u32, frame: PacketRef, packets: &Packets<B>) -> Owner {
    if buffer.asks_for_packet() {
        owner_of_packet(slot, frame, packets)
    } else {
        Owner { slot, conversation: 0, octets: 0 }
    }
}

fn owner_of_packet<B>(slot: u32, frame: PacketRef, packets: &Packets<B>) -> Owner {
    let packet = packets.get(frame);
    Owner { slot, conversation: packet.conversation, octets: packet.octets }
}
