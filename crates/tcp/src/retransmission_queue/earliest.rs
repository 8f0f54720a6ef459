//! The segments in flight whose last transmission is the earliest, so that most acknowledgements find no loss without a
//! search of the queue.

use std::collections::VecDeque;

use cellway_units::Time;

use super::{Fate, Sent};
use crate::Position;

/// Segments in flight by the times of their last transmissions. First transmissions are in the order of positions.
#[derive(Clone, Debug, Default)]
pub(super) struct Earliest {
    /// No segment before this one is in flight by its first transmission. Counted from the first of the connection.
    fresh: u64,
    /// Time and end of each retransmission, in ascending order; an entry may be outdated.
    again: VecDeque<(Time, Position)>,
}

impl Earliest {
    /// Records a retransmission of the segment that ends at `end`.
    pub(super) fn resent(&mut self, now: Time, end: Position) {
        let at = self.again.iter().rposition(|&earlier| earlier <= (now, end)).map_or(0, |i| i + 1);
        self.again.insert(at, (now, end));
    }
    /// Begins anew, since lost segments have returned to the network.
    pub(super) fn rebuild(&mut self, segments: &VecDeque<Sent>) {
        let flying = segments.iter().filter(|s| s.fate == Fate::InFlight && s.retransmitted);
        let mut again: Vec<_> = flying.map(|s| (s.stamp.sent(), s.end)).collect();
        again.sort_unstable();
        *self = Earliest { fresh: 0, again: again.into() };
    }
    /// Returns true if a segment in flight was sent before the one that was sent at `newest.0` and ends at `newest.1`.
    /// `removed` segments preceded the first of `segments`.
    pub(super) fn precedes(&mut self, newest: (Time, Position), segments: &VecDeque<Sent>, removed: u64) -> bool {
        while let Some(&(sent, end)) = self.again.front() {
            let s = segments.get(segments.partition_point(|s| s.end < end));
            if s.is_some_and(|s| s.end == end && s.fate == Fate::InFlight && s.stamp.sent() == sent) {
                break;
            }
            self.again.pop_front();
        }
        let mut first = self.fresh.saturating_sub(removed) as usize;
        while segments.get(first).is_some_and(|s| s.fate != Fate::InFlight || s.retransmitted) {
            first += 1;
        }
        self.fresh = removed + first as u64;
        let fresh = segments.get(first);
        self.again.front().is_some_and(|&again| again < newest)
            || fresh.is_some_and(|s| (s.stamp.sent(), s.end) < newest)
    }
}
