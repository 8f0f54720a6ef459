//! The mean of a quantity over time.

use cellway_units::{Span, Time};

/// Follows a whole number that changes at instants, such as the cells in a queue. The integral is exact, in
/// 128 bits of picoseconds: no order of events and no length of run costs a digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeWeighted {
    integral: u128,
    value: u64,
    max: u64,
    start: Time,
    last: Time,
}

impl TimeWeighted {
    /// Creates a quantity that is `value` from `start` on.
    pub const fn new(start: Time, value: u64) -> TimeWeighted {
        TimeWeighted { integral: 0, value, max: value, start, last: start }
    }

    /// Sets the quantity to `value` at `now`. An instant before the last change counts as that one.
    #[inline]
    pub fn set(&mut self, now: Time, value: u64) {
        self.advance(now);
        self.value = value;
        self.max = self.max.max(value);
    }

    /// Increases the quantity by `n` at `now`.
    #[inline]
    pub fn add(&mut self, now: Time, n: u64) {
        self.set(now, self.value.saturating_add(n));
    }

    /// Decreases the quantity by `n` at `now`, to no less than zero.
    #[inline]
    pub fn sub(&mut self, now: Time, n: u64) {
        self.set(now, self.value.saturating_sub(n));
    }

    #[inline]
    fn advance(&mut self, now: Time) {
        let held = now.since(self.last).as_ps();
        self.integral += u128::from(self.value) * u128::from(held);
        self.last = self.last.max(now);
    }

    /// Returns the present value.
    #[inline]
    pub const fn value(&self) -> u64 {
        self.value
    }

    /// Returns the largest value since the start or the last restart.
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// Returns the integral from the start to `now`, in units times picoseconds.
    pub fn integral(&self, now: Time) -> u128 {
        let mut to_now = *self;
        to_now.advance(now);
        to_now.integral
    }

    /// Returns the mean from the start to `now`; `None` if no time has passed.
    pub fn mean(&self, now: Time) -> Option<f64> {
        let span: Span = now.since(self.start);
        (!span.is_zero()).then(|| self.integral(now) as f64 / span.as_ps() as f64)
    }

    /// Begins again at `now` with the value kept: the end of a warm-up, or of a bin.
    pub fn restart(&mut self, now: Time) {
        *self = TimeWeighted::new(now, self.value);
    }

    /// Returns the mean since the start or the last bin, and begins the next bin at `now`.
    pub fn take_mean(&mut self, now: Time) -> Option<f64> {
        let mean = self.mean(now);
        self.restart(now);
        mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    /// 0 for 10, 3 for 20, 1 for 10: 70 over 40.
    #[test]
    fn a_staircase_by_hand() {
        let mut queue = TimeWeighted::new(at(0), 0);
        queue.add(at(10), 3);
        queue.sub(at(30), 2);
        assert_eq!(queue.integral(at(40)), 70);
        assert_eq!((queue.mean(at(40)), queue.max(), queue.value()), (Some(1.75), 3, 1));
    }

    #[test]
    fn a_warm_up_leaves_no_trace_but_the_value() {
        let mut queue = TimeWeighted::new(at(0), 900);
        queue.set(at(50), 2);
        queue.restart(at(100));
        assert_eq!((queue.mean(at(100)), queue.mean(at(110)), queue.max()), (None, Some(2.0), 2));
    }

    #[test]
    fn bins_follow_one_another() {
        let mut queue = TimeWeighted::new(at(0), 1);
        queue.set(at(15), 5);
        assert_eq!((queue.take_mean(at(10)), queue.value()), (Some(1.5), 5), "a bin must be taken in time");
        let mut queue = TimeWeighted::new(at(0), 1);
        assert_eq!(queue.take_mean(at(10)), Some(1.0));
        queue.set(at(15), 5);
        assert_eq!(queue.take_mean(at(20)), Some(3.0));
    }

    #[test]
    fn the_longest_run_at_the_largest_value_does_not_overflow() {
        let mut queue = TimeWeighted::new(at(0), u64::MAX);
        queue.set(Time::MAX, u64::MAX);
        assert_eq!(queue.mean(Time::MAX), Some(u64::MAX as f64));
    }
}
