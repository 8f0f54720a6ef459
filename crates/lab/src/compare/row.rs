//! One subject and metric, and the value of each source.

use std::collections::BTreeMap;

use cellway_record::metric::group::GOODPUT_TOTAL;
use cellway_record::stats::{Bounds, interval95};
use cellway_scenario::{App, Point};
use cellway_tables::Results;
use serde_json::{Value, json};

use crate::error::Error;
use crate::predict::PointPrediction;

/// The prediction of an equation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// In the unit of the row.
    pub value: f64,
    /// True if it is an upper bound only, as the application does not always have data to send.
    pub bound: bool,
}

/// A mean over replications.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// In the unit of the row.
    pub mean: f64,
    /// The ends of the 95 % confidence interval; absent for a single replication.
    pub interval: Option<[f64; 2]>,
    /// Replications that had the figure.
    pub runs: usize,
}

/// One subject and metric at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedRow {
    /// The subject: `r1>s1`, `ftp`, `telnet-1`.
    pub subject: String,
    /// The figure.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The predicted value.
    pub predicted: Option<Estimate>,
    /// The simulated value.
    pub simulated: Option<Measured>,
    /// The emulated value.
    pub emulated: Option<Measured>,
    /// The published value.
    pub published: Option<f64>,
    /// The difference of the emulation from the simulation, as a share of the latter, over the seeds that both have;
    /// absent if that is 0.
    pub difference: Option<f64>,
    /// True if it is among the rows that are shown first.
    pub main: bool,
}

impl ComparedRow {
    /// Returns the number of sources that have a value.
    pub fn sources(&self) -> usize {
        let known = [self.predicted.is_some(), self.simulated.is_some(), self.emulated.is_some()];
        known.into_iter().chain([self.published.is_some()]).filter(|known| *known).count()
    }

    /// Returns true if any source has a value other than zero.
    pub fn is_nonzero(&self) -> bool {
        let measured = [self.simulated, self.emulated].into_iter().flatten().map(|m| m.mean);
        measured.chain(self.published).any(|value| value != 0.0)
    }

    pub(super) fn to_json(&self) -> Value {
        let measured =
            |m: Option<Measured>| m.map(|m| json!({ "mean": m.mean, "interval_95": m.interval, "runs": m.runs }));
        json!({
            "subject": self.subject, "metric": self.metric, "unit": self.unit,
            "predicted": self.predicted.map(|p| json!({ "value": p.value, "bound": p.bound })),
            "simulated": measured(self.simulated), "emulated": measured(self.emulated),
            "published": self.published, "difference": self.difference, "main": self.main,
        })
    }
}

/// A figure at one point, with its value at each seed.
pub(super) struct Figure {
    subject: String,
    metric: String,
    unit: String,
    values: Vec<(u64, f64)>,
}

/// Returns the figures of each point of a study, in the order in which they were recorded.
pub(super) fn figures(results: &Results) -> Result<Vec<Vec<Figure>>, Error> {
    let runs: BTreeMap<u32, (usize, u64)> =
        results.run_keys()?.into_iter().map(|key| (key.run, (key.point as usize, key.seed))).collect();
    let mut points: Vec<Vec<Figure>> = Vec::new();
    let mut places: BTreeMap<(usize, &str, &str, &str), usize> = BTreeMap::new();
    for row in results.summary.observations()? {
        let (point, seed) = runs[&row.run];
        points.resize_with(points.len().max(point + 1), Vec::new);
        let figures = &mut points[point];
        let place = *places.entry((point, row.subject, row.metric, row.unit)).or_insert(figures.len());
        if place == figures.len() {
            let (subject, metric, unit) = (row.subject.to_owned(), row.metric.to_owned(), row.unit.to_owned());
            figures.push(Figure { subject, metric, unit, values: Vec::new() });
        }
        let values = &mut figures[place].values;
        if values.iter().any(|(of, _)| *of == seed) {
            let [origin, subject, metric] = [row.source, row.subject, row.metric].map(str::to_owned);
            return Err(cellway_tables::Error::Twice { run: row.run, origin, subject, metric }.into());
        }
        values.push((seed, row.value));
    }
    Ok(points)
}

impl Figure {
    fn is(&self, other: &Figure) -> bool {
        self.subject == other.subject && self.metric == other.metric && self.unit == other.unit
    }

    fn measured(&self) -> Measured {
        let values: Vec<f64> = self.values.iter().map(|(_, value)| *value).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let interval = interval95(&values, Bounds::of(&self.metric)).map(|i| [i.low, i.high]);
        Measured { mean, interval, runs: values.len() }
    }

    /// Returns the relative difference of `other` from this, over the seeds that both have: they play the same
    /// conversations.
    fn difference(&self, other: &Figure) -> Option<f64> {
        let pairs = self.values.iter().filter_map(|(seed, value)| {
            let (_, other) = other.values.iter().find(|(of, _)| of == seed)?;
            Some((value, other))
        });
        let (first, second) = pairs.fold((0.0, 0.0), |(first, second), (a, b)| (first + a, second + b));
        (first != 0.0).then(|| (second - first) / first.abs())
    }
}

/// Returns the figures of a simulation and of an emulation, those of the simulation first and in its order.
pub(super) fn matched(simulated: &[Figure], emulated: &[Figure]) -> Vec<ComparedRow> {
    let row = |figure: &Figure, simulated, emulated, difference| ComparedRow {
        subject: figure.subject.clone(),
        metric: figure.metric.clone(),
        unit: figure.unit.clone(),
        predicted: None,
        simulated,
        emulated,
        published: None,
        difference,
        main: false,
    };
    let both = simulated.iter().map(|figure| {
        let other = emulated.iter().find(|other| figure.is(other));
        let difference = other.and_then(|other| figure.difference(other));
        row(figure, Some(figure.measured()), other.map(Figure::measured), difference)
    });
    let alone = emulated.iter().filter(|figure| !simulated.iter().any(|other| figure.is(other)));
    both.chain(alone.map(|figure| row(figure, None, Some(figure.measured()), None))).collect()
}

/// Sets the predictions of each traffic group.
pub(super) fn predict(rows: &mut [ComparedRow], point: &Point, prediction: &PointPrediction) {
    for group in &prediction.groups {
        let Some(traffic) = point.scenario.traffic.iter().find(|traffic| traffic.name == group.group) else { continue };
        let row = rows.iter_mut().find(|row| row.subject == group.group && row.metric == GOODPUT_TOTAL.name());
        if let Some(row) = row.filter(|_| traffic.count > 0) {
            let endless = matches!(traffic.app(), Some(App::Bulk { size: None, .. }));
            row.predicted = Some(Estimate { value: group.goodput, bound: !endless });
        }
    }
    for group in prediction.udp.iter().filter(|group| group.sources > 0) {
        for (metric, answer) in [("delay_mean", &group.delay_mean), ("loss_ratio", &group.loss_ratio)] {
            let row = rows.iter_mut().find(|row| row.subject == group.group && row.metric == metric);
            if let (Some(row), Some(value)) = (row, answer.value()) {
                row.predicted = Some(Estimate { value, bound: false });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(subject: &str, metric: &str, unit: &str, values: &[f64]) -> Figure {
        let (subject, metric, unit) = (subject.to_owned(), metric.to_owned(), unit.to_owned());
        Figure { subject, metric, unit, values: (1..).zip(values.iter().copied()).collect() }
    }

    #[test]
    fn figures_meet_by_subject_metric_and_unit() {
        let simulated = [figure("a>b", "queue_mean", "cell", &[4.0]), figure("bulk", "goodput_total", "bit/s", &[8.0])];
        let emulated = [
            figure("emulation", "lateness_p99", "s", &[1.0]),
            figure("bulk", "goodput_total", "bit/s", &[6.0]),
            figure("a>b", "queue_mean", "packet", &[1.0]),
        ];
        let rows = matched(&simulated, &emulated);
        let seen: Vec<_> = rows.iter().map(|row| (&row.metric[..], &row.unit[..], row.sources())).collect();
        assert_eq!(
            seen,
            [
                ("queue_mean", "cell", 1),
                ("goodput_total", "bit/s", 2),
                ("lateness_p99", "s", 1),
                ("queue_mean", "packet", 1)
            ]
        );
        assert_eq!(rows[1].difference, Some(-0.25));
        assert_eq!(rows[0].difference, None);
    }

    /// Means over 1, 3, 8 and over 2, 4; the difference is that of seeds 1 and 2 alone.
    #[test]
    fn the_difference_is_of_the_seeds_that_both_have() {
        let rows = matched(
            &[figure("a>b", "utilisation", "1", &[1.0, 3.0, 8.0])],
            &[figure("a>b", "utilisation", "1", &[2.0, 4.0])],
        );
        let means = [rows[0].simulated, rows[0].emulated].map(|m| m.map(|m| (m.mean, m.runs)));
        assert_eq!(means, [Some((4.0, 3)), Some((3.0, 2))]);
        assert_eq!(rows[0].difference, Some(0.5));
    }

    #[test]
    fn there_is_no_share_of_nothing() {
        let [none, some] = [0.0, 3.0].map(|value| [figure("a>b", "dropped_cells", "cell", &[value])]);
        let rows = matched(&none, &some);
        assert_eq!((rows[0].difference, rows[0].is_nonzero()), (None, true));
    }
}
