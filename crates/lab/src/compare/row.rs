//! One subject and metric, and what each source has for it.

use cellway_scenario::{App, Point};
use serde_json::{Value, json};

use crate::overview::Cell;
use crate::predict::PointPrediction;

/// The metric that theory predicts of a group, and its unit.
const PREDICTED: (&str, &str) = ("goodput_total", "bit/s");

/// What theory says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// In the unit of the row.
    pub value: f64,
    /// Whether it is an upper bound only, as the application does not always have data to send.
    pub bound: bool,
}

/// A mean over replications.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// In the unit of the row.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval; absent for a single replication.
    pub half_width: Option<f64>,
    /// Replications that had the figure.
    pub runs: usize,
}

/// One subject and metric at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedRow {
    /// What was observed: `r1>s1`, `ftp`, `telnet-1`.
    pub subject: String,
    /// The figure.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// What theory says.
    pub predicted: Option<Estimate>,
    /// What the simulation gave.
    pub simulated: Option<Measured>,
    /// What the emulation gave.
    pub emulated: Option<Measured>,
    /// What was published.
    pub published: Option<f64>,
    /// Whether it is among the rows to look at first.
    pub main: bool,
}

impl ComparedRow {
    /// How many sources have a value.
    pub fn sources(&self) -> usize {
        let known = [self.predicted.is_some(), self.simulated.is_some(), self.emulated.is_some()];
        known.into_iter().chain([self.published.is_some()]).filter(|known| *known).count()
    }

    /// How far the emulation is from the simulation, as a share of the latter; absent if that is 0.
    pub fn difference(&self) -> Option<f64> {
        let (simulated, emulated) = (self.simulated?.mean, self.emulated?.mean);
        (simulated != 0.0).then(|| (emulated - simulated) / simulated.abs())
    }

    /// Whether any source has something other than zero.
    pub fn is_nonzero(&self) -> bool {
        let measured = [self.simulated, self.emulated].into_iter().flatten().map(|m| m.mean);
        measured.chain(self.published).any(|value| value != 0.0)
    }

    pub(super) fn to_json(&self) -> Value {
        let measured =
            |m: Option<Measured>| m.map(|m| json!({ "mean": m.mean, "half_width_95": m.half_width, "runs": m.runs }));
        json!({
            "subject": self.subject, "metric": self.metric, "unit": self.unit,
            "predicted": self.predicted.map(|p| json!({ "value": p.value, "bound": p.bound })),
            "simulated": measured(self.simulated), "emulated": measured(self.emulated),
            "published": self.published, "difference": self.difference(), "main": self.main,
        })
    }
}

/// The figures of a simulation and of an emulation, those of the simulation first and in its order.
pub(super) fn matched(simulated: &[Cell], emulated: &[Cell]) -> Vec<ComparedRow> {
    let measured = |cell: &Cell| Measured { mean: cell.mean, half_width: cell.half_width, runs: cell.runs };
    let same = |a: &Cell, b: &Cell| a.subject == b.subject && a.metric == b.metric && a.unit == b.unit;
    let row = |cell: &Cell, simulated, emulated| ComparedRow {
        subject: cell.subject.clone(),
        metric: cell.metric.clone(),
        unit: cell.unit.clone(),
        predicted: None,
        simulated,
        emulated,
        published: None,
        main: false,
    };
    let both = simulated.iter().map(|cell| {
        let other = emulated.iter().find(|other| same(cell, other));
        row(cell, Some(measured(cell)), other.map(measured))
    });
    let alone = emulated.iter().filter(|cell| !simulated.iter().any(|other| same(cell, other)));
    both.chain(alone.map(|cell| row(cell, None, Some(measured(cell))))).collect()
}

/// Fills in what theory says of each traffic group.
pub(super) fn predict(rows: &mut [ComparedRow], point: &Point, prediction: &PointPrediction) {
    for (traffic, group) in point.scenario.traffic.iter().zip(&prediction.groups) {
        let row = rows.iter_mut().find(|row| row.subject == group.group && row.metric == PREDICTED.0);
        if let Some(row) = row.filter(|row| row.unit == PREDICTED.1 && traffic.count > 0) {
            let endless = matches!(traffic.app, App::Bulk { size: None, .. });
            row.predicted = Some(Estimate { value: group.goodput, bound: !endless });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(subject: &str, metric: &str, unit: &str, mean: f64) -> Cell {
        let (subject, metric, unit) = (subject.to_owned(), metric.to_owned(), unit.to_owned());
        Cell { subject, metric, unit, mean, half_width: Some(mean / 10.0), runs: 3 }
    }

    #[test]
    fn figures_meet_by_subject_metric_and_unit() {
        let simulated = [cell("a>b", "queue_mean", "cell", 4.0), cell("bulk", "goodput_total", "bit/s", 8.0)];
        let emulated = [
            cell("emulation", "lateness_p99", "s", 1.0),
            cell("bulk", "goodput_total", "bit/s", 6.0),
            cell("a>b", "queue_mean", "packet", 1.0),
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
        assert_eq!(rows[1].difference(), Some(-0.25));
        assert_eq!(rows[0].difference(), None);
    }

    #[test]
    fn there_is_no_share_of_nothing() {
        let rows = matched(&[cell("a>b", "dropped_cells", "cell", 0.0)], &[cell("a>b", "dropped_cells", "cell", 3.0)]);
        assert_eq!((rows[0].difference(), rows[0].is_nonzero()), (None, true));
    }
}
