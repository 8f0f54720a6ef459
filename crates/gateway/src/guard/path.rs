//! A simulated path for the tests of the guard: a FIFO queue with a service rate, a delay, losses, stalls, competing
//! flows.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::*;
use cellway_delivery::bits_of;

const PACKET: u64 = 1_500 * 8;

pub(super) fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}
pub(super) fn mbps(n: u64) -> Rate {
    Rate::from_bps(n * 1_000_000)
}

/// A competing flow with additive increase and the multiplicative decrease of CUBIC (RFC 9438, section 4.6).
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Competing {
    /// The round-trip time without a queue.
    pub(super) base: Span,
    /// The congestion window (packets).
    pub(super) window: f64,
    pub(super) next: Time,
    pub(super) reduced: Time,
}

impl Competing {
    pub(super) fn from(start: Time) -> Competing {
        Competing { base: Span::from_ms(40), window: 10.0, next: start, reduced: start }
    }
}

pub(super) struct Path {
    pub(super) guard: Guard,
    pub(super) rate: Rate,
    pub(super) round_trip: Span,
    /// The size of the queue (bits).
    pub(super) queue: u64,
    pub(super) loss_per_million: u64,
    /// The sender sends each packet late by this share of the packet interval (per mille): its processor is too slow.
    pub(super) late: u64,
    /// The limit of packets in flight.
    pub(super) window: usize,
    /// A delay of acknowledgements that grows by this share of the time (per mille) up to a limit: the queue of the
    /// other direction.
    pub(super) back: (u64, Span),
    pub(super) back_since: Time,
    /// The start and the end of a stall, in which the path serves nothing.
    pub(super) stall: (Time, Time),
    /// Cross traffic at a constant rate in bursts: its rate, the period of the bursts and their length (ms).
    pub(super) cross: (Rate, u64, u64),
    pub(super) competing: Vec<Competing>,
    pub(super) random: u64,
    pub(super) free: Time,
    pub(super) cross_at: Time,
    pub(super) next: Time,
    pub(super) number: u64,
    /// Packets in flight: number and time of sending.
    pub(super) in_flight: VecDeque<(u64, Time)>,
    pub(super) acks: VecDeque<(Time, u64)>,
    pub(super) now: Time,
    pub(super) received: u64,
    pub(super) lost: u64,
    /// Waits of the packets in the queue, with their arrivals.
    pub(super) waits: Vec<(Time, Span)>,
}

impl Path {
    /// Creates a path of 25 Mbit/s and 175 ms with a queue of one bandwidth-delay product, and a guard of the rate
    /// `configured`.
    pub(super) fn new(configured: Rate) -> Path {
        let (rate, round_trip) = (mbps(25), Span::from_ms(175));
        Path {
            guard: Guard::new(configured, true),
            rate,
            round_trip,
            queue: bits_of(rate, round_trip),
            loss_per_million: 0,
            late: 0,
            window: usize::MAX,
            back: (0, Span::ZERO),
            back_since: Time::ZERO,
            stall: (Time::ZERO, Time::ZERO),
            cross: (Rate::from_bps(0), 1, 0),
            competing: Vec::new(),
            random: 1,
            free: Time::ZERO,
            cross_at: Time::ZERO,
            next: Time::ZERO,
            number: 0,
            in_flight: VecDeque::new(),
            acks: VecDeque::new(),
            now: Time::ZERO,
            received: 0,
            lost: 0,
            waits: Vec::new(),
        }
    }
    fn dice(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random >> 33
    }
    /// Puts a packet of `bits` into the queue and returns the time at which it has been served; `None` if the queue is
    /// full.
    fn enqueue(&mut self, now: Time, bits: u64) -> Option<Time> {
        if now >= self.stall.0 && now < self.stall.1 {
            self.free = self.free.max(self.stall.1);
        }
        let wait = self.free.since(now);
        if bits_of(self.rate, wait) + bits > self.queue {
            return None;
        }
        self.free = self.free.max(now) + self.rate.time_for(Bits(bits), 0).0;
        Some(self.free)
    }
    /// Puts the packets that competing flows and cross traffic have sent until now into the queue.
    fn compete(&mut self) {
        for index in 0..self.competing.len() {
            let mut flow = self.competing[index];
            while flow.next <= self.now {
                let round_trip = flow.base + self.free.since(flow.next);
                if self.enqueue(flow.next, PACKET).is_some() {
                    flow.window += 1.0 / flow.window;
                } else if flow.next > flow.reduced + round_trip {
                    (flow.window, flow.reduced) = ((flow.window * 0.7).max(1.0), flow.next);
                }
                flow.next += Span::from_ps((round_trip.as_ps() as f64 / flow.window) as u64);
            }
            self.competing[index] = flow;
        }
        let (rate, period, burst) = self.cross;
        while rate.as_bps() > 0 && self.cross_at <= self.now {
            if (self.cross_at - Time::ZERO).as_ps() / 1_000_000_000 % period < burst {
                self.enqueue(self.cross_at, PACKET);
            }
            self.cross_at += rate.time_for(Bits(PACKET), 0).0;
        }
    }
    fn send(&mut self) {
        self.now = self.next;
        self.compete();
        self.next += self.guard.rate().time_for(Bits(PACKET), 0).0 * (1000 + self.late) / 1000;
        if self.in_flight.len() >= self.window {
            return;
        }
        self.guard.sent(Bits(PACKET));
        self.in_flight.push_back((self.number, self.now));
        self.number += 1;
        if self.dice() % 1_000_000 < self.loss_per_million {
            return;
        }
        let Some(served) = self.enqueue(self.now, PACKET) else { return };
        self.waits.push((self.now, (served - self.now).saturating_sub(self.rate.time_for(Bits(PACKET), 0).0)));
        let grows = (self.now.since(self.back_since) * self.back.0 / 1000).min(self.back.1);
        self.acks.push_back((served + self.round_trip + grows, self.number - 1));
    }
    fn acknowledge(&mut self, time: Time, number: u64) {
        self.now = time;
        while let Some((first, sent)) = self.in_flight.front().copied().filter(|packet| packet.0 <= number) {
            self.in_flight.pop_front();
            if first == number {
                self.received += PACKET;
                self.guard.acked(Bits(PACKET));
                self.guard.learn(time, time - sent);
            } else {
                self.lost += 1;
                self.guard.lost(Bits(PACKET));
            }
        }
    }
    pub(super) fn run(&mut self, until: Time) {
        loop {
            let ack = self.acks.front().copied().filter(|ack| ack.0 <= self.next.min(until));
            match ack {
                Some((time, number)) => {
                    self.acks.pop_front();
                    self.acknowledge(time, number);
                }
                None if self.next > until => break,
                None => self.send(),
            }
        }
    }
    /// Returns the rate delivered from `from` to `to` (ms), in Mbit/s.
    pub(super) fn arrives(&mut self, from: u64, to: u64) -> f64 {
        self.run(at(from));
        let before = self.received;
        self.run(at(to));
        (self.received - before) as f64 / 1e3 / (to - from) as f64
    }
    /// Returns the longest wait in the queue from `from` to `to` (ms).
    pub(super) fn longest_wait(&self, from: u64, to: u64) -> Span {
        let waits = self.waits.iter().filter(|wait| wait.0 >= at(from) && wait.0 <= at(to)).map(|wait| wait.1);
        waits.max().unwrap_or_default()
    }
    /// Asserts that the guard has no finding until `ms`.
    #[track_caller]
    pub(super) fn quiet_until(&mut self, ms: u64) {
        let configured = self.guard.configured;
        for step in (0..=ms).step_by(100) {
            self.run(at(step));
            assert_eq!((self.guard.fits(), self.guard.rate().as_bps()), (None, configured), "at {step} ms");
        }
    }
}
