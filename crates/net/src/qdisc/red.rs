//! Random early detection: drops or marks packets with a probability that grows with the average queue length.
//!
//! S. Floyd and V. Jacobson, *Random Early Detection Gateways for Congestion Avoidance*, IEEE/ACM Transactions on
//! Networking 1(4), 1993, figure 2; the gentle variant is S. Floyd, *Recommendation on using the "gentle_" variant of
//! RED*, 2000. All arithmetic is addition, multiplication and division of `f64`, which every machine rounds alike.

use cellway_spec::{QueueLength, Red};
use cellway_units::{Bytes, Ecn, Time};

use super::{Discipline, Drops, Fifo, QdiscCounters, Queued};
use crate::buffer::{Buffer, BufferSpec};
use crate::line::Line;
use crate::loss::Stream;

/// A queue with random early detection.
#[derive(Clone, Debug)]
pub(crate) struct RedQueue {
    queue: Fifo,
    /// IP octets that wait.
    octets: u64,
    red: Red,
    /// The largest packet.
    largest: Bytes,
    stream: Stream,
    average: f64,
    /// The arrival of the last sample.
    sampled: Time,
    /// Packets since the last drop or mark; `None` while the average is below `min`.
    count: Option<u64>,
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
    /// An empty queue. The parameters break no rule of [`Red::problem`].
    pub(crate) fn new(limit: Option<BufferSpec>, red: Red, largest: Bytes, stream: Stream) -> RedQueue {
        debug_assert_eq!(red.problem(), None);
        let queue = Fifo::new(limit);
        RedQueue { queue, octets: 0, red, largest, stream, average: 0.0, sampled: Time::ZERO, count: None }
    }

    fn drop_early(&mut self, packet: Queued, drops: &mut Drops) {
        self.queue.counters.early += 1;
        drops.push(packet.packet);
    }

    /// Updates the average for a packet that arrives `now`: one sample of the queue, after one of an empty queue for
    /// each packet that the line could have sent while it was idle, since the last sample: a packet that is dropped does
    /// not make the line busy.
    fn sample(&mut self, now: Time, line: &Line) {
        let weight = self.red.weight.as_f64();
        if self.queue.is_empty() && now > line.free_at() {
            let since = self.sampled.max(line.free_at());
            let packets = line.idle_bits(since, now) / u128::from(self.red.mean_packet.bits().0.max(1));
            self.average *= power(1.0 - weight, u64::try_from(packets).unwrap_or(u64::MAX));
        }
        let waiting = match self.red.min {
            QueueLength::Packets(_) => u64::from(self.queue.len()),
            QueueLength::Bytes(_) => self.octets,
        };
        self.average += weight * (waiting as f64 - self.average);
        self.sampled = now;
    }

    /// Applies the control law to a packet at the current average.
    fn law(&self, octets: u32) -> Law {
        let (min, max, max_p) = (self.red.min.amount() as f64, self.red.max.amount() as f64, self.red.max_p.as_f64());
        let probability = if self.average < min {
            return Law::Queue;
        } else if self.average < max {
            max_p * (self.average - min) / (max - min)
        } else if self.red.gentle && self.average < 2.0 * max {
            max_p + (1.0 - max_p) * (self.average - max) / max
        } else {
            return Law::Drop;
        };
        Law::Probability(match self.red.min {
            QueueLength::Packets(_) => probability,
            QueueLength::Bytes(_) => probability * (f64::from(octets) / self.largest.0 as f64).min(1.0),
        })
    }

    /// Draws for a packet; returns true if it is selected. The probability p_b / (1 - count p_b) makes the number of packets
    /// from one selected packet to the next uniform.
    fn draw(&mut self, probability: f64) -> bool {
        let count = self.count.map_or(0, |count| count + 1);
        // 53 bits are what an f64 holds exactly.
        let draw = (self.stream.bits() >> 11) as f64 / (1u64 << 53) as f64;
        let left = 1.0 - count as f64 * probability;
        let is_selected = left <= 0.0 || draw * left < probability;
        self.count = Some(if is_selected { 0 } else { count });
        is_selected
    }

    pub(crate) fn counters(&self) -> QdiscCounters {
        self.queue.counters()
    }

    pub(crate) fn buffer(&self) -> &Buffer {
        self.queue.buffer()
    }

    pub(crate) fn buffer_mut(&mut self) -> &mut Buffer {
        self.queue.buffer_mut()
    }
}

impl Discipline for RedQueue {
    #[inline(never)]
    fn enqueue(&mut self, line: &Line, mut packet: Queued, drops: &mut Drops) {
        self.sample(packet.since, line);
        let is_selected = match self.law(packet.octets) {
            Law::Queue => {
                self.count = None;
                false
            }
            Law::Probability(probability) => self.draw(probability),
            Law::Drop => {
                self.count = Some(0);
                return self.drop_early(packet, drops);
            }
        };
        if is_selected && !(self.red.ecn && packet.ecn.is_capable()) {
            return self.drop_early(packet, drops);
        }
        if self.queue.fits(packet) {
            packet.marked = is_selected && packet.ecn != Ecn::Ce;
            self.queue.counters.marked += u64::from(packet.marked);
            self.octets += u64::from(packet.octets);
        } else {
            self.count = self.count.and(Some(0));
        }
        self.queue.enqueue(line, packet, drops);
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Queued> {
        let packet = self.queue.dequeue(now, drops)?;
        self.octets -= u64::from(packet.octets);
        Some(packet)
    }

    fn len(&self) -> u32 {
        self.queue.len()
    }
}

/// Returns `base` to the power of `exponent`, by squaring.
fn power(base: f64, mut exponent: u64) -> f64 {
    let (mut result, mut square) = (1.0, base);
    while exponent > 0 {
        if exponent % 2 == 1 {
            result *= square;
        }
        square *= square;
        exponent /= 2;
    }
    result
}

#[cfg(test)]
mod tests;
