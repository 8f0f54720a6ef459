//! The rate of a path as that of its transfers, in windows of several round trips.

use super::busy::Point;
use super::estimate::{Interval, quantile};

/// The share of windows whose rate is lower than the estimate.
const QUANTILE: f64 = 0.9;
/// The parts of the capture whose estimates give the interval of the rate.
const PARTS: usize = 4;
/// The window: this many round trips, and at least this time (s).
const TRIPS: f64 = 10.0;
const LEAST_WINDOW: f64 = 0.2;
/// The windows of a capture, at least, if it is short.
const LEAST_WINDOWS: f64 = 8.0;
/// The windows of a capture, at most: those of longer ones are longer.
const MOST_WINDOWS: f64 = 1e5;
/// The deliveries of one packet and of two, at least, that show whose link is the slower one, and the ratio of their
/// times.
const FEWEST: usize = 20;
const LONGER: f64 = 1.5;

/// Returns the rate of deliveries with rising times, in bit/s; `None` without deliveries over time.
pub(super) fn rate(points: &[Point], rtt: f64) -> Option<Interval> {
    let (first, last) = (points.first()?.at, points.last()?.at);
    let time = last - first;
    if time <= 0.0 {
        return None;
    }
    let window = (TRIPS * rtt).max(LEAST_WINDOW).min(time / LEAST_WINDOWS).max(time / MOST_WINDOWS);
    let mut sums = vec![0.0];
    points.iter().for_each(|point| sums.push(sums[sums.len() - 1] + point.octets));
    let until = |at: f64| sums[points.partition_point(|point| point.at <= at)];
    let within = |from: f64, to: f64| {
        let count = ((to - from - window) / window * 4.0).max(0.0) as usize + 1;
        let starts = (0..count).map(|n| from + n as f64 * window / 4.0);
        let mut rates: Vec<f64> = starts.map(|at| (until(at + window) - until(at)) * 8.0 / window).collect();
        rates.sort_unstable_by(f64::total_cmp);
        quantile(&rates, QUANTILE)
    };
    let value = within(first, last)?;
    let part = |n: usize| first + time * n as f64 / PARTS as f64;
    let parts: Vec<f64> = (0..PARTS).filter_map(|n| within(part(n), part(n + 1))).collect();
    let low = parts.iter().copied().fold(value, f64::min);
    let high = parts.iter().copied().fold(value, f64::max);
    Some(Interval { value, low, high })
}

/// Returns the least utilisation of a link in windows of `window` (s); but for one of fifty, in which a host may have
/// paused.
pub(super) fn least_share(points: &[Point], rate: f64, window: f64) -> f64 {
    let Some((first, last)) = points.first().zip(points.last()) else { return 0.0 };
    let window = window.max(0.02).max((last.at - first.at) / MOST_WINDOWS);
    let count = ((last.at - first.at) / window) as usize;
    let mut octets = vec![0.0; count + 1];
    for point in points {
        if let Some(sum) = octets.get_mut(((point.at - first.at) / window) as usize) {
            *sum += point.octets;
        }
    }
    // The last one is not whole.
    octets.truncate(count);
    octets.sort_unstable_by(f64::total_cmp);
    quantile(&octets, 0.02).map_or(0.0, |octets| octets * 8.0 / window / rate)
}

/// Returns the mean rate of deliveries, in bit/s.
pub(super) fn mean(points: &[Point]) -> Option<f64> {
    let (first, last) = (points.first()?.at, points.last()?.at);
    let octets: f64 = points.iter().skip(1).map(|point| point.octets).sum();
    (last > first).then(|| octets * 8.0 / (last - first))
}

/// Returns true if deliveries of two packets take longer than those of one, as on the link of the data: on that of
/// acknowledgements they take the same time.
pub(super) fn follows_octets(points: &[Point], packet: f64) -> bool {
    let median = |from: f64, to: f64| {
        let pairs = points.windows(2).filter(|pair| (from * packet..to * packet).contains(&pair[1].octets));
        let mut times: Vec<f64> = pairs.map(|pair| pair[1].at - pair[0].at).collect();
        times.sort_unstable_by(f64::total_cmp);
        (times.len() >= FEWEST).then(|| quantile(&times, 0.5)).flatten()
    };
    median(0.9, 1.1).zip(median(1.9, 2.1)).is_some_and(|(one, two)| two > LONGER * one)
}

/// Returns the variation of the times between deliveries of a busy link beyond those of their octets, in s: one of ten
/// is larger. Waits from `floor` (s) are those of a busy link.
pub(super) fn jitter(points: &[Point], rate: f64, floor: f64) -> f64 {
    let is_busy = |point: &Point| point.wait.is_some_and(|wait| wait >= floor);
    let pairs = points.windows(2).filter(|pair| is_busy(&pair[0]) && is_busy(&pair[1]));
    let beyond = pairs.map(|pair| (pair[1].at - pair[0].at - pair[1].octets * 8.0 / rate).abs());
    let mut times: Vec<f64> = beyond.collect();
    times.sort_unstable_by(f64::total_cmp);
    quantile(&times, 0.9).unwrap_or_default()
}
