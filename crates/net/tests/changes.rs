//! Changes of rate, delay and loss by a caller while packets are on the line: what follows is what follows from a schedule
//! that has had the changes from the start.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "rig/numbers.rs"]
mod numbers;

use cellway_net::{
    Class, ConversationSpec, DelaySpec, Delivery, Encapsulation, Fabric, Framing, LinkSpec, Loss, Multiplexing, NodeId,
    NodeKind, Packet, PortCounters, PortId, PortSpec, RateSchedule, Schedule,
};
use cellway_units::{Ecn, Probability, Rate, Span, Time};
use numbers::Numbers;

/// Returns an instant within the first 50 ms, at which no packet starts or ends.
fn instant(numbers: &mut Numbers) -> Time {
    Time::from_ps(numbers.below(50_000) * 1_000_000 + 7)
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Rate(Rate),
    Delay(Span),
    Loss(Probability),
}

/// The link between the routers.
#[derive(Clone, Copy, Debug)]
struct Line {
    rate: Rate,
    delay: Span,
    /// The loss before any change. Without one there is no change of it either, and packets need no event for their departure.
    loss: Option<Probability>,
    reorder: bool,
    outages: bool,
}

impl Line {
    /// Returns the port with those of the changes that its schedules have.
    fn port(&self, changes: &[(Time, Change)]) -> PortSpec {
        let pick = |of: fn(Change) -> Option<Rate>| changes.iter().filter_map(|&(at, c)| Some((at, of(c)?))).collect();
        let rates = pick(|change| if let Change::Rate(rate) = change { Some(rate) } else { None });
        let mut delays: Vec<(Time, Span)> = Vec::new();
        let mut chances: Vec<(Time, Probability)> = Vec::new();
        for &(at, change) in changes {
            match change {
                Change::Delay(delay) => delays.push((at, delay)),
                Change::Loss(chance) => chances.push((at, chance)),
                Change::Rate(_) => {}
            }
        }
        if self.reorder {
            delays.insert(0, (Time::ZERO, self.delay));
        }
        let outages = match self.outages {
            true => Schedule::repeating(vec![(ms(0), true), (ms(2), false)], Span::from_ms(9)),
            false => Schedule::once(Vec::new()),
        };
        let mut numbers = Numbers(5);
        PortSpec {
            schedule: Some(RateSchedule::new(Schedule::once(rates), outages.starting_at(Span::from_ms(5)))),
            varying: Some(DelaySpec {
                schedule: Schedule::once(delays),
                jitter: None,
                values: None,
                reorder: self.reorder,
            }),
            loss: self.loss.map_or_else(Loss::default, |first| {
                Loss::scheduled(first, Schedule::once(chances), move || numbers.next())
            }),
            ..PortSpec::new(self.rate, self.delay)
        }
    }
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// Instant by instant with a tap, which keeps an event for each departure.
    Tapped,
    Steps,
    Runs,
}

/// Sends packets of `(instant, octets)` over the line, with the changes by the caller; returns their arrivals and what the
/// port has counted.
fn play(
    way: Way,
    port: PortSpec,
    sends: &[(Time, u32)],
    changes: &[(Time, Change)],
) -> (Vec<(Time, u32)>, PortCounters, u64) {
    let mut net: Fabric<u32> = Fabric::new(Multiplexing::PerConversation, Encapsulation::LlcSnap);
    let kinds = [NodeKind::Host, NodeKind::Router, NodeKind::Router, NodeKind::Host];
    let nodes: Vec<NodeId> = kinds.into_iter().map(|kind| net.add_node(kind)).collect();
    let access = || LinkSpec::new(Rate::from_bps(1_000_000_000), Span::ZERO, Framing::Packet);
    let mut middle = access();
    middle.ports[0] = port;
    let joins =
        [(0, access()), (1, middle), (2, access())].map(|(at, link)| net.add_link([nodes[at], nodes[at + 1]], link));
    let line: PortId = joins[1][0];
    let (there, back) = (joins.map(|join| join[0]), [2, 1, 0].map(|at| joins[at][1]));
    let (hosts, paths) = ([nodes[0], nodes[3]], [&there[..], &back[..]]);
    net.open(ConversationSpec { conversation: 0, kind: 0, hosts, paths, share: None, class: Class::Ubr }).unwrap();
    if way == Way::Tapped {
        net.tap(nodes[1]);
    }
    let (mut sends, mut changes) = (sends.iter().enumerate().peekable(), changes.iter().peekable());
    let (mut arrived, mut delivered): (Vec<Delivery<u32>>, Vec<_>) = (Vec::new(), Vec::new());
    let never = Time::MAX;
    loop {
        let send = sends.peek().map_or(never, |(_, (at, _))| *at);
        let change = changes.peek().map_or(never, |(at, _)| *at);
        let reached = if way == Way::Runs { net.run(send.min(change), &mut arrived) } else { None };
        let now = reached.unwrap_or_else(|| net.deadline().unwrap_or(never).min(send).min(change));
        if now == never {
            return (delivered, net.port_counters(line, ms(60_000)), net.events(ms(60_000)));
        }
        if reached.is_none() {
            net.advance(now, &mut arrived);
        }
        delivered.extend(arrived.drain(..).map(|delivery| (now, delivery.packet.body)));
        while let Some((body, &(_, octets))) = sends.next_if(|(_, (at, _))| *at == now) {
            let [from, to] = hosts;
            let body = body as u32;
            net.send(now, Packet { conversation: 0, from, to, flow: 0, octets, ecn: Ecn::NotEct, dscp: 0, body });
        }
        net.serve(now);
        while let Some(&(_, change)) = changes.next_if(|(at, _)| *at == now) {
            match change {
                Change::Rate(rate) => net.set_line_rate(now, line, rate),
                Change::Delay(delay) => net.set_link_delay(now, line, delay),
                Change::Loss(chance) => {
                    net.set_link_loss(now, line, chance, || -> u64 { unreachable!("the link has a source") })
                }
            }
        }
    }
}

/// Random lines with several changes of each kind, some within one packet.
#[test]
fn a_change_by_a_caller_is_one_of_the_schedule() {
    let (mut overtaken, mut lost, mut longest) = (0, 0, Span::ZERO);
    for seed in 0..300 {
        let mut numbers = Numbers(seed);
        let per_cent = |numbers: &mut Numbers| Probability::from_ppm(10_000 * numbers.below(60) as u32);
        let line = Line {
            rate: Rate::from_bps(100_000 * (1 + numbers.below(50))),
            delay: Span::from_us(numbers.below(3) * 4000),
            loss: (numbers.below(2) == 0).then(|| per_cent(&mut numbers)),
            reorder: numbers.below(3) == 0,
            outages: numbers.below(3) == 0,
        };
        let kinds = if line.loss.is_some() { 3 } else { 2 };
        let mut changes: Vec<(Time, Change)> = (0..numbers.below(8))
            .map(|_| {
                let change = match numbers.below(kinds) {
                    0 => Change::Rate(Rate::from_bps(50_000 << numbers.below(9))),
                    1 => Change::Delay(Span::from_us(numbers.below(10) * 1000)),
                    _ => Change::Loss(per_cent(&mut numbers)),
                };
                (instant(&mut numbers), change)
            })
            .collect();
        changes.sort_by_key(|&(at, _)| at);
        changes.dedup_by_key(|(at, _)| *at);
        let mut sends: Vec<(Time, u32)> =
            (0..40).map(|_| (instant(&mut numbers) + Span::from_ps(13), 40 + numbers.below(1460) as u32)).collect();
        sends.sort_by_key(|&(at, _)| at);
        let expected = play(Way::Steps, line.port(&changes), &sends, &[]);
        for way in [Way::Tapped, Way::Steps, Way::Runs] {
            let found = play(way, line.port(&[]), &sends, &changes);
            assert_eq!(found, expected, "{seed} {way:?} {line:?} {changes:?}");
        }
        let (arrivals, counters, _) = expected;
        assert_eq!(arrivals.len() as u64 + counters.lost, 40);
        overtaken += arrivals.windows(2).filter(|pair| pair[0].1 > pair[1].1).count();
        assert!(line.reorder || arrivals.is_sorted_by_key(|&(_, body)| body));
        lost += counters.lost;
        longest = longest.max(arrivals.last().map_or(Span::ZERO, |&(at, _)| at - Time::ZERO));
    }
    assert!(overtaken > 20 && lost > 1000 && longest > Span::from_ms(1000), "{overtaken} {lost} {longest}");
}

/// A packet that would take 12,000 s, and one whose line waits for the end of its rates, leave once the rate is changed.
#[test]
fn a_faster_rate_frees_the_line() {
    for first in [1, 0] {
        let line = Line { rate: Rate::from_bps(1), delay: Span::ZERO, loss: None, reorder: false, outages: false };
        let port = line.port(&[(ms(1), Change::Rate(Rate::from_bps(first)))]);
        let (arrivals, ..) = play(
            Way::Runs,
            port,
            &[(ms(2), 1500), (ms(3), 1500)],
            &[(ms(10), Change::Rate(Rate::from_bps(8_000_000)))],
        );
        // 1.5 ms for each, which the first bits and the last line hardly change.
        let times: Vec<u64> = arrivals.iter().map(|&(at, _)| (at - Time::ZERO).as_ps() / 100_000_000).collect();
        assert_eq!(times, [115, 130]);
    }
}

/// A link that has had neither a varying delay nor losses: packets behind the line keep their delay and their fate, those on
/// it do not, and none overtakes.
#[test]
fn packets_behind_the_line_stay_as_they_are() {
    let line =
        Line { rate: Rate::from_bps(8_000_000), delay: Span::from_ms(20), loss: None, reorder: false, outages: false };
    // On the line from 0, 1 and 12 ms on, each for 1 ms.
    let sends = [0, 1, 12].map(|at| (ms(at), 1000));
    let millis = |arrivals: &[(Time, u32)]| -> Vec<(u64, u32)> {
        arrivals.iter().map(|&(at, body)| ((at - Time::ZERO).as_ps() / 1_000_000_000, body)).collect()
    };
    // The second packet is on the line: it leaves at 2 ms, and would arrive at 7 ms, before the first.
    let change = (ms(1) + Span::from_us(500), Change::Delay(Span::from_ms(5)));
    for way in [Way::Tapped, Way::Steps, Way::Runs] {
        let (arrivals, ..) = play(way, line.port(&[]), &sends, &[change]);
        assert_eq!(millis(&arrivals), [(21, 0), (21, 1), (21, 2)]);
    }
    let later = [change, (ms(12) + Span::from_us(500), Change::Delay(Span::from_ms(50)))];
    let (arrivals, ..) = play(Way::Runs, line.port(&[]), &sends, &later);
    assert_eq!(millis(&arrivals), [(21, 0), (21, 1), (63, 2)]);
}
