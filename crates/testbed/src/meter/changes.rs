//! A quantity recorded at its changes, in bounded memory.

use cellway_units::{Span, Time};

/// The instants at which a quantity changed, each with its value from then on.
///
/// Up to `most` changes are all kept. Beyond that, of the changes in each of equal intervals of time only the first, the
/// last, the lowest and the highest are, and the intervals double whenever the record is full again: a line drawn
/// through what is kept touches the same pixels while an interval is no wider than one (M4: U. Jugel, Z. Jerzak,
/// G. Hackenbroich and V. Markl, Proceedings of the VLDB Endowment 7, 2014). Every instant and value that is kept is
/// exact, and so are the extremes.
#[derive(Debug)]
pub(crate) struct Changes {
    most: usize,
    kept: Vec<(Time, f64)>,
    /// The length of the intervals, once changes were left out.
    interval: Option<Span>,
    /// Where the changes of the last interval begin in `kept`.
    last: usize,
}

impl Changes {
    /// An empty record that keeps `most` changes, 8 or more.
    pub(crate) fn new(most: usize) -> Changes {
        Changes { most: most.max(8), kept: Vec::new(), interval: None, last: 0 }
    }

    /// Records a change; `at` is not before that of the last one.
    pub(crate) fn push(&mut self, at: Time, value: f64) {
        self.kept.push((at, value));
        if let Some(interval) = self.interval {
            let newest = self.kept.len() - 1;
            if number(at, interval) != number(self.kept[self.last].0, interval) {
                self.last = newest;
            } else if newest - self.last >= 2 {
                let thinned = thin(&self.kept[self.last..]);
                self.kept.truncate(self.last);
                self.kept.extend(thinned);
            }
        }
        if self.kept.len() > self.most {
            self.widen();
        }
    }

    /// The changes that were kept, in order.
    pub(crate) fn kept(&self) -> &[(Time, f64)] {
        &self.kept
    }

    /// The length of the intervals of which some changes were left out; `None` if all are there.
    pub(crate) fn interval(&self) -> Option<Span> {
        self.interval
    }

    /// Doubles the intervals until half of the record is free.
    fn widen(&mut self) {
        let (Some(&(first, _)), Some(&(end, _))) = (self.kept.first(), self.kept.last()) else { return };
        // Below this each interval would have one change on average.
        let least = end.since(first).as_ps() / self.most as u64;
        let mut interval = match self.interval {
            Some(interval) => interval.saturating_mul(2),
            None => Span::from_ps(least.max(1_000).div_ceil(1_000).next_power_of_two() * 1_000),
        };
        loop {
            let of_one = |a: &(Time, f64), b: &(Time, f64)| number(a.0, interval) == number(b.0, interval);
            self.kept = self.kept.chunk_by(of_one).flat_map(thin).collect();
            if self.kept.len() <= self.most / 2 {
                break;
            }
            interval = interval.saturating_mul(2);
        }
        self.interval = Some(interval);
        let newest = self.kept.last().map(|&(at, _)| number(at, interval));
        self.last = self.kept.iter().rposition(|&(at, _)| Some(number(at, interval)) != newest).map_or(0, |i| i + 1);
    }
}

/// Changes that are kept of an interval.
const KEPT: usize = 4;

/// The number of the interval that an instant lies in.
fn number(at: Time, interval: Span) -> u64 {
    at.since(Time::ZERO).as_ps() / interval.as_ps()
}

/// The first, the last, the first of the lowest and the first of the highest of some changes, in their order.
fn thin(changes: &[(Time, f64)]) -> Vec<(Time, f64)> {
    let of = |better: fn(f64, f64) -> bool| {
        let mut best = 0;
        for (place, &(_, value)) in changes.iter().enumerate() {
            if better(value, changes[best].1) {
                best = place;
            }
        }
        best
    };
    let mut places = [0, of(|a, b| a < b), of(|a, b| a > b), changes.len().saturating_sub(1)];
    places.sort_unstable();
    let mut kept: Vec<(Time, f64)> = Vec::with_capacity(KEPT);
    for (i, &place) in places.iter().enumerate() {
        if (i == 0 || places[i - 1] != place) && place < changes.len() {
            kept.push(changes[place]);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue that rises and falls in a pattern of its own, a change each 3 us.
    fn pattern(n: u64) -> Vec<(Time, f64)> {
        (0..n).map(|i| (Time::ZERO + Span::from_us(3 * i), ((i * 7919 + i / 13 * 31) % 1009) as f64)).collect()
    }

    fn recorded(changes: &[(Time, f64)], most: usize) -> Changes {
        let mut record = Changes::new(most);
        changes.iter().for_each(|&(at, value)| record.push(at, value));
        record
    }

    #[test]
    fn a_short_record_is_whole() {
        let changes = pattern(100);
        let record = recorded(&changes, 100);
        assert_eq!((record.kept(), record.interval()), (&changes[..], None));
    }

    /// Held against the definition: cut into intervals and thinned at once.
    #[test]
    fn a_long_record_has_the_first_last_lowest_and_highest_of_each_interval() {
        for n in [101, 128, 1_000, 5_003, 70_000] {
            let changes = pattern(n);
            let record = recorded(&changes, 100);
            let interval = record.interval().expect("some are left out");
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
            assert_eq!(record.kept(), expected, "{n} changes, {interval}");
            assert!((8..=100).contains(&record.kept().len()), "{n}: {}", record.kept().len());
        }
    }

    #[test]
    fn it_reaches_from_the_first_change_to_the_last() {
        let changes = pattern(12_345);
        let record = recorded(&changes, 50);
        assert_eq!((record.kept().first(), record.kept().last()), (changes.first(), changes.last()));
        let extremes =
            |of: &[(Time, f64)]| of.iter().fold((1e9, -1e9), |(a, b): (f64, f64), c| (a.min(c.1), b.max(c.1)));
        assert_eq!(extremes(record.kept()), extremes(&changes));
    }

    /// Many changes at one instant cannot be told apart by time.
    #[test]
    fn changes_of_one_instant() {
        let at = |i: u64| (Time::ZERO, (i % 17) as f64);
        let record = recorded(&(0..1000).map(at).collect::<Vec<_>>(), 10);
        assert_eq!(record.kept().iter().map(|c| c.1).collect::<Vec<_>>(), [0.0, 16.0, 13.0]);
    }
}
