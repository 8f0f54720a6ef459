//! The two endpoints of one sender: paced by the estimator, or a TCP flow with CUBIC. The peer answers every second
//! packet, or one after 25 ms. A packet is lost when one sent three later is acknowledged.

use std::collections::VecDeque;

use cellway_units::{Bits, Rate, Span, Time};

use super::cubic::Cubic;
use super::{PACKET_BITS, Source};
use crate::Stamp;
use crate::bottleneck::Bottleneck;

pub(super) const ACK_DELAY: Span = Span::from_ms(25);
const ACK_EVERY: usize = 2;
const REORDERING: u64 = 3;
/// The longest probe timeout, as the gateway's `probe_max`.
const PROBE_MAX: Span = Span::from_secs(1);

enum Control {
    Model(Box<Bottleneck>),
    Cubic(Cubic),
}

pub(in crate::bottleneck) struct Sender {
    control: Control,
    source: Source,
    waiting: u64,
    /// The pacer: when the next packet may leave.
    pub(super) ready: Option<Time>,
    carry: u64,
    pub(super) scheduled: bool,
    next: u64,
    under_way: VecDeque<(u64, Time, Option<Stamp>)>,
    /// The smoothed round trip, the time at which the probe timeout was armed, and its expirations since an
    /// acknowledgement.
    srtt: Option<Span>,
    armed: Time,
    probes: u32,
    /// Packets that may leave whatever is in flight.
    owed: u64,
    stopped: bool,
    pub(super) asleep_until: Time,
    /// The peer: packets not yet acknowledged, with their arrivals.
    arrived: Vec<(u64, Time)>,
    pub(super) peer_asleep_until: Time,
    pub(super) ack_path_busy: bool,
    pub(super) last_answer: Time,
    /// Bits that arrived.
    pub(in crate::bottleneck) received: u64,
    pub(in crate::bottleneck) sent: u64,
    pub(in crate::bottleneck) lost: u64,
}

impl Sender {
    fn new(control: Control, source: Source, start: Time) -> Sender {
        Sender {
            control,
            source,
            waiting: 0,
            ready: Some(start),
            carry: 0,
            scheduled: false,
            next: 0,
            under_way: VecDeque::new(),
            srtt: None,
            armed: start,
            probes: 0,
            owed: 0,
            stopped: false,
            asleep_until: Time::ZERO,
            arrived: Vec::new(),
            peer_asleep_until: Time::ZERO,
            ack_path_busy: false,
            last_answer: Time::ZERO,
            received: 0,
            sent: 0,
            lost: 0,
        }
    }
    pub(super) fn paced(most: Rate, source: Source, start: Time) -> Sender {
        let model = Bottleneck::new(most, Bits(PACKET_BITS), ACK_EVERY as u32);
        Sender::new(Control::Model(Box::new(model)), source, start)
    }
    pub(super) fn cubic(start: Time) -> Sender {
        Sender::new(Control::Cubic(Cubic::new()), Source::Endless, start)
    }
    /// Returns the estimator of a sender that is paced by one.
    pub(in crate::bottleneck) fn model(&self) -> &Bottleneck {
        match &self.control {
            Control::Model(model) => model,
            Control::Cubic(_) => panic!("a CUBIC flow has no estimator"),
        }
    }

    /// Takes the round-trip time of the transport's handshake.
    pub(super) fn measured(&mut self, rtt: Span) {
        if let Control::Model(model) = &mut self.control {
            model.measured(rtt);
        }
    }
    pub(super) fn set_source(&mut self, source: Source) {
        (self.source, self.waiting) = (source, 0);
    }
    pub(super) fn stop(&mut self) {
        (self.stopped, self.source, self.waiting) = (true, Source::Packets(0), 0);
    }
    /// Adds the data that the source supplies at once; returns true if it supplies more later.
    pub(super) fn supply(&mut self) -> bool {
        match self.source {
            Source::Endless => self.waiting = u64::MAX,
            Source::Packets(packets) => self.waiting += packets,
        }
        matches!(self.source, Source::Packets(packets) if packets > 0)
    }
    /// Returns the number of the next packet, if one may be sent now.
    pub(super) fn next_packet(&mut self, now: Time) -> Option<u64> {
        let under_way = self.under_way.len() as f64;
        let stamp = match &mut self.control {
            Control::Cubic(cubic) => {
                self.ready = None;
                if under_way >= cubic.window() || self.stopped {
                    return None;
                }
                None
            }
            Control::Model(model) => {
                let ready = self.ready.unwrap_or(now);
                if ready > now || !model.may_send() && self.owed == 0 {
                    return None;
                }
                if self.waiting == 0 {
                    model.nothing_left();
                    return None;
                }
                let stamp = model.sent(now, Bits(PACKET_BITS));
                let (span, carry) = model.rate().time_for(Bits(PACKET_BITS), self.carry);
                (self.ready, self.carry) = (Some(ready.max(now) + span), carry);
                (self.waiting, self.owed) = (self.waiting - 1, self.owed.saturating_sub(1));
                Some(stamp)
            }
        };
        self.under_way.push_back((self.next, now, stamp));
        (self.next, self.sent, self.armed) = (self.next + 1, self.sent + 1, now);
        Some(self.next - 1)
    }

    /// Processes a packet that has arrived at the peer; returns true if an acknowledgement is due.
    pub(super) fn arrive(&mut self, now: Time, number: u64) -> bool {
        self.received += PACKET_BITS;
        self.arrived.push((number, now));
        self.holds_back_enough()
    }
    pub(super) fn holds_back(&self, number: u64) -> bool {
        self.arrived.iter().any(|a| a.0 == number)
    }
    pub(super) fn holds_back_enough(&self) -> bool {
        self.arrived.len() >= ACK_EVERY
    }
    /// Returns the packets that the peer acknowledges, and the time for which it held the newest of them.
    pub(super) fn answer(&mut self, now: Time) -> (Vec<u64>, Span) {
        let arrived = std::mem::take(&mut self.arrived);
        let held = arrived.last().map_or(Span::ZERO, |newest| now - newest.1);
        (arrived.iter().map(|a| a.0).collect(), held.min(ACK_DELAY))
    }

    pub(super) fn acknowledge(&mut self, now: Time, numbers: &[u64], held: Span) {
        let Some(&newest) = numbers.last() else { return };
        let mut rtt = None;
        let mut acked = 0;
        for number in numbers {
            let Ok(i) = self.under_way.binary_search_by_key(number, |p| p.0) else { continue };
            let Some((_, sent, stamp)) = self.under_way.remove(i) else { continue };
            if *number == newest {
                rtt = Some((now - sent).saturating_sub(held));
            }
            acked += 1;
            if let (Control::Model(model), Some(stamp)) = (&mut self.control, &stamp) {
                model.acked(now, stamp);
            }
        }
        if let Some(rtt) = rtt {
            self.srtt = Some(self.srtt.map_or(rtt, |srtt| srtt * 7 / 8 + rtt / 8));
        }
        if acked > 0 {
            (self.probes, self.owed) = (0, 0);
        }
        while let Some(&(number, _, _)) = self.under_way.front().filter(|p| p.0 + REORDERING <= newest) {
            self.lose_oldest();
            if let Control::Cubic(cubic) = &mut self.control {
                cubic.lost(number, self.next);
            }
        }
        match &mut self.control {
            Control::Model(model) => model.learn(now, rtt),
            Control::Cubic(cubic) => cubic.acked(now, newest, self.next, acked, rtt),
        }
    }
    fn lose_oldest(&mut self) {
        let Some((_, _, stamp)) = self.under_way.pop_front() else { return };
        self.lost += 1;
        if let (Control::Model(model), Some(stamp)) = (&mut self.control, &stamp) {
            model.lost(stamp);
        }
    }
    /// Checks the probe timeout (RFC 9002, section 6.2, with twice the round trip): the two oldest packets are
    /// retransmitted. A retransmission timeout of CUBIC declares all packets lost.
    pub(super) fn check(&mut self, now: Time) {
        let timeout = self.srtt.unwrap_or(Span::from_ms(333)) * 2 + ACK_DELAY;
        let timeout = (timeout * (1 << self.probes.min(10))).min(PROBE_MAX.max(timeout));
        if self.under_way.is_empty() || now.since(self.armed) < timeout {
            return;
        }
        (self.armed, self.probes) = (now, self.probes + 1);
        if let Control::Cubic(cubic) = &mut self.control {
            cubic.timed_out(self.next);
            while !self.under_way.is_empty() {
                self.lose_oldest();
            }
            return;
        }
        if let Control::Model(model) = &mut self.control {
            model.timed_out();
        }
        self.lose_oldest();
        self.lose_oldest();
        self.owed = 2;
    }
}
