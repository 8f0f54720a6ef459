//! A sorted set of disjoint ranges of numbers: bytes or packets that arrived, were acknowledged or were lost, and
//! identifiers of flows that have ended.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Half-open ranges in ascending order with a gap between any two, by their starts. A tree, as the peer controls their
/// number and order: a range is found, inserted or removed in logarithmic time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|(&start, &end)| (start, end))
    }
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    pub(crate) fn first(&self) -> Option<(u64, u64)> {
        self.iter().next()
    }
    pub(crate) fn last(&self) -> Option<(u64, u64)> {
        self.iter().next_back()
    }
    pub(crate) fn contains(&self, value: u64) -> bool {
        self.end_of(value).is_some()
    }
    /// Returns the end of the range that holds `value`.
    pub(crate) fn end_of(&self, value: u64) -> Option<u64> {
        self.0.range(..=value).next_back().map(|(_, &end)| end).filter(|&end| end > value)
    }
    /// Returns the start of the first range that begins after `value`.
    pub(crate) fn next_start(&self, value: u64) -> Option<u64> {
        self.0.range(value.checked_add(1)?..).next().map(|(&start, _)| start)
    }
    /// Returns the ranges that overlap `start..end`.
    pub(crate) fn overlapping(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        // Nothing lies in an empty range.
        let end = end.max(start);
        let before = self.0.range(..start).next_back().filter(|(_, last)| **last > start && end > start);
        before.into_iter().chain(self.0.range(start..end)).map(|(&start, &end)| (start, end))
    }

    /// Adds `start..end`, joined with the ranges that it touches. Returns the number of new values.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        // Most insertions extend the last range or lie behind it.
        if let Some(mut last) = self.0.last_entry().filter(|last| *last.key() <= start) {
            let known = *last.get();
            if start <= known {
                last.insert(known.max(end));
                return end.saturating_sub(known);
            }
            self.0.insert(start, end);
            return end - start;
        }
        let before = self.0.range(..=start).next_back().map(|(&a, &b)| (a, b)).filter(|&(_, b)| b >= start);
        let (first, mut held) = match before {
            Some((_, b)) if b >= end => return 0,
            Some((a, b)) => (a, b - start),
            None => (start, 0),
        };
        let mut last = end;
        while let Some((&a, &b)) = self.0.range(start + 1..=end).next_back() {
            self.0.remove(&a);
            held += b.min(end) - a;
            last = last.max(b);
        }
        self.0.insert(first, last);
        end - start - held
    }

    /// Removes `start..end`.
    pub(crate) fn remove(&mut self, start: u64, end: u64) {
        if start >= end || self.0.is_empty() {
            return;
        }
        while let Some((&a, &b)) = self.0.range(..end).next_back().filter(|(_, b)| **b > start) {
            if a < start {
                self.0.insert(a, start);
            } else {
                self.0.remove(&a);
            }
            if b > end {
                self.0.insert(end, b);
            }
        }
    }

    /// Removes the first range if it begins at or below `value`, and returns its end.
    pub(crate) fn take_first_touching(&mut self, value: u64) -> Option<u64> {
        let first = self.0.first_entry().filter(|first| *first.key() <= value)?;
        Some(first.remove())
    }
    /// Joins the lowest ranges, with what is between them, so that `most` remain (at least one).
    pub(crate) fn join_lowest(&mut self, most: usize) {
        while self.0.len() > most.max(1)
            && let (Some((start, _)), Some((_, end))) = (self.0.pop_first(), self.0.pop_first())
        {
            self.0.insert(start, end);
        }
    }
    /// Removes the lowest ranges so that `most` remain.
    pub(crate) fn keep_last(&mut self, most: usize) {
        while self.0.len() > most {
            self.0.pop_first();
        }
    }
    /// Removes the ranges that end at or below `value`, except the last one.
    pub(crate) fn forget_below(&mut self, value: u64) {
        while self.0.len() > 1 && self.0.first_key_value().is_some_and(|(_, &end)| end <= value) {
            self.0.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_first_range_is_taken_where_it_touches() {
        let mut ranges = Ranges::default();
        ranges.insert(10, 20);
        ranges.insert(30, 40);
        assert_eq!(ranges.take_first_touching(9), None);
        assert_eq!(ranges.take_first_touching(10), Some(20));
        ranges.insert(50, 60);
        ranges.keep_last(1);
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [(50, 60)]);
        ranges.insert(0, 1);
        ranges.insert(70, 80);
        ranges.join_lowest(3);
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [(0, 1), (50, 60), (70, 80)]);
        ranges.join_lowest(2);
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [(0, 60), (70, 80)]);
    }

    proptest! {
        #[test]
        fn ranges_are_a_set_of_numbers(steps in prop::collection::vec((any::<bool>(), 0u64..60, 0u64..20), 1..60)) {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for (insert, start, len) in steps {
                let span = start..start + len;
                if insert {
                    let new = span.clone().filter(|v| set.insert(*v)).count() as u64;
                    prop_assert_eq!(ranges.insert(start, start + len), new);
                } else {
                    set.retain(|v| !span.contains(v));
                    ranges.remove(start, start + len);
                }
                let values: Vec<u64> = ranges.iter().flat_map(|r| r.0..r.1).collect();
                prop_assert_eq!(&values, &set.iter().copied().collect::<Vec<_>>());
                let runs: Vec<_> = ranges.iter().collect();
                prop_assert!(runs.windows(2).all(|w| w[0].1 < w[1].0), "{:?}", ranges);
                let overlapping = runs.iter().copied().filter(|r| r.0 < start + len && r.1 > start && len > 0);
                prop_assert_eq!(ranges.overlapping(start, start + len).collect::<Vec<_>>(), overlapping.collect::<Vec<_>>());
                let next = runs.iter().map(|r| r.0).find(|&a| a > start);
                prop_assert_eq!(ranges.next_start(start), next);
                let end = runs.iter().find(|r| (r.0..r.1).contains(&start)).map(|r| r.1);
                prop_assert_eq!(ranges.end_of(start), end);
                prop_assert!((0..90).all(|v| ranges.contains(v) == set.contains(&v)));
            }
        }
    }
}
