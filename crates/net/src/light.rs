//! The delay of packets before a queue, by a recording of a light load. Short trains of packets find what the recorded
//! trains found, and pass the queue; the rest of a long one has the base delay and is then queued. Sentosa et al.,
//! "CellReplay", NSDI 2025.

use std::collections::VecDeque;

use cellway_spec::Trains;
use cellway_units::{Bytes, Span, Time};

use crate::packet::PacketRef;

/// The octets of packets that one opportunity of a train carries.
const OPPORTUNITY: u32 = Trains::PACKET.0 as u32;
/// The most octets of packets before the queue.
const MOST_BEFORE: Bytes = Bytes(64 << 20);
/// The resolution of recordings. An opportunity is usable for so long, and a train ends so long after that of its last
/// packet.
const TICK: Span = Span::from_ms(1);

/// A recording of a light load, for the packets of one direction of a link.
#[derive(Clone, Debug)]
pub struct LightLoad {
    /// The trains that were recorded.
    pub trains: Trains,
    /// True if the recording begins again at its end. Else the last base delay stays, and no packet passes the queue.
    pub repeats: bool,
}

/// A packet that comes to the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) packet: PacketRef,
    /// True if it is one of a train, so that it passes the queue if that is empty.
    pub(crate) passes: bool,
    octets: u32,
}

/// The octets before the queue have reached their limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// The packets before the queue, in the order in which they will come to it.
#[derive(Clone, Debug)]
pub(crate) struct Light {
    load: LightLoad,
    /// The start of the present repetition of the recording.
    start: Time,
    /// The recorded train in whose interval the last packet came.
    index: usize,
    /// The train of the last packet.
    train: Option<UnderWay>,
    /// The latest instant at which a packet so far comes to the queue.
    latest: Time,
    before: VecDeque<(Time, Entry)>,
    /// The octets of those packets.
    octets: Bytes,
}

/// A train of packets, and the opportunities of the recorded one that it has used.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    /// The recorded train.
    index: usize,
    start: Time,
    /// The base delay at its start.
    delay: Span,
    /// The opportunity that the next packet begins with, and what is left of it in octets.
    next: usize,
    left: u32,
    /// The opportunity of the last packet, without the base delay; the instant at which it came if it had none.
    last: Time,
}

impl Light {
    pub(crate) fn new(load: LightLoad) -> Light {
        Light {
            load,
            start: Time::ZERO,
            index: 0,
            train: None,
            latest: Time::ZERO,
            before: VecDeque::new(),
            octets: Bytes(0),
        }
    }

    /// Accepts a packet; returns the instant at which it comes to the queue, after `now`, if it is the only one before
    /// that.
    ///
    /// # Errors
    ///
    /// [`Full`], and nothing changes, if there would be more than 64 MiB of packets before the queue.
    pub(crate) fn push(&mut self, now: Time, octets: u32, packet: PacketRef) -> Result<Option<Time>, Full> {
        let total = Bytes(self.octets.0 + u64::from(octets));
        if total > MOST_BEFORE {
            return Err(Full);
        }
        self.octets = total;
        self.advance(now);
        let delay = self.delay(now);
        let trains = self.load.trains.all();
        let mut train = match self.train {
            Some(train) if now < train.last + TICK => train,
            _ => UnderWay { index: self.index, start: now, delay, next: 0, left: OPPORTUNITY, last: now },
        };
        // The last line of a recording only ends it.
        let times = if train.index + 1 < trains.len() { &*trains[train.index].opportunities } else { &[] };
        let opportunity = train.opportunity(now, octets, times);
        train.last = opportunity.unwrap_or(now);
        let at = opportunity.map_or(now + delay, |last| last + train.delay);
        // The entries of this instant are over, so the packet comes in a later one.
        let at = at.max(now + Span::from_ps(1));
        let passes = opportunity.is_some() && at >= self.latest;
        self.latest = self.latest.max(at);
        self.train = Some(train);
        self.before.push_back((self.latest, Entry { packet, passes, octets }));
        Ok((self.before.len() == 1).then_some(self.latest))
    }

    /// Returns the packet that comes to the queue now, and the instant of the next.
    pub(crate) fn pop(&mut self) -> (Entry, Option<Time>) {
        let (_, entry) = self.before.pop_front().expect("an entry is pending");
        self.octets.0 -= u64::from(entry.octets);
        (entry, self.before.front().map(|&(at, _)| at))
    }

    /// Returns the packets before the queue, in the order in which they will come to it.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = PacketRef> + '_ {
        self.before.iter().map(|(_, entry)| entry.packet)
    }

    /// Returns the number of those packets.
    pub(crate) fn len(&self) -> usize {
        self.before.len()
    }

    /// Finds the interval of the recording that has `now`, which is not before the `now` of an earlier call.
    fn advance(&mut self, now: Time) {
        let (trains, length) = (&self.load.trains, self.load.trains.length());
        if self.load.repeats && now.since(self.start) >= length {
            self.start += length.saturating_mul(now.since(self.start).as_ps() / length.as_ps());
            self.index = 0;
        }
        let within = Time::ZERO + now.since(self.start);
        self.index += trains.all()[self.index + 1..].partition_point(|train| train.at <= within);
    }

    /// Returns the base delay at `now`, in the interval that was found last.
    fn delay(&self, now: Time) -> Span {
        self.load.trains.delay(self.index, Time::ZERO + now.since(self.start))
    }
}

impl UnderWay {
    /// Uses the first opportunities of `times` that are left and carry a packet; returns the instant of the last, `None`
    /// if there are too few. A packet is not divided between two unless it is larger than one.
    fn opportunity(&mut self, now: Time, octets: u32, times: &[Span]) -> Option<Time> {
        let since = now.since(self.start);
        while times.get(self.next).is_some_and(|&time| time + TICK <= since) {
            self.advance();
        }
        // A packet that is larger than an opportunity begins with a whole one.
        if self.left < octets && self.left < OPPORTUNITY {
            self.advance();
        }
        let further = octets.saturating_sub(self.left).div_ceil(OPPORTUNITY);
        self.next += further as usize;
        let at = times.get(self.next)?;
        self.left = self.left + further * OPPORTUNITY - octets;
        Some((self.start + *at).max(now))
    }

    fn advance(&mut self) {
        self.next += 1;
        self.left = OPPORTUNITY;
    }
}

#[cfg(test)]
mod tests {
    use cellway_spec::Train;

    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// A base delay of 20 ms and four opportunities; from 100 ms on 40 ms and one; at 200 ms 30 ms, the end.
    fn light(repeats: bool) -> Light {
        let lines: [(u64, u64, &[u64]); 3] = [(0, 20, &[0, 0, 1, 3]), (100, 40, &[0]), (200, 30, &[0])];
        let train = |(at, delay, times): (u64, u64, &[u64])| Train {
            at: us(1000 * at),
            delay: Span::from_ms(delay),
            opportunities: times.iter().copied().map(Span::from_ms).collect(),
        };
        Light::new(LightLoad { trains: Trains::new(lines.map(train).to_vec()), repeats })
    }

    /// Pushes packets at instants (us), with their octets; returns the entries in us, and whether they pass the queue.
    fn entries(light: &mut Light, packets: &[(u64, u32)]) -> Vec<(u64, bool)> {
        for (number, &(at, octets)) in packets.iter().enumerate() {
            let pending = light.before.front().map(|&(at, _)| at);
            let event = light.push(us(at), octets, PacketRef(number as u32)).unwrap();
            assert_eq!(event.is_some(), pending.is_none(), "one event for the first");
        }
        let count = packets.len();
        let mut found = Vec::new();
        for number in 0..count {
            let at = light.before[0].0;
            let (entry, next) = light.pop();
            assert_eq!(entry.packet, PacketRef(number as u32), "packets stay in order");
            assert!(next.is_none_or(|next| next >= at));
            found.push((at.since(Time::ZERO).as_ps() / 1_000_000, entry.passes));
        }
        found
    }

    /// The fifth packet has the base delay, and is queued behind the fourth.
    #[test]
    fn a_train_has_the_spacing_of_the_recorded_one() {
        let found = entries(&mut light(true), &[(0, 1400); 5]);
        assert_eq!(found, [(20_000, true), (20_000, true), (21_000, true), (23_000, true), (23_000, false)]);
    }

    #[test]
    fn an_opportunity_carries_1400_octets() {
        let at = |octets| {
            let found = entries(&mut light(true), &[(0, octets); 5]);
            found.into_iter().filter(|(_, passes)| *passes).map(|(at, _)| at / 1000).collect::<Vec<_>>()
        };
        assert_eq!(at(700), [20, 20, 20, 20, 21]);
        // 400 octets are left over, too few for another packet.
        assert_eq!(at(500), [20, 20, 20, 20, 21]);
        assert_eq!(at(400), [20, 20, 20, 20, 20]);
        // A larger packet takes two; 1300 octets are left of the second.
        assert_eq!(at(1500), [20, 23]);
        assert!(at(7000).is_empty(), "a train has four opportunities");
    }

    /// Opportunities are used for a millisecond: after 0.9 ms that of 0 ms is, after 1.2 ms that of 1 ms is the next.
    #[test]
    fn packets_of_a_train_may_come_one_after_another() {
        let found = entries(&mut light(true), &[(0, 1400), (900, 1400), (1800, 1400), (2700, 1400)]);
        assert_eq!(found, [(20_000, true), (20_900, true), (21_800, true), (23_000, true)]);
    }

    /// The next packet has no opportunity within 1 ms of that of the last: it begins a train, with the delay of its
    /// time.
    #[test]
    fn a_pause_of_a_millisecond_begins_a_train() {
        let packets = [(0, 1400), (1000, 1400), (50_000, 1400), (50_000, 1400), (50_999, 1400), (51_999, 1400)];
        let found = entries(&mut light(true), &packets);
        let base = |at: u64| at + 20_000 + at / 5;
        let trains = [(base(0), true), (base(1000), true), (base(50_000), true), (base(50_000), true)];
        assert_eq!(found[..4], trains);
        // The opportunity of 1 ms is used at 51 ms, so that of 3 ms follows.
        assert_eq!(found[4..], [(base(50_000) + 1000, true), (base(50_000) + 3000, true)]);
    }

    /// A packet at 199 ms has 30.1 ms. At 200 ms the recording begins again with 20 ms, so the next packet would
    /// overtake.
    #[test]
    fn a_packet_never_overtakes() {
        let found = entries(&mut light(true), &[(199_000, 1400), (200_000, 1400), (230_000, 1400)]);
        assert_eq!(found, [(229_100, true), (229_100, false), (256_000, true)]);
    }

    #[test]
    fn a_recording_that_stops_keeps_its_last_delay() {
        let found = entries(&mut light(false), &[(150_000, 1400), (250_000, 1400), (900_000, 1400)]);
        assert_eq!(found, [(185_000, true), (280_000, false), (930_000, false)]);
        let found = entries(&mut light(true), &[(450_000, 1400), (100_000_000, 1400)]);
        assert_eq!(found, [(480_000, true), (100_020_000, true)]);
    }

    /// 64 packets of 1 MiB, the limit, less one octet: there is place for one octet, and then for what has left.
    #[test]
    fn the_octets_before_the_queue_have_a_limit() {
        let mut light = light(true);
        let mib = 1 << 20;
        for number in 0..64 {
            light.push(us(0), if number == 0 { mib - 1 } else { mib }, PacketRef(number)).unwrap();
        }
        let train = format!("{:?}", light.train);
        assert_eq!(light.push(us(1), 2, PacketRef(64)), Err(Full));
        assert_eq!((light.before.len(), format!("{:?}", light.train)), (64, train), "nothing changes");
        assert_eq!(light.push(us(1), 1, PacketRef(64)), Ok(None));
        light.pop();
        assert_eq!(light.push(us(2), mib, PacketRef(65)), Err(Full));
        assert_eq!(light.push(us(2), mib - 1, PacketRef(65)), Ok(None));
        while light.pop().1.is_some() {}
        assert_eq!(light.octets, Bytes(0));
    }

    /// Without a base delay packets come to the queue directly after their instant.
    #[test]
    fn a_delay_of_zero_is_a_delay() {
        let train = |at| Train { at: us(at), delay: Span::ZERO, opportunities: vec![Span::ZERO; 2] };
        let mut light = Light::new(LightLoad { trains: Trains::new(vec![train(0), train(1)]), repeats: true });
        let packet = |light: &mut Light| light.push(us(7), 40, PacketRef(0)).unwrap();
        assert_eq!(packet(&mut light), Some(us(7) + Span::from_ps(1)));
        assert_eq!(packet(&mut light), None);
        assert!(light.pop().0.passes && light.pop().0.passes);
    }
}
