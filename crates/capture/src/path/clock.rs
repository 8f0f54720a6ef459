//! The clock of a host in its timestamps, beside that of the tap.
//!
//! A delay over one direction is a difference of two clocks. Its least value is unknown, its variation is not: the least
//! is subtracted. Two clocks that run at different rates are compared along the line below all differences
//! (S. B. Moon, P. Skelly, D. Towsley, *Estimation and removal of clock skew from network delay measurements*, 1999).

use super::series::Sample;

/// The ticks of clocks in use, in s. RFC 7323, section 5.4, allows 1 ms to 1 s; Linux also has 1 us.
const TICKS: [f64; 6] = [1e-6, 1e-3, 2e-3, 4e-3, 10e-3, 100e-3];
/// The largest difference between a tick in use and the measured one, as a ratio.
const NEAR: f64 = 1.2;
/// The largest difference between the rates of two clocks of quartz. A larger one is that of a queue.
const MAX_SKEW: f64 = 2e-4;
/// The least time over which a rate is measured, in s.
const LEAST_TIME: f64 = 0.05;

/// The clock of a host: its tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Clock {
    /// The duration of a unit of its timestamps, in s.
    pub(super) tick: f64,
    first: u32,
}

impl Clock {
    /// Measures the tick of a clock; `None` without timestamps, or with one that none of those in use explains.
    pub(super) fn measure(samples: &[Sample]) -> Option<Clock> {
        let (first, last) = (samples.first()?, samples.last()?);
        let without = samples.iter().filter(|sample| sample.stamp == 0).count();
        if without * 10 > samples.len() {
            return None;
        }
        let ticks = f64::from(last.stamp.wrapping_sub(first.stamp).cast_signed());
        let time = last.time(first.at);
        if time < LEAST_TIME || ticks < 2.0 {
            return None;
        }
        let measured = time / ticks;
        let tick = TICKS.into_iter().find(|tick| (measured / tick).max(tick / measured) < NEAR)?;
        Some(Clock { tick, first: first.stamp })
    }

    /// Returns the time of a stamp since the first one, in s.
    pub(super) fn time(&self, stamp: u32) -> f64 {
        f64::from(stamp.wrapping_sub(self.first).cast_signed()) * self.tick
    }
}

/// Returns the line below all points (time, value), as its value at time 0 and its slope; the slope is 0 if it is
/// more than that of two clocks. Times must rise.
pub(super) fn below(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for &point in points {
        while let [.., a, b] = hull[..] {
            let is_above = (b.0 - a.0) * (point.1 - a.1) <= (b.1 - a.1) * (point.0 - a.0);
            if !is_above {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    let least = points.iter().map(|point| point.1).min_by(f64::total_cmp)?;
    let (start, end) = (hull.first()?.0, hull.last()?.0);
    let middle = f64::midpoint(start, end);
    let edge = hull.windows(2).find(|edge| edge[0].0 <= middle && middle <= edge[1].0);
    let line = edge.and_then(|edge| {
        let (time, rise) = (edge[1].0 - edge[0].0, edge[1].1 - edge[0].1);
        // A line from one half of the time to the other, at least.
        (time > (end - start) / 4.0 && rise.abs() < MAX_SKEW * time)
            .then(|| (edge[0].1 - rise / time * edge[0].0, rise / time))
    });
    Some(line.unwrap_or((least, 0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_below_is_that_of_two_clocks() {
        // 50 us each second, with delays above it that have a period of 7.
        let points: Vec<(f64, f64)> =
            (0..1000).map(|n| (f64::from(n), 3.0 + 50e-6 * f64::from(n) + f64::from(n % 7) * 0.01)).collect();
        let (at, slope) = below(&points).unwrap();
        assert!((at - 3.0).abs() < 1e-3 && (slope - 50e-6).abs() < 1e-6, "{at} {slope}");
        // A queue that grows is no clock.
        let queue: Vec<(f64, f64)> = (0..1000).map(|n| (f64::from(n), 0.01 * f64::from(n))).collect();
        assert_eq!(below(&queue), Some((0.0, 0.0)));
        assert_eq!(below(&[]), None);
    }

    #[test]
    fn the_tick_is_one_in_use() {
        let sample = |n: u32| Sample {
            at: u64::from(n) * 10_000_000,
            octets: 1,
            delay: 0,
            burst: 1,
            stamp: u32::MAX.wrapping_add(n * 10),
            length: 0,
        };
        // The stamp wraps to 9; none is 0, which is that of a host without timestamps.
        let samples: Vec<Sample> = (0..100).map(sample).collect();
        assert_eq!(Clock::measure(&samples).map(|clock| clock.tick), Some(1e-3));
        assert_eq!(Clock::measure(&samples).map(|clock| clock.time(9)), Some(0.010));
    }
}
