//! Two coupled queues (DualPI2): one with little delay for packets with ECT(1) or CE, and the classic queue for all others.
//! RFC 9332, appendix A.

mod controller;

use std::collections::VecDeque;

use cellway_spec::{DualPi2, LowLatencyMarks, Overload};
use cellway_units::{Bytes, Ecn, Rate, Span, Time};

use self::controller::Controller;
use super::chance::draw;
use super::{Discipline, Drops, Memory, Queued};
use crate::line::Line;
use crate::loss::Stream;

/// Two coupled queues with one limit.
#[derive(Clone, Debug)]
pub(crate) struct DualPi2Queue {
    memory: Memory,
    low: VecDeque<Queued>,
    classic: VecDeque<Queued>,
    controller: Controller,
    spec: DualPi2,
    /// The wait in the low-latency queue above which packets are marked for that.
    threshold: Span,
    /// The octets, weighted, that the classic queue is behind its share: above 0, it is its turn.
    credit: f64,
    /// The credit when both queues have become empty: as in Linux, that of some packets of the low-latency queue.
    first_credit: f64,
    /// The largest packet. While fewer octets than two of these wait, no packet is dropped or marked by chance.
    largest: Bytes,
    stream: Stream,
}

/// What becomes of a packet that was taken from its queue.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Sent,
    Marked,
    Dropped,
}

impl DualPi2Queue {
    /// Empty queues of a line of `rate` whose largest packet is `largest`. On a slow line the threshold for marks is the
    /// time of such a packet, since one waits that long behind a single other.
    pub(super) fn new(memory: Memory, spec: DualPi2, largest: Bytes, rate: Rate, stream: Stream) -> DualPi2Queue {
        let (packet, _) = rate.time_for(largest.bits(), 0);
        let first_credit = largest.0 as f64 * (2.0 * spec.classic_share.as_f64() - 1.0);
        DualPi2Queue {
            memory,
            low: VecDeque::new(),
            classic: VecDeque::new(),
            controller: Controller::new(spec),
            spec,
            threshold: spec.threshold.max(packet),
            credit: first_credit,
            first_credit,
            largest,
            stream,
        }
    }

    fn update(&mut self, now: Time) {
        let oldest =
            [&self.low, &self.classic].into_iter().filter_map(|queue| queue.front()).map(|head| head.since).min();
        self.controller.update(now, oldest);
    }

    /// Takes the next packet by weighted round robin, in which the classic queue has a small share. RFC 9332 section 2.5.
    fn take(&mut self) -> Option<(Queued, bool)> {
        let is_low = !self.low.is_empty() && (self.classic.is_empty() || self.credit <= 0.0);
        let packet = if is_low { self.low.pop_front() } else { self.classic.pop_front() }?;
        self.memory.release(packet);
        Some((packet, is_low))
    }

    /// Counts a packet that is sent against the share of its queue, if the other one has packets.
    fn charge(&mut self, packet: Queued, is_low: bool) {
        let share = self.spec.classic_share.as_f64();
        let (other, step) = if is_low { (&self.classic, share) } else { (&self.low, share - 1.0) };
        if !other.is_empty() {
            self.credit += step * f64::from(packet.octets);
        }
    }

    /// Returns true if too little waits, with a packet that was taken, for drops and marks by chance. As in Linux.
    fn is_short(&self, packet: Queued) -> bool {
        self.memory.octets() + u64::from(packet.octets) < 2 * self.largest.0
    }

    fn fate_of_classic(&mut self, packet: Queued) -> Fate {
        // Two draws give the square of the base probability.
        if self.is_short(packet) || !(self.is_drawn(self.controller.base) && self.is_drawn(self.controller.base)) {
            Fate::Sent
        } else if packet.ecn.is_capable() && !self.is_overloaded() {
            Fate::Marked
        } else {
            Fate::Dropped
        }
    }

    fn fate_of_low(&mut self, now: Time, packet: Queued) -> Fate {
        let is_short = self.is_short(packet);
        let coupled = if is_short { 0.0 } else { self.controller.coupled() };
        if self.is_overloaded() && !is_short {
            let is_dropped = self.is_drawn(self.controller.base) && self.is_drawn(self.controller.base);
            return if is_dropped { Fate::Dropped } else { Fate::Marked };
        }
        let probability = coupled.max(self.native(now - packet.since));
        if self.is_drawn(probability) { Fate::Marked } else { Fate::Sent }
    }

    /// Returns the probability of a mark by the wait in the low-latency queue alone.
    fn native(&self, wait: Span) -> f64 {
        match self.spec.marks {
            LowLatencyMarks::Step => f64::from(u8::from(wait > self.threshold)),
            LowLatencyMarks::Ramp => {
                (wait.saturating_sub(self.threshold).as_secs_f64() / self.threshold.as_secs_f64()).min(1.0)
            }
        }
    }

    /// Returns true if all packets of the low-latency queue are marked, and this is not enough.
    fn is_overloaded(&self) -> bool {
        self.spec.overload == Overload::Drop && self.controller.coupled() >= 1.0
    }

    fn is_drawn(&mut self, probability: f64) -> bool {
        probability > 0.0 && draw(&mut self.stream) < probability
    }
}

impl Discipline for DualPi2Queue {
    #[inline(never)]
    fn enqueue(&mut self, line: &Line, packet: Queued, drops: &mut Drops) {
        self.update(packet.since);
        if self.memory.is_empty() && line.free_at() <= packet.since {
            self.credit = self.first_credit;
        }
        if !self.memory.admit(packet) {
            return self.memory.drop_overlimit(packet, drops);
        }
        let queue = if matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce) { &mut self.low } else { &mut self.classic };
        queue.push_back(packet);
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Queued> {
        self.update(now);
        loop {
            let (mut packet, is_low) = self.take()?;
            let fate = if is_low { self.fate_of_low(now, packet) } else { self.fate_of_classic(packet) };
            if fate == Fate::Dropped {
                self.memory.drop_early(packet, drops);
                continue;
            }
            if fate == Fate::Marked {
                self.memory.mark(&mut packet);
            }
            self.charge(packet, is_low);
            self.memory.sent(now, packet);
            return Some(packet);
        }
    }

    fn discard(&mut self) -> Option<Queued> {
        let packet = self.low.pop_front().or_else(|| self.classic.pop_front())?;
        self.memory.release(packet);
        Some(packet)
    }

    fn waiting(&self) -> impl Iterator<Item = &Queued> {
        self.low.iter().chain(&self.classic)
    }

    fn memory(&self) -> &Memory {
        &self.memory
    }

    fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }
}

#[cfg(test)]
mod tests;
