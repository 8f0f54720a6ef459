//! A queue in the order of places whose entries are added as runs that are in order, one from each port.

use crate::place::Place;
use crate::slim;

/// An entry, with its position in the order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed<T> {
    pub(super) place: Place,
    pub(super) item: T,
}

/// The entries from the first that has not been taken on.
#[derive(Clone, Debug)]
pub(super) struct Runs<T> {
    entries: Vec<Placed<T>>,
    /// The first entry that has not been taken.
    next: usize,
    /// Boxed, since the entries of most lines come as one run.
    others: Option<Box<Others<T>>>,
}

/// The runs behind the first.
#[derive(Clone, Debug)]
struct Others<T> {
    /// Their beginnings.
    begins: Vec<usize>,
    /// Reused by `merge`.
    merged: Vec<Placed<T>>,
}

impl<T> Default for Runs<T> {
    fn default() -> Runs<T> {
        Runs { entries: Vec::new(), next: 0, others: None }
    }
}

impl<T: Copy> Runs<T> {
    /// Adds an entry. Returns true if it is the first, or does not follow the last.
    #[inline(always)]
    pub(super) fn push(&mut self, place: Place, item: T) -> bool {
        let last = self.entries.last().map(|last| last.place);
        let begins = last.is_some_and(|last| last > place);
        if begins {
            self.begin_run();
        }
        slim::push(&mut self.entries, Placed { place, item });
        begins || last.is_none()
    }

    /// Begins a run behind the others.
    #[inline(never)]
    fn begin_run(&mut self) {
        let others = || Box::new(Others { begins: Vec::new(), merged: Vec::new() });
        self.others.get_or_insert_with(others).begins.push(self.entries.len());
    }

    /// Brings the entries into their order; those of one place stay in theirs. To be called before the first is asked for.
    #[inline]
    pub(super) fn settle(&mut self) {
        if self.others.as_ref().is_some_and(|others| !others.begins.is_empty()) {
            self.merge();
        }
    }

    /// Merges neighbouring runs in pairs until one is left.
    #[inline(never)]
    fn merge(&mut self) {
        let Some(others) = &mut self.others else { return };
        let Others { begins, merged } = &mut **others;
        self.entries.drain(..self.next);
        begins.iter_mut().for_each(|begin| *begin -= self.next);
        self.next = 0;
        let end = self.entries.len();
        while !begins.is_empty() {
            let (mut first, mut kept) = (0, 0);
            for pair in 0..begins.len() / 2 + 1 {
                let [second, behind] = [0, 1].map(|other| begins.get(2 * pair + other).copied().unwrap_or(end));
                merge_two(&self.entries[first..second], &self.entries[second..behind], merged);
                first = behind;
                if behind < end {
                    begins[kept] = behind;
                    kept += 1;
                }
            }
            begins.truncate(kept);
            std::mem::swap(&mut self.entries, merged);
            merged.clear();
        }
    }

    /// Returns the first.
    #[inline]
    pub(super) fn first(&self) -> Option<&Placed<T>> {
        self.entries.get(self.next)
    }

    /// Takes the first away, if there is one.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.next += 1;
    }

    /// Forgets the entries that have been taken. To be called before others are added.
    #[inline]
    pub(super) fn tidy(&mut self) {
        if self.next == self.entries.len() {
            self.entries.clear();
            self.next = 0;
        } else if self.next > 64 && self.next > self.entries.len() / 2 {
            self.entries.drain(..self.next);
            self.next = 0;
        }
    }
}

/// Appends the entries of two runs in their order, those of `a` before those of `b` at one place.
#[inline]
fn merge_two<T: Copy>(mut a: &[Placed<T>], mut b: &[Placed<T>], to: &mut Vec<Placed<T>>) {
    while let ([x, rest_of_a @ ..], [y, rest_of_b @ ..]) = (a, b) {
        if y.place < x.place {
            to.push(*y);
            b = rest_of_b;
        } else {
            to.push(*x);
            a = rest_of_a;
        }
    }
    to.extend_from_slice(a);
    to.extend_from_slice(b);
}

#[cfg(test)]
mod tests {
    use cellway_units::Time;

    use super::*;
    use crate::fabric::windows::Moment;

    /// Runs of many numbers and lengths, some taken before others are added, against a stable sort.
    #[test]
    fn runs_are_merged_as_a_stable_sort_has_them() {
        let mut draws = 1u64;
        let mut below = |n: u64| {
            draws = draws.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (draws >> 33) % n
        };
        for _ in 0..500 {
            let mut runs = Runs::default();
            let (mut all, mut number) = (Vec::new(), 0);
            for _ in 0..3 {
                for _ in 0..below(9) {
                    let (mut at, from) = (below(50), below(3) as u32);
                    for _ in 0..below(6) {
                        let place = Place::new(Moment::first(Time::from_ps(at)), from);
                        runs.push(place, number);
                        all.push((place, number));
                        number += 1;
                        at += below(3);
                    }
                }
                runs.settle();
                all.sort_by_key(|&(place, _)| place);
                for _ in 0..below(all.len() as u64 + 1) {
                    let first = runs.first().copied().expect("as many are there");
                    assert_eq!((first.place, first.item), all.remove(0));
                    runs.advance();
                }
                assert_eq!(runs.first().is_none(), all.is_empty());
                runs.tidy();
            }
        }
    }
}
