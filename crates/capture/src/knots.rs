//! The distribution of samples as a few knots.
//!
//! Between knots the cumulative distribution is a straight line, and the first knot holds its whole probability at its
//! value. Probabilities rise strictly, values do not fall. A value that many samples have is a pair of knots.
//!
//! Two things are kept: the distance of the distributions (Kolmogorov-Smirnov), for which the fewest straight lines are
//! chosen from left to right; and the mean, for which the lines of the largest error are divided. Without the second
//! one line would replace the largest half per cent of the samples, which can have most of the octets. What is wrong
//! with the mean then is taken off by moving the probabilities within the distance that is left.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use cellway_workload::{Knot, MAX_KNOTS};

/// The largest distance between the samples and the knots.
pub const KS: f64 = 0.005;
/// The error of the mean, in parts of it, below which no line is divided.
const MEAN_ERROR: f64 = 0.002;
/// The least step of the probability.
const STEP: f64 = 1e-9;

/// A value of the samples.
#[derive(Clone, Copy, Debug)]
struct Point {
    value: f64,
    /// The share of samples below it, and of those at most it.
    below: f64,
    upto: f64,
}

fn points(sorted: &[f64]) -> Vec<Point> {
    let share = |count: usize| count as f64 / sorted.len() as f64;
    let mut points: Vec<Point> = Vec::new();
    for (at, &value) in sorted.iter().enumerate() {
        let upto = share(at + 1);
        match points.last_mut() {
            Some(last) if last.value == value => last.upto = upto,
            _ => points.push(Point { value, below: share(at), upto }),
        }
    }
    points
}

/// A possible knot. All are in the order of the values.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    knot: Knot,
    /// The probabilities between which a line must pass here.
    band: [f64; 2],
    is_required: bool,
}

fn candidates(points: &[Point], ks: f64) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = Vec::new();
    let last = points.len() - 1;
    for (at, &Point { value, below, upto }) in points.iter().enumerate() {
        let before = all.last().map(|candidate| candidate.knot);
        let required = |probability, value| Candidate {
            knot: Knot { probability, value },
            band: [probability; 2],
            is_required: true,
        };
        // The largest sample can have much of the sum, so it is where it is and not spread along a line.
        let is_atom = at == last || upto - below > if at + 1 == last { KS } else { 2.0 * KS + STEP };
        match before {
            Some(before) if is_atom => {
                all.push(required(below.max(before.probability + STEP), value));
                all.push(required(upto, value));
            }
            Some(_) if at + 1 < last => {
                let knot = Knot { probability: (below + upto) / 2.0, value };
                all.push(Candidate { knot, band: [upto - ks, below + ks], is_required: false });
            }
            _ => all.push(required(upto, value)),
        }
    }
    all
}

/// Returns the knots of the fewest lines through all bands.
fn lines(candidates: &[Candidate]) -> Vec<Knot> {
    let mut knots = vec![candidates[0].knot];
    let mut from = 0;
    while from + 1 < candidates.len() {
        let origin = candidates[from].knot;
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut reached = from + 1;
        for (at, candidate) in candidates.iter().enumerate().skip(from + 1) {
            let distance = candidate.knot.value - origin.value;
            let slope = |probability: f64| (probability - origin.probability) / distance;
            if (low..=high).contains(&slope(candidate.knot.probability)) {
                reached = at;
            }
            if candidate.is_required {
                break;
            }
            low = low.max(slope(candidate.band[0]));
            high = high.min(slope(candidate.band[1]));
            if low > high {
                break;
            }
        }
        from = reached;
        knots.push(candidates[from].knot);
    }
    knots
}

/// A line between two knots, with its error.
struct Line {
    from: Knot,
    to: Knot,
    /// The integral of the distance between line and samples over the probability.
    error: f64,
    /// The knot that divides it best.
    best: Option<Knot>,
}

impl Line {
    fn new(sorted: &[f64], from: Knot, to: Knot) -> Line {
        let count = sorted.len() as f64;
        let first = (from.probability * count).floor().max(0.0) as usize;
        let last = ((to.probability * count).ceil() as usize).min(sorted.len());
        let slope = (to.value - from.value) / (to.probability - from.probability);
        let (mut error, mut best, mut farthest) = (0.0, None, 0.0);
        for (at, &value) in sorted.iter().enumerate().take(last).skip(first) {
            let middle = (at as f64 + 0.5) / count;
            let low = (at as f64 / count).max(from.probability);
            let high = ((at + 1) as f64 / count).min(to.probability);
            let line = from.value + slope * ((low + high) / 2.0 - from.probability);
            let distance = (value - line).abs();
            error += distance * (high - low).max(0.0);
            // A value of an end may have its probability to itself, as a pair of knots.
            let probability = match () {
                () if from.value < value && value < to.value => middle,
                () if value == to.value => at as f64 / count,
                () if value == from.value => (at + 1) as f64 / count,
                () => continue,
            };
            let is_between = from.probability + STEP < probability && probability + STEP < to.probability;
            if is_between && distance > farthest {
                farthest = distance;
                best = Some(Knot { probability, value });
            }
        }
        Line { from, to, error, best }
    }
}

impl PartialEq for Line {
    fn eq(&self, other: &Line) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Line {}
impl PartialOrd for Line {
    fn partial_cmp(&self, other: &Line) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Line {
    /// By the error of those that can be divided.
    fn cmp(&self, other: &Line) -> Ordering {
        let key = |line: &Line| if line.best.is_some() { line.error } else { -1.0 };
        key(self).total_cmp(&key(other)).then(other.from.probability.total_cmp(&self.from.probability))
    }
}

/// Divides lines until the error of the mean is small.
fn refined(sorted: &[f64], knots: Vec<Knot>) -> Vec<Knot> {
    let mean = sorted.iter().map(|value| value.abs()).sum::<f64>() / sorted.len() as f64;
    let mut heap: BinaryHeap<Line> = knots.windows(2).map(|pair| Line::new(sorted, pair[0], pair[1])).collect();
    let mut total: f64 = heap.iter().map(|line| line.error).sum();
    let mut all = knots;
    while all.len() < MAX_KNOTS && total > MEAN_ERROR * mean {
        let Some(Line { from, to, error, best: Some(knot) }) = heap.pop() else { break };
        let halves = [Line::new(sorted, from, knot), Line::new(sorted, knot, to)];
        total += halves.iter().map(|line| line.error).sum::<f64>() - error;
        all.push(knot);
        heap.extend(halves);
    }
    all.sort_unstable_by(|a, b| a.probability.total_cmp(&b.probability));
    all
}

/// Returns the mean of the distribution of knots.
fn mean(knots: &[Knot]) -> f64 {
    let first = knots.first().map_or(0.0, |first| first.probability * first.value);
    let line = |p: &[Knot]| (p[1].probability - p[0].probability) * f64::midpoint(p[0].value, p[1].value);
    first + knots.windows(2).map(line).sum::<f64>()
}

/// Moves the probabilities of all knots but the last by up to `slack`, those near 0 and 1 by less, so that the mean
/// becomes `exact` or is nearer to it.
fn corrected(knots: &mut [Knot], exact: f64, slack: f64) {
    let error = mean(knots) - exact;
    let Some(last) = knots.len().checked_sub(1) else { return };
    // Up if the mean is too large. Knots keep their order, as a move is at most half of what is left to the end.
    let share = |knot: &Knot| {
        let left = if error > 0.0 { 1.0 - knot.probability } else { knot.probability };
        (left / (2.0 * KS)).min(1.0)
    };
    let moved = |at: usize| {
        let before = if at == 0 { knots[0].value } else { knots[at - 1].value };
        share(&knots[at]) * (knots[at + 1].value - before) / 2.0
    };
    let all: f64 = (0..last).map(moved).sum();
    if all > 0.0 {
        let by = (error / all).clamp(-slack, slack);
        knots[..last].iter_mut().for_each(|knot| knot.probability += by * share(knot));
    }
}

/// Returns the knots of samples, which must rise; none for no samples.
pub fn knots(sorted: &[f64]) -> Vec<Knot> {
    let points = points(sorted);
    if points.is_empty() {
        return Vec::new();
    }
    let exact = sorted.iter().sum::<f64>() / sorted.len() as f64;
    let tolerated = MEAN_ERROR * sorted.iter().map(|value| value.abs()).sum::<f64>() / sorted.len() as f64;
    let mut best: Option<(f64, Vec<Knot>)> = None;
    // Half of the distance, because both ends of a part of a line may be that far from the whole line. More makes fewer
    // lines, so that knots are left for the mean.
    let mut ks = KS / 2.0;
    loop {
        let lines = lines(&candidates(&points, ks));
        if lines.len() <= MAX_KNOTS {
            let mut knots = refined(sorted, lines);
            let distance = distance(sorted, &knots);
            if (mean(&knots) - exact).abs() > tolerated {
                corrected(&mut knots, exact, (KS - distance).max(0.0));
            }
            let error = (mean(&knots) - exact).abs();
            let is_better = best.as_ref().is_none_or(|(least, _)| distance <= KS && error < *least);
            if is_better {
                // Any that is near enough is better than one that is not.
                best = Some((if distance <= KS { error } else { f64::INFINITY }, knots));
            }
        }
        match best {
            Some((error, knots)) if error <= tolerated || ks >= KS => return knots,
            _ => ks *= 1.1,
        }
    }
}

/// Returns the cumulative probability at a value, and the limit from below.
fn cumulative(knots: &[Knot], value: f64) -> [f64; 2] {
    let between = |after: usize| {
        let Some(from) = after.checked_sub(1).and_then(|before| knots.get(before)) else { return 0.0 };
        match knots.get(after) {
            Some(to) if to.value > from.value => {
                let share = (value - from.value) / (to.value - from.value);
                from.probability + share * (to.probability - from.probability)
            }
            _ => from.probability,
        }
    };
    [
        between(knots.partition_point(|knot| knot.value <= value)),
        between(knots.partition_point(|knot| knot.value < value)),
    ]
}

/// Returns the largest distance between the distribution of samples, which must rise, and that of knots
/// (Kolmogorov-Smirnov).
pub fn distance(sorted: &[f64], knots: &[Knot]) -> f64 {
    let gap = |point: &Point| {
        let [upto, below] = cumulative(knots, point.value);
        (upto - point.upto).abs().max((below - point.below).abs())
    };
    points(sorted).iter().map(gap).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(mut samples: Vec<f64>) -> Vec<Knot> {
        samples.sort_unstable_by(f64::total_cmp);
        let found = knots(&samples);
        let ks = distance(&samples, &found);
        assert!(ks <= KS + 1e-6, "{ks} of {} samples, {} knots", samples.len(), found.len());
        assert!(found.len() <= MAX_KNOTS && found.last().unwrap().probability == 1.0);
        for pair in found.windows(2) {
            assert!(pair[0].probability < pair[1].probability && pair[0].value <= pair[1].value, "{pair:?}");
        }
        found
    }

    #[test]
    fn few_samples_are_kept_as_they_are() {
        assert_eq!(check(vec![7.0; 9]), [Knot { probability: 1.0, value: 7.0 }]);
        let found = check(vec![1.0, 2.0, 2.0, 5.0]);
        assert!((mean(&found) - 2.5).abs() < 1e-8, "{found:?}");
        (2..300).for_each(|n| drop(check((0..n).map(|k| f64::from(k * k)).collect())));
    }

    /// Half of the octets are in one sample of a thousand.
    #[test]
    fn a_heavy_tail_keeps_its_mean() {
        let samples: Vec<f64> = (1..=50_000).map(|k| (f64::from(k) / 50_000.5).powf(-1.0 / 1.1).round()).collect();
        let exact = samples.iter().sum::<f64>() / 50_000.0;
        let found = check(samples);
        assert!((mean(&found) / exact - 1.0).abs() < 0.005, "{} of {exact}", mean(&found));
    }

    /// Each of 205 sizes has about as many samples as one line may be wrong by, so that the lines alone take all knots.
    #[test]
    fn many_sizes_of_a_server_keep_their_mean() {
        // 200 small files, of which every request of 33 asks for one of 5 large ones instead.
        let samples: Vec<f64> = (0..738_u32)
            .map(|n| {
                let random = f64::from(n.wrapping_mul(2_654_435_761) % 9973) / 9973.0;
                if n % 33 == 0 { f64::from(1 + n % 5) * 1e6 } else { (random * 200.0).floor().exp2().powf(0.05) * 1e3 }
            })
            .map(f64::round)
            .collect();
        let exact = samples.iter().sum::<f64>() / samples.len() as f64;
        let found = check(samples);
        assert!((mean(&found) / exact - 1.0).abs() < 0.005, "{} of {exact}", mean(&found));
    }

    proptest! {
        #[test]
        fn any_samples(samples in prop::collection::vec(prop_oneof![
            3 => (0u32..20).prop_map(f64::from),
            2 => (0u32..1_000_000).prop_map(f64::from),
            3 => (-20.0f64..20.0).prop_map(f64::exp),
        ], 1..3_000)) {
            check(samples);
        }
    }
}
