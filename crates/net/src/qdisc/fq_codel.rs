//! Fair queues with controlled delay (FQ-CoDel): a queue for each flow, served by deficit round robin with a first round for
//! flows that begin to send, and CoDel in each. RFC 8290.

use cellway_spec::FqCodel;
use cellway_units::{Bytes, Time};

use super::codel::{Control, Head};
use super::flows::{FlowIndex, FlowQueues, Round, RoundLinks};
use super::{Discipline, Drops, Memory, Queued};
use crate::line::Line;
use crate::loss::Stream;

/// Queues with controlled delay, one for each flow.
#[derive(Clone, Debug)]
pub(crate) struct FqCodelQueue {
    fq: FqCodel,
    /// The largest packet of the line.
    largest: Bytes,
    quantum: i64,
    waiting: Waiting,
    /// The state of each queue.
    flows: Vec<Flow>,
    /// Queues that have begun to send, and those that have used up their first quantum. A queue in neither is empty.
    new: Round,
    old: Round,
    links: RoundLinks,
}

#[derive(Clone, Debug)]
struct Flow {
    control: Control,
    /// The octets that it may still send in this round; below 1, it waits for the next.
    credit: i64,
    is_active: bool,
}

/// The packets that wait.
#[derive(Clone, Debug)]
struct Waiting {
    queues: FlowQueues,
    memory: Memory,
    ecn: bool,
}

impl FqCodelQueue {
    /// An empty queue of a line whose largest packet is `largest`. The hash of flows depends on one draw.
    pub(super) fn new(memory: Memory, fq: FqCodel, largest: Bytes, mut stream: Stream) -> FqCodelQueue {
        let queues = FlowQueues::new(fq.flows, stream.bits());
        FqCodelQueue {
            fq,
            largest,
            quantum: fq.quantum.unwrap_or(largest).0.max(1) as i64,
            waiting: Waiting { queues, memory, ecn: fq.ecn },
            flows: Vec::new(),
            new: Round::default(),
            old: Round::default(),
            links: RoundLinks::default(),
        }
    }

    /// Adds a packet to the queue of its flow. RFC 8290 section 4.1.
    fn push(&mut self, flow: FlowIndex, packet: Queued) {
        self.waiting.queues.push(flow, packet);
        let state = &mut self.flows[flow.0 as usize];
        if !state.is_active {
            (state.is_active, state.credit) = (true, self.quantum);
            self.new.push(&mut self.links, flow);
        }
    }

    /// Takes a packet into the memory, if need be in place of others.
    fn admits(&mut self, flow: FlowIndex, packet: Queued, drops: &mut Drops) -> bool {
        let Waiting { queues, memory, .. } = &mut self.waiting;
        let active = self.new.iter(&self.links).chain(self.old.iter(&self.links));
        memory.admit(packet) || queues.make_room(memory, active, (flow, packet), drops)
    }

    /// Removes all queues from the rounds: they are empty, and an idle line would have found them so.
    fn end_rounds(&mut self) {
        for round in [&mut self.new, &mut self.old] {
            while let Some(flow) = round.pop(&mut self.links) {
                self.flows[flow.0 as usize].is_active = false;
            }
        }
    }
}

impl Discipline for FqCodelQueue {
    #[inline(never)]
    fn enqueue(&mut self, line: &Line, packet: Queued, drops: &mut Drops) {
        if self.waiting.memory.is_empty() && line.free_at() <= packet.since {
            self.end_rounds();
        }
        let flow = self.waiting.queues.of(packet);
        while self.flows.len() < self.waiting.queues.len() {
            let control = Control::new(self.fq.target, self.fq.interval, self.largest);
            self.flows.push(Flow { control, credit: 0, is_active: false });
        }
        if self.admits(flow, packet, drops) {
            self.push(flow, packet);
        } else {
            self.waiting.memory.drop_overlimit(packet, drops);
        }
    }

    /// RFC 8290 section 4.2.
    #[inline(never)]
    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Queued> {
        loop {
            let is_new = self.new.first().is_some();
            let round = if is_new { &mut self.new } else { &mut self.old };
            let flow = round.first()?;
            let state = &mut self.flows[flow.0 as usize];
            if state.credit <= 0 {
                state.credit += self.quantum;
                round.pop(&mut self.links);
                self.old.push(&mut self.links, flow);
                continue;
            }
            let mut head = FlowHead { waiting: &mut self.waiting, flow };
            if let Some(packet) = state.control.next(now, &mut head, drops) {
                state.credit -= i64::from(packet.octets);
                self.waiting.memory.sent(now, packet);
                return Some(packet);
            }
            // An empty queue waits a round before it may begin again, so that a flow cannot always be sent first.
            round.pop(&mut self.links);
            if is_new {
                self.old.push(&mut self.links, flow);
            } else {
                state.is_active = false;
            }
        }
    }

    fn memory(&self) -> &Memory {
        &self.waiting.memory
    }

    fn memory_mut(&mut self) -> &mut Memory {
        &mut self.waiting.memory
    }
}

/// The head of the queue of one flow.
struct FlowHead<'a> {
    waiting: &'a mut Waiting,
    flow: FlowIndex,
}

impl Head for FlowHead<'_> {
    fn take(&mut self) -> Option<Queued> {
        let packet = self.waiting.queues.pop(self.flow)?;
        self.waiting.memory.release(packet);
        Some(packet)
    }

    fn octets(&self) -> u64 {
        self.waiting.queues.octets(self.flow)
    }

    fn mark(&mut self, packet: &mut Queued) -> bool {
        self.waiting.ecn && self.waiting.memory.mark(packet)
    }

    fn drop(&mut self, packet: Queued, drops: &mut Drops) {
        self.waiting.memory.drop_early(packet, drops);
    }
}

#[cfg(test)]
mod tests;
