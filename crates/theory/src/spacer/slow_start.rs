//! Slow start: Theorem 1, equations (1) to (11) and (17) to (21) of Guillemin et al.

use super::Spacer;

/// The interval from one acknowledgement that finds the spacer empty, or about to fill, to the acknowledgement of the
/// first segments sent from then on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// n, as the paper counts: from 0 if each segment is acknowledged, from 1 if every second is.
    pub number: u64,
    /// Its start, in s from the first cell of the transfer.
    pub start: f64,
    /// Lₙ: Δ, or less by σ/c if a segment of the interval before waits for a companion; in s.
    pub length: f64,
    /// pₙ: segments sent in it.
    pub segments: u64,
    /// cₙ: segments of the previous interval that no acknowledgement in it covers (0 or 1).
    pub left: u64,
    /// The window at its end, in segments: pₙ + cₙ.
    pub window: u64,
    /// The largest content in it, in cells.
    pub maximum: f64,
    /// True if the spacer empties before its end.
    pub empties: bool,
}

/// The course of slow start through the spacer.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowStart {
    /// The intervals from the first to ν, the last that begins with an empty spacer.
    pub intervals: Vec<Interval>,
    /// n₀: the first interval in which the spacer would not empty if no threshold came before.
    pub fills: u64,
    /// n₁: the first interval in which the window reaches the threshold, if the spacer always emptied.
    pub reaches: u64,
    /// τ_b: the time at which the window becomes b, in s.
    pub threshold_time: f64,
    /// t_b: the acknowledgement from which on the content only oscillates, as long as the window
    /// stays b; in s.
    pub oscillation_time: f64,
    /// 𝒱_b⁻: the lower value of that oscillation, in cells.
    pub low: f64,
    /// 𝒱_b⁺: the upper value, in cells.
    pub high: f64,
    /// C1: true if the oscillation begins before the window of b segments is acknowledged and grows again. Otherwise
    /// the content passes the levels of Theorem 1 without oscillating there; Theorem 2 and Theorem 3 keep their final
    /// values.
    pub condition: bool,
}

impl SlowStart {
    /// Returns interval ν = min(n₀, n₁).
    pub fn last(&self) -> Interval {
        self.intervals[self.intervals.len() - 1]
    }
}

impl Spacer {
    /// Computes slow start until the content oscillates at the window b.
    pub fn slow_start(&self) -> SlowStart {
        let first = self.d - 1;
        let mut intervals: Vec<Interval> = Vec::new();
        let mut last = self.first_interval(first);
        let mut growing = last.window;
        while last.window < self.b && last.empties {
            intervals.push(last);
            (last, growing) = self.next_interval(last);
        }
        intervals.push(last);

        let d = self.d as f64;
        let end = last.start + last.length;
        let missing = self.b.saturating_sub(last.window);
        let threshold_time = match missing {
            // The first interval holds the whole initial window at once.
            0 if last.number == first => 0.0,
            0 => last.start + (growing - 1) as f64 * d * self.step(),
            _ => end + (missing - 1) as f64 * d * self.step(),
        };
        // The part of the interval, in segments, that the source has yet to send at the first acknowledgement of the
        // next.
        let behind = last.segments as f64 - last.length * self.h / self.sigma;
        let debt = missing as f64 + behind.max(0.0);
        let catch_up = debt * self.c / (d * (self.h - self.c));
        let acks = libm::ceil(catch_up - 1e-9).max(missing as f64);
        let oscillation_time = end + acks * d * self.step();
        SlowStart {
            fills: self.first_where(|w| w as f64 * self.sigma >= self.pipe()),
            reaches: self.first_where(|w| w >= self.b),
            threshold_time,
            oscillation_time,
            low: self.low(self.b),
            high: self.high(self.b),
            condition: threshold_time + (self.b as f64 - 1.0) * self.step() > oscillation_time,
            intervals,
        }
    }

    fn first_interval(&self, number: u64) -> Interval {
        let maximum = self.w0 as f64 * self.sigma * self.gain();
        self.interval(number, 0.0, self.w0, 0, maximum)
    }

    /// Returns the interval after `before`, and the number of its acknowledgements that increase the window.
    fn next_interval(&self, before: Interval) -> (Interval, u64) {
        let acks = before.window / self.d;
        let growing = acks.min(self.b - before.window);
        let window = before.window + growing;
        let start = before.start + before.length;
        let next = self.interval(before.number + 1, start, window, before.window % self.d, self.peak_of(acks, growing));
        (next, growing)
    }

    pub(super) fn interval(&self, number: u64, start: f64, window: u64, left: u64, maximum: f64) -> Interval {
        let length = self.delta + (self.d - left) as f64 * self.step();
        Interval {
            number,
            start,
            length,
            segments: window - left,
            left,
            window,
            // The source may still be sending when the next interval begins.
            maximum: maximum.min(length * (self.h - self.c)),
            empties: (window as f64) * self.sigma < self.pipe(),
        }
    }

    /// Returns the first interval whose window satisfies `done`, growing without limit.
    fn first_where(&self, done: impl Fn(u64) -> bool) -> u64 {
        let mut window = self.w0;
        let mut number = self.d - 1;
        while !done(window) && window < u64::MAX {
            window = window.saturating_add(window / self.d);
            number += 1;
        }
        number
    }
}
