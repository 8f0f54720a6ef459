//! Windows against the calendar: random networks with hosts that answer deliver the same packets in the same instants, and
//! their ports count the same at each reading.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "windows/live.rs"]
mod live;
#[path = "rig/numbers.rs"]
mod numbers;

use cellway_net::{
    AbrParameters, AbrSwitchSpec, BufferSpec, ChannelId, Charge, Class, ConversationCounters, ConversationSpec,
    Delivery, Discard, Discipline, Encapsulation, Fabric, Fraction, Framing, LinkSpec, Loss, LossCounters,
    Multiplexing, NodeId, NodeKind, Packet, PolicerAction, PolicerSpec, PortCounters, PortId, PortSpec, QdiscSpec,
    RateSchedule, Schedule, ShaperSpec, Share, Sharing, Stream,
};
use cellway_spec::{CodelKeys, DrrKeys, DualPi2Keys, Fifo, FqCodelKeys, PieKeys, PrioKeys, Queue, RedKeys};
use cellway_units::{Bits, Bytes, Cells, Ecn, Probability, Rate, Span, Time};
use numbers::Numbers;

/// All that is seen of a run.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    /// Each delivery: its instant, host, conversation, number, mark, and true if it is corrupted.
    delivered: Vec<(Time, u32, u32, u32, Ecn, bool)>,
    ports: Vec<PortCounters>,
    losses: Vec<LossCounters>,
    conversations: Vec<ConversationCounters>,
    waiting: Vec<u32>,
    totals: Vec<[u64; 3]>,
    queues: Vec<(Time, PortId, u32)>,
    /// The rates of ABR sources, and the number of RM cells in the network.
    loops: Vec<(Vec<Option<Rate>>, usize)>,
}

/// A chain of nodes with hosts beside it, and conversations between random places.
struct Network {
    net: Fabric<u32>,
    hosts: Vec<[NodeId; 2]>,
    /// The paths of each conversation.
    paths: Vec<[Vec<PortId>; 2]>,
    ports: u32,
    nodes: Vec<NodeId>,
    /// The first ports and the channels of control loops.
    loops: Vec<(PortId, ChannelId)>,
}

fn pick<T: Copy>(numbers: &mut Numbers, from: &[T]) -> T {
    from[numbers.below(from.len() as u64) as usize]
}

fn buffer(numbers: &mut Numbers) -> Option<BufferSpec> {
    let sharing = pick(numbers, &[Sharing::Pool, Sharing::Channel, Sharing::Conversation]);
    let discard = pick(numbers, &[Discard::Frame, Discard::Cell, Discard::Ppd, Discard::Epd]);
    let charge = pick(numbers, &[Charge::Cell, Charge::Packet]);
    let level = |numbers: &mut Numbers| (numbers.below(2) == 0).then(|| Bits(numbers.below(80) * 424));
    let (threshold, clp_threshold) = (level(numbers), level(numbers));
    let size = Bits((40 + numbers.below(200)) * 424);
    let spec =
        BufferSpec { size, whole_port: numbers.below(2) == 0, sharing, charge, discard, threshold, clp_threshold };
    (numbers.below(3) > 0).then_some(spec)
}

/// A source of bits of its own.
fn stream(numbers: &mut Numbers) -> impl FnMut() -> u64 + Clone + Send + Sync + 'static {
    let mut draws = numbers.clone();
    draws.0 ^= numbers.next();
    move || draws.next()
}

fn queue(numbers: &mut Numbers) -> Option<QdiscSpec> {
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
    let queue = pick(numbers, &queues);
    (numbers.below(2) == 0).then(|| QdiscSpec { queue, largest: Bytes(9180), stream: Stream::new(stream(numbers)) })
}

/// What only a port of packets has.
fn packet_port(numbers: &mut Numbers, port: &mut PortSpec) {
    port.queue = queue(numbers);
    port.packet_cost = Span::from_us(pick(numbers, &[0, 0, 100]));
    if numbers.below(4) == 0 {
        port.corrupt = Share::new("5 %".parse().unwrap(), stream(numbers));
    }
    if numbers.below(4) == 0 {
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let rates = vec![(at(2), Rate::from_bps(3_000_000)), (at(5), port.rate)];
        let outages = Schedule::once(vec![(at(7), true), (at(9), false)]);
        port.schedule = Some(RateSchedule::new(Schedule::repeating(rates, Span::from_ms(6)), outages));
    }
}

/// Rates of cells with every kind of remainder, and two whose cells take the same whole picoseconds.
const RATES: [u64; 9] =
    [1_500_000, 1_536_000, 149_760_000, 40_704_000, 7_000_003, 10_600_000, 10_600_001, 424_000_000, 599_040_000];

impl Network {
    fn new(seed: u64) -> Network {
        Network::of_shape(seed, false)
    }

    /// A ring, with all packets in the same direction around it.
    fn ring(seed: u64) -> Network {
        Network::of_shape(seed, true)
    }

    fn of_shape(seed: u64, is_ring: bool) -> Network {
        let numbers = &mut Numbers(seed);
        (0..4).for_each(|_| {
            numbers.next();
        });
        let multiplexing =
            pick(numbers, &[Multiplexing::PerConversation, Multiplexing::PerType, Multiplexing::PerDestination]);
        let mut net = Fabric::new(multiplexing, Encapsulation::LlcSnap);
        let inner = 2 + numbers.below(4) as usize;
        let (all_atm, all_packets) = pick(numbers, &[(true, false), (true, false), (false, false), (false, true)]);
        let mut nodes = Vec::new();
        for place in 0..inner {
            let switch = all_atm && place > 0 && place + 1 < inner && numbers.below(2) == 0;
            nodes.push(net.add_node(if switch { NodeKind::Switch } else { NodeKind::Router }));
        }
        let mut ports = 0;
        let same = pick(numbers, &RATES);
        let mut chain = Vec::new();
        for place in 1..inner + usize::from(is_ring) {
            let cells = all_atm || (!all_packets && numbers.below(2) == 0);
            let framing = if cells { Framing::Atm } else { Framing::Packet };
            let rate = if numbers.below(2) == 0 { same } else { pick(numbers, &RATES) };
            let delay = Span::from_ns(pick(numbers, &[0, 1, 1_000, 300_000, 22_500_000]));
            let discipline = pick(numbers, &[Discipline::RoundRobin, Discipline::Fifo]);
            let losses = [0, 1].map(|_| {
                let chance = pick(numbers, &["0 %", "0 %", "0.1 %", "2 %"]);
                let chance: Probability = chance.parse().unwrap();
                Loss::random(chance, stream(numbers))
            });
            let buffers = [buffer(numbers), buffer(numbers)];
            let link = LinkSpec::new(Rate::from_bps(rate), delay, framing);
            let mut link = link.with_discipline(discipline).with_losses(losses).with_buffers(buffers);
            if framing == Framing::Packet {
                link.ports.iter_mut().for_each(|port| packet_port(numbers, port));
            }
            chain.push(net.add_link([nodes[place - 1], nodes[place % inner]], link));
            ports += 2;
        }
        let is_switch: Vec<bool> = nodes.iter().map(|&node| net.kind(node) == NodeKind::Switch).collect();
        let count = pick(numbers, &[1, 2, 3, 6, 12]);
        let (mut hosts, mut all_paths, mut shaped) = (Vec::new(), Vec::new(), Vec::new());
        for conversation in 0..count {
            let [mut from, mut to] = [0, 1].map(|_| numbers.below(inner as u64) as usize);
            if from == to {
                (from, to) = (0, inner - 1);
            }
            let at_once = numbers.below(8) == 0;
            let pair = [net.add_node(NodeKind::Host), net.add_node(NodeKind::Host)];
            let access: Vec<[PortId; 2]> = [from, to]
                .into_iter()
                .zip(pair)
                .map(|(place, host)| {
                    let cells = is_switch[place] || (!all_packets && numbers.below(3) == 0);
                    let framing = if cells { Framing::Atm } else { Framing::Packet };
                    let rate =
                        if at_once && !cells { u64::MAX } else { pick(numbers, &[same, 10_000_000, 100_000_000]) };
                    let delay = Span::from_ns(pick(numbers, &[0, 0, 1, 100_000]));
                    ports += 2;
                    net.add_link([host, nodes[place]], LinkSpec::new(Rate::from_bps(rate), delay, framing))
                })
                .collect();
            let middle = |a: usize, b: usize| -> Vec<PortId> {
                if is_ring {
                    (0..(b + inner - a) % inner).map(|step| chain[(a + step) % inner][0]).collect()
                } else if a < b {
                    (a..b).map(|link| chain[link][0]).collect()
                } else {
                    (b..a).rev().map(|link| chain[link][1]).collect()
                }
            };
            let path = |a: usize, b: usize, ends: [[PortId; 2]; 2]| {
                let mut path = vec![ends[0][0]];
                path.extend(middle(a, b));
                path.push(ends[1][1]);
                path
            };
            let there = path(from, to, [access[0], access[1]]);
            let back = path(to, from, [access[1], access[0]]);
            let paths: [&[PortId]; 2] = [&there, &back];
            let class = pick(numbers, &[Class::Ubr, Class::Ubr, Class::Ubr, Class::Vbr, Class::Cbr]);
            let kind = conversation % 2;
            net.open(ConversationSpec { conversation, kind, hosts: pair, paths, share: None, class }).unwrap();
            if numbers.below(4) == 0 {
                shaped.push((conversation, numbers.below(2) == 0));
            }
            hosts.push(pair);
            all_paths.push([there, back]);
        }
        for (conversation, by_policer) in shaped {
            let Some((channel, ports)) = net.channels(conversation, 0).first().cloned() else { continue };
            let most = pick(numbers, &[1_000_000, 10_000_000, 150_000_000]);
            let peak = Rate::from_bps(200_000 + numbers.below(most));
            if by_policer {
                let spec = PolicerSpec {
                    peak,
                    cdvt: Span::from_us(100),
                    sustained: None,
                    action: pick(numbers, &[PolicerAction::Discard, PolicerAction::Tag]),
                };
                net.police(ports[0], channel, spec);
            } else {
                let sustained = (numbers.below(3) == 0).then(|| (Rate::from_bps(1 + peak.as_bps() / 2), 20));
                net.shape(ports[0], channel, ShaperSpec { peak, sustained });
            }
        }
        if numbers.below(4) == 0 {
            net.watch(PortId(numbers.below(u64::from(ports)) as u32));
        }
        Network { net, hosts, paths: all_paths, ports, nodes, loops: Vec::new() }
    }

    /// Closes ABR control loops around most channels that may have one, over all or a part of their ports.
    fn with_loops(seed: u64) -> Network {
        let (mut network, numbers) = (Network::new(seed), &mut Numbers(seed ^ 0xab2));
        let net = &mut network.net;
        let interval = Span::from_us(pick(numbers, &[100, 1_000, 5_000]));
        net.set_abr_switch(match numbers.below(3) {
            0 => AbrSwitchSpec::Efci { threshold: Cells(numbers.below(30)) },
            _ => AbrSwitchSpec::Erica { target: Fraction::new(9, 10).unwrap(), interval },
        });
        for conversation in 0..network.hosts.len() as u32 {
            let ways = pick(numbers, &[&[][..], &[0], &[1], &[0, 1], &[0, 1]]);
            for &way in ways {
                let [there, back] = [way, 1 - way].map(|way| net.channels(conversation, way));
                for ((channel, ports), (reverse, _)) in there.iter().zip(back.iter().rev()) {
                    let [a, b] = [0, 1].map(|_| numbers.below(ports.len() as u64) as usize);
                    let (first, last) = match numbers.below(3) {
                        0 => (ports[a.min(b)], ports[a.max(b)]),
                        _ => (ports[0], ports[ports.len() - 1]),
                    };
                    let pcr = Rate::from_bps(pick(numbers, &[500_000, 5_000_000, 150_000_000]));
                    let icr = Rate::from_bps(pcr.as_bps() / (1 + numbers.below(8)));
                    let nrm = pick(numbers, &[2, 4, 32]);
                    let parameters = AbrParameters { nrm, icr, ..AbrParameters::new(pcr) };
                    if net.abr(first, *channel, *reverse, last, parameters).is_ok() {
                        network.loops.push((first, *channel));
                    }
                }
            }
        }
        network
    }

    fn send(&mut self, now: Time, conversation: u32, way: usize, octets: u32, body: u32) {
        let hosts = self.hosts[conversation as usize];
        let (from, to) = (hosts[way], hosts[1 - way]);
        let flow = body % 3;
        let (ecn, dscp) = ([Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][flow as usize], (body % 5 * 8) as u8);
        self.net.send(now, Packet { conversation, from, to, flow, octets, ecn, dscp, body });
    }

    fn read(&mut self, now: Time, seen: &mut Seen) {
        let ports = (0..self.ports).map(PortId);
        seen.ports.extend(ports.clone().map(|port| self.net.port_counters(port, now)));
        seen.waiting.extend(ports.map(|port| self.net.waiting(port)));
        seen.losses.extend(self.nodes.iter().map(|&node| self.net.losses(node)));
        seen.queues.extend(self.net.watched());
        let rates = self.loops.iter().map(|&(port, channel)| self.net.abr_rate(port, channel)).collect();
        seen.loops.push((rates, self.net.rm_cells_held()));
        seen.totals.push([self.net.cell_hops(), self.net.events(now), self.net.packet_hops(now)]);
    }

    /// Changes the rate of a line, or the delay or the losses of a line of packets.
    fn change(&mut self, now: Time, numbers: &mut Numbers) {
        let port = PortId(numbers.below(u64::from(self.ports)) as u32);
        let is_of_packets = self.net.framing(port) != Framing::Atm;
        match numbers.below(3) {
            0 if is_of_packets => {
                let mut stream = numbers.clone();
                self.net.set_link_loss(now, port, Probability::from_ppm(50_000), move || stream.next());
            }
            1 if is_of_packets => self.net.set_link_delay(now, port, Span::from_us(1 + numbers.below(900))),
            _ => self.net.set_line_rate(now, port, Rate::from_bps(pick(numbers, &RATES))),
        }
    }

    /// Runs for `span`: hosts send at random instants, in bursts, and answer some packets at once or later. At some readings a
    /// part of the network changes; then, or for no reason, it goes on event by event, or in windows again.
    fn run(mut self, seed: u64, span: Span, in_windows: bool) -> Seen {
        assert!(!in_windows || self.net.run_in_windows(Time::ZERO), "the network allows it");
        let numbers = &mut Numbers(seed ^ 0x5eed);
        let (changes, changes_of_way) = (&mut Numbers(seed ^ 0xc4a), &mut Numbers(seed));
        let (end, mut seen, mut sent) = (Time::ZERO + span, Seen::default(), 0);
        let reading = Span::from_ps(span.as_ps() / 5);
        let (mut next_reading, mut delivered) = (Time::ZERO + reading, Vec::<Delivery<u32>>::new());
        let mut is_changed = false;
        let mut timers: std::collections::BTreeSet<(Time, u32, usize)> = std::collections::BTreeSet::new();
        for conversation in 0..self.hosts.len() as u32 {
            timers.insert((Time::ZERO + Span::from_us(numbers.below(3) * 100), conversation, 0));
        }
        loop {
            let timer = timers.first().map_or(end, |&(at, ..)| at).min(end);
            self.net.set_horizon(next_reading.min(end));
            let now = match self.net.run(timer.min(next_reading), &mut delivered) {
                Some(now) => now,
                None => {
                    let now = timer.min(next_reading);
                    if next_reading <= now {
                        self.read(next_reading, &mut seen);
                        self.net.forget_peaks();
                        is_changed = changes.below(3) == 0 && next_reading < end;
                        next_reading += reading;
                    }
                    if now >= end {
                        break;
                    }
                    if is_changed {
                        self.net.leave_windows(now);
                    }
                    self.net.set_horizon(next_reading.min(end));
                    self.net.advance(now, &mut delivered);
                    now
                }
            };
            for Delivery { packet, corrupted, .. } in delivered.drain(..) {
                seen.delivered.push((now, packet.to.0, packet.conversation, packet.body, packet.ecn, corrupted));
                let way = usize::from(packet.to != self.hosts[packet.conversation as usize][0]);
                match numbers.below(4) {
                    0 => {}
                    1 => drop(timers.insert((now + Span::from_us(numbers.below(2000)), packet.conversation, way))),
                    _ if way == 1 => {
                        self.send(now, packet.conversation, 1, 40, sent);
                        sent += 1;
                    }
                    _ => {
                        let octets = pick(numbers, &[40, 552, 1500, 9180]);
                        self.send(now, packet.conversation, 0, octets, sent);
                        sent += 1;
                    }
                }
            }
            while let Some(&(at, conversation, way)) = timers.first().filter(|&&(at, ..)| at <= now) {
                timers.remove(&(at, conversation, way));
                for _ in 0..=numbers.below(4) {
                    let octets = 1 + numbers.below(2000) as u32;
                    self.send(now, conversation, way, octets, sent);
                    sent += 1;
                }
                timers.insert((now + Span::from_us(50 + numbers.below(9000)), conversation, way));
            }
            if std::mem::take(&mut is_changed) && changes.below(4) > 0 {
                self.change(now, changes);
            }
            self.net.serve(now);
            if in_windows && !self.net.has_windows() && changes_of_way.below(3) > 0 {
                self.net.run_in_windows(now);
            }
        }
        let conversations = 0..self.hosts.len() as u32;
        seen.conversations.extend(conversations.map(|number| self.net.conversation_counters(number)));
        seen
    }
}

/// Networks of a long run that once differed.
const FOUND: [u64; 2] = [68_534, 76_076];

/// The networks: of 12,001 all but 32 run in windows, with 92 deliveries each on average. `CELLWAY_CASES` is another number of them, or a range like
/// 1000..2000.
fn cases(most: u64) -> Vec<u64> {
    let given = std::env::var("CELLWAY_CASES").unwrap_or(most.to_string());
    let (first, end) = given.split_once("..").unwrap_or(("0", &given));
    (first.parse().unwrap()..end.parse().unwrap()).chain(FOUND).collect()
}

/// Runs a network with both engines and compares all that is seen. Returns the number of deliveries, or `None` if it cannot
/// run in windows.
fn compare(network: fn(u64) -> Network, seed: u64) -> Option<usize> {
    if !network(seed).net.run_in_windows(Time::ZERO) {
        return None;
    }
    let span = Span::from_ms(20);
    let [by_calendar, in_windows] = [false, true].map(|way| network(seed).run(seed, span, way));
    let different = by_calendar.delivered.iter().zip(&in_windows.delivered).position(|(a, b)| a != b);
    assert_eq!(different, None, "network {seed}");
    let different = by_calendar.ports.iter().zip(&in_windows.ports).enumerate().find(|(_, (a, b))| a != b);
    assert_eq!(different, None, "network {seed}");
    let different = by_calendar.queues.iter().zip(&in_windows.queues).find(|(a, b)| a != b);
    assert_eq!(different, None, "network {seed}");
    assert_eq!(by_calendar.totals, in_windows.totals, "network {seed}");
    assert_eq!(by_calendar.waiting, in_windows.waiting, "network {seed}");
    assert_eq!(by_calendar, in_windows, "network {seed}");
    Some(by_calendar.delivered.len())
}

#[test]
fn windows_and_the_calendar_agree() {
    agree(Network::new, &cases(12_000), [99, 80]);
}

/// Ports mark RM cells of the other direction, so that lines wait for each other.
#[test]
fn they_agree_with_control_loops() {
    // On a fifth of them a line of no time may send to one that waits for it.
    agree(Network::with_loops, &cases(2_000), [75, 40]);
}

/// Ports form a loop, in which none comes after all that send to it.
#[test]
fn they_agree_on_rings() {
    agree(Network::ring, &cases(2_000), [75, 25]);
}

/// Four routers in a ring, each with a host on a line without delay, whose packets go halfway around it: true if windows are
/// chosen.
fn ring_prefers_windows(delay: Span) -> bool {
    let mut net: Fabric<u32> = Fabric::new(Multiplexing::PerConversation, Encapsulation::LlcSnap);
    let link = |delay| LinkSpec::new(Rate::from_bps(155_000_000), delay, Framing::Packet);
    let routers = [(); 4].map(|()| net.add_node(NodeKind::Router));
    let hosts = [(); 4].map(|()| net.add_node(NodeKind::Host));
    let ring = [0, 1, 2, 3].map(|at| net.add_link([routers[at], routers[(at + 1) % 4]], link(delay))[0]);
    let lines = [0, 1, 2, 3].map(|at| net.add_link([hosts[at], routers[at]], link(Span::ZERO)));
    for from in 0..4 {
        let path = |a: usize, b: usize| [lines[a][0], ring[a], ring[(a + 1) % 4], lines[b][1]];
        let (to, conversation) = ((from + 2) % 4, from as u32);
        let paths: [&[_]; 2] = [&path(from, to), &path(to, from)];
        let (hosts, class) = ([hosts[from], hosts[to]], Class::Ubr);
        net.open(ConversationSpec { conversation, kind: 0, hosts, paths, share: None, class }).unwrap();
    }
    net.prefer_windows(Time::ZERO);
    net.has_windows()
}

#[test]
fn a_ring_of_long_links_prefers_windows() {
    assert!(ring_prefers_windows(Span::from_ms(10)));
    assert!(!ring_prefers_windows(Span::from_ns(10)));
}

/// Turns go on to the next event: by turns around loops of less than a microsecond, twenty seconds would take minutes. An RM cell
/// or none is under way in them.
#[test]
fn a_network_with_loops_in_which_little_happens_takes_little_time() {
    let end = Time::ZERO + Span::from_secs(20);
    let ended =
        (0..100).map(Network::with_loops).filter(|network| !network.loops.is_empty()).filter_map(|mut network| {
            let is_in_windows = network.net.run_in_windows(Time::ZERO);
            network.send(Time::ZERO, 0, 0, 1500, 0);
            let mut delivered = Vec::new();
            network.net.set_horizon(end);
            while network.net.run(end, &mut delivered).is_some() {}
            is_in_windows.then_some(delivered.len())
        });
    // Of 100 networks, 37; in the others a loss comes first, no loop is closed, or there are no windows.
    assert!(ended.filter(|&delivered| delivered == 1).count() > 30);
}

/// Returns the results of all cases, on all cores.
fn on_all_cores<T: Send>(cases: &[u64], of: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let of_thread = |first| cases.iter().skip(first).step_by(threads).map(|&seed| of(seed)).collect::<Vec<T>>();
    std::thread::scope(|scope| {
        let of_thread = &of_thread;
        let running: Vec<_> = (0..threads).map(|first| scope.spawn(move || of_thread(first))).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// Compares both engines: at least `share` of 100 networks run with both, with `packets` each on average.
fn agree(network: fn(u64) -> Network, cases: &[u64], [share, packets]: [usize; 2]) {
    let delivered: Vec<usize> = on_all_cores(cases, |seed| compare(network, seed)).into_iter().flatten().collect();
    let (count, ran, delivered) = (cases.len(), delivered.len(), delivered.iter().sum::<usize>());
    println!("{ran} of {count} networks ran with both engines, {delivered} packets");
    let is_enough = 100 * ran > share * count && delivered > packets * count;
    assert!(count < 100 || is_enough, "{ran} networks, {delivered} packets");
}
