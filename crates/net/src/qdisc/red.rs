//! Random early detection: drops or marks packets with a probability that grows with the average queue length.
//!
//! S. Floyd and V. Jacobson, *Random Early Detection Gateways for Congestion Avoidance*, IEEE/ACM Transactions on
//! Networking 1(4), 1993, figure 2; the gentle variant is S. Floyd, *Recommendation on using the "gentle_" variant of
//! RED*, 2000. All arithmetic is addition, multiplication and division of `f64`, which every machine rounds alike.

mod adaptive;

use cellway_spec::{Fifo, QueueLength, Red};
use cellway_units::{Bytes, Time};

use super::chance::draw;
use super::updates::Updates;
use super::{Discipline, Drops, FifoQueue, Memory, Queued};
use crate::line::Line;
use crate::loss::Stream;

/// A queue with random early detection.
#[derive(Clone, Debug)]
pub(crate) struct RedQueue {
    queue: FifoQueue,
    parameters: Parameters,
    /// The largest packet.
    largest: Bytes,
    stream: Stream,
    average: f64,
    /// The arrival of the last sample.
    sampled: Time,
    /// Packets since the last drop or mark; `None` while the average is below `min`.
    count: Option<u64>,
    /// The updates of `max_p`, if it is adapted.
    updates: Option<Updates>,
}

/// The parameters of the control law. `min`, `max` and the average are in packets, or in octets.
#[derive(Clone, Copy, Debug)]
struct Parameters {
    min: f64,
    max: f64,
    in_octets: bool,
    max_p: f64,
    weight: f64,
    gentle: bool,
    ecn: bool,
    mean_packet: Bytes,
}

impl From<Red> for Parameters {
    fn from(red: Red) -> Parameters {
        let Red { min, max, max_p, weight, gentle, ecn, mean_packet } = red;
        Parameters {
            min: min.amount() as f64,
            max: max.amount() as f64,
            in_octets: matches!(min, QueueLength::Bytes(_)),
            max_p: max_p.as_f64(),
            weight: weight.as_f64(),
            gentle,
            ecn,
            mean_packet,
        }
    }
}

/// The outcome of the control law for an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Law {
    /// The packet is queued.
    Queue,
    /// The packet is dropped or marked with this probability p_b, below 1.
    Probability(f64),
    /// The packet is dropped.
    Drop,
}

impl RedQueue {
    /// An empty queue.
    pub(super) fn new(memory: Memory, red: Red, largest: Bytes, stream: Stream) -> RedQueue {
        RedQueue::with(memory, red.into(), largest, stream, None)
    }

    fn with(
        memory: Memory,
        parameters: Parameters,
        largest: Bytes,
        stream: Stream,
        updates: Option<Updates>,
    ) -> RedQueue {
        let queue = FifoQueue::new(memory, Fifo::TAIL);
        RedQueue { queue, parameters, largest, stream, average: 0.0, sampled: Time::ZERO, count: None, updates }
    }

    /// Updates the average for a packet that arrives `now`: one sample of the queue, after one of an empty queue for
    /// each packet that the line could have sent while it was idle, since the last sample: a packet that is dropped does
    /// not make the line busy.
    fn sample(&mut self, now: Time, line: &Line) {
        let weight = self.parameters.weight;
        if self.memory().is_empty() && now > line.free_at() {
            let since = self.sampled.max(line.free_at());
            self.average = self.parameters.after_idle(self.average, line.idle_bits(since, now));
        }
        let waiting = if self.parameters.in_octets { self.memory().octets() } else { u64::from(self.len()) };
        self.average += weight * (waiting as f64 - self.average);
        self.sampled = now;
    }

    /// Applies the control law to a packet at the current average.
    fn law(&self, octets: u32) -> Law {
        let Parameters { min, max, max_p, gentle, in_octets, .. } = self.parameters;
        let probability = if self.average < min {
            return Law::Queue;
        } else if self.average < max {
            max_p * (self.average - min) / (max - min)
        } else if gentle && self.average < 2.0 * max {
            max_p + (1.0 - max_p) * (self.average - max) / max
        } else {
            return Law::Drop;
        };
        let share = if in_octets { (f64::from(octets) / self.largest.0 as f64).min(1.0) } else { 1.0 };
        Law::Probability(probability * share)
    }

    /// Draws for a packet; returns true if it is selected. The probability p_b / (1 - count p_b) makes the number of packets
    /// from one selected packet to the next uniform.
    fn draw(&mut self, probability: f64) -> bool {
        let count = self.count.map_or(0, |count| count + 1);
        let draw = draw(&mut self.stream);
        let left = 1.0 - count as f64 * probability;
        let is_selected = left <= 0.0 || draw * left < probability;
        self.count = Some(if is_selected { 0 } else { count });
        is_selected
    }
}

impl Discipline for RedQueue {
    #[inline(never)]
    fn enqueue(&mut self, line: &Line, mut packet: Queued, drops: &mut Drops) {
        self.adapt(packet.since, line);
        self.sample(packet.since, line);
        let is_selected = match self.law(packet.octets) {
            Law::Queue => {
                self.count = None;
                false
            }
            Law::Probability(probability) => self.draw(probability),
            Law::Drop => {
                self.count = Some(0);
                return self.memory_mut().drop_early(packet, drops);
            }
        };
        if is_selected && !(self.parameters.ecn && packet.ecn.is_capable()) {
            return self.memory_mut().drop_early(packet, drops);
        }
        if !self.memory_mut().fits(packet) {
            self.count = self.count.and(Some(0));
        } else if is_selected {
            self.memory_mut().mark(&mut packet);
        }
        self.queue.enqueue(line, packet, drops);
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Queued> {
        self.queue.dequeue(now, drops)
    }

    fn discard(&mut self) -> Option<Queued> {
        self.queue.take()
    }

    fn waiting(&self) -> impl Iterator<Item = &Queued> {
        self.queue.waiting()
    }

    fn memory(&self) -> &Memory {
        &self.queue.memory
    }

    fn memory_mut(&mut self) -> &mut Memory {
        &mut self.queue.memory
    }
}

#[cfg(test)]
mod tests;
