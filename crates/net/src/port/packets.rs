//! The part of a packet port: the queue discipline and the framing of the line.

use cellway_units::{Ecn, Span, Time};

use super::{Kind, Port};
use crate::counters::{Level, PortCounters};
use crate::light::{Entry, Light, LightLoad};
use crate::line::Line;
use crate::packet::{PacketRef, Packets};
use crate::qdisc::{Discipline, Qdisc, Queued, with};
use cellway_spec::Framing;

/// The queue of a packet line.
#[derive(Clone, Debug)]
pub(super) struct PacketPort {
    framing: Framing,
    /// What each packet costs on top of its time on the line.
    packet_cost: Span,
    pub(super) qdisc: Qdisc,
    /// The packets before the queue, if a recording delays them.
    pub(super) light: Option<Box<Light>>,
}

impl PacketPort {
    pub(super) fn new(framing: Framing, packet_cost: Span, qdisc: Qdisc, light: Option<LightLoad>) -> PacketPort {
        PacketPort { framing, packet_cost, qdisc, light: light.map(|load| Box::new(Light::new(load))) }
    }

    pub(super) fn framing(&self) -> Framing {
        self.framing
    }

    /// Returns the instant at which the first bit of a packet leaves whose processing starts at `began`.
    pub(super) fn sends_from(&self, began: Time) -> Time {
        began + self.packet_cost
    }

    /// Starts a packet on the idle line; returns the instant at which its last bit leaves.
    #[inline(always)]
    pub(super) fn send(&self, now: Time, octets: u32, line: &mut Line) -> Time {
        line.send(now, self.framing.bits(octets), self.packet_cost)
    }

    /// Takes the packet that the line sends next, with the mark that the discipline has set.
    #[inline(always)]
    pub(super) fn dequeue<B>(&mut self, now: Time, packets: &mut Packets<B>, level: &mut Level) -> Option<Queued> {
        with!(&mut self.qdisc, queue => dequeue(queue, now, packets, level))
    }

    /// Drops all packets that wait; returns their number.
    pub(super) fn flush<B>(&mut self, packets: &mut Packets<B>) -> u32 {
        let waiting = self.qdisc.len();
        with!(&mut self.qdisc, queue => {
            while let Some(packet) = queue.discard() {
                packets.drops().push(packet.packet);
            }
        });
        packets.refuse_dropped();
        waiting
    }

    pub(super) fn dropped(&self) -> u64 {
        let counters = self.qdisc.counters();
        counters.overlimit + counters.early
    }

    /// Returns `counters` with the counts of the discipline.
    pub(super) fn counted(&self, counters: PortCounters) -> PortCounters {
        let queue = self.qdisc.counters();
        PortCounters {
            dropped_frames: queue.overlimit + queue.early,
            early_drops: queue.early,
            marked: queue.marked,
            taken: queue.taken,
            sojourn: queue.sojourn,
            ..counters
        }
    }
}

impl Port {
    /// Returns the packets before the queue, if a recording delays them.
    #[inline]
    pub(crate) fn light(&mut self) -> Option<&mut Light> {
        match &mut self.kind {
            Kind::Cells(_) => None,
            Kind::Packets(packets) => packets.light.as_deref_mut(),
        }
    }

    /// Returns the packet that comes to the queue now, true if it passes the queue, and the instant of the next.
    pub(crate) fn entry(&mut self, now: Time) -> (PacketRef, bool, Option<Time>) {
        let Kind::Packets(port) = &mut self.kind else { unreachable!("packets go whole over packet lines only") };
        let light = port.light.as_mut().expect("an entry is pending");
        let (Entry { packet, passes, .. }, next) = light.pop();
        let is_free = port.qdisc.len() == 0 && self.sending.is_none() && !self.line.is_out(now);
        (packet, passes && is_free, next)
    }

    /// Counts a packet for which there is no place before the queue, as one that the queue discipline drops for its
    /// limit.
    #[cold]
    pub(crate) fn count_refused(&mut self) {
        let Kind::Packets(port) = &mut self.kind else { unreachable!("packets go whole over packet lines only") };
        port.qdisc.count_refused();
    }

    /// Counts a packet that passes the queue and the line.
    pub(crate) fn count_passed(&mut self) {
        self.counters.packets += 1;
    }

    /// Hands a packet to the queue discipline; returns false if no packet waits then.
    #[inline]
    pub(crate) fn push_packet<B>(&mut self, now: Time, packet: PacketRef, packets: &mut Packets<B>) -> bool {
        let queued = packets.queued(now, packet);
        self.enqueue(queued, packets) > 0
    }

    /// Hands a packet to the queue discipline; returns the number of packets that wait then.
    #[inline(always)]
    pub(crate) fn enqueue<B>(&mut self, packet: Queued, packets: &mut Packets<B>) -> u32 {
        let Kind::Packets(port) = &mut self.kind else { unreachable!("packets go whole over packet lines only") };
        match &mut port.qdisc {
            // The most frequent one without a call.
            Qdisc::Fifo(queue) => enqueue(queue, &self.line, packet, packets, &mut self.level),
            qdisc => enqueue_by(qdisc, &self.line, packet, packets, &mut self.level),
        }
    }

    /// Takes the packet that the line sends at `now`, with the mark that the discipline has set.
    #[inline(always)]
    pub(crate) fn dequeue<B>(&mut self, now: Time, packets: &mut Packets<B>) -> Option<Queued> {
        let Kind::Packets(port) = &mut self.kind else { unreachable!("packets go whole over packet lines only") };
        match &mut port.qdisc {
            Qdisc::Fifo(queue) => dequeue(queue, now, packets, &mut self.level),
            qdisc => dequeue_by(qdisc, now, packets, &mut self.level),
        }
    }
}

#[inline(never)]
fn enqueue_by<B>(qdisc: &mut Qdisc, line: &Line, packet: Queued, packets: &mut Packets<B>, level: &mut Level) -> u32 {
    with!(qdisc, queue => enqueue(&mut *queue, line, packet, packets, level))
}

#[inline(never)]
fn dequeue_by<B>(qdisc: &mut Qdisc, now: Time, packets: &mut Packets<B>, level: &mut Level) -> Option<Queued> {
    with!(qdisc, queue => dequeue(queue, now, packets, level))
}

/// Hands a packet to a discipline; returns the number of packets that wait then.
#[inline(always)]
fn enqueue<B>(
    queue: &mut impl Discipline,
    line: &Line,
    queued: Queued,
    packets: &mut Packets<B>,
    level: &mut Level,
) -> u32 {
    let before = queue.len();
    queue.enqueue(line, queued, packets.drops());
    packets.refuse_dropped();
    let waiting = queue.len();
    if waiting != before {
        level.change(queued.since, waiting);
    }
    waiting
}

/// Takes the next packet of a discipline, which has the mark that the discipline has set.
#[inline(always)]
fn dequeue<B>(queue: &mut impl Discipline, now: Time, packets: &mut Packets<B>, level: &mut Level) -> Option<Queued> {
    let before = queue.len();
    let mut next = queue.dequeue(now, packets.drops());
    packets.refuse_dropped();
    let waiting = queue.len();
    if waiting != before {
        level.change(now, waiting);
    }
    if let Some(Queued { packet, marked, since, ecn, .. }) = &mut next {
        packets.waited(*packet, now - *since);
        if std::mem::take(marked) {
            packets.mark(*packet);
            *ecn = Ecn::Ce;
        }
    }
    next
}
