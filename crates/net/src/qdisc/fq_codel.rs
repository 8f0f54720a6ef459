//! Fair queues with controlled delay (FQ-CoDel): a queue for each flow, served by deficit round robin with a first round for
//! flows that begin to send, and CoDel in each. RFC 8290.

use cellway_spec::FqCodel;
use cellway_units::{Bytes, Time};

use super::codel::{Control, Head, Parameters};
use super::flows::{FlowIndex, FlowQueues, Round, State};
use super::{Discipline, Drops, Memory, Queued};
use crate::line::Line;
use crate::loss::Stream;

/// Queues with controlled delay, one for each flow.
#[derive(Clone, Debug)]
pub(crate) struct FqCodelQueue {
    parameters: Parameters,
    quantum: i64,
    waiting: Waiting,
    /// Queues that have begun to send, and those that have used up their first quantum. A queue in neither is empty.
    new: Round,
    old: Round,
}

/// The state of a queue.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    control: Control,
    /// The octets that it may still send in this round; below 1, it waits for the next.
    credit: i64,
}

const _: () = assert!(FlowQueues::<Flow>::IS_COMPACT);

impl State for Flow {
    fn emptied(&mut self) {
        self.control.emptied();
    }
}

/// The packets that wait.
#[derive(Clone, Debug)]
struct Waiting {
    queues: FlowQueues<Flow>,
    memory: Memory,
    ecn: bool,
}

impl FqCodelQueue {
    /// An empty queue of a line whose largest packet is `largest`. The hash of flows depends on one draw.
    pub(super) fn new(memory: Memory, fq: FqCodel, largest: Bytes, mut stream: Stream) -> FqCodelQueue {
        let FqCodel { flows, quantum, target, interval, ecn } = fq;
        FqCodelQueue {
            parameters: Parameters { target, interval, largest },
            quantum: quantum.unwrap_or(largest).0.max(1) as i64,
            waiting: Waiting { queues: FlowQueues::new(flows, stream.bits()), memory, ecn },
            new: Round::default(),
            old: Round::default(),
        }
    }

    /// Removes all queues from the rounds: they are empty, and an idle line would have found them so.
    fn end_rounds(&mut self) {
        for round in [&mut self.new, &mut self.old] {
            while self.waiting.queues.leave(round).is_some() {}
        }
    }
}

impl Discipline for FqCodelQueue {
    /// RFC 8290 section 4.1.
    #[inline(never)]
    fn enqueue(&mut self, line: &Line, packet: Queued, drops: &mut Drops) {
        if self.waiting.memory.is_empty() && line.free_at() <= packet.since {
            self.end_rounds();
        }
        let Waiting { queues, memory, .. } = &mut self.waiting;
        let flow = queues.of(packet);
        if !memory.admit(packet) && !queues.make_room(memory, &[self.new, self.old], (flow, packet), drops) {
            return memory.drop_overlimit(packet, drops);
        }
        queues.push(flow, packet);
        if !queues.is_in_round(flow) {
            queues.state_mut(flow).credit = self.quantum;
            queues.join(&mut self.new, flow);
        }
    }

    /// RFC 8290 section 4.2.
    #[inline(never)]
    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Queued> {
        loop {
            let is_new = self.new.first().is_some();
            let round = if is_new { &mut self.new } else { &mut self.old };
            let flow = round.first()?;
            let queues = &mut self.waiting.queues;
            let mut state = queues.state(flow);
            if state.credit <= 0 {
                queues.state_mut(flow).credit += self.quantum;
                queues.leave(round);
                queues.join(&mut self.old, flow);
                continue;
            }
            let mut head = FlowHead { waiting: &mut self.waiting, flow };
            let next = state.control.next(&self.parameters, now, &mut head, drops);
            state.credit -= next.map_or(0, |packet| i64::from(packet.octets));
            *self.waiting.queues.state_mut(flow) = state;
            if let Some(packet) = next {
                self.waiting.memory.sent(now, packet);
                return Some(packet);
            }
            // An empty queue waits a round before it may begin again, so that a flow cannot always be sent first.
            self.waiting.queues.leave(round);
            if is_new {
                self.waiting.queues.join(&mut self.old, flow);
            }
        }
    }

    fn discard(&mut self) -> Option<Queued> {
        let packet = self.waiting.queues.discard(&[self.new, self.old])?;
        self.waiting.memory.release(packet);
        Some(packet)
    }

    fn waiting(&self) -> impl Iterator<Item = &Queued> {
        self.waiting.queues.waiting([self.new, self.old])
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
    #[inline(always)]
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
