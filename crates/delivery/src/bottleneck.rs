//! Estimates the bandwidth and the round-trip time of a path, and from these the pacing rate and the limit of data in
//! flight. It follows BBR version 3 (draft-ietf-ccwg-bbr); `docs/models/gateway.md` lists the differences. It uses
//! integers only, so results are the same on every machine.

use cellway_units::{Bits, Rate, Span, Time};
use serde::{Deserialize, Serialize};

use crate::GRANULARITY;
use crate::{Delivery, Sample, Stamp, bits_of, rate_of, times};

mod phase;
mod queue;
mod round;
mod spurious;
mod startup;

use phase::{Phase, STARTUP};
use queue::Queue;
use round::Round;
use spurious::Undo;
use startup::Startup;

/// The pacing rate as a fraction of the bandwidth (thousandths), less than 1 so that no queue builds up.
const MARGIN: u64 = 990;
/// The limit of data in flight, in thousandths of the bandwidth-delay product.
const CAP: u64 = 2_000;
/// The same while competing flows fill the queue.
const CONTESTED_CAP: u64 = 1_750;
/// The limit in a contested queue, in thousandths of the data in flight that the phase aims for.
const ROOM: u64 = 1_050;
/// The limit in ProbeRTT, in thousandths of the bandwidth-delay product.
const PROBE_RTT: u64 = 500;
/// The limit in conservative slow start, in thousandths of the bandwidth times the round-trip time that began it.
const SLOW: u64 = 1_500;
/// A sample up to this many thousandths of the minimum round-trip time confirms it.
const NEAR: u64 = 1_016;
/// ProbeRTT begins when no sample has confirmed the minimum for this time.
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// Two acknowledgements show a stall if they are further apart than their packets were by half a round trip and this
/// time.
const PATIENCE: Span = Span::from_ms(5);
/// The initial flight: ten packets (RFC 6928) or 64 KiB, whichever is more, sent over 50 ms.
const INITIAL_PACKETS: u64 = 10;
const INITIAL_BITS: u64 = 8 * 65_536;
const INITIAL_TIME: Span = Span::from_ms(50);
/// The pacing rate after the initial flight, for one round trip or [`TRICKLE_TIME`] if that is shorter. Without it a
/// long path is idle for most of its first round trip; slow links carry this rate.
const TRICKLE: Rate = Rate::from_bps(2_000_000);
const TRICKLE_TIME: Span = Span::from_secs(1);
/// The lower bound of the limit of data in flight, in packets and in acknowledgements.
const LEAST_PACKETS: u64 = 4;
const LEAST_ACKS: u64 = 2;

fn shorter(least: Option<Span>, rtt: Span) -> Span {
    least.map_or(rtt, |least| least.min(rtt))
}

/// Bounds for the time until the next probe, after a round with too many losses.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Bounds {
    rate: u64,
    in_flight: u64,
}

/// The estimator. Rates are in bit/s, amounts of data in bits on the link, headers included.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bottleneck {
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
    /// The time at which the next probe is due.
    probe_at: Time,
    round: Round,
    /// The largest rates delivered in the last cycle and in this one.
    rates: [u64; 2],
    /// Set until all packets of the last probe are acknowledged.
    probed: bool,
    min_rtt: Option<Span>,
    /// The time of the last round trip near to the shortest.
    min_rtt_at: Time,
    /// When ProbeRTT had as little in flight as it aims for, and the shortest round trip since.
    probe_rtt_from: Option<Time>,
    probe_rtt_least: Option<Span>,
    queue: Queue,
    bounds: Option<Bounds>,
    undo: Option<Undo>,
    /// The rate that has stopped growing, and the number of rounds since then.
    full: (u64, u32),
    rate: u64,
}

impl Bottleneck {
    /// Creates an estimator without samples. The rate is at most `most`, the largest packet takes `packet`, and the
    /// peer acknowledges every `ack_every` packets.
    pub fn new(most: Rate, packet: Bits, ack_every: u32) -> Bottleneck {
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
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            probe_rtt_from: None,
            probe_rtt_least: None,
            queue: Queue::default(),
            bounds: None,
            undo: None,
            full: (0, 0),
            rate: 0,
        };
        new.rate = new.initial_rate();
        new
    }
    /// Sets the maximum of the rate to `most`, and the size of the largest packet to `packet`.
    pub fn configure(&mut self, most: Rate, packet: Bits) {
        (self.most, self.packet) = (most.as_bps(), packet.0);
        self.rate = self.rate.min(self.most);
    }
    /// Takes the round-trip time of the transport's handshake as the first sample.
    pub fn measured(&mut self, rtt: Span) {
        let rtt = rtt.max(Span::from_us(1));
        self.min_rtt = Some(shorter(self.min_rtt, rtt));
        self.queue.note_rtt(rtt);
    }
    /// Returns the lower bound of the pacing rate in Startup (bit/s).
    fn initial_rate(&self) -> u64 {
        let starts = self.delivery.in_flight < self.initial();
        let rate = if starts { rate_of(self.initial(), INITIAL_TIME) } else { TRICKLE };
        rate.as_bps().min(self.most)
    }
    /// Returns the lower bound of the limit of data in flight in Startup (bits).
    fn first_flight(&self) -> u64 {
        self.initial() + bits_of(TRICKLE, self.min_rtt.map_or(TRICKLE_TIME, |rtt| rtt.min(TRICKLE_TIME)))
    }
    fn initial(&self) -> u64 {
        INITIAL_BITS.max(INITIAL_PACKETS * self.packet)
    }

    /// Returns the pacing rate.
    pub fn rate(&self) -> Rate {
        Rate::from_bps(self.rate)
    }
    /// Returns the estimated bandwidth; in Startup, the pacing rate.
    pub fn estimate(&self) -> Rate {
        let startup = self.phase == Phase::Startup;
        Rate::from_bps(if startup { self.rate } else { self.bandwidth().min(self.most) })
    }
    /// Returns the limit of data in flight.
    pub fn inflight_cap(&self) -> Bits {
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
                // The queue of competing flows may hold more than any multiple of the bandwidth-delay product.
                let cap = if contested { cap.max(times(self.fills(self.gain), ROOM)) } else { cap };
                cap.min(self.bounds.map_or(u64::MAX, |b| b.in_flight))
            }
        };
        Bits(cap.max(LEAST_PACKETS.max(LEAST_ACKS * self.ack_every) * self.packet))
    }
    /// Returns the data in flight: sent, and neither acknowledged nor lost.
    pub fn in_flight(&self) -> Bits {
        Bits(self.delivery.in_flight)
    }
    /// Returns true if an ack-eliciting packet may be sent.
    pub fn may_send(&self) -> bool {
        self.in_flight() < self.inflight_cap()
    }

    /// Records that an ack-eliciting packet is sent.
    pub fn sent(&mut self, now: Time, bits: Bits) -> Stamp {
        if self.delivery.in_flight == 0 {
            self.wake_up(now);
        }
        let stamp = self.delivery.sent(now, bits);
        if self.phase == Phase::Startup {
            self.pace();
        }
        stamp
    }
    /// Records that the source is limited: nothing is left to send although more would be allowed.
    pub fn nothing_left(&mut self) {
        self.delivery.nothing_left();
    }
    /// Records an acknowledged packet; [`Bottleneck::learn`] ends the acknowledgement. Without its delays this would
    /// have arrived at `answered`.
    pub fn acked(&mut self, answered: Time, stamp: &Stamp) {
        let patience = self.min_rtt.unwrap_or_default() / 2 + PATIENCE;
        self.delivery.acked(answered, stamp, patience);
    }
    /// Records that no acknowledgement arrived for a probe timeout.
    pub fn timed_out(&mut self) {
        self.delivery.timed_out();
    }
    /// Records a packet that was declared lost.
    pub fn lost(&mut self, stamp: &Stamp) {
        self.delivery.lost(stamp);
    }
    /// Records the late acknowledgement of a packet that was declared lost.
    pub fn acked_late(&mut self, now: Time, stamp: &Stamp) {
        self.delivery.acked_late(stamp);
        self.undo_spurious(now);
    }
    /// Ends an acknowledgement, with the losses that it shows. `rtt` is the round trip without the delays of the
    /// acknowledgement at the peer and on the return path.
    pub fn learn(&mut self, now: Time, rtt: Option<Span>) {
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
            self.respond_to_queue(now);
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
    /// Takes a rate sample. One over less than a round trip measures a burst, not the link, and is ignored
    /// (draft-cheng, section 3.3).
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
    /// Returns the bandwidth-delay product times `gain` (thousandths), in bits. The round-trip time is extended by 1 ms
    /// for the granularity of clocks and packets sent together.
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
