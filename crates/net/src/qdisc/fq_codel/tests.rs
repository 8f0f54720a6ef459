use cellway_spec::FqCodelKeys;
use cellway_units::{Rate, Span};

use super::*;
use crate::qdisc::testing::{limited, limited_each, ms, of_flow, unlimited};

/// A quantum of 1500 B and a line that is busy for a day.
fn queue(memory: Memory) -> (FqCodelQueue, Line) {
    let fq = FqCodelKeys::NONE.resolve().unwrap();
    let mut line = Line::new(Rate::from_bps(8));
    line.send(Time::ZERO, Bytes(86_400).bits(), Span::ZERO);
    (FqCodelQueue::new(memory, fq, Bytes(1500), Stream::new(|| 1)), line)
}

impl FqCodelQueue {
    fn add(&mut self, line: &Line, flow: u32, octets: u32, count: u32) -> Drops {
        let mut drops = Drops::new();
        (0..count).for_each(|number| self.enqueue(line, of_flow(100 * flow + number, flow, octets), &mut drops));
        drops
    }

    fn next_flow(&mut self) -> Option<u32> {
        self.dequeue(Time::ZERO, &mut Drops::new()).map(|packet| packet.flow)
    }
}

/// By hand: flow 1 uses up its quantum with its first packet. Flow 2 begins then, and its quantum is 3 packets. After that
/// both are old; flow 1 has had its next quantum, and flow 2 is empty.
#[test]
fn a_flow_that_begins_is_sent_before_one_that_has_used_up_its_quantum() {
    let (mut queue, line) = queue(unlimited());
    queue.add(&line, 1, 1500, 4);
    assert_eq!(queue.next_flow(), Some(1));
    queue.add(&line, 2, 500, 3);
    let rest: Vec<u32> = std::iter::from_fn(|| queue.next_flow()).collect();
    assert_eq!(rest, [2, 2, 2, 1, 1, 1]);
    assert!((0..2).all(|flow| !queue.waiting.queues.is_in_round(FlowIndex(flow))), "empty queues have left the rounds");
}

/// Flow 1 sends a packet each time that its queue is empty. Its first quantum is 3 packets, which go first; from then on it
/// takes turns with flow 2 by octets, 3 packets for each of flow 2.
#[test]
fn a_flow_that_empties_its_queue_does_not_begin_again() {
    let (mut queue, line) = queue(unlimited());
    queue.add(&line, 2, 1500, 1);
    assert_eq!(queue.next_flow(), Some(2));
    queue.add(&line, 2, 1500, 5);
    let mut order = Vec::new();
    for _ in 0..12 {
        let flow = queue.waiting.queues.of(of_flow(0, 1, 500));
        if queue.waiting.queues.octets(flow) == 0 {
            queue.add(&line, 1, 500, 1);
        }
        order.extend(queue.next_flow());
    }
    assert_eq!(order, [1, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 2]);
}

/// An idle line has found all queues empty and none is in a round: the flow that begins then has a whole quantum, whatever
/// it used before.
#[test]
fn an_idle_line_ends_the_rounds() {
    let (mut queue, mut line) = queue(unlimited());
    queue.add(&line, 1, 1500, 1);
    assert_eq!(queue.next_flow(), Some(1));
    let state = |queue: &FqCodelQueue| {
        (queue.waiting.queues.is_in_round(FlowIndex(0)), queue.waiting.queues.state(FlowIndex(0)).credit)
    };
    assert_eq!(state(&queue), (true, 0));
    queue.add(&line, 1, 100, 1);
    assert_eq!((state(&queue), queue.next_flow()), ((true, 0), Some(1)));
    line = Line::new(Rate::from_bps(8));
    queue.add(&line, 1, 100, 1);
    assert_eq!(state(&queue), (true, 1500));
}

/// RFC 8290 section 4.1: the oldest packet of the queue with the most octets makes room.
#[test]
fn a_full_buffer_drops_from_the_longest_queue() {
    let (mut queue, line) = queue(limited(5000));
    assert!(queue.add(&line, 1, 1000, 3).is_empty() && queue.add(&line, 2, 200, 10).is_empty());
    assert_eq!(queue.add(&line, 3, 600, 1).iter().map(|drop| drop.0).collect::<Vec<_>>(), [100]);
    assert_eq!(queue.memory().counters().overlimit, 1);
    // Flow 2 would have 2600 octets.
    assert_eq!(queue.add(&line, 2, 600, 1).iter().map(|drop| drop.0).collect::<Vec<_>>(), [200]);
    // A packet that never fits drops no other.
    let before = queue.memory().octets();
    assert_eq!(queue.add(&line, 4, 5001, 1).iter().map(|drop| drop.0).collect::<Vec<_>>(), [400]);
    assert_eq!(queue.memory().octets(), before);
    while queue.next_flow().is_some() {}
    assert_eq!((queue.memory().octets(), queue.memory().buffer().used()), (0, 0));
}

#[test]
fn a_conversation_with_memory_of_its_own_drops_its_own_packets() {
    let (mut queue, line) = queue(limited_each(1000));
    let mut drops = Drops::new();
    for (number, conversation) in [(0, 0), (1, 0), (2, 1), (3, 1)] {
        queue.enqueue(&line, Queued { conversation, ..of_flow(number, 0, 500) }, &mut drops);
    }
    assert!(drops.is_empty());
    queue.enqueue(&line, Queued { conversation: 1, ..of_flow(4, 0, 500) }, &mut drops);
    assert_eq!(drops.iter().map(|drop| drop.0).collect::<Vec<_>>(), [2]);
}

/// Flow 1 has a standing queue of 30 ms, flow 2 a packet now and then. After 105 ms flow 1 loses packets by the law of RFC
/// 8289, the first an interval after its packets have waited for the target; flow 2 loses none and waits at most for one.
#[test]
fn the_delay_of_each_flow_is_controlled_apart() {
    let (mut queue, line) = queue(unlimited());
    let send = |queue: &mut FqCodelQueue, flow: u32, at: Time| {
        queue.enqueue(&line, Queued { since: at, ..of_flow(flow, flow, 1500) }, &mut Drops::new());
    };
    (0..30).for_each(|_| send(&mut queue, 1, Time::ZERO));
    let mut dropped = Vec::new();
    for now in 0..400 {
        send(&mut queue, 1, ms(now));
        if now % 10 == 0 {
            send(&mut queue, 2, ms(now));
        }
        let mut drops = Drops::new();
        let sent = queue.dequeue(ms(now), &mut drops).unwrap();
        assert!(sent.flow == 1 || ms(now) - sent.since <= Span::from_ms(1), "{sent:?}");
        assert!(drops.iter().all(|drop| drop.0 == 1));
        // The queue is as long as before.
        drops.iter().for_each(|_| send(&mut queue, 1, ms(now)));
        dropped.extend(drops.iter().map(|_| now));
    }
    // 105 ms, then 100/sqrt(n) ms more each, at the next packet of flow 1; one in ten is of flow 2.
    let mut law = vec![105.0];
    (1..6).for_each(|n| law.push(law.last().unwrap() + 100.0 / f64::from(n).sqrt()));
    assert_eq!(dropped.len(), 5, "{dropped:?}");
    for (time, law) in dropped.iter().zip(law) {
        assert!((0.0..=2.0).contains(&(*time as f64 - law)), "{dropped:?}");
    }
    assert_eq!(queue.memory().counters().early, 5);
}
