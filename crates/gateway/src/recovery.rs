//! The sending side of the transport: packet numbers, acknowledgements, loss detection, probes. RFC 9002, sections 5
//! and 6, without congestion control.

use std::collections::VecDeque;

use cellway_units::{Bits, Span, Time};
use serde::{Deserialize, Serialize};

use crate::config::GatewayConfig;
use crate::packet::{Ack, Frame};
use crate::ranges::Ranges;
use crate::reordering::{Lost, Reordering};
use crate::return_path::ReturnPath;
use crate::rtt::Rtt;
use crate::slots::{Slot, Slots};
use cellway_delivery::Stamp;

/// Round trips for which a packet that was declared lost is remembered, in case it is acknowledged late.
const LATE: u64 = 4;

/// An ack-eliciting packet in flight.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sent {
    /// Its frames, without an acknowledgement. Most packets carry one frame: it is stored without an allocation.
    frame: Frame,
    more: Box<[Frame]>,
    /// The newest packet that it acknowledges.
    pub(crate) told: Option<u64>,
    /// The state for a sample of the rate, if the rate is estimated.
    pub(crate) stamp: Option<Stamp>,
    /// Its bits on the link, if a configured rate has a guard.
    pub(crate) bits: Bits,
}

impl Sent {
    /// Returns the memory (bytes) that it takes beyond the bytes of a flow that it carries, which the flow counts.
    fn memory(&self) -> u64 {
        let of_flow = self.frames().map(|frame| if let Frame::Data { len, .. } = frame { u64::from(*len) } else { 0 });
        let frames = size_of::<Sent>() + self.more.len() * size_of::<Frame>();
        (frames as u64).saturating_sub(of_flow.sum())
    }
    pub(crate) fn frames(&self) -> impl Iterator<Item = &Frame> {
        std::iter::once(&self.frame).chain(&*self.more)
    }
    pub(crate) fn into_frames(self) -> impl Iterator<Item = Frame> {
        std::iter::once(self.frame).chain(self.more)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Recovery {
    /// The longest time for which the peer may hold an acknowledgement: its delay, and a packet that leaves before it.
    ack_delay: Span,
    probe_max: Span,
    /// True if no packet is ever lost.
    reliable: bool,
    /// The number of the next packet.
    next: u64,
    /// Packets from number `next - under_way.len()` on: the times at which they were sent, and the slots of those that
    /// await an acknowledgement.
    under_way: VecDeque<(Time, Option<Slot>)>,
    /// The packets that await an acknowledgement.
    awaited: Slots<Sent>,
    /// The memory (bytes) of packets that await an acknowledgement, the bytes of flows not counted.
    memory: u64,
    /// Numbers that the peer has acknowledged, from the first of `under_way` on: each is processed once, even if the
    /// peer acknowledges it again.
    settled: Ranges,
    largest_acked: Option<u64>,
    rtt: Rtt,
    return_path: ReturnPath,
    /// The queueing delay of the last acknowledgement with a round trip.
    queued: Span,
    answered: Time,
    /// The time at which the last ack-eliciting packet was sent, or the last probe was due.
    armed: Time,
    /// Probe timeouts since the last acknowledgement.
    probes: u32,
    /// The time at which the oldest packet before the largest acknowledged one is lost.
    loss_at: Option<Time>,
    reordering: Reordering,
}

impl Recovery {
    pub(crate) fn new(config: &GatewayConfig) -> Recovery {
        let mut recovery = Recovery {
            ack_delay: config.ack_delay,
            probe_max: config.probe_max,
            reliable: config.reliable,
            next: 0,
            under_way: VecDeque::new(),
            awaited: Slots::default(),
            memory: 0,
            settled: Ranges::default(),
            largest_acked: None,
            rtt: Rtt::new(config.initial_rtt),
            return_path: ReturnPath::default(),
            queued: Span::ZERO,
            answered: Time::ZERO,
            armed: Time::ZERO,
            probes: 0,
            loss_at: None,
            reordering: Reordering::default(),
        };
        recovery.configure(config);
        recovery
    }
    /// Applies another rate or another largest packet.
    pub(crate) fn configure(&mut self, config: &GatewayConfig) {
        let (packet, _) = config.rate.time_for(config.wire.bits(config.mtu.0 as u32), 0);
        self.ack_delay = config.ack_delay + packet;
    }
    pub(crate) fn rtt(&self) -> Span {
        self.rtt.smoothed()
    }
    /// Takes a round trip of the transport as a sample.
    pub(crate) fn measured(&mut self, rtt: Span) {
        self.rtt.measure(rtt, Span::ZERO);
    }
    fn first(&self) -> u64 {
        self.next - self.under_way.len() as u64
    }

    /// Records a packet with `frames` that leaves. Returns its number.
    pub(crate) fn send(&mut self, now: Time, frames: &[Frame]) -> u64 {
        let told = frames.iter().find_map(|frame| match frame {
            Frame::Ack(ack) => ack.ranges.first().map(|r| r.1),
            _ => None,
        });
        let mut kept = frames.iter().filter(|frame| !matches!(frame, Frame::Ack(_))).cloned();
        let sent =
            kept.next().map(|frame| Sent { frame, more: kept.collect(), told, stamp: None, bits: Bits::default() });
        if let Some(sent) = &sent {
            self.armed = now;
            self.memory += sent.memory();
        }
        if sent.is_some() || self.awaits() {
            self.under_way.push_back((now, sent.map(|sent| self.awaited.insert(sent))));
        }
        self.next += 1;
        self.next - 1
    }

    /// Returns the packet that was sent last, if it is ack-eliciting.
    pub(crate) fn last(&mut self) -> Option<&mut Sent> {
        self.awaited.get_mut(self.under_way.back()?.1?)
    }
    /// Returns the memory (bytes) of unacknowledged packets, the bytes of flows not counted: the flows count those,
    /// which bounds the packets with full frames of them.
    pub(crate) fn unacknowledged(&self) -> u64 {
        let times = self.under_way.len() - self.awaited.len();
        self.memory + (times * size_of::<(Time, Option<Slot>)>()) as u64
    }

    /// Processes an acknowledgement: appends newly acknowledged packets to `acked` and packets declared lost to `lost`,
    /// oldest first. Returns the round trip of the newest packet, without the delays at the peer and on the return
    /// path, if that packet is newly acknowledged, and with it any ack-eliciting packet (RFC 9002, section 5.1).
    pub(crate) fn acknowledged(
        &mut self,
        now: Time,
        ack: &Ack,
        acked: &mut Vec<Sent>,
        lost: &mut Vec<Sent>,
    ) -> Option<Span> {
        // A packet that was never sent cannot have arrived: such an acknowledgement is not the peer's.
        let &(_, newest) = ack.ranges.first().filter(|r| r.1 < self.next)?;
        let first = self.first();
        let sent = newest.checked_sub(first).and_then(|i| self.under_way.get(i as usize)).map(|&(at, _)| at);
        let sent = sent.filter(|_| Some(newest) > self.largest_acked);
        let before = acked.len();
        for &(start, end) in ack.ranges.iter().rev() {
            self.take_acknowledged(start.max(first), (end + 1).min(self.next), acked);
        }
        let any = acked.len() > before;
        let round_trip = sent.filter(|_| any).map(|sent| self.measure(now, sent, ack));
        if any && round_trip.is_none() {
            let held = ack.delay.min(self.ack_delay) + self.queued;
            self.answered = self.answered.max(Time::ZERO + now.since(Time::ZERO + held));
        }
        let (usual, smoothed) = (self.rtt.loss_delay(), self.rtt.smoothed());
        for &range in ack.ranges.iter().rev() {
            self.reordering.acknowledged(now, range, newest, usual, smoothed);
        }
        self.reordering.expire(now, Time::ZERO + now.since(Time::ZERO + smoothed * LATE));
        self.largest_acked = self.largest_acked.max(Some(newest));
        if any {
            self.probes = 0;
            self.forget_answered();
            if !self.reliable {
                self.detect_losses(now, lost);
            }
        }
        round_trip
    }
    /// Appends to `acked` the packets of `start..end` that await an acknowledgement. The work grows with their number
    /// and with the number of settled runs between them.
    fn take_acknowledged(&mut self, start: u64, end: u64, acked: &mut Vec<Sent>) {
        let (first, mut at) = (self.first(), start);
        while at < end {
            if let Some(known) = self.settled.end_of(at) {
                at = known;
                continue;
            }
            let stop = self.settled.next_start(at).map_or(end, |next| next.min(end));
            for number in at..stop {
                #[cfg(test)]
                tests::EXAMINED.with(|examined| examined.set(examined.get() + 1));
                acked.extend(self.take((number - first) as usize));
            }
            at = stop;
        }
        self.settled.insert(start, end);
    }
    /// Removes and returns the packet at an index of `under_way`, if it awaits an acknowledgement.
    fn take(&mut self, place: usize) -> Option<Sent> {
        let sent = self.awaited.remove(self.under_way[place].1.take()?)?;
        self.memory -= sent.memory();
        Some(sent)
    }
    /// Takes the sample of a packet of the time `sent`. Returns the round trip without the delays of its
    /// acknowledgement.
    fn measure(&mut self, now: Time, sent: Time, ack: &Ack) -> Span {
        let total = self.rtt.measure(now.since(sent), ack.delay.min(self.ack_delay));
        self.queued = ack.sent.map_or(Span::ZERO, |sent| self.return_path.delay(now, sent, total));
        let round_trip = total.saturating_sub(self.queued);
        self.answered = self.answered.max(sent + round_trip);
        round_trip
    }
    /// Returns the time at which the last acknowledgement of new packets would have arrived without its delays at the
    /// peer and on the return path.
    pub(crate) fn answered(&self) -> Time {
        self.answered
    }

    /// Removes the packets that are lost by the packet or the time threshold. RFC 9002, section 6.1.
    fn detect_losses(&mut self, now: Time, lost: &mut Vec<Sent>) {
        self.loss_at = None;
        let (first, delay) = (self.first(), self.rtt.loss_delay() + self.reordering.time());
        let Some(largest) = self.largest_acked.filter(|&l| l >= first) else { return };
        for number in first..largest {
            #[cfg(test)]
            tests::EXAMINED.with(|examined| examined.set(examined.get() + 1));
            let (at, slot) = self.under_way[(number - first) as usize];
            let Some(waiting) = slot.and_then(|slot| self.awaited.get(slot)) else { continue };
            let lost_at = at + delay;
            if number + self.reordering.packets() > largest && lost_at > now {
                // All later packets were sent later: none of them is lost.
                self.loss_at = Some(lost_at);
                break;
            }
            self.reordering.lost(number, Lost { sent: at, stamp: waiting.stamp, bits: waiting.bits });
            lost.extend(self.take((number - first) as usize));
        }
        self.forget_answered();
    }

    /// Returns the next packet that was declared lost and acknowledged late.
    pub(crate) fn next_late(&mut self) -> Option<Lost> {
        self.reordering.next_late()
    }
    /// Removes the packets that are lost by now. Returns true if a probe is due instead.
    pub(crate) fn wake(&mut self, now: Time, lost: &mut Vec<Sent>) -> bool {
        if self.loss_at.is_some_and(|at| at <= now) {
            self.detect_losses(now, lost);
            return false;
        }
        let due = self.probe_at().is_some_and(|at| at <= now);
        if due {
            (self.probes, self.armed) = (self.probes.saturating_add(1), now);
        }
        due
    }
    /// Returns true if a packet in flight awaits an acknowledgement.
    pub(crate) fn awaits(&self) -> bool {
        self.awaited.len() > 0
    }
    /// Returns the time for which a peer that owes an acknowledgement may send nothing: three probe timeouts, and a
    /// round trip and `least`. A reliable transport probes by itself, TCP at first after 200 ms and 400 ms: three times
    /// `least` has four attempts.
    pub(crate) fn patience(&self, least: Span) -> Span {
        let least = if self.reliable { least * 3 } else { least };
        (self.rtt.smoothed() + least).max(self.rtt.probe_timeout(self.ack_delay) * 3)
    }
    /// Sets whether packets can be lost. To be called while nothing is in flight.
    pub(crate) fn set_reliable(&mut self, reliable: bool) {
        self.reliable = reliable;
    }
    /// Removes all packets in flight, oldest first.
    pub(crate) fn take_all(&mut self) -> Vec<Sent> {
        let all = (0..self.under_way.len()).filter_map(|place| self.take(place)).collect();
        self.forget_answered();
        all
    }
    /// Removes the oldest packet in flight, so that a probe can carry its frames.
    pub(crate) fn take_oldest(&mut self) -> Option<Sent> {
        let oldest = self.under_way.iter().position(|(_, slot)| slot.is_some())?;
        let sent = self.take(oldest);
        self.forget_answered();
        sent
    }

    fn probe_at(&self) -> Option<Time> {
        let timeout = self.rtt.probe_timeout(self.ack_delay).saturating_mul(1 << self.probes.min(30));
        let longest = self.probe_max.max(self.rtt.probe_timeout(self.ack_delay));
        (self.awaits() && !self.reliable).then(|| self.armed + timeout.min(longest))
    }
    /// Returns the time of the next [`Recovery::wake`], and its cause.
    pub(crate) fn deadline(&self) -> Option<(Time, &'static str)> {
        self.loss_at.map(|at| (at, "loss")).or_else(|| self.probe_at().map(|at| (at, "probe")))
    }
    fn forget_answered(&mut self) {
        while self.under_way.front().is_some_and(|(_, sent)| sent.is_none()) {
            self.under_way.pop_front();
        }
        let first = self.first();
        self.settled.forget_below(first);
    }
}

#[cfg(test)]
mod tests {
    use cellway_units::Rate;

    use super::*;
    use crate::packet::FlowId;
    use crate::reason::Reason;

    thread_local! {
        /// The number of packets in flight that were examined.
        pub(super) static EXAMINED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }
    fn ack(ranges: &[(u64, u64)]) -> Ack {
        Ack { ranges: ranges.to_vec(), delay: Span::ZERO, sent: None }
    }
    fn frame(n: u64) -> Vec<Frame> {
        vec![Frame::Refused { flow: FlowId(n), reason: Reason::Refused }]
    }
    fn flows(sent: &[Sent]) -> Vec<u64> {
        let flow = |sent: &Sent| match sent.frame {
            Frame::Refused { flow, .. } => flow.0,
            ref other => panic!("{other:?}"),
        };
        sent.iter().map(flow).collect()
    }
    fn side(packets: u64) -> Recovery {
        let mut side = Recovery::new(&GatewayConfig::new(Rate::from_bps(1_000_000_000)));
        (0..packets).for_each(|n| assert_eq!(side.send(at(n), &frame(n)), n));
        side
    }

    #[test]
    fn loss_by_packets_and_by_time() {
        let mut side = side(5);
        let (mut acked, mut lost) = (Vec::new(), Vec::new());
        side.acknowledged(at(100), &ack(&[(4, 4)]), &mut acked, &mut lost);
        assert_eq!((flows(&acked), flows(&lost)), (vec![4], vec![0, 1]));
        // A round trip of 96 ms: 108 ms after their sending the others are lost.
        assert_eq!(side.deadline(), Some((at(110), "loss")));
        assert!(!side.wake(at(110), &mut lost));
        assert_eq!(flows(&lost), [0, 1, 2]);
        side.acknowledged(at(110), &ack(&[(3, 4)]), &mut acked, &mut lost);
        assert_eq!((flows(&acked), flows(&lost), side.deadline()), (vec![4, 3], vec![0, 1, 2], None));
    }

    #[test]
    fn an_acknowledgement_is_timed_by_its_newest_packet_without_its_delays() {
        let ms = Span::from_ms;
        let mut side = side(2);
        let bare = [Frame::Ack(ack(&[(0, 0)]))];
        let acknowledged = |side: &mut Recovery, now, ranges: &[(u64, u64)], delay, sent| {
            let ack = Ack { ranges: ranges.to_vec(), delay, sent: Some(sent) };
            let trip = side.acknowledged(now, &ack, &mut Vec::new(), &mut Vec::new());
            (trip, side.answered())
        };
        // The newest is a bare acknowledgement, sent at 9 ms; the peer held its acknowledgement for 5 ms.
        assert_eq!(side.send(at(9), &bare), 2);
        assert_eq!(acknowledged(&mut side, at(114), &[(2, 2), (0, 0)], ms(5), at(64)), (Some(ms(105)), at(114)));
        // The queue of the return path is 20 ms. The newest is known: a packet before it fills a gap.
        side.send(at(10), &frame(3));
        assert_eq!(acknowledged(&mut side, at(135), &[(3, 3)], ms(0), at(65)), (Some(ms(105)), at(115)));
        assert_eq!(acknowledged(&mut side, at(139), &[(3, 3), (1, 1)], ms(2), at(69)), (None, at(117)));
        // Nothing is newly acknowledged.
        assert_eq!(acknowledged(&mut side, at(140), &[(3, 3)], ms(0), at(70)), (None, at(117)));
    }

    #[test]
    fn probes_back_off_to_the_longest() {
        let config =
            GatewayConfig { probe_max: Span::from_secs(3), ..GatewayConfig::new(Rate::from_bps(1_000_000_000)) };
        let mut side = Recovery::new(&config);
        side.send(at(0), &frame(0));
        let mut waits = Vec::new();
        let mut last = at(0);
        for _ in 0..3 {
            let (next, why) = side.deadline().unwrap();
            assert_eq!(why, "probe");
            waits.push((next - last).as_millis_f64());
            assert!(side.wake(next, &mut Vec::new()));
            last = next;
        }
        // 333 + 4 x 166.5 + 25 ms and a packet of 9180 B in 192 cells, doubled, but at most 3 s.
        assert_eq!(waits, [1024.081408, 2048.162816, 3000.0]);
        assert_eq!(side.take_oldest().map(|sent| flows(&[sent])), Some(vec![0]));
        assert!(side.take_oldest().is_none());
        assert_eq!(side.deadline(), None);
    }

    #[test]
    fn acknowledgements_of_unsent_packets_are_ignored() {
        let mut side = side(2);
        let (mut acked, mut lost) = (Vec::new(), Vec::new());
        side.acknowledged(at(100), &ack(&[(0, 7)]), &mut acked, &mut lost);
        assert!(acked.is_empty() && lost.is_empty());
        side.acknowledged(at(100), &ack(&[(0, 1)]), &mut acked, &mut lost);
        assert_eq!(flows(&acked), [0, 1]);
    }

    /// A peer that leaves the oldest packet unacknowledged and acknowledges all others with each packet: with a walk
    /// over all of them the work for a packet would grow with the number of packets under way.
    #[test]
    fn a_packet_that_is_acknowledged_again_costs_nothing() {
        const PACKETS: u64 = 5_000;
        let config = GatewayConfig { reliable: true, ..GatewayConfig::new(Rate::from_bps(1_000_000_000)) };
        let mut side = Recovery::new(&config);
        let before = EXAMINED.get();
        for n in 0..PACKETS {
            side.send(at(n), &frame(n));
            side.acknowledged(at(n), &ack(&[(1, n)]), &mut Vec::new(), &mut Vec::new());
        }
        let examined = EXAMINED.get() - before;
        assert!(examined <= 2 * PACKETS, "{examined} examined for {PACKETS} packets");
        assert_eq!((side.awaited.len(), side.settled.len()), (1, 1));
    }

    /// A peer that has raised the threshold of packets and acknowledges one packet with each of its own: with a walk
    /// over all packets that may be lost the work for each would grow with their number.
    #[test]
    fn packets_that_are_not_lost_yet_cost_nothing() {
        const PACKETS: u64 = 5_000;
        let mut side = side(1);
        let (mut acked, mut lost) = (Vec::new(), Vec::new());
        (1..2 * PACKETS).for_each(|n| assert_eq!(side.send(at(1), &frame(n)), n));
        // Declared lost and acknowledged late, so that nothing else is lost by the number of packets behind it.
        side.acknowledged(at(100), &ack(&[(2 * PACKETS - 1, 2 * PACKETS - 1)]), &mut acked, &mut lost);
        side.acknowledged(at(100), &ack(&[(0, 0)]), &mut acked, &mut lost);
        let more: Vec<u64> = (0..2 * PACKETS).map(|n| side.send(at(100), &frame(n))).collect();
        let before = EXAMINED.get();
        for &n in more.iter().skip(1).step_by(2) {
            side.acknowledged(at(110), &ack(&[(n, n)]), &mut acked, &mut lost);
        }
        let examined = EXAMINED.get() - before;
        assert!(examined <= 8 * PACKETS, "{examined} examined for {PACKETS} acknowledgements");
    }

    #[test]
    fn memory_of_packets_without_an_acknowledgement_is_counted() {
        let mut side = side(3);
        let each = size_of::<Sent>() as u64;
        assert_eq!(side.unacknowledged(), 3 * each);
        // A packet that is not ack-eliciting costs only its time; one with bytes of a flow costs its size less these
        // bytes.
        side.send(at(3), &[Frame::Ack(ack(&[(0, 0)]))]);
        let time = size_of::<(Time, Option<Slot>)>() as u64;
        assert_eq!(side.unacknowledged(), 3 * each + time);
        let data = |len| [Frame::Data { flow: FlowId(2), offset: 0, len, fin: false, early: false, urgent: false }];
        side.send(at(3), &data(1_000));
        assert_eq!(side.unacknowledged(), 3 * each + time);
        side.send(at(3), &data(1));
        assert_eq!(side.unacknowledged(), 4 * each - 1 + time);
        // Packets 1 and 2 are lost, and all before packet 4 are forgotten. Packet 4 costs nothing, packet 5 its time.
        let (mut acked, mut lost) = (Vec::new(), Vec::new());
        side.acknowledged(at(100), &ack(&[(5, 5), (0, 0)]), &mut acked, &mut lost);
        assert_eq!((acked.len(), lost.len(), side.awaited.len()), (2, 2, 1));
        assert_eq!(side.unacknowledged(), time);
        assert!(side.take_oldest().is_some() && side.take_oldest().is_none());
        assert_eq!(side.unacknowledged(), 0);
    }
}
