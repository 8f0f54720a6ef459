//! A sorted list of disjoint ranges: bytes or packet numbers that arrived, were lost, or have ended.

/// Half-open ranges in ascending order with a gap between any two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    pub(crate) fn as_slice(&self) -> &[(u64, u64)] {
        &self.0
    }
    pub(crate) fn first(&self) -> Option<(u64, u64)> {
        self.0.first().copied()
    }
    pub(crate) fn contains(&self, value: u64) -> bool {
        let next = self.0.partition_point(|r| r.1 <= value);
        self.0.get(next).is_some_and(|r| r.0 <= value)
    }

    /// Adds `start..end`, joining what it touches; how many values are new.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        let first = self.0.partition_point(|r| r.1 < start);
        let last = self.0.partition_point(|r| r.0 <= end);
        let (mut joined, mut held) = ((start, end), 0);
        for &(a, b) in &self.0[first..last] {
            joined = (joined.0.min(a), joined.1.max(b));
            held += b - a;
        }
        if first == last {
            self.0.insert(first, joined);
        } else {
            self.0[first] = joined;
            self.0.drain(first + 1..last);
        }
        joined.1 - joined.0 - held
    }

    /// Removes `start..end`.
    pub(crate) fn remove(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let first = self.0.partition_point(|r| r.1 <= start);
        let last = self.0.partition_point(|r| r.0 < end);
        if first == last {
            return;
        }
        let (head, tail) = ((self.0[first].0, start), (end, self.0[last - 1].1));
        let kept = [head, tail].into_iter().filter(|r| r.0 < r.1);
        self.0.splice(first..last, kept);
    }

    /// Removes the first range if it begins at or below `value`; where it ends.
    pub(crate) fn take_first_touching(&mut self, value: u64) -> Option<u64> {
        let (start, end) = self.first()?;
        (start <= value).then(|| {
            self.0.remove(0);
            end
        })
    }
    /// Joins the lowest ranges, with what is between them, so that `most` remain (at least one).
    pub(crate) fn join_lowest(&mut self, most: usize) {
        let over = self.0.len().saturating_sub(most.max(1));
        if over > 0 {
            self.0[over].0 = self.0[0].0;
            self.0.drain(..over);
        }
    }
    /// Removes the oldest ranges so that `most` remain.
    pub(crate) fn keep_last(&mut self, most: usize) {
        self.0.drain(..self.0.len().saturating_sub(most));
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
        assert_eq!(ranges.as_slice(), [(50, 60)]);
        ranges.insert(0, 1);
        ranges.insert(70, 80);
        ranges.join_lowest(3);
        assert_eq!(ranges.as_slice(), [(0, 1), (50, 60), (70, 80)]);
        ranges.join_lowest(2);
        assert_eq!(ranges.as_slice(), [(0, 60), (70, 80)]);
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
                let values: Vec<u64> = ranges.as_slice().iter().flat_map(|r| r.0..r.1).collect();
                prop_assert_eq!(&values, &set.iter().copied().collect::<Vec<_>>());
                prop_assert!(ranges.as_slice().windows(2).all(|w| w[0].1 < w[1].0), "{:?}", ranges);
                prop_assert!((0..90).all(|v| ranges.contains(v) == set.contains(&v)));
            }
        }
    }
}
