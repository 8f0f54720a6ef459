//! A quantity recorded at its changes, in bounded memory.

use cellway_units::{Span, Time};

/// An instant, and the value of a quantity from then on.
type Change = (Time, f64);

/// The number of entries of a thinning pass that one recorded change processes. A pass ends after `most` / 32 changes,
/// and every change costs about the same: hosts of an emulation wait while it records.
const READ_PER_CHANGE: usize = 32;

/// The most changes that are kept for an interval.
const PER_INTERVAL: usize = 4;

/// The instants at which a quantity changed, each with its value from then on.
///
/// Up to `most` changes, all are kept. Beyond that, time is divided into equal intervals, and of each only the first,
/// the last, the lowest and the highest change are kept. The intervals double whenever the record is full again. A line
/// drawn through the kept changes touches the same pixels while an interval is no wider than a pixel (M4: U. Jugel, Z.
/// Jerzak, G. Hackenbroich and V. Markl, Proceedings of the VLDB Endowment 7, 2014). Every instant and value that is
/// kept is exact, and so are the extremes.
#[derive(Clone, Debug)]
pub(crate) struct Changes {
    most: usize,
    /// During a pass: the entries that it has written, a gap, and the entries that it has not read yet.
    kept: Vec<Change>,
    /// The length of the intervals, once changes have been left out, and the extremes of the last interval.
    thinned: Option<(Span, Option<Extremes>)>,
    pass: Option<Pass>,
}

/// A pass over the record that thins it to longer intervals, in place.
#[derive(Clone, Debug)]
struct Pass {
    interval: Span,
    read: usize,
    written: usize,
    /// The extremes of the interval that is being read.
    current: Option<Extremes>,
}

/// A finished record.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// The changes that were kept, in order.
    pub(crate) changes: Vec<Change>,
    /// The length of the intervals of which changes were left out; `None` if all changes are there.
    pub(crate) interval: Option<Span>,
}

impl Changes {
    /// Creates an empty record that keeps `most` changes, at least 8.
    pub(crate) fn new(most: usize) -> Changes {
        Changes { most: most.max(8), kept: Vec::new(), thinned: None, pass: None }
    }

    /// Records a change; `at` is not earlier than the last one.
    pub(crate) fn push(&mut self, at: Time, value: f64) {
        match &mut self.thinned {
            None => self.kept.push((at, value)),
            Some((interval, last)) => {
                if let Some(whole) = Extremes::next(last, (at, value), *interval) {
                    self.kept.extend(whole.changes());
                }
            }
        }
        if self.pass.is_some() {
            self.thin(READ_PER_CHANGE);
        } else if self.len() > self.most {
            self.begin();
        }
    }

    /// Ends the record and returns its changes.
    pub(crate) fn finish(mut self) -> Kept {
        while self.pass.is_some() || self.len() > self.most {
            if self.pass.is_none() {
                self.begin();
            }
            self.thin(usize::MAX);
        }
        let (interval, last) = self.thinned.unzip();
        self.kept.extend(last.flatten().iter().flat_map(Extremes::changes));
        Kept { changes: self.kept, interval }
    }

    /// Returns an upper bound of the number of changes in the record.
    fn len(&self) -> usize {
        self.kept.len() + if self.thinned.is_some() { PER_INTERVAL } else { 0 }
    }

    /// Starts a pass that doubles the intervals; the first pass chooses intervals that have one change each on average.
    fn begin(&mut self) {
        let (Some(&(first, _)), Some(&(end, _))) = (self.kept.first(), self.kept.last()) else { return };
        let least = end.since(first).as_ps() / self.most as u64;
        let interval = match self.thinned {
            Some((interval, _)) => interval.saturating_mul(2),
            None => Span::from_ps(least.max(1_000).div_ceil(1_000).next_power_of_two() * 1_000),
        };
        self.pass = Some(Pass { interval, read: 0, written: 0, current: None });
    }

    /// Continues the pass with this number of entries. Further passes follow until half of the record is free.
    fn thin(&mut self, entries: usize) {
        let Some(pass) = &mut self.pass else { return };
        let until = self.kept.len().min(pass.read.saturating_add(entries));
        while pass.read < until {
            let change = self.kept[pass.read];
            pass.read += 1;
            if let Some(whole) = Extremes::next(&mut pass.current, change, pass.interval) {
                // At least as many entries were read as are written.
                for change in whole.changes() {
                    self.kept[pass.written] = change;
                    pass.written += 1;
                }
            }
        }
        if pass.read < self.kept.len() {
            return;
        }
        let Some(Pass { interval, written, mut current, .. }) = self.pass.take() else { return };
        self.kept.truncate(written);
        if let Some((_, Some(last))) = self.thinned.take() {
            for change in last.changes() {
                if let Some(whole) = Extremes::next(&mut current, change, interval) {
                    self.kept.extend(whole.changes());
                }
            }
        }
        self.thinned = Some((interval, current));
        if self.len() > self.most / 2 {
            self.begin();
        }
    }
}

/// The changes of an interval that are kept: the first, the last, the earliest of the lowest and the earliest of the
/// highest, each with its index in the interval.
#[derive(Clone, Copy, Debug)]
struct Extremes {
    first: (u64, Change),
    lowest: (u64, Change),
    highest: (u64, Change),
    last: (u64, Change),
}

impl Extremes {
    /// Adds `change` to the current interval. If it lies in a later interval, it starts that one, and the extremes of
    /// the earlier interval are returned.
    fn next(current: &mut Option<Extremes>, change: Change, interval: Span) -> Option<Extremes> {
        match current {
            Some(now) if number(now.last.1.0, interval) == number(change.0, interval) => {
                now.add(change);
                None
            }
            _ => {
                let only = (0, change);
                current.replace(Extremes { first: only, lowest: only, highest: only, last: only })
            }
        }
    }

    fn add(&mut self, change: Change) {
        let one = (self.last.0 + 1, change);
        if change.1 < self.lowest.1.1 {
            self.lowest = one;
        }
        if change.1 > self.highest.1.1 {
            self.highest = one;
        }
        self.last = one;
    }

    /// Returns each change once, in order.
    fn changes(&self) -> impl Iterator<Item = Change> + use<> {
        let mut all = [self.first, self.lowest, self.highest, self.last];
        all.sort_unstable_by_key(|&(place, _)| place);
        (0..all.len()).filter(move |&i| i == 0 || all[i].0 != all[i - 1].0).map(move |i| all[i].1)
    }
}

/// Returns the number of the interval that contains an instant.
fn number(at: Time, interval: Span) -> u64 {
    at.since(Time::ZERO).as_ps() / interval.as_ps()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a queue that rises and falls in a fixed pattern, with a change every 3 us.
    fn pattern(n: u64) -> Vec<Change> {
        (0..n).map(|i| (Time::ZERO + Span::from_us(3 * i), ((i * 7919 + i / 13 * 31) % 1009) as f64)).collect()
    }

    fn recorded(changes: &[Change], most: usize) -> Kept {
        let mut record = Changes::new(most);
        changes.iter().for_each(|&(at, value)| record.push(at, value));
        record.finish()
    }

    #[test]
    fn a_short_record_is_whole() {
        let changes = pattern(100);
        let record = recorded(&changes, 100);
        assert_eq!((&record.changes, record.interval), (&changes, None));
    }

    /// Compares with the definition: the whole sequence cut into intervals, each thinned at once.
    #[test]
    fn a_long_record_has_the_first_last_lowest_and_highest_of_each_interval() {
        for n in [101, 128, 1_000, 5_003, 70_000] {
            let changes = pattern(n);
            let record = recorded(&changes, 100);
            let interval = record.interval.expect("some are left out");
            let mut expected = Vec::new();
            for of_one in changes.chunk_by(|a, b| number(a.0, interval) == number(b.0, interval)) {
                let value = |place: usize| of_one[place].1;
                let low = (0..of_one.len()).min_by(|&a, &b| value(a).total_cmp(&value(b))).unwrap();
                let high = (0..of_one.len()).rev().max_by(|&a, &b| value(a).total_cmp(&value(b))).unwrap();
                let mut places = vec![0, low, high, of_one.len() - 1];
                places.sort_unstable();
                places.dedup();
                expected.extend(places.into_iter().map(|place| of_one[place]));
            }
            assert_eq!(record.changes, expected, "{n} changes, {interval}");
            assert!((8..=100).contains(&record.changes.len()), "{n}: {}", record.changes.len());
        }
    }

    #[test]
    fn it_reaches_from_the_first_change_to_the_last() {
        let changes = pattern(12_345);
        let record = recorded(&changes, 50);
        assert_eq!((record.changes.first(), record.changes.last()), (changes.first(), changes.last()));
        let extremes = |of: &[Change]| of.iter().fold((1e9, -1e9), |(a, b): (f64, f64), c| (a.min(c.1), b.max(c.1)));
        assert_eq!(extremes(&record.changes), extremes(&changes));
    }

    /// Many changes at one instant fall into one interval, however short.
    #[test]
    fn changes_of_one_instant() {
        let at = |i: u64| (Time::ZERO, (i % 17) as f64);
        let record = recorded(&(0..1000).map(at).collect::<Vec<_>>(), 10);
        assert_eq!(record.changes.iter().map(|c| c.1).collect::<Vec<_>>(), [0.0, 16.0, 13.0]);
    }

    /// Hosts of an emulation wait while it records, so no single change may process the whole record.
    #[test]
    fn no_change_reads_more_than_its_share_and_memory_stays_bounded() {
        let most = 10_000;
        let mut record = Changes::new(most);
        let mut passes = 0;
        for &(at, value) in &pattern(200_000) {
            let before = record.pass.as_ref().map(|pass| pass.read);
            record.push(at, value);
            match (before, &record.pass) {
                (Some(before), Some(pass)) if pass.read > 0 => {
                    assert!((1..=READ_PER_CHANGE).contains(&(pass.read - before)));
                }
                (None, Some(_)) => passes += 1,
                _ => {}
            }
            assert!(record.len() <= most + most / 2, "{}", record.len());
        }
        assert!(passes > 2, "{passes}");
    }
}
