//! Deficit round robin: a queue for each flow, all of which may send the same octets in a round. M. Shreedhar,
//! G. Varghese, *Efficient fair queueing using deficit round robin*, SIGCOMM 1995.

use cellway_spec::Drr;
use cellway_units::{Bytes, Time};

use super::flows::{FlowQueues, Round, State};
use super::{Discipline, Drops, Memory, Queued};
use crate::line::Line;
use crate::loss::Stream;

/// Queues of flows in deficit round robin.
#[derive(Clone, Debug)]
pub(crate) struct DrrQueue {
    memory: Memory,
    quantum: u64,
    /// Each with the octets that it may still send in this round, beside its next quantum.
    queues: FlowQueues<u64>,
    round: Round,
    /// The first queue of the round has had its quantum.
    is_begun: bool,
}

/// The octets that a queue may still send.
impl State for u64 {
    fn emptied(&mut self) {
        *self = 0;
    }
}

impl DrrQueue {
    /// An empty queue of a line whose largest packet is `largest`. The hash of flows depends on one draw.
    pub(super) fn new(memory: Memory, drr: Drr, largest: Bytes, mut stream: Stream) -> DrrQueue {
        DrrQueue {
            memory,
            quantum: drr.quantum.unwrap_or(largest).0.max(1),
            queues: FlowQueues::new(drr.flows, stream.bits()),
            round: Round::default(),
            is_begun: false,
        }
    }

    /// Ends the turn of the first queue of the round; an empty one leaves the round, with nothing that it could still send.
    fn end_turn(&mut self) {
        let Some(flow) = self.queues.leave(&mut self.round) else { return };
        self.is_begun = false;
        if self.queues.head(flow).is_some() {
            self.queues.join(&mut self.round, flow);
        } else {
            *self.queues.state_mut(flow) = 0;
        }
    }
}

impl Discipline for DrrQueue {
    #[inline(never)]
    fn enqueue(&mut self, line: &Line, packet: Queued, drops: &mut Drops) {
        // An idle line has found all queues empty.
        while self.memory.is_empty() && line.free_at() <= packet.since && self.round.first().is_some() {
            self.end_turn();
        }
        let flow = self.queues.of(packet);
        let DrrQueue { memory, queues, round, .. } = self;
        if !memory.admit(packet) && !queues.make_room(memory, &[*round], (flow, packet), drops) {
            return memory.drop_overlimit(packet, drops);
        }
        queues.push(flow, packet);
        if !queues.is_in_round(flow) {
            queues.join(round, flow);
        }
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Time, _drops: &mut Drops) -> Option<Queued> {
        loop {
            let flow = self.round.first()?;
            if !std::mem::replace(&mut self.is_begun, true) {
                *self.queues.state_mut(flow) += self.quantum;
            }
            let deficit = self.queues.state(flow);
            let is_next = self.queues.head(flow).is_some_and(|head| u64::from(head.octets) <= deficit);
            if let Some(packet) = is_next.then(|| self.queues.pop(flow)).flatten() {
                *self.queues.state_mut(flow) -= u64::from(packet.octets);
                if self.queues.head(flow).is_none() {
                    self.end_turn();
                }
                self.memory.release(packet);
                self.memory.sent(now, packet);
                return Some(packet);
            }
            self.end_turn();
        }
    }

    /// A queue that sends its only packet leaves the round as if it had never been in it.
    fn passes(&mut self, packet: Queued) -> bool {
        self.memory.is_empty() && self.round.first().is_none() && self.memory.fits(packet)
    }

    fn discard(&mut self) -> Option<Queued> {
        let packet = self.queues.discard(&[self.round])?;
        self.memory.release(packet);
        Some(packet)
    }

    fn waiting(&self) -> impl Iterator<Item = &Queued> {
        self.queues.waiting([self.round])
    }

    fn memory(&self) -> &Memory {
        &self.memory
    }

    fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }
}

#[cfg(test)]
mod tests {
    use cellway_units::Rate;

    use super::*;
    use crate::qdisc::testing::{limited, of_flow, unlimited, xorshift};

    fn drr(memory: Memory, quantum: u64) -> DrrQueue {
        let drr = Drr { flows: 1024, quantum: Some(Bytes(quantum)) };
        DrrQueue::new(memory, drr, Bytes(1500), Stream::new(|| 1))
    }

    fn line() -> Line {
        Line::new(Rate::from_bps(1000))
    }

    /// By hand, with a quantum of 500: flow 1 has packets of 200, 750, 500; flow 2 of 500, 500; flow 3 of 200, 600, 100.
    /// Round 1: 200 of flow 1 (300 left, below 750); 500 of flow 2; 200 of flow 3 (300 left). Round 2: flow 1 has 800, sends
    /// 750 (50 left); flow 2 its last 500; flow 3 has 800, sends 600 and 100. Round 3: flow 1 has 550 and sends 500.
    #[test]
    fn rounds_follow_the_deficits() {
        let mut queue = drr(unlimited(), 500);
        let lengths: [(u32, &[u32]); 3] = [(1, &[200, 750, 500]), (2, &[500, 500]), (3, &[200, 600, 100])];
        for (flow, lengths) in lengths {
            for octets in lengths {
                queue.enqueue(&line(), of_flow(0, flow, *octets), &mut Drops::new());
            }
        }
        let sent =
            std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut Drops::new())).map(|sent| (sent.flow, sent.octets));
        let expected = [(1, 200), (2, 500), (3, 200), (1, 750), (2, 500), (3, 600), (3, 100), (1, 500)];
        assert_eq!(sent.collect::<Vec<_>>(), expected);
    }

    /// Theorem 2 of the paper: with one quantum for all, what two flows that always have packets have been sent differs by
    /// at most the quantum and two of the largest packets, in any interval.
    #[test]
    fn flows_with_packets_get_the_same_octets() {
        let mut queue = drr(unlimited(), 1500);
        let mut numbers = xorshift(5);
        let mut octets = move |flow: u32| match flow {
            0 => 1500,
            1 => 64,
            _ => 64 + (numbers() % 1437) as u32,
        };
        for flow in 0..3 {
            (0..50).for_each(|_| queue.enqueue(&line(), of_flow(0, flow, octets(flow)), &mut Drops::new()));
        }
        let (mut sent, mut lowest) = ([0i64; 3], [[0i64; 3]; 3]);
        for _ in 0..20_000 {
            let packet = queue.dequeue(Time::ZERO, &mut Drops::new()).unwrap();
            sent[packet.flow as usize] += i64::from(packet.octets);
            queue.enqueue(&line(), of_flow(0, packet.flow, octets(packet.flow)), &mut Drops::new());
            for a in 0..3 {
                for b in 0..3 {
                    let ahead = sent[a] - sent[b];
                    lowest[a][b] = lowest[a][b].min(ahead);
                    assert!(ahead - lowest[a][b] <= 3 * 1500, "{a} and {b}: {ahead}, {}", lowest[a][b]);
                }
            }
        }
        assert!(sent[0] > 1_000_000, "{sent:?}");
    }

    /// Packet 3 finds a full buffer. Flow 1 has 1100 octets and flow 2, with it, 1000: the oldest packet of flow 1 makes room.
    #[test]
    fn a_full_buffer_drops_from_the_longest_queue() {
        let mut queue = drr(limited(1600), 1500);
        let mut drops = Drops::new();
        for (number, flow, octets) in [(0, 2, 500), (1, 1, 600), (2, 1, 500), (3, 2, 500)] {
            queue.enqueue(&line(), of_flow(number, flow, octets), &mut drops);
        }
        assert_eq!(drops.iter().map(|packet| packet.0).collect::<Vec<_>>(), [1]);
        let sent: Vec<u32> =
            std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut Drops::new())).map(|sent| sent.packet.0).collect();
        assert_eq!(sent, [0, 3, 2]);
        assert_eq!(queue.memory.buffer().used(), 0);
    }
}
