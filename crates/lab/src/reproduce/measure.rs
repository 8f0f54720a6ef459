//! The measured value of a claim: one value for each seed, and the interval over the seeds.

use cellway_record::stats::{Bounds, Interval, interval95};

use super::claim::{Claim, Measure};
use super::row::short;
use super::values::{At, Figure, StudyValues};

/// A measured value with its 95 % interval.
pub(super) struct Measured {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// Replications that it rests on.
    pub(super) seeds: usize,
    /// True if it is from a deterministic study: there is no interval.
    pub(super) exact: bool,
    /// The printed form, if it has more than value and interval.
    pub(super) text: Option<String>,
}

/// A value for each seed.
type Sample = Vec<(u64, f64)>;

/// Returns the mean and 95 % interval of a sample. The one value of a deterministic study is exact.
fn interval(sample: &[(u64, f64)], exact: bool, bounds: Bounds) -> Option<Interval> {
    let values: Vec<f64> = sample.iter().map(|&(_, value)| value).collect();
    let interval = match values[..] {
        [value] if exact => Some(Interval { mean: value, low: value, high: value, level: 0.95 }),
        _ => interval95(&values, bounds),
    };
    interval.filter(|i| i.mean.is_finite() && i.low.is_finite() && i.high.is_finite())
}

impl Measured {
    fn of(sample: &[(u64, f64)], exact: bool, bounds: Bounds) -> Option<Measured> {
        let Interval { mean, low, high, .. } = interval(sample, exact, bounds)?;
        Some(Measured { value: mean, low, high, seeds: sample.len(), exact, text: None })
    }
}

/// Returns the values of both samples, for the seeds that both have.
fn paired(one: &[(u64, f64)], other: &[(u64, f64)], combine: impl Fn(f64, f64) -> f64) -> Sample {
    let partner = |seed: u64| other.iter().find(|&&(s, _)| s == seed).map(|&(_, value)| value);
    one.iter().filter_map(|&(seed, value)| Some((seed, combine(value, partner(seed)?)))).collect()
}

impl Claim {
    /// Measures the claim in `study`; `from_study` has its other point.
    pub(super) fn measure(&self, study: &StudyValues, from_study: &StudyValues) -> Option<Measured> {
        let figure = (self.subject.clone(), self.metric.clone());
        let scaled = |sample: &[(u64, f64)]| sample.iter().map(|&(seed, value)| (seed, value * self.scale)).collect();
        let sample = |values: &StudyValues, at: &At, figure: &Figure| -> Option<Sample> {
            match values.points_at(at)[..] {
                [point] => Some(scaled(values.sample(point, figure))),
                _ => None,
            }
        };
        // A value of two studies is as exact as the less exact of them.
        let exact = study.deterministic() && from_study.deterministic();
        let less = |a: f64, b: f64| a - b;
        match self.measure {
            Measure::Crossing => self.crossing(study, &figure),
            Measure::WorstDeviation => self.worst_deviation(study, &figure),
            Measure::Least => self.extreme(study, &figure, f64::min),
            Measure::Most => self.extreme(study, &figure, f64::max),
            Measure::Level => {
                // A claim in percent, for example, has its bounds in percent.
                let bounds = if self.scale > 0.0 { Bounds::of(&self.metric).times(self.scale) } else { Bounds::NONE };
                Measured::of(&sample(study, &self.at, &figure)?, study.deterministic(), bounds)
            }
            Measure::Difference | Measure::Ratio => {
                let one = sample(study, &self.at, &figure)?;
                let other = sample(from_study, self.from.as_ref()?, &self.other_figure())?;
                let ratio = self.measure == Measure::Ratio;
                Measured::of(&paired(&one, &other, |a, b| if ratio { a / b } else { a - b }), exact, Bounds::NONE)
            }
            Measure::Growth => {
                let from = self.from.as_ref()?;
                let gap = |values: &StudyValues| {
                    Some(paired(&sample(values, &self.at, &figure)?, &sample(values, from, &figure)?, less))
                };
                Measured::of(&paired(&gap(study)?, &gap(from_study)?, less), exact, Bounds::NONE)
            }
        }
    }

    /// Returns the least or the largest value over all points and seeds; `None` if a point has none.
    fn extreme(&self, study: &StudyValues, figure: &Figure, choose: fn(f64, f64) -> f64) -> Option<Measured> {
        let (mut extreme, mut seeds) = (None, 0);
        let points = study.points_at(&self.at);
        for &point in &points {
            let sample = study.sample(point, figure);
            seeds = seeds.max(sample.len());
            let value = sample.iter().map(|&(_, value)| value * self.scale).reduce(choose)?;
            extreme = Some(extreme.map_or(value, |extreme| choose(extreme, value)));
        }
        let value = extreme?;
        let text = format!("{}{} ({} settings)", short(value), self.unit_text(), points.len());
        let text = (points.len() > 1).then_some(text);
        Some(Measured { value, low: value, high: value, seeds, exact: true, text })
    }

    /// Returns the largest distance between simulation and theory over all points and seeds for which theory has a
    /// value and its condition holds.
    fn worst_deviation(&self, study: &StudyValues, figure: &Figure) -> Option<Measured> {
        let inside = |point: usize| match &self.domain {
            Some(condition) => study.theory(point, &(figure.0.clone(), condition.clone())) == Some(1.0),
            None => true,
        };
        let (mut worst, mut points, mut seeds) = (None, 0_usize, 0);
        for point in study.points_at(&self.at).into_iter().filter(|&point| inside(point)) {
            let sample = study.sample(point, figure);
            let (Some(theory), false) = (study.theory(point, figure), sample.is_empty()) else { continue };
            points += 1;
            seeds = seeds.max(sample.len());
            let distances = sample.iter().map(|&(_, value)| (value - theory).abs() * self.scale);
            worst = distances.fold(worst, |worst: Option<f64>, d| Some(worst.map_or(d, |w| w.max(d))));
        }
        let value = worst?;
        let text = format!("{}{} ({points} settings)", short(value), self.unit_text());
        Some(Measured { value, low: value, high: value, seeds, exact: true, text: Some(text) })
    }

    /// Returns the first value of an axis at which the mean reaches the threshold. The interval extends from the value
    /// at which the upper bounds of the curve reach it to that at which the lower bounds do.
    fn crossing(&self, study: &StudyValues, figure: &Figure) -> Option<Measured> {
        let (axis, threshold) = (self.axis.as_ref()?, self.threshold?);
        let (exact, threshold) = (study.deterministic(), threshold / self.scale);
        let mut curve: Vec<(f64, Interval, usize)> = study
            .points_at(&self.at)
            .into_iter()
            .filter_map(|point| {
                let sample = study.sample(point, figure);
                Some((study.number(point, axis)?, interval(sample, exact, Bounds::of(&self.metric))?, sample.len()))
            })
            .collect();
        curve.sort_by(|a, b| a.0.total_cmp(&b.0));
        let first = |reaches: &dyn Fn(&Interval) -> f64| {
            curve.iter().find(|(_, interval, _)| reaches(interval) >= threshold).map_or(f64::INFINITY, |&(x, ..)| x)
        };
        let end = curve.last()?.0;
        let seeds = curve.iter().map(|&(.., n)| n).min()?;
        let (value, low, high) = (first(&|i| i.mean), first(&|i| i.high), first(&|i| i.low));
        let show = |x: f64| if x.is_finite() { short(x) } else { format!("more than {}", short(end)) };
        let text = match exact {
            true => format!("{}{}", show(value), self.unit_text()),
            false => format!("{} [{}, {}]{}", show(value), show(low), show(high), self.unit_text()),
        };
        Some(Measured { value, low, high, seeds, exact, text: Some(text) })
    }
}
