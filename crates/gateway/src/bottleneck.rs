//! Estimates the bandwidth and the length of a path, and from these the pacing rate and the data in flight. It follows BBR
//! version 3 (draft-ietf-ccwg-bbr); `docs/models/gateway.md` lists the differences. It uses whole numbers only, so that it
//! behaves the same on every machine.

use cellway_units::{Bits, Rate, Span, Time};

use crate::delivery::{Delivery, Sample, Stamp, bits_of, rate_of, times};
use crate::rtt::GRANULARITY;

mod phase;
mod queue;
mod round;
mod startup;

use phase::{Phase, STARTUP};
use queue::Queue;
use round::Round;
use startup::Startup;

/// The pacing rate as a part of the bandwidth, in thousandths, so that the link is seldom full.
const MARGIN: u64 = 990;
/// How much may be in flight, in thousandths of what the path holds: in general, beside others who fill the queue, and to
/// measure its length.
const CAP: u64 = 2_000;
const CONTESTED_CAP: u64 = 1_750;
/// Room in a contested queue beyond what the phase aims for.
const ROOM: u64 = 1_050;
const PROBE_RTT: u64 = 500;
/// The same in conservative slow start, with the round trip that began it.
const SLOW: u64 = 1_500;
/// The shortest round trip is measured anew when none came so near to it (thousandths) for so long.
const NEAR: u64 = 1_016;
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// Acknowledgements that are further apart than their packets by more than this and half a round trip: a stall.
const PATIENCE: Span = Span::from_ms(5);
/// The initial flight: ten packets (RFC 6928) or 64 KiB, over 50 ms.
const INITIAL_PACKETS: u64 = 10;
const INITIAL_BITS: u64 = 8 * 65_536;
const INITIAL_TIME: Span = Span::from_ms(50);
/// The rate after it for a round trip, and for a second at most: a long path would otherwise be idle for most of its first
/// round trip, and slow links carry this much.
const TRICKLE: Rate = Rate::from_bps(2_000_000);
const TRICKLE_TIME: Span = Span::from_secs(1);
/// The least that may be in flight, in packets and in acknowledgements.
const LEAST_PACKETS: u64 = 4;
const LEAST_ACKS: u64 = 2;

fn shorter(least: Option<Span>, rtt: Span) -> Span {
    least.map_or(rtt, |least| least.min(rtt))
}

/// Bounds for the time until the next probe, after a round with too many losses.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    rate: u64,
    in_flight: u64,
}

/// The estimator. Rates are bit/s, amounts bits as the line counts them.
#[derive(Clone, Debug)]
pub(crate) struct Bottleneck {
    most: u64,
    /// The largest packet (bits), and the packets per acknowledgement of the peer.
    packet: u64,
    ack_every: u64,
    delivery: Delivery,
    startup: Startup,
    phase: Phase,
    gain: u64,
    /// Rounds since the phase began. The first ends when something is acknowledged that was sent in it.
    rounds: u32,
    /// When the next probe for more is due.
    probe_at: Time,
    round: Round,
    /// The largest rates delivered in the last cycle and in this one.
    rates: [u64; 2],
    /// Set until all packets of the last probe are acknowledged.
    probed: bool,
    /// Set if Startup ended by a queue that may be the other direction's, which delays the answers, and every probe
    /// since has found more.
    unsure: bool,
    min_rtt: Option<Span>,
    /// When a round trip near to the shortest was seen.
    min_rtt_at: Time,
    /// When ProbeRTT had as little in flight as it aims for, and the shortest round trip since.
    probe_rtt_from: Option<Time>,
    probe_rtt_least: Option<Span>,
    queue: Queue,
    bounds: Option<Bounds>,
    /// The rate that does not grow any more, and for how many rounds.
    full: (u64, u32),
    rate: u64,
}

impl Bottleneck {
    /// A path without measurements. The rate is at most `most`, the largest packet takes `packet`, and the peer acknowledges
    /// every `ack_every` packets.
    pub(crate) fn new(most: Rate, packet: Bits, ack_every: u32) -> Bottleneck {
        let mut new = Bottleneck {
            most: most.as_bps(),
            packet: packet.0,
            ack_every: ack_every.into(),
            delivery: Delivery::default(),
            startup: Startup::default(),
            phase: Phase::Startup,
            gain: STARTUP,
            rounds: 0,
            probe_at: Time::ZERO,
            round: Round::default(),
            rates: [0; 2],
            probed: false,
            unsure: false,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            probe_rtt_from: None,
            probe_rtt_least: None,
            queue: Queue::default(),
            bounds: None,
            full: (0, 0),
            rate: 0,
        };
        new.rate = new.initial_rate();
        new
    }
    /// The rate is at most `most` from now on, and the largest packet takes `packet`.
    pub(crate) fn configure(&mut self, most: Rate, packet: Bits) {
        (self.most, self.packet) = (most.as_bps(), packet.0);
        self.rate = self.rate.min(self.most);
    }
    /// The handshake of the transport took so long for a round trip: the first measurement.
    pub(crate) fn measured(&mut self, rtt: Span) {
        let rtt = rtt.max(Span::from_us(1));
        self.min_rtt = Some(shorter(self.min_rtt, rtt));
        self.queue.note_rtt(rtt);
    }
    /// The least rate in Startup.
    fn initial_rate(&self) -> u64 {
        let starts = self.delivery.in_flight < self.initial();
        let rate = if starts { rate_of(self.initial(), INITIAL_TIME) } else { TRICKLE };
        rate.as_bps().min(self.most)
    }
    /// What may be in flight in Startup whatever is known.
    fn first_flight(&self) -> u64 {
        self.initial() + bits_of(TRICKLE, self.min_rtt.map_or(TRICKLE_TIME, |rtt| rtt.min(TRICKLE_TIME)))
    }
    fn initial(&self) -> u64 {
        INITIAL_BITS.max(INITIAL_PACKETS * self.packet)
    }

    /// The pacing rate.
    pub(crate) fn rate(&self) -> Rate {
        Rate::from_bps(self.rate)
    }
    /// The estimated bandwidth; in Startup, the pacing rate.
    pub(crate) fn estimate(&self) -> Rate {
        let startup = self.phase == Phase::Startup;
        Rate::from_bps(if startup { self.rate } else { self.bandwidth().min(self.most) })
    }
    /// The most that may be in flight.
    pub(crate) fn inflight_cap(&self) -> Bits {
        let cap = match (self.min_rtt, self.phase) {
            (None, _) => self.first_flight(),
            (_, Phase::Startup) => {
                let slow = self.startup.slow().map(|rtt| self.holds_at(self.bandwidth(), Some(rtt), SLOW));
                slow.unwrap_or_else(|| self.holds(CAP)).max(self.first_flight())
            }
            (_, Phase::ProbeRtt) => {
                let rate = self.bandwidth().min(self.queue.measured());
                self.holds_at(rate, self.queue.base(), PROBE_RTT)
            }
            _ => {
                let contested = self.queue.is_contested();
                let cap = self.holds(if contested { CONTESTED_CAP } else { CAP });
                // With the queue of others the round trip may be longer than any multiple of the shortest.
                let cap = if contested { cap.max(times(self.fills(self.gain), ROOM)) } else { cap };
                cap.min(self.bounds.map_or(u64::MAX, |b| b.in_flight))
            }
        };
        Bits(cap.max(LEAST_PACKETS.max(LEAST_ACKS * self.ack_every) * self.packet))
    }
    /// The data in flight: sent, and neither acknowledged nor lost.
    pub(crate) fn in_flight(&self) -> Bits {
        Bits(self.delivery.in_flight)
    }
    /// True if a packet that asks for an acknowledgement may leave.
    pub(crate) fn may_send(&self) -> bool {
        self.in_flight() < self.inflight_cap()
    }

    /// A packet leaves that asks for an acknowledgement.
    pub(crate) fn sent(&mut self, now: Time, bits: Bits) -> Stamp {
        if self.delivery.in_flight == 0 {
            self.wake_up(now);
        }
        let stamp = self.delivery.sent(now, bits);
        if self.phase == Phase::Startup {
            self.pace();
        }
        stamp
    }
    /// Nothing is left to be sent although more would be allowed.
    pub(crate) fn nothing_left(&mut self) {
        self.delivery.nothing_left();
    }
    /// A packet was acknowledged; [`Bottleneck::learn`] ends the acknowledgement.
    pub(crate) fn acked(&mut self, now: Time, stamp: &Stamp) {
        let patience = self.min_rtt.unwrap_or_default() / 2 + PATIENCE;
        self.delivery.acked(now, stamp, patience);
    }
    /// No acknowledgement came for a probe timeout.
    pub(crate) fn timed_out(&mut self) {
        self.delivery.timed_out();
    }
    /// A packet was taken for lost.
    pub(crate) fn lost(&mut self, stamp: &Stamp) {
        self.delivery.lost(stamp);
    }
    /// A packet that was taken for lost has come after all.
    pub(crate) fn came_late(&mut self, stamp: &Stamp) {
        self.delivery.came_late(stamp);
    }
    /// The acknowledgement is complete, and so are the losses it shows. `rtt` is the round trip without the time for which
    /// the peer held it.
    pub(crate) fn learn(&mut self, now: Time, rtt: Option<Span>) {
        let Some(sample) = self.delivery.sample() else { return };
        if let Some(rtt) = rtt {
            self.learn_rtt(now, rtt, &sample);
        }
        let queue = self.sample_queue(now, &sample, rtt);
        let ended = (self.round.ends(&sample)).then(|| self.round.end(&self.delivery));
        self.learn_rate(&sample);
        if let Some(round) = ended {
            self.rounds += 1;
            self.judge(now, &round, &sample);
        }
        if queue {
            self.queue_stands(now);
        }
        self.step(now);
        self.pace();
    }

    fn learn_rtt(&mut self, now: Time, rtt: Span, sample: &Sample) {
        let rtt = rtt.max(Span::from_us(1));
        self.round.rtt = Some(shorter(self.round.rtt, rtt));
        if self.phase == Phase::Startup {
            self.startup.sample(now, rtt, shorter(self.min_rtt, rtt));
        }
        if self.probe_rtt_from.is_some_and(|from| sample.sent >= from) {
            self.probe_rtt_least = Some(shorter(self.probe_rtt_least, rtt));
        }
        let least = shorter(self.min_rtt, rtt);
        self.queue.note_rtt(rtt);
        self.min_rtt = Some(least);
        if rtt.as_ps() <= times(least.as_ps(), NEAR) {
            self.min_rtt_at = now;
            self.queue.drained();
        }
    }
    /// A sample over less than a round trip measures a burst, not the link (draft-cheng, section 3.3).
    fn learn_rate(&mut self, sample: &Sample) {
        if self.min_rtt.is_none_or(|least| sample.interval < least) {
            return;
        }
        let rate = sample.rate.as_bps();
        if !sample.limited && !sample.stalled {
            self.round.rate = self.round.rate.max(rate);
        }
        if !sample.limited && !sample.stalled || rate >= self.max_rate() {
            self.rates[1] = self.rates[1].max(rate);
        }
    }

    fn max_rate(&self) -> u64 {
        self.rates[0].max(self.rates[1])
    }
    fn bandwidth(&self) -> u64 {
        self.max_rate().min(self.bounds.map_or(u64::MAX, |b| b.rate))
    }
    /// The bandwidth-delay product times `gain` (thousandths). A millisecond is added for clocks and packets sent together.
    fn holds(&self, gain: u64) -> u64 {
        self.holds_at(self.bandwidth(), self.min_rtt, gain)
    }
    fn holds_at(&self, rate: u64, round_trip: Option<Span>, gain: u64) -> u64 {
        let round_trip = round_trip.unwrap_or_default() + GRANULARITY;
        times(bits_of(Rate::from_bps(rate.min(self.most)), round_trip), gain)
    }
    fn pace(&mut self) {
        let least = rate_of(self.packet, Span::from_secs(1)).as_bps();
        let startup = self.phase == Phase::Startup;
        let rate = times(times(self.bandwidth(), self.gain), MARGIN);
        self.rate = rate.max(if startup { self.initial_rate() } else { least }).min(self.most);
    }
}

#[cfg(test)]
mod line;
#[cfg(test)]
mod tests;
