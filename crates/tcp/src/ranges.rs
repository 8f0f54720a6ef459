//! A sorted list of disjoint ranges: data that arrived beyond a gap, at either end.

use crate::Position;

/// Positions from `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: Position,
    pub(crate) end: Position,
    /// When it last grew: larger is more recent.
    pub(crate) stamp: u64,
}

impl Range {
    pub(crate) fn len(self) -> u64 {
        self.end - self.start
    }
}

/// Ranges in ascending order with a gap between any two.
#[derive(Clone, Debug, Default)]
#[expect(clippy::box_collection, reason = "most ends never have a gap, and each has one, so its size matters")]
pub(crate) struct Ranges(Option<Box<Vec<Range>>>);

impl Ranges {
    #[inline]
    pub(crate) fn as_slice(&self) -> &[Range] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|all| all.is_empty())
    }
    pub(crate) fn clear(&mut self) {
        if let Some(all) = &mut self.0 {
            all.clear();
        }
    }
    /// Returns the length of all ranges together.
    #[cfg(test)]
    pub(crate) fn total(&self) -> u64 {
        self.as_slice().iter().map(|r| r.len()).sum()
    }

    /// Adds `start..end`, joining adjacent ranges; returns the number of new positions.
    pub(crate) fn insert(&mut self, start: Position, end: Position, stamp: u64) -> u64 {
        if start >= end {
            return 0;
        }
        let all = self.0.get_or_insert_default();
        let first = all.partition_point(|r| r.end < start);
        let last = all.partition_point(|r| r.start <= end);
        let mut joined = Range { start, end, stamp };
        let mut held = 0;
        for r in &all[first..last] {
            joined.start = joined.start.min(r.start);
            joined.end = joined.end.max(r.end);
            held += r.len();
        }
        if first == last {
            all.insert(first, joined);
        } else {
            all[first] = joined;
            all.drain(first + 1..last);
        }
        joined.len() - held
    }
    /// Removes everything below `position`.
    pub(crate) fn remove_below(&mut self, position: Position) {
        let Some(all) = &mut self.0 else { return };
        let gone = all.partition_point(|r| r.end <= position);
        all.drain(..gone);
        if let Some(r) = all.first_mut() {
            r.start = r.start.max(position);
        }
    }
    /// Removes the first range if it begins at or below `position`; returns its end.
    pub(crate) fn take_first_touching(&mut self, position: Position) -> Option<Position> {
        let all = self.0.as_mut()?;
        let first = *all.first()?;
        (first.start <= position).then(|| {
            all.remove(0);
            first.end
        })
    }
    /// Returns the number of positions below `position` in the ranges.
    pub(crate) fn len_below(&self, position: Position) -> u64 {
        self.as_slice().iter().take_while(|r| r.start < position).map(|r| r.end.min(position) - r.start).sum()
    }
    /// Returns the first part of `start..end` that lies in a range.
    pub(crate) fn overlap(&self, start: Position, end: Position) -> Option<(Position, Position)> {
        let first = self.as_slice().get(self.as_slice().partition_point(|r| r.end <= start))?;
        (first.start < end).then(|| (first.start.max(start), first.end.min(end)))
    }
    /// Returns the number of positions at or above `position` in the ranges.
    pub(crate) fn len_from(&self, position: Position) -> u64 {
        self.as_slice().iter().rev().take_while(|r| r.end > position).map(|r| r.end - r.start.max(position)).sum()
    }
    /// Returns the first gap at or above `position`: its start and, unless it is the last, its end.
    pub(crate) fn gap_from(&self, position: Position) -> (Position, Option<Position>) {
        let all = self.as_slice();
        let next = all.partition_point(|r| r.end <= position);
        match all.get(next) {
            Some(r) if r.start <= position => (r.end, all.get(next + 1).map(|r| r.start)),
            Some(r) => (position, Some(r.start)),
            None => (position, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(ranges: &Ranges) -> Vec<(u64, u64)> {
        ranges.as_slice().iter().map(|r| (r.start, r.end)).collect()
    }

    #[test]
    fn insertion_joins_what_it_touches() {
        let mut ranges = Ranges::default();
        assert_eq!(ranges.insert(10, 20, 1), 10);
        assert_eq!(ranges.insert(30, 40, 2), 10);
        assert_eq!(ranges.insert(50, 60, 3), 10);
        assert_eq!(ranges.insert(12, 18, 4), 0);
        assert_eq!(ranges.insert(20, 30, 5), 10);
        assert_eq!(pairs(&ranges), [(10, 40), (50, 60)]);
        assert_eq!(ranges.insert(5, 70, 6), 25);
        assert_eq!(pairs(&ranges), [(5, 70)]);
        assert_eq!(ranges.total(), 65);
        assert_eq!(ranges.insert(80, 80, 7), 0);
    }

    #[test]
    fn gaps_and_lengths() {
        let mut ranges = Ranges::default();
        ranges.insert(10, 20, 0);
        ranges.insert(30, 40, 0);
        assert_eq!(ranges.gap_from(5), (5, Some(10)));
        assert_eq!(ranges.gap_from(10), (20, Some(30)));
        assert_eq!(ranges.gap_from(20), (20, Some(30)));
        assert_eq!(ranges.gap_from(35), (40, None));
        assert_eq!(ranges.gap_from(90), (90, None));
        assert_eq!((ranges.len_below(35), ranges.len_from(35), ranges.len_from(0)), (15, 5, 20));
        assert_eq!(ranges.overlap(5, 10), None);
        assert_eq!(ranges.overlap(5, 35), Some((10, 20)));
        assert_eq!(ranges.overlap(20, 35), Some((30, 35)));
        assert_eq!(ranges.overlap(32, 50), Some((32, 40)));
        assert_eq!(ranges.overlap(40, 50), None);
        ranges.remove_below(15);
        assert_eq!(pairs(&ranges), [(15, 20), (30, 40)]);
        assert_eq!(ranges.take_first_touching(14), None);
        assert_eq!(ranges.take_first_touching(15), Some(20));
    }
}
