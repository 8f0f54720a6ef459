//! A line for the tests: a queue of so many bits that is served at a rate, a delay, random losses, and endpoints that
//! answer every second packet, or one after 25 ms. Losses are found when a packet sent three later is acknowledged.

use std::collections::{BTreeMap, VecDeque};

use cellway_units::{Bits, Rate, Span, Time};

use super::Bottleneck;
use crate::delivery::{Stamp, bits_of};

/// Octets of every packet.
pub(super) const PACKET: u64 = 1_350;
const ACK_DELAY: Span = Span::from_ms(25);
const TIMEOUT: Span = Span::from_secs(2);

pub(super) fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// What a sender has to send.
#[derive(Clone, Copy)]
pub(super) enum Source {
    Endless,
    /// So many packets every 100 ms.
    Packets(u64),
}

pub(super) struct Sender {
    pub(super) model: Bottleneck,
    source: Source,
    waiting: u64,
    ready: Time,
    carry: u64,
    scheduled: bool,
    next: u64,
    under_way: VecDeque<(u64, Time, Stamp)>,
    /// At the far end: not yet acknowledged packets, with their arrivals.
    arrived: Vec<(u64, Time)>,
    /// Bits that arrived.
    pub(super) received: u64,
    pub(super) sent: u64,
    pub(super) lost: u64,
}

enum Event {
    Start(usize),
    Pace(usize),
    Arrive(usize, u64),
    Hold(usize, u64),
    Ack(usize, Vec<u64>, Span),
    Check(usize),
    Change(Rate),
}

pub(super) struct Line {
    rate: Rate,
    delay: Span,
    queue: u64,
    loss_per_million: u64,
    random: u64,
    /// When the line has sent all that is in the queue.
    free: Time,
    carry: u64,
    pub(super) senders: Vec<Sender>,
    events: BTreeMap<(Time, u64), Event>,
    count: u64,
    pub(super) now: Time,
    /// How long each packet waited in the queue (arrival, wait).
    pub(super) waits: Vec<(Time, Span)>,
}

impl Line {
    /// A line with a queue of `queue` thousandths of what it holds.
    pub(super) fn new(rate: Rate, round_trip: Span, queue: u64, loss_per_million: u64) -> Line {
        Line {
            rate,
            delay: round_trip / 2,
            queue: bits_of(rate, round_trip) * queue / 1000,
            loss_per_million,
            random: 1,
            free: Time::ZERO,
            carry: 0,
            senders: Vec::new(),
            events: BTreeMap::new(),
            count: 0,
            now: Time::ZERO,
            waits: Vec::new(),
        }
    }
    pub(super) fn add(&mut self, most: Rate, source: Source, start: Time) {
        self.senders.push(Sender {
            model: Bottleneck::new(most, Bits(PACKET * 8), 2),
            source,
            waiting: 0,
            ready: start,
            carry: 0,
            scheduled: false,
            next: 0,
            under_way: VecDeque::new(),
            arrived: Vec::new(),
            received: 0,
            sent: 0,
            lost: 0,
        });
        self.at(start, Event::Start(self.senders.len() - 1));
    }
    pub(super) fn change(&mut self, time: Time, rate: Rate) {
        self.at(time, Event::Change(rate));
    }
    fn at(&mut self, time: Time, event: Event) {
        self.count += 1;
        self.events.insert((time, self.count), event);
    }
    fn dice(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random >> 33
    }

    pub(super) fn run(&mut self, until: Time) {
        while let Some(entry) = self.events.first_entry().filter(|e| e.key().0 <= until) {
            let ((now, _), event) = entry.remove_entry();
            self.now = now;
            match event {
                Event::Change(rate) => self.rate = rate,
                Event::Start(n) => self.start(n),
                Event::Pace(n) => {
                    self.senders[n].scheduled = false;
                    self.send(n);
                }
                Event::Arrive(n, number) => self.arrive(n, number),
                Event::Hold(n, number) => {
                    if self.senders[n].arrived.iter().any(|a| a.0 == number) {
                        self.answer(n);
                    }
                }
                Event::Ack(n, numbers, held) => self.acknowledge(n, &numbers, held),
                Event::Check(n) => self.check(n),
            }
        }
        self.now = until;
    }
    pub(super) fn set_source(&mut self, n: usize, source: Source) {
        self.senders[n].source = source;
        self.senders[n].waiting = 0;
        self.at(self.now, Event::Start(n));
    }
    pub(super) fn set_round_trip(&mut self, round_trip: Span) {
        self.delay = round_trip / 2;
    }
    fn start(&mut self, n: usize) {
        match self.senders[n].source {
            Source::Endless => self.senders[n].waiting = u64::MAX,
            Source::Packets(packets) => {
                self.senders[n].waiting += packets;
                self.at(self.now + Span::from_ms(100), Event::Start(n));
            }
        }
        if self.senders[n].next == 0 {
            self.at(self.now, Event::Check(n));
        }
        self.send(n);
    }
    fn send(&mut self, n: usize) {
        let now = self.now;
        while self.senders[n].ready <= now {
            let sender = &mut self.senders[n];
            if !sender.model.may_send() {
                return;
            }
            if sender.waiting == 0 {
                return sender.model.nothing_left();
            }
            let bits = Bits(PACKET * 8);
            let stamp = sender.model.sent(now, bits);
            sender.under_way.push_back((sender.next, now, stamp));
            let number = sender.next;
            (sender.next, sender.waiting, sender.sent) = (number + 1, sender.waiting - 1, sender.sent + 1);
            let (span, carry) = sender.model.rate().time_for(bits, sender.carry);
            (sender.ready, sender.carry) = (sender.ready.max(now) + span, carry);
            self.enqueue(n, number);
        }
        if !self.senders[n].scheduled {
            self.senders[n].scheduled = true;
            self.at(self.senders[n].ready, Event::Pace(n));
        }
    }
    fn enqueue(&mut self, n: usize, number: u64) {
        if self.dice() % 1_000_000 < self.loss_per_million {
            return;
        }
        let wait = self.free.since(self.now);
        if bits_of(self.rate, wait) + PACKET * 8 > self.queue.max(2 * PACKET * 8) {
            return;
        }
        self.waits.push((self.now, wait));
        if self.free < self.now {
            (self.free, self.carry) = (self.now, 0);
        }
        let (span, carry) = self.rate.time_for(Bits(PACKET * 8), self.carry);
        (self.free, self.carry) = (self.free + span, carry);
        self.at(self.free + self.delay, Event::Arrive(n, number));
    }
    fn arrive(&mut self, n: usize, number: u64) {
        let now = self.now;
        self.senders[n].received += PACKET * 8;
        self.senders[n].arrived.push((number, now));
        if self.senders[n].arrived.len() >= 2 {
            self.answer(n);
        } else {
            self.at(now + ACK_DELAY, Event::Hold(n, number));
        }
    }
    fn answer(&mut self, n: usize) {
        let arrived = std::mem::take(&mut self.senders[n].arrived);
        let held = self.now - arrived[arrived.len() - 1].1;
        let numbers = arrived.iter().map(|a| a.0).collect();
        self.at(self.now + self.delay, Event::Ack(n, numbers, held));
    }
    fn acknowledge(&mut self, n: usize, numbers: &[u64], held: Span) {
        let (now, sender) = (self.now, &mut self.senders[n]);
        let newest = numbers[numbers.len() - 1];
        let mut rtt = None;
        for number in numbers {
            let Ok(i) = sender.under_way.binary_search_by_key(number, |p| p.0) else { continue };
            let Some((_, sent, stamp)) = sender.under_way.remove(i) else { continue };
            if *number == newest {
                rtt = Some((now - sent).saturating_sub(held));
            }
            sender.model.acked(now, &stamp);
        }
        while let Some((_, _, stamp)) = sender.under_way.front().filter(|p| p.0 + 3 <= newest).copied() {
            sender.under_way.pop_front();
            sender.model.lost(&stamp);
            sender.lost += 1;
        }
        sender.model.learn(now, rtt);
        self.send(n);
    }
    fn check(&mut self, n: usize) {
        let (now, sender) = (self.now, &mut self.senders[n]);
        while let Some((_, _, stamp)) = sender.under_way.front().filter(|p| now - p.1 > TIMEOUT * 2).copied() {
            sender.under_way.pop_front();
            sender.model.lost(&stamp);
            sender.lost += 1;
        }
        self.at(now + TIMEOUT, Event::Check(n));
        self.send(n);
    }

    /// The share of the rate that arrived from `from` to `to` (ms) of all senders, running the line there.
    pub(super) fn share(&mut self, from: u64, to: u64, rate: Rate) -> f64 {
        self.run(at(from));
        let before: u64 = self.senders.iter().map(|s| s.received).sum();
        self.run(at(to));
        let after: u64 = self.senders.iter().map(|s| s.received).sum();
        (after - before) as f64 / (rate.as_bps() as f64 * (to - from) as f64 / 1000.0)
    }
    /// The wait in the queue that `per_mille` of the packets since `from` did not exceed.
    pub(super) fn wait(&self, per_mille: usize, from: u64) -> Span {
        let mut waits: Vec<_> = self.waits.iter().filter(|w| w.0 >= at(from)).map(|w| w.1).collect();
        waits.sort_unstable();
        waits[(waits.len() - 1) * per_mille / 1000]
    }
}
