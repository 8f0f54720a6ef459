//! Compares the prediction, the simulation and the emulation of one scenario, and published values of it.
//!
//! The simulation runs first, on all cores; the emulation follows it alone, since it needs the processor in time.

mod main_rows;
mod published;
mod row;
mod tables;

use std::path::Path;

use cellway_record::AxisValue;
use cellway_scenario::{Plan, Point};
use cellway_tables::Results;
use serde_json::{Map, Value, json};

pub use published::Published;
pub use row::{ComparedRow, Estimate, Measured};

use crate::error::Error;
use crate::predict::{PointPrediction, scenario as predict};
use crate::simulate::{Simulated, Stopwatch, asked_for, simulate};
use crate::study::{MAX_SEEDS, Progress, Settings, VERSION, axis_value};

/// The name of the file in a result folder that marks it as a comparison, and has its rows.
pub const COMPARE_FILE: &str = "compare.json";

/// The default number of emulations of a point.
pub const REPEATS: u64 = 3;

/// The options of a comparison.
#[derive(Default)]
pub struct CompareOptions<'a> {
    /// Replications of the simulation, instead of those of the file.
    pub seeds: Option<u64>,
    /// Replications of the emulation, with the first seeds of the file; [`REPEATS`] if absent.
    pub repeats: Option<u64>,
    /// Leave the emulation out.
    pub no_emulation: bool,
    /// Values from other sources.
    pub published: Option<&'a Published>,
}

/// The result of the emulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Emulation {
    /// It was not requested.
    LeftOut,
    /// It cannot be done, for this reason.
    Impossible(String),
    /// All runs kept their time.
    Valid,
    /// Some runs were late: their numbers are not those of the network.
    Invalid,
}

/// The result of a comparison.
pub struct Compared {
    /// The tables: `source` is "predict", "simulate", "emulate" or "published".
    pub tables: Simulated,
    /// The name of the scenario.
    pub name: String,
    /// The rows that at least two sources have, at each point of the sweep.
    pub points: Vec<ComparedPoint>,
    /// The result of the emulation.
    pub emulation: Emulation,
    /// The effects that the predictions leave out.
    pub caveats: Vec<String>,
}

/// One point of a sweep.
#[derive(Clone, Debug)]
pub struct ComparedPoint {
    /// The axis values of the point.
    pub axes: Vec<(String, AxisValue)>,
    /// A row for each subject and metric.
    pub rows: Vec<ComparedRow>,
}

/// Returns the reason why a plan cannot be emulated, here or anywhere; `None` if it can.
pub fn cannot_emulate(plan: &Plan) -> Result<Option<String>, Error> {
    let points = plan.points()?;
    #[cfg(target_os = "linux")]
    {
        let missing = |point: &Point| cellway_emu::check_gateways(&point.scenario).err().map(|error| error.to_string());
        Ok(crate::emulate::missing().or_else(|| points.iter().find_map(missing)))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = points;
        Ok(Some("emulation needs Linux: network namespaces and TUN devices".to_owned()))
    }
}

/// Predicts, simulates and, if possible, emulates every point of a plan. The caller has the privileges to emulate: see
/// [`crate::emulate::enter`].
///
/// # Errors
///
/// The errors of the simulation and of the emulation; published values of a metric that is not measured.
pub fn compare(
    plan: &Plan,
    folder: &Path,
    options: &CompareOptions<'_>,
    settings: &mut Settings<'_>,
) -> Result<Compared, Error> {
    let clock = Stopwatch::start();
    if let Some(repeats) = options.repeats.filter(|repeats| !(1..=MAX_SEEDS).contains(repeats)) {
        return Err(Error::Option(format!(
            "{repeats} emulations of each point; accepted: 1 to {MAX_SEEDS}, such as 20"
        )));
    }
    let points = plan.points()?;
    if let Some(published) = options.published {
        published.check_axes(&points)?;
    }
    let emulation = match options.no_emulation {
        true => Emulation::LeftOut,
        false => cannot_emulate(plan)?.map_or(Emulation::Valid, Emulation::Impossible),
    };
    let predictions = predict(plan, folder)?;
    let simulated = named("simulation", settings, |settings| simulate(plan, folder, options.seeds, settings))?;
    let mut warnings: Vec<String> = simulated.warnings.iter().map(|text| format!("simulation: {text}")).collect();
    let (emulated, emulation) = match emulation {
        Emulation::Valid => {
            let (emulated, valid) = emulate(plan, folder, options.repeats.unwrap_or(REPEATS), settings)?;
            warnings.extend(emulated.warnings.iter().map(|text| format!("emulation: {text}")));
            (Some(emulated.results), if valid { Emulation::Valid } else { Emulation::Invalid })
        }
        Emulation::Impossible(reason) => {
            warnings.push(format!("not emulated: {reason}"));
            (None, Emulation::Impossible(reason))
        }
        other => (None, other),
    };
    let compared = rows(&points, &predictions, &simulated.results, emulated.as_ref(), options.published)?;
    let first_seed = plan.base().run.seed;
    let results = tables::merge(&compared, first_seed, &simulated.results, emulated.as_ref())?;
    let about = &simulated.about;
    let about = clock.provenance(
        &asked_for(plan),
        Some(&plan.base().run),
        u64::from(about.seeds),
        points.len(),
        Some(about.threads as usize),
    );
    let tables = Simulated { results, about, warnings };
    let caveats = caveats(&predictions);
    Ok(Compared { tables, name: plan.base().name.clone(), points: compared, emulation, caveats })
}

/// Calls `work` with progress reported under the name of the scenario and `what`.
fn named<T>(
    what: &str,
    settings: &mut Settings<'_>,
    work: impl FnOnce(&mut Settings<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let Settings { threads, progress, stop, store } = settings;
    let mut report = |p: Progress<'_>| {
        let label = format!("{} ({what})", p.label);
        progress(Progress { label: &label, ..p });
    };
    work(&mut Settings { threads: *threads, progress: &mut report, stop: &mut **stop, store: *store })
}

/// Returns the tables and warnings of the emulation, and true if it is valid.
#[cfg(target_os = "linux")]
fn emulate(plan: &Plan, folder: &Path, repeats: u64, settings: &mut Settings<'_>) -> Result<(Simulated, bool), Error> {
    use crate::emulate::{EmulateOptions, emulate};
    let options = EmulateOptions { seeds: Some(repeats), ..EmulateOptions::default() };
    let study = named("emulation", settings, |settings| emulate(plan, folder, options, settings))?;
    Ok((study.results, study.valid))
}

/// [`cannot_emulate`] has returned the reason.
#[cfg(not(target_os = "linux"))]
fn emulate(_: &Plan, _: &Path, _: u64, _: &mut Settings<'_>) -> Result<(Simulated, bool), Error> {
    Err(Error::Option("emulation needs Linux".to_owned()))
}

/// Returns the rows of each point that at least two sources have.
fn rows(
    points: &[Point],
    predictions: &[PointPrediction],
    simulated: &Results,
    emulated: Option<&Results>,
    published: Option<&Published>,
) -> Result<Vec<ComparedPoint>, Error> {
    let simulated = row::figures(simulated)?;
    let emulated = emulated.map(row::figures).transpose()?.unwrap_or_default();
    // The metrics of any point, for the messages about unknown ones.
    let mut measured: Vec<(String, String)> = Vec::new();
    let mut used = published.map(|published| vec![false; published.len()]).unwrap_or_default();
    let compared = points.iter().zip(predictions).enumerate().map(|(place, (point, prediction))| {
        let axes: Vec<(String, AxisValue)> =
            point.axes.iter().map(|(name, value)| (name.clone(), axis_value(value))).collect();
        let mut rows = row::matched(figures_at(&simulated, place), figures_at(&emulated, place));
        row::predict(&mut rows, point, prediction);
        if let Some(published) = published {
            published.fill(&mut rows, &axes, &mut used)?;
        }
        measured.extend(rows.iter().map(|row| (row.subject.clone(), row.metric.clone())));
        rows.retain(|row| row.sources() > 1);
        Ok(ComparedPoint { axes, rows })
    });
    let mut compared = compared.collect::<Result<Vec<_>, Error>>()?;
    let busy = main_rows::busy(compared.iter().flat_map(|point| &point.rows));
    compared.iter_mut().zip(points).for_each(|(of, point)| main_rows::mark(&mut of.rows, point, &busy));
    match (published, used.iter().position(|used| !used)) {
        (Some(published), Some(unused)) => Err(published.unknown_value(unused, &measured)),
        _ => Ok(compared),
    }
}

/// Returns the figures of the point at `place`; none for a study that did not run.
fn figures_at(study: &[Vec<row::Figure>], place: usize) -> &[row::Figure] {
    study.get(place).map(Vec::as_slice).unwrap_or_default()
}

/// Returns the effects that the predictions leave out, each once.
fn caveats(points: &[PointPrediction]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for group in points.iter().flat_map(|point| &point.groups) {
        for caveat in group.caveats.iter().map(|caveat| format!("{}: {caveat}", group.group)) {
            if !found.contains(&caveat) {
                found.push(caveat);
            }
        }
    }
    found
}

impl Compared {
    /// Returns the rows as JSON, with the result of the emulation.
    pub fn to_json(&self) -> Value {
        let (state, reason) = match &self.emulation {
            Emulation::LeftOut => ("left out", None),
            Emulation::Impossible(reason) => ("impossible", Some(reason)),
            Emulation::Valid => ("valid", None),
            Emulation::Invalid => ("invalid", None),
        };
        json!({
            "name": self.name,
            "version": VERSION,
            "emulation": state,
            "reason": reason,
            "points": self.points.iter().map(point_json).collect::<Vec<_>>(),
            "warnings": self.tables.warnings,
            "caveats": self.caveats,
        })
    }

    /// Writes the result folder, the rows in it as [`COMPARE_FILE`].
    pub fn write(&self, target: &Path, force: bool) -> Result<cellway_tables::Manifest, Error> {
        self.tables.write_with(target, force, |folder| {
            let path = folder.join(COMPARE_FILE);
            let write = |source| cellway_tables::Error::Io { action: "cannot write", path: path.clone(), source };
            std::fs::write(&path, format!("{:#}\n", self.to_json())).map_err(write)?;
            Ok(vec![COMPARE_FILE.to_owned()])
        })
    }
}

fn point_json(point: &ComparedPoint) -> Value {
    let axes: Map<String, Value> = point.axes.iter().map(|(name, value)| (name.clone(), axis_json(value))).collect();
    json!({ "axes": axes, "rows": point.rows.iter().map(ComparedRow::to_json).collect::<Vec<_>>() })
}

fn axis_json(value: &AxisValue) -> Value {
    match value {
        AxisValue::Text(text) => json!(text),
        AxisValue::Number(number) => json!(number),
    }
}
