//! A study at a glance: the mean of each figure over the replications of each point.

use std::collections::{BTreeMap, BTreeSet};

use cellway_record::AxisValue;
use cellway_record::metric::{Definition, port};
use cellway_record::stats::{Bounds, interval95};
use cellway_tables::Results;

use crate::error::Error;

/// One figure at one point.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The subject: `r1>s1`, `ftp`, `telnet-1`.
    pub subject: String,
    /// The figure.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Mean over the replications.
    pub mean: f64,
    /// The ends of the 95 % confidence interval; absent for a single replication.
    pub interval: Option<[f64; 2]>,
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

/// Returns the ends of the confidence interval for the mean of a sample of `metric`, within the bounds that the metric
/// has; `None` for fewer than two values.
pub fn confidence_interval(sample: &[f64], level: f64, metric: Option<&str>) -> Option<(f64, f64)> {
    let bounds = metric.map_or(Bounds::NONE, Bounds::of);
    cellway_record::stats::confidence_interval(sample, level, bounds).map(|i| (i.low, i.high))
}

/// The key of a figure that is averaged over the runs of a point: source, subject, metric and unit.
type Figure<'a> = [&'a str; 4];

/// The least utilisation of a line that is in use: what acknowledgements take of the line back is mostly below.
const BUSY: f64 = 0.05;

/// The signs that something happens at a line, however little of the time it is busy.
static EVENTS: [&Definition; 9] = [
    port::DROPPED_PACKETS.definition(),
    port::DROPPED_FRAMES.definition(),
    port::DROPPED_CELLS.definition(),
    port::POLICED_DISCARDED.definition(),
    port::POLICED_TAGGED.definition(),
    port::MARKED.definition(),
    port::LOST.definition(),
    port::CORRUPTED.definition(),
    port::DUPLICATED.definition(),
];

/// Returns the least utilisation of a line that is not idle, and the metrics of which a line that is not idle may have any
/// value above 0 instead.
pub fn signs_of_use() -> (f64, impl Iterator<Item = &'static str>) {
    (BUSY, EVENTS.iter().map(|event| event.name()))
}

/// Returns true if this mean of a metric of a line shows that the line is not idle.
pub(crate) fn shows_use(metric: &str, mean: f64) -> bool {
    match metric == port::UTILISATION.name() {
        true => mean >= BUSY,
        false => mean > 0.0 && EVENTS.iter().any(|event| event.name() == metric),
    }
}

impl Overview {
    /// Returns the lines whose utilisation is below 5 % at every point, and at which nothing was dropped, lost, changed or
    /// marked; none if all lines are so.
    pub fn idle_lines(&self) -> Vec<&str> {
        let cells = || self.points.iter().flat_map(|(_, cells)| cells);
        let utilised = || cells().filter(|cell| cell.metric == port::UTILISATION.name());
        let busy = cells().filter(|cell| shows_use(&cell.metric, cell.mean));
        let busy: BTreeSet<&str> = busy.map(|cell| &*cell.subject).collect();
        let mut idle: Vec<&str> = Vec::new();
        for cell in utilised().filter(|cell| !busy.contains(&*cell.subject)) {
            if !idle.contains(&&*cell.subject) {
                idle.push(&cell.subject);
            }
        }
        if utilised().all(|cell| idle.contains(&&*cell.subject)) { Vec::new() } else { idle }
    }

    /// Sums up the tables of a study.
    ///
    /// # Errors
    /// If a run has two values of a figure, which would be averaged like two replications.
    pub fn of(results: &Results) -> Result<Overview, Error> {
        let runs = results.run_keys()?;
        let point_of: BTreeMap<u32, u32> = runs.iter().map(|key| (key.run, key.point)).collect();
        // Figures keep the order in which they were recorded.
        let mut places: BTreeMap<Figure<'_>, usize> = BTreeMap::new();
        let mut samples: BTreeMap<(u32, usize), BTreeMap<u32, f64>> = BTreeMap::new();
        for row in results.summary.observations()? {
            let fresh = places.len();
            let place = *places.entry([row.source, row.subject, row.metric, row.unit]).or_insert(fresh);
            let sample = samples.entry((point_of[&row.run], place)).or_default();
            if sample.insert(row.run, row.value).is_some() {
                let [origin, subject, metric] = [row.source, row.subject, row.metric].map(str::to_owned);
                return Err(cellway_tables::Error::Twice { run: row.run, origin, subject, metric }.into());
            }
        }
        let mut figures: Vec<Figure<'_>> = vec![[""; 4]; places.len()];
        places.into_iter().for_each(|(figure, place)| figures[place] = figure);
        let mut overview = Overview::default();
        let mut points: Vec<u32> = Vec::new();
        for key in runs {
            if points.last() != Some(&key.point) {
                points.push(key.point);
                overview.points.push((key.axes, Vec::new()));
            }
        }
        for ((point, place), sample) in samples {
            let [_, subject, metric, unit] = figures[place].map(str::to_owned);
            let values: Vec<f64> = sample.into_values().collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let interval = interval95(&values, Bounds::of(&metric)).map(|i| [i.low, i.high]);
            let index = points.iter().position(|&p| p == point).expect("every run has a point");
            overview.points[index].1.push(Cell { subject, metric, unit, mean, interval, runs: values.len() });
        }
        Ok(overview)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overview(points: &[&[(&str, &str, f64)]]) -> Overview {
        let cell = |&(subject, metric, mean): &(&str, &str, f64)| Cell {
            subject: subject.to_owned(),
            metric: metric.to_owned(),
            unit: "1".to_owned(),
            mean,
            interval: None,
            runs: 1,
        };
        Overview { points: points.iter().map(|cells| (Vec::new(), cells.iter().map(cell).collect())).collect() }
    }

    #[test]
    fn a_line_is_idle_if_it_is_so_at_every_point_and_nothing_happens_there() {
        let there = ("a>b", "utilisation", 0.9);
        let back = |share| ("b>a", "utilisation", share);
        assert_eq!(overview(&[&[there, back(0.049)], &[there, back(0.02)]]).idle_lines(), ["b>a"]);
        assert_eq!(overview(&[&[there, back(0.02)], &[there, back(0.05)]]).idle_lines(), [""; 0]);
        let with = |metric, mean| overview(&[&[there, back(0.02), ("b>a", metric, mean)]]).idle_lines().len();
        for event in ["dropped_cells", "dropped_packets", "lost", "policed_discarded", "policed_tagged", "marked"] {
            assert_eq!((with(event, 0.0), with(event, 0.5)), (1, 0), "{event}");
        }
        assert_eq!(with("cells", 1000.0), 1);
    }

    #[test]
    fn if_all_lines_are_idle_all_are_shown() {
        let all = overview(&[&[("a>b", "utilisation", 0.01), ("b>a", "utilisation", 0.01), ("ftp", "jain", 1.0)]]);
        assert_eq!(all.idle_lines(), [""; 0]);
    }
}
