//! All sources in one set of tables.

use cellway_record::{Quantity, Row, RunKey, RunRecord, Source};
use cellway_tables::{Results, ResultsBuilder};

use super::{ComparedPoint, ComparedRow};
use crate::error::Error;

/// Merges the tables: first a run for each point with its predicted and published values, then the runs of the
/// simulation, then those of the emulation. Each keeps point, seed and axes, and gets a number of its own.
pub(super) fn merge(
    points: &[ComparedPoint],
    first_seed: u64,
    simulated: &Results,
    emulated: Option<&Results>,
) -> Result<Results, Error> {
    let mut builder = ResultsBuilder::new(Source::Predict);
    for (place, point) in points.iter().enumerate() {
        let number = place as u32;
        let key = RunKey { run: number, point: number, seed: first_seed, axes: point.axes.clone() };
        builder.push(key, &record(point, |row| row.predicted.map(|p| p.value)))?;
        builder.add(Source::Published, &record(point, |row| row.published))?;
    }
    let mut before = points.len() as u32;
    for study in [Some(simulated), emulated].into_iter().flatten() {
        builder.append(study, |key| RunKey { run: before + key.run, ..key })?;
        before += study.runs.num_rows() as u32;
    }
    Ok(builder.finish()?)
}

fn record(point: &ComparedPoint, value: impl Fn(&ComparedRow) -> Option<f64>) -> RunRecord {
    let row = |row: &ComparedRow| {
        let metric = Quantity::read(&row.metric, &row.unit);
        Some(Row { subject: row.subject.as_str().into(), metric, t: None, value: value(row)? })
    };
    RunRecord { summary: point.rows.iter().filter_map(row).collect(), ..RunRecord::default() }
}
