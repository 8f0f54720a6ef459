//! Mean and variance in one pass.

/// Mean and sample variance of values that are added one by one. Welford 1962, which does not cancel when the mean is
/// large relative to the spread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// Creates a sample without values.
    pub const fn new() -> Moments {
        Moments { count: 0, mean: 0.0, squares: 0.0 }
    }
    /// Takes one value.
    #[inline]
    pub fn push(&mut self, value: f64) {
        self.count += 1;
        let from_old = value - self.mean;
        self.mean += from_old / self.count as f64;
        self.squares += from_old * (value - self.mean);
    }
    /// Takes all values of `other`. Chan, Golub and LeVeque 1979.
    pub fn merge(&mut self, other: &Moments) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let (a, b) = (self.count as f64, other.count as f64);
        let apart = other.mean - self.mean;
        self.mean += apart * (b / (a + b));
        self.squares += other.squares + apart * apart * (a * b / (a + b));
        self.count += other.count;
    }
    /// Returns the number of values.
    pub const fn count(&self) -> u64 {
        self.count
    }
    /// Returns their mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }
    /// Returns their sample variance, divided by count - 1; `None` for fewer than two.
    pub fn variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.squares / (self.count - 1) as f64)
    }
    /// Returns their sample standard deviation; `None` for fewer than two.
    pub fn sd(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }
    /// Returns the standard error of the mean; `None` for fewer than two.
    pub fn standard_error(&self) -> Option<f64> {
        self.variance().map(|v| (v / self.count as f64).sqrt())
    }
}

impl Extend<f64> for Moments {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, values: I) {
        values.into_iter().for_each(|v| self.push(v));
    }
}
impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Moments {
        let mut moments = Moments::new();
        moments.extend(values);
        moments
    }
}

/// Returns the mean of a sample; `None` if it is empty.
pub fn mean(sample: &[f64]) -> Option<f64> {
    sample.iter().copied().collect::<Moments>().mean()
}

/// Returns the sample standard deviation (divided by n - 1); `None` for fewer than two values.
pub fn sd(sample: &[f64]) -> Option<f64> {
    sample.iter().copied().collect::<Moments>().sd()
}
