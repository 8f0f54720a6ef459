//! The conversation of the later fragments of a packet. They have no ports; the first one had.

use std::collections::{HashMap, VecDeque};

use cellway_units::{Span, Time};

use super::conversation::Id;
use super::key::{DatagramKey, Fixed};

/// The conversation of a datagram, and true if it has the direction of the conversation's first packet.
type Place = (Id, bool);

/// Recent first fragments. Bounded: the oldest is removed first.
#[derive(Clone, Debug)]
pub(super) struct FirstFragments {
    /// By packet, with the number of the entry in `order` that is its last.
    seen: HashMap<DatagramKey, (Place, u64), Fixed>,
    /// In the order of their arrival; a packet may be in it more than once.
    order: VecDeque<(Time, DatagramKey)>,
    /// Number of the front of `order`.
    front: u64,
    limit: usize,
    lifetime: Span,
}

impl FirstFragments {
    pub(super) fn new(limit: usize, lifetime: Span) -> FirstFragments {
        FirstFragments { seen: HashMap::default(), order: VecDeque::new(), front: 0, limit, lifetime }
    }

    /// Stores the first fragment of `datagram`, which is part of `place`.
    pub(super) fn insert(&mut self, now: Time, datagram: DatagramKey, place: Place) {
        self.seen.insert(datagram, (place, self.front + self.order.len() as u64));
        self.order.push_back((now, datagram));
        while self.order.len() > self.limit {
            self.forget_oldest();
        }
    }

    /// Returns the conversation of a later fragment of `datagram`, if the first arrived before it.
    pub(super) fn find(&mut self, now: Time, datagram: &DatagramKey) -> Option<Place> {
        self.expire(now);
        self.seen.get(datagram).map(|&(place, _)| place)
    }

    pub(super) fn expire(&mut self, now: Time) {
        while self.order.front().is_some_and(|&(then, _)| now.since(then) >= self.lifetime) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((_, datagram)) = self.order.pop_front() {
            // A newer first fragment with the same identification stays.
            if self.seen.get(&datagram).is_some_and(|&(_, number)| number == self.front) {
                self.seen.remove(&datagram);
            }
            self.front += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use cellway_wire::ip::Datagram;

    use super::*;

    fn datagram(identification: u32) -> DatagramKey {
        let (source, destination) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        (Datagram { source, destination, protocol: 17, identification }, 1, 2)
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    #[test]
    fn entries_go_by_age_and_number() {
        let ids: Vec<Place> = (0..4).map(|n| (Id::test(n), n % 2 == 0)).collect();
        let mut first = FirstFragments::new(3, Span::from_secs(30));
        for (n, id) in ids.iter().enumerate() {
            first.insert(at(n as u64), datagram(n as u32), *id);
        }
        let found =
            |first: &mut FirstFragments, now| (0..4).map(|n| first.find(at(now), &datagram(n))).collect::<Vec<_>>();
        assert_eq!(found(&mut first, 4), [None, Some(ids[1]), Some(ids[2]), Some(ids[3])]);
        assert_eq!(found(&mut first, 30), [None, Some(ids[1]), Some(ids[2]), Some(ids[3])]);
        assert_eq!(found(&mut first, 32), [None, None, None, Some(ids[3])]);
        assert_eq!(found(&mut first, 33), [None; 4]);
        assert!(first.seen.is_empty() && first.order.is_empty());
    }

    /// 16 bits of identification wrap soon.
    #[test]
    fn an_identification_used_again_counts_from_its_last_use() {
        let mut first = FirstFragments::new(2, Span::from_secs(30));
        first.insert(at(0), datagram(5), (Id::test(0), true));
        first.insert(at(20), datagram(5), (Id::test(1), true));
        assert_eq!(first.find(at(40), &datagram(5)), Some((Id::test(1), true)));
        first.insert(at(41), datagram(5), (Id::test(2), true));
        first.insert(at(42), datagram(6), (Id::test(3), true));
        assert_eq!(first.find(at(43), &datagram(5)), Some((Id::test(2), true)));
        assert_eq!((first.order.len(), first.seen.len()), (2, 2));
        assert_eq!(first.find(at(50), &datagram(6)), Some((Id::test(3), true)));
    }
}
