//! The samples of every class.

use std::collections::BinaryHeap;

use cellway_workload::{DistributionKind, MOST_EXCHANGES, MOST_PAYLOAD, MOST_SECONDS};

use crate::classes::Classes;
use crate::conversations::{Observer, Protocol};
use crate::left_out::{ConversationCounts, ConversationReason};
use crate::messages::Message;
use crate::packet::Endpoint;
use crate::samples::{Choice, Samples};
use crate::tcp::TcpConversation;
use crate::udp::{Datagram, UdpConversation};
use crate::workload::{Class, ClassTotals, Workload, distribution, with_errors};

/// The most starts of conversations that are kept of a class: the earliest ones, because gaps are between neighbours.
/// Conversations are reported at their ends, so a short one may come before a long one that began earlier.
const MAX_STARTS: usize = 200_000;

/// The most conversations of a class that are kept with their messages, and the most messages of these; of more, a
/// random choice.
const MAX_RECORDED: usize = 1000;
const MAX_MESSAGES: usize = 1_000_000;

/// The distributions of a protocol besides that of the gaps between arrivals.
const DISTRIBUTIONS: usize = 6;

/// The samples of one class.
#[derive(Debug)]
struct Collected {
    conversations: u64,
    left_out: ConversationCounts,
    /// Starts of conversations of this capture, in ns.
    starts: BinaryHeap<u64>,
    /// Gaps between starts, of earlier captures.
    gaps: Samples,
    /// In the order of files, without those of the gaps between arrivals.
    samples: [Samples; DISTRIBUTIONS],
    /// Conversations with their messages.
    recorded: Choice<[Vec<Message>; 2]>,
    /// The number of their messages.
    messages: usize,
    totals: ClassTotals,
}

impl Default for Collected {
    fn default() -> Collected {
        Collected {
            conversations: 0,
            left_out: ConversationCounts::default(),
            starts: BinaryHeap::new(),
            gaps: Samples::default(),
            samples: Default::default(),
            recorded: Choice::new(MAX_RECORDED),
            messages: 0,
            totals: ClassTotals::default(),
        }
    }
}

/// Collects the samples of all classes.
#[derive(Debug)]
pub(crate) struct Collector {
    classes: Classes,
    collected: Vec<Collected>,
}

impl Collector {
    pub(crate) fn new(classes: Classes) -> Collector {
        Collector { classes, collected: Vec::new() }
    }

    fn class(&mut self, class: u16) -> &mut Collected {
        let at = usize::from(class);
        if self.collected.len() <= at {
            self.collected.resize_with(at + 1, Collected::default);
        }
        &mut self.collected[at]
    }

    /// Returns the workload: the classes with the most conversations first.
    pub(crate) fn finish(self) -> Workload {
        let Collector { classes, collected } = self;
        let mut all: Vec<Class> = Vec::new();
        for (at, collected) in collected.into_iter().enumerate() {
            let Some((name, transport)) = u16::try_from(at).ok().and_then(|at| classes.name(at)).cloned() else {
                continue;
            };
            let Collected { conversations, left_out, gaps, samples, recorded, totals, .. } = collected;
            let messages = recorded.into_kept();
            let kinds = DistributionKind::of(transport.into());
            // Each is sorted and then dropped, so that only one is there twice.
            let samples = kinds.zip([gaps].into_iter().chain(samples));
            let (distributions, mean_errors) = with_errors(samples.filter_map(|(kind, samples)| {
                let (distribution, error) = distribution(&samples)?;
                Some((kind.name, distribution, error))
            }));
            all.push(Class { name, transport, conversations, left_out, messages, distributions, mean_errors, totals });
        }
        all.sort_by(|a, b| b.conversations.cmp(&a.conversations).then(a.name.cmp(&b.name)));
        Workload { classes: all }
    }
}

impl Collected {
    /// Keeps a conversation with its messages, or others in place of it.
    fn record(&mut self, messages: [Vec<Message>; 2]) {
        let number = |of: &[Vec<Message>; 2]| of.iter().map(Vec::len).sum::<usize>();
        self.messages += number(&messages);
        self.messages -= self.recorded.add(messages).as_ref().map_or(0, number);
        while self.messages > MAX_MESSAGES && self.recorded.len() > 1 {
            self.messages -= self.recorded.halve().iter().map(number).sum::<usize>();
        }
    }

    fn start(&mut self, at: u64) {
        self.starts.push(at);
        if self.starts.len() > MAX_STARTS {
            self.starts.pop();
        }
    }

    /// Turns the starts of a capture into gaps.
    fn end_capture(&mut self) {
        for pair in std::mem::take(&mut self.starts).into_sorted_vec().windows(2) {
            let seconds = (pair[1] - pair[0]) as f64 / 1e9;
            if seconds <= MOST_SECONDS {
                self.gaps.add(seconds);
            }
        }
    }
}

impl Observer for Collector {
    fn classify(&mut self, id: u64, protocol: Protocol, originator: Endpoint, responder: Endpoint) -> u16 {
        self.classes.of(id, protocol, originator, responder)
    }

    fn tcp(&mut self, class: u16, conversation: &TcpConversation) {
        let collected = self.class(class);
        let counts = match conversation.left_out {
            None | Some(ConversationReason::CutAtEnd | ConversationReason::Evicted) => true,
            Some(_) => false,
        };
        let [exchanges, request, response, pause, think, rtt] = &mut collected.samples;
        if counts {
            for exchange in &conversation.exchanges {
                request.add(exchange.request as f64);
                response.add(exchange.response as f64);
                exchange.pause.into_iter().for_each(|seconds| pause.add(seconds));
                exchange.think.into_iter().for_each(|seconds| think.add(seconds));
            }
        }
        if !conversation.is_last {
            return;
        }
        match conversation.left_out {
            None => {
                collected.conversations += 1;
                let count = conversation.exchanges_before + conversation.exchanges.len() as u64;
                exchanges.add((count as f64).min(MOST_EXCHANGES));
            }
            Some(reason) => collected.left_out.add(reason),
        }
        if let Some(path) = conversation.round_trip {
            rtt.add(path.seconds());
        }
        for (at, direction) in conversation.directions.iter().enumerate() {
            collected.totals.packets[at] += direction.packets;
            collected.totals.octets[at] += direction.octets;
            collected.totals.retransmitted[at] += direction.retransmitted;
            collected.totals.late[at] += direction.late;
        }
        collected.totals.missing += u64::from(conversation.directions.iter().any(|direction| direction.has_missing));
        if let Some(messages) = &conversation.messages {
            collected.record(messages.clone());
        }
        // One without data is no arrival: what arrives in its place would have data.
        if conversation.is_established && conversation.left_out != Some(ConversationReason::NoData) {
            collected.start(conversation.start);
        }
    }

    fn datagram(&mut self, class: u16, datagram: Datagram) {
        let [_, _, size, size_back, gap, gap_back] = &mut self.class(class).samples;
        let (size, gap) = if datagram.is_back { (size_back, gap_back) } else { (size, gap) };
        size.add(f64::from(datagram.size).min(MOST_PAYLOAD));
        datagram.gap.into_iter().for_each(|seconds| gap.add(seconds));
    }

    fn udp(&mut self, class: u16, conversation: &UdpConversation) {
        let collected = self.class(class);
        for at in [0, 1] {
            collected.totals.packets[at] += conversation.packets[at];
            collected.totals.octets[at] += conversation.octets[at];
        }
        collected.start(conversation.start);
        if let Some(reason) = conversation.left_out {
            collected.left_out.add(reason);
            return;
        }
        collected.conversations += 1;
        let [packets, packets_back, ..] = &mut collected.samples;
        packets.add(conversation.packets[0] as f64);
        packets_back.add(conversation.packets[1] as f64);
    }

    fn ended(&mut self) {
        self.collected.iter_mut().for_each(Collected::end_capture);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::Naming;
    use crate::exchange::Exchange;

    /// A browser opens connections that it does not use. Each simulated arrival has data, so they are none.
    #[test]
    fn a_conversation_without_data_is_no_arrival() {
        let mut collector = Collector::new(Classes::new(Naming::Port));
        let end = |port| Endpoint { address: 1, port };
        for second in 0..10 {
            let has_data = second % 3 == 0;
            let conversation = TcpConversation {
                id: second,
                originator: end(40_000),
                responder: end(80),
                start: second * 1_000_000_000,
                end: second * 1_000_000_000,
                round_trip: None,
                is_established: true,
                left_out: (!has_data).then_some(ConversationReason::NoData),
                exchanges: if has_data { vec![Exchange { request: 9, ..Exchange::default() }] } else { vec![] },
                exchanges_before: 0,
                messages: None,
                is_last: true,
                directions: Default::default(),
            };
            let class = collector.classify(second, Protocol::Tcp, end(40_000), end(80));
            collector.tcp(class, &conversation);
        }
        collector.ended();
        let workload = collector.finish();
        let class = &workload.classes[0];
        assert_eq!((class.conversations, class.left_out.total()), (4, 6));
        let gaps = class.distribution("arrival_gap").unwrap();
        assert_eq!((gaps.samples, gaps.mean(false)), (3, Some(3.0)));
    }

    /// Long conversations are kept in smaller numbers, so that a capture of them takes no more memory.
    #[test]
    fn the_messages_of_a_class_are_bounded() {
        let mut collected = Collected::default();
        let message = Message { octets: 1, after: 0, delay: 0.0 };
        for number in 0..200 {
            collected.record([vec![message; 10_000], vec![message; number]]);
            assert!(collected.messages <= MAX_MESSAGES, "{number}");
        }
        let kept = collected.recorded.into_kept();
        assert_eq!(kept.iter().flatten().map(Vec::len).sum::<usize>(), collected.messages);
        assert!((25..=100).contains(&kept.len()), "{}", kept.len());
    }

    /// One conversation a second, of which every second one ends long after the others: of too many starts the
    /// earliest are kept, and not those of the short conversations.
    #[test]
    fn gaps_are_between_neighbours_whatever_ends_first() {
        let mut collected = Collected::default();
        let second = |n: u64| n * 1_000_000_000;
        let count = MAX_STARTS as u64 * 3 / 2;
        (0..count).step_by(2).for_each(|n| collected.start(second(n)));
        (1..count).step_by(2).for_each(|n| collected.start(second(n)));
        collected.end_capture();
        assert_eq!(collected.gaps.seen(), MAX_STARTS as u64 - 1);
        assert!(collected.gaps.sorted().iter().all(|gap| *gap == 1.0));
    }
}
