//! Proportional integral control (PIE): drops or marks packets that arrive, with a probability that follows the wait and
//! its change. RFC 8033.

use cellway_spec::{Fifo, Pie};
use cellway_units::{Bytes, Span, Time};

use super::chance::draw;
use super::updates::Updates;
use super::{Discipline, Drops, FifoQueue, Memory, Queued};
use crate::line::Line;
use crate::loss::Stream;

/// The gains of the wait above the target and of its growth, per second. RFC 8033 section 4.2.
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// Below each probability the changes are divided by the number beside it. RFC 8033 section 4.2.
const TUNING: [(f64, f64); 6] = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
/// The largest step from a probability of at least 0.1. RFC 8033 section 5.5.
const LARGEST_STEP: f64 = 0.02;
/// The share by which the probability decays while nothing waits. RFC 8033 section 4.2.
const DECAY: f64 = 0.98;
/// Below this probability a wait of less than half the target causes no drop. RFC 8033 section 4.1.
const SAFE: f64 = 0.2;
/// No packet is dropped before the probabilities since the last drop sum up to the first; one is at the second. RFC 8033
/// section 5.4.
const SPACED: (f64, f64) = (0.85, 8.5);

/// A queue with proportional integral control.
#[derive(Clone, Debug)]
pub(crate) struct PieQueue {
    queue: FifoQueue,
    pie: Pie,
    largest: Bytes,
    stream: Stream,
    updates: Updates,
    state: State,
    /// The sum of the probabilities of packets since the last drop.
    accumulated: f64,
}

/// The state that updates change.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    probability: f64,
    /// The wait of the last packet that left; zero if it left none behind it.
    delay: Span,
    /// That wait at the last update.
    delay_before: Span,
    /// The time for which no packet is dropped.
    burst: Span,
}

impl PieQueue {
    /// An empty queue of a line whose largest packet is `largest`.
    pub(super) fn new(memory: Memory, pie: Pie, largest: Bytes, stream: Stream) -> PieQueue {
        PieQueue {
            queue: FifoQueue::new(memory, Fifo::TAIL),
            pie,
            largest,
            stream,
            updates: Updates::new(pie.update),
            state: State { probability: 0.0, delay: Span::ZERO, delay_before: Span::ZERO, burst: pie.burst },
            accumulated: 0.0,
        }
    }

    fn update(&mut self, now: Time) {
        let (pie, state) = (self.pie, &mut self.state);
        self.updates.run(now, |_| {
            let next = state.updated(&pie);
            std::mem::replace(state, next) != next
        });
    }

    /// Returns true if a packet that arrives is to be dropped or marked. RFC 8033 sections 4.1 and 5.4.
    fn selects(&mut self) -> bool {
        let State { probability, delay_before, burst, .. } = self.state;
        let is_short = delay_before < self.pie.target / 2 && probability < SAFE;
        if !burst.is_zero() || is_short || self.queue.memory.octets() <= 2 * self.largest.0 {
            return false;
        }
        self.accumulated = if probability == 0.0 { 0.0 } else { self.accumulated + probability };
        let (spaced, due) = SPACED;
        let is_selected =
            self.accumulated >= spaced && (self.accumulated >= due || draw(&mut self.stream) < probability);
        if is_selected {
            self.accumulated = 0.0;
        }
        is_selected
    }
}

impl State {
    /// Returns the state after an update. RFC 8033 sections 4.2 and 5.5.
    fn updated(self, pie: &Pie) -> State {
        let [delay, before, target] = [self.delay, self.delay_before, pie.target].map(Span::as_secs_f64);
        let mut step = ALPHA * (delay - target) + BETA * (delay - before);
        let tuning = TUNING.iter().find(|(below, _)| self.probability < *below);
        step /= tuning.map_or(1.0, |(_, divisor)| *divisor);
        if self.probability >= 0.1 {
            step = step.min(LARGEST_STEP);
        }
        let is_idle = self.delay.is_zero() && self.delay_before.is_zero();
        let probability = (self.probability + step) * if is_idle { DECAY } else { 1.0 };
        let probability = probability.clamp(0.0, 1.0);
        let is_short = |delay: Span| delay < pie.target / 2;
        let burst = if probability == 0.0 && is_short(self.delay) && is_short(self.delay_before) {
            pie.burst
        } else {
            self.burst.saturating_sub(pie.update)
        };
        State { probability, delay: self.delay, delay_before: self.delay, burst }
    }
}

impl Discipline for PieQueue {
    #[inline(never)]
    fn enqueue(&mut self, line: &Line, mut packet: Queued, drops: &mut Drops) {
        self.update(packet.since);
        if !self.memory_mut().fits(packet) {
            self.accumulated = 0.0;
            return self.memory_mut().drop_overlimit(packet, drops);
        }
        let is_selected = self.selects();
        let can_mark = self.pie.ecn && self.state.probability < self.pie.mark_below.as_f64();
        if is_selected && !(can_mark && packet.ecn.is_capable()) {
            return self.memory_mut().drop_early(packet, drops);
        }
        if is_selected {
            self.memory_mut().mark(&mut packet);
        }
        self.queue.enqueue(line, packet, drops);
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Queued> {
        self.update(now);
        let packet = self.queue.dequeue(now, drops)?;
        self.state.delay = if self.memory().is_empty() { Span::ZERO } else { now - packet.since };
        Some(packet)
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
