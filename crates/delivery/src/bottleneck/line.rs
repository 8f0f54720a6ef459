//! A bottleneck link for the tests: a FIFO queue served at a rate, a delay in each direction, random losses, and stalls of
//! the link, of a sender's gateway and of its peer.

use std::collections::{BTreeMap, VecDeque};

use cellway_units::{Bits, Rate, Span, Time};
use serde::{Deserialize, Serialize};

use crate::bits_of;

mod cubic;
mod sender;

pub(super) use sender::Sender;

/// Octets of every packet.
pub(super) const PACKET: u64 = 1_350;
pub(super) const PACKET_BITS: u64 = PACKET * 8;
/// Octets of every acknowledgement.
const ACK: u64 = 100;
/// The interval at which the timers of a sender are checked.
const CHECK: Span = Span::from_ms(20);

pub(super) fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// The data that a sender has.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) enum Source {
    Endless,
    /// This number of packets every 100 ms.
    Packets(u64),
}

/// The component that stalls.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stall {
    /// The link: no packet is served, its queue fills.
    Link,
    /// The link, and the packets in its queue at the end are lost.
    Outage,
    /// The process of this sender: it sends no packets, and acknowledgements wait for it.
    Sender(usize),
    /// The process of its peer: packets wait for it, and it answers none.
    Peer(usize),
}

enum Event {
    Start(usize),
    Pace(usize),
    Served,
    Arrive(usize, u64),
    Hold(usize, u64),
    AckPathFree(usize),
    Ack(usize, Vec<u64>, Span),
    Check(usize),
    Change(Rate),
    Length(Span),
    Source(usize, Source),
    Stall(Stall, Time),
    Clear,
}

/// A packet in the queue: its sender, its number and its arrival.
struct Queued(usize, u64, Time);

pub(super) struct Line {
    rate: Rate,
    delay: Span,
    /// The size of the queue, bits.
    queue: u64,
    loss_per_million: u64,
    /// The rate of the path of acknowledgements, and the interval at which it forwards them together.
    ack_rate: Option<Rate>,
    ack_interval: Option<Span>,
    /// The largest random delay of an acknowledgement; their order is kept.
    jitter: Span,
    /// A token bucket before the queue: its rate, its size and its tokens (bits) at an instant.
    policer: Option<(Rate, u64, u64, Time)>,
    random: u64,
    queued: VecDeque<Queued>,
    serving: bool,
    carry: u64,
    stalled_until: Time,
    pub(super) senders: Vec<Sender>,
    events: BTreeMap<(Time, u64), Event>,
    count: u64,
    pub(super) now: Time,
    /// The wait of each packet in the queue (arrival, wait).
    pub(super) waits: Vec<(Time, Span)>,
}

impl Line {
    /// Creates a link with a queue of `queue` thousandths of its bandwidth-delay product.
    pub(super) fn new(rate: Rate, round_trip: Span, queue: u64, loss_per_million: u64) -> Line {
        Line {
            rate,
            delay: round_trip / 2,
            queue: bits_of(rate, round_trip) * queue / 1000,
            loss_per_million,
            ack_rate: None,
            ack_interval: None,
            jitter: Span::ZERO,
            policer: None,
            random: 1,
            queued: VecDeque::new(),
            serving: false,
            carry: 0,
            stalled_until: Time::ZERO,
            senders: Vec::new(),
            events: BTreeMap::new(),
            count: 0,
            now: Time::ZERO,
            waits: Vec::new(),
        }
    }
    /// Adds a sender that is paced by the estimator.
    pub(super) fn add(&mut self, most: Rate, source: Source, start: Time) {
        self.join(Sender::paced(most, source, start), start);
    }
    /// Gives sender `n` the round-trip time without a queue, as from the transport's handshake.
    pub(super) fn measured(&mut self, n: usize) {
        self.senders[n].measured(self.delay * 2);
    }
    /// Adds a TCP flow with CUBIC from outside the gateways.
    pub(super) fn add_cubic(&mut self, start: Time) {
        self.join(Sender::cubic(start), start);
    }
    fn join(&mut self, sender: Sender, start: Time) {
        self.senders.push(sender);
        self.at(start, Event::Start(self.senders.len() - 1));
        self.at(start, Event::Check(self.senders.len() - 1));
    }
    pub(super) fn change(&mut self, time: Time, rate: Rate) {
        self.at(time, Event::Change(rate));
    }
    pub(super) fn stall(&mut self, time: Time, length: Span, what: Stall) {
        self.at(time, Event::Stall(what, time + length));
    }
    pub(super) fn set_source(&mut self, n: usize, source: Source) {
        self.at(self.now, Event::Source(n, source));
    }
    /// Stops sender `n`.
    pub(super) fn stop(&mut self, n: usize) {
        self.senders[n].stop();
    }
    pub(super) fn set_round_trip(&mut self, round_trip: Span) {
        self.at(self.now, Event::Length(round_trip));
    }
    pub(super) fn set_ack_rate(&mut self, rate: Rate) {
        self.ack_rate = Some(rate);
    }
    pub(super) fn set_ack_interval(&mut self, interval: Span) {
        self.ack_interval = Some(interval);
    }
    pub(super) fn set_jitter(&mut self, jitter: Span) {
        self.jitter = jitter;
    }
    pub(super) fn police(&mut self, rate: Rate, size: u64) {
        self.policer = Some((rate, size, size, self.now));
    }
    pub(super) fn set_loss(&mut self, per_million: u64) {
        self.loss_per_million = per_million;
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
            // Events of a stalled process wait for the end of the stall, in order.
            let awake = match event {
                Event::Start(n) | Event::Pace(n) | Event::Ack(n, ..) | Event::Check(n) => self.senders[n].asleep_until,
                Event::Arrive(n, _) | Event::Hold(n, _) | Event::AckPathFree(n) => self.senders[n].peer_asleep_until,
                _ => now,
            };
            if awake > now { self.at(awake, event) } else { self.handle(event) }
        }
        self.now = until;
    }
    fn handle(&mut self, event: Event) {
        match event {
            Event::Change(rate) => self.rate = rate,
            Event::Length(round_trip) => self.delay = round_trip / 2,
            Event::Source(n, source) => {
                self.senders[n].set_source(source);
                self.at(self.now, Event::Start(n));
            }
            Event::Stall(Stall::Link, until) => self.stalled_until = until,
            Event::Stall(Stall::Outage, until) => {
                self.stalled_until = until;
                self.at(until, Event::Clear);
            }
            Event::Clear => self.queued.clear(),
            Event::Stall(Stall::Sender(n), until) => self.senders[n].asleep_until = until,
            Event::Stall(Stall::Peer(n), until) => self.senders[n].peer_asleep_until = until,
            Event::Start(n) => {
                if self.senders[n].supply() {
                    self.at(self.now + Span::from_ms(100), Event::Start(n));
                }
                self.send(n);
            }
            Event::Pace(n) => {
                self.senders[n].scheduled = false;
                self.send(n);
            }
            Event::Served => self.served(),
            Event::Arrive(n, number) => {
                if self.senders[n].arrive(self.now, number) {
                    self.answer(n);
                } else {
                    self.at(self.now + sender::ACK_DELAY, Event::Hold(n, number));
                }
            }
            Event::Hold(n, number) => {
                if self.senders[n].holds_back(number) {
                    self.answer(n);
                }
            }
            Event::AckPathFree(n) => {
                self.senders[n].ack_path_busy = false;
                if self.senders[n].holds_back_enough() {
                    self.answer(n);
                }
            }
            Event::Ack(n, numbers, held) => {
                self.senders[n].acknowledge(self.now, &numbers, held);
                self.send(n);
            }
            Event::Check(n) => {
                self.senders[n].check(self.now);
                self.at(self.now + CHECK, Event::Check(n));
                self.send(n);
            }
        }
    }

    fn send(&mut self, n: usize) {
        let now = self.now;
        while let Some(number) = self.senders[n].next_packet(now) {
            self.enqueue(n, number);
        }
        let sender = &mut self.senders[n];
        if let Some(ready) = sender.ready.filter(|&ready| ready > now && !sender.scheduled) {
            sender.scheduled = true;
            self.at(ready, Event::Pace(n));
        }
    }
    fn enqueue(&mut self, n: usize, number: u64) {
        if self.dice() % 1_000_000 < self.loss_per_million {
            return;
        }
        if let Some((rate, size, tokens, at)) = &mut self.policer {
            *tokens = (*tokens + bits_of(*rate, self.now - *at)).min(*size);
            *at = self.now;
            let Some(left) = tokens.checked_sub(PACKET_BITS) else { return };
            *tokens = left;
        }
        if self.queued.len() as u64 * PACKET_BITS > self.queue.max(2 * PACKET_BITS) {
            return;
        }
        self.queued.push_back(Queued(n, number, self.now));
        if !self.serving {
            self.carry = 0;
            self.serve();
        }
    }
    fn serve(&mut self) {
        self.serving = true;
        let (span, carry) = self.rate.time_for(Bits(PACKET_BITS), self.carry);
        self.carry = carry;
        self.at(self.now + span, Event::Served);
    }
    fn served(&mut self) {
        if self.now < self.stalled_until {
            return self.at(self.stalled_until, Event::Served);
        }
        if let Some(Queued(n, number, arrived)) = self.queued.pop_front() {
            let (service, _) = self.rate.time_for(Bits(PACKET_BITS), 0);
            self.waits.push((arrived, (self.now - arrived).saturating_sub(service + Span::from_ps(1))));
            self.at(self.now + self.delay, Event::Arrive(n, number));
        }
        self.serving = false;
        if !self.queued.is_empty() {
            self.serve();
        }
    }
    fn answer(&mut self, n: usize) {
        if self.senders[n].ack_path_busy {
            return;
        }
        let mut path = self.delay;
        if let Some(rate) = self.ack_rate {
            let (span, _) = rate.time_for(Bits(ACK * 8), 0);
            self.senders[n].ack_path_busy = true;
            self.at(self.now + span, Event::AckPathFree(n));
            path += span;
        }
        let (numbers, held) = self.senders[n].answer(self.now);
        let mut arrival = self.now + path;
        if let Some(interval) = self.ack_interval {
            let behind = arrival.since(Time::ZERO).as_ps() % interval.as_ps();
            arrival += interval - Span::from_ps(behind);
        }
        arrival += self.jitter * (self.dice() % 1_000) / 1_000;
        arrival = arrival.max(self.senders[n].last_answer);
        self.senders[n].last_answer = arrival;
        self.at(arrival, Event::Ack(n, numbers, held));
    }

    /// Returns the share of the rate that arrived from `from` to `to` (ms) of all senders, after running the link to
    /// then.
    pub(super) fn share(&mut self, from: u64, to: u64, rate: Rate) -> f64 {
        self.shares(from, to, rate).iter().sum()
    }
    /// Returns the share of the rate that arrived of each sender.
    pub(super) fn shares(&mut self, from: u64, to: u64, rate: Rate) -> Vec<f64> {
        self.run(at(from));
        let before: Vec<u64> = self.senders.iter().map(|s| s.received).collect();
        self.run(at(to));
        let carried = rate.as_bps() as f64 * (to - from) as f64 / 1000.0;
        self.senders.iter().zip(before).map(|(s, before)| (s.received - before) as f64 / carried).collect()
    }
    /// Returns the wait in the queue that `per_mille` of the packets since `from` did not exceed.
    pub(super) fn wait(&self, per_mille: usize, from: u64) -> Span {
        let mut waits: Vec<_> = self.waits.iter().filter(|w| w.0 >= at(from)).map(|w| w.1).collect();
        waits.sort_unstable();
        waits[(waits.len() - 1) * per_mille / 1000]
    }
}
