//! The rate of a link while it is busy.
//!
//! A packet that leaves a queue at `t` after a wait of `q` shows that the link was busy from `t - q` to `t`. What is
//! delivered in the union of all these times has the rate of the link, however seldom the link is busy.

use super::estimate::Interval;

/// A delivery behind the link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// Its time, in s.
    pub(super) at: f64,
    /// Octets of IP packets.
    pub(super) octets: f64,
    /// The wait of the packet, with its own time on the link, in s; `None` if it is unknown.
    pub(super) wait: Option<f64>,
}

/// The rate of a busy link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Busy {
    /// The rate, in bit/s.
    pub(super) rate: Interval,
    /// The share of the time in pieces whose rate is near that.
    pub(super) steadiness: f64,
}

/// The parts of the longest waits from which a wait counts, in the order in which they are tried.
const PARTS: [f64; 3] = [0.5, 0.25, 0.1];
/// The deliveries with which no further part is tried, and the fewest of all.
const ENOUGH: usize = 400;
const FEWEST: usize = 24;
/// The deliveries and the time (s) of a piece, at least.
const PIECE: usize = 16;
const PIECE_TIME: f64 = 0.01;
/// The difference from the rate up to which a piece is near it, as a share.
const NEAR: f64 = 0.15;
/// The groups of pieces that give the interval.
const GROUPS: usize = 8;
/// The least half width of the interval, as a share: rates that acknowledgements of two packets each show.
const LEAST_WIDTH: f64 = 0.01;

/// Returns the share `share` of waits that a wait does not exceed.
pub(super) fn quantile(points: &[Point], share: f64) -> f64 {
    let mut waits: Vec<f64> = points.iter().filter_map(|point| point.wait).collect();
    waits.sort_unstable_by(f64::total_cmp);
    super::estimate::quantile(&waits, share).unwrap_or_default()
}

/// Returns the rate while the link is busy, from points with rising times; waits shorter than `floor` (s), which hosts
/// and clocks explain, do not count. `None` if too few were longer.
pub(super) fn busy(points: &[Point], floor: f64) -> Option<Busy> {
    let longest = quantile(points, 0.95);
    let mut found = None;
    for part in PARTS {
        let pieces = pieces(points, floor.max(part * longest), floor);
        let deliveries: usize = pieces.iter().map(|piece| piece.deliveries).sum();
        if deliveries >= FEWEST {
            found = Some(pieces);
        }
        if deliveries >= ENOUGH {
            break;
        }
    }
    summary(&found?)
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    deliveries: usize,
    octets: f64,
    time: f64,
}

impl Piece {
    fn rate(&self) -> f64 {
        self.octets * 8.0 / self.time
    }
}

/// Cuts the times in which the link was busy into pieces.
fn pieces(points: &[Point], least: f64, floor: f64) -> Vec<Piece> {
    let waits = points.iter().filter_map(|point| Some((point.at, point.wait.filter(|wait| *wait >= least)?)));
    let mut times: Vec<(f64, f64)> = waits.map(|(at, wait)| (at - wait, at)).collect();
    times.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut joined: Vec<(f64, f64)> = Vec::new();
    for (from, to) in times {
        match joined.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    let mut all = Vec::new();
    for (from, to) in joined {
        let first = points.partition_point(|point| point.at < from);
        let end = points.partition_point(|point| point.at <= to);
        let mut begin = first;
        let mut octets = 0.0;
        for at in first + 1..end {
            octets += points[at].octets;
            let time = points[at].at - points[begin].at;
            let is_last = at + 1 == end;
            let is_whole = at - begin >= PIECE && time >= PIECE_TIME.max(10.0 * floor);
            let is_rest = is_last && at - begin >= PIECE / 4 && time > 2.0 * floor;
            if (is_whole || is_rest) && time > 0.0 {
                all.push(Piece { deliveries: at - begin, octets, time });
                (begin, octets) = (at, 0.0);
            }
        }
    }
    all
}

fn summary(pieces: &[Piece]) -> Option<Busy> {
    let time: f64 = pieces.iter().map(|piece| piece.time).sum();
    let mut sorted = pieces.to_vec();
    sorted.sort_unstable_by(|a, b| a.rate().total_cmp(&b.rate()));
    // The mean of the middle half: times that were busy by mistake have lower rates, and joined ones higher.
    let middle = |all: &[Piece]| {
        let total: f64 = all.iter().map(|piece| piece.time).sum();
        let (mut before, mut octets, mut counted) = (0.0, 0.0, 0.0);
        for piece in all {
            let part = (f64::min(before + piece.time, 0.75 * total) - f64::max(before, 0.25 * total)).max(0.0);
            octets += piece.octets * part / piece.time;
            counted += part;
            before += piece.time;
        }
        (counted > 0.0).then(|| octets * 8.0 / counted)
    };
    let value = middle(&sorted)?;
    let near: f64 =
        pieces.iter().filter(|piece| (piece.rate() / value - 1.0).abs() < NEAR).map(|piece| piece.time).sum();
    let groups: Vec<f64> = (0..GROUPS)
        .filter_map(|group| {
            let part = &pieces[group * pieces.len() / GROUPS..(group + 1) * pieces.len() / GROUPS];
            let mut part = part.to_vec();
            part.sort_unstable_by(|a, b| a.rate().total_cmp(&b.rate()));
            middle(&part)
        })
        .collect();
    let mean = groups.iter().sum::<f64>() / groups.len() as f64;
    let square = groups.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
    let count = groups.len() as f64;
    // Two standard errors of the mean of the groups.
    let error = if count > 1.0 { 2.0 * (square / (count - 1.0) / count).sqrt() } else { 0.1 * value };
    let width = error.max(LEAST_WIDTH * value);
    let rate = Interval { value, low: value - width, high: value + width };
    Some(Busy { rate, steadiness: near / time })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link of 12 Mbit/s, 1 ms for each packet, that is busy a fifth of the time.
    #[test]
    fn a_link_that_is_seldom_busy_has_its_rate() {
        let mut points = Vec::new();
        for burst in 0..40 {
            for packet in 1..=20 {
                let wait = f64::from(packet) * 1e-3;
                points.push(Point { at: f64::from(burst) * 0.1 + wait, octets: 1500.0, wait: Some(wait) });
            }
        }
        let found = busy(&points, 0.5e-3).unwrap();
        assert!((found.rate.value / 12e6 - 1.0).abs() < 0.01, "{found:?}");
        assert!(found.steadiness > 0.99, "{found:?}");
    }

    #[test]
    fn without_waits_the_rate_is_unknown() {
        let point = |n| Point { at: f64::from(n) * 1e-3, octets: 1500.0, wait: Some(0.1e-3) };
        let points: Vec<Point> = (0..1000).map(point).collect();
        assert_eq!(busy(&points, 0.5e-3), None);
    }
}
