//! Distributions as a few quantiles, and the two rules for drawing from them.

use std::sync::Arc;

use cellway_spec::Draw;

use crate::error::TableError;
use crate::random::Stream;

/// The largest value of a distribution: 1 PB or 30 000 years, far above any measured one and small enough that doubles
/// still distinguish neighbouring whole numbers.
const MAX_VALUE: u64 = 1_000_000_000_000_000;

/// A point of a distribution: `probability` that a draw is at most `value`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knot {
    /// Cumulative probability, 0 to 1.
    pub probability: f64,
    /// In the unit of the variable.
    pub value: f64,
}

/// A distribution given by knots that increase strictly in probability and value, the last with
/// probability 1. Between knots the cumulative distribution is a straight line, which is tcplib's
/// own reading of its tables; the first value holds its whole probability as an atom. One made
/// [with atoms](QuantileModel::with_atoms) has others where its value stays.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantileModel {
    knots: Vec<Knot>,
}

impl QuantileModel {
    /// Checks and keeps `knots`; errors call them `name` and count them as lines from 1.
    pub fn new(knots: Vec<Knot>, name: &str) -> Result<QuantileModel, TableError> {
        let rows: Vec<(usize, Knot)> = knots.into_iter().enumerate().map(|(i, knot)| (i + 1, knot)).collect();
        QuantileModel::from_rows(&rows, name)
    }

    /// Checks and keeps `knots` as [`QuantileModel::new`] does, but with values that may be equal to those before: the
    /// probability between two knots of one value is an atom there.
    ///
    /// # Errors
    /// Those of [`QuantileModel::new`], but for the values.
    pub fn with_atoms(knots: Vec<Knot>, name: &str) -> Result<QuantileModel, TableError> {
        let rows: Vec<(usize, Knot)> = knots.into_iter().enumerate().map(|(i, knot)| (i + 1, knot)).collect();
        QuantileModel::checked(&rows, name, |value, before| value >= before)
    }

    pub(crate) fn from_rows(rows: &[(usize, Knot)], file: &str) -> Result<QuantileModel, TableError> {
        QuantileModel::checked(rows, file, |value, before| value > before)
    }

    /// Checks rows, with a rule for the values of two that follow each other.
    fn checked(rows: &[(usize, Knot)], file: &str, follows: fn(f64, f64) -> bool) -> Result<QuantileModel, TableError> {
        let file = || file.to_string();
        for &(line, Knot { probability, value }) in rows {
            if value > MAX_VALUE as f64 {
                let found = if value < 1e18 { value.to_string() } else { format!("{value:e}") };
                return Err(TableError::TooLarge { file: file(), line, found, limit: MAX_VALUE });
            }
            if value < 0.0 || value.is_nan() {
                return Err(TableError::Negative { file: file(), line, found: value.to_string() });
            }
            if !(0.0..=1.0).contains(&probability) {
                return Err(TableError::Probability { file: file(), line, found: probability.to_string() });
            }
        }
        for pair in rows.windows(2) {
            let [(_, before), (line, knot)] = [pair[0], pair[1]];
            let rises: fn(f64, f64) -> bool = |found, before| found > before;
            let columns = [
                ("value", knot.value, before.value, follows),
                ("cum_prob", knot.probability, before.probability, rises),
            ];
            for (column, found, before, rule) in columns {
                if !rule(found, before) {
                    let (found, before) = (found.to_string(), before.to_string());
                    return Err(TableError::NotIncreasing { file: file(), line, column, found, before });
                }
            }
        }
        match rows {
            [] | [_] => Err(TableError::TooShort { file: file(), rows: rows.len() }),
            [.., (line, last)] if last.probability != 1.0 => {
                Err(TableError::Last { file: file(), line: *line, found: last.probability.to_string() })
            }
            rows => Ok(QuantileModel { knots: rows.iter().map(|&(_, knot)| knot).collect() }),
        }
    }

    /// Returns the knots, in increasing order.
    pub fn knots(&self) -> &[Knot] {
        &self.knots
    }

    /// Draws a number by `rule`, before any rounding to whole numbers. Draws the same two numbers from the stream for
    /// any result.
    pub fn draw(&self, rule: Draw, stream: &mut Stream) -> f64 {
        let (k, w) = (stream.below(1000), stream.uniform());
        let first = self.knots[0];
        match rule {
            Draw::Tcplib => {
                let u = k as f64 / 1000.0;
                if u < first.probability { first.value } else { self.within(self.interval(u), w) }
            }
            Draw::Continuous => self.quantile((k as f64 + w) / 1000.0),
        }
    }

    /// Returns the value that a draw exceeds with probability `1 - u`.
    pub fn quantile(&self, u: f64) -> f64 {
        if u <= self.knots[0].probability {
            return self.knots[0].value;
        }
        let upper = self.interval(u.min(1.0));
        let (a, b) = (self.knots[upper - 1], self.knots[upper]);
        self.within(upper, (u.min(1.0) - a.probability) / (b.probability - a.probability))
    }

    /// Returns the probability that a draw by `rule` is at most `x`, before any rounding.
    pub fn cdf(&self, rule: Draw, x: f64) -> f64 {
        self.cdf_of(&self.weights(rule), x)
    }

    /// Returns the largest distance between the cumulative distributions of draws by `rule` from this model and from
    /// `other` (Kolmogorov-Smirnov), before any rounding. Exact: both are straight lines between the knots of both,
    /// with jumps at knots only.
    pub fn distance(&self, other: &QuantileModel, rule: Draw) -> f64 {
        let (mine, others) = (self.weights(rule), other.weights(rule));
        let at = |x| (self.cdf_of(&mine, x) - other.cdf_of(&others, x)).abs();
        // Just before an atom its own distribution is still below.
        let before = |x| (self.below(&mine, x) - other.below(&others, x)).abs();
        let points = self.knots.iter().chain(&other.knots);
        points.map(|knot| at(knot.value).max(before(knot.value))).fold(0.0, f64::max)
    }

    /// Returns the largest distance between the cumulative distributions of the whole numbers nearest to draws from this
    /// model and from `other`, under [`Draw::Continuous`] (Kolmogorov-Smirnov). Exact, as [`QuantileModel::distance`].
    pub fn whole_distance(&self, other: &QuantileModel) -> f64 {
        let (mine, others) = (self.weights(Draw::Continuous), other.weights(Draw::Continuous));
        // A draw is rounded to k or less if it is below k + 0.5.
        let at = |k: f64| (self.below(&mine, k + 0.5) - other.below(&others, k + 0.5)).abs();
        // Both are straight lines between knots: the largest distance is at a whole number beside a knot.
        let beside = |knot: &Knot| [-1.0, 0.0, 1.0].map(|step| at(knot.value.floor() + step));
        self.knots.iter().chain(&other.knots).flat_map(beside).fold(0.0, f64::max)
    }

    /// Returns the probability of less than `x`.
    fn below(&self, (atom, weights): &(f64, Vec<f64>), x: f64) -> f64 {
        if x <= self.knots[0].value {
            return 0.0;
        }
        let parts = self.knots.windows(2).zip(weights).take_while(|(pair, _)| pair[0].value < x);
        (atom + parts.map(|(pair, weight)| weight * share(pair, x)).sum::<f64>()).min(1.0)
    }

    fn cdf_of(&self, (atom, weights): &(f64, Vec<f64>), x: f64) -> f64 {
        if x < self.knots[0].value {
            return 0.0;
        }
        let mut sum = *atom;
        for (pair, weight) in self.knots.windows(2).zip(weights) {
            if x < pair[0].value {
                break;
            }
            sum += weight * share(pair, x);
        }
        sum.min(1.0) // the sum of the weights may be a rounding error above
    }

    /// Returns the exact expectation of a draw by `rule`, of its whole number if `whole`: no sampling.
    pub fn mean(&self, rule: Draw, whole: bool) -> f64 {
        let shift = if rule == Draw::Continuous { 0.5 } else { 0.0 };
        let (atom, weights) = self.weights(rule);
        let first = self.knots[0].value;
        let mut sum = atom * if whole { (first + shift).floor() } else { first };
        for (pair, weight) in self.knots.windows(2).zip(weights) {
            let (a, b) = (pair[0].value, pair[1].value);
            sum += weight * if whole { mean_floor(a + shift, b + shift) } else { (a + b) / 2.0 };
        }
        sum
    }

    /// Returns the probability of the first value itself and of each interval after it, under `rule`.
    fn weights(&self, rule: Draw) -> (f64, Vec<f64>) {
        let first = self.knots[0].probability;
        match rule {
            Draw::Continuous => {
                (first, self.knots.windows(2).map(|pair| pair[1].probability - pair[0].probability).collect())
            }
            Draw::Tcplib => {
                let mut atom = 0.0;
                let mut weights = vec![0.0; self.knots.len() - 1];
                for k in 0..1000 {
                    let u = f64::from(k) / 1000.0;
                    *if u < first { &mut atom } else { &mut weights[self.interval(u) - 1] } += 1.0;
                }
                (atom / 1000.0, weights.into_iter().map(|n| n / 1000.0).collect())
            }
        }
    }

    /// Returns the upper knot of the interval that contains `u`; the first interval if `u` is at or below it.
    fn interval(&self, u: f64) -> usize {
        self.knots.partition_point(|knot| knot.probability < u).clamp(1, self.knots.len() - 1)
    }

    fn within(&self, upper: usize, share: f64) -> f64 {
        let (a, b) = (self.knots[upper - 1].value, self.knots[upper].value);
        a + (b - a) * share
    }
}

/// Returns the share of the draws between a pair of knots that is at most `x`, which is not below the first.
fn share(pair: &[Knot], x: f64) -> f64 {
    let [a, b] = [pair[0].value, pair[1].value];
    if b > a { ((x - a) / (b - a)).min(1.0) } else { 1.0 }
}

/// Returns the mean of `floor(x)` for `x` uniform in [a, b], both 0 or more.
fn mean_floor(a: f64, b: f64) -> f64 {
    if a == b {
        return a.floor();
    }
    // The integral of floor from 0 to x.
    let area = |x: f64| x.floor() * (x.floor() - 1.0) / 2.0 + x.floor() * (x - x.floor());
    (area(b) - area(a)) / (b - a)
}

/// A sampler of a variable: its model, its rule, and its rounding.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampler {
    /// The distribution.
    pub model: Arc<QuantileModel>,
    /// The rule.
    pub draw: Draw,
    /// True if draws are rounded to whole numbers, as the rule defines.
    pub whole: bool,
}

impl Sampler {
    /// Returns the next value.
    pub fn value(&self, stream: &mut Stream) -> f64 {
        let x = self.model.draw(self.draw, stream);
        match (self.whole, self.draw) {
            (false, _) => x,
            (true, Draw::Tcplib) => x.floor(),
            (true, Draw::Continuous) => (x + 0.5).floor(),
        }
    }

    /// Returns the next value as a count of bytes or items, at least 1: a conversation without items does not exist,
    /// and an empty item could not be detected on a shared connection.
    pub fn count(&self, stream: &mut Stream) -> u64 {
        (self.value(stream) as u64).max(1)
    }

    /// Returns the exact expectation of [`Sampler::value`].
    pub fn mean(&self) -> f64 {
        self.model.mean(self.draw, self.whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Streams;

    fn model(knots: &[(f64, f64)]) -> QuantileModel {
        let knots = knots.iter().map(|&(probability, value)| Knot { probability, value }).collect();
        QuantileModel::new(knots, "test").unwrap()
    }

    #[test]
    fn means_agree_with_arithmetic() {
        // A quarter at 1, three quarters spread over 1 to 3.
        let model = model(&[(0.25, 1.0), (1.0, 3.0)]);
        assert_eq!(model.mean(Draw::Tcplib, false), 0.25 + 0.75 * 2.0);
        assert_eq!(model.mean(Draw::Tcplib, true), 0.25 + 0.75 * 1.5); // 1 and 2 equally likely
        assert_eq!(model.mean(Draw::Continuous, false), 0.25 + 0.75 * 2.0);
        // Rounded: 1 for a quarter of the interval, 2 for a half, 3 for a quarter.
        assert_eq!(model.mean(Draw::Continuous, true), 0.25 + 0.75 * 2.0);
    }

    /// A model whose draws are rounded, and the distribution of the rounded values as a sample of them would give it.
    #[test]
    fn whole_numbers_have_their_own_distance() {
        let spread = model(&[(0.0, 0.5), (1.0, 4.5)]);
        // Atoms at 1 to 4, and next to nothing between them.
        let next = 1e-9;
        let atoms = [(0.25, 1.0), (0.25 + next, 2.0), (0.5, 2.0), (0.5 + next, 3.0), (0.75, 3.0), (0.75 + next, 4.0)];
        let atoms = [&atoms[..], &[(1.0, 4.0)]].concat();
        let knots = atoms.into_iter().map(|(probability, value)| Knot { probability, value }).collect();
        let rounded = QuantileModel::with_atoms(knots, "test").unwrap();
        assert!(spread.distance(&rounded, Draw::Continuous) > 0.1);
        assert!(spread.whole_distance(&rounded) < 1e-8);
        // A tenth of the mass at another number: by hand.
        let other = model(&[(0.0, 0.5), (0.9, 4.5), (1.0, 9.0)]);
        assert!((spread.whole_distance(&other) - 0.1).abs() < 1e-12);
        let mut stream = Streams::new(1).stream("whole");
        let draws: Vec<f64> = (0..20_000).map(|_| (other.draw(Draw::Continuous, &mut stream) + 0.5).floor()).collect();
        for k in 0..10 {
            let share = draws.iter().filter(|draw| **draw <= f64::from(k)).count() as f64 / 20_000.0;
            let below = other.below(&other.weights(Draw::Continuous), f64::from(k) + 0.5);
            assert!((share - below).abs() < 1.95 / 20_000f64.sqrt(), "{k}: {share} and {below}");
        }
    }

    #[test]
    fn tcplib_never_draws_the_topmost_thousandth() {
        let model = model(&[(0.5, 1.0), (0.999, 10.0), (1.0, 1e6)]);
        let mut stream = Streams::new(1).stream("top");
        let draws: Vec<f64> = (0..20_000).map(|_| model.draw(Draw::Tcplib, &mut stream)).collect();
        assert!(draws.iter().all(|x| (1.0..=10.0).contains(x)));
        assert_eq!(model.cdf(Draw::Tcplib, 10.0), 1.0);
        assert!((model.cdf(Draw::Continuous, 10.0) - 0.999).abs() < 1e-12);
        let highest = (0..20_000).map(|_| model.draw(Draw::Continuous, &mut stream)).fold(0.0, f64::max);
        assert!(highest > 10.0, "{highest}");
    }

    #[test]
    fn a_tie_with_the_first_probability_draws_from_the_first_interval() {
        // u = 0 ties with p = 0: 0 and 0.001 fall into the first interval, 998 of 1000 into the second.
        let model = model(&[(0.0, 0.0), (0.001, 1.0), (1.0, 2.0)]);
        assert_eq!(model.cdf(Draw::Tcplib, 0.0), 0.0);
        assert!((model.cdf(Draw::Tcplib, 1.0) - 0.002).abs() < 1e-12);
        assert!((model.cdf(Draw::Continuous, 1.0) - 0.001).abs() < 1e-12);
    }

    #[test]
    fn quantile_and_cdf_are_inverse() {
        let model = model(&[(0.1, 2.0), (0.3, 4.0), (0.9, 100.0), (1.0, 1000.0)]);
        for u in [0.1, 0.2, 0.3, 0.5, 0.9, 0.95, 1.0] {
            assert!((model.cdf(Draw::Continuous, model.quantile(u)) - u).abs() < 1e-12, "{u}");
        }
        assert_eq!(model.quantile(0.0), 2.0);
        assert_eq!(model.quantile(0.2), 3.0);
    }

    #[test]
    fn distance_sees_atoms_and_lines() {
        let a = model(&[(0.5, 1.0), (1.0, 2.0)]);
        let b = model(&[(0.4, 1.0), (1.0, 2.0)]);
        assert!((a.distance(&b, Draw::Continuous) - 0.1).abs() < 1e-12);
        // The atom of `c` at 1.5 is missing in `a`, which is a line from 0.5 to 1 there.
        let c = model(&[(0.9, 1.5), (1.0, 2.0)]);
        assert!((a.distance(&c, Draw::Continuous) - 0.75).abs() < 1e-12);
        assert_eq!(a.distance(&a, Draw::Tcplib), 0.0);
    }

    /// Three tenths from 1 to 2, four at 2, three from 2 to 4.
    #[test]
    fn values_that_stay_are_atoms() {
        let knots = [(0.0, 1.0), (0.3, 2.0), (0.7, 2.0), (1.0, 4.0)];
        let knots = knots.map(|(probability, value)| Knot { probability, value }).to_vec();
        assert!(QuantileModel::new(knots.clone(), "test").is_err());
        let model = QuantileModel::with_atoms(knots, "test").unwrap();
        for (u, x) in [(0.15, 1.5), (0.3, 2.0), (0.5, 2.0), (0.7, 2.0), (0.85, 3.0), (1.0, 4.0)] {
            assert!((model.quantile(u) - x).abs() < 1e-12, "{u}");
        }
        for (x, p) in [(0.9, 0.0), (1.0, 0.0), (1.5, 0.15), (2.0, 0.7), (3.0, 0.85), (4.0, 1.0)] {
            assert!((model.cdf(Draw::Continuous, x) - p).abs() < 1e-12, "{x}");
        }
        assert!((model.mean(Draw::Continuous, false) - (0.45 + 0.8 + 0.9)).abs() < 1e-12);
        // All at 2: below 2 the other has 0.3, above it 0.3 are missing.
        let all = [(0.0, 2.0), (1.0, 2.0)].map(|(probability, value)| Knot { probability, value }).to_vec();
        let all = QuantileModel::with_atoms(all, "test").unwrap();
        assert_eq!(all.mean(Draw::Continuous, true), 2.0);
        for distance in [model.distance(&all, Draw::Continuous), all.distance(&model, Draw::Continuous)] {
            assert!((distance - 0.3).abs() < 1e-12, "{distance}");
        }
        let later = QuantileModel::with_atoms(
            vec![Knot { probability: 0.0, value: 5.0 }, Knot { probability: 1.0, value: 5.0 }],
            "test",
        );
        assert_eq!(all.distance(&later.unwrap(), Draw::Continuous), 1.0);
        let falling = [(0.0, 2.0), (1.0, 1.0)].map(|(probability, value)| Knot { probability, value }).to_vec();
        assert!(QuantileModel::with_atoms(falling, "test").is_err());
    }

    #[test]
    fn whole_means_agree_with_a_sum() {
        for (a, b) in [(0.0, 5.0), (3.25, 3.75), (2.5, 7.25), (1e5, 1.5e5)] {
            let n = 1_000_000;
            let sum: f64 = (0..n).map(|i| (a + (b - a) * (f64::from(i) + 0.5) / f64::from(n)).floor()).sum();
            assert!((mean_floor(a, b) - sum / f64::from(n)).abs() < 1e-5 * b, "{a} {b}");
        }
    }
}
