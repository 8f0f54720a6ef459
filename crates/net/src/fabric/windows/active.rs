//! A set of small numbers that is run through in their order, while others behind the present one are added.

/// The numbers, as bits, and the words that are not zero, as bits again.
#[derive(Clone, Debug)]
pub(super) struct ActiveSet {
    words: Vec<u64>,
    filled: Vec<u64>,
}

impl ActiveSet {
    /// An empty set of numbers below `count`.
    pub(super) fn new(count: usize) -> ActiveSet {
        let words = count.div_ceil(64);
        ActiveSet { words: vec![0; words], filled: vec![0; words.div_ceil(64)] }
    }

    #[inline]
    pub(super) fn insert(&mut self, number: u32) {
        let word = number as usize / 64;
        self.words[word] |= 1 << (number % 64);
        self.filled[word / 64] |= 1 << (word % 64);
    }

    #[inline]
    pub(super) fn remove(&mut self, number: u32) {
        let word = number as usize / 64;
        self.words[word] &= !(1 << (number % 64));
        if self.words[word] == 0 {
            self.filled[word / 64] &= !(1 << (word % 64));
        }
    }

    /// Returns the numbers in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.next_from(0), |&number| self.next_from(number + 1))
    }

    /// Returns true if a number is in the set.
    #[inline]
    pub(super) fn contains(&self, number: u32) -> bool {
        self.words[number as usize / 64] & 1 << (number % 64) != 0
    }

    /// Returns the least number of the set from `number` on.
    #[inline]
    pub(super) fn next_from(&self, number: u32) -> Option<u32> {
        let word = number as usize / 64;
        let left = self.words.get(word)? & u64::MAX << (number % 64);
        if left != 0 {
            return Some(word as u32 * 64 + left.trailing_zeros());
        }
        self.first_of(self.filled_from(word + 1)?)
    }

    /// Returns the first word from `word` on that is not zero.
    fn filled_from(&self, word: usize) -> Option<usize> {
        let mut at = word / 64;
        let mut left = self.filled.get(at)? & u64::MAX << (word % 64);
        while left == 0 {
            at += 1;
            left = *self.filled.get(at)?;
        }
        Some(at * 64 + left.trailing_zeros() as usize)
    }

    fn first_of(&self, word: usize) -> Option<u32> {
        Some(word as u32 * 64 + self.words[word].trailing_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_in_order_also_those_added_behind() {
        let mut set = ActiveSet::new(10_000);
        let (mut seen, mut next) = (Vec::new(), 0);
        [9_999, 4_095, 4_096, 63, 64, 0].into_iter().for_each(|number| set.insert(number));
        set.remove(64);
        while let Some(number) = set.next_from(next) {
            seen.push(number);
            set.remove(number);
            if number == 63 {
                [65, 128, 8_000].into_iter().for_each(|number| set.insert(number));
            }
            next = number + 1;
        }
        assert_eq!(seen, [0, 63, 65, 128, 4_095, 4_096, 8_000, 9_999]);
        assert_eq!((set.next_from(0), ActiveSet::new(0).next_from(0)), (None, None));
    }
}
