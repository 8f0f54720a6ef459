//! Links that duplicate, corrupt, lose, delay and reorder packets, recordings of loads, and outages that empty queues: no
//! packet appears or vanishes without a cause that counts it, whatever the combination.
#![allow(missing_docs, clippy::unwrap_used)]

use cellway_net::{
    Class, ConversationSpec, DelaySpec, Delivery, Encapsulation, Fabric, Framing, LightLoad, LinkSpec, Loss,
    Multiplexing, NodeId, NodeKind, Packet, PortId, PortSpec, QdiscSpec, RateSchedule, Schedule, Share, Stream,
};
use cellway_spec::{
    CodelKeys, DrrKeys, DualPi2Keys, Fifo, FqCodelKeys, Jitter, JitterDistribution, PieKeys, PrioKeys, Queue, RedKeys,
    Train, Trains,
};
use cellway_units::{Bytes, Ecn, Probability, Rate, Span, Time};
use proptest::prelude::*;

/// The faults of one direction of a link.
#[derive(Clone, Debug)]
struct Faulty {
    loss: &'static str,
    duplicate: &'static str,
    corrupt: &'static str,
    jitter: Option<u64>,
    reorder: bool,
    /// The time from one outage to the next (ms), each half as long; and whether packets wait or are lost, and are flushed.
    outage: Option<(u64, bool, bool)>,
    delay: u64,
    /// The base delay of a recording of loads (ms).
    light: Option<u64>,
    queue: usize,
    seed: u64,
}

fn faulty() -> impl Strategy<Value = Faulty> {
    let share = || prop::sample::select(vec!["0 %", "0 %", "30 %", "90 %"]);
    let outage = prop::option::of((1u64..20, any::<bool>(), any::<bool>()));
    let delay = prop::sample::select(vec![0u64, 0, 3]);
    let delays = (delay, prop::option::of(0u64..5));
    (share(), share(), share(), prop::option::of(0u64..5), any::<bool>(), outage, delays, 0usize..8, 1u64..1 << 60)
        .prop_map(|(loss, duplicate, corrupt, jitter, reorder, outage, (delay, light), queue, seed)| Faulty {
            loss,
            duplicate,
            corrupt,
            jitter,
            reorder,
            outage,
            delay,
            light,
            queue,
            seed,
        })
}

fn chance(text: &str) -> Probability {
    text.parse().unwrap()
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// A generator of Marsaglia (2003).
fn xorshift(mut x: u64) -> impl FnMut() -> u64 + Clone {
    move || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

impl Faulty {
    fn port(&self) -> PortSpec {
        let queues = [
            Queue::Fifo(Fifo::TAIL),
            Queue::Red(RedKeys::NONE.resolve().unwrap()),
            Queue::Codel(CodelKeys::NONE.resolve().unwrap()),
            Queue::FqCodel(FqCodelKeys::NONE.resolve().unwrap()),
            Queue::Pie(PieKeys::NONE.resolve().unwrap()),
            Queue::DualPi2(DualPi2Keys::NONE.resolve().unwrap()),
            Queue::Drr(DrrKeys::NONE.resolve().unwrap()),
            Queue::Prio(PrioKeys::NONE.resolve().unwrap()),
        ];
        let never = || Schedule::once(Vec::new());
        let spans = |wanted: fn((u64, bool, bool)) -> bool| {
            self.outage.filter(|outage| wanted(*outage)).map_or_else(never, |(every, ..)| {
                let changes = vec![(Time::ZERO, true), (Time::ZERO + Span::from_us(500 * every), false)];
                Schedule::repeating(changes, Span::from_ms(every)).starting_at(Span::from_ms(every))
            })
        };
        let jitter = self.jitter.map(|deviation| {
            let jitter = Jitter {
                deviation: Span::from_ms(deviation),
                distribution: JitterDistribution::Normal,
                correlation: Probability::ZERO,
            };
            (jitter, Stream::new(xorshift(self.seed ^ 3)))
        });
        // Falling delays, so that packets catch up with those before them.
        let train = |(at, delay): (u64, u64)| Train {
            at: ms(at),
            delay: Span::from_ms(delay),
            opportunities: [0, 0, 0, 1, 1, 2, 4].map(Span::from_ms).to_vec(),
        };
        let light = self.light.map(|delay| {
            let trains = [(0, 2 * delay), (7, delay), (8, 3 * delay), (20, delay)].map(train);
            LightLoad { trains: Trains::new(trains.to_vec()), repeats: true }
        });
        PortSpec {
            light,
            varying: Some(DelaySpec {
                schedule: Schedule::once(Vec::new()),
                jitter,
                values: None,
                reorder: self.reorder,
            }),
            schedule: Some(RateSchedule::new(Schedule::once(Vec::new()), spans(|(_, waits, _)| waits))),
            loss: Loss::random(chance(self.loss), xorshift(self.seed)).with_outages(spans(|(_, waits, _)| !waits)),
            duplicate: Share::new(chance(self.duplicate), xorshift(self.seed ^ 1)),
            corrupt: Share::new(chance(self.corrupt), xorshift(self.seed ^ 2)),
            flushes: spans(|(.., flushes)| flushes),
            queue: Some(QdiscSpec {
                queue: queues[self.queue],
                largest: Bytes(1500),
                stream: Stream::new(xorshift(self.seed ^ 4)),
            }),
            ..PortSpec::new(Rate::from_bps(8_000_000), Span::from_ms(self.delay))
        }
    }
}

/// A host, a router, another host, and the ports there and back.
fn network(faults: &[Faulty; 4]) -> (Fabric<u32>, [NodeId; 2], Vec<PortId>) {
    let mut net = Fabric::new(Multiplexing::PerConversation, Encapsulation::LlcSnap);
    let [a, b] = [0; 2].map(|_| net.add_node(NodeKind::Host));
    let router = net.add_node(NodeKind::Router);
    let mut ports = Vec::new();
    for (ends, faults) in [([a, router], &faults[..2]), ([router, b], &faults[2..])] {
        let mut spec = LinkSpec::new(Rate::from_bps(1), Span::ZERO, Framing::Packet);
        spec.ports = [faults[0].port(), faults[1].port()];
        ports.extend(net.add_link(ends, spec));
    }
    let paths: [&[PortId]; 2] = [&[ports[0], ports[2]], &[ports[3], ports[1]]];
    let spec = ConversationSpec { conversation: 0, kind: 0, hosts: [a, b], paths, share: None, class: Class::Ubr };
    net.open(spec).unwrap();
    (net, [a, b], ports)
}

/// Sends packets at these instants (in 100 us) and sizes; returns all arrivals, and the network at the end.
fn play(faults: &[Faulty; 4], sends: &[(u64, u32, bool)], runs: bool) -> (Vec<(Time, u32, bool)>, Fabric<u32>) {
    let (mut net, hosts, ports) = network(faults);
    let mut arrivals = Vec::new();
    let mut delivered: Vec<Delivery<u32>> = Vec::new();
    let mut sends = sends.iter().enumerate().peekable();
    let at = |place: &(usize, &(u64, u32, bool))| Time::ZERO + Span::from_us(100 * place.1.0);
    let end = ms(2000);
    let (mut sent, mut received, mut wrong) = (0, 0, 0);
    loop {
        let send = sends.peek().map_or(end, at);
        let reached = runs.then(|| net.run(send, &mut delivered)).flatten();
        let now = match reached {
            Some(now) => now,
            None => {
                let now = net.deadline().unwrap_or(end).min(send);
                if now >= end {
                    break;
                }
                net.advance(now, &mut delivered);
                now
            }
        };
        for Delivery { packet, corrupted, .. } in delivered.drain(..) {
            arrivals.push((now, packet.body, corrupted));
            received += u64::from(!corrupted);
            wrong += u64::from(corrupted);
        }
        while let Some((number, &(_, octets, back))) = sends.next_if(|next| at(next) == now) {
            let [from, to] = if back { [hosts[1], hosts[0]] } else { hosts };
            let (flow, ecn) = (octets % 3, Ecn::NotEct);
            net.send(now, Packet { conversation: 0, from, to, octets, flow, ecn, dscp: 0, body: number as u32 });
            sent += 1;
        }
        net.serve(now);
        // The sums hold in each instant.
        let all: Vec<_> = ports.iter().map(|&port| net.port_counters(port, now)).collect();
        let sum = |count: fn(&cellway_net::PortCounters) -> u64| all.iter().map(count).sum::<u64>();
        let inside = net.packets_held() as u64;
        let gone = sum(|port| port.lost) + sum(|port| port.dropped_frames);
        assert_eq!(sent + sum(|port| port.duplicated), received + wrong + gone + inside, "at {now}");
        let counters = net.conversation_counters(0);
        assert_eq!(counters.inside(), inside);
        assert_eq!((counters.delivered, counters.damaged), (received, wrong + sum(|port| port.lost)));
        assert_eq!(counters.refused, sum(|port| port.dropped_frames));
        assert!(all.iter().all(|port| port.flushed + port.early_drops <= port.dropped_frames));
    }
    (arrivals, net)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn packets_and_copies_arrive_or_are_counted(
        faults in prop::array::uniform4(faulty()),
        sends in prop::collection::vec((0u64..400, 40u32..1500, any::<bool>()), 1..60),
    ) {
        let mut sends = sends;
        sends.sort_by_key(|send| send.0);
        let (arrivals, net) = play(&faults, &sends, false);
        prop_assert_eq!(net.packets_held(), 0, "all has arrived or is counted");
        // The fast path of a single event in an instant gives the same.
        let (again, _) = play(&faults, &sends, true);
        prop_assert_eq!(&arrivals, &again);
        // A duplicate is at the same instant as its original unless a later link varies, loses or queues.
        if faults.iter().all(|faults| faults.duplicate == "0 %") {
            let mut seen: Vec<u32> = arrivals.iter().map(|(_, number, _)| *number).collect();
            seen.sort_unstable();
            let all = seen.len();
            seen.dedup();
            prop_assert_eq!(seen.len(), all, "no packet arrives twice");
        }
    }

    /// Before a FIFO without overtaking packets stay in order, whatever delays them.
    #[test]
    fn packets_stay_in_order(
        faults in prop::array::uniform4(faulty()),
        sends in prop::collection::vec((0u64..400, 40u32..1500, any::<bool>()), 1..60),
    ) {
        let faults = faults.map(|faults| Faulty { reorder: false, queue: 0, ..faults });
        let mut sends = sends;
        sends.sort_by_key(|send| send.0);
        let (arrivals, _) = play(&faults, &sends, true);
        for back in [false, true] {
            let numbers = arrivals.iter().map(|(_, number, _)| *number);
            prop_assert!(numbers.filter(|&number| sends[number as usize].2 == back).is_sorted(), "no packet overtakes");
        }
    }
}

fn plain() -> Faulty {
    let (loss, duplicate, corrupt) = ("0 %", "0 %", "0 %");
    Faulty {
        loss,
        duplicate,
        corrupt,
        jitter: None,
        reorder: false,
        outage: None,
        delay: 3,
        light: None,
        queue: 0,
        seed: 5,
    }
}

/// 1000 B take 1 ms on each of two links, 3 ms on the way. The copy of the first link takes its own time on the second one.
#[test]
fn a_copy_comes_directly_behind_the_original() {
    let all = "99.999999999 %";
    let twice = |first: bool| {
        let mut faults = [plain(), plain(), plain(), plain()];
        faults[if first { 0 } else { 2 }].duplicate = all;
        play(&faults, &[(0, 1000, false), (5, 1000, false)], true).0
    };
    let of = |times: [u64; 4]| [0, 1, 2, 3].map(|i| (ms(times[i]), [0, 0, 1, 1][i], false));
    assert_eq!(twice(false), of([8, 8, 9, 9]));
    // The second packet waits behind the copy: the queue before the second line holds what arrived with it.
    assert_eq!(twice(true), of([8, 9, 10, 11]));
}

/// 1200 B are on the second line from 4.2 ms on, where three packets of 100 B come behind them. The outage from 5 ms to 7.5 ms
/// drops those three. If packets wait, the others arrive after it: 0.4 ms of the first are left, and the last takes 1 ms.
#[test]
fn an_outage_empties_the_queue_but_not_the_line() {
    for queue in 0..8 {
        for waits in [true, false] {
            let mut faults = [plain(), plain(), plain(), plain()];
            faults[2] = Faulty { outage: Some((5, waits, true)), queue, delay: 0, ..plain() };
            let sends = [1200, 100, 100, 100, 1000].map(|octets| (0, octets, false));
            let (arrivals, net) = play(&faults, &sends, true);
            let at = |us| Time::ZERO + Span::from_us(us);
            let expected = if waits { vec![(at(7900), 0, false), (at(8900), 4, false)] } else { Vec::new() };
            assert_eq!(arrivals, expected, "queue {queue}");
            assert_eq!(net.conversation_counters(0).refused, 3, "queue {queue}");
        }
    }
}
