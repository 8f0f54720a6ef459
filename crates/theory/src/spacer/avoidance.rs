//! Congestion avoidance: Theorems 2 and 3, equations (12) to (16), (22) and (23) of Guillemin et al.

use super::{SlowStart, Spacer};

/// The course of congestion avoidance through the spacer. As in the paper, the window grows by one segment when all
/// segments of the window have been acknowledged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Avoidance {
    /// m₀: the growth of the window b, in segments, until the spacer no longer empties.
    pub fills: u64,
    /// The time at which the window becomes w, in s from the first cell of the transfer; slow start's τ_b if b = w.
    pub window_time: f64,
    /// The latest time from which on the content only oscillates; in s.
    pub oscillation_time: f64,
    /// The largest content from the end of slow start on, in cells.
    pub maximum: f64,
    /// 𝒱_w⁻: the lower value of the final oscillation, in cells.
    pub low: f64,
    /// 𝒱_w⁺: the upper value, in cells.
    pub high: f64,
}

impl Spacer {
    /// Computes congestion avoidance until the window is w.
    pub fn avoidance(&self) -> Avoidance {
        let start = self.slow_start();
        let d = self.d as f64;
        let gap = d * self.step();
        let mut last = start.last();
        let mut window = self.b;
        // Acknowledgements since the window last grew.
        let mut counted = 0;
        let mut window_time = start.threshold_time;
        let mut maximum: f64 = self.high(self.w);
        if last.window >= self.b {
            // Those of slow start's last interval that arrive after the threshold was reached.
            let before = start.intervals.iter().rev().nth(1);
            let acks = before.map_or(0, |i| i.window / self.d);
            counted = acks - before.map_or(0, |i| self.b - i.window);
        }
        while last.empties && window < self.w {
            let begin = last.start + last.length;
            let acks = last.window / self.d;
            let mut done = 0;
            let mut peak: f64 = d * self.gain();
            while window < self.w && window.div_ceil(self.d) - counted <= acks - done {
                done += window.div_ceil(self.d) - counted;
                counted = 0;
                window += 1;
                window_time = begin + (done - 1) as f64 * gap;
                let after = acks - done;
                // One acknowledgement releases d + 1 segments; those after it, d each.
                let sent = (d * after as f64 + d + 1.0) * self.gain();
                peak = peak.max(if after > 0 { sent.min(1.0 + d * self.gain()) } else { sent });
            }
            counted += acks - done;
            maximum = maximum.max(peak * self.sigma);
            last = self.interval(last.number + 1, begin, window, last.window % self.d, peak * self.sigma);
        }
        if window < self.w {
            // From here on the spacer never empties: acknowledgements arrive at its pace.
            let acks = acks_to_grow(window, self.w, self.d) - counted;
            window_time = match last.window >= self.b {
                true => last.start + last.length + (acks - 1) as f64 * gap,
                false => start.threshold_time + acks as f64 * gap,
            };
        }
        let settled = window_time + self.catch_up(&start) + self.round_trip();
        let short = self.pipe() - self.b as f64 * self.sigma;
        Avoidance {
            fills: libm::ceil(short.max(0.0) / self.sigma) as u64,
            window_time,
            oscillation_time: settled.max(start.oscillation_time),
            maximum,
            low: self.low(self.w),
            high: self.high(self.w),
        }
    }

    /// Returns the time after the last growth of the window in which the source still sends without a pause, in s: each
    /// growth puts it a segment behind, and each acknowledgement lets it recover a part.
    fn catch_up(&self, start: &SlowStart) -> f64 {
        let d = self.d as f64;
        let made_up = d * (self.h - self.c) / self.c;
        let left = (start.oscillation_time - start.threshold_time) / (d * self.step());
        let mut behind = left * made_up;
        for window in self.b..self.w {
            behind = (behind - window.div_ceil(self.d) as f64 * made_up).max(0.0) + 1.0;
        }
        libm::ceil(behind / made_up) * d * self.step()
    }
}

/// Returns the acknowledgements until a window of `from` segments has grown to `to`: the sum of ⌈W/d⌉.
fn acks_to_grow(from: u64, to: u64, d: u64) -> u64 {
    // ⌈1/2⌉ + … + ⌈n/2⌉ is ⌊(n + 1)² / 4⌋.
    let sum = |n: u64| if d == 1 { n * (n + 1) / 2 } else { (n + 1) * (n + 1) / 4 };
    sum(to - 1) - sum(from - 1)
}
