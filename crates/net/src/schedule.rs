//! Values that change at known instants, once or again in each period.

use std::sync::Arc;

use cellway_units::{Span, Time};

/// The changes of a value: from each instant on it is the value beside it, until the next. A schedule with a period begins
/// again after each. Copies share the changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule<T> {
    /// In ascending order, one for each instant; all before the end of the period.
    changes: Arc<[(Time, T)]>,
    /// The time after which the changes are made again. Never zero.
    period: Option<Span>,
    /// The time that is added to the instants of all changes.
    start: Span,
}

impl<T: Copy> Schedule<T> {
    /// Creates a schedule whose changes are made once. Of several changes at one instant the last applies.
    pub fn once(mut changes: Vec<(Time, T)>) -> Schedule<T> {
        changes.sort_by_key(|&(at, _)| at);
        // `dedup_by` keeps the first of equals, so the last has to move there.
        changes.dedup_by(|later, earlier| {
            let is_same = later.0 == earlier.0;
            if is_same {
                earlier.1 = later.1;
            }
            is_same
        });
        Schedule { changes: changes.into(), period: None, start: Span::ZERO }
    }

    /// Creates a schedule whose changes are made again after each `period`.
    ///
    /// # Panics
    ///
    /// If the period is zero, or a change is not before its end.
    pub fn repeating(changes: Vec<(Time, T)>, period: Span) -> Schedule<T> {
        let once = Schedule::once(changes);
        assert!(once.changes.last().is_none_or(|&(at, _)| at < Time::ZERO + period), "changes are within the period");
        assert!(!period.is_zero(), "a period has a length");
        Schedule { period: Some(period), ..once }
    }

    /// Moves the start of the schedule to `start`.
    #[must_use]
    pub fn starting_at(self, start: Span) -> Schedule<T> {
        Schedule { start, ..self }
    }

    /// Returns true if the value never changes.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

/// A value that follows a schedule.
#[derive(Clone, Debug)]
pub(crate) struct Scheduled<T> {
    schedule: Schedule<T>,
    place: Place<T>,
}

/// The changes of a schedule that have been made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<T> {
    /// The index of the next change.
    next: usize,
    /// The start of the period of the next change.
    base: Time,
    value: T,
}

impl<T: Copy> Scheduled<T> {
    /// Creates a value that is `first` until the first change.
    pub(crate) fn new(first: T, schedule: Schedule<T>) -> Scheduled<T> {
        Scheduled { place: Place { next: 0, base: Time::ZERO + schedule.start, value: first }, schedule }
    }

    /// Returns the value after the changes that have been made.
    pub(crate) fn value(&self) -> T {
        self.place.value
    }

    /// Replaces the value until the next change.
    pub(crate) fn set(&mut self, value: T) {
        self.place.value = value;
    }

    /// Returns the changes that have been made.
    pub(crate) fn place(&self) -> Place<T> {
        self.place
    }

    /// Takes back all changes that were made after `place` was returned.
    pub(crate) fn return_to(&mut self, place: Place<T>) {
        self.place = place;
    }

    /// Returns the instant of the next change; the largest instant if there is none.
    pub(crate) fn next_change(&self) -> Time {
        let after = |&(at, _): &(Time, T)| self.place.base + at.since(Time::ZERO);
        self.schedule.changes.get(self.place.next).map_or(Time::MAX, after)
    }

    /// Makes the next change, if there is one.
    pub(crate) fn change(&mut self) {
        let Some(&(_, value)) = self.schedule.changes.get(self.place.next) else { return };
        self.place.value = value;
        self.place.next += 1;
        if let Some(period) = self.schedule.period.filter(|_| self.place.next == self.schedule.changes.len()) {
            self.place.next = 0;
            self.place.base += period;
        }
    }

    /// Makes all changes until `now`, by a binary search.
    pub(crate) fn advance(&mut self, now: Time) {
        if self.schedule.is_empty() || self.next_change() > now {
            return;
        }
        if let Some(period) = self.schedule.period {
            // A whole period has all values, so that of its last change holds after it.
            let periods = now.since(self.place.base).as_ps() / period.as_ps();
            if periods > 0 {
                self.place.base += period.saturating_mul(periods);
                self.place.next = 0;
                self.place.value = self.schedule.changes[self.schedule.changes.len() - 1].1;
            }
        }
        let within = Time::ZERO + now.since(self.place.base);
        let ahead = &self.schedule.changes[self.place.next..];
        let made = ahead.partition_point(|&(at, _)| at <= within);
        if made > 0 {
            self.place.next += made - 1;
            self.change();
        }
    }

    /// Returns the value at `now`, which is not before the `now` of an earlier call.
    pub(crate) fn at(&mut self, now: Time) -> T {
        self.advance(now);
        self.place.value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ps(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    /// Of two changes at one instant the last applies, in whatever order the instants come.
    #[test]
    fn changes_are_sorted_and_the_last_of_an_instant_applies() {
        let schedule = |changes: &[(u64, u8)]| Schedule::once(changes.iter().map(|&(at, v)| (ps(at), v)).collect());
        assert_eq!(schedule(&[(7, 1), (3, 2), (7, 3), (3, 4)]), schedule(&[(3, 4), (7, 3)]));
        assert!(schedule(&[]).is_empty());
    }

    proptest! {
        /// The value at any instant is that of the last change of the unrolled schedule.
        #[test]
        fn the_value_is_that_of_the_last_change(
            changes in prop::collection::btree_map(0u64..50, 1u32..9, 1..8),
            beyond in 0u64..20,
            repeats: bool,
            start in 0u64..100,
            steps in prop::collection::vec(0u64..120, 1..20),
        ) {
            let period = changes.keys().next_back().unwrap() + 1 + beyond;
            let listed: Vec<(Time, u32)> = changes.iter().map(|(&at, &value)| (ps(at), value)).collect();
            let schedule = match repeats {
                true => Schedule::repeating(listed, Span::from_ps(period)),
                false => Schedule::once(listed),
            };
            let schedule = schedule.starting_at(Span::from_ps(start));
            let (mut by_advance, mut one_by_one) = (Scheduled::new(0, schedule.clone()), Scheduled::new(0, schedule));
            let mut now = 0;
            for step in steps {
                now += step;
                let last = |until: u64| changes.range(..=until).next_back().map(|(_, &value)| value);
                let expected = match now.checked_sub(start) {
                    None => None,
                    Some(since) if repeats && since >= period => last(since % period).or(last(period)),
                    Some(since) => last(since),
                };
                prop_assert_eq!(by_advance.at(ps(now)), expected.unwrap_or(0), "at {}", now);
                while one_by_one.next_change() <= ps(now) {
                    one_by_one.change();
                }
                prop_assert_eq!(one_by_one.value(), by_advance.value());
                prop_assert_eq!(one_by_one.next_change(), by_advance.next_change());
            }
        }
    }
}
