//! Datagrams of measured conversations in one direction, as a state machine without I/O.
//!
//! Conversations arrive as those over TCP do. Each has a number of packets in each direction, with gaps between them that
//! depend on nothing in the network: neither end waits for the other.

use std::collections::BTreeMap;
use std::sync::Arc;

use cellway_spec::{Family, UDP_MARK_OCTETS};
use cellway_units::{Bytes, Span, Time};

use super::{DatagramModel, Distribution};
use crate::action::Side;
use crate::random::{Named, NamedStreams, Stream, Streams};

/// The most conversations in a row without a packet of a direction, after which it has none.
const MOST_EMPTY: u32 = 100_000;
/// The most packets of a conversation.
const MOST_PACKETS: u64 = 1_000_000_000;

/// Datagrams of a measured class: see [`GroupWorkload`](crate::GroupWorkload).
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredDatagrams {
    /// The class.
    pub model: Arc<DatagramModel>,
    /// True if values are drawn from the fitted laws, where a distribution has one.
    pub fits: bool,
    /// Conversations in place of one: a factor on their rate, above 0.
    pub scale: f64,
    /// The number of conversations after which no more arrive; without end if absent.
    pub count: Option<u64>,
    /// The time after which no more arrive; without end if absent.
    pub duration: Option<Span>,
    /// The most conversations of a direction that have packets left, at least 1; one that arrives beyond sends none.
    pub limit: u32,
    /// The version of IP.
    pub family: Family,
    /// The largest IP packet; a larger one is cut to it.
    pub largest: Bytes,
}

/// The packets of one direction of a slot.
#[derive(Clone, Debug)]
pub(crate) struct MeasuredSource {
    workload: MeasuredDatagrams,
    side: Side,
    streams: NamedStreams,
    gaps: Stream,
    next_arrival: Option<Time>,
    arrived: u64,
    /// No conversation arrives at this time or later.
    end: Time,
    /// The next packet of each conversation, by its time and then the number of the conversation.
    open: BTreeMap<(Time, u64), Talk>,
}

/// A conversation with packets left.
#[derive(Clone, Debug)]
struct Talk {
    /// Packets left, at least 1.
    left: u64,
    /// The next IP packet.
    packet: Bytes,
    stream: Stream,
}

impl DatagramModel {
    /// Returns the mean octets of payload of a conversation from the originator and from the responder; `None` if one is
    /// infinite.
    pub fn mean_octets(&self, fits: bool) -> Option<[f64; 2]> {
        let [there, back] = [Side::Originator, Side::Responder].map(|side| self.direction(side));
        let mean = |(packets, size, _): Direction<'_>| {
            let mean = |of: Option<&Distribution>| of.map_or(Some(0.0), |of| of.mean(fits));
            Some(mean(packets)? * mean(size)?)
        };
        Some([mean(there)?, mean(back)?])
    }

    /// Returns the number, the sizes and the gaps of the packets of a side.
    fn direction(&self, side: Side) -> Direction<'_> {
        match side {
            Side::Originator => (Some(&self.packets), Some(&self.size), self.gap.as_ref()),
            Side::Responder => (self.packets_back.as_ref(), self.size_back.as_ref(), self.gap_back.as_ref()),
        }
    }
}

type Direction<'a> = (Option<&'a Distribution>, Option<&'a Distribution>, Option<&'a Distribution>);

impl MeasuredSource {
    /// Creates the source of a side of a slot that starts at `start`.
    pub(crate) fn new(
        workload: &MeasuredDatagrams,
        side: Side,
        streams: &Streams,
        slot: &str,
        start: Time,
    ) -> MeasuredSource {
        let streams = Named::new(streams, slot, 0).keep();
        let end = workload.duration.map_or(Time::MAX, |duration| start + duration);
        let gaps = streams.stream("arrivals");
        let (workload, open) = (workload.clone(), BTreeMap::new());
        let mut source = MeasuredSource { workload, side, streams, gaps, next_arrival: None, arrived: 0, end, open };
        if source.workload.model.direction(side).0.is_some() {
            source.schedule(start);
            source.settle();
        }
        source
    }

    /// Returns when the next packet leaves.
    pub(crate) fn next(&self) -> Option<Time> {
        self.open.first_key_value().map(|((at, _), _)| *at)
    }

    /// Returns the size of the next packet.
    pub(crate) fn packet(&self) -> Bytes {
        self.open.first_key_value().map_or(Bytes(0), |(_, talk)| talk.packet)
    }

    /// Returns the number of the conversation of the next packet, from 0 in the order of their arrivals.
    pub(crate) fn conversation(&self) -> u64 {
        self.open.first_key_value().map_or(0, |((_, number), _)| *number)
    }

    /// Removes the next packet, whose time has come.
    pub(crate) fn send(&mut self) {
        self.reject();
        if let Some(((at, number), mut talk)) = self.open.pop_first()
            && talk.left > 1
        {
            talk.left -= 1;
            let gap = self.gap(&mut talk.stream);
            talk.packet = self.size(&mut talk.stream);
            self.open.insert((at + gap, number), talk);
        }
        self.settle();
    }

    /// Sets the time of the next conversation, after one at `last`.
    fn schedule(&mut self, last: Time) {
        let MeasuredDatagrams { model, fits, scale, count, .. } = &self.workload;
        let gaps = model.arrival_gap.as_ref().filter(|_| count.is_none_or(|count| self.arrived < count));
        let at = gaps.map(|gaps| last + gaps.scaled_span(*fits, *scale, &mut self.gaps));
        self.next_arrival = at.filter(|&at| at < self.end);
    }

    fn is_full(&self) -> bool {
        self.open.len() >= self.workload.limit as usize
    }

    /// Rejects the conversations that have arrived until the next packet leaves, if there is no place for them.
    fn reject(&mut self) {
        if let Some(now) = self.next().filter(|_| self.is_full()) {
            while let Some(at) = self.next_arrival.filter(|at| *at <= now) {
                self.arrived += 1;
                self.schedule(at);
            }
        }
    }

    /// Begins the conversations that arrive before the next packet leaves. While there is no place for one, none is drawn:
    /// that packet may be far beyond the end of the run, and the number of those before it without bound.
    fn settle(&mut self) {
        let mut empty = 0;
        while !self.is_full()
            && let Some(at) = self.next_arrival
            && self.next().is_none_or(|next| at <= next)
            && empty < MOST_EMPTY
        {
            empty = if self.begin(at) { 0 } else { empty + 1 };
            self.arrived += 1;
            self.schedule(at);
        }
        if empty == MOST_EMPTY {
            self.next_arrival = None;
        }
    }

    /// Begins a conversation; returns false if it has no packet of this side.
    fn begin(&mut self, at: Time) -> bool {
        let way = match self.side {
            Side::Originator => "there",
            Side::Responder => "back",
        };
        let mut stream = self.streams.stream(format_args!("conversation-{}/{way}", self.arrived));
        // Both directions draw their numbers of packets with the same random number: a long call is one there and back.
        let mut counts = self.streams.stream(format_args!("conversation-{}/packets", self.arrived));
        let (packets, ..) = self.workload.model.direction(self.side);
        let left = packets.map_or(0, |packets| packets.whole(self.workload.fits, &mut counts)).min(MOST_PACKETS);
        if left == 0 {
            return false;
        }
        // The responder has a gap before its first packet, too.
        let gap = if self.side == Side::Responder { self.gap(&mut stream) } else { Span::ZERO };
        let packet = self.size(&mut stream);
        self.open.insert((at + gap, self.arrived), Talk { left, packet, stream });
        true
    }

    fn gap(&self, stream: &mut Stream) -> Span {
        let (.., gaps) = self.workload.model.direction(self.side);
        gaps.map_or(Span::ZERO, |gaps| gaps.span(self.workload.fits, stream))
    }

    /// Returns the size of an IP packet, which has room for the mark.
    fn size(&self, stream: &mut Stream) -> Bytes {
        let (_, sizes, _) = self.workload.model.direction(self.side);
        let payload = sizes.map_or(0, |sizes| sizes.whole(self.workload.fits, stream)).max(UDP_MARK_OCTETS);
        Bytes((payload + self.workload.family.udp_headers()).min(self.workload.largest.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Knot, QuantileModel};

    fn of(knots: &[(f64, f64)]) -> Distribution {
        let knots = knots.iter().map(|&(probability, value)| Knot { probability, value }).collect();
        Distribution { model: QuantileModel::with_atoms(knots, "t").unwrap(), samples: 1, fit: None }
    }

    fn always(value: f64) -> Distribution {
        of(&[(0.0, value), (1.0, value)])
    }

    /// Conversations each 100 ms with 3 packets there, 40 ms apart, and 0 to 4 packets back.
    fn workload(limit: u32) -> MeasuredDatagrams {
        let model = DatagramModel {
            arrival_gap: Some(always(0.1)),
            packets: always(3.0),
            packets_back: Some(of(&[(0.0, 0.0), (1.0, 4.0)])),
            size: of(&[(0.0, 0.0), (1.0, 2000.0)]),
            size_back: Some(always(100.0)),
            gap: Some(always(0.04)),
            gap_back: Some(always(0.07)),
        };
        MeasuredDatagrams {
            model: model.into(),
            fits: false,
            scale: 1.0,
            count: Some(50),
            duration: None,
            limit,
            family: Family::Ipv4,
            largest: Bytes(1500),
        }
    }

    fn packets(workload: &MeasuredDatagrams, side: Side, seed: u64) -> Vec<(Time, Bytes)> {
        let mut source = MeasuredSource::new(workload, side, &Streams::new(seed), "voice-1", Time::ZERO);
        std::iter::from_fn(|| {
            let packet = (source.next()?, source.packet());
            source.send();
            Some(packet)
        })
        .take(3000)
        .collect()
    }

    #[test]
    fn packets_of_overlapping_conversations_are_in_order() {
        let there = packets(&workload(9), Side::Originator, 1);
        assert_eq!(there.len(), 150);
        assert!(
            there.is_sorted_by_key(|packet| packet.0) && there.iter().all(|(_, size)| (44..=1500).contains(&size.0))
        );
        let ms = |ms| Time::ZERO + Span::from_ms(ms);
        assert_eq!(there[..4].iter().map(|packet| packet.0).collect::<Vec<_>>(), [100, 140, 180, 200].map(ms));
        let back = packets(&workload(9), Side::Responder, 1);
        // The mean is 2, the standard deviation 1.2: four standard errors of 50.
        assert!((back.len() as f64 - 100.0).abs() < 4.0 * 1.25 * 50f64.sqrt(), "{}", back.len());
        assert!(back.is_sorted_by_key(|packet| packet.0) && back[0].0 >= ms(170));
        assert_eq!(packets(&workload(9), Side::Responder, 1), back);
        assert_ne!(packets(&workload(9), Side::Responder, 2), back);
        // A conversation of 80 ms has ended before the next, one of 210 ms back has not.
        assert_eq!(packets(&workload(1), Side::Originator, 1), there);
        assert!(packets(&workload(1), Side::Responder, 1).iter().all(|packet| back.contains(packet)));
    }

    /// Of uniform numbers up to 20 there and 40 back, the second is twice the first, but for the rounding.
    #[test]
    fn a_conversation_that_is_long_there_is_long_back() {
        let mut pairs = workload(9);
        let model = DatagramModel {
            arrival_gap: Some(always(100.0)),
            packets: of(&[(0.0, 0.0), (1.0, 20.0)]),
            packets_back: Some(of(&[(0.0, 0.0), (1.0, 40.0)])),
            ..(*pairs.model).clone()
        };
        pairs.model = model.into();
        let counts = [Side::Originator, Side::Responder].map(|side| {
            let mut counts = [0i32; 50];
            for (at, _) in packets(&pairs, side, 1) {
                counts[(at.as_secs_f64() / 100.0) as usize - 1] += 1;
            }
            counts
        });
        let distances = counts[0].iter().zip(counts[1]).map(|(there, back)| (2 * there - back).abs());
        assert!(distances.clone().all(|distance| distance <= 1), "{counts:?}");
        assert!(counts[0].iter().any(|&count| count < 5) && counts[0].iter().any(|&count| count > 15));
    }

    /// One conversation at a time, with 150 s between its two packets: meanwhile 150,000 others arrive.
    #[test]
    fn conversations_begin_again_after_many_were_rejected() {
        let mut full = workload(1);
        full.count = None;
        let (packets, gap) = (always(2.0), Some(always(150.0)));
        let model = DatagramModel { arrival_gap: Some(always(0.001)), packets, gap, ..(*full.model).clone() };
        full.model = model.into();
        let mut source = MeasuredSource::new(&full, Side::Originator, &Streams::new(1), "voice-1", Time::ZERO);
        let mut send = || {
            let at = source.next().unwrap();
            source.send();
            at
        };
        let expected = [1, 150_001, 150_002, 300_002, 300_003].map(|ms| Time::ZERO + Span::from_ms(ms));
        let sent: [Time; 5] = std::array::from_fn(|_| send());
        assert_eq!(sent, expected);
    }

    /// Conversations without a packet come to an end, also without a limit of their number.
    #[test]
    fn a_direction_without_packets_is_silent() {
        let mut empty = workload(9);
        empty.count = None;
        let model = DatagramModel { packets: always(0.0), packets_back: None, ..(*empty.model).clone() };
        empty.model = model.into();
        assert_eq!([Side::Originator, Side::Responder].map(|side| packets(&empty, side, 1).len()), [0, 0]);
        assert_eq!(empty.model.mean_octets(false), Some([0.0, 0.0]));
        assert_eq!(workload(9).model.mean_octets(false), Some([3000.0, 200.0]));
    }
}
