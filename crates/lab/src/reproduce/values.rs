//! The figures of finished studies that claims refer to.

use std::collections::{BTreeMap, BTreeSet};

use cellway_record::{AxisValue, RunKey, RunRecord};
use cellway_units::{Bytes, Rate, Span};

use super::moment::{Moment, Series};

/// A place in a sweep: values of some of its axes.
pub(crate) type At = BTreeMap<String, toml::Value>;

/// Subject and metric.
pub(crate) type Figure = (String, String);

/// One study's figures by point and seed.
#[derive(Default)]
pub(crate) struct StudyValues {
    wanted: BTreeSet<Figure>,
    /// Those whose metric names a moment of a series.
    moments: Vec<(Figure, Moment)>,
    deterministic: bool,
    points: Vec<Vec<(String, AxisValue)>>,
    /// All seeds, also those that lack a figure.
    seeds: BTreeSet<u64>,
    /// Per point and figure: (seed, value).
    values: BTreeMap<(usize, Figure), Vec<(u64, f64)>>,
    /// The value of theory per point and figure.
    theory: BTreeMap<(usize, Figure), f64>,
    /// The reason why no run of the study took place.
    not_run: Option<String>,
    /// Points that have no runs that count, with the reason.
    left_out: BTreeMap<usize, String>,
}

impl StudyValues {
    /// Creates the values of a study, deterministic or not; keeps the `wanted` figures only.
    pub(crate) fn new(wanted: BTreeSet<Figure>, deterministic: bool) -> StudyValues {
        let moment = |figure: &Figure| Some((figure.clone(), Moment::parse(&figure.1).ok()??));
        let moments = wanted.iter().filter_map(moment).collect();
        StudyValues { wanted, moments, deterministic, ..StudyValues::default() }
    }

    /// Creates the values of a study that was not run, with the reason.
    pub(crate) fn of_none(reason: &str) -> StudyValues {
        StudyValues { not_run: Some(reason.to_owned()), ..StudyValues::default() }
    }

    /// Records that the point of `key` has no runs that count.
    #[cfg(any(test, target_os = "linux"))]
    pub(crate) fn leave_out(&mut self, key: &RunKey, reason: String) {
        self.place(key);
        self.left_out.entry(key.point as usize).or_insert(reason);
    }

    /// Returns true if the point of `key` was left out.
    #[cfg(any(test, target_os = "linux"))]
    pub(crate) fn is_left_out(&self, key: &RunKey) -> bool {
        self.left_out.contains_key(&(key.point as usize))
    }

    /// Returns the reason why a point at `at` has no runs; `None` if all have.
    pub(crate) fn left_out_at(&self, at: &At) -> Option<&str> {
        let of_point = || self.points_at(at).into_iter().find_map(|point| self.left_out.get(&point));
        self.not_run.as_ref().or_else(of_point).map(String::as_str)
    }

    fn place(&mut self, key: &RunKey) {
        if self.points.len() <= key.point as usize {
            self.points.push(key.axes.clone());
        }
    }

    /// Returns true if it is deterministic, so that there is one replication.
    pub(crate) fn deterministic(&self) -> bool {
        self.deterministic
    }

    pub(crate) fn add(&mut self, key: &RunKey, record: &RunRecord) {
        let point = key.point as usize;
        self.place(key);
        self.seeds.insert(key.seed);
        for row in &record.summary {
            let figure = (row.subject.to_string(), row.metric.to_string());
            if self.wanted.contains(&figure) {
                let sample = self.values.entry((point, figure)).or_default();
                let is_new = sample.iter().all(|(seed, _)| *seed != key.seed);
                assert!(is_new, "{} of {} twice in a run: two things share a subject", row.metric, row.subject);
                sample.push((key.seed, row.value));
            }
        }
        let subjects: BTreeSet<&str> = self.moments.iter().map(|(figure, _)| figure.0.as_str()).collect();
        let series: BTreeMap<&str, _> = subjects.into_iter().map(|name| (name, series_of(record, name))).collect();
        for (figure, moment) in &self.moments {
            if let Some(value) = moment.evaluate(&series[figure.0.as_str()], |axis| axis_number(key, axis)) {
                self.values.entry((point, figure.clone())).or_default().push((key.seed, value));
            }
        }
    }

    /// Adds the values of theory for the figures of a point.
    pub(crate) fn add_theory(&mut self, key: &RunKey, theory: &RunRecord) {
        for row in &theory.summary {
            self.theory.insert((key.point as usize, (row.subject.to_string(), row.metric.to_string())), row.value);
        }
    }

    /// Returns the value of theory for a figure at a point.
    pub(crate) fn theory(&self, point: usize, figure: &Figure) -> Option<f64> {
        self.theory.get(&(point, figure.clone())).copied()
    }

    /// Replications of each point.
    pub(crate) fn seeds(&self) -> usize {
        self.seeds.len()
    }

    /// Returns the points that lie at `at`, which may leave axes open.
    pub(crate) fn points_at(&self, at: &At) -> Vec<usize> {
        (0..self.points.len()).filter(|&point| lies_at(&self.points[point], at)).collect()
    }

    /// Returns the number that `point` has on `axis`.
    pub(crate) fn number(&self, point: usize, axis: &str) -> Option<f64> {
        self.points[point].iter().find_map(|(name, value)| match value {
            AxisValue::Number(number) if name == axis => Some(*number),
            _ => None,
        })
    }

    /// Returns (seed, value) of a figure at a point.
    pub(crate) fn sample(&self, point: usize, figure: &Figure) -> &[(u64, f64)] {
        self.values.get(&(point, figure.clone())).map_or(&[], Vec::as_slice)
    }
}

/// Returns the quantities over time of a subject.
fn series_of<'a>(record: &'a RunRecord, subject: &str) -> BTreeMap<&'a str, Series> {
    let mut all: BTreeMap<&str, Series> = BTreeMap::new();
    for row in record.series.iter().filter(|row| &*row.subject == subject) {
        let Some(t) = row.t else { continue };
        all.entry(row.metric.name()).or_default().push((t, row.value));
    }
    all
}

/// Returns the number of a run on an axis; a rate in bit/s, a time in s, a size in bytes.
fn axis_number(key: &RunKey, axis: &str) -> Option<f64> {
    let (_, value) = key.axes.iter().find(|(name, _)| name == axis)?;
    match value {
        AxisValue::Number(number) => Some(*number),
        AxisValue::Text(text) => {
            let rate = || text.parse::<Rate>().ok().map(|rate| rate.as_bps() as f64);
            let span = || text.parse::<Span>().ok().map(Span::as_secs_f64);
            let size = || text.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64);
            rate().or_else(span).or_else(size)
        }
    }
}

/// Returns true if a point with these axes lies at `at`, which may leave axes open.
pub(super) fn lies_at(axes: &[(String, AxisValue)], at: &At) -> bool {
    at.iter().all(|(axis, wanted)| {
        let value = axes.iter().find(|(name, _)| name == axis).map(|(_, value)| value);
        match (value, wanted) {
            (Some(AxisValue::Text(text)), toml::Value::String(wanted)) => text == wanted,
            (Some(AxisValue::Number(number)), toml::Value::Integer(wanted)) => *number == *wanted as f64,
            (Some(AxisValue::Number(number)), toml::Value::Float(wanted)) => number == wanted,
            _ => false,
        }
    })
}
