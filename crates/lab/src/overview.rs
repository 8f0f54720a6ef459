//! A study at a glance: the mean of each figure over the replications of each point.

use std::collections::BTreeMap;

use cellway_record::stats::interval95;
use cellway_record::{AxisValue, Results};

use crate::error::Error;

/// One figure at one point.
#[derive(Clone, Debug)]
pub struct Cell {
    /// What was observed: `r1>s1`, `ftp`, `telnet-1`.
    pub subject: String,
    /// The figure.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Mean over the replications.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval; absent for a single replication.
    pub half_width: Option<f64>,
    /// Replications that had the figure.
    pub runs: usize,
}

/// A point of a study: its place on the axes, and its figures.
pub type PointFigures = (Vec<(String, AxisValue)>, Vec<Cell>);

/// All points of a study.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    /// In the order of the sweep.
    pub points: Vec<PointFigures>,
}

/// Place of a figure among those of its point, so that figures keep the order they were recorded in.
type Key = (u32, usize);

impl Overview {
    /// Sums up the tables of a study.
    pub fn of(results: &Results) -> Result<Overview, Error> {
        let runs = results.run_keys()?;
        let point_of: BTreeMap<u32, u32> = runs.iter().map(|key| (key.run, key.point)).collect();
        let mut places: BTreeMap<(String, String), usize> = BTreeMap::new();
        let mut samples: BTreeMap<Key, (String, Vec<f64>)> = BTreeMap::new();
        for row in results.summary.observations()? {
            let fresh = places.len();
            let place = *places.entry((row.subject.to_owned(), row.metric.to_owned())).or_insert(fresh);
            let sample =
                samples.entry((point_of[&row.run], place)).or_insert_with(|| (row.unit.to_owned(), Vec::new()));
            sample.1.push(row.value);
        }
        let mut names = vec![(String::new(), String::new()); places.len()];
        places.into_iter().for_each(|(name, place)| names[place] = name);
        let mut overview = Overview::default();
        let mut points: Vec<u32> = Vec::new();
        for key in runs {
            if points.last() != Some(&key.point) {
                points.push(key.point);
                overview.points.push((key.axes, Vec::new()));
            }
        }
        for ((point, place), (unit, sample)) in samples {
            let (subject, metric) = names[place].clone();
            let mean = sample.iter().sum::<f64>() / sample.len() as f64;
            let half_width = interval95(&sample).map(|i| (i.high() - i.low()) / 2.0);
            let index = points.iter().position(|&p| p == point).expect("every run has a point");
            overview.points[index].1.push(Cell { subject, metric, unit, mean, half_width, runs: sample.len() });
        }
        Ok(overview)
    }
}
