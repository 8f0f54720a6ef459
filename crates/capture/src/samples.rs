//! The samples of a distribution, in bounded memory, and other random choices.

/// The most samples that are kept; of more, a random choice is kept in which each has the same probability.
pub const MAX_SAMPLES: usize = 100_000;

/// A random choice of values. Which are kept of more than the limit depends on their order alone: the random numbers
/// have a fixed seed.
#[derive(Clone, Debug)]
pub(crate) struct Choice<T> {
    seen: u64,
    kept: Vec<T>,
    limit: usize,
    random: u64,
}

impl<T> Choice<T> {
    /// Starts without values; keeps at most `limit`.
    pub(crate) fn new(limit: usize) -> Choice<T> {
        Choice { seen: 0, kept: Vec::new(), limit, random: 0 }
    }

    /// Returns the kept values.
    pub(crate) fn into_kept(self) -> Vec<T> {
        self.kept
    }

    /// Returns the number of kept values.
    pub(crate) fn len(&self) -> usize {
        self.kept.len()
    }

    /// Takes a value. Returns the one that is not kept for it, itself or another; `None` if there is still room.
    pub(crate) fn add(&mut self, value: T) -> Option<T> {
        self.seen += 1;
        if self.kept.len() < self.limit {
            self.kept.push(value);
            return None;
        }
        // Algorithm R: J. S. Vitter, Random sampling with a reservoir, ACM TOMS 11(1), 1985.
        let at = self.below(self.seen);
        match usize::try_from(at).ok().and_then(|at| self.kept.get_mut(at)) {
            Some(kept) => Some(std::mem::replace(kept, value)),
            None => Some(value),
        }
    }

    /// Lowers the limit to half of the kept values. Returns those that are not kept any more, a random choice, too.
    pub(crate) fn halve(&mut self) -> Vec<T> {
        self.limit = self.kept.len().div_ceil(2);
        let mut dropped = Vec::with_capacity(self.limit);
        while self.kept.len() > self.limit {
            let at = self.below(self.kept.len() as u64) as usize;
            dropped.push(self.kept.swap_remove(at));
        }
        dropped
    }

    /// Returns a random number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Samples of a distribution.
#[derive(Clone, Debug)]
pub struct Samples(Choice<f64>);

impl Samples {
    /// Starts without samples; keeps at most `limit`.
    pub fn new(limit: usize) -> Samples {
        Samples(Choice::new(limit))
    }

    /// Takes a sample. Ignores one that is not a finite number.
    pub fn add(&mut self, value: f64) {
        if value.is_finite() {
            let _ = self.0.add(value);
        }
    }

    /// Returns the number of all samples, kept or not.
    pub fn seen(&self) -> u64 {
        self.0.seen
    }

    /// Returns the kept samples, rising.
    pub fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.0.kept.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    }
}

impl Default for Samples {
    fn default() -> Samples {
        Samples::new(MAX_SAMPLES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_samples_are_kept_up_to_the_limit() {
        let mut samples = Samples::new(3);
        [3.0, f64::NAN, 1.0, 2.0].into_iter().for_each(|value| samples.add(value));
        assert_eq!((samples.seen(), samples.sorted()), (3, vec![1.0, 2.0, 3.0]));
    }

    /// Of 0 to 99,999 the mean of 1,000 is 50,000 with a standard deviation of 913.
    #[test]
    fn of_more_each_is_kept_with_the_same_probability() {
        let mut samples = Samples::new(1_000);
        (0..100_000).for_each(|n| samples.add(f64::from(n)));
        let kept = samples.sorted();
        let mean = kept.iter().sum::<f64>() / 1_000.0;
        assert!(kept.len() == 1_000 && (mean - 50_000.0).abs() < 4.0 * 913.0, "{mean}");
    }

    /// Of 0 to 99,999, 1,000 and then 250 are kept, half of them while the values come.
    #[test]
    fn a_lower_limit_keeps_each_with_the_same_probability() {
        let mut choice = Choice::new(1_000);
        let (mut added, mut dropped) = (0, 0);
        for n in 0..100_000 {
            added += 1;
            dropped += usize::from(choice.add(f64::from(n)).is_some());
            if n == 30_000 || n == 60_000 {
                dropped += choice.halve().len();
            }
        }
        assert_eq!((added - dropped, choice.len()), (250, 250));
        let kept = choice.into_kept();
        let mean = kept.iter().sum::<f64>() / 250.0;
        // Uniform numbers have a standard deviation of 28,868, their mean of 250 one of 1,826.
        assert!((mean - 50_000.0).abs() < 4.0 * 1_826.0, "{mean}");
        let early = kept.iter().filter(|value| **value < 30_000.0).count() as f64;
        assert!((early - 75.0).abs() < 4.0 * (250.0 * 0.3 * 0.7f64).sqrt(), "{early}");
    }
}
